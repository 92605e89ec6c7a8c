"""Pictures: they show what the result holds, and other tools draw from our report."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import MIXED, Ended, carries, refused, some
from matplotlib.axes import Axes

import nandlab as lab
from nandlab.cell.endurance import MOST_PE_CYCLES, cycles_in_short
from nandlab.display import quantity
from nandlab.display.picture import finish, new_figure
from nandlab.drive.pictures.shared_axes import latency_ticks
from nandlab.drive.pictures.throughput import _merged


@pytest.fixture(scope="module")
def result() -> lab.Result:
    """A small run."""
    return lab.run("tiny", MIXED, precondition="steady")


def test_latency_has_a_curve_for_each_operation(result: lab.Result):
    (axes,) = result.plot_latency().axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert [label.split()[0] for label in labels] == ["read", "write"]
    # The highest percentile that any of the 2500 reads exceeds.
    assert f"p99.9 {quantity.latency(result.read.percentile(99.9))}, max" in labels[0]
    assert axes.get_title(loc="left") == "tiny · fio jobs"


def test_curve_passes_through_the_percentiles(result: lab.Result):
    (axes,) = result.plot_latency().axes
    curve = next(line for line in axes.get_lines() if line.get_label().startswith("read"))
    latency_us, share = curve.get_data()
    at = result.read.percentile(90)
    assert min(share[latency_us >= at * 0.999].max(), 1) == pytest.approx(0.1, rel=0.2)


def test_percentiles_go_up_and_axes_end_with_the_data(result: lab.Result):
    (axes,) = result.plot_latency().axes
    bottom, top = axes.get_ylim()
    most = max(result.read.count, result.write.count)
    assert (bottom, top) == (1.0, pytest.approx(0.5 / most))
    heights = [axes.transData.transform((100.0, share))[1] for share in axes.get_yticks()]
    assert heights == sorted(heights)
    ticks = [text.get_text() for text in axes.get_yticklabels()]
    assert ticks[:4] == ["0 %", "50 %", "90 %", "99 %"]
    left, right = axes.get_xlim()
    greatest = max(result.read.max_us, result.write.max_us)
    assert greatest < right < (right / left) ** 0.03 * greatest
    least = min(result.read.percentile(0.1), result.write.percentile(0.1))
    assert least > left > least / (right / left) ** 0.03


@pytest.mark.parametrize("low_us", [0.5, 1.3, 70.0])
@pytest.mark.parametrize("ratio", [2.0, 4.9, 5.0, 80.0, 150.0])
def test_a_latency_axis_has_ticks_that_differ(low_us: float, ratio: float):
    axes = new_figure(8.0, 5.0).subplots()
    axes.set(xscale="log", xlim=(low_us, ratio * low_us))
    latency_ticks(axes.xaxis)
    low, high = axes.get_xlim()
    ticks = [us for us in axes.get_xticks() if low <= us <= high]
    assert 2 <= len(ticks) == len({quantity.latency(us) for us in ticks}) <= 10


def test_the_heat_map_counts_every_request(tmp_path: Path):
    """From rows in memory and from a file, in panels of reads and writes."""
    path = tmp_path / "r.parquet"
    for requests in (True, path):
        kept = lab.run("tiny", MIXED, precondition="steady", requests=requests)
        panels = kept.plot(tmp_path / "heat.png", kind="heatmap").axes[:2]
        assert [axes.get_ylabel() for axes in panels] == ["read latency", "write latency"]
        for axes, of in zip(panels, (kept.read, kept.write), strict=True):
            assert axes.collections[0].get_array().sum() == of.count
            low, high = axes.get_ylim()
            assert low <= of.min_us < of.max_us <= high * 1.001


def test_a_heat_map_wants_requests(result: lab.Result, nandlab: Callable[..., Ended], folder: Path):
    with refused("requests=True"):
        result.plot(kind="heatmap")
    with refused("`heatmaps`", "`heatmap`"):
        result.plot(kind="heatmaps")
    arguments = ["run", "--drive", "tiny", "--workload", "mixed.fio", "--quiet"]
    nandlab(*arguments, "--plot", "p.png", "--picture", "heatmap").succeeded()
    assert Path("p.png").is_file()
    for wrong in (["--picture", "heatmap"], ["--plot", "p.png", "--picture", "x"]):
        nandlab(*arguments, *wrong).refused("--picture")


@pytest.mark.parametrize("kind", ["latency", "throughput", "summary"])
def test_kinds_of_pictures(result: lab.Result, kind: str):
    labels = [axes.get_ylabel() for axes in result.plot(kind=kind).axes]
    shown = {"latency": ["percentile"], "throughput": ["MB/s"]}
    assert labels == shown.get(kind, ["percentile", "MB/s"])


def test_throughput_starts_at_zero(result: lab.Result):
    (axes,) = result.plot_throughput().axes
    assert axes.get_ylim()[0] == 0
    assert axes.get_xlabel().startswith("simulated time (")
    assert axes.get_ylabel() == "MB/s"


def test_the_host_sets_the_scale_of_throughput():
    """Garbage collection after preconditioning is cut off, and the legend says how high it goes."""
    slow = "[slow]\nrw=randrw\nrate_iops=20\ntime_based\nruntime=20\n"
    result = lab.run("tiny", slow, precondition="steady")
    (axes,) = result.plot_throughput().axes
    assert axes.get_ylabel() == "kB/s"
    assert 100 < axes.get_ylim()[1] < 1000
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert re.search(r"\bGC\b.*[\d.]+ MB/s", labels[-1])


@pytest.mark.parametrize(("last_us", "drawn"), [(99.0, 2), (101.0, 3), (1.0, 2)])
def test_a_short_last_interval_makes_no_spike(last_us: float, drawn: int):
    """A request in the first microsecond of an interval is no rate of a million a second."""
    duration = np.array([200.0, 200.0, last_us])
    requests = np.array([100.0, 100.0, 1.0])
    start, merged, [rate] = _merged(np.array([0.0, 200.0, 400.0]), duration, [requests / duration])
    assert len(start) == len(merged) == len(rate) == drawn
    assert (merged * rate).sum() == pytest.approx(requests.sum())
    assert rate.max() <= 0.51


@pytest.mark.parametrize(("words", "size"), [(3, 15.0), (11, 13.0), (40, 10.0)])
def test_titles_stay_in_the_picture(words: int, size: float):
    """Smaller where they are long, on two lines where that is not enough."""
    figure = new_figure(8.0, 5.0)
    axes = figure.subplots()
    # The second time is as the first: frames of a moving picture are drawn one after another.
    for _ in range(2):
        finish(axes, " ".join(["cycles"] * words))
    figure.draw_without_rendering()
    [title] = [text for text in axes.get_children() if getattr(text, "get_wrap", bool)()]
    assert title.get_fontsize() == pytest.approx(size, abs=1.0)
    box = title.get_window_extent()
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files(result: lab.Result, tmp_path: Path, kind: str):
    path = tmp_path / f"p.{kind}"
    result.plot(path)
    assert path.stat().st_size > 5000


def test_unknown_kind_is_refused(result: lab.Result, tmp_path: Path):
    with refused("p.bmp", ".png", ".svg", ".pdf"):
        result.plot(tmp_path / "p.bmp")


@pytest.mark.parametrize(
    "workload",
    [
        "[a]\nrw=randread\nnumber_ios=1\n",
        "[a]\nrw=randtrim\nnumber_ios=100\n",
        "[a]\nrw=write\nbs=1m\nnumber_ios=30\nfsync=1\n",
    ],
)
def test_little_to_draw(workload: str, tmp_path: Path):
    lab.run("tiny", workload).plot(tmp_path / "p.png")


def test_what_is_too_few_to_draw_is_told():
    """In the panel where nothing is drawn, in the legend beside what is."""
    few = "[a]\nrw=randread\nnumber_ios=5\n"
    (axes,) = lab.run("tiny", few).plot_latency().axes
    [text] = axes.texts
    carries(text.get_text(), "20 requests")
    [reads] = legend(axes)
    carries(reads, "read", "5", "too few")
    mixed = few + "[b]\nrw=randwrite\nnumber_ios=100\n"
    (axes,) = lab.run("tiny", mixed).plot_latency().axes
    writes, reads = legend(axes)
    carries(writes, "write", "100")
    carries(reads, "read", "5", "too few")


@pytest.mark.parametrize(
    ("drive", "state"), some([("tiny", "fill"), ("tiny", "none"), ("modern_tlc", "none")], 2)
)
def test_the_legend_hides_no_curve(drive: str, state: str):
    """Not even of writes that a buffer takes at once: a line at the left edge."""
    job = "[a]\nrw=randrw\nrwmixread=70\nbs=4k\niodepth=8\nnumber_ios=6000\n"
    figure = lab.run(drive, job, precondition=state).plot_latency()
    figure.canvas.draw()
    (axes,) = figure.axes
    box = axes.get_legend().get_window_extent()
    assert box.y1 < axes.get_window_extent().y0
    assert 0 <= box.y0 < box.x1 <= figure.bbox.x1
    for line in axes.get_lines():
        assert not box.count_contains(line.get_transform().transform(line.get_xydata()))
    assert not any(box.overlaps(text.get_window_extent()) for text in axes.texts)


def test_a_second_run_on_the_same_axes_is_told_apart(result: lab.Result):
    other = lab.run("tiny", MIXED.replace("iodepth=16", "iodepth=2"))
    names = ["read", "write"]
    figure = new_figure(8.0, 7.0)
    above, below = figure.subplots(2, 1)
    for number, run in enumerate((result, other, result)):
        run.plot_latency(above, label="abc"[number])
        run.plot_throughput(below, label="abc"[number])
    curves = [line for line in above.get_lines() if line.get_drawstyle() == "steps-pre"]
    assert [line.get_linestyle() for line in curves] == ["-", "-", "--", "--", ":", ":"]
    assert [entry.split(" (")[0] for entry in legend(above)] == [
        f"{run} {name}" for run in "abc" for name in names
    ]
    lowest, highest = above.get_xlim()
    for line in curves:
        latency_us, _ = line.get_data()
        assert lowest < latency_us.min() < latency_us.max() < highest
    assert {entry.split()[0] for entry in legend(below)} == {*"abc"}
    assert below.get_xlim()[1] == max(
        patch.get_data().edges[-1] for patch in below.patches if hasattr(patch, "get_data")
    )
    assert above.get_title(loc="left") == "tiny · fio jobs"


def legend(axes: Axes) -> list[str]:
    found = axes.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


@pytest.mark.long
def test_fio_plot_draws_our_report(tmp_path: Path):
    """fio-plot takes our reports for fio's."""
    pytest.importorskip("fio_plot", reason="fio-plot is not installed")
    data = tmp_path / "data"
    data.mkdir()
    for iodepth in (1, 4, 16):
        # It wants iodepth and numjobs among the options of each job, wherever they were given.
        options = "rw=randread\nbs=4k\nnumber_ios=2000\n"
        workload = f"[global]\niodepth={iodepth}\n[randread]\n{options}"
        result = lab.run("tiny", workload, precondition="fill")
        result.to_json(data / f"randread-{iodepth}-1.json")
    fio_plot = str(Path(sys.executable).parent / "fio-plot")
    ended = subprocess.run(
        [fio_plot, "-i", str(data), "-T", "tiny", "-l", "-r", "randread", "-o", "chart.png"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((data / "randread-1-1.json").read_text())["jobs"]


def test_the_highest_curve_lies_within_its_panel():
    """Of axes that begin at zero, whose curves differ little."""
    small = {"chip.geometry.pages_per_block": 16, "chip.geometry.page_bytes": 4096}
    for axes in lab.board("latency_map", "wang2014_mlc", set=small).plot().axes:
        assert axes.get_ylim()[0] == 0
        assert axes.get_ylim()[1] > 1.02 * max(max(line.get_ydata()) for line in axes.get_lines())


def test_cells_are_tried_up_to_the_most_cycles():
    """Steps of four end at ten million and not before: what lasts five million is told so."""
    cell = lab.cell("slc")

    def endured(t: int) -> int:
        asked = {"retention_hours": [1.0], "temperature_c": [25.0], "codeword_bits": 34_528}
        asked |= {"is_best": False}
        return cell.endurance(**asked, t=t).pe_cycles[0][0]

    cycles = endured(3500)
    assert 4 * 4**10 < cycles < MOST_PE_CYCLES
    before, after = (
        cell.rber(0, pe_cycles=n, retention_hours=1.0) for n in (cycles, int(1.01 * cycles))
    )
    assert before < 3500 / 34_528 < 1.1 * after
    assert endured(12_000) == MOST_PE_CYCLES


def test_where_nothing_wears_out_no_map_is_drawn():
    assert cycles_in_short(MOST_PE_CYCLES) == "> 10M"
    assert [cycles_in_short(n) for n in (0, 2349, 65536)] == ["0", "2,349", "65.5k"]
    few = {"retention_hours": [1.0, 2.0], "temperature_c": [25.0, 30.0]}
    found = lab.cell("tlc_3d").endurance(**few, t=300)
    capped = found._replace(pe_cycles=[[MOST_PE_CYCLES] * 2] * 2)
    capped = capped._replace(curve=[(1.0, MOST_PE_CYCLES), (2.0, MOST_PE_CYCLES)])
    [text] = capped.plot().axes[0].texts[:1]
    carries(text.get_text(), "more than 10,000,000")

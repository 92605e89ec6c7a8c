"""Designs: the cheapest drive that holds, with few runs; noise puts none out."""

from __future__ import annotations

import json
import shlex
import sys
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from conftest import refused

import nandlab
from nandlab.catalogue import load_config
from nandlab.design.price import Prices, parts_of
from nandlab.design.race import HOLDS, MISSES, UNDECIDED, Figure
from nandlab.design.space import ALIKE
from tests.study.test_sweep import InThisProcess

CHANNELS, DIES, SPARE = [1, 2, 3, 4], [1, 2, 3, 4, 5, 6], [0.28, 0.5]
JOB = "[r]\nrw=randread\niodepth=32\nnorandommap\nnumber_ios=2000\n"
SET = {"chip.geometry.blocks_per_plane": 32}
IOPS, CAPACITY_GB = 52_000, 0.1

TARGET = f'''
drive = "tiny"
[run]
workload = """
{JOB}"""
precondition = "fill"
[set]
"chip.geometry.blocks_per_plane" = 32
[target]
capacity_gb = {CAPACITY_GB}
iops = {IOPS}
[[axis]]
path = "drive.channels"
values = {CHANNELS}
[[axis]]
path = "drive.dies_per_channel"
values = {DIES}
[[axis]]
path = "ftl.overprovisioning"
values = {SPARE}
'''


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text = TARGET
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = folder / "target.toml"
    path.write_text(text)
    return path


def designed(path: Path) -> Any:
    return nandlab.design(path, workers=1, executor=InThisProcess())


def test_a_design_finds_the_drive_of_the_whole_space_with_a_tenth_of_its_runs(
    tmp_path: Path,
) -> None:
    found = designed(written(tmp_path))
    axes = {
        "drive.channels": CHANNELS,
        "drive.dies_per_channel": DIES,
        "ftl.overprovisioning": SPARE,
    }
    columns = ["capacity_gb = nandlab.capacity_bytes / 1e9", "iops = host.iops"]
    study = nandlab.Study(
        "tiny", JOB, axes=axes, columns=columns, precondition="fill", set=SET, replicates=3
    )
    whole = study.run(workers=1, executor=InThisProcess())
    good = [
        row
        for row in whole.means()
        if row["iops_low"] >= IOPS and row["capacity_gb"] >= CAPACITY_GB
    ]

    def price(row: dict[str, Any]) -> float:
        sets = [f"{axis}={row[axis]}" for axis in axes]
        loaded = load_config("tiny", [*sets, "chip.geometry.blocks_per_plane=32"])
        _, memory, _ = loaded.native.ftl_needs(2**30)
        ftl_bytes = sum(size for _, size in memory)
        return sum(parts_of(loaded.config, Prices({}), ftl_bytes).values())

    least = min(map(price, good))
    alike = [row for row in good if price(row) <= least * ALIKE]
    best = [{axis: row[axis] for axis in axes} for row in alike]
    assert found.best is not None
    assert least <= found.best.price <= least * ALIKE
    assert found.best.axes in best
    assert 0 < found.runs <= len(study) / 10
    # Some cheaper drive had to be run to be put out.
    assert any(one.stage == "runs" and one.verdict == MISSES for one in found.tried)
    ran = next(one for one in found.tried if one.stage == "runs")
    assert found.without() == {"iops": ran.price}


def test_a_design_goes_on_with_the_runs_of_the_last_one(tmp_path: Path) -> None:
    path = written(tmp_path)
    first = designed(path)

    class Idle(InThisProcess):
        def submit(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("a run that is known already")

    second = nandlab.design(path, workers=1, executor=Idle())
    assert second.to_dict() == first.to_dict()


def test_a_design_names_the_keys_of_the_tail(tmp_path: Path) -> None:
    found = designed(written(tmp_path, (f"iops = {IOPS}", "read_us_p99 = 5000")))
    assert found.tail is not None
    assert found.tail.target == "read_us_p99"
    assert 0 < found.tail.share <= 1
    assert f"{found.tail.cause}; keys: {next(iter(found.tail.keys))}=" in str(found)


def test_short_runs_put_out_what_is_far_beyond(tmp_path: Path) -> None:
    # Half of the drive: no closed form puts a drive out.
    narrow = ("norandommap", "norandommap\nsize=50%")
    short = ('drive = "tiny"', 'drive = "tiny"\nshort_until = "500"')
    more = (f"iops = {IOPS}", "iops = 70000")
    found = designed(written(tmp_path, narrow, short, more))
    assert any(one.stage == "short runs" and one.verdict == MISSES for one in found.tried)
    assert found.best is not None
    assert found.best.stage == "runs"


def test_a_short_run_without_a_figure_decides_nothing(tmp_path: Path) -> None:
    """99.99 % of 500 requests is no percentile; that of the whole run is."""
    short = ('drive = "tiny"', 'drive = "tiny"\nshort_until = "500"')
    tail = (f"iops = {IOPS}", "read_us_p99_99 = 100000")
    long = ("number_ios=", "number_ios=2")
    found = designed(written(tmp_path, short, tail, long))
    assert found.best is not None
    assert found.best.stage == "runs"


def test_a_winner_lives_its_years_or_is_none(tmp_path: Path) -> None:
    few = (f"iops = {IOPS}", "iops = 100\nyears = 0.02\ndwpd = 1")
    mixed = ("rw=randread", "rw=randrw")
    found = designed(written(tmp_path, mixed, few))
    assert found.best is not None
    assert found.best.stage == "life"
    many = (f"iops = {IOPS}", "iops = 100\nyears = 1\ndwpd = 50")
    weak = ("[set]", '[set]\n"chip.rated_pe_cycles" = 5')
    small = [(f"values = {CHANNELS}", "values = [1]"), (f"values = {DIES}", "values = [4]")]
    worn = designed(written(tmp_path, mixed, many, weak, *small))
    assert worn.best is None
    assert any("life ends" in one.why for one in worn.tried)


def test_only_an_interval_beyond_its_limit_misses() -> None:
    assert Figure(90, 80, 100, 100, is_least=False).verdict == HOLDS
    assert Figure(101, 80, 122, 100, is_least=False).verdict == UNDECIDED
    assert Figure(120, 101, 139, 100, is_least=False).verdict == MISSES
    assert Figure(120, 101, 139, 100, is_least=True).verdict == HOLDS
    assert Figure(90, 80, 99, 100, is_least=True).verdict == MISSES
    assert Figure(80, 70, 90, 100, is_least=False).margin == pytest.approx(0.2)


def test_the_command_prints_the_answer_and_one_that_repeats_its_run(
    tmp_path: Path, nandlab: Any
) -> None:
    path = written(tmp_path)
    ended = nandlab("design", str(path), "--workers", "1", "--json", str(tmp_path / "a.json"))
    assert ended.code == 0
    answer = json.loads((tmp_path / "a.json").read_text())
    assert f"bound by: {answer['binding']}" in ended.out
    again = shlex.split(answer["best"]["command"])[1:]
    report = tmp_path / "r.json"
    assert nandlab(*again, "--json", str(report)).code == 0
    figure = answer["best"]["figures"]["iops"]
    iops = json.loads(report.read_text())["host"]["iops"]
    assert figure["low"] * 0.9 <= iops <= figure["high"] * 1.1


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ("capacity_gb =", "capacity_gbs =", ["capacity_gbs", "capacity_gb"]),
        (f"iops = {IOPS}", 'iops = "many"', ["iops", "many", "number"]),
        ("[target]", "[price]\ntlc = 1\n[target]", ["price", "tlc", "tlc_gb"]),
        (f"iops = {IOPS}", "years = 5", ["years", "dwpd"]),
        (f"iops = {IOPS}", "iops = 1\nyears = 5\ndwpd = 1\nwrites_gb_per_day = 1", ["one of"]),
        (f"iops = {IOPS}", "iops = 1\nyears = 5\ndwpd = 1", ["writes nothing"]),
        (f"values = {CHANNELS}", "from = 1\nto = 4", ["drive.channels", "step", "factor"]),
        (f"values = {CHANNELS}", "from = 1\nto = 4\nfactor = 1", ["factor", "above 1"]),
        (f"values = {CHANNELS}", "from = 1\nto = 4\nfactor = 2\nstep = 2", ["factor", "step"]),
        ('path = "drive.channels"', 'path = "run.iodepth"', ["run.iodepth"]),
        ('drive = "tiny"', 'drive = "tiny"\nlimits = []', ["limits"]),
        ('drive = "tiny"', 'drive = "tiny"\nshort_until = 5', ["short_until", "5"]),
        ('drive = "tiny"', 'drive = "tiny"\nshort_until = "abc"', ["short_until", "abc", "2s"]),
        (f"iops = {IOPS}", "iops = 0", ["target.iops", "more than 0"]),
        (f"iops = {IOPS}", "iops = 1\nyears = 0\ndwpd = 1", ["target.years", "more than 0"]),
        (f"iops = {IOPS}", "read_iops = 1\nyears = 1\ndwpd = 1", ["read_iops", "life"]),
        ('path = "drive.channels"', 'path = "drive.scale"', ["drive.scale", "share"]),
        ("[set]", '[set]\n"drive.scale" = "1/2"', ["drive.scale", "whole"]),
    ],
)
def test_bad_targets_are_refused(tmp_path: Path, before: str, after: str, parts: list[str]) -> None:
    path = written(tmp_path, (before, after))
    with refused(*parts):
        nandlab.design(path)


def test_refused_drives_are_counted(tmp_path: Path) -> None:
    """A value that no drive can have leaves the others, and the page says how many and why."""
    spare = "ftl.overprovisioning"
    one = f'[[axis]]\npath = "{spare}"\nvalues = {SPARE}'
    path = written(
        tmp_path, (one, f'{one}\n[[axis]]\npath = "gc.name"\nvalues = ["greedy", "gredy"]')
    )
    answer = designed(path)
    drives = len(CHANNELS) * len(DIES) * len(SPARE)
    assert len(answer.space.candidates) == drives == len(answer.space.refused)
    assert "gredy" in answer.space.refused[0]
    assert "cannot be built" in str(answer)


def test_none_allowed_is_no_margin() -> None:
    """A drive without lost data is not bound by a limit of 0."""
    assert Figure(0, 0, 0, 0, is_least=False).margin == float("inf")
    assert Figure(2, 1, 3, 0, is_least=False).margin == -float("inf")


def test_closed_forms_put_out_what_no_run_needs_to(tmp_path: Path) -> None:
    """One die and a slow bus: no run is spent on them, and the same drive is found."""
    slow = ("[set]", '[set]\n"chip.timing.bus_mt_s" = 100')
    one = (f"values = {DIES}", "values = [4, 5, 6]")
    found = designed(written(tmp_path, slow, one))
    out = [one for one in found.tried if one.stage == "closed form"]
    assert out
    assert all(each.missed == ["iops"] for each in out)
    for each in out:
        sets = {**SET, "chip.timing.bus_mt_s": 100, **each.axes}
        assert nandlab.run("tiny", JOB, precondition="fill", set=sets).iops < IOPS
    assert found.best is not None
    assert found.best.axes["drive.channels"] > 1
    assert "misses (closed form): iops" in str(found)


def test_ranges_have_steps_or_factors(tmp_path: Path) -> None:
    step = (f"values = {DIES}", "from = 1\nto = 6\nstep = 1")
    factor = (f"values = {CHANNELS}", "from = 1\nto = 4\nfactor = 2")
    found = designed(written(tmp_path, step, factor))
    assert len(found.space.candidates) == len([1, 2, 4]) * len(DIES) * len(SPARE)
    assert found.best is not None
    assert found.best.axes["drive.dies_per_channel"] == 5


def test_a_life_begins_where_the_target_says_and_by_writes_of_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    lived = nandlab.life

    def seen(*args: Any, **given: Any) -> Any:
        asked.append(given)
        return lived(*args, **given)

    monkeypatch.setattr(sys.modules["nandlab.design.life"], "life", seen)
    mixed, state = ("rw=randread", "rw=randrw"), ('"fill"', '"steady"')
    few = (f"iops = {IOPS}", "iops = 100\nyears = 0.02\nwrites_gb_per_day = 0.1")
    found = designed(written(tmp_path, mixed, state, few))
    assert found.best is not None
    assert asked[0]["precondition"] == "steady"
    assert asked[0]["writes_per_day"] == pytest.approx(1e8)
    assert found.best.lived["pe_cycles_mean"] > 0
    # Power has a price where the drive has an energy report, and this one has none.
    assert "power" not in found.best.parts


def test_no_life_begins_from_the_writes_of_a_trace(tmp_path: Path) -> None:
    life = (f"iops = {IOPS}", "iops = 100\nyears = 1\ndwpd = 1")
    path = written(tmp_path, ("rw=randread", "rw=randrw"), life, ('"fill"', '"trace"'))
    with refused("run.precondition", "trace", "steady"):
        nandlab.design(path)


def test_a_trace_without_writes_is_no_life(tmp_path: Path) -> None:
    (tmp_path / "reads.csv").write_text("128166372003061629,hm,1,Read,0,4096,10\n")
    life = (f"iops = {IOPS}", "iops = 100\nyears = 1\ndwpd = 1")
    trace = (f'workload = """\n{JOB}"""', 'trace = "reads.csv"')
    with refused("run.trace", "writes nothing"):
        nandlab.design(written(tmp_path, trace, life))


def test_power_has_a_price_over_the_years(tmp_path: Path) -> None:
    mixed = ("rw=randread", "rw=randrw")
    few = (f"iops = {IOPS}", "iops = 100\nyears = 0.02\ndwpd = 1")
    own = ('drive = "tiny"', 'drive = "own.toml"')
    text = 'drive_preset = "tiny"\n[power]\ncontroller_mw = 2000\n'
    (tmp_path / "own.toml").write_text(text)
    found = designed(written(tmp_path, mixed, few, own, ("[set]", "[price]\nkwh = 100\n[set]")))
    assert found.best is not None
    # Two watts and what flash takes, over 175.2 hours.
    assert 1.0 < found.best.parts["power"] / (2e-3 * 175.2 * 100) < 1.5
    assert found.best.price == min(one.price for one in found.tried if one.verdict == HOLDS)
    # Drives that could not cost less even idle are not run.
    assert len(found.tried) < len(found.space.candidates)


def test_prices_of_the_chip_go_before_assumed_ones() -> None:
    config = load_config("modern_tlc").config
    dies = 32
    flash = parts_of(config, Prices({}))["flash"]
    raw_gb = 32 * 4 * 910 * 1152 * 16384 / 1e9
    assert flash == pytest.approx(raw_gb * 0.05 + dies * 0.5)
    own = parts_of(config, Prices({"tlc_gb": 0.2, "die": 0.0}))["flash"]
    assert own == pytest.approx(raw_gb * 0.2)
    assumed = Prices({"channel": 2.0}).assumed(config, {})
    assert assumed.keys() == {"chip.cost_per_gb", "die", "controller", "dram_gb"}


def test_assumptions_of_the_winner_and_what_the_targets_cost_are_told(tmp_path: Path) -> None:
    found = designed(written(tmp_path, ("rw=randread", "rw=randrw"), ("52000", "40000")))
    assert "L014" in [finding.code for finding in found.findings]
    assert found.best is not None
    [(name, steps)] = found.steps().items()
    assert name == "iops"
    assert all(step.limit < 40000 and step.price < found.best.price for step in steps)
    assert found.without() == {"iops": steps[-1].price}
    found.plot(tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 10_000


def test_runs_that_the_machine_has_failed_are_made_by_the_same_command(tmp_path: Path) -> None:
    path = written(tmp_path)

    class Failing(InThisProcess):
        """An executor one of whose workers fails."""

        calls = 0

        def submit(self, call: Any, /, *args: Any, **given: Any) -> Any:
            Failing.calls += 1
            if Failing.calls == 2:
                future: Future[Any] = Future()
                future.set_exception(MemoryError("none left"))
                return future
            return super().submit(call, *args, **given)

    first = nandlab.design(path, workers=1, executor=Failing())
    assert any("MemoryError" in one.why for one in first.tried)
    clean = tmp_path / "clean"
    clean.mkdir()
    again, whole = designed(path), designed(written(clean))
    assert [one.verdict for one in again.tried] == [one.verdict for one in whole.tried]


def test_none_seen_holds_where_none_is_allowed_and_tells_how_many_there_may_be(
    tmp_path: Path,
) -> None:
    found = designed(written(tmp_path, (f"iops = {IOPS}", "uncorrectable = 0")))
    assert found.best is not None
    figure = found.best.figures["uncorrectable"]
    assert figure.verdict == HOLDS
    # Three runs: none seen leaves up to -ln(0.0125) / 3 a run.
    assert (figure.mean, figure.low) == (0, 0)
    assert figure.high == pytest.approx(4.382 / 3, abs=0.001)

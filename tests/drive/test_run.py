"""`nandlab.run`: workloads, traces, overrides, what a result answers."""

import gzip
import html
import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import ENDLESS, MIXED, carries, refused

import nandlab
from nandlab.drive.table import result_html

IOLOG = """fio version 3 iolog
0 disk add
0 disk open
10 disk write 0 4096
20 disk write 4096 4096
500 disk read 0 8192
900 disk datasync 0 0
1000 disk trim 0 4096
2000 disk close
"""


def test_answers_in_types():
    result = nandlab.run("tiny", MIXED)
    assert result.latency.count == 5000 == result.read.count + result.write.count
    assert result.latency.min_us <= result.latency.mean_us <= result.latency.max_us
    assert result.latency.percentile(0) <= result.latency.percentile(50)
    assert result.latency.percentile(100) == result.latency.max_us
    assert result.iops > 0
    assert result.bandwidth_mb_s == pytest.approx(result.iops * 4096 / 1e6)
    assert result.write_amplification > 0
    assert result.checks.ok
    assert not result.interrupted
    assert repr(result).startswith("<result of tiny · fio jobs: ")
    assert "write amplification" in result._repr_html_()


def test_the_summary_is_of_the_drive_as_built(tmp_path: Path):
    """The line of its file, as long as it has the parameters of that file."""

    def told(drive: object, **how: object) -> str:
        result = nandlab.run(drive, "[a]\nrw=randread\nnumber_ios=20\n", **how)
        line = str(result.to_dict()["nandlab"]["summary"])
        shown = html.unescape(re.sub(r"<[^>]*>", " ", result._repr_html_()))
        assert line in " ".join(shown.split())
        return line

    own = {preset.name: preset.summary for preset in nandlab.presets("drive")}
    (mine := tmp_path / "mine.toml").write_text('drive_preset = "tiny"\ndrive.channels = 4\n')
    (named := tmp_path / "named.toml").write_text('drive_preset = "tiny"\nsummary = "my own"\n')
    nandlab.Drive("tiny", set={"drive.channels": 8}).save(saved := tmp_path / "8.nldrive")
    assert told("tiny", seed=5) == told({"drive_preset": "tiny"}) == own["tiny"]
    assert told(named) == "my own"
    for drive, how, channels in [
        ("tiny", {"set": {"drive.channels": 8}}, 8),
        (mine, {}, 4),
        (named, {"set": ["drive.channels=3"]}, 3),
        ({"drive_preset": "tiny", "drive": {"channels": 5}}, {}, 5),
    ]:
        assert re.search(rf"\b{channels} x 2\b", told(drive, **how))
    again = nandlab.Drive.load(saved).run(MIXED).to_dict()["nandlab"]["summary"]
    assert re.search(r"\b8 x 2\b", again)


def test_percentiles_are_those_of_the_report():
    result = nandlab.run("tiny", MIXED)
    host = result.to_dict()["host"]
    for latency, said in [(result.latency, host), (result.read, host["read"])]:
        for key, percent in [("p50", 50), ("p90", 90), ("p99_9", 99.9), ("p99_999", 99.999)]:
            assert latency.percentile(percent) == said["latency_us"][key]


def test_distribution_falls_from_one():
    latency_us, share = nandlab.run("tiny", MIXED).latency.exceedance()
    assert share[0] == 1
    assert np.all(np.diff(share) < 0)
    assert np.all(np.diff(latency_us) > 0)


def test_percentile_refuses_what_it_cannot_answer():
    result = nandlab.run("tiny", "[r]\nrw=randread\nnumber_ios=10\n")
    with refused("101", "0 to 100"):
        result.latency.percentile(101)
    for wrong in ([50, 101], "p99", [None], float("nan")):
        with refused("0 to 100"):
            result.latency.percentile(wrong)
    several = result.latency.percentile([50, 99])
    assert several.tolist() == [result.latency.percentile(50), result.latency.percentile(99)]
    assert result.latency.percentile(np.array([[50.0]])).shape == (1, 1)
    with refused("50", "no requests"):
        result.write.percentile(50)


def test_workload_is_a_path_or_a_text(folder: Path):
    by_text = nandlab.run("tiny", MIXED).to_dict()
    by_path = nandlab.run("tiny", folder / "mixed.fio").to_dict()
    assert by_text["host"] == by_path["host"]
    assert by_path["nandlab"]["run"]["name"] == "mixed.fio"


@pytest.mark.parametrize("sets", [{"ftl.overprovisioning": 0.5}, ["ftl.overprovisioning=0.5"]])
def test_set_changes_parameters(sets):
    report = nandlab.run("tiny", MIXED, set=sets).to_dict()
    assert report["nandlab"]["config"]["ftl"]["overprovisioning"] == 0.5
    assert report["nandlab"]["run"]["set"] == ["ftl.overprovisioning=0.5"]


def test_ages_and_retries_of_ideal_flash_are_pointed_out():
    sets = ["age.pe_cycles=5000", "retry.name=soft_decision"]
    reads = "[r]\nrw=randread\nnumber_ios=500\n"
    (notice,) = nandlab.run("tiny", reads, set=sets, precondition="fill").notices
    carries(notice, "chip.array", "`ideal`", "no errors", "age.pe_cycles", "retry.name")
    fresh = nandlab.run("tiny", reads, set=["age.pe_cycles=0"], precondition="fill")
    assert fresh.notices == []
    aged = nandlab.run(
        "tiny", reads, set=[*sets[:1], "chip.array.name=power_law"], precondition="fill"
    )
    assert aged.notices == []


def test_set_keeps_types():
    for truth in (False, np.False_):
        values = {"gc.name": "greedy", "scheduler.suspend": truth, "seed": np.int64(7)}
        config = nandlab.run("tiny", MIXED, set=values).to_dict()["nandlab"]["config"]
        assert config["scheduler"]["suspend"] is False
        assert config["seed"] == 7


def test_one_text_is_one_assignment():
    report = nandlab.run("tiny", MIXED, set="gc.name=fifo").to_dict()
    assert report["nandlab"]["run"]["set"] == ["gc.name=fifo"]
    assert nandlab.cell("tlc_3d", set="wear.widen_v=0.1").changed == ["wear.widen_v=0.1"]


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), -1.0])
def test_times_are_scaled_by_numbers(folder: Path, scale: float):
    (folder / "log").write_text(IOLOG)
    with refused("trace.time_scale", f"{scale:g}", "number"):
        nandlab.run("tiny", trace="log", trace_options={"time_scale": scale})


def test_trace_options_are_a_mapping(folder: Path):
    with refused("trace options", "3", "mapping", "action"):
        nandlab.run("tiny", MIXED, trace_options=3)
    with refused("trace options", "3", "mapping"):
        nandlab.trace_info("mixed.fio", options=3)


def test_trace_runs_at_its_times(folder: Path):
    (folder / "log").write_text(IOLOG)
    result = nandlab.run("tiny", trace="log", requests=True)
    assert result.to_dict()["nandlab"]["trace"]["requests"] == 5
    counts = [getattr(result, op).count for op in ("read", "write", "trim", "flush")]
    assert counts == [1, 2, 1, 1]
    rows = result.requests().sort_by("arrival_ns").to_pydict()
    assert rows["arrival_ns"] == [0, 10_000, 490_000, 890_000, 990_000]
    assert rows["op"] == ["write", "write", "read", "flush", "trim"]
    assert rows["offset_bytes"] == [0, 4096, 0, 0, 0]
    # Nothing limits it, unless a depth leaves its times aside.
    assert result.to_dict()["nandlab"]["run"]["iodepth"] is None
    closed = nandlab.run("tiny", trace="log", iodepth=1, requests=True)
    assert closed.to_dict()["nandlab"]["run"]["iodepth"] == 1
    ends = closed.requests().sort_by("arrival_ns").to_pydict()
    assert ends["op"] == ["write", "write", "read", "flush", "trim"]
    assert ends["arrival_ns"][-1] < 900_000
    with refused("`iodepth`", "times", "trace", "hint"):
        nandlab.run("tiny", trace="log", iodepth=4, trace_options={"time_scale": 2.0})


def test_a_trace_says_when_its_requests_are_sent(folder: Path):
    """Times of the file that are set aside or scaled are not called its own."""
    (folder / "log").write_text(IOLOG)
    own = nandlab.run("tiny", trace="log")
    closed = nandlab.run("tiny", trace="log", iodepth=3)
    scaled = nandlab.run("tiny", trace="log", trace_options={"time_scale": 2.5})
    said = [" ".join(re.sub("<[^>]*>", "", result_html(r)).split()) for r in (own, closed, scaled)]
    carries(said[0], "fio_iolog", "own times")
    assert "own times x" not in said[0]
    carries(said[1], "fio_iolog", "3 in flight")
    assert "own times" not in said[1]
    carries(said[2], "fio_iolog", "own times x 2.5")
    [first, second, third] = [run.to_dict()["nandlab"]["trace"] for run in (own, closed, scaled)]
    assert (first["timed"], second["timed"], third["timed"]) == (True, False, True)
    assert (second["span_s"], second["interarrival"]) == (0.0, None)
    assert third["span_s"] == pytest.approx(2.5 * first["span_s"])


@pytest.mark.parametrize(("spare", "is_told"), [(28, True), (1.01, True), (1.0, False)])
def test_more_spare_flash_than_sold_is_noticed(spare: float, is_told: bool):
    report = nandlab.run("tiny", MIXED, set={"ftl.overprovisioning": spare}).to_dict()
    told = [notice for notice in report["nandlab"]["notices"] if "overprovisioning" in notice]
    assert len(told) == is_told
    for notice in told:
        carries(notice, f"ftl.overprovisioning = {spare:g}", f"{100 * spare:,.0f} %")
        carries(notice, f"{spare:g} %", f"{spare / 100:g}")


def test_trace_options_reach_the_reader(folder: Path):
    with gzip.open(folder / "log.gz", "wt") as file:
        file.write(IOLOG)
    slow = nandlab.run("tiny", trace="log.gz", trace_options={"time_scale": 1000.0})
    assert slow.to_dict()["sim"]["simulated_s"] >= 0.99
    with refused("trace.time_scal", "`time_scale`"):
        nandlab.run("tiny", trace="log.gz", trace_options={"time_scal": 1000.0})


def test_the_reader_knows_our_trace_options(folder: Path):
    """The one list in Python is the list of the engine."""
    (folder / "log").write_text(IOLOG)
    with pytest.raises(nandlab.NandlabError) as raised:
        nandlab.trace_info("log", options={"": 1})
    expected = str(raised.value).partition("; expected: ")[2].split(", ")
    assert sorted(expected) == sorted([*nandlab.TraceOptions.__annotations__, "format"])


def test_a_drive_file_says_what_to_run(folder: Path):
    (folder / "there").mkdir()
    (folder / "there" / "log").write_text(IOLOG)
    drive = folder / "there" / "drive.toml"
    drive.write_text('drive_preset = "tiny"\n[run]\ntrace = "log"\ntime_scale = 2.0\n')
    run = nandlab.run(drive).to_dict()["nandlab"]["run"]
    assert (run["kind"], run["time_scale"], run["precondition"]) == ("trace", 2.0, "none")
    given = nandlab.run(drive, MIXED, precondition="fill").to_dict()["nandlab"]["run"]
    assert (given["kind"], given["precondition"]) == ("fio_text", "fill")


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ('worklod = "x"', ["drive.toml:3", "run.worklod", "`workload`"]),
        ('workload = "x"\ntrace = "y"', ["drive.toml:4", "run", "workload", "trace", "hint"]),
        ("trace = 1", ["drive.toml:3", "run.trace", "1", "path"]),
        ("", ["nothing to run"]),
        ('trace = "x"\niodepth = 0', ["drive.toml:4", "run.iodepth", "0"]),
        ('workload = "no.fio"', ["drive.toml:3", "run.workload", "`no.fio`", "a fio"]),
        ('precondition = "stedy"', ["drive.toml:3", "run.precondition", "'stedy'", "`steady`"]),
    ],
)
def test_a_drive_file_that_says_it_wrong(folder: Path, table: str, parts: list[str]):
    (folder / "drive.toml").write_text(f'drive_preset = "tiny"\n[run]\n{table}\n')
    with refused(*parts):
        nandlab.run("drive.toml")


def test_what_goes_unused_in_a_drive_file_is_checked_too(folder: Path):
    (folder / "drive.toml").write_text('drive_preset = "tiny"\n[run]\nprecondition = "ful"\n')
    with refused("drive.toml:3", "run.precondition"):
        nandlab.run("drive.toml", MIXED, precondition="fill")


def test_trace_without_times_runs_in_a_closed_loop(folder: Path):
    lines = "".join(f"disk read {i * 4096} 4096\n" for i in range(500))
    (folder / "log").write_text("fio version 2 iolog\ndisk add\ndisk open\n" + lines)
    depth = [
        nandlab.run("tiny", trace="log", iodepth=iodepth, precondition="fill").to_dict()["host"]
        for iodepth in (1, 8)
    ]
    assert depth[0]["mean_queue_depth"] == pytest.approx(1, abs=0.05)
    assert depth[1]["iops"] > 2 * depth[0]["iops"]


def test_a_drive_that_wears_out_ends_its_writers():
    """A block fails when its cycles are up; with none to spare the drive takes no more writes."""
    job = """
        [writer]
        rw=randwrite
        bs=4k
        iodepth=8
        number_ios=3000000
        [reader]
        rw=randread
        bs=4k
        number_ios=100000
    """
    sets = ["chip.rated_pe_cycles=4", "chip.fault={median_ratings=1,spread=0.2}"]
    result = nandlab.run("tiny", job, set=sets, precondition="fill")
    report = result.to_dict()
    ftl, nand, host = report["ftl"], report["nand"], report["host"]
    assert nand["failed_erases"] > ftl["retired_blocks"] > 100
    assert 0 < ftl["read_only_at_s"] <= report["sim"]["simulated_s"]
    # What was under way then has failed, and nothing came after it.
    assert 0 < host["requests_failed"] <= 8
    assert host["write"]["requests"] < 3_000_000
    assert host["write"]["bytes"] == 4096 * host["write"]["requests"]
    assert host["read"]["requests"] + host["write"]["requests"] == (
        host["requests_completed"] - host["requests_failed"]
    )
    assert host["read"]["requests"] == 100_000
    assert [job["error"] for job in report["jobs"]] == [5, 0]
    assert report["checks"]["conservation"]["ok"]
    carries(result_html(result), "without spare")
    fresh = nandlab.run("tiny", MIXED, precondition="fill").to_dict()
    assert fresh["ftl"]["read_only_at_s"] is None
    assert fresh["nand"]["failed_erases"] == 0


def test_programs_fail_by_chance():
    """What such a program carried is written elsewhere: nothing is missing, and blocks leave."""
    chance = "chip.fault.program_failure_chance=1e-4"
    job = "[w]\nrw=randrw\nbs=4k\niodepth=8\nfsync=16\nnumber_ios=300000\n"
    result = nandlab.run("tiny", job, set=[chance], precondition="fill")
    report = result.to_dict()
    nand = report["nand"]
    expected = 1e-4 * nand["programs"]
    assert nand["failed_programs"] == pytest.approx(expected, abs=5 * expected**0.5)
    assert 0 < report["ftl"]["retired_blocks"] <= nand["failed_programs"]
    assert report["host"]["requests_failed"] == 0
    assert report["checks"]["conservation"]["ok"]
    carries(result_html(result), f"{nand['failed_programs']:,} programs failed")
    plain = nandlab.run("tiny", job, precondition="fill").to_dict()
    assert plain["nand"]["failed_programs"] == plain["ftl"]["retired_blocks"] == 0


def test_read_reclaim_moves_what_is_read_often():
    job = "[r]\nrw=randread\nbs=4k\niodepth=8\nnumber_ios=400000\n"
    result = nandlab.run("tiny", job, set=["gc.reclaim_reads=40"], precondition="fill")
    ftl = result.to_dict()["ftl"]
    assert 0 < ftl["read_reclaims"] <= 400_000 / 40
    assert ftl["gc_copies"] > 0 == ftl["host_units"]
    carries(result_html(result), f"{ftl['read_reclaims']:,} reclaimed")
    assert nandlab.run("tiny", job, precondition="fill").to_dict()["ftl"]["read_reclaims"] == 0
    with refused("gc.reclaim_rounds", "at most 0"):
        nandlab.run("tiny", job, set=["gc.reclaim_rounds=1"])


def test_a_chance_that_no_drive_lives_with_is_refused():
    with refused("program_failure_chance", "0 to 0.1"):
        nandlab.run("tiny", MIXED, set=["chip.fault.program_failure_chance=0.2"])


def test_blocks_that_fail_under_load_leave():
    """Where the host takes every free block, one is kept from it to move a failed block off."""
    job = "[w]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=3000000\n"
    sets = [
        "chip.rated_pe_cycles=4",
        "chip.fault={median_ratings=1,spread=0.2}",
        "chip.geometry.blocks_per_plane=64",
        "ftl.separate_gc_stream=false",
    ]
    report = nandlab.run("tiny", job, set=sets, precondition="fill").to_dict()
    assert report["ftl"]["read_only_at_s"] is not None
    assert report["ftl"]["retired_blocks"] > report["nand"]["failed_erases"] / 2 > 20


def test_an_error_in_the_ramp_time_is_an_error():
    job = "[w]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=3000000\nramp_time=100000\n"
    sets = [
        "chip.rated_pe_cycles=2",
        "chip.fault.median_ratings=1",
        "chip.geometry.blocks_per_plane=64",
    ]
    report = nandlab.run("tiny", job, set=sets).to_dict()
    assert report["host"]["write"]["requests"] == 0 < report["host"]["requests_failed"]
    assert report["jobs"][0]["error"] == 5
    assert report["checks"]["conservation"]["ok"]


def test_what_was_not_kept_is_refused(folder: Path):
    result = nandlab.run("tiny", MIXED)
    with refused("requests", "requests=True"):
        result.requests()
    with refused("timeline", "timeline=True"):
        result.timeline("t.json")
    with refused("sql", "series", "requests=True"):
        result.sql("select * from requests")
    with refused("sql", "Parser Error"):
        result.sql("selct 1")


def test_a_report_without_a_folder_is_refused(folder: Path):
    with refused("folder missing"):
        nandlab.run("tiny", MIXED).to_json("missing/x.json")


def test_a_drive_file_ends_with_toml(folder: Path):
    Path("README.md").write_text("a drive?")
    with refused("drive", "README.md", ".toml"):
        nandlab.run("README.md", MIXED)


def test_only_checks_that_were_made_are_named(folder: Path):
    """A job with a rate keeps no depth: Little's law says nothing of it."""
    with_depth, with_rate = (nandlab.run("tiny", MIXED + more) for more in ("", "rate_iops=1000\n"))
    assert with_depth.checks.made() == ["conservation", "Little's law", "busy times"]
    assert with_depth.checks.left_out() == []
    assert with_rate.checks.made() == ["conservation", "busy times"]
    [left_out] = with_rate.checks.left_out()
    carries(left_out, "Little's law", "no depth")
    carries(with_rate._repr_html_(), "conservation, busy times", "Little")


PHASES = """
[short]
rw=randread
number_ios=1000
[clones]
rw=randwrite
numjobs=3
rate_iops=2000
number_ios=200
[later]
stonewall
rw=randread
rate_iops=500
number_ios=100
"""


def test_each_job_has_its_own_rate():
    """Over its own time; the totals count the time of all phases."""
    result = nandlab.run("tiny", PHASES, precondition="fill")
    said = html.unescape(re.sub("<[^>]*>", "", result_html(result)))
    rows = {line.split()[0]: line.split() for line in said.splitlines() if line.strip()}
    short, _, _, later = result.to_dict()["jobs"][0], *result.to_dict()["jobs"][2:]
    assert rows["short"][1:3] == ["read", "1,000"]
    assert rows["short"][5] == f"{short['read']['iops']:,.0f}"
    assert rows["clones"][1:5] == ["x", "3", "write", "600"]
    assert float(rows["clones"][7].replace(",", "")) == pytest.approx(6000, rel=0.02)
    assert rows["later"][5] == f"{later['read']['iops']:.0f}"
    # p50 and p99 of a hundred requests, none of p99.9 between them and the greatest.
    assert len(rows["later"]) == len(rows["short"]) - 2
    carries(said, "whole run")
    alone = nandlab.run("tiny", MIXED.replace("[mixed]", "[mixed]\nnumjobs=2"))
    assert "whole run" not in result_html(alone)


def test_many_jobs_are_left_to_the_report():
    jobs = "".join(f"[job{n}]\nrw=randread\nnumber_ios=10\n" for n in range(9))
    said = result_html(nandlab.run("tiny", jobs))
    carries(said, "9 sections", "`jobs`")
    assert "job3" not in said


def test_no_percentile_that_no_request_exceeds():
    """Of four requests the percentile 99.9 is the greatest: it tells nothing more."""
    jobs = "[few]\nrw=randread\nthinktime=100s\nnumber_ios=4\n"
    said = html.unescape(re.sub("<[^>]*>", "", result_html(nandlab.run("tiny", jobs))))
    (row,) = (line for line in said.splitlines() if line.startswith("read "))
    assert len(re.findall("[µn]s", row)) == 3
    assert "mean queue depth <0.001" in said
    assert "e-0" not in said


def test_why_no_depth_was_kept_is_said():
    with_ramp = nandlab.run("tiny", MIXED + "ramp_time=1ms\n")
    [left_out] = with_ramp.checks.left_out()
    carries(left_out, "Little's law", "ramp_time")

    def stop(progress: nandlab.Progress) -> None:
        if progress.done > 1000:
            raise KeyboardInterrupt

    with pytest.raises(nandlab.Interrupted) as stopped:
        nandlab.run("tiny", ENDLESS, progress=stop)
    [left_out] = stopped.value.result.checks.left_out()
    carries(left_out, "Little's law", "cut short")


@pytest.mark.parametrize("process", ["linear", "poisson"])
def test_a_rate_that_is_not_reached_is_said(process: str):
    jobs = f"[fast]\nrw=randread\niodepth=16\nrate_process={process}\nrate_iops="

    def notices(more: str) -> list[str]:
        return nandlab.run("tiny", jobs + more, precondition="fill").notices

    (notice,) = notices("100000\nnumber_ios=5000\n")
    carries(notice, "`fast`", "read", "100,000/s")
    assert re.search(r" \d\d,\d{3}/s", notice)
    # Kept, or too short to tell.
    for kept in ("2000\nnumber_ios=2000\n", "2000\nnumber_ios=3\n", "0,9\nnumber_ios=500\n"):
        assert notices(kept) == []
    (notice,) = notices("50000,7\nnumber_ios=5000\nnumjobs=2\n")
    carries(notice, "`fast x 2`", "read", "100,000/s")


def test_report_is_a_copy_and_a_file(folder: Path):
    result = nandlab.run("tiny", MIXED)
    result.to_dict()["host"].clear()
    assert result.to_dict()["host"]
    assert json.loads(result.to_json("r.json")) == json.loads(Path("r.json").read_text())


def test_presets_run_and_cite():
    kinds = {preset.kind for preset in nandlab.presets()}
    assert kinds == {"cell", "chip", "code", "drive", "host", "price", "workload"}
    for preset in nandlab.presets("drive"):
        assert preset.summary
        nandlab.bibliography(preset.name)
    assert "tavakkol2018" in nandlab.bibliography("mqsim_default")
    assert nandlab.show("tiny").startswith("#")
    assert nandlab.schema()["properties"]["drive"]


def test_example_in_the_package_docstring_holds():
    result = nandlab.run("tiny", "[reads]\nrw=randread\nnumber_ios=1000\n")
    assert result.checks.ok


def test_what_steady_leaves_to_collect_is_told():
    """A drive that has had time amplifies few writes as it settled; one that has not, collects."""
    jobs = "[a]\nrw=randwrite\nbs=4k\nnorandommap\nnumber_ios=1000\nrate_iops=2000\n"
    pressed, rested = (nandlab.run("tiny", jobs, precondition=p) for p in ("steady", "rested"))
    (notice,) = pressed.notices
    carries(notice, "--precondition rested", "2.53")
    assert rested.notices == []
    assert rested.write_amplification == pytest.approx(2.53, rel=0.1)
    assert pressed.write_amplification > 1.5 * 2.53


def test_a_refused_write_ends_a_trace_and_is_named(tmp_path: Path):
    """The error that the drive answers with, and what was not sent, stand in the notices."""
    log = "fio version 3 iolog\n0 /dev/z add\n0 /dev/z open\n"
    log += "".join(
        f"{ms}000000 /dev/z write {at} 16384\n" for ms, at in [(1, 0), (2, 0), (3, 16384)]
    )
    (trace := tmp_path / "below.iolog").write_text(log)
    zoned = {"ftl.name": "zoned", "ftl.max_active_zones": 8}
    result = nandlab.run("tiny", trace=trace, set=zoned)
    (notice,) = (text for text in result.notices if "ended early" in text)
    assert carries(notice, "below.iolog", "after 2 requests", "byte 0", "Zone Invalid Write")
    assert carries(notice, "1 not sent")
    assert "Zone Invalid Write" in result._repr_html_()


def test_a_code_weaker_than_its_pages_is_noticed():
    """The notice gives the share of codewords that failed, and their mean number of wrong bits."""

    def notices(t: int) -> list[str]:
        law = {"chip.array.name": "power_law", "ecc.model": "threshold", "ecc.payload_bytes": 4096}
        job = "[a]\nrw=randread\nbs=16k\nnumber_ios=500\n"
        result = nandlab.run("tiny", job, precondition="fill", set={**law, "ecc.t": t})
        return [text for text in result.notices if "hard decision" in text]

    (weak,) = notices(40)
    assert carries(weak, "corrects 40")
    assert re.search(r"8\d%.*: 4[89]\.?\d* bits", weak), weak
    assert notices(80) == []

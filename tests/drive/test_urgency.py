"""Who waits: workloads by name, urgent writes of jobs and traces, the notice where nobody does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import carries, refused

import nandlab

#: A drive of which half of the pages are fast, and whose writes wait for their programs.
FAST: dict[str, Any] = {
    "chip.geometry.blocks_per_plane": 64,
    "chip.timing.t_program_us": [460.0, 1118.0],
    "ftl.fast_pages": True,
    "buffer.bytes": 0,
}
WRITES = "[w]\nrw=randwrite\nbs=4k\nnorandommap\nrate_iops=100\nnumber_ios=300\n"


def blkparse(flags: str) -> str:
    lines = [f"8,0 0 {i} {i / 100:.9f} 7 Q {flags} {64 * i} + 8 [x]\n" for i in range(1, 200)]
    return "".join(lines)


def notices(report: dict[str, Any]) -> list[str]:
    return [one for one in report["nandlab"]["notices"] if "ftl.fast_pages" in one]


def test_a_workload_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert "paging" in [preset.name for preset in nandlab.presets("workload")]
    report = nandlab.run("tiny", "paging", set=FAST, until="2000").to_dict()
    assert [job["jobname"] for job in report["jobs"]] == ["swap_out", "swap_in", "others"]
    urgent, writes = report["host"]["urgent_writes"], report["host"]["write"]["requests"]
    assert 0.2 < urgent / writes < 0.3
    assert notices(report) == []
    # A file of that name goes before it, and a drive file may name it.
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(
        'drive_preset = "tiny"\n[run]\nworkload = "paging"\nuntil = "100"\n'
    )
    assert len(nandlab.run("own.toml").to_dict()["jobs"]) == 3
    Path("paging").write_text(WRITES)
    assert len(nandlab.run("tiny", "paging").to_dict()["jobs"]) == 1
    with refused("`paging`"):
        nandlab.run("tiny", "pagign")


def test_a_drive_with_fast_pages_says_that_nobody_waits():
    [said] = notices(nandlab.run("tiny", WRITES, set=FAST).to_dict())
    carries(said, "no write", "urgent")
    assert notices(nandlab.run("tiny", f"{WRITES}prio=0\n", set=FAST).to_dict()) == []
    assert notices(nandlab.run("tiny", WRITES).to_dict()) == []
    region = {**FAST, "ftl.fast_region": [0, 1 << 20]}
    assert notices(nandlab.run("tiny", WRITES, set=region).to_dict()) == []


def test_tables_of_a_file_system_are_written_fast():
    """A region on fast pages: half of the writes go to the tables, and no write is urgent."""
    data = 64 << 20
    jobs = "[global]\nrw=randwrite\nbs=4k\nnorandommap\nrate_iops=60\nnumber_ios=600\n"
    jobs += f"[tables]\nsize=1m\n[files]\noffset={data}\nsize={data}\n"
    means = {}
    for name, region in (("plain", None), ("placed", [0, 1 << 20])):
        given = {**FAST, "ftl.fast_pages": region is not None}
        if region:
            given["ftl.fast_region"] = region
        run = nandlab.run("tiny", jobs, set=given, seed=1)
        means[name] = [job.write.lat_ns.mean / 1e3 for job in run.report.jobs]
        assert run.report.host.urgent_writes == 0
    gap = 1118 - 460
    assert means["plain"][0] - means["placed"][0] > 0.3 * gap
    assert means["placed"][1] > means["plain"][1]


@pytest.mark.parametrize(
    ("flags", "urgent", "count"),
    [("WS", "marked", 199), ("W", "marked", 0), ("WS", "none", 0), ("W", "all", 199)],
)
def test_writes_of_a_trace_are_urgent(flags: str, urgent: Any, count: int, tmp_path: Path):
    trace = tmp_path / "trace.txt"
    trace.write_text(blkparse(flags))
    report = nandlab.run("tiny", trace=trace, trace_options={"urgent": urgent}).to_dict()
    assert report["host"]["urgent_writes"] == count
    assert report["nandlab"]["trace"]["marked_writes"] == (199 if flags == "WS" else 0)
    assert nandlab.trace_info(trace)["marked_writes"] == (199 if flags == "WS" else 0)


def test_a_replay_takes_the_priority_of_its_job(tmp_path: Path):
    (tmp_path / "log").write_text("fio version 2 iolog\nf add\nf open\n" + "f write 0 4096\n" * 50)
    job = f"[replay]\nread_iolog={tmp_path}/log\n"
    assert nandlab.run("tiny", job).to_dict()["host"]["urgent_writes"] == 0
    assert nandlab.run("tiny", f"{job}prio=0\n").to_dict()["host"]["urgent_writes"] == 50
    with refused("fio_iolog", "marks no request"):
        nandlab.run("tiny", trace=tmp_path / "log", trace_options={"urgent": "marked"})


def test_a_notice_says_when_nothing_stays_on_the_chip():
    drive = {"chip.features.copyback": True, "gc.copyback": "unchecked", "ftl.unit_bytes": 512}
    drive["chip.geometry.blocks_per_plane"] = 64
    job = "[w]\nrw=randwrite\nbs=4k\nnorandommap\niodepth=8\nnumber_ios=4000\n"
    for unit, stays in ((512, False), (8192, True)):
        drive["ftl.unit_bytes"] = unit
        run = nandlab.run("tiny", job, set=drive, precondition="steady", seed=1)
        report = run.to_dict()
        assert (report["nand"]["copybacks"] > 0) == stays
        assert report["checks"]["busy_idle_error"] == 0
        assert report["checks"]["conservation"]["ok"]
        assert any("gc.copyback" in one for one in report["nandlab"]["notices"]) != stays

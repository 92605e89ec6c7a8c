"""Sets of dies (NVM sets): jobs of namespaces, their report and table, drives that are saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nandlab as lab
from nandlab.drive.table import result_html
from tests.conftest import refused
from tests.drive.test_saved import of_drive

SETS: dict[str, Any] = {
    "ftl.overprovisioning": 0.6,
    "namespace": [{"dies": 2, "ftl": {"name": "dftl", "map_cache_bytes": 16384}}, {"share": 1.0}],
}

JOBS = """[global]
bs=4k
norandommap
number_ios=20000
iodepth=4
[reader]
rw=randread
filename=/dev/nvme0n1
[writer]
rw=randwrite
filename=/dev/nvme0n2
"""


def test_each_set_has_its_results() -> None:
    result = lab.run("tiny", JOBS, precondition="steady", set=SETS)
    first, second = result.report.sets or []
    assert (first.namespace, first.ftl, first.first_die, first.dies) == (1, "dftl", 0, 2)
    assert (second.namespace, second.ftl, second.first_die, second.dies) == (None, "page", 2, 2)
    assert first.host_units == 0
    # Reads of the first set push entries of its map out, which have to be written.
    assert first.gc_runs + second.gc_runs == result.report.ftl.gc_runs
    assert second.gc_runs > 0
    energy = result.report.nand.energy_uj
    assert abs((first.energy_uj + second.energy_uj) / energy - 1) < 1e-12
    assert (first.read_only_at_s, second.read_only_at_s) == (None, None)
    assert first.bytes + second.bytes == result.report.nandlab.capacity_bytes
    told = result_html(result)
    assert "namespace 1, 0-1" in told
    assert "shared, 2-3" in told
    series = result.series()
    assert sum(series["sets_1_gc_copies"].to_pylist()) == second.gc_copies
    assert not any(name.startswith("sets_0_cache") for name in series.column_names)


def test_a_saved_drive_has_its_sets(tmp_path: Path) -> None:
    drive = lab.Drive("tiny", set=SETS).precondition("steady")
    drive.save(tmp_path / "x.nldrive")
    loaded = lab.Drive.load(tmp_path / "x.nldrive")
    for one in (drive, loaded):
        one.run(JOBS)
    reports = [of_drive(one.run(JOBS).to_dict()) for one in (drive, loaded)]
    assert reports[0] == reports[1]
    # The configuration of a report is that of its drive.
    text = json.dumps(reports[0]["nandlab"]["config"]["namespace"])
    assert "map_cache_bytes" in text


def test_a_scaled_drive_has_scaled_sets() -> None:
    whole = lab.Drive("tiny", set=SETS)
    half = lab.Drive("tiny", set={**SETS, "drive.scale": "1/2"})
    assert abs(half.capacity_bytes / whole.capacity_bytes - 0.5) < 0.02


def test_a_trace_is_replayed_on_a_namespace(tmp_path: Path) -> None:
    trace = tmp_path / "x.log"
    lines = [f"f write {i * 7919 % 900 * 4096} 4096" for i in range(900)]
    trace.write_text("\n".join(["fio version 2 iolog", "f add", "f open", *lines]) + "\n")
    for namespace in (1, 2):
        result = lab.run(
            "tiny",
            trace=trace,
            trace_options={"namespace": namespace},
            precondition="fill",
            set=SETS,
        )
        units = [one.host_units > 0 for one in result.report.sets or []]
        assert units == [namespace == 1, namespace == 2]
    job = f"[a]\nfilename=/dev/nvme0n2\nread_iolog={trace}\n"
    result = lab.run("tiny", job, precondition="fill", set=SETS)
    assert [one.host_units > 0 for one in result.report.sets or []] == [False, True]
    with refused("trace.namespace", "1 to 2"):
        lab.run("tiny", trace=trace, set=SETS)
    with refused("namespace", "filename=/dev/nvme0n1"):
        lab.run("tiny", job, trace_options={"namespace": 1}, set=SETS)
    with refused("trace.namespace", "no namespaces"):
        lab.run("tiny", trace=trace, trace_options={"namespace": 1})


def test_what_does_not_fit_is_refused() -> None:
    with refused("namespace.dies", "4294967296 dies of 4"):
        lab.Drive("tiny", set={"namespace": [{"dies": 2**32 - 1}, {"dies": 1}]})
    with refused("namespace.dies", "9 dies of 4"):
        lab.Drive("tiny", set={"namespace": [{"dies": 9}]})
    with refused("namespace[0].ftl.overprovisioning"):
        lab.Drive("tiny", set={"namespace": [{"dies": 2, "ftl": {"overprovisioning": 0.0001}}]})
    with refused("filename", "/dev/nvme0n1 to /dev/nvme0n2"):
        lab.run("tiny", "[a]\nrw=read\nio_size=64k\n", set=SETS)
    with refused("buffer.bytes", "zones"):
        lab.Drive("tiny", set={"namespace": [{"dies": 2, "ftl": {"name": "zoned"}}]})

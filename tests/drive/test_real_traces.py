"""Real traces through a drive: every one to its end, as many requests as its manifest says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import refused

import nandlab

#: For the two that are not in order of time.
SORTED = {"time": "sort-window", "sort_window": 1 << 16}

#: Name without .zst, format, options, requests (MANIFEST.md).
TRACES: list[tuple[str, str | None, dict[str, Any], int]] = [
    ("msr_rsrch_1.full.csv", "msr", {}, 13780),
    ("msr_wdev_1.full.csv", "msr", {}, 1055),
    ("msr_hm_0.slice7016.csv", "msr", {}, 7016),
    ("msr_hm_0.slice1000.csv", "msr", {}, 1000),
    ("msr_mds_0.slice1000.csv", "msr", {}, 1000),
    ("msr_proj_0.slice1000.csv", "msr", {}, 1000),
    ("msr_rsrch_2.slice1000.csv", "msr", {}, 1000),
    ("msr_cut10k_rw20_80.heimdall.txt", "disksim", {"sector_bytes": 1}, 10000),
    ("msps_msnfs.150k.replayer.txt", "disksim", {}, 149999),
    ("msps_dtrs.127k.ssdsim.txt", "ssdsim", {}, 127043),
    ("exchange_disk0.30k.lossy.mqsim64", "mqsim", {"sector_bytes": 64}, 33241),
    ("spc_financial1.head10k.ssdsim.ascii", "ssdsim", {}, 10000),
    ("spc_financial1.head10k.reconstructed.spc", None, {}, 10000),
    ("spc_financial1.head50k.flashsim.lossy.txt", "disksim", {"size_unit_bytes": 4096}, 50000),
    ("spc_websearch1.head24783.mqsim.trace", "mqsim", {}, 24783),
    ("tpcc_ms_enterprise.6999.mqsim.trace", "mqsim", {}, 6999),
    ("iozone.100k.disksim.trace", "disksim", {}, 100000),
    ("disksim_valid_ascii.100k.trace", "disksim", {}, 100000),
    ("tencent_cbs.50k.csv", "tencent", SORTED, 50000),
    ("systor17_lun.999.csv", "systor", SORTED, 999),
    ("blkparse_ycsb_rocksdb_ssdtrace_sample.10k.txt", "blkparse", {"action": "D"}, 1694),
    ("blktrace_nvme_randread.blktrace.0", None, {}, 963),
    ("cloudphysics_2h.vscsi1.bin", None, {}, 113872),
    ("fio_v2_randwrite.iolog", None, {}, 9441),
    ("fio_v3_trim_write.iolog", None, {}, 20),
]

#: 64 GiB of MLC, in which the largest footprint fits: addresses are packed.
DRIVE = {"chip.geometry.blocks_per_plane": 256, "gc.start_free_blocks": 13}


@pytest.mark.parametrize(
    ("name", "format", "options", "count"), TRACES, ids=[row[0] for row in TRACES]
)
def test_runs_to_its_end(
    real_trace: Callable[[str], Path],
    name: str,
    format: str | None,
    options: dict[str, Any],
    count: int,
):
    result = nandlab.run(
        "mqsim_default",
        trace=real_trace(name),
        format=format,
        trace_options={"address": "compact", **options},
        set=DRIVE,
    )
    report = result.to_dict()
    assert report["host"]["requests_completed"] == count == report["nandlab"]["trace"]["requests"]
    assert result.checks.ok, result.checks.failures()


@pytest.mark.parametrize(
    ("name", "options", "parts"),
    [
        ("msr_web_3.caso_lossy.txt", {"format": "msr"}, ["spreadsheet"]),
        ("blkparse_leveldb_ram_badts.txt", {"format": "blkparse", "action": "C"}, ["clock"]),
        ("cloudphysics_2h.vscsi1.bin", {"format": "msr"}, ["binary"]),
        ("blktrace_nvme_randread.blktrace.0", {"format": "oracle_general"}, ["object"]),
        # None fits, or several do: the names of those that may.
        ("diskmon_windows_sys1.txt", {}, ["line", "one of"]),
        ("biotracer_booting.txt", {}, ["line", "one of"]),
        ("systor17_lun.999.csv", {"format": "systor"}, ["time", "before"]),
    ],
)
def test_damaged_or_unknown_traces_say_so(
    real_trace: Callable[[str], Path], name: str, options: dict[str, Any], parts: list[str]
):
    options = dict(options)
    with refused(*parts):
        nandlab.run(
            "tiny",
            trace=real_trace(name),
            format=options.pop("format", None),
            trace_options={"address": "compact", **options},
        )

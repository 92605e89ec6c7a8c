"""The JSON report: every key of the plan, and the four commands that must work."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Ended, carries

import nandlab

LATENCY = ["mean", "p50", "p90", "p99", "p99_9", "p99_99", "max"]
FIO = ["min", "max", "mean", "stddev", "N", "percentile"]

#: DESIGN.md, section 4.
KEYS = {
    "nandlab": ["version", "seed", "config_hash", "config", "cite"],
    "sim": ["simulated_s", "wall_s", "requests_per_wall_s", "events", "peak_rss_mb"],
    "host": [
        *["requests_issued", "requests_completed", "iops", "bandwidth_mb_s", "latency_us"],
        *["read", "write", "mean_queue_depth"],
    ],
    "host.latency_us": LATENCY,
    "host.read": ["iops", "bandwidth_mb_s", "latency_us"],
    "host.read.latency_us": LATENCY,
    "host.write": ["iops", "bandwidth_mb_s", "latency_us"],
    "host.write.latency_us": LATENCY,
    "ftl": ["write_amplification", "gc_runs", "gc_copies", "mapping_bytes_per_unit"],
    "nand": ["reads", "programs", "erases", "energy_uj", "pe_cycles", "program_us"],
    "nand.pe_cycles": ["min", "mean", "max"],
    "channels": ["busy_fraction_mean", "busy_fraction"],
    "dies": ["read", "program", "erase", "wait", "idle"],
    "ecc": ["codewords", "hard_failures", "soft_reads", "uncorrectable", "raw_bit_errors"],
    "checks": ["little_law_error", "conservation", "busy_idle_error"],
}

#: In miniature where the drive is large: what matters here is that all of it works together.
RANDREAD = "[randread]\nrw=randread\nbs=4k\niodepth=64\nnumber_ios=20000\n"
RANDWRITE = "[randwrite]\nrw=randwrite\nbs=4k\niodepth=64\nnumber_ios=20000\n"
SMALL = [
    *["--set", "chip.geometry.blocks_per_plane=128", "--set", "gc.start_free_blocks=13"],
    *["--set", "drive.channels=2"],
]


def hold(report: dict[str, Any]) -> None:
    """What must be true of every report of a run that ended."""
    for path, keys in KEYS.items():
        part = report
        for key in path.split("."):
            part = part[key]
        assert set(keys) <= set(part), path
    for job in report["jobs"]:
        for direction in ("read", "write", "trim"):
            counts = job[direction]
            assert {"total_ios", "io_bytes", "iops", "bw_bytes", "lat_ns"} <= set(counts)
            assert set(FIO) <= set(counts["lat_ns"])
    host, checks = report["host"], report["checks"]
    assert host["requests_issued"] == host["requests_completed"] > 0
    assert checks["conservation"]["ok"]
    # Null where the run keeps no depth (a trace), or no time passes.
    assert (checks["little_law_error"] or 0) < 1e-9
    assert (checks["busy_idle_error"] or 0) < 1e-9
    assert sum(report["dies"].values()) == pytest.approx(1)
    assert not report["sim"]["interrupted"]


def test_random_reads(nandlab: Callable[..., Ended], folder: Path):
    (folder / "randread.fio").write_text(RANDREAD)
    ended = nandlab(
        *["run", "--drive", "mqsim_default", "--workload", "randread.fio", "--json", "-"]
    ).succeeded()
    hold(ended.json)
    assert ended.json["host"]["read"]["requests"] == 20000
    assert "checks" in ended.err


def test_random_writes_on_a_drive_long_in_use(nandlab: Callable[..., Ended], folder: Path):
    (folder / "randwrite.fio").write_text(RANDWRITE)
    report = nandlab(
        *["run", "--drive", "mqsim_default", "--set", "ftl.overprovisioning=0.28", *SMALL],
        *["--workload", "randwrite.fio", "--precondition", "steady", "--json", "-", "--quiet"],
    ).succeeded()
    hold(report.json)
    assert report.err == ""
    assert report.json["sim"]["precondition_write_amplification"] > 1.5


def test_real_trace_with_every_output(
    nandlab: Callable[..., Ended], folder: Path, real_trace: Callable[[str], Path]
):
    trace = real_trace("msr_rsrch_1.full.csv")
    ended = nandlab(
        *["run", "--drive", "zuolo2016_d_tlc", "--trace", trace, "--format", "msr", "--json", "-"],
        *["--requests", "r.parquet", "--timeline", "t.json", "--plot", "p.png"],
    ).succeeded()
    hold(ended.json)
    assert ended.json["host"]["requests_completed"] == 13780
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in folder.iterdir()} == {
        *["mixed.fio", "r.parquet", "t.json", "p.png"]
    }


def test_trace_info(nandlab: Callable[..., Ended], real_trace: Callable[[str], Path]):
    trace = real_trace("spc_financial1.head10k.reconstructed.spc")
    table = nandlab("trace", "info", trace).succeeded().out
    carries(table, "spc", "10,000", "259.601 s", "5,923", "59.2%")
    info = nandlab("trace", "info", trace, "--json", "-").succeeded().json
    assert (info["requests"], info["format"]) == (10000, "spc")


@pytest.mark.long
@pytest.mark.parametrize("precondition", ["none", "fill", "steady"])
def test_large_drive_as_it_is(nandlab: Callable[..., Ended], folder: Path, precondition: str):
    (folder / "randwrite.fio").write_text(RANDWRITE)
    report = nandlab(
        *["run", "--drive", "mqsim_default", "--set", "ftl.overprovisioning=0.28"],
        *["--workload", "randwrite.fio", "--precondition", precondition, "--json", "-"],
        timeout_s=600,
    ).succeeded()
    hold(report.json)


def test_bottleneck_power_and_parts_of_write_amplification() -> None:
    """What limits a run is named; parts of what the table shows add up."""
    job = "[writes]\nrw=randwrite\nbs=4k\niodepth=32\nnumber_ios=20000\nnorandommap=1\n"
    result = nandlab.run("tiny", job, precondition="steady")
    assert result.bottleneck.resource == "dies"
    assert result.bottleneck.is_limit
    report = result.to_dict()
    energy_uj = report["nand"]["energy_uj"] + report["ecc"]["energy_uj"]
    assert result.power_w == pytest.approx(energy_uj / 1e6 / report["sim"]["simulated_s"])
    assert result.config["drive"]["channels"] == report["nandlab"]["config"]["drive"]["channels"]
    latency = result.write
    assert latency.mean == latency.mean_us
    assert latency.p50 <= latency.p90 <= latency.p99 <= latency.p99_9 <= latency.p99_99
    assert latency.p99 == latency.percentile(99)
    line = next(row for row in str_of(result).splitlines() if row.startswith("write amplification"))
    total, parts = line.removeprefix("write amplification").split("=")
    numbers = [float(part.split()[0]) for part in parts.split("+")]
    assert sum(numbers) == pytest.approx(float(total), abs=0.002)

    slow = {"ecc.decoders": 1, "ecc.t_decode_us": 500}
    reads = "[reads]\nrw=randread\nbs=4k\niodepth=32\nnumber_ios=2000\nnorandommap=1\n"
    limited = nandlab.run("tiny", reads, set=slow, precondition="fill")
    assert limited.bottleneck.resource == "decoders"
    carries(str_of(limited), "decoders", "100%")
    idle = nandlab.run("tiny", "[a]\nrw=randread\nbs=4k\nnumber_ios=100\n", precondition="fill")
    assert idle.bottleneck == ("queue depth", pytest.approx(1.0, abs=0.05))
    carries(str_of(idle), "queue depth", "iodepth")
    rated = "[a]\nrw=randread\nbs=4k\nnumber_ios=100\nrate_iops=100\n"
    at_rest = nandlab.run("tiny", rated, precondition="fill")
    assert not at_rest.bottleneck.is_limit
    carries(str_of(at_rest), "none", "utilization")
    # A trace at its own times keeps no depth.
    trace = ROOT / "examples/traces/sqlite_ext4.iolog.zst"
    assert nandlab.run("tiny", trace=trace).bottleneck.resource != "queue depth"


@pytest.mark.parametrize(
    ("set", "resource"),
    [
        ({"host.link_mb_s": 50}, "link"),
        ({"controller.cores": 1, "controller.command_us": 200}, "cores"),
        ({"host.submit_us": 400}, "submission"),
    ],
)
def test_a_bottleneck_beside_the_flash_is_named(set: dict[str, float], resource: str) -> None:
    job = "[reads]\nrw=randread\nbs=16k\niodepth=32\nnumber_ios=2000\nnorandommap=1\n"
    found = nandlab.run("tiny", job, set=set, precondition="fill").bottleneck
    assert (found.resource, found.is_limit) == (resource, True)
    assert found.relief in str(found)


def test_two_write_amplifications_stand_side_by_side() -> None:
    """Of the host, and of what left a buffer that takes up rewrites; a notice says why."""
    job = "[w]\nrw=randwrite\nbs=4k\nsize=1m\niodepth=32\nnumber_ios=20000\nnorandommap=1\n"
    result = nandlab.run("tiny", job, precondition="fill", set={"buffer.bytes": 2**20})
    ftl = result.to_dict()["ftl"]
    host, flash = ftl["write_amplification"], ftl["write_amplification_flash"]
    assert host < 0.9 * flash
    carries(str_of(result), f"{host:.3f}", f"{flash:.3f}")
    assert any(f"{flash:.3g}" in notice for notice in result.notices)


def str_of(result: nandlab.Result) -> str:
    """The table of a result as text."""
    from rich.console import Console

    from nandlab.drive.table import print_result

    console = Console(record=True, width=120, file=io.StringIO())
    print_result(result, console)
    return console.export_text()

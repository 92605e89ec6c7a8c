"""Windows of predictable latency, and placement handles with quotas: reports, tables, series."""

from __future__ import annotations

import math
from typing import Any

import pytest

import nandlab as lab
from nandlab.drive.table import result_html
from tests.conftest import refused

SMALL = {"chip.geometry.blocks_per_plane": 64}

WINDOWS: dict[str, Any] = {
    **SMALL,
    "windows": {"deterministic_ms": 20.0, "non_deterministic_ms": 20.0},
    "gc.background_free_blocks": 6,
}

MIX = """[mix]
rw=randrw
bs=4k
norandommap
iodepth=1024
rate_iops=6000,1000
rate_process=poisson
number_ios=14000
"""

ON_SETS = """[global]
rw=randrw
bs=4k
norandommap
iodepth=256
rate_iops=3000,500
rate_process=poisson
number_ios=3500
[one]
filename=/dev/nvme0n1
[two]
filename=/dev/nvme0n2
"""

HANDLES: dict[str, Any] = {
    **SMALL,
    "ftl.overprovisioning": 0.5,
    "ftl.host_streams": 2,
    "ftl.isolation": "persistent",
}

TWO = """[global]
rw=randwrite
bs=4k
norandommap
iodepth=8
number_ios=20000
dataplacement=fdp
[quiet]
plids=0
size=50%
[noisy]
plids=1
offset=50%
size=50%
"""


def test_reads_are_told_by_the_window_that_took_them() -> None:
    result = lab.run("tiny", MIX, precondition="steady", set=WINDOWS)
    windows, host = result.report.windows, result.report.host
    assert windows is not None
    assert windows.kept > 20
    assert windows.broken == 0
    for op, all_ in (("read", host.read), ("write", host.write)):
        inside, outside = windows.inside[op], windows.outside[op]
        assert inside.requests + outside.requests == all_.requests
        assert inside.bytes + outside.bytes == all_.bytes
        assert max(inside.latency_us.max, outside.latency_us.max) == all_.latency_us.max
    assert windows.inside.read.latency_us.p99_9 < windows.outside.read.latency_us.p99_9
    assert 0.4 < windows.open_s / result.report.sim.simulated_s < 0.6
    assert f"{windows.kept:,} kept, 0 broken; p99.9 of reads" in result_html(result)
    series = result.series()
    assert sum(series["windows_kept"].to_pylist()) == windows.kept
    assert "windows_kept" not in lab.run("tiny", MIX, precondition="fill").series().column_names


def test_windows_in_replicates_add_up() -> None:
    given: dict[str, Any] = {"precondition": "fill", "set": WINDOWS, "seed": 3}
    two = lab.run("tiny", MIX, replicates=2, workers=1, **given).report
    assert two.windows is not None
    requests = [of.read.requests for of in (two.windows.inside, two.windows.outside)]
    assert sum(requests) == two.host.read.requests
    one = lab.run("tiny", MIX, **given).report
    assert one.windows is not None
    assert 1.8 < two.windows.kept / one.windows.kept < 2.2


def test_sets_take_turns() -> None:
    sets = {
        **WINDOWS,
        "drive.channels": 4,
        "drive.dies_per_channel": 1,
        "windows.in_turn": True,
        "namespace": [{"dies": 2}, {"dies": 2}],
    }
    result = lab.run("tiny", ON_SETS, precondition="steady", set=sets)
    windows, host = result.report.windows, result.report.host
    assert windows is not None
    rows = windows.sets or []
    assert [row.sets for row in rows] == [[0], [1]]
    assert windows.kept == sum(row.kept for row in rows) > 10
    assert windows.open_s == pytest.approx(sum(row.open_s for row in rows))
    # One of them is always in its window, but for the beginning.
    assert 0.9 < windows.open_s / result.report.sim.simulated_s < 1.1
    for op, all_ in (("read", host.read), ("write", host.write)):
        of_rows = [side[op].requests for row in rows for side in (row.inside, row.outside)]
        assert sum(of_rows) == all_.requests
        assert windows.inside[op].requests + windows.outside[op].requests == all_.requests
    assert "set 0: " in result_html(result)


def test_groups_keep_their_data_apart(tmp_path: Any) -> None:
    sets = {**SMALL, "ftl.overprovisioning": 0.5, "ftl.reclaim_groups": 2}
    drive = lab.Drive("tiny", set=sets)
    group = drive.run(TWO).report.endurance_group
    assert (group.handles, group.reclaim_groups, group.redirected_units) == (1, 2, 0)
    assert [row.host_units > 0 for row in group.by_handle] == [True, True]
    drive.save(tmp_path / "x.nldrive")
    loaded = lab.Drive.load(tmp_path / "x.nldrive")
    first, second = (one.run(TWO).report.endurance_group for one in (drive, loaded))
    assert first == second
    with refused("plids"):
        lab.run("tiny", TWO.replace("plids=1", "plids=2"), set=sets)


def test_a_handle_has_a_course() -> None:
    sets = {**HANDLES, "ftl.handle_quota": [0.5, 0.5]}
    result = lab.run("tiny", TWO, precondition="fill", set=sets)
    handles = result.report.endurance_group.by_handle
    series = result.series()
    for number, handle in enumerate(handles):
        written, moved, erased, course = (
            series[f"handles_{number}_{name}"].to_pylist()
            for name in ("host_units", "moved_units", "erased_blocks", "write_amplification")
        )
        assert (sum(written), sum(moved)) == (handle.host_units, handle.moved_units)
        # Wear of the handle, which comes little by little.
        assert sum(erased) == handle.erased_blocks > max(erased)
        for host, move, one in zip(written, moved, course, strict=True):
            assert math.isnan(one) if host == 0 else one == pytest.approx((host + move) / host)
        assert handle.blocks > 0
        blocks, mean, most = (
            series[f"handles_{number}_{name}"].to_pylist()
            for name in ("blocks", "pe_cycles_mean", "pe_cycles_max")
        )
        # The last interval ends with the run.
        cycles = handle.pe_cycles
        assert (blocks[-1], mean[-1], most[-1]) == (handle.blocks, cycles.mean, cycles.max)
        assert mean[-1] > mean[0]
        assert all(a <= b for a, b in zip(mean, most, strict=True))
    # No block of a handle is worn more or less than any of the drive.
    wear = result.report.nand.pe_cycles
    assert max(handle.pe_cycles.max for handle in handles) <= wear.max
    assert min(handle.pe_cycles.min for handle in handles) >= wear.min
    assert "handles_2_host_units" not in series.column_names
    one = lab.run("tiny", "[a]\nrw=randwrite\nnumber_ios=100\n").series()
    assert not any(name.startswith("handles_") for name in one.column_names)


def test_a_saved_drive_keeps_its_quotas(tmp_path: Any) -> None:
    sets = {**HANDLES, "ftl.handle_quota": [0.7, 0.3]}
    drive = lab.Drive("tiny", set=sets).precondition("fill")
    drive.run(TWO)
    drive.save(tmp_path / "x.nldrive")
    loaded = lab.Drive.load(tmp_path / "x.nldrive")
    first, second = (one.run(TWO).report.endurance_group for one in (drive, loaded))
    assert first == second


@pytest.mark.parametrize(
    ("sets", "place"),
    [
        ({"windows.deterministic_ms": 0.0, "windows.non_deterministic_ms": 1.0}, "windows"),
        ({"windows.deterministic_ms": 1.0}, "windows"),
        ({**WINDOWS, "gc.background_after_us": 10.0}, "windows"),
        ({**WINDOWS, "ftl.name": "bast"}, "windows"),
        ({**WINDOWS, "windows.in_turn": True}, "windows.in_turn"),
        ({"ftl.reclaim_groups": 3}, "ftl.reclaim_groups"),
        ({"ftl.handle_quota": [1.0]}, "ftl.handle_quota"),
        ({**HANDLES, "ftl.handle_quota": [0.7, 0.7]}, "ftl.handle_quota"),
    ],
)
def test_what_cannot_be(sets: dict[str, Any], place: str) -> None:
    with refused(place):
        lab.run("tiny", MIX, set=sets)

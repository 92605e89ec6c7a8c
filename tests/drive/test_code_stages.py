"""Codes by age: limits and lives of drives whose worn blocks have stronger codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import refused, some

import nandlab
from nandlab.life.limit import demand, limit_of

JOB = "[w]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=2000\nnorandommap=1\n"

#: A BCH code over GF(2^16): two bytes of parity for each error.
ONE: dict[str, Any] = {
    "chip.geometry.blocks_per_plane": 64,
    "chip.geometry.pages_per_block": 32,
    "chip.geometry.spare_bytes": 1024,
    "chip.array": {"name": "power_law"},
    "ftl.gc_reserve_blocks": 2,
    "gc.start_free_blocks": 4,
    "ftl.overprovisioning": 0.28,
    "ecc": {"model": "threshold", "t": 250, "t_soft": [250], "parity_bytes": 500},
}


def with_stage(**stage: int) -> dict[str, Any]:
    return {**ONE, "ecc": {**ONE["ecc"], "stages": [stage]}}


def config(sets: dict[str, Any]) -> Any:
    return nandlab.Drive("tiny", set=sets)._source.loaded.config


def limit(sets: dict[str, Any]) -> Any:
    return limit_of(config(sets), demand(None, None, None, None))


def test_the_limit_is_that_of_the_last_code():
    one = limit(ONE)
    strong = {**ONE, "ecc": {**ONE["ecc"], "t": 270, "t_soft": [270], "parity_bytes": 512}}
    begins = one.pe_cycles - 20
    both = limit(with_stage(from_cycles=begins, t=270, parity_bytes=512))
    assert both.pe_cycles == limit(strong).pe_cycles > 1.1 * one.pe_cycles
    [point] = nandlab.endurance(config(strong)).points
    assert point.pe_cycles == both.pe_cycles
    # The UBER is that of the code of such a block.
    assert both.uber(begins - 1) == one.uber(begins - 1)
    assert both.uber(begins) == limit(strong).uber(begins) < one.uber(begins)
    # A stage that begins too late never begins.
    late = limit(with_stage(from_cycles=one.pe_cycles + 5, t=270, parity_bytes=512))
    assert late.pe_cycles == one.pe_cycles


@pytest.mark.parametrize("seed", some([1, 2, 3], 1))
def test_a_life_with_a_stronger_code_is_longer_and_moves_more(seed: int):
    one = limit(ONE)
    stage = with_stage(from_cycles=one.pe_cycles // 2, t=300, parity_bytes=600)
    given = {"to_death": True, "dwpd": 1, "windows": 8, "seed": seed}
    plain = nandlab.life("tiny", JOB, set=ONE, **given)
    aged = nandlab.life("tiny", JOB, set=stage, **given)
    assert (plain.end, aged.end) == ("uber", "uber")
    assert aged.capacity_bytes == plain.capacity_bytes
    assert aged.tbw > 4 * plain.tbw
    moved, before = (
        [window.write_amplification for window in life.windows[1:]] for life in (aged, plain)
    )
    assert before[-1] == pytest.approx(before[0], rel=0.05)
    assert moved[-1] > 1.15 * before[-1]


def test_a_saved_drive_keeps_the_codes_of_its_blocks(tmp_path: Path):
    sets = with_stage(from_cycles=5, t=270, parity_bytes=800)
    drive = nandlab.Drive("tiny", set=sets).precondition("fill").age(cycles=5)
    loaded = nandlab.Drive.load(drive.save(tmp_path / "x.nldrive") and tmp_path / "x.nldrive")
    plain, again = (one.run(JOB).report for one in (drive, loaded))
    assert all(blocks > 0 for blocks in plain.ftl.code_stages.blocks), plain.ftl.code_stages
    assert again.ftl == plain.ftl
    assert nandlab.run("tiny", JOB, set=ONE, seed=1).report.ftl.code_stages is None


def test_a_life_ends_where_the_spare_cannot_hold_the_parity():
    one = limit(ONE)
    stage = with_stage(from_cycles=one.pe_cycles // 2, t=850, parity_bytes=1700)
    small = {**stage, "ftl.overprovisioning": 0.2}
    life = nandlab.life("tiny", JOB, set=small, to_death=True, dwpd=1, windows=4, seed=1)
    assert life.end == "spare"
    assert life.windows[-1].pe_cycles_max < one.pe_cycles


def test_data_of_worn_blocks_are_decoded_by_their_code():
    """Blocks beyond the limit of the first code: a drive with one code loses data."""
    job = "[r]\nrw=randread\nbs=4k\nnumber_ios=2000\nnorandommap=1\n"
    lost = {}
    for name, sets in (
        ("one", ONE),
        ("two", with_stage(from_cycles=10, t=600, parity_bytes=1200)),
    ):
        aged = {**sets, "age.pe_cycles": 2000, "age.retention_hours": 8760}
        aged["ftl.overprovisioning"] = 0.5
        run = nandlab.run("tiny", job, set=aged, precondition="fill", seed=1)
        lost[name] = run.report.ecc.uncorrectable
    assert lost["one"] > 0
    assert lost["two"] == 0


def test_a_kind_of_chips_has_one_code():
    code = {**ONE["ecc"], "stages": [{"from_cycles": 10, "t": 300, "parity_bytes": 600}]}
    with refused("chips.tlc.ecc.stages", "not supported"):
        nandlab.Drive("hachiya2013", set={"chips.tlc.ecc": code})

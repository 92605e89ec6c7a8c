"""Retry tables: the best of all, and the retries that a drive does with them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from conftest import Ended, refused

import nandlab as lab
from nandlab.cell.retry import best_of, failed_with, life_of
from nandlab.ecc.uber import Ecc

Run = Callable[..., Ended]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("reads", [0, 5000])
def test_no_other_table_corrects_more(count: int, reads: int) -> None:
    """Of all tables of so many shifts on the grid; reads raise what time lowers."""
    life = life_of(lab.cell("tlc_3d"), Ecc(150, 34560, 32768), (0, 3000), 8760.0, reads)
    assert (life.shifts_v[-1] > 0.05) == (reads > 0)
    every = combinations(range(len(life.shifts_v)), count)
    least = min(failed_with(life, picked) for picked in every)
    assert failed_with(life, best_of(life, count)) == pytest.approx(least, rel=1e-12)
    assert least < 0.9 * float(life.first.mean())


def test_shifts_act_as_those_of_a_drive() -> None:
    """The lowest references of the chip move less; rates are those of the cell there."""
    cell = lab.cell("chip/tlc_3d")
    states = [(0, 0.0, 0, 0), (3000, 100.0, 0, 0), (3000, 100.0, 50, 0)]
    rates = cell.native.rber_by_shift(states, [0.0, -0.07], 0.17).reshape(3, 2, 3)
    for i, (cycles, hours, reads, _) in enumerate(states):
        stress = {"pe_cycles": cycles, "retention_hours": hours, "reads": reads}
        for page in cell.pages:
            plain = cell.rber(page.page_type, **stress)
            assert rates[i, 0, page.page_type] == pytest.approx(plain, rel=1e-12)
            shares = 0.17 + 0.83 * np.searchsorted(cell.read_v, page.references_v) / 6
            moved = cell.rber(page.page_type, shifts_v=list(-0.07 * shares), **stress)
            assert rates[i, 1, page.page_type] == pytest.approx(moved, rel=1e-5)


def test_a_drive_retries_as_often() -> None:
    """As the table says of that age, and corrects as much."""
    life = {"pe_cycles": 2500, "retention_hours": 1000.0}
    table = lab.cell("chip/tlc_3d").retry_table(2, **life, t=250, codeword_bits=33408)
    [age] = [a for a in table.ages if a.pe_cycles == 2500 and a.retention_hours > 999]
    sets = {
        "chip.preset": "tlc_3d",
        "chip.geometry.blocks_per_plane": 64,
        "chip.geometry.pages_per_block": 96,
        "ecc.model": "threshold",
        "ecc.t": 250,
        "ecc.parity_bytes": 80,
        "retry.name": "read_retry",
        "retry.shifts_v": table.shifts_v,
        "retry.max_levels": 0,
        **{f"age.{key}": value for key, value in life.items()},
    }
    job = "[r]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=20000\n"
    ecc = lab.run("tiny", job, set=sets, precondition="fill").report["ecc"]
    assert ecc["hard_failures"] / ecc["codewords"] == pytest.approx(age.failed_before, rel=0.1)
    assert ecc["further_decodes"] / ecc["codewords"] == pytest.approx(age.retries, rel=0.1)
    assert 0 < age.failed < 0.6 * age.failed_before


def test_more_shifts_correct_more() -> None:
    cell = lab.cell("tlc_3d")
    tables = [cell.retry_table(n, pe_cycles=3000, retention_hours=8760.0) for n in (1, 2, 4)]
    failed = [sum(age.failed for age in table.ages) for table in tables]
    assert failed[0] > failed[1] > failed[2]
    for table in tables:
        assert len(table.shifts_v) == len(set(table.shifts_v))
        assert all(0 <= age.failed <= age.failed_before for age in table.ages)


def test_a_command_prints_keys_of_a_drive(nandlab: Run) -> None:
    life = ("--pe-cycles", 3000, "--retention-hours", 8760)
    ended = nandlab("cell", "tlc_3d", *life, "--retry", 2, "--json", "r.json").succeeded()
    [keys] = [line for line in ended.out.split("\n") if line.startswith("retry.shifts_v")]
    sets = ("--set", "retry.name=read_retry", "--set", keys.replace(" = ", "="))
    text = "[r]\nrw=randread\nbs=4k\nnumber_ios=10\n"
    Path("j.fio").write_text(text)
    small = {"chip.preset": "tlc_3d", "chip.geometry.blocks_per_plane": 64}
    small |= {"chip.geometry.pages_per_block": 96, "ecc.model": "threshold", "ecc.t": 300}
    sets += tuple(word for key, value in small.items() for word in ("--set", f"{key}={value}"))
    nandlab("run", "--drive", "tiny", *sets, "--workload", "j.fio").succeeded()


def test_a_table_without_a_life_is_refused(nandlab: Run) -> None:
    nandlab("cell", "tlc_3d", "--retry", 2).refused("--pe-cycles")
    nandlab("cell", "tlc_3d", "--retry", 99, "--pe-cycles", 100).refused("99", "16")
    nandlab("cell", "tlc_3d", "--pe-cycles", 100, "--t", 40).refused("--t", "--retry")
    with refused("grupp2009_b_mlc8", "ideal"):
        lab.cell("grupp2009_b_mlc8").retry_table(2, pe_cycles=1000, retention_hours=0.0)

"""Drives with an SLC cache against what makers and reviews state of them.

The sizes of the caches are settings and the rates are calibrated (params/drives/consumer_*.toml):
what is checked is that the engine, with its folding, collection and buses, brings them about.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from conftest import some

import nandlab

#: A drive with a sixteenth of the pages of a block, and of its cache, has the same rates.
SIXTEENTH = 16


class Stated(NamedTuple):
    """A row of the table: 10^9 bytes, and 10^6 bytes a second."""

    pages: int
    static_gb: float
    dynamic_gb: float
    in_cache_mb_s: float
    after_mb_s: float | None


STATED = {
    # Samsung 970 EVO 1 TB; the rate after the cache is not in the table.
    "consumer_tlc": Stated(48, 6, 36, 2500, None),
    # Intel 660p 1 TB.
    "consumer_qlc": Stated(192, 12, 128, 1800, 100),
    # Samsung 860 QVO 1 TB.
    "consumer_qlc_sata": Stated(64, 6, 36, 530, 80),
}


def small(name: str) -> nandlab.Drive:
    stated = STATED[name]
    changes = {
        "chip.geometry.pages_per_block": stated.pages,
        "ftl.static_bytes": int(stated.static_gb * 1e9) // SIXTEENTH,
        "ftl.dynamic_bytes": int(stated.dynamic_gb * 1e9) // SIXTEENTH,
        # The rates do not hang on errors.
        "chip.array.name": "ideal",
    }
    return nandlab.Drive(name, set=changes)


def write(drive: nandlab.Drive, first_gb: float, gb: float) -> nandlab.Result:
    """Writes 10^9 bytes of the whole drive in order, behind others."""
    first, size = (int(x * 1e9) // SIXTEENTH // 2**20 for x in (first_gb, gb))
    return drive.run(f"[w]\nrw=write\nbs=1m\niodepth=16\noffset={first}m\nsize={size}m\n")


def rate(result: nandlab.Result, from_gb: float, to_gb: float) -> float:
    """Bytes a second between two amounts that the run has written."""
    written, seconds, inside = 0.0, 0.0, 0.0
    series = result.series().to_pydict()
    for duration_s, mb_s in zip(series["duration_s"], series["write_mb_s"], strict=True):
        gb = SIXTEENTH * duration_s * mb_s / 1e3
        if from_gb <= written and written + gb <= to_gb:
            inside, seconds = inside + gb, seconds + duration_s
        written += gb
    return 1e3 * inside / SIXTEENTH / seconds


@pytest.mark.parametrize("name", some(reversed(STATED)))
def test_sizes_and_rates_are_those_stated(name: str) -> None:
    """Of an empty drive, within 10 %: the rate up to 90 % of the size, and from 110 % on."""
    stated, drive = STATED[name], small(name)
    size_gb = stated.static_gb + stated.dynamic_gb
    result = write(drive, 0, 1.1 * size_gb + 60)
    assert rate(result, 0, 0.9 * size_gb) == pytest.approx(stated.in_cache_mb_s, rel=0.1)
    after = rate(result, 1.1 * size_gb, 1e9)
    assert after < 0.6 * stated.in_cache_mb_s
    if stated.after_mb_s:
        assert after == pytest.approx(stated.after_mb_s, rel=0.1)


@pytest.mark.long
def test_a_fuller_drive_has_a_smaller_cache() -> None:
    """660p: 140 GB on an empty drive, 12 GB from about three quarters on."""
    for gb, expected in ((130, 140), (800, 12)):
        report = write(small("consumer_qlc"), 0, gb).to_dict()
        room_gb = SIXTEENTH * report["ftl"]["cache"]["room_bytes"] / 1e9
        assert room_gb == pytest.approx(expected, rel=0.1)


def test_a_rest_empties_the_cache() -> None:
    """Between two runs a drive has time: what is folded early is gone, and the next is as fast."""
    drive = small("consumer_qlc_sata")
    write(drive, 0, 60)
    result = write(drive, 100, 40)
    assert rate(result, 0, 38) == pytest.approx(530, rel=0.1)


def test_keeping_leaves_data_in_the_cache() -> None:
    """Half of the room of `consumer_qlc` after a rest."""
    drive = small("consumer_qlc")
    write(drive, 0, 130)
    cache = write(drive, 200, 0.1).to_dict()["ftl"]["cache"]
    assert 0.4 < cache["used_bytes"] / cache["room_bytes"] < 0.6

"""Write-once codes: two writes without an erase come back, and bad pages are refused."""

from __future__ import annotations

import random

import pytest
from conftest import refused

from nandlab.ecc import write_once


def test_two_writes_come_back_and_no_bit_rises():
    dice = random.Random(5)
    for size in (0, 1, 7, 8, 9, 512):
        old, new = ([dice.randbytes(size) for _ in range(2)] for _ in range(2))
        held = write_once.encode(old)
        assert write_once.decode(held) == old
        cells = write_once.encode(new, held)
        assert write_once.decode(cells) == new
        for before, after in zip(b"".join(held), b"".join(cells), strict=True):
            assert after & ~before == 0


def test_error_rate_is_the_closed_form():
    for rber in (0.0, 1e-4, 0.01, 0.5):
        assert write_once.data_rber(rber) == pytest.approx(2 * rber * (1 - rber))


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: write_once.encode([b"one"]), ["data: 1", "2 pages"]),
        (lambda: write_once.encode("no"), ["data: str"]),
        (lambda: write_once.encode([b"ab", b"c"]), ["wom", "2 and 1 bytes"]),
        (lambda: write_once.decode([b"a", b"b"]), ["cells: 2", "3 pages"]),
        (lambda: write_once.data_rber(1.5), ["rber: 1.5", "0 to 1"]),
    ],
)
def test_bad_pages_are_refused(call, parts):
    with refused(*parts):
        call()

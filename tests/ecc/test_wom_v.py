"""WOM-v codes: generations of writes come back, levels never fall, and bad input is refused."""

from __future__ import annotations

import itertools
import random

import pytest
from conftest import refused

from nandlab.ecc.wom_v import MOST_CELL_BITS, WomV

CODES = [(n, k) for n in range(2, MOST_CELL_BITS + 1) for k in range(1, n)]


@pytest.mark.parametrize(("cell_bits", "data_bits"), CODES)
def test_generations_are_those_of_the_closed_form(cell_bits, data_bits):
    code = WomV(cell_bits, data_bits)
    generations = (2**cell_bits - 1) // (2**data_bits - 1)
    assert code.generations == generations
    assert code.bits_per_cell_and_cycle == data_bits * generations
    assert code.mean_rise == (2**data_bits - 1) / 2


@pytest.mark.parametrize(("cell_bits", "data_bits"), CODES)
def test_every_generation_comes_back_and_no_level_falls(cell_bits, data_bits):
    dice = random.Random(3)
    code = WomV(cell_bits, data_bits)
    held = None
    for _ in range(code.generations):
        data = [dice.randbytes(64) for _ in range(data_bits)]
        levels = code.encode(data, held)
        assert code.decode(levels) == data
        assert max(levels) < 2**cell_bits
        if held is not None:
            assert all(new >= old for old, new in zip(held, levels, strict=True))
        held = levels


@pytest.mark.parametrize(("cell_bits", "data_bits"), CODES)
def test_neighbours_differ_in_one_bit(cell_bits, data_bits):
    values = WomV(cell_bits, data_bits).values
    pairs = itertools.pairwise(values)
    assert [(low ^ high).bit_count() for low, high in pairs] == [1] * (2**cell_bits - 1)


def test_error_rate_goes_by_the_bits_that_a_cell_holds():
    assert WomV(4, 2).data_rber(1e-3) == pytest.approx(2e-3)
    assert WomV(4, 1).data_rber(0.4) == 0.5


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: WomV(4, 4), ["data_bits: 4"]),
        (lambda: WomV(7, 1), ["cell_bits: 7"]),
        (lambda: WomV(4, 2).encode(b"ab"), ["data: bytes", "2 pages"]),
        (lambda: WomV(4, 2).encode([b"a"]), ["wom_v.data: 1 pages", "2"]),
        (lambda: WomV(4, 2).encode([b"a", b"bc"]), ["wom_v.data", "1 and 2 bytes"]),
        (lambda: WomV(4, 2).encode([b"a", b"b"], b"12"), ["wom_v.held: level 49", "0 to 15"]),
        (lambda: WomV(4, 2).encode([b"a", b"b"], bytes([15]) * 8), ["no level left", "erase"]),
        (lambda: WomV(4, 2).decode("no"), ["levels: str"]),
        (lambda: WomV(4, 2).decode(bytes(7)), ["wom_v.levels: 7 cells", "multiple of 8"]),
        (lambda: WomV(4, 2).data_rber(2), ["rber: 2", "0 to 1"]),
    ],
)
def test_what_does_not_fit_is_refused(call, parts):
    with refused(*parts):
        call()

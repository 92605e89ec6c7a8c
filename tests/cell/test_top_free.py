"""Code without the highest level: exact, and its rate by closed form and entropy bound."""

import math
import random

import numpy as np
import pytest
from conftest import refused

from nandlab import cell, content
from nandlab.cell.top_free import TopFree

WORDS = {2: cell("wang2014_mlc").native.words(), 3: cell("tlc_3d").native.words()}
RANDOM = random.Random(2).randbytes(128 * 2048)


@pytest.mark.parametrize("bits", [2, 3])
@pytest.mark.parametrize(("cells", "segment"), [(16, 1), (64, 8), (120, 4), (120, 120)])
@pytest.mark.parametrize(
    "data", [bytes(300), b"\xff" * 300, RANDOM[:300], b"The threshold" * 23, b""]
)
def test_data_come_back_and_no_cell_is_at_the_top(bits: int, cells: int, segment: int, data: bytes):
    left = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
    writer, reader = (TopFree(WORDS[bits], bits, segment) for _ in range(2))
    back, line = [], 0
    while True:
        word = np.zeros(cells, dtype=int)
        for page in range(bits):
            row, flags, used = writer.encode((line, 0, page), cells, left)
            if not len(row):
                break
            back.append((reader.decode((line, 0, page), row, flags), left[:used]))
            left = left[used:]
            word |= row.astype(int) << page
        if not len(row):
            break
        assert WORDS[bits][-1] not in word
        line += 1
    assert all(np.array_equal(found, meant) for found, meant in back)
    assert len(left) < cells


def entropy_bits(shares: tuple[float, ...]) -> float:
    return -sum(share * math.log2(share) for share in shares if share)


def test_random_data_cost_what_the_closed_form_says():
    """Half of n cells and d = E|B - n/2| / n more take a bit of the upper page, B binomial."""
    n = 64
    d = sum(math.comb(n, k) * abs(k - n / 2) for k in range(n + 1)) / 2**n / n
    found = content(RANDOM, coding="top_free", segment_bytes=n // 8)
    assert found.rate == pytest.approx((1.5 + d) / (2 + 1 / n), rel=2e-3)
    shares = found.level_shares
    assert shares[3] == 0.0
    assert shares[2] == pytest.approx(0.5 - d, abs=2e-3)


@pytest.mark.parametrize("segment_bytes", [1, 8, 2048])
def test_random_data_stay_under_the_entropy_of_their_levels(segment_bytes: int):
    found = content(RANDOM, coding="top_free", segment_bytes=segment_bytes)
    bound = entropy_bits(found.level_shares) / 2
    assert 0.9 * bound < found.rate < bound <= math.log2(3) / 2 + 1e-9


def test_a_wordline_is_faster_and_a_byte_is_not():
    coded, plain = content(RANDOM, coding="top_free"), content(RANDOM)
    assert sum(coded.program_us) < sum(plain.program_us)
    assert sum(coded.program_us) / coded.rate > sum(plain.program_us)


def test_a_cell_of_one_bit_is_refused():
    with refused("top_free", "one bit"):
        content(RANDOM, "grupp2009_a_slc2", coding="top_free")

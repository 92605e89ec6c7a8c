"""Content of a chip: levels that data need, codings, chip files that run, and what is refused."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended, refused

from nandlab import cell, content, run
from nandlab.given.toml import parse_toml

BLOCK = 128 * 2048
"""Bytes of a block of the chip of Wang 2014."""
RANDOM = random.Random(1).randbytes(BLOCK)
TEXT = b"The threshold voltage of a cell is what a program raises. " * (BLOCK // 58)


def test_random_data_hold_all_levels_alike():
    found = content(RANDOM)
    assert found.level_shares == pytest.approx([0.25] * 4, abs=0.005)
    assert found.program_us == pytest.approx(cell("wang2014_mlc").times(0).program_us)
    assert found.cycle_weight == pytest.approx(1.0, abs=1e-3)


def test_zeros_and_ones_hold_one_level():
    """'00' is the third level, '11' the erased one, which needs no pulse."""
    zeros, ones = content(bytes(BLOCK)), content(b"\xff" * BLOCK)
    assert zeros.level_shares == (0.0, 0.0, 1.0, 0.0)
    assert ones.level_shares == (1.0, 0.0, 0.0, 0.0)
    assert ones.program_us == (380.0, 964.0)
    assert zeros.erase_us < ones.erase_us


def test_inverted_zeros_are_ones_and_scrambled_ones_are_random():
    assert content(bytes(BLOCK), coding="inverted").level_shares[0] == 1.0
    scrambled = content(b"\xff" * BLOCK, coding="scrambled")
    assert scrambled.level_shares == pytest.approx([0.25] * 4, abs=0.005)


@pytest.mark.parametrize("data", [RANDOM, TEXT])
def test_inversion_never_rests_cells_higher(data: bytes):
    """Nor does it with finer segments, of random data lower still."""
    coarse, fine = (content(data, coding="inverted", segment_bytes=size) for size in (512, 8))
    assert max(coarse.mean_v, fine.mean_v) < content(data).mean_v
    assert data != RANDOM or fine.mean_v < coarse.mean_v - 0.1
    assert (coarse.flag_bits, fine.flag_bits) == (4, 256)


def test_inversion_follows_what_is_known_of_the_wordline():
    """Lower page of zeros and ones mixed, 2 bytes a segment: the expected share of each level.

    Random segments of n bits hold (1/2 + d) n ones after inversion, d = E|B - n/2| / n with B
    binomial: 0.0982 for n = 16. The upper page's choice is weighed by the voltages of its levels.
    """
    found = content(RANDOM, coding="inverted", segment_bytes=2)
    lower_ones = found.level_shares[0] + found.level_shares[1]
    assert lower_ones == pytest.approx(0.5 + 0.0982, abs=0.003)
    assert found.level_shares[0] > found.level_shares[1]
    assert found.level_shares[2] > found.level_shares[3]


def test_kinds_are_wordlines_with_the_same_levels():
    found = content(RANDOM + bytes(BLOCK))
    assert sorted(kind.share for kind in found.kinds) == pytest.approx([0.5, 0.5], abs=0.01)
    zeros, mixed = content(bytes(BLOCK)), content(RANDOM)
    for page in range(2):
        mean = (zeros.program_us[page] + mixed.program_us[page]) / 2
        assert found.program_us[page] == pytest.approx(mean, rel=1e-3)


def test_a_drive_runs_with_it_and_takes_its_times(tmp_path: Path):
    """Writes without a buffer and one at a time: as much faster as their programs are."""
    job = "[a]\nrw=write\nbs=2k\nnumber_ios=4096\n"
    changes = {"buffer.bytes": 0, "chip.features.multi_plane_program": False}
    means = {}
    for coding in ("scrambled", "inverted"):
        found = content(bytes(BLOCK), coding=coding)
        path = tmp_path / f"{coding}.toml"
        found.write(path)
        drive = {
            "drive_preset": "wang2014_mlc",
            "chip": {"preset": str(path)},
            "ftl": {"unit_bytes": 2048},
        }
        ran = run(drive, job, set=changes)
        assert ran.checks.ok
        means[coding] = ran.latency.mean, sum(found.program_us) / 2
    for latency, program in means.values():
        assert latency == pytest.approx(program, rel=0.1)
    (slow, long), (fast, short) = means["scrambled"], means["inverted"]
    assert slow - fast == pytest.approx(long - short, rel=0.05)


def test_the_command_prints_and_writes_what_python_has(nandlab: Callable[..., Ended], folder: Path):
    (folder / "data.bin").write_bytes(TEXT)
    given = ("content", "data.bin", "--coding", "inverted", "--segment-bytes", "8")
    report = nandlab(*given, "--json", "-", "--out", "chip.toml").succeeded().json
    found = content(TEXT, coding="inverted", segment_bytes=8)
    assert report["level_shares"] == pytest.approx(found.level_shares)
    assert (folder / "chip.toml").read_text() == found.text
    assert parse_toml(found.text, "chip.toml")["content"][0]["share"] == 1.0
    assert "cells by level (%)" in nandlab(*given).succeeded().out
    nandlab("content", "none.bin").refused("none.bin")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"coding": "inverse"}, ["`inverted`"]),
        ({"segment_bytes": 3}, ["segment_bytes = 3", "2048"]),
        ({"segment_bytes": 0}, ["segment_bytes"]),
        ({"data": b"short"}, ["5 bytes", "wordline"]),
        ({"data": "text"}, ["str", "bytes"]),
        ({"chip": "mqsim_mlc"}, ["no cell"]),
        ({"chip": "wang2014"}, ["wang2014_mlc"]),
    ],
)
def test_refusals(arguments: dict[str, object], parts: list[str]):
    with refused(*parts):
        content(**{"data": RANDOM, **arguments})

"""One answer to one question: endurance of a chip, of its cell, and with a code of a name."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import Ended, carries, some

import nandlab
from nandlab.catalogue import chip as chip_tables
from nandlab.catalogue import load_config
from nandlab.cell.source import is_of_the_cell
from nandlab.ecc.code_limit import code_limit, failures_of_code
from nandlab.ecc.codec import codec
from nandlab.endurance import PROFILES, endurance
from nandlab.endurance.chip import rates_of
from nandlab.given.toml import parse_toml
from nandlab.life.limit import Demand, limit_of

SHOW = nandlab.show


def own_array(folder: Path, text: str) -> str:
    """tlc_3d with another array."""
    path = folder / "own.toml"
    path.write_text(SHOW("chip/tlc_3d").split("[array]")[0] + f"[array]\n{text}\n")
    return str(path)


@pytest.mark.parametrize("references", some(["--fixed", "", "--best"]))
def test_one_question_has_one_answer(nandlab: Callable[..., Ended], references: str):
    """Of a chip and of its cell, on the command line: with the same code and references."""
    given = [*references.split(), "--json", "-"]
    [point] = nandlab("endurance", "tlc_3d", "--profile", "client", *given).succeeded().json
    said = nandlab("cell", "tlc_3d", "--picture", "endurance", *given)
    found = said.succeeded().json["endurance"]
    client = PROFILES["client"]
    row = found["temperature_c"].index(client.temperature_c)
    column = found["retention_hours"].index(client.retention_hours)
    assert point["pe_cycles"] == found["pe_cycles"][row][column]
    # Some pages are worse than the mean, which must be as much better.
    assert 0.5 * found["rber_limit"] < point["rber_limit"] < found["rber_limit"]
    assert point["t"] == found["ecc"]["t"] == 300
    assert (point["pe_cycles"] > 600) == (references != "--fixed")


@pytest.mark.parametrize("drive", ["modern_tlc", "modern_qlc", "wang2014_mlc"])
def test_drives_read_by_the_array_of_their_chip(drive: str):
    """No preset asks its cell where `nandlab endurance` asks a law."""
    config = load_config(drive).config
    assert is_of_the_cell(config["chip"]["array"])
    chip = {"modern_tlc": "tlc_3d", "modern_qlc": "qlc_3d"}.get(drive, drive)
    assert is_of_the_cell(chip_tables(chip)["array"])


def test_a_cell_whose_chip_errs_otherwise_says_so(nandlab: Callable[..., Ended], folder: Path):
    """A fitted table and a law: sixteen times the measured rate, and not a word of it, once."""
    rates = "rber=[1e-4, 1e-4, 1e-4]"
    points = ", ".join(f"{{pe_cycles={n}, hours=0, reads=0, {rates}}}" for n in (0, 3000))
    for array, parts in (
        (f'name = "table"\npoints = [{points}]', ["`table`", "2 measured points"]),
        ('name = "power_law"', ["`power_law`"]),
    ):
        own = own_array(folder, array)
        ended = nandlab("cell", own, "--pe-cycles", "3000").succeeded()
        carries(ended.err, "note: ", own, "chip.array", *parts)
        [note] = nandlab("cell", own, "--json", "-").succeeded().json["notes"]
        carries(note, own, "chip.array", *parts)
        nandlab("cell", own, "--picture", "endurance").refused(own, "`nandlab endurance`")
    for name in ("tlc_3d", "chip/tlc_3d", "qlc_3d", "modern_tlc", "slc"):
        assert nandlab("cell", name, "--json", "-").succeeded().json["notes"] == []


def test_a_code_against_a_chip(nandlab: Callable[..., Ended], folder: Path):
    """A soft read lasts longer than a hard one; the limit of BCH is the tail of the binomial."""
    found = []
    for levels in ("0", "2", "4"):
        code = ["--code", "ldpc_4k_r90", "--levels", levels]
        asked = ["endurance", "tlc_3d", "--profile", "client", *code]
        if levels == "0":
            carries(nandlab(*asked).succeeded().out, "extrapolated", "UBER")
        [point] = nandlab(*asked, "--json", "-").succeeded().json
        assert (point["t"], point["code"], point["levels"]) == (None, "ldpc_4k_r90", int(levels))
        assert point["pe_cycles_low"] <= point["pe_cycles"] <= point["pe_cycles_high"]
        found.append(point["pe_cycles"])
    assert 0 < found[0] < found[1] < found[2]
    assert found[1] > 1.5 * found[0]
    [bch] = endurance("tlc_3d", code="bch_4320_t100", retention_hours=24).points
    size = codec("bch_4320_t100")
    [same] = endurance(
        "tlc_3d", t=100, codeword_bits=size.length, user_bits=size.dimension, retention_hours=24
    ).points
    assert (bch.t, bch.pe_cycles) == (100, same.pe_cycles)
    asked = ["endurance", "tlc_3d", "--retention-hours", "24"]
    for given, parts in {
        ("--levels", "2"): ["levels = 2", "code"],
        ("--code", "bch_4320_t100", "--levels", "2"): ["bch_4320_t100", "soft reads"],
        ("--code", "ldpc_4k_r90", "--levels", "6"): ["6", "ldpc_4k_r90"],
        ("--code", "ldpc_4k_r90", "--levels", "3"): ["0, 2, 4, 6"],
        ("--code", "ldpc_4k_r90", "--t", "9"): ["code and t"],
        ("--code", "ldpc_1k_r9"): ["`ldpc_1k_r90`"],
        ("--code", "ldpc_4k_r90", "--uber", "0.5"): ["target = 0.5"],
    }.items():
        nandlab(*asked, *given).refused(*parts)


@pytest.mark.parametrize("levels", [0, 2, 4])
def test_the_limit_of_a_code_is_where_it_was_measured(levels: int):
    """On measured failures the line is their rate; beyond them it goes on, and says so."""
    rows = parse_toml(SHOW("code/ldpc_4k_r90.profile"), "profile")["level"]
    [row] = [each for each in rows if each["levels"] == levels]
    bits = codec("ldpc_4k_r90").dimension
    for rber, errors, frames in zip(row["rber"], row["errors"], row["frames"], strict=True):
        if 50 <= errors <= 0.1 * frames:
            found = code_limit("ldpc_4k_r90", levels=levels, uber=errors / frames / bits)
            assert found.rber == pytest.approx(rber, rel=0.02)
            assert found.low is not None
            assert found.high is not None
            assert found.low < found.rber < found.high
    far = [code_limit("ldpc_4k_r90", levels=levels, uber=uber) for uber in (1e-11, 1e-13, 1e-15)]
    assert all(more.rber > less.rber for more, less in pairwise(far))
    assert all("extrapolated" in one.note for one in far)
    wide = [one.high - one.low for one in far if one.high is not None and one.low is not None]
    assert wide == sorted(wide)


READS = 40_000


@pytest.mark.parametrize(
    ("drive", "code", "hours", "cycles"),
    some(
        [
            ("modern_qlc", "ldpc_4k_r90", 730.0, [1800, 2000, 2500, 3000, 3500]),
            ("modern_tlc", "ldpc_4k_r90", 8760.0, [1200, 1600, 2000, 2500, 3000]),
        ]
    ),
)
def test_a_drive_loses_what_its_endurance_says(
    drive: str, code: str, hours: float, cycles: list[int]
):
    """Hard reads of a run fail as often as `endurance` and `life` say, over all page types."""
    small = ["chip.geometry.blocks_per_plane=32", "ftl.overprovisioning=0.28"]
    small += [f"ecc.code={code}", "ecc.model=profile", "retry.name=none"]
    config = load_config(drive, small).config
    rates = rates_of(config["chip"], is_best=False)
    failures, user_bits = failures_of_code(code)
    compared = 0
    for pe_cycles in cycles:
        pages = [(page, hours, 0) for page in rates.pages(None)]
        by_page = [rates.failure([page], pe_cycles, failures) for page in pages]
        expected = sum(by_page) / len(by_page)
        sets = [*small, f"age.pe_cycles={pe_cycles}", f"age.retention_hours={hours}"]
        job = f"[r]\nrw=randread\nbs=4k\nnorandommap=1\nnumber_ios={READS}\niodepth=16\n"
        ecc = nandlab.run(drive, job, set=sets, precondition="fill").to_dict()["ecc"]
        share = ecc["hard_failures"] / ecc["codewords"]
        asked = Demand(1e-15, hours, 30.0)
        life = limit_of(config, asked).uber(pe_cycles).drive
        assert life == pytest.approx(max(by_page) / user_bits)
        if expected * READS < 20:
            continue
        compared += 1
        # Words of a page fail together, and a table interpolates.
        assert share == pytest.approx(expected, rel=0.15 + 8 / math.sqrt(expected * READS))
    assert compared >= 3

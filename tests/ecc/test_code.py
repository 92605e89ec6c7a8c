"""Code files: made, shown, exported and imported again, by the command line and from Python."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended, carries

from nandlab import _core
from nandlab.ecc import Code, ldpc
from nandlab.given.toml import parse_toml

BCH = "bch_512_t40"


def matrix(text: str) -> tuple[int, list[str]]:
    """Size of a circulant and the rows of shifts of a code file."""
    code = parse_toml(text, "code.toml")["code"]
    return code["z"], code["shifts"]


def test_made_shown_exported_and_imported(nandlab: Callable[..., Ended], folder: Path):
    shape = ["--z", "64", "--rows", "6", "--columns", "30", "--seed", "3"]
    nandlab("code", "make", *shape, "--out", "own.toml").succeeded()
    text = (folder / "own.toml").read_text()
    assert text == ldpc.make(64, 6, 30, seed=3)
    facts = json.loads(nandlab("code", "show", "own.toml", "--absorbing", "4", "--json", "-").out)
    assert (facts["length"], facts["dimension"]) == (1920, 1536)
    held = facts["payload_bytes"] + facts["metadata_bytes"] + facts["crc_bytes"]
    assert held + (facts["length"] - facts["dimension"]) // 8 == 1920 // 8
    assert facts["checks"]["column_weights"] == {"3": 6, "4": 24}
    assert facts["checks"]["cycles_of_4"] == 0
    assert facts["checks"]["girth"] in (6, 8)
    for form in ldpc.FORMS:
        nandlab("code", "export", "own.toml", "--form", form, "--out", f"own.{form}").succeeded()
        again = nandlab("code", "import", f"own.{form}").succeeded().out
        assert matrix(again) == matrix(text)
    said = nandlab("code", "show", "own.toml").succeeded().out
    assert "6 x 30 circulants of 64" in said


def test_shipped_codes_can_be_made_again():
    for name in ("ldpc_1k_r90", "ldpc_a"):
        facts = ldpc.facts(name)["checks"]
        table = parse_toml(_core.show(f"code/{name}"), name)
        recipe = table["recipe"]
        shape = (recipe.pop("z"), recipe.pop("block_rows"), recipe.pop("block_columns"))
        assert shape == (facts["z"], facts["block_rows"], facts["block_columns"])
        assert matrix(ldpc.make(*shape, **recipe)) == (table["code"]["z"], table["code"]["shifts"])


def test_shifts_changed_by_hand_are_told(nandlab: Callable[..., Ended], folder: Path):
    text = ldpc.make(64, 6, 30, seed=3)
    first = next(row for row in matrix(text)[1] if row.split()[-1] != "-")
    shift = first.split()[-1]
    other = first.rstrip()[: -len(shift)] + ("0" if shift != "0" else "1").rjust(len(shift))
    words = {True: "these shifts", False: "other shifts", None: "none in"}
    for name, content, holds in [
        ("own", text, True),
        ("shifts", text.replace(first.rstrip(), other), False),
        ("seed", text.replace("seed = 3", "seed = 4"), False),
        ("draws", text.replace("draws = 100", "draws = 0"), False),
        ("bare", text[: text.index("[recipe]")], None),
    ]:
        (folder / f"{name}.toml").write_text(content)
        assert (content == text) == (name == "own")
        told = nandlab("code", "show", f"{name}.toml", "--check").succeeded().out
        carries(told, words[holds])
        assert ldpc.facts(f"{name}.toml", check=True)["recipe_holds"] is holds
    (folder / "bch.toml").write_text(_core.show(f"code/{BCH}") + text[text.index("[recipe]") :])
    carries(nandlab("code", "show", "bch.toml", "--check").succeeded().out, words[False])
    assert ldpc.facts(BCH, check=True)["recipe_holds"] is None
    assert "recipe_holds" not in ldpc.facts("ldpc_a")


def test_a_matrix_of_another_tool_is_taken(folder: Path):
    # The (7,4) Hamming code, its columns out of order: parity is moved last.
    (folder / "hamming.alist").write_text(
        "7 3\n3 4\n1 1 1 2 2 2 3\n4 4 4\n1 0 0\n2 0 0\n3 0 0\n1 2 0\n1 3 0\n2 3 0\n1 2 3\n"
        "1 4 5 7\n2 4 6 7\n3 5 6 7\n"
    )
    (folder / "hamming.toml").write_text(ldpc.import_file("hamming.alist"))
    facts = ldpc.facts("hamming.toml")
    assert (facts["length"], facts["dimension"], facts["checks"]["z"]) == (7, 4, 1)


def test_dependent_checks_of_circulants_are_taken_bit_by_bit(
    nandlab: Callable[..., Ended], folder: Path
):
    # The checks of either row add up to all bits: 128 of them, 127 of which are independent.
    rows = "1 2 0 9\n3 4 5 0\n"
    (folder / "own.base").write_text(f"4 2 64\n{rows}")
    by_bits = "`nandlab code import --z 1`"
    nandlab("code", "import", "own.base").refused("own.base", "2 columns", "no inverse", by_bits)
    nandlab("code", "import", "own.base", "--z", "1", "--out", "own.toml").succeeded()
    assert ldpc.facts("own.toml")["dimension"] == 256 - 127
    # As a file of its own it comes back with the same bits.
    nandlab("code", "export", "own.toml", "--form", "alist", "--out", "own.alist").succeeded()
    again = nandlab("code", "import", "own.alist", "--z", "1").succeeded().out
    assert matrix(again) == matrix((folder / "own.toml").read_text())
    (folder / "none.base").write_text("2 1 96\n- -\n")
    nandlab("code", "import", "none.base").refused("none.base", "column 1", "no shift")


@pytest.mark.parametrize("checks", [21, 42])
def test_a_cyclic_code_comes_with_all_of_its_checks(
    nandlab: Callable[..., Ended], folder: Path, checks: int
):
    """The (21, 11) difference-set code, of distance 6: bit flipping corrects any two errors."""
    bits_of = [sorted((bit + row) % 21 for bit in (0, 2, 7, 8, 11)) for row in range(checks)]
    checks_of = [[row for row in range(checks) if bit in bits_of[row]] for bit in range(21)]
    weight = len(checks_of[0])
    lines = [[21, checks], [weight, 5], [weight] * 21, [5] * checks]
    lines += [[one + 1 for one in ones] for ones in checks_of + bits_of]
    Path("cyclic.alist").write_text("\n".join(" ".join(map(str, line)) for line in lines))
    nandlab("code", "import", "cyclic.alist", "--out", "cyclic.toml").succeeded()
    facts = ldpc.facts("cyclic.toml")
    assert (facts["length"], facts["dimension"]) == (21, 11)
    for decoder, errors in (("min_sum", 1), ("bit_flip", 2)):
        code = Code("cyclic.toml", decoder=decoder)
        word = code.encode(b"\xa5\x03")
        for wrong in itertools.combinations(range(21), errors):
            spoilt = int.from_bytes(word, "little") ^ sum(1 << bit for bit in wrong)
            assert code.decode(spoilt.to_bytes(3, "little")).word == word


def test_checks_of_no_bit_go_out_and_come_back(folder: Path):
    given = "5 3\n2 3\n1 1 2 1 1\n3 0 3\n1\n1\n1 3\n3\n3\n1 2 3\n\n3 4 5\n"
    (folder / "gap.alist").write_text(given)
    text = ldpc.import_file("gap.alist")
    (folder / "gap.toml").write_text(text)
    (folder / "again.alist").write_text(ldpc.export("gap.toml", "alist"))
    (folder / "again.toml").write_text(ldpc.import_file("again.alist"))
    assert ldpc.export("again.toml") == ldpc.export("gap.toml")


def test_short_cycles_are_counted(nandlab: Callable[..., Ended], folder: Path):
    """One of four: two columns with the same step between two rows."""
    (folder / "four.base").write_text("64\n0 0 0 -\n0 0 - 0\n")
    nandlab("code", "import", "four.base", "--out", "four.toml").succeeded()
    shown = nandlab("code", "show", "four.toml").succeeded().out
    assert re.search(r"cycles of four +1 class of 64 ", shown)
    assert re.search(r"cycles of six +0 classes of 64 ", shown)


def test_no_file_is_written_over(nandlab: Callable[..., Ended], folder: Path):
    shape = ["--z", "64", "--rows", "6", "--columns", "30"]
    nandlab("code", "make", *shape, "--out", "own.toml").succeeded()
    nandlab("code", "export", "own.toml", "--out", "own.base").succeeded()
    (folder / "rows.parquet").write_bytes(b"PAR1")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for out in ("own.toml", "own.base", "rows.parquet"):
        for command in (["make", *shape], ["import", "own.base"], ["export", "ldpc_a"]):
            if out not in command:
                nandlab("code", *command, "--out", out).refused("--out", out, "exists")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    nandlab("code", "make", *shape, "--out", "/dev/null").succeeded()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["show", "ldpc_1k_r9"], ["code `ldpc_1k_r9`", "`ldpc_1k_r90`"]),
        (
            ["make", "--rows", "3", "--columns", "30"],
            ["recipe.block_rows: 3", "4 to 64", "z = 256"],
        ),
        (["make", "--rows", "6", "--columns", "30", "--z", "8"], ["recipe.z: 8", "too small"]),
        (["make", "--rows", "6", "--columns", "30", "--parity-rows", "0,x"], ["--parity-rows"]),
        (["make", "--rows", "6", "--columns", "30", "--crc-bytes", "2"], ["crc_bytes: 2"]),
        (["export", "ldpc_a", "--form", "base2"], ["form", "`base2`", "`base`"]),
        (
            ["make", "--rows", "6", "--columns", "30", "--payload-bytes", "-1"],
            ["payload_bytes: -1", "0 to 4294967295"],
        ),
        (
            ["import", "z64.base", "--metadata-bytes", "4294967296"],
            ["metadata_bytes: 4294967296", "0 to 4294967295"],
        ),
        (["import", "z64.base", "--z", "-1"], ["z: -1", "1 to 32768"]),
        # The last that is let through: the core says what is the matter with it.
        (["import", "rows.base", "--z", "32768"], ["rows.base", "column 2", "no shift"]),
        (["import", "z64.base", "--z", "64"], ["z64.base:1", "z = 64", "--z 1"]),
        (["import", "hamming.txt"], ["hamming.txt:1", "2 numbers", "--form alist"]),
        (
            ["make", "--rows", "6", "--columns", "30", "--z", "-1"],
            ["recipe.z: -1", "0"],
        ),
        (
            ["make", "--rows", "6", "--columns", "30", "--z", "64", "--payload-bytes", "0"],
            ["payload_bytes: 0", "1 to 192"],
        ),
        (
            ["show", BCH, "--absorbing", "-1"],
            ["absorbing_bits: -1", "0 to 4294967295"],
        ),
        (["export", BCH], ["quasi-cyclic", "LDPC"]),
        (["import", "mixed.fio"], ["mixed.fio:1"]),
        (["import", "none.alist"], ["none.alist"]),
    ],
)
def test_refusals_say_what_is_expected(
    nandlab: Callable[..., Ended], folder: Path, arguments: list[str], parts: list[str]
):
    (folder / "z64.base").write_text("2 1 64\n0 0\n")
    (folder / "rows.base").write_text("5 - 0\n")
    (folder / "hamming.txt").write_text("7 3\n3 4\n1 1 2 1 2 2 3\n4 4 4\n")
    nandlab("code", *arguments).refused(*parts)

"""`nandlab run --ftl`: an FTL in a Python file, and what is said where it is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended, carries

FTL = """
from nandlab.ftl import Ftl, PageHooks

class Plain(Ftl):
    def place(self, stream, units, dies):
        for die in dies:
            block = self.flash.next_block(die, stream)
            if block is not None:
                return block

    def place_moves(self, die, units):
        return self.flash.next_block(die)
"""
RUN = ("run", "--drive", "tiny", "--workload", "mixed.fio", "--json", "-", "--quiet")


def test_a_file_with_one_ftl(nandlab: Callable[..., Ended], folder: Path):
    (folder / "mine.py").write_text(FTL)
    for given in ("mine.py", "mine.py:Plain", f"{folder}/mine.py:Plain"):
        report = nandlab(*RUN, "--ftl", given).succeeded().json
        config = report["nandlab"]["config"]["ftl"]
        assert config["name"] == "Plain"
        assert config["own"]["class"] == "mine.Plain"


def test_the_file_of_now_is_run(
    nandlab: Callable[..., Ended], folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """An edit that keeps length and time counts, and no bytecode stays beside the file."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    mine = folder / "mine.py"
    for name in ("Plain", "Other"):
        mine.write_text(FTL.replace("Plain", name))
        os.utime(mine, (1e9, 1e9))
        report = nandlab(*RUN, "--ftl", "mine.py").succeeded().json
        assert report["nandlab"]["config"]["ftl"]["name"] == name
    assert not (folder / "__pycache__").exists()


def test_a_broken_promise_is_refused(nandlab: Callable[..., Ended], folder: Path):
    (folder / "mine.py").write_text(FTL.replace("return block", "return -1"))
    nandlab(*RUN, "--ftl", "mine.py").refused("Plain.place(0, (", "-1", "a block")


def test_an_exception_shows_its_traceback(nandlab: Callable[..., Ended], folder: Path):
    (folder / "mine.py").write_text(FTL.replace("return block", "return block / 0"))
    ended = nandlab(*RUN, "--ftl", "mine.py")
    assert ended.code == 2
    assert 'mine.py", line 9, in place' in ended.err
    assert "ZeroDivisionError" in ended.err
    assert ended.err.splitlines()[-1].startswith("error: Plain.place(0, (")


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("none.py", ["`none.py`", "Python file"]),
        ("mine.toml", ["`mine.toml`", "Python file"]),
        ("mine.py", ["`mine.py`", "2 FTLs"]),
        ("mine.py:Plane", ["`Plane`", "`Plain`"]),
        ("broken.py", ["NameError"]),
    ],
)
def test_what_is_refused(nandlab: Callable[..., Ended], folder: Path, given: str, parts: list[str]):
    (folder / "mine.py").write_text(FTL + "\nclass Other(Plain):\n    pass\n")
    (folder / "broken.py").write_text("none\n")
    ended = nandlab(*RUN, "--ftl", given)
    assert ended.code == 2
    carries(ended.err.splitlines()[-1], *parts)

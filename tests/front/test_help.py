"""Help of the commands: examples that the parsers take, formats, completion in a shell."""

from __future__ import annotations

import doctest
import os
import pydoc
import re
import shlex
import subprocess
import sys
from collections.abc import Callable

import pytest
from conftest import Ended
from typer.main import get_command

import nandlab
from nandlab.catalogue import presets, roster
from nandlab.cli import app
from nandlab.cli.commands import EXAMPLES


def completed(line: str) -> set[str]:
    """Completions of a line, as a shell asks the command for them."""
    call = "import sys; sys.argv[0] = 'nandlab'; from nandlab.cli import main; main()"
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", call],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "_NANDLAB_COMPLETE": "complete_bash", **words},
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("example", [each for of in EXAMPLES.values() for each in of])
def test_examples_are_taken_by_their_parser(example: str):
    """With the options and arguments that it has."""
    program, command, *arguments = shlex.split(example)
    assert program == "nandlab"
    group = get_command(app)
    parsed = group.commands[command].make_context(command, arguments)  # type: ignore[attr-defined]
    assert parsed.info_name == command


@pytest.mark.parametrize("command", EXAMPLES)
def test_help_ends_with_examples(nandlab: Callable[..., Ended], command: str):
    lines = [line.strip() for line in nandlab(command, "--help").succeeded().out.splitlines()]
    for example in EXAMPLES[command]:
        assert example in lines


def test_help_lists_the_formats_of_traces(
    nandlab: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "200")
    for command in (["run"], ["trace", "info"]):
        words = nandlab(*command, "--help").succeeded().out
        for member in roster("trace"):
            assert member.name in words


def test_names_are_completed():
    assert completed("nandlab run --drive ti") == {"tiny"}
    assert "endurance" in completed("nandlab en")


@pytest.mark.long
def test_names_of_all_kinds_are_completed():
    assert completed("nandlab show qlc_3") == {"qlc_3d"}
    assert completed("nandlab explain gc.start") == {"gc.start_free_blocks"}
    assert completed("nandlab run --format al") == {"alibaba"}
    chips = {one.name for one in presets("chip") if one.name.startswith("tlc")}
    assert completed("nandlab endurance tlc") == chips


def test_help_of_a_result_is_complete():
    """Every public name has words of its own, and the class names them all."""
    result = nandlab.run("tiny", "[a]\nrw=randread\nnumber_ios=20\n")
    names = [name for name in dir(result) if not name.startswith("_")]
    helped = pydoc.render_doc(nandlab.Result, renderer=pydoc.plaintext)
    for name in names:
        own = getattr(nandlab.Result, name, None)
        assert own is None or (own.__doc__ or "").strip(), name
        assert name in helped, name


def test_help_of_the_package_begins_with_ten_things_that_work():
    told = nandlab.__doc__ or ""
    calls = doctest.DocTestParser().get_examples(told)[2:]
    assert len(calls) == 10
    given: dict[str, object] = {"nandlab": nandlab}
    exec(next(line for line in told.splitlines() if line.startswith(">>> jobs"))[4:], given)
    for call in calls:
        exec(call.source, given)
    for name in re.findall(r"`(?:help\()?(?:nandlab\.)?([a-z_]+)[`)]", told):
        assert hasattr(nandlab, name), name
    helped = pydoc.render_doc(nandlab, renderer=pydoc.plaintext)
    assert helped.index(calls[0].source.strip()) < helped.index("PACKAGE CONTENTS")

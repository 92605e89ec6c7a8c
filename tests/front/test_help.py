"""Help of the commands: examples that the parsers take, formats, completion in a shell."""

from __future__ import annotations

import os
import pydoc
import shlex
import subprocess
import sys

import pytest
from typer.main import get_command

import nandlab
from nandlab.catalogue import presets, roster
from nandlab.cli import app
from nandlab.cli.commands import EXAMPLES


def told(*arguments: str, **environment: str) -> str:
    """What the command ``nandlab`` prints, under its own name."""
    call = "import sys; sys.argv[0] = 'nandlab'; from nandlab.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", call, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80", **environment},
    )
    return done.stdout


@pytest.mark.parametrize("example", [each for of in EXAMPLES.values() for each in of])
def test_examples_are_taken_by_their_parser(example: str):
    """With the options and arguments that it has."""
    program, command, *arguments = shlex.split(example)
    assert program == "nandlab"
    group = get_command(app)
    parsed = group.commands[command].make_context(command, arguments)  # type: ignore[attr-defined]
    assert parsed.info_name == command


@pytest.mark.parametrize("command", EXAMPLES)
def test_help_ends_with_examples(command: str):
    lines = [line.strip() for line in told(command, "--help").splitlines()]
    for example in EXAMPLES[command]:
        assert example in lines


def test_help_lists_the_formats_of_traces():
    for command in (["run"], ["trace", "info"]):
        words = told(*command, "--help", COLUMNS="200")
        for member in roster("trace"):
            assert member.name in words


def completed(line: str) -> set[str]:
    words = f"{line}".split(" ")
    found = told(_NANDLAB_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    return set(found.split())


def test_names_are_completed():
    assert completed("nandlab run --drive ti") == {"tiny"}
    assert completed("nandlab show qlc_3") == {"qlc_3d"}
    assert completed("nandlab explain gc.start") == {"gc.start_free_blocks"}
    assert completed("nandlab run --format al") == {"alibaba"}
    chips = {one.name for one in presets("chip") if one.name.startswith("tlc")}
    assert completed("nandlab endurance tlc") == chips
    assert "endurance" in completed("nandlab en")


def test_help_of_a_result_is_complete():
    """Every public name has words of its own, and the class names them all."""
    result = nandlab.run("tiny", "[a]\nrw=randread\nnumber_ios=20\n")
    names = [name for name in dir(result) if not name.startswith("_")]
    helped = pydoc.render_doc(nandlab.Result, renderer=pydoc.plaintext)
    for name in names:
        own = getattr(nandlab.Result, name, None)
        assert own is None or (own.__doc__ or "").strip(), name
        assert name in helped, name

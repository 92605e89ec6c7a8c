"""Options: one declaration, and what commands, functions, tables and docs have of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import reduce
from typing import Annotated, Any, TypedDict

import pytest
import regen
import typer
from derived import signatures
from typer.main import get_command

import nandlab
from nandlab.cli.commands import app
from nandlab.cli.options import takes
from nandlab.drive.workload import RUN_KEYS
from nandlab.options.design import DesignOptions
from nandlab.options.life import LifeOptions
from nandlab.options.option import Declared, Option, among, filled, options_of
from nandlab.options.run import DriveRunOptions, RunOptions, SetOptions
from nandlab.options.serve import DriveServeOptions, ServeOptions
from nandlab.options.trace import FormatOptions, ReaderOptions, TraceOptions

#: Words of a command, the classes whose options it takes, those that it leaves out, and its own.
COMMANDS: dict[str, tuple[list[type], set[str], set[str]]] = {
    "run": (
        [RunOptions, TraceOptions],
        set(),
        {"drive", "saved", "json", "series", "timeline_around", "plot", "style", "explain"}
        | {"explain_plot", "picture", "html", "live", "quiet"},
    ),
    "dashboard": (
        [SetOptions],
        set(),
        {"drive", "saved", "workload", "precondition", "port", "listen_anywhere", "no_open"},
    ),
    "nbd": (
        [ServeOptions],
        {"timeline_spans"},
        {"drive", "saved", "control", "json", "series", "plot", "style", "explain"}
        | {"explain_plot", "run", "live", "quiet"},
    ),
    "nvme": (
        [ServeOptions],
        {"timeline_spans"},
        {"drive", "saved", "control", "json", "series", "plot", "style", "explain"}
        | {"explain_plot", "run", "live", "quiet"},
    ),
    "life": ([LifeOptions], {"iodepth"}, {"drive", "json", "parquet", "plot", "style", "quiet"}),
    "design": ([DesignOptions], set(), {"target", "json", "plot", "style", "quiet"}),
    "save": ([SetOptions], set(), {"drive", "out", "precondition", "quiet"}),
    "ftl": ([SetOptions], {"seed"}, {"drive", "json"}),
    "trace info": ([FormatOptions, ReaderOptions], set(), {"file", "json"}),
}

#: Functions, the class whose options they take, and their own arguments.
FUNCTIONS: dict[Callable[..., Any], tuple[type, list[str]]] = {
    nandlab.run: (RunOptions, ["drive"]),
    nandlab.serve: (ServeOptions, ["drive"]),
    nandlab.design: (DesignOptions, ["target"]),
    nandlab.life: (LifeOptions, ["drive"]),
    nandlab.Drive.run: (DriveRunOptions, ["self", "is_last"]),
    nandlab.Drive.serve: (DriveServeOptions, ["self"]),
}


def parameters(words: str) -> dict[str, Any]:
    """What the parser of a command takes."""
    command: Any = reduce(lambda of, word: of.commands[word], words.split(), get_command(app))
    return {one.name: one for one in command.params if one.name != "help"}


def on_the_line(classes: list[type], left_out: set[str]) -> dict[str, Declared]:
    every = [one for of in classes for one in options_of(of)]
    return {
        one.name: one for one in every if one.option.line is not None and one.name not in left_out
    }


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_has_what_is_declared(words: str):
    classes, left_out, own = COMMANDS[words]
    found, declared = parameters(words), on_the_line(classes, left_out)
    assert set(found) - own == set(declared)
    for name, one in declared.items():
        assert found[name].opts == [f"--{name.replace('_', '-')}"]
        said = " ".join(one.text.partition("\n\n")[0].replace("``", "").split())
        assert found[name].help.startswith(said.rstrip(".")), name
        assert one.option.unset in (found[name].show_default, "")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_has_what_is_declared(function: Callable[..., Any]):
    of, own = FUNCTIONS[function]
    found = inspect.signature(function).parameters
    known = vars(inspect.getmodule(function))
    declared = {one.name: one for one in options_of(of)}
    assert set(found) - set(own) == set(declared)
    for name, one in declared.items():
        assert eval(found[name].annotation, known) == one.type, name
        assert found[name].default == one.option.default, name


@pytest.mark.parametrize("function", [nandlab.run, nandlab.serve, nandlab.life])
def test_help_of_a_function_tells_what_is_declared(function: Callable[..., Any]):
    """In its own words, or those of `nandlab.run`, where it has the same option."""
    told = " ".join((inspect.getdoc(function) or "").split())
    of_run = {one.name: one.text for one in options_of(RunOptions)}
    for one in options_of(FUNCTIONS[function][0]):
        is_same = function is not nandlab.run and of_run.get(one.name) == one.text
        text = "As for `nandlab.run`." if is_same else " ".join(one.text.split())
        assert f" {one.name}: {text}" in told
        assert is_same or one.option.unset in told


def test_every_option_has_a_text():
    classes = [of for of, _ in FUNCTIONS.values()] + [TraceOptions]
    for one in (one for of in classes for one in options_of(of)):
        assert len(one.text.split()) > 2, one.name


def test_keys_of_a_run_table_are_those_that_a_study_may_vary():
    keys = {one.name for of in (RunOptions, TraceOptions) for one in options_of(of)}
    assert set(RUN_KEYS) < keys
    for key in RUN_KEYS:
        nandlab.Study("tiny", "[a]\nrw=read\n", axes={f"run.{key}": ["a", "b"]})
    with pytest.raises(nandlab.NandlabError):
        nandlab.Study("tiny", "[a]\nrw=read\n", axes={"run.cut_at": [1, 2]})


@pytest.mark.parametrize("which", ["traces", "signatures"])
def test_what_is_text_is_fresh(which: str, capsys: pytest.CaptureFixture[str]):
    assert regen.main(["--check", which]) == 0, capsys.readouterr().out


class OneMore(RunOptions, total=False):
    """Options of a run, and one that is new."""

    shelf_years: Annotated[float | None, Option(unset="0", form="YEARS")]
    """Years on a shelf before the run.

    It is ``None`` for a new drive.
    """


def test_a_new_option_is_declared_in_one_place(monkeypatch: pytest.MonkeyPatch):
    """The command, the arguments of the function and its docstring have it then."""
    given: dict[str, Any] = {}
    line = typer.Typer()

    @line.command()
    @takes(OneMore)
    def try_it(json: str | None = None, **more: Any) -> None:
        given.update(more, json=json)

    command: Any = get_command(line)
    (new,) = (one for one in command.params if one.name == "shelf_years")
    assert (new.opts, new.metavar, new.help) == (
        ["--shelf-years"],
        "YEARS",
        "Years on a shelf before the run.",
    )
    command(["--shelf-years", "2", "--json", "x"], standalone_mode=False)
    assert given == {"shelf_years": 2.0, "json": "x"}

    monkeypatch.setitem(signatures.DOORS, "drive/simulate.py", {"run": OneMore})
    source = signatures.signed("drive/simulate.py")
    assert "\n    shelf_years: float | None = None,\n" in source
    assert "\n        shelf_years: Years on a shelf before the run. It is ``None`` for a" in source


def test_what_is_given_and_what_is_not():
    given = {"seed": 3, "unknown": 4, "cut_at": None}
    assert among(RunOptions, given) == {"seed": 3, "cut_at": None}
    every = filled(DriveRunOptions, given)
    assert every["cut_at"] is None
    assert every["requests"] is False
    assert "seed" not in every


class Inherited(TypedDict, total=False):
    seed: Annotated[int, Option()]
    """Seed of a test."""


class Inheriting(Inherited, total=False):
    """It has the text of its base."""


def test_texts_are_inherited():
    assert [one.text for one in options_of(Inheriting)] == ["Seed of a test."]

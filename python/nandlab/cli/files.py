"""Files of a command: written before its standard output, with an error line for each failure."""

from __future__ import annotations

import json as json_text
import math
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.display.streams import drop_standard_output, is_reader_gone
from nandlab.display.style import STYLES, check_style
from nandlab.display.style import style as style_of
from nandlab.display.terminal import REFUSED, console, say_error
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text
from nandlab.options.option import OUTPUTS as OUTPUTS

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE|-", help="Results as JSON; - prints them."),
]
"""Of every command that prints a table. With ``-`` the table goes to standard error."""


def output(text: str, form: str = "FILE") -> Any:
    """An option that says what a command writes, or how."""
    return typer.Option(metavar=form, help=text, rich_help_panel=OUTPUTS)


Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE", help="Picture: .png, .svg or .pdf.", rich_help_panel=OUTPUTS
    ),
]
"""Of every command that draws what it found."""

Style = Annotated[
    str | None,
    typer.Option(
        "--style",
        metavar="|".join(STYLES),
        help="Style of pictures: for a screen, or for one or both columns of a paper (screen).",
        rich_help_panel=OUTPUTS,
    ),
]
"""Of every command that draws."""

Quiet = Annotated[
    bool, typer.Option("--quiet", help="No table, bar or notice.", rich_help_panel=OUTPUTS)
]
"""Of commands that simulate drives."""


def check_pictures(style: str | None, *pictures: Path | None) -> None:
    """Makes sure that pictures can be drawn, before anything takes time.

    Raises:
        NandlabError: another kind of file; an unknown style, or one without a picture.
    """
    from nandlab.display.picture import check_kind

    drawn = [path for path in pictures if path is not None]
    for path in drawn:
        check_kind(path)
    if style is not None:
        check_style("--style", style)
        if not drawn:
            raise refusal("", "--style without a picture", hint="give both or neither")


def check_json(json: Path | None, inputs: Iterable[str | PathLike[str]] = ()) -> None:
    """Makes sure that the JSON can be written, before anything takes time.

    Raises:
        NandlabError: it cannot, or the file is an input.
    """
    check_outputs({"--json": json_file(json)}, inputs)


def json_file(json: Path | None) -> Path | None:
    """The file of the JSON; None where it is not asked for, or goes to standard output."""
    return None if json == Path("-") else json


def tell(json: Path | None, numbers: object, show: Callable[[Console], object]) -> None:
    """A table for people, and the same numbers as JSON where they are asked for."""
    to_stdout = json == Path("-")
    text = json_text.dumps(_finite(numbers), indent=2) + "\n" if json is not None else ""
    with Files() as files:
        files.write(json_file(json), lambda path: write_text(path, text))
        show(console(stderr=to_stdout))
        if to_stdout:
            print(text, end="", flush=True)


def _finite(value: Any) -> Any:
    """The same with None for what JSON has no number for."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def drawn(style: str | None, draw: Callable[[Path], object], path: Path) -> None:
    """Draws a picture to a file, in a style where one is given."""
    with style_of(style or "screen"):
        draw(path)


class Files:
    """While it is entered, files are written one after another; one that fails keeps no other.

    At its end the command ends with `REFUSED` where one has failed.
    """

    def __init__(self, failures: Iterable[OSError] = ()) -> None:
        """Reports earlier failures now."""
        self._has_failed = False
        for failure in failures:
            self._fail(failure)

    def write(self, path: Path | None, write: Callable[[Path], object]) -> bool:
        """Writes a file, if it was asked for: whether it is there."""
        if path is None:
            return False
        try:
            write(path)
        except OSError as error:
            self._fail(error)
            return False
        return True

    def draw(self, path: Path | None, draw: Callable[[Path], object], style: str | None) -> bool:
        """Writes a picture in a style, if it was asked for: whether it is there."""
        return self.write(path, lambda to: drawn(style, draw, to))

    def _fail(self, error: OSError) -> None:
        self._has_failed = True
        say_error(error)

    def __enter__(self) -> Files:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if not self._has_failed or (error is not None and not is_reader_gone(error)):
            return
        if error is not None:
            drop_standard_output()
        raise typer.Exit(REFUSED)

"""``nandlab content``: levels that the data of a file need on a chip, and a chip file with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.catalogue import parameter_files
from nandlab.cli.files import json_file, output
from nandlab.cli.levels.answer import answer
from nandlab.given.completion import preset_of
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal

MOST_BYTES = 2**26


def content(
    data: Annotated[Path, typer.Argument(help="File with the data; at most 64 MiB are read.")],
    chip: Annotated[
        str,
        typer.Option(help="Preset or chip file with a cell.", autocompletion=preset_of("chip")),
    ] = "wang2014_mlc",
    coding: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="plain, scrambled (random bits), inverted (segments, where that rests cells"
            " lower), or top_free (a code without the highest level, at a cost in capacity).",
        ),
    ] = "plain",
    segment_bytes: Annotated[
        int, typer.Option(help="Bytes of a page that share a flag, for inverted and top_free.")
    ] = 64,
    out: Annotated[Path | None, output("The chip file.")] = None,
    json: Annotated[Path | None, output("The figures as JSON.", "FILE|-")] = None,
) -> None:
    """Times and wear of a chip that stores the data of a file."""
    from nandlab.cell.content import content as counted

    outputs = {"--out": out, "--json": json_file(json)}
    check_outputs(outputs, [str(data), chip, *parameter_files(chip)])
    try:
        with data.open("rb") as file:
            given = file.read(MOST_BYTES)
    except OSError as error:
        raise refusal(data, error.strerror or str(error), "a file that can be read") from error
    made = counted(given, chip, coding=coding, segment_bytes=segment_bytes)
    answer(made, out, json, outputs["--json"], level_shares=made.level_shares)

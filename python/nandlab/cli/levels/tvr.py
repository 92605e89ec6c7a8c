"""``nandlab tvr``: a chip with reduced threshold voltages, as a file that a drive can name."""

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


def tvr(
    chip: Annotated[
        str,
        typer.Argument(
            help="Preset or chip file with program times from its cell.",
            autocompletion=preset_of("chip"),
        ),
    ] = "wang2014_mlc",
    retention_hours: Annotated[float, typer.Option(help="How long data must survive.")] = 0.0,
    pe_cycles: Annotated[int, typer.Option(help="Program/erase cycles of the block.")] = 0,
    keep: Annotated[
        float | None,
        typer.Option(
            help="Share to keep of each margin between levels, instead of --retention-hours"
            " and --pe-cycles: 0 is the paper's retention-free case."
        ),
    ] = None,
    times: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="Program times: cell (the part without pulses stays) or steps (the paper's"
            " equation 14: a program is its pulses).",
        ),
    ] = "cell",
    rber_limit: Annotated[
        float, typer.Option(help="Raw bit error rate that the ECC still corrects.")
    ] = 4.5e-4,
    beside: Annotated[
        bool,
        typer.Option(
            "--beside",
            help="Write the chip as it is, with the reduced levels beside its own: blocks of"
            " ftl.reduced_streams have them.",
        ),
    ] = False,
    out: Annotated[Path | None, output("The chip file.")] = None,
    json: Annotated[Path | None, output("The figures as JSON.", "FILE|-")] = None,
) -> None:
    """Threshold voltage reduction: the chip with the smallest margins that data survive."""
    from nandlab.endurance.tvr_chip import tvr_chip

    outputs = {"--out": out, "--json": json_file(json)}
    check_outputs(outputs, [chip, *parameter_files(chip)])
    if beside and out is None:
        raise refusal("--beside", "without --out, the file that it is for", hint="give --out FILE")
    made = tvr_chip(
        chip,
        keep=keep,
        retention_hours=retention_hours,
        pe_cycles=pe_cycles,
        times=times,
        rber_limit=rber_limit,
        beside=beside,
    )
    answer(made, out, json, outputs["--json"])

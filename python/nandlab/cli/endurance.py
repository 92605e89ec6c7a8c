"""``nandlab endurance``: endurance of a chip by retention, temperature, ECC and UBER."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from nandlab.catalogue import parameter_files
from nandlab.cli.files import Files, Plot, Style, check_pictures, json_file, output
from nandlab.display.terminal import say
from nandlab.given.completion import preset_of
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text


def endurance(
    chip: Annotated[
        str,
        typer.Argument(
            help="Chip, or a drive whose code, reads and parity count: preset or file.",
            autocompletion=preset_of("chip"),
        ),
    ],
    retention_hours: Annotated[
        list[float] | None,
        typer.Option(
            help="Retention time; repeatable (default: a day to ten years; for a drive a year)."
        ),
    ] = None,
    temperature_c: Annotated[
        list[float] | None, typer.Option(help="Storage temperature; repeatable.")
    ] = None,
    reference_c: Annotated[
        float | None,
        typer.Option(help="Temperature of the error rates (default: from the law, or 30)."),
    ] = None,
    t: Annotated[
        list[int] | None,
        typer.Option(help="Bit errors that the ECC corrects in a codeword (300); repeatable."),
    ] = None,
    codeword_bits: Annotated[
        int | None, typer.Option(help="Bits of a codeword, with parity (34560).")
    ] = None,
    user_bits: Annotated[
        int | None, typer.Option(help="User bits of a codeword, without parity (32768).")
    ] = None,
    code: Annotated[
        str | None,
        typer.Option(
            help="Code instead of --t and the bits: its t, or its measured profile.", metavar="NAME"
        ),
    ] = None,
    levels: Annotated[
        int | None,
        typer.Option(
            help="Extra references of soft reads: 0 (default of a chip), 2 (one soft read), 4."
        ),
    ] = None,
    best: Annotated[
        bool | None,
        typer.Option(
            "--best/--fixed",
            help="Optimal references (default of a chip), or the cell's.",
        ),
    ] = None,
    uber: Annotated[list[float] | None, typer.Option(help="UBER limit; repeatable.")] = None,
    rber_spread: Annotated[
        list[float] | None,
        typer.Option(
            help="Standard deviation of RBER over pages / mean RBER (default: chip); repeatable."
        ),
    ] = None,
    reads: Annotated[int, typer.Option(help="Reads of the block since its erase.")] = 0,
    rest_hours: Annotated[
        float, typer.Option(help="Rest after each P/E cycle, in which cells recover from wear.")
    ] = 0.0,
    rest_c: Annotated[float, typer.Option(help="Temperature of the rest.")] = 30.0,
    page_type: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|N",
            help="Page type: lower, middle, upper or top, or a number from 0 (default: the worst).",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="JESD218 requirements: client or enterprise.", metavar="PROFILE"),
    ] = None,
    plot: Plot = None,
    style: Style = None,
    json: Annotated[Path | None, output("All points as JSON.", "FILE|-")] = None,
) -> None:
    """Maximum P/E cycles at which data survive, for every combination of the given values."""
    from nandlab.endurance.chip import PROFILES
    from nandlab.endurance.chip import endurance as worked_out

    if profile is not None:
        if profile not in PROFILES:
            raise refusal("endurance", f"unknown profile `{profile}`", PROFILES, given=profile)
        if retention_hours or temperature_c or uber:
            raise refusal(
                "endurance",
                "--profile sets retention, temperature and UBER already",
                hint="give the profile or these options",
            )
        given = PROFILES[profile]
        retention_hours, temperature_c = [given.retention_hours], [given.temperature_c]
        uber = [given.uber]
    to_stdout = json == Path("-")
    outputs = {"--plot": plot, "--json": json_file(json)}
    check_outputs(outputs, [chip, *parameter_files(chip)])
    check_pictures(style, plot)
    result = worked_out(
        chip,
        retention_hours=retention_hours or None,
        temperature_c=temperature_c or None,
        reference_c=reference_c,
        t=t or None,
        codeword_bits=codeword_bits,
        user_bits=user_bits,
        code=code,
        levels=levels,
        is_best=best,
        uber=uber or None,
        rber_spread=rber_spread or None,
        reads=reads,
        rest_hours=rest_hours,
        rest_c=rest_c,
        page_type=page_type,
    )
    text = json_text.dumps([point._asdict() for point in result.points], indent=2)
    with Files() as files:
        files.write(outputs["--json"], lambda path: write_text(path, text + "\n"))
        files.draw(plot, result.plot, style)
        if to_stdout:
            for note in result.notes():
                say(f"note: {note}")
        print(text if to_stdout else result)

"""``nandlab fit``: fits a law to measurements; writes a table, a picture, a chip file."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from nandlab.display.terminal import say
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal

_OUT = "Outputs"


def fit(
    data: Annotated[Path, typer.Argument(help="Measurements: .csv or .parquet.")],
    law: Annotated[
        str,
        typer.Option(
            metavar="LAW",
            help="power_law, exponential, exponential_vth or retention_law; table, the rates as "
            "they are; gaussian or student_t.",
        ),
    ],
    level: Annotated[
        float, typer.Option(help="How often the intervals hold the truth, all at once.")
    ] = 0.95,
    each: Annotated[
        bool, typer.Option("--each", help="Each interval by itself, which makes them narrower.")
    ] = False,
    states: Annotated[
        int | None, typer.Option(help="Of a histogram of voltages (4; those of a sweep).")
    ] = None,
    page_bits: Annotated[
        int | None, typer.Option(help="Bits that the exponential laws count errors in (16384).")
    ] = None,
    reference_c: Annotated[
        float | None,
        typer.Option(help="Temperature that the retention law is written for (25)."),
    ] = None,
    reference_v: Annotated[
        float | None,
        typer.Option(help="Voltage of the reference that a board's sweep has moved."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TERM", help="power_law: leave out epsilon, wear, retention or reads."
        ),
    ] = None,
    chip: Annotated[
        str | None, typer.Option(help="Preset or file of the chip that was measured.")
    ] = None,
    toml: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="That chip as measured.", rich_help_panel=_OUT),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Picture: .png, .svg or .pdf.", rich_help_panel=_OUT),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="All numbers.", rich_help_panel=_OUT)
    ] = None,
) -> None:
    """Fits a law to measurements of a real chip."""
    from nandlab.display.picture import check_kind
    from nandlab.fit.fitting import fit as fitted_to

    to_stdout = json == Path("-")
    outputs = {"--toml": toml, "--plot": plot, "--json": None if to_stdout else json}
    check_outputs(outputs, [str(data), *([chip] if chip else [])])
    if (toml is None) != (chip is None):
        given, lacking = ("--chip", "--toml") if toml is None else ("--toml", "--chip")
        raise refusal("fit", f"{given} without {lacking}", "both, or neither")
    if toml is not None and toml.suffix != ".toml":
        raise refusal("--toml", f"{toml} is no TOML", "a name that ends with .toml")
    if plot is not None:
        check_kind(plot)
    result = fitted_to(
        data,
        law,
        level=level,
        each=each,
        states=states,
        page_bits=page_bits,
        reference_c=reference_c,
        reference_v=reference_v,
        without=without or (),
    )
    text = result.chip_toml(chip) if chip is not None else ""
    if to_stdout:
        say(str(result))
        print(json_text.dumps(result.to_dict(), indent=2))
    else:
        print(result)
    if json is not None and not to_stdout:
        json.write_text(json_text.dumps(result.to_dict(), indent=2) + "\n", encoding="utf-8")
    if toml is not None:
        toml.write_text(text, encoding="utf-8")
    if plot is not None:
        result.plot(plot)

"""``nandlab fit``: fits a law to measurements; writes a table, a picture, a chip file."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from nandlab.catalogue import parameter_files
from nandlab.cli.files import Files, Plot, Style, check_pictures, drawn, json_file, output
from nandlab.display.terminal import say
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text


def fit(
    data: Annotated[Path, typer.Argument(help="Measurements: .csv or .parquet.")],
    law: Annotated[
        list[str],
        typer.Option(
            metavar="LAW",
            help="power_law, exponential, exponential_vth or retention_law; table (measured"
            " rates); gaussian or student_t. Repeatable for error laws, which are then compared.",
        ),
    ],
    level: Annotated[
        float, typer.Option(help="Confidence level of the intervals, jointly for all parameters.")
    ] = 0.95,
    each: Annotated[
        bool, typer.Option("--each", help="Confidence level of each interval alone (narrower).")
    ] = False,
    states: Annotated[
        int | None,
        typer.Option(help="States in a histogram of voltages (default: 4, or as in the sweep)."),
    ] = None,
    page_bits: Annotated[
        int | None, typer.Option(help="Bits of a page for the exponential laws (16384).")
    ] = None,
    least_squares: Annotated[
        bool,
        typer.Option(
            "--least-squares",
            help="Fits an exponential law as its paper does: least squares without weights.",
        ),
    ] = False,
    reference_c: Annotated[
        float | None,
        typer.Option(
            help="Reference temperature of the law, for data at several temperatures"
            " (retention_law: 25, power_law: 30)."
        ),
    ] = None,
    reference_v: Annotated[
        float | None,
        typer.Option(help="Voltage of the reference that the sweep moved."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TERM",
            help="Leaves a term out of power_law: epsilon, wear, retention, reads or page_type.",
        ),
    ] = None,
    page_type: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE|each",
            help="Rows of one page type only, or `each` for a fit of each type.",
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(metavar="THEIRS=OURS", help="Renames a column of the data: PE=pe_cycles."),
    ] = None,
    chip: Annotated[str | None, typer.Option(help="Preset or file of the measured chip.")] = None,
    toml: Annotated[
        Path | None, output("Chip file with the fitted law (needs --chip).", "FILE.toml")
    ] = None,
    plot: Plot = None,
    style: Style = None,
    json: Annotated[Path | None, output("All numbers as JSON.", "FILE|-")] = None,
) -> None:
    """Fits an error law to measurements of a real chip."""
    from nandlab.fit.compare import compare
    from nandlab.fit.fitting import fit as fitted_to
    from nandlab.fit.page_types import fit_page_types

    outputs = {"--toml": toml, "--plot": plot, "--json": json_file(json)}
    check_outputs(outputs, [data, *([chip, *parameter_files(chip)] if chip else [])])
    if (toml is None) != (chip is None):
        given, lacking = ("--chip", "--toml") if toml is None else ("--toml", "--chip")
        raise refusal("fit", f"{given} without {lacking}", hint="give both or neither")
    if toml is not None and toml.suffix != ".toml":
        raise refusal("--toml", f"{toml} is not a TOML file", "a name that ends with .toml")
    check_pictures(style, plot)
    options: dict[str, Any] = {
        "level": level,
        "each": each,
        "states": states,
        "page_bits": page_bits,
        "least_squares": least_squares,
        "reference_c": reference_c,
        "reference_v": reference_v,
        "without": without or (),
        "rename": _names(rename or []),
    }
    if len(law) > 1 or page_type == "each":
        several = "several laws" if len(law) > 1 else "each page type"
        for option, of_one in (("--toml", toml), ("--plot", plot)):
            if of_one is not None:
                raise refusal(
                    option,
                    f"the file takes one fit, and there are {several}",
                    hint="give one law and one page type",
                )
        if len(law) > 1 and each:
            raise refusal(
                "--each", "a comparison of laws has no confidence intervals", hint="name one law"
            )
        if len(law) > 1 and page_type == "each":
            raise refusal(
                "--page-type",
                "not supported: several laws for each page type",
                hint="give one page type, or one law",
            )
    if len(law) > 1:
        del options["level"], options["each"]
        compared = compare(data, law, page_type=page_type, **options)
        _tell(compared, compared.to_dict(), json)
        return
    if page_type == "each":
        every = fit_page_types(data, law[0], **options)
        text = "\n\n".join(f"page type {name}: {found}" for name, found in every.items())
        _tell(text, {name: found.to_dict() for name, found in every.items()}, json)
        return
    result = fitted_to(data, law[0], page_type=page_type, **options)
    text = result.chip_toml(chip) if chip is not None else ""
    _tell(
        result,
        result.to_dict(),
        json,
        (toml, lambda path: write_text(path, text)),
        (plot, lambda path: drawn(style, result.plot, path)),
    )


def _tell(
    said: object,
    report: dict[str, Any],
    json: Path | None,
    *others: tuple[Path | None, Callable[[Path], object]],
) -> None:
    """Files first, then the table for people; the numbers where `json` is stdout."""
    numbers = json_text.dumps(report, indent=2)
    to_stdout = json == Path("-")
    with Files() as files:
        files.write(json_file(json), lambda path: write_text(path, numbers + "\n"))
        for path, write in others:
            files.write(path, write)
        if to_stdout:
            say(str(said))
            print(numbers)
        else:
            print(said)


def _names(given: list[str]) -> dict[str, str]:
    """Columns by their names in the data, with those that they have here."""
    found = {}
    for text in given:
        theirs, equals, ours = text.partition("=")
        if not (theirs and equals and ours):
            raise refusal("--rename", f"`{text}`", "NAME=NAME, such as PE=pe_cycles")
        found[theirs.strip()] = ours.strip()
    return found

"""``nandlab fit``: fits a law to measurements; writes a table, a picture, a chip file."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.catalogue import parameter_files
from nandlab.cli.files import Files, Plot, Style, check_pictures, drawn, json_file, output
from nandlab.display.terminal import say
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text

if TYPE_CHECKING:
    from nandlab.cell.retry import RetryTable
    from nandlab.fit.whole_cell import CellFit


def fit(
    data: Annotated[
        list[Path],
        typer.Argument(help="Measurements: .csv or .parquet; several files with the law cell."),
    ],
    law: Annotated[
        list[str],
        typer.Option(
            metavar="LAW",
            help="power_law, exponential, exponential_vth or retention_law; table (measured"
            " rates); gaussian or student_t (a histogram); cell (all keys of a chip's cell, of"
            " counts and histograms). Repeatable for error laws, which are then compared.",
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
            help="Leaves a term out of power_law (epsilon, wear, retention, reads, page_type or"
            " layer), or a key of cell as the chip has it (retention.spread).",
        ),
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Layers of a block, for data with a column layer (default: up to the last one"
            " of the data).",
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
    chip: Annotated[
        str | None,
        typer.Option(help="Preset or file of the measured chip; of cell where the fit starts."),
    ] = None,
    retry: Annotated[
        int | None,
        typer.Option(metavar="N", help="Retry table of N shifts for the fitted cell."),
    ] = None,
    t: Annotated[
        int | None, typer.Option(help="Bit errors that a codeword may hold, with --retry (300).")
    ] = None,
    codeword_bits: Annotated[
        int | None,
        typer.Option(help="Bits of a codeword, with parity, with --retry (34560)."),
    ] = None,
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
    from nandlab.fit.whole_cell import fit_cell

    outputs = {"--toml": toml, "--plot": plot, "--json": json_file(json)}
    check_outputs(outputs, [*data, *([chip, *parameter_files(chip)] if chip else [])])
    is_cell = "cell" in law
    if is_cell and len(law) > 1:
        raise refusal("--law", "cell beside other laws", hint="give the law cell alone")
    if (toml is None) != (chip is None) and not is_cell:
        given, lacking = ("--chip", "--toml") if toml is None else ("--toml", "--chip")
        raise refusal("fit", f"{given} without {lacking}", hint="give both or neither")
    if toml is not None and toml.suffix != ".toml":
        raise refusal("--toml", f"{toml} is not a TOML file", "a name that ends with .toml")
    check_pictures(style, plot)
    if is_cell:
        _check_of_laws(
            {
                "--states": states,
                "--page-bits": page_bits,
                "--least-squares": least_squares or None,
                "--reference-c": reference_c,
                "--reference-v": reference_v,
                "--layers": layers,
                "--page-type": page_type,
            }
        )
    code = {"t": t, "codeword_bits": codeword_bits}
    own = {"retry": retry, **code}
    if idle := [name for name, value in own.items() if value is not None and not is_cell]:
        option = f"--{idle[0].replace('_', '-')}"
        raise refusal(option, "has no effect here", hint="use it with the law cell")
    if is_cell:
        found = fit_cell(
            data,
            _start(chip),
            level=level,
            each=each,
            without=without or (),
            rename=_names(rename or []),
        )
        table = _retries(found, retry, code)
        report = found.to_dict() | ({"retry_table": table.to_dict()} if table else {})
        file = found.chip_toml(table) if toml is not None else ""
        _tell(
            f"{found}\n\n{table}" if table else found,
            report,
            json,
            (toml, lambda path: write_text(path, file)),
            (plot, lambda path: drawn(style, found.plot, path)),
        )
        return
    if len(data) > 1:
        raise refusal(
            "fit", f"{len(data)} files for the law {law[0]}", "one file", hint="or the law cell"
        )
    measured = data[0]
    options: dict[str, Any] = {
        "level": level,
        "each": each,
        "states": states,
        "page_bits": page_bits,
        "least_squares": least_squares,
        "reference_c": reference_c,
        "reference_v": reference_v,
        "without": without or (),
        "layers": layers,
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
        compared = compare(measured, law, page_type=page_type, **options)
        _tell(compared, compared.to_dict(), json)
        return
    if page_type == "each":
        every = fit_page_types(measured, law[0], **options)
        text = "\n\n".join(f"page type {name}: {found}" for name, found in every.items())
        _tell(text, {name: found.to_dict() for name, found in every.items()}, json)
        return
    result = fitted_to(measured, law[0], page_type=page_type, **options)
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


def _check_of_laws(given: dict[str, object]) -> None:
    """Refuses options that a fit of a cell does not take."""
    for name, value in given.items():
        if value is not None:
            raise refusal(name, "not supported with the law cell", hint="leave it out")


def _start(chip: str | None) -> str:
    """The chip that a fit of a cell begins with."""
    if chip is None:
        raise refusal("fit", "the law cell without --chip", hint="name the most similar chip")
    return chip


def _retries(found: CellFit, count: int | None, code: dict[str, int | None]) -> RetryTable | None:
    """The retry table of a fitted cell, if one is asked for."""
    given = {name: value for name, value in code.items() if value is not None}
    if count is None:
        if given:
            option = f"--{next(iter(given)).replace('_', '-')}"
            raise refusal(option, "has no effect here", hint="use it with --retry")
        return None
    return found.retry_table(count, **given)


def _names(given: list[str]) -> dict[str, str]:
    """Columns by their names in the data, with those that they have here."""
    found = {}
    for text in given:
        theirs, equals, ours = text.partition("=")
        if not (theirs and equals and ours):
            raise refusal("--rename", f"`{text}`", "NAME=NAME, such as PE=pe_cycles")
        found[theirs.strip()] = ours.strip()
    return found

"""``nandlab cell``: shows a cell as numbers, as a picture, or as an animation."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab._core import NandlabError
from nandlab.catalogue import parameter_files
from nandlab.cli.files import OUTPUTS, Files, Plot, Style, check_pictures, json_file, output
from nandlab.display.terminal import console, say
from nandlab.given.completion import preset_of
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text

if TYPE_CHECKING:
    from nandlab.cell.endurance import EnduranceMap
    from nandlab.cell.model import Cell, State

PICTURES = ("levels", "rber", "program", "endurance")

_ECC = "Endurance (with --picture endurance)"


def cell(
    name: Annotated[
        str,
        typer.Argument(
            help="Preset or file: a cell, a chip or a drive.",
            autocompletion=preset_of("cell", "chip", "drive"),
        ),
    ],
    pe_cycles: Annotated[int, typer.Option(help="Program/erase cycles of the block.")] = 0,
    retention_hours: Annotated[
        float, typer.Option(help="Retention: hours since the cells were programmed.")
    ] = 0.0,
    reads: Annotated[
        int, typer.Option(help="Reads of the block since the cells were programmed.")
    ] = 0,
    reprograms: Annotated[
        int, typer.Option(help="Extra programs of the wordline without an erase.")
    ] = 0,
    temperature_c: Annotated[
        float | None, typer.Option(help="Temperature during retention (default: from the cell).")
    ] = None,
    soft: Annotated[
        int | None,
        typer.Option(metavar="N", help="Soft reads with N references for each reference, 1 to 7."),
    ] = None,
    retry: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Retry table of N shifts for a life up to --pe-cycles and --retention-hours, or"
            " over the data of a fitted chip.",
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Changes a parameter of the cell; repeatable."
        ),
    ] = None,
    plot: Plot = None,
    style: Style = None,
    picture: Annotated[
        str | None, output("Kind of --plot: levels (default), rber, program or endurance.", "KIND")
    ] = None,
    animate: Annotated[Path | None, output("Animation: .gif or .html.")] = None,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="Axis of rber and --animate: cycles (default), hours or reads, up to the given"
            " value.",
            rich_help_panel=OUTPUTS,
        ),
    ] = None,
    frames: Annotated[
        int | None, typer.Option(help="Frames of --animate (40).", rich_help_panel=OUTPUTS)
    ] = None,
    json: Annotated[Path | None, output("All numbers as JSON.", "FILE|-")] = None,
    t: Annotated[
        int | None,
        typer.Option(
            help="Bit errors that the ECC corrects in a codeword (300).", rich_help_panel=_ECC
        ),
    ] = None,
    codeword_bits: Annotated[
        int | None,
        typer.Option(help="Bits of a codeword, with parity (34560).", rich_help_panel=_ECC),
    ] = None,
    user_bits: Annotated[
        int | None,
        typer.Option(help="User bits of a codeword, without parity (32768).", rich_help_panel=_ECC),
    ] = None,
    uber: Annotated[
        float | None, typer.Option(help="UBER limit (1e-15).", rich_help_panel=_ECC)
    ] = None,
    best: Annotated[
        bool | None,
        typer.Option(
            "--best/--fixed",
            help="Optimal references (default), or the cell's.",
            rich_help_panel=_ECC,
        ),
    ] = None,
) -> None:
    """Shows the levels, error rates and optimal references of a cell."""
    from nandlab.cell.model import OVER, State
    from nandlab.cell.model import cell as found
    from nandlab.cell.motion import check_motion
    from nandlab.cell.plot import check_over

    if picture not in (None, *PICTURES):
        raise refusal("--picture", f"unknown picture `{picture}`", PICTURES, given=str(picture))
    # The cycles of an endurance are numbers too, for the table and --json.
    if plot is None and picture not in (None, "endurance"):
        raise refusal("--picture", f"{picture} without --plot", hint="add --plot FILE")
    ecc: dict[str, Any] = {
        "t": t,
        "codeword_bits": codeword_bits,
        "user_bits": user_bits,
        "uber": uber,
        "is_best": best,
    }
    ecc = {name: value for name, value in ecc.items() if value is not None}
    code = {key: value for key, value in ecc.items() if key in ("t", "codeword_bits", "user_bits")}
    idle = [key for key in ecc if key not in (code if retry is not None else ())]
    if idle and picture != "endurance":
        option = idle[0].replace("_", "-")
        if idle[0] == "is_best":
            option = "best" if best else "fixed"
        used = "--picture endurance or --retry" if idle[0] in code else "--picture endurance"
        raise refusal(f"--{option}", "has no effect here", hint=f"use it with {used}")
    if frames is not None and animate is None:
        raise refusal("--frames", "has no effect here", hint="use it with --animate")
    if over is not None and animate is None and picture != "rber":
        raise refusal(
            "--over", "has no effect here", hint="use it with --animate or --picture rber"
        )
    over = over or OVER[0]
    frames = 40 if frames is None else frames
    check_over(over)
    to_stdout = json == Path("-")
    outputs = {"--plot": plot, "--animate": animate, "--json": json_file(json)}
    check_outputs(outputs, [name, *parameter_files(name, set or ())])
    check_pictures(style, plot)
    if animate is not None:
        check_motion(animate, frames)
    made = found(name, set=set or ())
    state = State(pe_cycles, retention_hours, reads, reprograms, temperature_c)
    report = summary(made, state, soft)
    endurance = None
    if picture == "endurance":
        endurance = made.endurance(**ecc, reads=reads)
        report["endurance"] = endurance.to_dict()
    table = None
    if retry is not None:
        table = made.retry_table(retry, **_life(made, state), **code)
        report["retry_table"] = table.to_dict()
    for note in report["notes"]:
        say(f"note: {note}")
    if (unknown := report["array_rber_unknown"]) is not None:
        say(f"note: no rates of chip.array: {unknown}")
    text = json_text.dumps(report, indent=2)
    with Files() as files:
        files.write(outputs["--json"], lambda path: write_text(path, text + "\n"))
        kind = picture or "levels"
        files.draw(plot, lambda path: _draw(made, kind, over, state, endurance, path), style)
        files.write(animate, lambda path: made.animate(path, over, state, frames=frames))
        if to_stdout:
            print(text)
        else:
            _print(made, state, report, endurance)
            if table is not None:
                print(f"\n{table}")


def _life(cell: Cell, state: State) -> dict[str, Any]:
    """The life that a retry table is for: up to a state, or that of the data of a fitted chip."""
    from nandlab.fit.facts import life_in

    ranges = cell.chip.get("fit", {}).get("ranges")
    if state.pe_cycles == 0 and state.retention_hours == 0:
        if ranges is None:
            raise refusal(
                "--retry", "no life is given", hint="add --pe-cycles and --retention-hours"
            )
        return {**life_in(ranges), "reads": state.reads}
    return {
        "pe_cycles": state.pe_cycles,
        "retention_hours": state.retention_hours,
        "reads": state.reads,
        "temperature_c": state.temperature_c,
    }


def summary(cell: Cell, state: State, soft: int | None = None) -> dict[str, Any]:
    """All numbers of a cell in one state."""
    pages = []
    beside, unknown, notes = _beside(cell, state)
    for page in cell.pages:
        shifts = cell.best_shifts_v(page.page_type, state)
        stress = state._asdict()
        row: dict[str, Any] = {
            **page._asdict(),
            "rber": float(cell.rber(page.page_type, **stress)),
            "best_shifts_v": list(shifts),
            "rber_best": float(cell.rber(page.page_type, shifts_v=shifts, **stress)),
        }
        if soft is not None:
            told = cell.soft(page.page_type, soft, shifts_v=shifts, state=state)
            row["soft"] = told._asdict()
        if beside is not None:
            row["array_rber"] = list(beside.values())[page.page_type]
        pages.append(row)
    return {
        "cell": cell.name,
        "summary": cell.summary,
        "notes": [*cell.notes, *notes],
        "set": cell.changed,
        "cell_bits": cell.cell_bits,
        "gray": cell.gray,
        "page_order": cell.page_order,
        "mechanisms": cell.mechanisms,
        "state": state._asdict(),
        "levels": [level._asdict() for level in cell.levels(state)],
        "pages": pages,
        "array_rber_unknown": unknown,
        "times": cell.times(state.pe_cycles)._asdict(),
    }


def _beside(cell: Cell, state: State) -> tuple[dict[str, float] | None, str | None, list[str]]:
    """The rates of the chip's array where they are not those of the cell, or why there are none.

    Behind them what is to be said of them.
    """
    from nandlab.endurance.beside import beyond_fit, by_layer, rates_beside

    given: dict[str, Any] = state._asdict()
    del given["reprograms"]
    try:
        found = rates_beside(cell.name, cell.chip, **given)
        notes = [] if found is None else by_layer(cell.chip["array"])
        return found, None, [*notes, *beyond_fit(cell.chip, **given)]
    except NandlabError as error:
        return None, str(error), []


def _draw(
    cell: Cell,
    picture: str,
    over: str,
    state: State,
    endurance: EnduranceMap | None,
    path: Path,
) -> None:
    if picture == "levels":
        cell.plot(path, state)
    elif picture == "rber":
        cell.plot_rber(path, over, state)
    elif picture == "program":
        cell.plot_program(path, state.pe_cycles)
    elif endurance is not None:
        endurance.plot(path)


def _print(
    cell: Cell, state: State, report: dict[str, Any], endurance: EnduranceMap | None
) -> None:
    """The tables for people."""
    from rich.table import Table

    from nandlab.cell.endurance import cycles_in_short
    from nandlab.cell.words import said
    from nandlab.endurance.chip import duration

    def table(*names: str) -> Table:
        made = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bright_black")
        for number, name in enumerate(names):
            is_name = number == 0
            made.add_column(
                name,
                justify="left" if is_name else "right",
                style="bold" if is_name else None,
                no_wrap=len(names) > 7,
            )
        return made

    out = console()
    about = f"{cell.name}, {cell.cell_bits} bits a cell, Gray map {cell.gray}"
    out.print(f"{about}: {cell.summary}" if cell.summary else about)
    changed = f", with {', '.join(cell.changed)}" if cell.changed else ""
    out.print(f"{said(state)}{changed}\n")
    levels = table("level", "bits", "mean (V)", "sigma (V)")
    for level in cell.levels(state):
        row = (f"L{level.level}", level.bits, f"{level.mean_v:.3f}", f"{level.sigma_v:.3f}")
        levels.add_row(*row)
    out.print(levels)
    out.print("")
    has_array = any("array_rber" in row for row in report["pages"])
    # What drives have goes before what the cell alone would have.
    rates = ("RBER of chip.array", "of the cell") if has_array else ("RBER",)
    pages = table("page", *rates, "references (V)", "best shifts (mV)", "RBER there", "read")
    times = cell.times(state.pe_cycles)
    for page, row, us in zip(cell.pages, report["pages"], times.read_us, strict=True):
        pages.add_row(
            page.name,
            *([f"{row['array_rber']:.3e}"] if has_array else []),
            f"{row['rber']:.3e}",
            ", ".join(f"{v:.3f}" for v in page.references_v),
            ", ".join(f"{round(1e3 * shift):+d}" for shift in row["best_shifts_v"]),
            f"{row['rber_best']:.3e}",
            f"{us:g} µs" if us else "",
        )
    out.print(pages)
    if any("soft" in row for row in report["pages"]):
        out.print("")
        regions = table(
            "soft read", "offsets (mV)", "information", "LLR by region, from the lowest"
        )
        for row in report["pages"]:
            soft = row["soft"]
            regions.add_row(
                row["name"],
                ", ".join(f"{round(1e3 * v):+d}" for v in soft["offsets_v"]),
                f"{soft['information']:.5f} bit",
                " ".join(f"{llr:+.1f}" for llr in soft["llr"]),
            )
        out.print(regions)
    if endurance is not None:
        out.print("")
        columns = [duration(hours) for hours in endurance.retention_hours]
        cycles = table("cycles at", *columns)
        rows = zip(endurance.temperature_c, endurance.pe_cycles, strict=True)
        for celsius, counts in rows:
            cycles.add_row(f"{celsius:g} °C", *map(cycles_in_short, counts))
        out.print(cycles)

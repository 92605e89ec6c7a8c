"""``nandlab cell``: shows a cell as numbers, as a picture, as a moving picture."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.display.terminal import console
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from nandlab.cell.endurance import EnduranceMap
    from nandlab.cell.model import Cell, State

PICTURES = ("levels", "rber", "program", "endurance")

_OUT = "Outputs"
_ECC = "Endurance (with --picture endurance)"


def cell(
    name: Annotated[str, typer.Argument(help="Preset or file: a cell, a chip or a drive.")],
    pe_cycles: Annotated[int, typer.Option(help="Program/erase cycles of the block.")] = 0,
    hours: Annotated[float, typer.Option(help="Since the cells were programmed.")] = 0.0,
    reads: Annotated[int, typer.Option(help="Of the block since then.")] = 0,
    reprograms: Annotated[int, typer.Option(help="Programs beyond those needed.")] = 0,
    temperature_c: Annotated[
        float | None, typer.Option(help="At which the hours pass; the cell's own if left out.")
    ] = None,
    soft: Annotated[
        int | None, typer.Option(metavar="N", help="Soft reads with N references, 1 to 7.")
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Changes a parameter of the cell."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Picture: .png, .svg or .pdf.", rich_help_panel=_OUT),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Of --plot: levels, if left out, rber, program or endurance.",
            rich_help_panel=_OUT,
        ),
    ] = None,
    animate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="In motion: .gif or .html.", rich_help_panel=_OUT),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="What rber and --animate go over: cycles, if left out, hours or reads, up to what "
            "is given.",
            rich_help_panel=_OUT,
        ),
    ] = None,
    frames: Annotated[
        int | None, typer.Option(help="Of --animate (40).", rich_help_panel=_OUT)
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="All numbers.", rich_help_panel=_OUT)
    ] = None,
    t: Annotated[
        int | None, typer.Option(help="Errors that are corrected (300).", rich_help_panel=_ECC)
    ] = None,
    codeword_bits: Annotated[
        int | None, typer.Option(help="With parity (34560).", rich_help_panel=_ECC)
    ] = None,
    user_bits: Annotated[
        int | None, typer.Option(help="Without (32768).", rich_help_panel=_ECC)
    ] = None,
    uber: Annotated[
        float | None, typer.Option(help="Still allowed (1e-15).", rich_help_panel=_ECC)
    ] = None,
    best: Annotated[
        bool, typer.Option("--best", help="References where pages err least.", rich_help_panel=_ECC)
    ] = False,
) -> None:
    """Shows a cell: its levels, its error rates, where its references belong."""
    from nandlab.cell.model import OVER, State
    from nandlab.cell.model import cell as found
    from nandlab.cell.motion import check_motion
    from nandlab.cell.plot import check_over
    from nandlab.display.picture import check_kind

    if picture not in (None, *PICTURES):
        raise refusal("--picture", f"unknown picture `{picture}`", PICTURES, given=str(picture))
    # The cycles of an endurance are numbers too, for the table and --json.
    if plot is None and picture not in (None, "endurance"):
        raise refusal("--picture", f"{picture} without --plot", "--plot FILE with it")
    ecc: dict[str, Any] = {
        "t": t,
        "codeword_bits": codeword_bits,
        "user_bits": user_bits,
        "uber": uber,
        "is_best": best or None,
    }
    ecc = {name: value for name, value in ecc.items() if value is not None}
    if ecc and picture != "endurance":
        option = "best" if "is_best" in ecc else next(iter(ecc)).replace("_", "-")
        raise refusal(f"--{option}", "nothing to do", "with --picture endurance")
    if frames is not None and animate is None:
        raise refusal("--frames", "nothing to do", "with --animate")
    if over is not None and animate is None and picture != "rber":
        raise refusal("--over", "nothing to do", "with --animate or --picture rber")
    over = over or OVER[0]
    frames = 40 if frames is None else frames
    check_over(over)
    to_stdout = json == Path("-")
    outputs = {"--plot": plot, "--animate": animate, "--json": None if to_stdout else json}
    check_outputs(outputs, [name])
    if plot is not None:
        check_kind(plot)
    if animate is not None:
        check_motion(animate, frames)
    made = found(name, set=set or ())
    state = State(pe_cycles, hours, reads, reprograms, temperature_c)
    report = summary(made, state, soft)
    endurance = None
    if picture == "endurance":
        endurance = made.endurance(**ecc, reads=reads)
        report["endurance"] = endurance.to_dict()
    text = json_text.dumps(report, indent=2)
    if to_stdout:
        print(text)
    else:
        _print(made, state, report, endurance)
    if json is not None and not to_stdout:
        json.write_text(text + "\n", encoding="utf-8")
    if plot is not None:
        _draw(made, picture or "levels", over, state, endurance, plot)
    if animate is not None:
        made.animate(animate, over, state, frames=frames)


def summary(cell: Cell, state: State, soft: int | None = None) -> dict[str, Any]:
    """All numbers of a cell in one state."""
    pages = []
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
        pages.append(row)
    return {
        "cell": cell.name,
        "summary": cell.summary,
        "set": cell.changed,
        "cell_bits": cell.cell_bits,
        "gray": cell.gray,
        "page_order": cell.page_order,
        "mechanisms": cell.mechanisms,
        "state": state._asdict(),
        "levels": [level._asdict() for level in cell.levels(state)],
        "pages": pages,
        "times": cell.times(state.pe_cycles)._asdict(),
    }


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
    pages = table("page", "RBER", "references (V)", "best shifts (mV)", "RBER there", "read")
    times = cell.times(state.pe_cycles)
    for page, row, us in zip(cell.pages, report["pages"], times.read_us, strict=True):
        pages.add_row(
            page.name,
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

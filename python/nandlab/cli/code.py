"""``nandlab code``: makes LDPC codes, and imports and exports those of other tools."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated, Any

import typer

from nandlab.display.terminal import console, guarded
from nandlab.ecc import ldpc
from nandlab.given.outputs import check_new, check_outputs
from nandlab.given.refusal import refusal

app = typer.Typer(help="LDPC codes: made, shown, exported, imported.", no_args_is_help=True)

_HELD = "What a codeword holds"

Code = Annotated[str, typer.Argument(help="A preset or a code file.")]
Out = Annotated[Path, typer.Option("--out", metavar="FILE|-", help="A new file.")]
Summary = Annotated[str | None, typer.Option(help="What it is, in one line.")]
Payload = Annotated[
    int | None,
    typer.Option(
        "--payload-bytes", help="Whole sectors of 512 if left out.", rich_help_panel=_HELD
    ),
]
Metadata = Annotated[
    int | None,
    typer.Option("--metadata-bytes", help="The rest if left out.", rich_help_panel=_HELD),
]
Crc = Annotated[
    int | None,
    typer.Option("--crc-bytes", help="4 or 0; 4 if they fit, if left out.", rich_help_panel=_HELD),
]


@app.callback()
def group() -> None:
    """LDPC codes: made, shown, exported, imported."""


@app.command()
@guarded
def make(
    rows: Annotated[int, typer.Option(help="Block rows: circulants of parity.")],
    columns: Annotated[int, typer.Option(help="Block columns: circulants of a codeword.")],
    z: Annotated[int, typer.Option(help="Bits of a circulant; 256, 128, 64 are fast.")] = 256,
    weight: Annotated[
        int, typer.Option(help="Checks of a data bit: 4 for soft reads, 5 for hard ones.")
    ] = 4,
    seed: Annotated[int, typer.Option(help="Decides the shifts.")] = 1,
    draws: Annotated[int, typer.Option(help="Tries for each column.")] = 100,
    parity_rows: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Block rows of the first parity column."),
    ] = None,
    summary: Summary = None,
    payload_bytes: Payload = None,
    metadata_bytes: Metadata = None,
    crc_bytes: Crc = None,
    out: Out = Path("-"),
) -> None:
    """Draws a code from a recipe and writes its file."""
    _check(out)
    text = ldpc.make(
        z,
        rows,
        columns,
        column_weight=weight,
        seed=seed,
        draws=draws,
        parity_rows=_whole(parity_rows),
        summary=summary,
        payload_bytes=payload_bytes,
        metadata_bytes=metadata_bytes,
        crc_bytes=crc_bytes,
    )
    _write(text, out)


@app.command("import")
@guarded
def import_(
    file: Annotated[str, typer.Argument(help="The parity checks.")],
    form: Annotated[
        str | None,
        typer.Option(metavar="base|alist", help="Told from the name if left out."),
    ] = None,
    z: Annotated[
        int | None,
        typer.Option(help="Bits of a circulant, where the file does not say it; 1: bit by bit."),
    ] = None,
    summary: Summary = None,
    payload_bytes: Payload = None,
    metadata_bytes: Metadata = None,
    crc_bytes: Crc = None,
    out: Out = Path("-"),
) -> None:
    """Takes a base matrix or an alist file and writes a code file."""
    _check(out, file)
    text = ldpc.import_file(
        file,
        form=form,
        z=z,
        summary=summary,
        payload_bytes=payload_bytes,
        metadata_bytes=metadata_bytes,
        crc_bytes=crc_bytes,
    )
    _write(text, out)


@app.command()
@guarded
def export(
    code: Code,
    form: Annotated[str, typer.Option(metavar="base|alist", help="Of the text.")] = "base",
    out: Out = Path("-"),
) -> None:
    """Writes the parity checks of a code as a base matrix or an alist file."""
    _check(out, code)
    _write(ldpc.export(code, form), out)


@app.command()
@guarded
def show(
    code: Code,
    absorbing: Annotated[
        int, typer.Option(metavar="BITS", help="Counts absorbing sets of up to so many bits.")
    ] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="Draws the recipe again: does it make these shifts?")
    ] = False,
    is_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What there is to know of a code: sizes, rate, weights, short cycles."""
    found = ldpc.facts(code, absorbing_bits=absorbing, check=check)
    if is_json:
        print(json_text.dumps(found, indent=2))
    else:
        _print(code, found)


def _whole(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in (text or "").split(",") if word.strip())
    except ValueError:
        raise refusal(f"--parity-rows {text}", "no rows", "whole numbers, A,B,C") from None


def _check(out: Path, *inputs: str) -> None:
    if out != Path("-"):
        check_outputs({"--out": out}, inputs)
        check_new("--out", out)


def _write(text: str, out: Path) -> None:
    if out == Path("-"):
        print(text, end="")
    else:
        out.write_text(text, encoding="utf-8")


def _print(code: str, found: dict[str, Any]) -> None:
    """The table for people."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    held = [f"{found['payload_bytes']} B payload"]
    held += [f"{found[key]} B {what}" for key, what in _HELD_NAMES if found[key]]
    table.add_row("codeword", f"{found['length']} bits, {found['dimension']} of data")
    table.add_row("rate", f"{found['rate']:.4f}")
    table.add_row("holds", ", ".join(held))
    table.add_row("beyond the payload", f"{found['parity_bytes']} B")
    if found["certain_errors"] is not None:
        table.add_row("corrects for certain", f"{found['certain_errors']} errors")
    checks = found["checks"]
    if checks is not None:
        shape = f"{checks['block_rows']} x {checks['block_columns']} circulants of {checks['z']}"
        table.add_row("parity checks", shape)
        table.add_row("column weights", _counted(checks["column_weights"]))
        table.add_row("row weights", _counted(checks["row_weights"]))
        table.add_row("girth", str(checks["girth"] or "above 12"))
        for length, key in (("four", "cycles_of_4"), ("six", "cycles_of_6")):
            table.add_row(f"cycles of {length}", _classes(checks[key], checks["z"]))
        for sets in checks["absorbing_sets"]:
            kind = f"absorbing ({sets['bits']}, {sets['open_checks']})"
            table.add_row(kind, _classes(sets["classes"], checks["z"]))
    if "recipe_holds" in found:
        table.add_row("recipe", _RECIPE_WORDS[found["recipe_holds"]])
    out = console()
    out.print(f"{code}: {found['summary']}\n")
    out.print(table)


_RECIPE_WORDS = {
    True: "makes these shifts",
    False: "makes other shifts: they, or it, were changed by hand",
    None: "none in the file",
}
_HELD_NAMES = (("metadata_bytes", "metadata"), ("crc_bytes", "CRC-32C"))


def _classes(count: int, z: int) -> str:
    return f"{count} class{'' if count == 1 else 'es'} of {z}"


def _counted(weights: dict[str, int]) -> str:
    return ", ".join(
        f"{weight} ({count} time{'' if count == 1 else 's'})" for weight, count in weights.items()
    )

"""``nandlab code``: makes LDPC codes, and imports and exports those of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.cli.files import Json, check_json, tell
from nandlab.display.terminal import guarded
from nandlab.ecc import ldpc
from nandlab.given.outputs import check_new, check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(help="LDPC codes: construct, show, export, import.", no_args_is_help=True)

_HELD = "Codeword"

Code = Annotated[str, typer.Argument(help="Preset or code file.")]
Out = Annotated[Path, typer.Option("--out", metavar="FILE|-", help="New file.")]
Summary = Annotated[str | None, typer.Option(help="One-line description.")]
Payload = Annotated[
    int | None,
    typer.Option(
        "--payload-bytes",
        help="User data in bytes (default: whole sectors of 512).",
        rich_help_panel=_HELD,
    ),
]
Metadata = Annotated[
    int | None,
    typer.Option(
        "--metadata-bytes", help="Metadata in bytes (default: the rest).", rich_help_panel=_HELD
    ),
]
Crc = Annotated[
    int | None,
    typer.Option(
        "--crc-bytes",
        help="Bytes of the checksum: 4 or 0 (default: 4 if they fit).",
        rich_help_panel=_HELD,
    ),
]


@app.callback()
def group() -> None:
    """LDPC codes: construct, show, export, import."""


@app.command()
@guarded
def make(
    rows: Annotated[int, typer.Option(help="Block rows of the matrix: circulants of parity.")],
    columns: Annotated[
        int, typer.Option(help="Block columns of the matrix: circulants of a codeword.")
    ],
    z: Annotated[int, typer.Option(help="Bits of a circulant; 256, 128 and 64 are fast.")] = 256,
    weight: Annotated[
        int, typer.Option(help="Checks of each data bit: 4 suits soft reads, 5 hard reads.")
    ] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the shifts.")] = 1,
    draws: Annotated[int, typer.Option(help="Attempts for each column.")] = 100,
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
    """Constructs a random LDPC code and writes its file."""
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
    file: Annotated[str, typer.Argument(help="File with the parity-check matrix.")],
    form: Annotated[
        str | None,
        typer.Option(metavar="base|alist", help="Form of the file (default: from its name)."),
    ] = None,
    z: Annotated[
        int | None,
        typer.Option(
            help="Bits of a circulant, if the file does not give them; 1 reads bit by bit."
        ),
    ] = None,
    summary: Summary = None,
    payload_bytes: Payload = None,
    metadata_bytes: Metadata = None,
    crc_bytes: Crc = None,
    out: Out = Path("-"),
) -> None:
    """Converts a base matrix or an alist file into a code file."""
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
    form: Annotated[str, typer.Option(metavar="base|alist", help="Form of the text.")] = "base",
    out: Out = Path("-"),
) -> None:
    """Writes the parity-check matrix of a code as a base matrix or an alist file."""
    _check(out, code)
    _write(ldpc.export(code, form), out)


@app.command()
@guarded
def show(
    code: Code,
    absorbing: Annotated[
        int, typer.Option(metavar="BITS", help="Counts absorbing sets of up to this many bits.")
    ] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="Checks that the recipe of the file gives its shifts.")
    ] = False,
    json: Json = None,
) -> None:
    """Shows sizes, rate, weights and short cycles of a code."""
    check_json(json, [code])
    found = ldpc.facts(code, absorbing_bits=absorbing, check=check)
    tell(json, found, lambda out: _print(code, found, out))


def _whole(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in (text or "").split(",") if word.strip())
    except ValueError:
        raise refusal(f"--parity-rows {text}", "no rows", "whole numbers, as A,B,C") from None


def _check(out: Path, *inputs: str) -> None:
    if out != Path("-"):
        check_outputs({"--out": out}, inputs)
        check_new("--out", out)


def _write(text: str, out: Path) -> None:
    if out == Path("-"):
        print(text, end="")
    else:
        write_text(out, text)


def _print(code: str, found: dict[str, Any], out: Console) -> None:
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
    out.print(f"{code}: {found['summary']}\n")
    out.print(table)


_RECIPE_WORDS = {
    True: "makes these shifts",
    False: "gives other shifts: recipe or shifts were changed by hand",
    None: "none in the file",
}
_HELD_NAMES = (("metadata_bytes", "metadata"), ("crc_bytes", "CRC-32C"))


def _classes(count: int, z: int) -> str:
    return f"{count} class{'' if count == 1 else 'es'} of {z}"


def _counted(weights: dict[str, int]) -> str:
    return ", ".join(
        f"{weight} ({count} time{'' if count == 1 else 's'})" for weight, count in weights.items()
    )

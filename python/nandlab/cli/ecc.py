"""``nandlab ecc``: measures error-rate curves, speed and profiles of codes."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab._core import vectors
from nandlab.cli.files import (
    OUTPUTS,
    Files,
    Json,
    Plot,
    Style,
    check_json,
    check_pictures,
    json_file,
    output,
    tell,
)
from nandlab.display.terminal import INTERRUPTED, ProgressBar, console, guarded, say
from nandlab.ecc.soft_read import reads
from nandlab.ecc.soft_read import said as said_reads
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import Unwritten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from nandlab.ecc.curve import Curve
    from nandlab.ecc.speed import DecodeSpeed

app = typer.Typer(help="Codes and decoders: error rates, speed, profiles.", no_args_is_help=True)


MOST_RATES = 10_000
"""Of one range."""

Code = Annotated[
    str,
    typer.Option(metavar="NAME[,NAME]", help="Code presets or files (see `nandlab presets code`)."),
]
Rber = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="Raw bit error rates: 0.002,0.003 or FIRST:LAST:STEP (both ends included).",
    ),
]
Levels = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="Extra references of soft reads: 0 (hard read), 2 (one soft read), 4 (two), 6.",
    ),
]
Channel = Annotated[str, typer.Option(help="bsc, awgn or mlc.")]
Decoder = Annotated[str | None, typer.Option(help="Decoder (default: from the code's file).")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="decoder.…, code.… or channel.…; repeatable.",
        show_default=False,
    ),
]
Errors = Annotated[int, typer.Option(help="Ends a point after this many failed codewords.")]
MaxFrames = Annotated[
    str, typer.Option(metavar="N", help="Ends a point after this many codewords, such as 1e6.")
]
Threads = Annotated[
    int | None,
    typer.Option(help="Threads (default: one for each processor); results do not depend on them."),
]
Seed = Annotated[int, typer.Option(help="Seed of data and errors.")]


@app.command()
@guarded
def curve(
    code: Code,
    rber: Rber,
    channel: Channel = "awgn",
    levels: Levels = "0",
    errors: Errors = 100,
    max_frames: MaxFrames = "1e6",
    threads: Threads = None,
    seed: Seed = 1,
    decoder: Decoder = None,
    set: Set = None,
    out: Annotated[Path | None, output("Rows: .parquet; an existing file is resumed.")] = None,
    plot: Plot = None,
    style: Style = None,
    quantity: Annotated[
        str, typer.Option(help="Quantity of the picture: fer or ber.", rich_help_panel=OUTPUTS)
    ] = "fer",
    json: Json = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No table and no progress bar.", rich_help_panel=OUTPUTS)
    ] = False,
) -> None:
    """Measures the codeword failure rate against RBER and soft reads."""
    from nandlab.ecc.curve import CurveUnfinished, ecc_curve

    check_outputs({"--out": out, "--plot": plot, "--json": json_file(json)}, code.split(","))
    if quantity not in ("fer", "ber"):
        raise refusal("--quantity", f"unknown quantity `{quantity}`", "fer, ber")
    check_pictures(style, plot)
    exit_code, failures = 0, list[OSError]()
    with ProgressBar(is_shown=not quiet) as bar:
        try:
            result = ecc_curve(
                code.split(","),
                rber=rates(rber),
                channel=channel,
                levels=_levels(levels),
                errors=errors,
                max_frames=_count("--max-frames", max_frames),
                threads=threads,
                seed=seed,
                decoder=decoder,
                set=set or [],
                out=out,
                progress=bar,
            )
        except CurveUnfinished as stop:
            result, exit_code, failures = stop.result, INTERRUPTED, stop.failures
        except Unwritten as stop:
            result, failures = stop.result, stop.failures
    with Files(failures) as files:
        if result.rows():
            files.draw(plot, lambda path: result.plot(path, quantity=quantity), style)
        tell(json, result.rows(), lambda to: None if quiet else _tell(result, out, to))
    raise typer.Exit(exit_code)


@app.command("list")
@guarded
def members(json: Json = None) -> None:
    """Lists codes, decoders and channels, and the parameters of --set with defaults and ranges."""
    import json as json_text

    from rich.table import Table
    from rich.text import Text

    from nandlab.catalogue import presets, roster

    check_json(json)
    table = Table.grid(padding=(0, 2))
    listed: list[dict[str, Any]] = []
    for preset in presets("code"):
        listed.append(preset._asdict())
        table.add_row("code", preset.name, preset.summary)
    for family in ("decoder", "channel"):
        for member in roster(family):
            listed.append({"kind": family, **member._asdict()})
            table.add_row(family, member.name, member.summary)
            for key, about in member.schema.get("properties", {}).items():
                said = f"{family}.{key} = {json_text.dumps(about.get('default'))}"
                table.add_row("", "", Text(said + _range(about), style="bright_black"))
    tell(json, listed, lambda out: out.print(table))


@app.command()
@guarded
def speed(
    code: Code,
    rber: Rber,
    levels: Levels = "0",
    channel: Channel = "awgn",
    decoder: Decoder = None,
    set: Set = None,
    frames: Annotated[int, typer.Option(help="Codewords of each point.")] = 200,
    seed: Seed = 1,
    json: Json = None,
) -> None:
    """Measures encoding and decoding speed on one thread: CPU time, fastest of several rounds."""
    from nandlab.ecc.speed import SpeedUnfinished, ecc_speed

    check_json(json, code.split(","))
    exit_code = 0
    try:
        found = ecc_speed(
            code.split(","),
            rber=rates(rber),
            levels=_levels(levels),
            channel=channel,
            decoder=decoder,
            set=set or [],
            frames=frames,
            seed=seed,
        )
    except SpeedUnfinished as stop:
        found, exit_code = stop.result, INTERRUPTED
    if found:
        tell(json, [row._asdict() for row in found], lambda to: _tell_speeds(found, to))
    if exit_code:
        say("interrupted")
    raise typer.Exit(exit_code)


def _tell_speeds(found: list[DecodeSpeed], to: Console) -> None:
    grid = _grid("code", "decoder", left=2)
    for name in ("soft reads", "rber", "encode us", "decode us", "Mbit/s", "iterations", "FER"):
        grid.add_column(name, justify="right", no_wrap=True)
    for row in found:
        grid.add_row(
            row.code,
            row.decoder,
            str(row.levels // 2),
            f"{row.rber:g}",
            f"{row.encode_us:.2f}",
            f"{row.decode_us:.2f}",
            f"{row.mbit_per_s:,.0f}",
            f"{row.mean_iterations:.2f}",
            _rate(row.fer, row.fer_low, row.fer_high),
        )
    to.print(grid)
    to.print(
        f"one thread, {vectors()} vectors, fastest round over {found[0].frames} codewords, "
        "CPU time; Mbit/s of whole codewords"
    )


@app.command()
@guarded
def profile(
    code: Annotated[str, typer.Option(metavar="NAME", help="Code preset or file.")],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Profile, usually NAME.profile.toml; an unfinished one is resumed."
        ),
    ],
    levels: Levels = "0,2,4",
    errors: Errors = 100,
    max_frames: MaxFrames = "1e6",
    threads: Threads = None,
    seed: Seed = 1,
    decoder: Decoder = None,
    set: Set = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No output.")] = False,
) -> None:
    """Measures failures and iterations of a code; drives use them with ecc.model=profile."""
    from nandlab.ecc.profile import ProfileUnfinished, ecc_profile

    last: tuple[int, float, int, int] | None = None

    def tell_last() -> None:
        # Rates that only show where a level begins are looked at before there are any counts.
        if last is not None and last[2] > 0 and not quiet:
            say(f"{said_reads(last[0])}, rber {last[1]:g}: {last[3]:,} of {last[2]:,} failed")

    def tell(*now: float) -> None:
        nonlocal last
        level, rber, frames, failed = int(now[0]), now[1], int(now[2]), int(now[3])
        if last is not None and last[:2] != (level, rber):
            tell_last()
        last = level, rber, frames, failed

    try:
        ecc_profile(
            code,
            out=out,
            levels=_levels(levels),
            errors=errors,
            max_frames=_count("--max-frames", max_frames),
            threads=threads,
            seed=seed,
            decoder=decoder,
            set=set or [],
            progress=tell,
        )
    except ProfileUnfinished as stop:
        left = "nothing is kept"
        if stop.kept is not None:
            left = f"{stop.rates} rates in {stop.kept}; the same command resumes"
        if not quiet:
            console().print(f"interrupted: {left}")
        raise typer.Exit(INTERRUPTED) from None
    tell_last()
    if not quiet:
        console().print(f"written: {out}")


def rates(text: str) -> list[float]:
    """Rates of a list of numbers and ranges; each is the number nearest to its decimal text.

    Raises:
        NandlabError: it is none.
    """
    found: list[Decimal] = []
    try:
        for part in text.split(","):
            ends = [Decimal(number.strip()) for number in part.split(":")]
            if len(ends) == 1:
                found.append(ends[0])
                continue
            first, last, step = ends
            if not (step > 0 and first <= last and (last - first) / step < MOST_RATES):
                raise ValueError
            found += [first + i * step for i in range(int((last - first) / step) + 1)]
    except (InvalidOperation, ValueError):
        raise refusal(
            "--rber",
            f"`{text}`: not a list of rates",
            "numbers such as 0.002,0.003 or ranges such as 0.002:0.012:0.001",
        ) from None
    return [float(rate) for rate in found]


def _range(about: dict[str, Any]) -> str:
    """The range of a parameter in its schema, if it has two ends."""
    ends = about.get("minimum"), about.get("maximum")
    return "" if None in ends else f", {ends[0]:g} to {ends[1]:g}"


def _levels(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise refusal("--levels", f"`{text}`", "a list of 0, 2, 4 and 6") from None


def _count(name: str, text: str) -> int:
    """A whole number, also as 1e6."""
    try:
        value = Decimal(text)
        if value == value.to_integral_value() and 1 <= value <= 2**53:
            return int(value)
    except InvalidOperation:
        pass
    raise refusal(name, f"`{text}`", "a whole number, 1 or more")


def _grid(*names: str, left: int) -> Table:
    """A table with its first columns to the left."""
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bright_black")
    for index, name in enumerate(names):
        grid.add_column(name, justify="left" if index < left else "right", no_wrap=True)
    return grid


def _short(rate: float) -> str:
    """Two digits: 1.2e-3."""
    return f"{rate:.1e}".replace("e-0", "e-").replace("e+00", "")


def _rate(rate: float, low: float, high: float) -> str:
    """A rate with its confidence interval, or the bound if no failure was seen."""
    if rate == 0:
        return f"< {_short(high)}"
    return f"{_short(rate)} ({_short(low)} to {_short(high)})"


def _tell(result: Curve, out: Path | None, to: Console) -> None:
    """Every point with its comparison and its limits."""
    from rich.text import Text

    rows = result.rows()
    if result.interrupted:
        goes_on = "; the same command resumes" if out is not None else ""
        left = result.points_left
        what = "point is" if left == 1 else "points are"
        to.print(f"{left:,} {what} short of the goal{goes_on}")
    for codec in result.codecs:
        limits = [
            f"{limit:.3g} ({reads(levels)})"
            for (name, levels), limit in result.limits.items()
            if name == codec.name
        ]
        about = (
            f": {codec.length:,} bits, rate {codec.rate:.4f}, {codec.decoder['name']}; "
            f"capacity ends at rber {', '.join(limits)}"
        )
        to.print(Text().append(codec.name, style="bold").append(about))
        to.print(_points([row for row in rows if row["code"] == codec.name]))
    if any(row["uber_extrapolated"] is not None for row in rows):
        to.print("* binomial tail: probability of more errors in a codeword than t")
    if any(row["uber_extrapolated"] is None for row in rows):
        to.print("UBER without *: measured")
    if out is not None and out.exists():
        from nandlab.board.rows import read

        held = read(out).num_rows
        of = "" if held == len(rows) else f" of the {held:,}"
        to.print(f"{len(rows):,}{of} point{'' if held == 1 else 's'} in {out}")


def _points(rows: list[dict[str, Any]]) -> Table:
    """The rows of one code."""
    grid = _grid("soft reads", "rber", "codewords", "failed", "FER, 95 %", "undetected", left=0)
    for name in ("BER", "iterations", "UBER"):
        grid.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        uber = _short(row["uber"]) if row["frame_errors"] else f"< {_short(row['uber_high'])}"
        if row["uber_extrapolated"] is not None:
            uber = f"{_short(row['uber_extrapolated'])}*"
        grid.add_row(
            str(row["levels"] // 2),
            f"{row['rber']:g}",
            f"{row['frames']:,}",
            f"{row['frame_errors']:,}",
            _rate(row["fer"], row["fer_low"], row["fer_high"]),
            f"{row['undetected']:,}",
            _short(row["ber"]) if row["bit_errors"] else "0",
            f"{row['mean_iterations']:.2f}",
            uber,
        )
    return grid

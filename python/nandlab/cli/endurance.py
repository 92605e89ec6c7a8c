"""``nandlab endurance``: cycles that a chip lasts, by retention, temperature, ECC and UBER."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from nandlab.display.terminal import say
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal

_OUT = "Outputs"


def endurance(
    chip: Annotated[str, typer.Argument(help="Preset or chip file.")],
    retention_hours: Annotated[
        list[float] | None,
        typer.Option(help="Age of the data; repeatable; a day to ten years where left out."),
    ] = None,
    temperature_c: Annotated[
        list[float] | None, typer.Option(help="Where they are kept; repeatable.")
    ] = None,
    reference_c: Annotated[
        float | None,
        typer.Option(
            help="Temperature that the error rates hold for; the law's own or 30 where left out."
        ),
    ] = None,
    t: Annotated[
        list[int] | None, typer.Option(help="Errors that are corrected; repeatable.")
    ] = None,
    codeword_bits: Annotated[int, typer.Option(help="With parity.")] = 34560,
    user_bits: Annotated[int, typer.Option(help="Without.")] = 32768,
    uber: Annotated[list[float] | None, typer.Option(help="Still allowed; repeatable.")] = None,
    rber_spread: Annotated[
        list[float] | None,
        typer.Option(help="Of the rate over pages, by its mean; 0 is none; repeatable."),
    ] = None,
    reads: Annotated[int, typer.Option(help="Of the block since it was erased.")] = 0,
    page_type: Annotated[
        int | None, typer.Option(help="From 0, the lower page; the worst one where left out.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="JESD218: client or enterprise.", metavar="PROFILE")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Picture: .png, .svg or .pdf.", rich_help_panel=_OUT),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="All points.", rich_help_panel=_OUT)
    ] = None,
) -> None:
    """Works out after how many cycles data still last; lists multiply."""
    from nandlab.display.picture import check_kind
    from nandlab.endurance.chip import PROFILES, RETENTION_HOURS
    from nandlab.endurance.chip import endurance as worked_out

    if profile is not None:
        if profile not in PROFILES:
            raise refusal("endurance", f"unknown profile `{profile}`", PROFILES, given=profile)
        if retention_hours or temperature_c or uber:
            raise refusal(
                "endurance",
                "--profile says retention, temperature and UBER",
                "the profile, or these options",
            )
        given = PROFILES[profile]
        retention_hours, temperature_c = [given.retention_hours], [given.temperature_c]
        uber = [given.uber]
    to_stdout = json == Path("-")
    check_outputs({"--plot": plot, "--json": None if to_stdout else json}, [chip])
    if plot is not None:
        check_kind(plot)
    result = worked_out(
        chip,
        retention_hours=retention_hours or RETENTION_HOURS,
        temperature_c=temperature_c or 30.0,
        reference_c=reference_c,
        t=t or 100,
        codeword_bits=codeword_bits,
        user_bits=user_bits,
        uber=uber or 1e-15,
        rber_spread=rber_spread or 0.0,
        reads=reads,
        page_type=page_type,
    )
    text = json_text.dumps([point._asdict() for point in result.points], indent=2)
    if to_stdout:
        for note in result.notes():
            say(f"note: {note}")
    print(text if to_stdout else result)
    if json is not None and not to_stdout:
        json.write_text(text + "\n", encoding="utf-8")
    if plot is not None:
        result.plot(plot)

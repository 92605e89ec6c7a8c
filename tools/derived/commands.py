"""Commands of the reference: usage, options and their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from derived.markdown import code, table


def commands() -> Iterator[str]:
    """The command line, from the objects that parse it: the same with every terminal."""
    import typer.main

    from nandlab.cli.commands import app

    yield from ["## Command line", ""]
    group: Any = typer.main.get_command(app)
    yield from command("nandlab", group)


def command(name: str, what: Any) -> Iterator[str]:
    """One command with its options, or a group with its commands."""
    below: dict[str, Any] = getattr(what, "commands", {})
    shown = [parameter for parameter in what.params if not getattr(parameter, "hidden", False)]
    arguments = [p for p in shown if not p.opts[0].startswith("-")]
    usage = " ".join([name, *(argument(p) for p in arguments)])
    if not below:
        yield from [f"### `{usage}`", "", what.help.strip(), ""]
    rows = [[code(argument(p)), "", p.help or ""] for p in arguments if p.help]
    rows += [[code(option(p)), default(p), p.help or ""] for p in shown if p not in arguments]
    if rows and not below:
        yield from table(["argument or option", "default", "meaning"], rows)
    for other, inner in below.items():
        yield from command(f"{name} {other}", inner)


def argument(parameter: Any) -> str:
    """An argument as a usage line has it."""
    name = str(parameter.metavar or parameter.name.upper())
    return name if parameter.required else f"[{name}]"


def option(parameter: Any) -> str:
    """An option with what it takes."""
    name = ", ".join(parameter.opts)
    return name if parameter.is_flag else f"{name} {parameter.metavar or 'VALUE'}"


def default(parameter: Any) -> str:
    """The default of an option, or what holds where it is left out."""
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    value = parameter.default
    return str(value) if isinstance(value, (int, float, str)) and value else ""

"""Options of a command: made from what `nandlab.options` declares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_origin

import typer

from nandlab.given.completion import member_of
from nandlab.options.option import Declared, options_of

Command = Callable[..., None]


def takes(*classes: type, but: Sequence[str] = ()) -> Callable[[Command], Command]:
    """A command whose ``**given`` is what is given of the options of classes.

    Args:
        classes: that declare them.
        but: names of options that the command does not have.
    """
    declared = [one for of in classes for one in options_of(of) if one.option.line is not None]
    added = {one.name: _parameter(one) for one in declared if one.name not in but}

    def with_options(command: Command) -> Command:
        own = signature(command, eval_str=True)
        named = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        # Panels come behind the options without one.
        every = sorted([*named, *added.values()], key=lambda one: bool(_panel(one)))

        @wraps(command)
        def taking(**values: Any) -> None:
            command(
                **{
                    name: value
                    for name, value in values.items()
                    if name not in added or value not in (None, [])
                }
            )

        taking.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[one.replace(kind=Parameter.KEYWORD_ONLY) for one in every]
        )
        return taking

    return with_options


def _parameter(one: Declared) -> Parameter:
    option, is_flag = one.option, one.line is bool
    text, completes = one.text.partition("\n\n")[0].replace("``", ""), option.completes
    if option.family:
        from nandlab.catalogue import roster

        names = ", ".join(member.name for member in roster(option.family))
        text, completes = f"{text} One of {names}.", member_of(option.family)
    if get_origin(one.line) is list:
        text = f"{text.rstrip('.')}; repeatable."
    name = one.name.replace("_", "-")
    # A key that is on in a file can be switched off.
    both = f"/--no-{name}" if is_flag and option.is_key else ""
    info = typer.Option(
        f"--{name}{both}",
        metavar=one.form,
        help=" ".join(text.split()),
        show_default=option.unset or True,
        rich_help_panel=option.panel,
        autocompletion=completes,
    )
    kind = one.line if one.line_default is not None else one.line | None
    return Parameter(
        one.name, Parameter.KEYWORD_ONLY, default=one.line_default, annotation=Annotated[kind, info]
    )


def _panel(parameter: Parameter) -> str | None:
    """The panel of the help in which a parameter of a command stands."""
    found = getattr(parameter.annotation, "__metadata__", ())
    return next((one.rich_help_panel for one in found), None)

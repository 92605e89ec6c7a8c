"""Names of arguments: one that a function does not have is refused, with the nearest one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

from nandlab.given.refusal import refusal

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")

_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def names_checked(door: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """A function that refuses arguments of other names in words, where Python raises TypeError."""
    of_door = signature(door).parameters.values()
    known = [one.name for one in of_door if one.kind in _BY_NAME and one.name != "self"]

    @wraps(door)
    def checked(*args: _Given.args, **given: _Given.kwargs) -> _Found:
        for name in given:
            if name not in known:
                raise refusal(door.__name__, f"unknown argument `{name}`", known, given=name)
        return door(*args, **given)

    return checked

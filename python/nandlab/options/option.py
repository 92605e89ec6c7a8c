"""An option: what is declared of it beside its name, type and text; and the options of a class."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from nandlab.given.completion import Complete

OUTPUTS = "Outputs"
"""Panel of the help with the files that a command writes."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """Metadata of a field: ``seed: Annotated[int | None, Option(...)]``.

    The docstring of the field is the text of the option, values in double backticks: on the
    command line its first paragraph, in docstrings and docs all of it.
    """

    default: object = None
    """Of the argument in Python."""
    unset: str = ""
    """Text of what holds without the option, if its default does not say it."""
    is_key: bool = False
    """Whether it is a key of ``[run]`` tables, which a study may vary as ``run.KEY``."""
    line: Any = ...
    """Type on the command line, where not that of Python; None: it is an option of Python only."""
    form: str = ""
    """Values as the help of a command shows them: ``FILE``, ``2s|1.5x``."""
    panel: str | None = None
    """Of the help of a command."""
    family: str = ""
    """Family whose members it names."""
    completes: Complete | None = None
    """Completes its values in a shell."""


class Declared(NamedTuple):
    """An option of a class."""

    of: type
    name: str
    type: Any
    """In Python."""
    option: Option

    @property
    def text(self) -> str:
        """Its meaning, in paragraphs."""
        return field_texts(self.of)[self.name]

    @property
    def line(self) -> Any:
        """Its type on the command line: the first one of Python that a text turns into."""
        if self.option.line is not ...:
            return self.option.line
        members = [str if get_origin(one) is Literal else one for one in _members(self.type)]
        return next(one for one in members if one in (bool, int, float, str, list[str]))

    @property
    def form(self) -> str | None:
        """Its values as the help of a command shows them."""
        names = [get_args(one) for one in _members(self.type) if get_origin(one) is Literal]
        return self.option.form or ("|".join(names[0]) if names and self.line is str else None)

    @property
    def line_default(self) -> Any:
        """On the command line, where None is what was not given."""
        default = self.option.default
        is_same = isinstance(default, int | str) and isinstance(default, self.line)
        return default if is_same else None


@cache
def options_of(of: type) -> tuple[Declared, ...]:
    """The options that a class declares, those of its bases first."""
    hints = get_type_hints(of, include_extras=True).items()
    return tuple(Declared(of, name, one.__origin__, *one.__metadata__) for name, one in hints)


_Options = TypeVar("_Options", bound=Mapping[str, object])


def among(of: type[_Options], given: Mapping[str, Any]) -> _Options:
    """What is given of the options of a class."""
    names = of.__annotations__
    return {name: given[name] for name in names if name in given}  # type: ignore[return-value]


def filled(of: type[_Options], given: Mapping[str, Any]) -> _Options:
    """All options of a class: what is given, and the defaults of the others."""
    every = {one.name: given.get(one.name, one.option.default) for one in options_of(of)}
    return every  # type: ignore[return-value]


@cache
def field_texts(of: type) -> dict[str, str]:
    """Docstrings of the fields of a class and its bases, by name: they stand in its source only."""
    module = sys.modules[of.__module__]
    node = _classes(module)[of.__name__]
    found: dict[str, str] = {}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id not in ("TypedDict", "NamedTuple"):
            found |= field_texts(vars(module)[base.id])
    for field, said in pairwise(node.body):
        match field, said:
            case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                found[name] = cleandoc(text)
    return found


@cache
def _classes(module: types.ModuleType) -> dict[str, ast.ClassDef]:
    """The classes of a module as they are written."""
    tree = ast.parse(getsource(module)).body
    return {one.name: one for one in tree if isinstance(one, ast.ClassDef)}


def _members(of: Any) -> tuple[Any, ...]:
    """The types of a union; a type by itself."""
    return get_args(of) if get_origin(of) in (Union, types.UnionType) else (of,)

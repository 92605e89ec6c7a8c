"""Signatures and docstrings of functions, written into their sources from declared options."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from textwrap import wrap
from typing import Any, Literal, Union, get_args, get_origin

from derived import ROOT
from nandlab.options.design import DesignOptions
from nandlab.options.life import LifeOptions
from nandlab.options.option import Declared, options_of
from nandlab.options.run import DriveRunOptions, RunOptions
from nandlab.options.serve import DriveServeOptions, ServeOptions

DOORS: dict[str, dict[str, type]] = {
    "drive/simulate.py": {"run": RunOptions},
    "drive/device.py": {"Drive.run": DriveRunOptions, "Drive.serve": DriveServeOptions},
    "design/designing.py": {"design": DesignOptions},
    "life/whole.py": {"life": LifeOptions},
    "served/serve.py": {"serve": ServeOptions},
}
"""The functions that take options, by their files, with the classes that declare them."""

WIDTH = 100


def sources() -> dict[str, tuple[str, Callable[[], str]]]:
    """The files, by their names, and what makes each of them."""
    return {
        f"signatures of {path}": (f"python/nandlab/{path}", partial(signed, path)) for path in DOORS
    }


def signed(path: str) -> str:
    """The source of a file with the signatures that the options of its functions declare."""
    text = (ROOT / "python/nandlab" / path).read_text(encoding="utf-8")
    for name, of in DOORS[path].items():
        declared = {one.name: one for one in options_of(of)}
        shared = {} if of is RunOptions else {one.name: one for one in options_of(RunOptions)}
        *outer, node = found(ast.parse(text).body, name.split("."))
        arguments = signature(text, node, declared)
        # What makes an object is described where its class is.
        told = outer[-1] if node.name == "__init__" else node
        lines = text.splitlines()
        edits = {node.lineno: (node.body[0].lineno - 1, arguments)}
        docstring = told.body[0]
        begin, end = docstring.lineno, docstring.end_lineno
        names = re.findall(r"^\s*(\w+)\b", "\n".join(arguments[1:-1]), re.M)
        edits[begin] = (end, described(lines[begin - 1 : end], names, declared, shared))
        for first, (last, new) in sorted(edits.items(), reverse=True):
            lines[first - 1 : last] = new
        text = "\n".join(lines) + "\n"
    return text


def found(body: list[ast.stmt], names: list[str]) -> list[Any]:
    """A function with the classes around it."""
    node: Any = next(one for one in body if getattr(one, "name", None) == names[0])
    return [node, *(found(node.body, names[1:]) if names[1:] else [])]


def signature(text: str, node: ast.FunctionDef, declared: Mapping[str, Declared]) -> list[str]:
    """The lines up to the docstring: what is declared in one block, arguments of its own around."""
    given = node.args
    own = [argument(text, one, None) for one in given.args[: len(given.args) - len(given.defaults)]]
    defaults = zip(given.args[len(own) :], given.defaults, strict=True)
    own += [argument(text, one, default) for one, default in defaults]
    first = [
        written(declared[one.arg]) if one.arg in declared else line
        for one, line in zip(given.args, own, strict=True)
    ]
    positional = {one.arg for one in given.args}
    named = [
        (one.arg, argument(text, one, default))
        for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    at = [index for index, (name, _) in enumerate(named) if name in declared]
    before = [line for _, line in named[: at[0]]]
    behind = [line for _, line in named[at[-1] + 1 :]]
    block = [written(one) for name, one in declared.items() if name not in positional]
    indent = " " * node.col_offset
    lines = [*first, "*", *before, *block, *behind]
    returns = ast.unparse(node.returns) if node.returns else "None"
    return [
        f"{indent}def {node.name}(",
        *(f"{indent}    {line}," for line in lines),
        f"{indent}) -> {returns}:",
    ]


def argument(text: str, one: ast.arg, default: ast.expr | None) -> str:
    """An argument as it stands in its source."""
    said = ast.get_source_segment(text, one) or one.arg
    return said if default is None else f"{said} = {ast.get_source_segment(text, default)}"


def written(one: Declared) -> str:
    """A declared argument."""
    return f"{one.name}: {type_text(one.type)} = {value_text(one.option.default)}"


def value_text(value: object) -> str:
    """A value as a source has it."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def type_text(of: Any) -> str:
    """A type as an annotation has it."""
    origin, parts = get_origin(of), get_args(of)
    if of in (None, type(None)):
        return "None"
    if origin in (Union, types.UnionType):
        return " | ".join(map(type_text, parts))
    if origin is Literal:
        return f"Literal[{', '.join(map(value_text, parts))}]"
    if isinstance(of, list):
        return f"[{', '.join(map(type_text, of))}]"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(type_text, parts))}]"
    return str(getattr(of, "__name__", of))


def described(
    lines: list[str],
    names: list[str],
    declared: Mapping[str, Declared],
    shared: Mapping[str, Declared],
) -> list[str]:
    """The lines of a docstring; its arguments, if it has them, are `names` in their order."""
    begin = next((at + 1 for at, line in enumerate(lines) if line.strip() == "Args:"), None)
    if begin is None:
        return lines
    end = next(at for at in range(begin, len(lines)) if lines[at].strip() in ("", '"""'))
    indent = " " * (len(lines[begin - 1]) - len(lines[begin - 1].lstrip()) + 4)
    own: dict[str, list[str]] = {}
    for line in lines[begin:end]:
        if (entry := re.match(rf"{indent}(\w+): ", line)) is not None:
            own[entry[1]] = []
        own[next(reversed(own))].append(line)
    new: list[str] = []
    for name in names:
        if name in declared:
            is_shared = told(shared.get(name)) == told(declared[name])
            new += entry_of(declared[name], indent, is_shared=is_shared)
        else:
            new += own.get(name, [])
    return [*lines[:begin], *new, *lines[end:]]


def told(one: Declared | None) -> str | None:
    """The whole text of an option, with what holds where it is left out."""
    if one is None:
        return None
    left_out = f" Left out: {one.option.unset}." if one.option.unset else ""
    return meaning(one) + left_out


def meaning(one: Declared) -> str:
    """The whole text of an option, in one line."""
    return " ".join(one.text.split())


def entry_of(one: Declared, indent: str, *, is_shared: bool) -> Iterator[str]:
    """An argument in a docstring; one of `nandlab.run` is described there only."""
    text = "As for `nandlab.run`." if is_shared else told(one)
    yield from wrap(
        f"{one.name}: {text}",
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )

"""Expressions over paths of a report or over axes: ``host.iops / 1000``, ``gc.d <= 4 or x == 'a'``.

The syntax is Python's, of numbers, text, comparisons and a few functions; nothing else is
evaluated.
A value that a report does not have makes the expression it stands in missing (None).
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from nandlab.given.refusal import refusal

Path = tuple[str | int, ...]
"""Keys from the outermost table to a value."""

_LONGEST = 2000
"""Characters of an expression."""

_CALCULATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    # Of floats: powers of whole numbers may have no end.
    ast.Pow: lambda a, b: float(a) ** float(b),
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "exp": math.exp,
    "len": len,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "max": max,
    "mean": lambda values: math.fsum(values) / len(values),
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
    "sum": sum,
}
"""Functions of an expression."""

_CONSTANTS = {"true": True, "false": False}
"""As TOML writes them."""


class Expression:
    """An expression, checked."""

    def __init__(self, place: str, text: str) -> None:
        """Reads it.

        Raises:
            NandlabError: it is none; `place` names it.
        """
        self.text = " ".join(text.split())
        self._place = place
        self.paths: list[Path] = []
        """What it is made from."""
        if len(text) > _LONGEST:
            raise refusal(place, "a long expression", f"at most {_LONGEST} characters")
        try:
            tree = ast.parse(self.text, mode="eval").body
            self._check(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if type(error).__name__ == "NandlabError":
                raise
            expected = "an expression, as host.read.latency_us.p99 / 1000"
            raise refusal(place, f"`{text}` is no expression", expected) from None
        self._tree = tree

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def value(self, find: Callable[[Path], Any]) -> Any:
        """Its value; None where one that it is made from is missing, or where it has none (1 / 0).

        Raises:
            NandlabError: values of kinds that do not go together, as text and a number.
        """
        try:
            return self._of(self._tree, find)
        except (ZeroDivisionError, OverflowError, ValueError):
            return None
        except TypeError as error:
            raise refusal(self._place, f"`{self.text}`: {error}") from None

    def _refuse(self, node: ast.AST) -> Exception:
        what = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        return refusal(
            self._place,
            f"`{what}` in `{self.text}`",
            f"paths, numbers, text, comparisons and the functions {', '.join(FUNCTIONS)}",
        )

    def _check(self, node: ast.expr) -> None:
        match node:
            case ast.Name() | ast.Attribute() | ast.Subscript():
                path = _path(node)
                if path is None:
                    raise self._refuse(node)
                if not (len(path) == 1 and path[0] in _CONSTANTS):
                    self.paths.append(path)
                return
            case ast.Constant(value=bool() | int() | float() | str()):
                return
            case ast.BoolOp(values=inner) | ast.List(elts=inner) | ast.Tuple(elts=inner):
                pass
            case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd(), operand=operand):
                inner = [operand]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _CALCULATIONS:
                inner = [left, right]
            case ast.Compare(left=left, ops=ops, comparators=others):
                if any(type(op) not in _COMPARISONS for op in ops):
                    raise self._refuse(node)
                inner = [left, *others]
            case ast.IfExp(test=test, body=body, orelse=orelse):
                inner = [test, body, orelse]
            case ast.Call(func=ast.Name(id=name), args=inner, keywords=[]) if name in FUNCTIONS:
                pass
            case _:
                raise self._refuse(node)
        for each in inner:
            self._check(each)

    def _of(self, node: ast.expr, find: Callable[[Path], Any]) -> Any:
        match node:
            case ast.Constant(value=constant):
                return constant
            case ast.Name() | ast.Attribute() | ast.Subscript():
                path = _path(node) or ()
                first = path[0] if len(path) == 1 else None
                return _CONSTANTS[first] if first in _CONSTANTS else find(path)
            case ast.BoolOp(op=op, values=values):
                is_and = isinstance(op, ast.And)
                last: Any = is_and
                for each in values:
                    last = self._of(each, find)
                    if bool(last) != is_and:
                        break
                return last
            case ast.UnaryOp(op=sign, operand=operand):
                inner = self._of(operand, find)
                if isinstance(sign, ast.Not):
                    return not inner
                return None if inner is None else _SIGNS[type(sign)](inner)
            case ast.BinOp(left=left, op=op, right=right):
                pair = (self._of(left, find), self._of(right, find))
                if any(isinstance(each, str) for each in pair):
                    raise TypeError("text is no number")
                return None if None in pair else _CALCULATIONS[type(op)](*pair)
            case ast.Compare(left=left, ops=ops, comparators=others):
                before = self._of(left, find)
                for relation, other in zip(ops, others, strict=True):
                    after = self._of(other, find)
                    if before is None or after is None:
                        return None
                    if not _COMPARISONS[type(relation)](before, after):
                        return False
                    before = after
                return True
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._of(body if self._of(test, find) else orelse, find)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._of(item, find) for item in items]
            case ast.Call(func=ast.Name(id=name), args=given):
                arguments = [self._of(each, find) for each in given]
                return None if None in arguments else FUNCTIONS[name](*arguments)
        raise self._refuse(node)


def _path(node: ast.expr) -> Path | None:
    """The path that names, dots and brackets make; None where they are of something else."""
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=inner, attr=name):
            under = _path(inner)
            return None if under is None else (*under, name)
        case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int() as key)):
            under = _path(inner)
            return None if under is None else (*under, key)
        case ast.Subscript(
            value=inner, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as key))
        ):
            under = _path(inner)
            return None if under is None else (*under, -key)
    return None


def said(path: Path) -> str:
    """A path as an expression has it."""
    text = ""
    for key in path:
        if isinstance(key, str) and key.isidentifier():
            text += f".{key}" if text else key
        else:
            text += f"[{key!r}]"
    return text


def found(report: Mapping[str, Any], path: Path) -> Any:
    """What a report has at a path; None where it has nothing there."""
    value: Any = report
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def check_path(place: str, report: Mapping[str, Any], path: Path) -> None:
    """Refuses a path that no report can have: a table of `report` lacks its next key.

    What is below a list or an empty value differs from run to run, and is not checked.

    Raises:
        NandlabError: there is no such path; names the nearest key.
    """
    value: Any = report
    for at, key in enumerate(path):
        if not isinstance(value, dict):
            if not isinstance(value, list) and value is not None:
                raise refusal(place, f"`{said(path)}`: {said(path[:at])} is a value, not a table")
            return
        if key not in value:
            where = said(path[:at]) or "the report"
            raise refusal(
                place, f"`{said(path)}`: {where} has no `{key}`", list(value), given=str(key)
            )
        if said(path[: at + 1]) == "nandlab.config":
            return
        value = value[key]

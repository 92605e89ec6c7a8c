"""Knobs: keys of a drive that a calibration turns, with their ranges."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.given.arguments import number
from nandlab.given.refusal import refusal
from nandlab.keys import keys
from nandlab.study.axis import Range, axis

FORM = "KEY=LOW:HIGH, as controller.command_us=0.5:5, or with a scale KEY=LOW:HIGH:log"

LOG_FROM = 8.0
"""A range whose ends differ by more is logarithmic, unless it says otherwise."""

MOST = 12
"""Keys of one calibration."""


@dataclass(frozen=True)
class Knob:
    """A key with its range; a share of 0 is its low end, one of 1 its high end."""

    name: str
    """As it was given: a path, or an item of a list as ``PATH[1]``."""
    path: str
    item: int | None
    span: Range

    def at(self, share: float) -> float:
        """The value at a share of the range."""
        return self.span.at(min(max(share, 0.0), 1.0))

    def share(self, value: float) -> float:
        """Where a value lies in the range."""
        span = self.span
        value = min(max(value, span.low), span.high)
        if span.is_log:
            return math.log(value / span.low) / math.log(span.high / span.low)
        return (value - span.low) / (span.high - span.low)

    @property
    def step(self) -> float:
        """The least share that changes a whole number; 0 of others."""
        if not self.span.is_whole:
            return 0.0
        return 1.0 / (self.span.high - self.span.low)

    def said(self, value: float) -> str:
        """A value as tables have it."""
        return f"{value:.0f}" if self.span.is_whole else f"{value:.5g}"


def knobs_of(given: Any) -> list[Knob]:
    """The knobs of ``--fit``: texts, several of which may stand in one, or a mapping of ranges.

    Raises:
        NandlabError: no range, an unknown key, or a key that holds no number.
    """
    if isinstance(given, Mapping):
        pairs = [(str(name), _range_of(str(name), ends)) for name, ends in given.items()]
    else:
        listed = [given] if isinstance(given, str) else list(given or [])
        texts = [part.strip() for text in listed for part in str(text).split(",")]
        pairs = [_pair(text) for text in texts if text]
    if not pairs:
        raise refusal("fit", "no key", FORM)
    if len(pairs) > MOST:
        raise refusal("fit", f"{len(pairs)} keys", f"at most {MOST}")
    knobs = [_knob(name, ends) for name, ends in pairs]
    for index, knob in enumerate(knobs):
        for other in knobs[:index]:
            if other.path == knob.path and (
                other.item == knob.item or None in (other.item, knob.item)
            ):
                raise refusal("fit", f"`{knob.name}` is given twice", "each key once")
    return knobs


_Ends = tuple[str | float, str | float, str]


def _pair(text: str) -> tuple[str, _Ends]:
    name, equals, ends = text.partition("=")
    parts = [part.strip() for part in ends.split(":")]
    if not equals or not name.strip() or len(parts) not in (2, 3):
        raise refusal("fit", f"`{text}`", FORM)
    return name.strip(), (parts[0], parts[1], parts[2] if len(parts) == 3 else "")


def _range_of(name: str, ends: Any) -> _Ends:
    if isinstance(ends, str):
        return _pair(f"{name}={ends}")[1]
    items = list(ends) if isinstance(ends, Iterable) else []
    if len(items) not in (2, 3):
        raise refusal(f"fit: {name}", f"{ends!r}", "(low, high), or (low, high, 'log')")
    return items[0], items[1], str(items[2]) if len(items) == 3 else ""


def _end(name: str, given: str | float) -> int | float:
    if isinstance(given, str):
        try:
            return int(given)
        except ValueError:
            pass
        try:
            return float(given)
        except ValueError:
            raise refusal(f"fit: {name}", f"`{given}`: not a number", FORM) from None
    value = number(f"fit: {name}", given)
    return int(value) if value == int(value) and isinstance(given, int) else value


def _knob(name: str, ends: _Ends) -> Knob:
    found = re.fullmatch(r"([\w.-]+)(?:\[(\d+)\])?", name)
    if found is None:
        raise refusal("fit", f"`{name}`", "a key, or an item of its list as KEY[0]")
    path, item = found[1], None if found[2] is None else int(found[2])
    _check_key(path, item)
    low, high, scale = _end(name, ends[0]), _end(name, ends[1]), ends[2]
    if not scale:
        scale = "log" if low > 0 and high / low >= LOG_FROM else "linear"
    table: dict[str, Any] = {"from": low, "to": high, "scale": scale}
    if item is not None:
        table["whole"] = False
    span = axis("fit", path, table).span
    if span is None:
        raise refusal(f"fit: {name}", "no range", FORM)
    return Knob(name, path, item, span)


def _check_key(path: str, item: int | None) -> None:
    kinds = {one.path: one.kind for one in keys()}
    if path.startswith("chips."):
        return
    if path not in kinds:
        expected = "a number of docs/reference.md"
        raise refusal("fit", f"unknown key `{path}`", expected, given=path, names=kinds)
    kind = kinds[path]
    if item is None and "number" not in kind:
        hint = "name an item, as KEY[0]" if "list" in kind else ""
        raise refusal(f"fit: {path}", f"it holds {kind}", "a key that holds a number", hint=hint)
    if item is not None and "list" not in kind:
        raise refusal(f"fit: {path}[{item}]", f"it holds {kind}", "a key that holds a list")


def own_value(knob: Knob, config: Mapping[str, Any]) -> float | None:
    """What a drive has for a knob; None where that is no number."""
    value: Any = config
    for part in knob.path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if knob.item is not None:
        is_there = isinstance(value, list) and knob.item < len(value)
        value = value[knob.item] if is_there else None
    elif isinstance(value, list) and len(value) == 1:
        value = value[0]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def check_items(knobs: Iterable[Knob], config: Mapping[str, Any]) -> None:
    """Refuses items of lists that a drive does not have.

    Raises:
        NandlabError: so.
    """
    for knob in knobs:
        if knob.item is not None and own_value(knob, config) is None:
            problem = f"the drive has no item {knob.item} of numbers there"
            hint = f"give the list first: --set {knob.path}=[...]"
            raise refusal(f"fit: {knob.name}", problem, hint=hint)


def settings(
    knobs: Sequence[Knob], values: Sequence[float], config: Mapping[str, Any]
) -> dict[str, Any]:
    """What values of knobs set, by path: items of a list in one list."""
    found: dict[str, Any] = {}
    for knob, value in zip(knobs, values, strict=True):
        if knob.item is None:
            found[knob.path] = value
            continue
        if knob.path not in found:
            whole: Any = config
            for part in knob.path.split("."):
                whole = whole[part]
            found[knob.path] = list(whole)
        found[knob.path][knob.item] = value
    return found

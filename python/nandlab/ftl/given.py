"""An FTL as an argument: its class or an object of it, its name, and what tells it from others."""

from __future__ import annotations

import hashlib
import inspect
import json
import pickle
from collections.abc import Sequence
from types import CodeType
from typing import Any, NamedTuple

from nandlab import _core
from nandlab.catalogue import Config, config_of, roster
from nandlab.ftl.bases import Ftl, PageHooks
from nandlab.given.arguments import whole
from nandlab.given.refusal import refusal

_METHODS = {
    Ftl: (
        *("begin", "stream", "place", "place_moves", "victim", "collect"),
        *("programmed", "erased", "trimmed"),
    ),
    PageHooks: (
        *("begin", "stream", "stream_moves", "victim", "collect"),
        *("programmed", "erased", "trimmed"),
    ),
}
_NEEDED = ("place", "place_moves")
_MOST_STREAMS = 16
"""As of `ftl.host_streams`."""

_SAVING = ("saved", "restore")


class GivenFtl(NamedTuple):
    """An FTL in Python, checked."""

    made: Ftl | PageHooks
    """The object whose copies decide."""
    name: str
    is_whole: bool
    methods: list[str]
    """Those that the class has of its own."""
    streams: int
    open_blocks: int
    move_streams: int
    facts: dict[str, Any]
    """What tells it from others of its name."""

    def assigned(self, sets: Sequence[str]) -> list[str]:
        """Assignments for a drive with it: the FTL of the drive's file is not meant.

        Raises:
            NandlabError: an assignment names another FTL, a parameter of one, or a policy of
                ``gc`` beside a method `victim`.
        """
        own = roster("ftl")[0].schema["properties"] if self.is_whole else {"host_streams"}
        for text in sets:
            path = text.partition("=")[0].strip()
            if "victim" in self.methods and path in _policy():
                raise refusal(text, f"`{self.name}` picks the victims by itself")
            if path == "ftl.name":
                raise refusal(text, f"the FTL is `{self.name}`", hint="give one of the two")
            if path.removeprefix("ftl.") in own and path.startswith("ftl."):
                raise refusal(text, f"a parameter of page, which `{self.name}` decides")
        return ["ftl.name=page", *sets]

    def on(self, loaded: Config) -> Config:
        """The same drive with this FTL."""
        return config_of(loaded.native.with_ftl(self.native()))

    def native(self) -> _core.OwnFtl:
        """The same, as the engine takes it."""
        return _core.OwnFtl(
            self.made,
            self.name,
            self.is_whole,
            self.methods,
            self.streams,
            self.open_blocks,
            self.move_streams,
            json.dumps(self.facts),
        )


def _policy() -> set[str]:
    """Keys of the policies that pick victims."""
    schemas = [member.schema.get("properties", {}) for member in roster("gc")]
    return {"gc.name", *(f"gc.{key}" for schema in schemas for key in schema)}


def given_ftl(given: object) -> GivenFtl:
    """The FTL in an argument: a class, or an object of one; one that is checked stays as it is.

    Raises:
        NandlabError: something else, or a class without the methods that are needed.
    """
    if isinstance(given, GivenFtl):
        return given
    base = next((base for base in _METHODS if _is_of(given, base)), None)
    if base is None:
        expected = "a class (or an object of one) below nandlab.ftl.Ftl or nandlab.ftl.PageHooks"
        raise refusal("ftl", f"{given!r}", expected)
    made: Any = given() if isinstance(given, type) else given
    kind = type(made)
    has = [name for name in _METHODS[base] if getattr(kind, name, None) is not getattr(base, name)]
    is_whole = base is Ftl
    missing = [name for name in _NEEDED if is_whole and name not in has]
    if missing:
        raise refusal("ftl", f"`{kind.__name__}` has no method `{missing[0]}`", ", ".join(_NEEDED))
    has += [name for name in _SAVING if callable(getattr(kind, name, None))]
    name = kind.__name__
    streams = whole(f"{name}.streams", made.streams, 1, _MOST_STREAMS)
    open_blocks = whole(f"{name}.open_blocks", made.open_blocks, 1, 1000) if is_whole else 0
    move_streams = (
        1 if is_whole else whole(f"{name}.move_streams", made.move_streams, 1, _MOST_STREAMS)
    )
    for method, key, count in [
        ("stream", "streams", streams),
        ("stream_moves", "move_streams", move_streams),
    ]:
        if method in has and count == 1:
            expected = f"`{key}`, 2 to {_MOST_STREAMS}, in the same class"
            raise refusal(f"{name}.{method}", "it is never called", expected)
    if move_streams > 1 and "stream_moves" not in has:
        raise refusal(
            f"{name}.move_streams",
            f"{move_streams}, but only one is used",
            "a method `stream_moves` in the same class",
        )
    facts = _facts(made, base)
    return GivenFtl(made, name, is_whole, has, streams, open_blocks, move_streams, facts)


def _is_of(given: object, base: type) -> bool:
    is_class = isinstance(given, type)
    return given is not base and (
        issubclass(given, base) if is_class else isinstance(given, base)  # type: ignore[arg-type]
    )


def _facts(made: object, base: type) -> dict[str, Any]:
    """Its class, a hash of the source, and the attributes of class and object."""
    kind = type(made)
    own = _classes(kind, base)
    attributes: dict[str, Any] = {}
    for each in reversed(own):
        attributes |= {key: value for key, value in vars(each).items() if _is_fact(key, value)}
    attributes |= {key: value for key, value in vars(made).items() if key != "flash"}
    return {
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "source": source_hash(kind),
        "attributes": {key: _fact(attributes[key]) for key in sorted(attributes)},
    }


def source_hash(kind: type) -> str:
    """A hash of the text of an FTL's class, and of those between it and its base."""
    digest = hashlib.sha256()
    base = next(base for base in _METHODS if issubclass(kind, base))
    for each in _classes(kind, base):
        digest.update(_source(each))
    return digest.hexdigest()[:16]


def _classes(kind: type, base: type) -> list[type]:
    """A class and those above it, without the base."""
    return [each for each in kind.__mro__ if issubclass(each, base) and each is not base]


def _source(kind: type) -> bytes:
    """The text of a class, or where that is not known, what its methods were compiled to."""
    try:
        return inspect.getsource(kind).encode()
    except (OSError, TypeError):
        codes = [value.__code__ for value in vars(kind).values() if hasattr(value, "__code__")]
        return repr([_compiled(code) for code in codes]).encode()


def _compiled(code: CodeType) -> list[object]:
    consts = [_compiled(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return [code.co_name, code.co_code.hex(), code.co_names, consts]


def _is_fact(key: str, value: object) -> bool:
    """Whether an attribute of a class is a parameter."""
    return not key.startswith("__") and _is_plain(value)


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    return isinstance(value, bool | float | str) or (
        isinstance(value, int) and -(2**63) <= value < 2**63
    )


def _fact(value: object) -> object:
    """A value as a configuration holds it: what is no number and no text, by its hash."""
    if _is_plain(value):
        return value
    kind = type(value).__qualname__
    try:
        return f"{kind} {hashlib.sha256(pickle.dumps(value)).hexdigest()[:16]}"
    except Exception:
        # What cannot be pickled is known by its type alone.
        return kind

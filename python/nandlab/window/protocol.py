"""Messages between a page and who has its drive: docs/window.md, `web/engine/messages.js`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nandlab._core import NandlabError
from nandlab.window.desk import Looked

MOST_REQUESTS = 1 << 16
"""Requests of one `advance`: a page asks again for more, and others get their turn."""

MOST_LOADED_BYTES = 1 << 30
"""Of the saved drives that pages send in pieces, all of them together."""

HELLO = json.dumps({"method": "hello"})

CHANGES = frozenset({"build", "job", "act", "save", "load"})
"""Methods after which the other pages are told what there is now."""


class Asked(NamedTuple):
    """A request of a page."""

    number: int
    method: str
    params: dict[str, Any]
    content: bytes = b""
    """Of `load`: the saved drive."""


@dataclass
class Room:
    """Room for the saved drives that pages send in pieces."""

    left_bytes: int = MOST_LOADED_BYTES


@dataclass
class Requests:
    """Requests of one page, from its messages."""

    room: Room = field(default_factory=Room)
    """Memory that the pieces of all pages share."""

    keeps_pieces: bool = True
    """Whether a saved drive is wanted: where `load` is refused, no piece is kept."""

    _pieces: bytearray = field(default_factory=bytearray)

    def of(self, message: str | bytes) -> Asked | None:
        """The request of a message; None where more pieces of it follow.

        Raises:
            ValueError: a message that is no request.
        """
        if isinstance(message, bytes):
            return self._piece(message)
        params = parsed(message)
        number, method = params.pop("id", None), params.pop("method", None)
        if not _is_number(number) or not isinstance(method, str) or method == "load":
            raise ValueError
        if method == "frame" and not _is_number(params.get("layers")):
            raise ValueError
        return Asked(number, method, params)

    def _piece(self, message: bytes) -> Asked | None:
        """A piece of a saved drive: number of the request, whether more follow, bytes."""
        if len(message) < 8:
            raise ValueError
        number, more = (int.from_bytes(message[at : at + 4], "little") for at in (0, 4))
        if self.keeps_pieces:
            if len(message) > self.room.left_bytes:
                raise ValueError
            self.room.left_bytes -= len(message) - 8
            self._pieces += message[8:]
        if more:
            return None
        saved = bytes(self._pieces)
        self.drop()
        return Asked(number, "load", {}, saved)

    def drop(self) -> None:
        """Gives the room of all pieces back."""
        self.room.left_bytes += len(self._pieces)
        self._pieces = bytearray()


def done(looked: Looked, asked: Asked) -> str | bytes:
    """The answer to a request: text, or the bytes of a frame or of a saved drive."""
    try:
        match asked.method:
            case "frame":
                return binary(asked, looked.frame(asked.params["layers"]))
            case "save":
                return binary(asked, looked.save())
            case "load":
                looked.load(asked.content)
                return text(asked, looked.call(HELLO))
    except NandlabError as error:
        return _error(asked, str(error))
    params = asked.params
    if asked.method == "advance":
        most = params.get("most_requests")
        is_less = type(most) is int and 0 < most < MOST_REQUESTS
        params = {**params, "most_requests": most if is_less else MOST_REQUESTS}
    return text(asked, looked.call(json.dumps({**params, "method": asked.method})))


def text(asked: Asked, answer: str) -> str:
    """An answer with the number of its request; both are objects of JSON."""
    return f'{{"id": {asked.number}, {answer[1:]}'


def binary(asked: Asked, content: bytes) -> bytes:
    """Bytes with the number of their request."""
    return asked.number.to_bytes(4, "little") + bytes(4) + content


def has_changed(asked: Asked, answer: str | bytes) -> bool:
    """Whether a request has changed what there is; a wear has when its last part is done."""
    if isinstance(answer, bytes):
        return asked.method in CHANGES
    told = parsed(answer).get("ok")
    is_end = asked.method == "advance" and isinstance(told, dict) and "act" in told
    return told is not None and (is_end or asked.method in CHANGES)


def greeting(looked: Looked, kind: str, refused: list[str]) -> str:
    """What a page is told first: what it may do here, and the drive that there is."""
    hello = json.loads(looked.call(HELLO)).get("ok")
    told = {"host": {"kind": kind, "refused": refused}, "hello": hello}
    return json.dumps({"id": 0, "ok": told})


def refusal_of(asked: Asked) -> str:
    """The answer to a method that a page may not call."""
    return _error(asked, f"not supported: `{asked.method}` of a drive that goes on by itself")


def _error(asked: Asked, problem: str) -> str:
    told = {"key": asked.method, "problem": problem, "expected": "", "hint": "", "nearest": None}
    return text(asked, json.dumps({"error": {**told, "text": problem}}))


def parsed(message: str | bytes) -> dict[str, Any]:
    """The object of a message; an empty one where it is none."""
    try:
        told = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _is_number(given: object) -> bool:
    """Whether it is a number of 32 bits."""
    return type(given) is int and 0 <= given < 1 << 32

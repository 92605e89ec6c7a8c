"""Recording of a run for a page in one file: frames over its time, and answers about it."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_FRAMES = 240
MOST_RAW_BYTES = 64 << 20
"""Of all frames, as a browser unpacks them."""

MOST_PACKED_BYTES = 12 << 20
"""Of all frames, as the file holds them before base64: the file has at most 17 MB with its page."""

FIRST_REQUESTS = 16
"""Requests between the first frames; twice as many whenever there are too many frames."""

_SUMMED, _SHARED = ("rlat", "wlat"), ("chan", "deco")
"""Sections since the last frame: counts, and shares of the time."""

_TYPES = tuple(np.dtype(one) for one in ("<u1", "<u2", "<u4", "<f4", "<f8"))


def sections(frame: bytes | bytearray) -> dict[str, NDArray[Any]]:
    """Arrays of a frame by the ids of its sections, without a copy.

    Raises:
        ValueError: bytes that are no frame.
    """
    magic, count = struct.unpack_from("<4sI", frame)
    if magic != b"NLW1":
        raise ValueError("no frame")
    heads = (struct.unpack_from("<4sIII", frame, 8 + 16 * i) for i in range(count))
    return {
        name.decode(): np.frombuffer(frame, _TYPES[kind], length, offset)
        for name, kind, length, offset in heads
    }


class Moment(NamedTuple):
    """A frame, and how far the run was."""

    frame: bytearray
    state: Mapping[str, Any]


class Recording:
    """Frames of a run, as many as fit: of too many each pair becomes one, and steps are longer."""

    def __init__(self, most_frames: int = MOST_FRAMES) -> None:
        self._most = most_frames
        self._moments: list[Moment] = []
        self.requests = FIRST_REQUESTS
        """Requests from one frame to the next."""

    def add(self, frame: bytes, state: Mapping[str, Any]) -> None:
        """Keeps a frame, taken `requests` after the last one."""
        self._moments.append(Moment(bytearray(frame), state))
        if len(self._moments) > max(4, min(self._most, MOST_RAW_BYTES // len(frame))):
            self._thin()
            self.requests *= 2

    def __len__(self) -> int:
        return len(self._moments)

    def _thin(self) -> None:
        """Joins each pair: the second one, with the counts of both. The first frame stays."""
        first, *others = self._moments
        pairs = zip(others[::2], others[1::2], strict=False)
        rest = others[-1:] if len(others) % 2 else []
        self._moments = [first, *(_joined(*pair) for pair in pairs), *rest]

    def packed(self, hello: object, answers: Mapping[str, object], refused: list[str]) -> bytes:
        """All of it in zlib's format, as `web/engine/file.js` reads it; thinned until it fits."""
        while True:
            told = {
                "hello": hello,
                "refused": refused,
                "answers": list(answers.items()),
                "states": [moment.state for moment in self._moments],
            }
            packed = _packed(told, [bytes(moment.frame) for moment in self._moments])
            if len(packed) <= MOST_PACKED_BYTES or len(self._moments) <= 2:
                return packed
            self._thin()


def _joined(one: Moment, other: Moment) -> Moment:
    """Two frames that follow each other as one."""
    before, after = sections(one.frame), sections(other.frame)
    for name in _SUMMED:
        if name in after:
            after[name] += before[name]
    for name in _SHARED:
        if name in after:
            after[name] += before[name]
            after[name] /= 2
    return other


def _packed(told: dict[str, object], frames: list[bytes]) -> bytes:
    """Length of the JSON, JSON, and from a multiple of 8 each frame as it differs from the last."""
    size = max(map(len, frames), default=0)
    size += -size % 8
    rows = np.frombuffer(b"".join(frame.ljust(size, b"\0") for frame in frames), np.uint8)
    rows = rows.reshape(len(frames), size)
    differing = rows.copy()
    differing[1:] ^= rows[:-1]
    head = json.dumps({**told, "frame_bytes": size, "frames_from": 10**12}, allow_nan=False)
    begin = 4 + len(head.encode())
    begin += -begin % 8
    # The place of the frames has the width that it was counted with.
    text = head.replace(f'"frames_from": {10**12}', f'"frames_from": {begin:13d}').encode()
    return zlib.compress(
        struct.pack("<I", len(text)) + text.ljust(begin - 4, b" ") + differing.tobytes(), 6
    )

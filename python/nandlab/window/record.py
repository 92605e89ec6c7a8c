"""Recording of a run for a page in one file: frames over its time, and answers about it."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nandlab.window.counts import join, places_of, sections, time_of

MOST_FRAMES = 240
MOST_RAW_BYTES = 64 << 20
"""Of all frames, as a browser unpacks them."""

MOST_PACKED_BYTES = 12 << 20
"""Of all frames, as the file holds them before base64: the file has at most 17 MB with its page."""

FIRST_REQUESTS = 16
"""Requests between the first frames; twice as many whenever there are too many frames."""

PERCENTILES = (50, 90, 99, 99.9, 99.99, 100)
"""Percentiles at which a recording has a slow request."""


class Moment(NamedTuple):
    """A frame, and how far the run was."""

    frame: bytearray
    state: Mapping[str, Any]


class Recording:
    """Frames of a run, as many as fit: of too many each pair becomes one, and steps are longer."""

    def __init__(self, hello: Mapping[str, Any], most_frames: int = MOST_FRAMES) -> None:
        """Keeps at most so many frames of the run that `hello` tells of."""
        self._hello, self._most = hello, most_frames
        self._places = places_of(hello)
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
        kept = self._moments[:1]
        for at in range(1, len(self._moments) - 1, 2):
            one, other = self._moments[at : at + 2]
            self._join(kept[-1], one, other)
            kept.append(other)
        self._moments = kept + self._moments[1 + 2 * (len(self._moments[1:]) // 2) :]

    def _join(self, last: Moment, one: Moment, other: Moment) -> None:
        """Makes a frame that of its own time and of the time of the one before."""
        before, after = sections(one.frame), sections(other.frame)
        join(before, after, self._places, time_of(sections(last.frame), self._places))

    def packed(self, answers: Mapping[str, object], refused: list[str]) -> bytes:
        """All of it in zlib's format, as `web/engine/file.js` reads it; thinned until it fits."""
        while True:
            told: dict[str, object] = {
                "hello": self._hello,
                "refused": refused,
                "percentiles": PERCENTILES,
                "answers": list(answers.items()),
                "states": [moment.state for moment in self._moments],
            }
            packed = _packed(told, [bytes(moment.frame) for moment in self._moments])
            if len(packed) <= MOST_PACKED_BYTES or len(self._moments) <= 2:
                return packed
            self._thin()


def _packed(told: Mapping[str, object], frames: list[bytes]) -> bytes:
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

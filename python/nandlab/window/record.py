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

PERCENTILES = (50, 90, 99, 99.9, 99.99, 100)
"""Percentiles at which a recording has a slow request."""

_SUMMED, _SHARED = ("rlat", "wlat"), ("chan", "deco")
"""Sections since the last frame: counts, and shares of the time."""

_TIME = "simulated_ns"
_SUMS = ("nand_reads", "nand_programs", "nand_erases", "retries", "soft_reads")
_LARGEST = ("latency_max_us",)
_MEANS = {
    "read_latency_mean_us": "rlat",
    "write_latency_mean_us": "wlat",
    "write_amplification_now": _TIME,
    "read_iops": _TIME,
    "write_iops": _TIME,
    "read_mb_s": _TIME,
    "write_mb_s": _TIME,
    "gc_moved_mb_s": _TIME,
    "gc_share": _TIME,
    "power_w": _TIME,
}
"""Scalars since the last frame, with what their mean over two frames is weighted by: requests of a
section, or time. The other scalars are of the moment."""

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

    def __init__(self, hello: Mapping[str, Any], most_frames: int = MOST_FRAMES) -> None:
        """Keeps at most so many frames of the run that `hello` tells of."""
        self._hello, self._most = hello, most_frames
        self._places = {one["name"]: at for at, one in enumerate(hello["scalars"])}
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
        times = [sections(each.frame)["scal"][self._places[_TIME]] for each in (last, one, other)]
        passed = {_TIME: (times[1] - times[0], times[2] - times[1])}
        before, after = sections(one.frame), sections(other.frame)
        for name in _SUMMED:
            if name in after:
                passed[name] = (before[name].sum(), after[name].sum())
                after[name] += before[name]
        for name in _SHARED:
            if name in after:
                after[name][:] = _mean(before[name], after[name], passed[_TIME])
        for name, at in self._places.items():
            first, second = before["scal"][at], after["scal"][at]
            if name in _SUMS:
                after["scal"][at] = first + second
            elif name in _LARGEST:
                after["scal"][at] = max(first, second)
            elif name in _MEANS:
                weights = passed.get(_MEANS[name], passed[_TIME])
                after["scal"][at] = _mean(first, second, weights)

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


def _mean(first: Any, second: Any, weights: tuple[Any, Any]) -> Any:
    """The weighted mean of two numbers or arrays, without those that are not finite."""
    both = np.array([first, second], np.float64)
    weight = np.reshape(np.array(weights, np.float64), (2,) + (1,) * (both.ndim - 1))
    known = np.where(np.isfinite(both), weight, 0.0)
    with np.errstate(invalid="ignore"):
        return np.where(known > 0, known * both, 0.0).sum(axis=0) / known.sum(axis=0)


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

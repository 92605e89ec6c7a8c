"""Counts of frames: what two frames tell together, for who did not see the first one."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


Sections = dict[str, NDArray[Any]]


def sections(frame: bytes | bytearray) -> Sections:
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


def places_of(hello: Mapping[str, Any]) -> dict[str, int]:
    """Places of the scalars by their names."""
    return {one["name"]: at for at, one in enumerate(hello["scalars"])}


def time_of(frame: Sections, places: Mapping[str, int]) -> float:
    """Simulated time of a frame, in ns."""
    return float(frame["scal"][places[_TIME]])


def counted(frame: Sections) -> Sections:
    """Copies of the sections that tell of the time since the last frame."""
    return {name: frame[name].copy() for name in ("scal", *_SUMMED, *_SHARED) if name in frame}


def join(before: Sections, after: Sections, places: Mapping[str, int], from_ns: float) -> None:
    """Makes `after` tell of its own time and of that of the frame before, which began at `from_ns`.

    Counts are added, and rates and shares are in the mean by time.
    """
    times = [from_ns, time_of(before, places), time_of(after, places)]
    passed: dict[str, tuple[Any, Any]] = {_TIME: (times[1] - times[0], times[2] - times[1])}
    for name in _SUMMED:
        if name in after:
            passed[name] = (before[name].sum(), after[name].sum())
            after[name] += before[name]
    for name in _SHARED:
        if name in after:
            after[name][:] = _mean(before[name], after[name], passed[_TIME])
    for name, at in places.items():
        first, second = before["scal"][at], after["scal"][at]
        if name in _SUMS:
            after["scal"][at] = first + second
        elif name in _LARGEST:
            after["scal"][at] = max(first, second)
        elif name in _MEANS:
            weights = passed.get(_MEANS[name], passed[_TIME])
            after["scal"][at] = _mean(first, second, weights)


def _mean(first: Any, second: Any, weights: tuple[Any, Any]) -> Any:
    """The weighted mean of two numbers or arrays, without those that are not finite."""
    both = np.array([first, second], np.float64)
    weight = np.reshape(np.array(weights, np.float64), (2,) + (1,) * (both.ndim - 1))
    known = np.where(np.isfinite(both), weight, 0.0)
    with np.errstate(invalid="ignore"):
        return np.where(known > 0, known * both, 0.0).sum(axis=0) / known.sum(axis=0)

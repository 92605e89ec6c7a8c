"""Speed of encoding and decoding: CPU time of one thread, with codewords made in advance.

Each figure is the fastest of several rounds over the same codewords, in CPU time of the thread, so
that what else the machine does is left out as far as that goes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from time import thread_time
from typing import TYPE_CHECKING, NamedTuple

from nandlab import _core
from nandlab.ecc.codec import Codec, distinct_codecs, sorted_sets
from nandlab.ecc.curve import channel_name, soft_levels
from nandlab.given.arguments import numbers, seeded, several, whole
from nandlab.given.names import names_checked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ROUNDS = 5
"""Least number of rounds."""

LEAST_S = 0.3
"""And for so long."""

MOST_BITS = 2**30
"""Of all codewords of a point together, which lie in memory: a soft read takes a byte for each."""


class DecodeSpeed(NamedTuple):
    """The speed of a code with its decoder at a raw bit error rate."""

    code: str
    decoder: str
    levels: int
    """Extra references of soft reads."""
    rber: float
    frames: int
    """Codewords."""
    encode_us: float
    """Of a codeword."""
    decode_us: float
    """Of a codeword, in the mean over all."""
    mbit_per_s: float
    """10^6 bits of codewords, parity included, decoded per second of CPU time."""
    mean_iterations: float
    frame_errors: int
    fer: float
    fer_low: float
    fer_high: float
    """Clopper and Pearson's interval of 95 %."""


class SpeedUnfinished(KeyboardInterrupt):
    """Ctrl-C ended it early. What was timed until then is in `result`."""

    def __init__(self, result: list[DecodeSpeed]) -> None:
        super().__init__("interrupted")
        self.result = result


@names_checked
def ecc_speed(
    code: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    rber: ArrayLike,
    levels: ArrayLike = 0,
    channel: str = "awgn",
    decoder: str | None = None,
    set: Mapping[str, object] | Sequence[str] = (),
    frames: int = 200,
    seed: int = 1,
) -> list[DecodeSpeed]:
    """Times encoding and decoding of `frames` codewords; other arguments as of `ecc_curve`.

    Raises:
        NandlabError: an input that is refused.
        SpeedUnfinished: Ctrl-C; its ``result`` holds the points that were timed.
    """
    codes = several("code", code)
    rates = numbers("rber", rber)
    every_level = soft_levels(levels)
    seed, channel = seeded(seed), channel_name(channel)
    sets = sorted_sets(set, ("decoder", "code", "channel"))
    codecs = distinct_codecs(codes, decoder=decoder, set=sets["code"] + sets["decoder"])
    for one in codecs:
        most = MOST_BITS // one.length
        why = f" of {one.name}, whose codewords have {one.length} bits"
        frames = whole("frames", frames, 1, most, why)
    found: list[DecodeSpeed] = []
    try:
        for one in codecs:
            for level in every_level:
                for rate in rates:
                    point = _core.ecc_point(channel, sets["channel"], rate, level, seed)
                    found.append(_timed(one, point, frames))
    except KeyboardInterrupt:
        raise SpeedUnfinished(found) from None
    return found


def _timed(one: Codec, point: str, frames: int) -> DecodeSpeed:
    """A code at a point, as JSON."""
    made = one.native.rehearse(point, frames)
    encode_s, decode_s = _fastest_s(made.encode), _fastest_s(made.decode)
    counts = json.loads(made.counts())
    failed = counts["frame_errors"]
    low, high = _core.clopper_pearson(failed, frames, 0.95)
    steps = sum(i * count for i, count in enumerate(counts["iterations"]))
    about = json.loads(point)
    return DecodeSpeed(
        code=one.name,
        decoder=one.decoder["name"],
        levels=about["levels"],
        rber=about["rber"],
        frames=frames,
        encode_us=1e6 * encode_s / frames,
        decode_us=1e6 * decode_s / frames,
        mbit_per_s=1e-6 * one.length * frames / max(decode_s, 1e-9),
        mean_iterations=steps / frames,
        frame_errors=failed,
        fer=failed / frames,
        fer_low=low,
        fer_high=high,
    )


def _fastest_s(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest round."""
    best, total, rounds = float("inf"), 0.0, 0
    while rounds < ROUNDS or total < LEAST_S:
        start = thread_time()
        work()
        took = thread_time() - start
        best, total, rounds = min(best, took), total + max(took, 1e-6), rounds + 1
    return best

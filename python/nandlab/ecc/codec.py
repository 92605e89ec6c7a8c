"""Codec: a code with its decoder, and the BCH code that it is compared with."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from nandlab import _core
from nandlab.catalogue import code_text, roster
from nandlab.ecc.uber import Ecc, ln_codeword_failure
from nandlab.given.arguments import as_text, named
from nandlab.given.assignments import assignments, blaming
from nandlab.given.refusal import refusal


class Origin(NamedTuple):
    """What the native part of a codec is made of."""

    text: str
    """Of the code's file."""
    place: str
    """What errors call it."""
    sets: list[str]
    decoder: str | None


@dataclass(frozen=True)
class Codec:
    """A code and its decoder. It can be pickled, as for the processes of `multiprocessing`."""

    name: str
    """Of the code's file without its ending; of one among files that are called alike, its path."""
    length: int
    """Bits of a codeword."""
    dimension: int
    """Data bits of a codeword."""
    sealed_bytes: int | None
    """Bytes of payload and metadata before a CRC-32C; None without one."""
    certain_errors: int | None
    """Fixed t of the code, such as BCH; None for other codes."""
    decoder: dict[str, Any]
    """The decoder's ``name`` and parameters, complete."""
    hash: str
    """Of code and decoder with all of their parameters that decide outcomes."""
    native: _core.Codec = field(repr=False, compare=False)
    origin: Origin = field(repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the parameters of the native part."""
        return _made, (self.origin, self.name)

    @property
    def rate(self) -> float:
        """Data bits / all bits."""
        return self.dimension / self.length

    @property
    def bch(self) -> Ecc | None:
        """The BCH code of the same length and parity; None if it corrects no errors.

        t is `certain_errors`. Where there is no such number, t = parity / m, m the degree of the
        field; minimal polynomials of lower degree, which save parity, are left out of account.
        """
        degree = max(self.length.bit_length(), 3)
        t = self.certain_errors
        if t is None:
            t = (self.length - self.dimension) // degree
        return Ecc(t, self.length, self.dimension) if t > 0 else None


def codec(
    code: str | PathLike[str],
    *,
    decoder: str | None = None,
    set: Mapping[str, object] | Sequence[str] = (),
) -> Codec:
    """A code with its decoder.

    Args:
        code: name of a code preset, or path of a code's TOML file.
        decoder: another decoder than that of the file, with its defaults.
        set: ``code.…`` and ``decoder.…`` by their path.

    Raises:
        NandlabError: there is no such code, its file cannot be read, or the decoder is none that
            the code takes; says which it takes.
    """
    text, place = code_text(named("code", code))
    if decoder is not None:
        decoder = as_text("decoder", decoder, "a decoder's name")
    sets = assignments(set)
    try:
        with blaming(place, sets):
            return _made(Origin(text, place, sets, decoder), Path(place).stem)
    except _core.NandlabError as error:
        if decoder is None or ": decoder.name: " not in str(error):
            raise
        others = [one for one in sets if not one.startswith("decoder.")]
        fitting = _fitting(text, place, others)
        known = decoder in [member.name for member in roster("decoder")]
        what = f"`{decoder}` does not decode {code}" if known else f"unknown decoder `{decoder}`"
        raise refusal(
            "decoder", what, f"{', '.join(fitting)} for {code}", given=decoder, names=fitting
        ) from error


def _made(origin: Origin, name: str) -> Codec:
    native = _core.Codec(*origin)
    return Codec(name=name, native=native, origin=origin, **json.loads(native.facts()))


def distinct_codecs(
    codes: Sequence[str | PathLike[str]], *, decoder: str | None = None, set: Sequence[str] = ()
) -> list[Codec]:
    """Codes with their decoders, each once and under a unique name.

    Args:
        codes: as `codec` takes them; of those with the same hash the first counts.
        decoder: as of `codec`.
        set: as of `codec`.

    Raises:
        NandlabError: as of `codec`.
    """
    found: dict[str, tuple[str, Codec]] = {}
    for path in [named("code", code) for code in codes]:
        one = codec(path, decoder=decoder, set=set)
        found.setdefault(one.hash, (path, one))
    names = Counter(one.name for _, one in found.values())
    return [replace(one, name=path) if names[one.name] > 1 else one for path, one in found.values()]


def _fitting(text: str, place: str, sets: list[str]) -> list[str]:
    """Decoders that a code takes with their defaults."""
    found = []
    for member in roster("decoder"):
        try:
            _core.Codec(text, place, sets, member.name)
        except _core.NandlabError:
            continue
        found.append(member.name)
    return found


def bch_failure(rber: float, bch: Ecc) -> float:
    """How often a codeword holds more errors than are corrected, at a raw bit error rate."""
    return math.exp(ln_codeword_failure(rber, bch))


def sorted_sets(
    sets: Mapping[str, object] | Sequence[str], parts: Sequence[str]
) -> dict[str, list[str]]:
    """Assignments by the part that they begin with; those of the channel without it.

    Raises:
        NandlabError: one begins otherwise.
    """
    found: dict[str, list[str]] = {part: [] for part in parts}
    for text in assignments(sets):
        part, _, rest = text.strip().partition(".")
        if part not in found or not rest:
            raise refusal(
                f"--set {text}",
                "not a key of a part",
                ", ".join(f"{part}.KEY=VALUE" for part in parts),
            )
        found[part].append(rest if part == "channel" else text.strip())
    return found

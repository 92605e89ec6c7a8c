"""A code with the decoder that was asked for: refused by the option that names it."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.codec import Codec, codec
from nandlab.nearest import nearest


def chosen_codec(
    code: str | PathLike[str], *, decoder: str | None = None, set: Sequence[str] = ()
) -> Codec:
    """A code with its decoder, as :func:`nandlab.codec.codec` has it.

    Raises:
        NandlabError: as there; where `decoder` is not one that the code takes, those that it takes.
    """
    try:
        return codec(code, decoder=decoder, set=set)
    except NandlabError as error:
        if decoder is None or ": decoder.name: " not in str(error):
            raise
        fitting = _fitting(code, [text for text in set if not text.startswith("decoder.")])
        known = decoder in [name for name, *_ in _core.decoders()]
        what = f"`{decoder}` does not decode {code}" if known else f"unknown decoder `{decoder}`"
        allowed = f"{', '.join(fitting)} for {code}{nearest(decoder, fitting)}"
        raise NandlabError(f"--decoder: {what}; allowed: {allowed}") from error


def _fitting(code: str | PathLike[str], set: Sequence[str]) -> list[str]:
    """Decoders that the code takes with their defaults."""
    found = []
    for name, *_ in _core.decoders():
        try:
            codec(code, decoder=name, set=set)
        except NandlabError:
            continue
        found.append(name)
    return found

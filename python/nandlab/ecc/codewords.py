"""Codewords as bytes: encode, add errors, decode, with any code and decoder.

>>> from nandlab.ecc import Code
>>> code = Code("bch_512_t40")
>>> word = code.encode(bytes(code.data_bytes))
>>> code.decode(word).iterations
0

Bit i of a word is bit i % 8 of byte i / 8, counted from the least significant one; data come
first, parity after them. For BCH codes ``crates/ecc/src/code/bch.rs`` says which power of x that
is, and how the bytes of other libraries follow from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from nandlab import _core
from nandlab.ecc.codec import Codec, codec
from nandlab.given.arguments import listed, number
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


Bytes: TypeAlias = "bytes | bytearray | memoryview | NDArray[np.uint8]"
"""What codewords and data may come in."""


class Decoded(NamedTuple):
    """What decoding gave."""

    data: bytes
    """The data bits, as corrected."""
    word: bytes
    """The whole codeword; as read, if an algebraic decoder failed."""
    corrected: bool
    """Whether it is a codeword. Whether it is the right one, only who wrote it knows."""
    iterations: int
    """0 for a codeword without errors."""
    changed_bits: int
    """Bits in which it differs from the hard decisions that came in."""
    sealed: bool | None
    """Whether the checksum of the data is right; None where the code has none."""


class Code:
    """A code with a decoder, for one codeword at a time: use one `Code` in each thread.

    It can be pickled, and so be sent to the processes of `multiprocessing`.
    """

    def __init__(
        self,
        code: str | PathLike[str],
        *,
        decoder: str | None = None,
        set: Mapping[str, object] | Sequence[str] = (),
    ) -> None:
        """Take a code preset's name or the path of a code's file; as `nandlab.ecc.codec.codec`."""
        self.__setstate__(codec(code, decoder=decoder, set=set))

    def __getstate__(self) -> Codec:
        """What the native part is made of."""
        return self.codec

    def __setstate__(self, state: Codec) -> None:
        """As unpickled."""
        self.codec = state
        self._coder = _core.Coder(state.native)

    def __repr__(self) -> str:
        codec = self.codec
        return f"<code {codec.name}: {codec.dimension} of {codec.length} bits are data>"

    @property
    def data_bytes(self) -> int:
        """Bytes that hold the data bits."""
        return -(-self.codec.dimension // 8)

    @property
    def word_bytes(self) -> int:
        """Bytes that hold a codeword."""
        return -(-self.codec.length // 8)

    def encode(self, data: Bytes) -> bytes:
        """The codeword of `data_bytes` bytes: bytes, bytearray, memoryview or array of uint8.

        Raises:
            NandlabError: there are more or fewer, or bits are set beyond the last data bit.
        """
        return self._coder.encode(_bytes("data", data))

    def seal(self, data: Bytes) -> bytes:
        """`data_bytes` bytes to encode: payload and metadata, zeros up to their CRC-32C, and it.

        A word that is decoded to another codeword is `corrected`, and one time in 2^32 `sealed`.

        Raises:
            NandlabError: they are too many, or the code has no checksum.
        """
        return self._coder.seal(_bytes("data", data))

    def is_codeword(self, word: Bytes) -> bool:
        """Whether `word`, of `word_bytes` bytes, is a codeword."""
        return self._coder.is_codeword(_bytes("word", word))

    def decode(self, word: Bytes, rber: float = 1e-3) -> Decoded:
        """Decode a hard read.

        Args:
            word: `word_bytes` bytes.
            rber: raw bit error rate for the decoder; algebraic decoders do not use it.

        Raises:
            NandlabError: the word has another length, or the rate is not between 0 and 0.5.
        """
        rate = number("rber", rber)
        if not 0 < rate < 0.5:
            raise refusal("rber", f"{rber}: out of range", "above 0, below 0.5")
        own = _bytes("word", word)
        return self._decoded(self._coder.decode(own, math.log((1 - rate) / rate)))

    def decode_soft(self, regions: ArrayLike, llr: ArrayLike) -> Decoded:
        """Decode a soft read: each bit's region, each region's log-likelihood ratio.

        Raises:
            NandlabError: there is not one region for each bit, one is no whole number or has no
                ratio, or there are more than 16 ratios.
        """
        import numpy as np

        try:
            given = np.asarray(regions)
        except ValueError as error:
            raise refusal("regions", error, "a list of whole numbers") from error
        each = listed("llr", llr, "a list of numbers, one for each region")
        ratios = [number("llr", ratio) for ratio in each]
        if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
            raise refusal(
                "ecc",
                f"regions: {given.dtype} of shape {given.shape}",
                "a list of whole numbers, one for each bit",
            )
        # Before they become bytes, which would make a 3 of 259.
        unknown = given[(given < 0) | (given >= len(ratios))]
        if unknown.size > 0:
            raise refusal(
                "ecc",
                f"region {unknown[0]} has no log-likelihood ratio",
                f"0 to {len(ratios) - 1}",
            )
        return self._decoded(self._coder.decode_soft(np.ascontiguousarray(given, np.uint8), ratios))

    def _decoded(self, result: tuple[bytes, bool, int, int]) -> Decoded:
        word, corrected, iterations, changed = result
        data = bytearray(word[: self.data_bytes])
        if self.codec.dimension % 8:
            data[-1] &= (1 << self.codec.dimension % 8) - 1
        sealed = self._coder.is_sealed(bytes(data))
        return Decoded(bytes(data), word, corrected, iterations, changed, sealed)


def _bytes(name: str, given: Bytes) -> bytes:
    """The bytes of an argument called `name`, refused where it holds none."""
    try:
        view = memoryview(cast("bytes", given))
    except TypeError:
        problem = type(given).__name__
    else:
        if view.format == "B" and view.ndim == 1:
            return view.tobytes()
        problem = f"items of format {view.format!r}, {view.ndim} dimensions"
    raise refusal(
        name, problem, "bytes, bytearray, memoryview, or a one-dimensional array of uint8"
    )

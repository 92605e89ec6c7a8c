"""BCH codes bit for bit against independent libraries, as far as these reach.

``bchlib`` wraps the BCH of the Linux kernel (m up to 15, t up to 64), ``galois`` computes in numpy.
Neither is needed by nandlab: where they have no wheels these tests are skipped.
"""

from pathlib import Path

import numpy as np
import pytest
from conftest import refused

from nandlab import NandlabError, ecc_curve
from nandlab.ecc import Code

LIBRARY = "an oracle of these tests only: pip install {}"


def bch(folder: Path, m: int, t: int, data_bits: int) -> Code:
    """A BCH code from a file of its own."""
    file = folder / f"bch_{m}_{t}_{data_bits}.toml"
    file.write_text(
        "summary = 'test'\ncite = []\npayload_bytes = 0\nmetadata_bytes = 0\ncrc_bytes = 0\n"
        f"[code]\nname = 'bch'\nm = {m}\nt = {t}\ndata_bits = {data_bits}\n"
        "[decoder]\nname = 'berlekamp'\n"
    )
    return Code(file)


def spoiled(word: bytes, bits: int, errors: int, rng: np.random.Generator) -> bytes:
    """`word` with so many of its first `bits` bits inverted."""
    bad = bytearray(word)
    for at in rng.choice(bits, errors, replace=False):
        bad[at // 8] ^= 1 << (at % 8)
    return bytes(bad)


def exponents(word: bytes, bits: int) -> int:
    """A word as the number whose bit p is the coefficient of x^p."""
    return int(format(int.from_bytes(word, "little"), f"0{bits}b")[::-1], 2)


def remainder(dividend: int, divisor: int) -> int:
    """Of polynomials over GF(2)."""
    degree = divisor.bit_length() - 1
    while dividend.bit_length() > degree:
        dividend ^= divisor << (dividend.bit_length() - 1 - degree)
    return dividend


@pytest.mark.parametrize(
    ("m", "t", "data_bytes"),
    [
        (5, 1, 3),
        (5, 3, 2),
        (6, 2, 6),
        (7, 4, 10),
        (8, 2, 29),
        (9, 8, 30),
        (10, 20, 64),
        (11, 11, 200),
        (12, 30, 400),
        (13, 8, 512),
        (13, 40, 512),
        (14, 64, 1024),
        (15, 60, 3900),
    ],
)
@pytest.mark.parametrize("swap_bits", [True, False])
def test_parity_and_outcomes_are_those_of_the_kernel(
    tmp_path: Path, m: int, t: int, data_bytes: int, swap_bits: bool
) -> None:
    """The same parity bits, the same corrections, the same failures, up to t errors and beyond."""
    bchlib = pytest.importorskip("bchlib", reason=LIBRARY.format("bchlib"))
    code = bch(tmp_path, m, t, 8 * data_bytes)
    oracle = bchlib.BCH(t, m=m, swap_bits=swap_bits)
    assert code.codec.length == 8 * data_bytes + oracle.ecc_bits

    def turned(data: bytes) -> bytes:
        if swap_bits:
            return data
        return bytes(int(format(byte, "08b")[::-1], 2) for byte in data)

    rng = np.random.default_rng(m * 100 + t)
    outcomes = set()
    for errors in [0, 1, 2, t // 2, t - 1, t, t + 1, t + 2, *range(t + 3, t + 20)]:
        data = rng.bytes(data_bytes)
        word = code.encode(data)
        parity = oracle.encode(turned(data))[: code.word_bytes - data_bytes]
        assert word == data + turned(parity)

        bad = spoiled(word, code.codec.length, min(errors, code.codec.length), rng)
        ours = code.decode(bad)
        their_data = bytearray(turned(bad[:data_bytes]))
        their_parity = bytearray(turned(bad[data_bytes:]).ljust(oracle.ecc_bytes, b"\0"))
        found = oracle.decode(bytes(their_data), bytes(their_parity))
        assert ours.corrected == (found >= 0)
        if ours.corrected:
            oracle.correct(their_data, their_parity)
            whole = bytes(their_data) + bytes(their_parity)
            assert ours.word == turned(whole)[: code.word_bytes]
            assert ours.changed_bits == found
        else:
            assert ours.word == bad
        if errors <= t:
            assert ours.data == data
        outcomes.add((errors <= t, ours.corrected))
    assert (True, True) in outcomes
    # Nearly every word is one error away from a codeword where t = 1.
    assert t == 1 or (False, False) in outcomes


@pytest.mark.long
@pytest.mark.parametrize(("m", "t"), [(5, 3), (8, 3)])
def test_words_and_outcomes_are_those_of_galois(tmp_path: Path, m: int, t: int) -> None:
    """Whole and shortened words, decoded as galois decodes them."""
    galois = pytest.importorskip("galois", reason=LIBRARY.format("galois"))
    oracle = galois.BCH(2**m - 1, d=2 * t + 1)
    rng = np.random.default_rng(m)
    for data_bits in [oracle.k, oracle.k - 1, oracle.k // 2]:
        code = bch(tmp_path, m, t, data_bits)
        length = code.codec.length
        assert length - data_bits == oracle.n - oracle.k

        def unpacked(word: bytes, length: int = length) -> np.ndarray:
            return np.unpackbits(np.frombuffer(word, np.uint8), bitorder="little")[:length]

        for errors in range(t + 4):
            data = rng.integers(0, 2, data_bits, dtype=np.uint8)
            word = code.encode(np.packbits(data, bitorder="little").tobytes())
            assert np.array_equal(unpacked(word), oracle.encode(galois.GF2(data)))
            bad = spoiled(word, length, errors, rng)
            ours = code.decode(bad)
            message, found = oracle.decode(galois.GF2(unpacked(bad)), errors=True)
            assert ours.corrected == (found >= 0)
            if ours.corrected:
                assert np.array_equal(unpacked(ours.data, data_bits), message)
                assert ours.changed_bits == found


@pytest.mark.long
def test_words_of_the_largest_field_have_their_roots() -> None:
    """With m = 16, t = 100, beyond the others' reach: by galois' minimal polynomials."""
    galois = pytest.importorskip("galois", reason=LIBRARY.format("galois"))
    field = galois.GF(2**16, irreducible_poly=0x1002D, primitive_element=2, verify=False)
    generator = 1
    for j in range(1, 200, 2):
        minimal = int((field.primitive_element**j).minimal_poly())
        generator = sum_of_shifts(generator, minimal)
    assert generator.bit_length() - 1 == 1600

    code = Code("bch_4320_t100")
    rng = np.random.default_rng(16)
    for data in [bytes([1]) + bytes(4119), bytes(4119) + bytes([128]), rng.bytes(4120)]:
        word = code.encode(data)
        assert word[:4120] == data
        assert remainder(exponents(word, 34560), generator) == 0


def sum_of_shifts(a: int, b: int) -> int:
    """Product of two polynomials over GF(2)."""
    product = 0
    for i in range(b.bit_length()):
        if b >> i & 1:
            product ^= a << i
    return product


def test_words_go_through_one_door() -> None:
    """Algebraic and iterative codes alike; what does not fit is refused."""
    rng = np.random.default_rng(1)
    for name in ["bch_4320_t100", "ldpc_a"]:
        code = Code(name)
        assert name in repr(code)
        data = rng.bytes(code.data_bytes)
        word = code.encode(data)
        assert len(word) == code.word_bytes
        assert word[: len(data)] == data
        assert code.is_codeword(word)
        assert code.decode(word) == (data, word, True, 0, 0, None)

        bad = spoiled(word, code.codec.length, 30, rng)
        assert not code.is_codeword(bad)
        decoded = code.decode(bad, rber=1e-3)
        assert decoded.corrected
        assert decoded.data == data
        assert decoded.changed_bits == 30
        # Region 0: surely a one, 3: surely a zero; the wrong ones are the unsure ones.
        bits, sent = (
            np.unpackbits(np.frombuffer(w, np.uint8), bitorder="little") for w in (bad, word)
        )
        regions = np.where(bits == sent, np.where(bits, 0, 3), np.where(bits, 1, 2))
        soft = code.decode_soft(regions, [-8.0, -1.0, 1.0, 8.0])
        assert soft.corrected
        assert soft.data == data

        for wrong in [
            lambda code=code: code.encode(b""),
            lambda code=code, word=word: code.decode(word + b"\0"),
            lambda code=code, word=word: code.decode(word, rber=0.5),
            lambda code=code, regions=regions: code.decode_soft(regions[1:], [-1.0] * 4),
            lambda code=code, regions=regions: code.decode_soft(regions, [-1.0] * 3),
            lambda code=code, regions=regions: code.decode_soft(regions + 256, [-1.0] * 4),
            lambda code=code, regions=regions: code.decode_soft(regions - 1, [-1.0] * 4),
            lambda code=code, regions=regions: code.decode_soft(regions + 0.9, [-1.0] * 4),
            lambda code=code, regions=regions: code.decode_soft([regions], [-1.0] * 4),
            lambda code=code, regions=regions: code.decode_soft(regions, [-1.0] * 17),
            lambda code=code, regions=regions: code.decode_soft(regions, []),
        ]:
            with pytest.raises(NandlabError, match=r"expected|hint"):
                wrong()


def test_bytes_come_in_any_form() -> None:
    code = Code("ldpc_1k_r90", set={"decoder.max_iterations": 7})
    assert code.codec.decoder["max_iterations"] == 7
    data = bytes(range(256)) * 4 + bytes(code.data_bytes - 1024)
    word = code.encode(data)
    for form in (bytearray, memoryview, lambda given: np.frombuffer(given, np.uint8)):
        assert code.encode(form(data)) == word
        assert code.decode(form(word)).data == data
        assert code.is_codeword(form(word))
    for wrong, name in [
        (lambda: code.encode("x"), "data"),
        (lambda: code.encode([1, 2]), "data"),
        (lambda: code.encode(np.zeros(code.data_bytes)), "data"),
        (lambda: code.decode(word, rber="x"), "rber"),
        (lambda: code.decode(None), "word"),
        (lambda: code.decode_soft([0] * code.codec.length, llr=["a"]), "llr"),
        (lambda: code.decode_soft([0] * code.codec.length, llr=3), "llr"),
        (lambda: code.decode_soft([[0], [0, 1]], llr=[1.0]), "regions"),
        (lambda: Code(3), "code"),
        (lambda: Code("ldpc_1k_r90", decoder="berlekamp"), "decoder"),
        (lambda: ecc_curve(3, rber=0.01), "code"),
        (lambda: ecc_curve("ldpc_1k_r90", rber=["x"]), "rber"),
        (lambda: ecc_curve("ldpc_1k_r90", rber="x"), "rber"),
        (lambda: ecc_curve("ldpc_1k_r90", rber=0.01, levels="x"), "levels"),
    ]:
        with pytest.raises(NandlabError, match=f"^{name}: .*(expected|hint)"):
            wrong()


def test_a_checksum_shows_another_codeword() -> None:
    code = Code("ldpc_4k_r90")
    data = bytes(range(256)) * 16
    written = code.encode(code.seal(data))
    decoded = code.decode(written)
    assert decoded.corrected
    assert decoded.sealed
    assert decoded.data[: len(data)] == data
    # Another codeword, as a decoder may find it: right for the code, not for the checksum.
    other = code.decode(code.encode(bytes([1]) + decoded.data[1:]))
    assert other.corrected
    assert not other.sealed
    assert Code("bch_512_t40").decode(bytes(Code("bch_512_t40").word_bytes)).sealed is None
    with refused(f"{code.data_bytes} bytes", "at most"):
        code.seal(bytes(code.data_bytes))
    with refused("no checksum"):
        Code("bch_512_t40").seal(b"")

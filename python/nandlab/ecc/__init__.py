"""Error correction: codewords, error-rate curves, speed and profiles of decoders, LDPC codes.

In come the name or file of a code and error rates; out come codewords, rates and files.

>>> from nandlab.ecc import Code
>>> code = Code("bch_512_t40")
>>> word = code.encode(bytes(code.data_bytes))
>>> code.decode(word).iterations
0
"""

from nandlab.ecc.codewords import Bytes, Code, Decoded

__all__ = ["Bytes", "Code", "Decoded"]

"""The virtual test board: procedures on a raw chip, and the rows that they measure.

In come the name of a procedure and a chip; out come a `Measurement`, its file and its picture.
"""

from nandlab.board.measurement import Measurement, Procedure, Unfinished, board, procedures
from nandlab.board.rows import KINDS, read, write

__all__ = [
    "KINDS",
    "Measurement",
    "Procedure",
    "Unfinished",
    "board",
    "procedures",
    "read",
    "write",
]

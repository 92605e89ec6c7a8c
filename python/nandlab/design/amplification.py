"""Least write amplification of uniform random writes: the mean field of greedy collection.

No policy without knowledge of the future does better there than the greedy one (Desnoyers,
SYSTOR'12; Van Houdt, SIGMETRICS'13). Blocks that are kept free or open make it worse. So with all
blocks of a drive it is a lower bound, in steady state.
"""

from __future__ import annotations

from functools import cache

FTLS = ("page", "dftl", "learned")
"""FTLs for which it holds: those that write any page to any place, after an erase, as it came."""


@cache
def greedy_amplification(alpha: float, units: int) -> float:
    """Write amplification of greedy collection, exact in the limit of many blocks.

    The integer k and g, m >= 0 with g (H_b - H_{k+1}) + m = 1,
    g (b - k - 1) + (k + 1) m = b / alpha and m <= g / (k + 1); then A = alpha g.

    Args:
        alpha: physical over logical space, above 1.
        units: b, the units of a block that are written and become invalid alone.
    """
    filled = units / alpha
    rest = sum(1.0 / i for i in range(1, units + 1))
    for k in range(units - 1):
        rest -= 1.0 / (k + 1)
        share = (filled - k - 1) / (units - k - 1 - (k + 1) * rest)
        left = 1.0 - share * rest
        if share >= 0.0 and 0.0 <= left <= share / (k + 1) + 1e-12:
            return share * alpha
    return 1.0


def least_moved(alpha: float, units: int, written: float, pool: float) -> float:
    """Bytes that collection moves at least, while the host writes some.

    A drive may put collection off while it has a pool of free space. With u valid of each block
    that is collected, M >= u (W + M - pool): M >= (A - 1) (W - pool).

    Args:
        alpha: as for `greedy_amplification`.
        units: as for `greedy_amplification`.
        written: bytes that reach the flash.
        pool: bytes of free space at the beginning, at most.
    """
    return max((greedy_amplification(alpha, units) - 1.0) * (written - pool), 0.0)

"""Limit of a code: the highest raw bit error rate at which it meets a UBER.

A code that corrects t errors for certain has it from the tail of the binomial. Of others failures
were measured (the profile beside the code's file), down to about one in 100,000 codewords. Beyond
that the probit of the failure rate is continued as a straight line over the logarithm of the bit
error rate, on which waterfalls are nearly straight: by maximum likelihood, through the rates at
which less than a tenth fails, those without any failure among them. The interval is Wald's. No
line knows of an error floor.
"""

from __future__ import annotations

import math
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab import _core
from nandlab.ecc.codec import Codec, codec
from nandlab.ecc.curve import soft_levels
from nandlab.ecc.pages import Failures, failures_of
from nandlab.ecc.soft_read import said
from nandlab.ecc.uber import Ecc, rber_limit
from nandlab.given.arguments import number
from nandlab.given.refusal import refusal
from nandlab.given.toml import parse_toml

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

WATERFALL = 0.1
"""Share of failed codewords below which a rate counts for the line."""

LEVEL = 0.95
"""Of the interval."""


class CodeLimit(NamedTuple):
    """Up to which raw bit error rate a code reaches an UBER."""

    code: str
    levels: int
    """Extra references of soft reads."""
    ecc: Ecc
    """Its size; `t` of it is 0 where no number of errors is certain."""
    uber: float
    rber: float
    low: float | None
    """Ends of the 95 % confidence interval, if measured."""
    high: float | None
    measured_uber: float | None
    """The least UBER that was measured, where the one asked for is below it: `rber` is continued
    beyond the measurement."""

    @property
    def t(self) -> int | None:
        """Fixed t of the code, such as BCH; None for other codes."""
        return self.ecc.t if self.low is None else None

    @property
    def note(self) -> str:
        """A reservation about the limit; empty where it follows from the code."""
        if self.low is None or self.high is None:
            return ""
        text = f"{self.code}, {said(self.levels)}: RBER limit {self.rber:.3e}"
        text += f", 95 % interval {self.low:.3e} to {self.high:.3e}"
        if self.measured_uber is None:
            return f"{text}, as measured"
        return (
            f"{text}, extrapolated: failures were measured down to UBER {self.measured_uber:.1e}, "
            f"and an error floor below that would lower it"
        )


def code_limit(code: str | PathLike[str], *, levels: int = 0, uber: float = 1e-15) -> CodeLimit:
    """The highest raw bit error rate at which a code reaches an UBER.

    Args:
        code: a code preset or file, with its decoder.
        levels: extra references of soft reads: 0 is a hard read, 2 one soft read.
        uber: failed codewords for each data bit.

    Raises:
        NandlabError: no such code, one without a profile of these levels, or a value out of range.
    """
    one = codec(code)
    [levels] = soft_levels(levels)
    uber = number("code_limit: uber", uber)
    if one.certain_errors is not None:
        if levels:
            raise refusal("levels", f"{one.name} cannot use soft reads", "0")
        ecc = Ecc(one.certain_errors, one.length, one.dimension)
        return limit_of_errors(one.name, ecc, uber)
    if not 0 < uber < 1 / one.dimension:
        raise refusal(
            "uber", f"target = {uber:g}: out of range", f"above 0, below {1 / one.dimension:.3g}"
        )
    return _measured(one, _profile(one), levels, uber)


def limit_of_errors(name: str, ecc: Ecc, uber: float) -> CodeLimit:
    """The limit of a code that corrects t errors for certain.

    Raises:
        NandlabError: a UBER out of range.
    """
    return CodeLimit(name, 0, ecc, uber, rber_limit(uber, ecc), None, None, None)


def _profile(one: Codec) -> dict[str, Any]:
    """Profile of a code: the file beside that of the code."""
    place = one.origin.place
    beside = Path(place).with_suffix(".profile.toml")
    try:
        if beside.is_file() and not place.startswith("params/codes/"):
            text = beside.read_text(encoding="utf-8")
        else:
            text = _core.show(f"code/{beside.name.removesuffix('.toml')}")
    except (_core.NandlabError, OSError, UnicodeDecodeError):
        raise refusal(
            "code",
            f"{one.name} has no fixed t and no profile",
            hint=f"measure one: `nandlab ecc profile --code {place} --out {beside}`",
        ) from None
    profile = parse_toml(text, str(beside))
    if profile.get("hash") != one.hash:
        raise refusal(
            beside, "the profile is of another code or decoder", f"a profile of {one.name}"
        )
    return profile


def levels_of(code: str | PathLike[str]) -> list[int]:
    """Extra references at which failures of a code were measured; 0 alone where its t is fixed.

    Raises:
        NandlabError: as `code_limit`.
    """
    one = codec(code)
    if one.certain_errors is not None:
        return [0]
    return sorted(row["levels"] for row in _profile(one)["level"])


def failures_of_code(code: str | PathLike[str], *, levels: int = 0) -> tuple[Failures, int]:
    """Failures of a code, and its data bits: the curve on which `code_limit` finds its limit.

    Raises:
        NandlabError: as `code_limit`.
    """
    one = codec(code)
    [levels] = soft_levels(levels)
    if one.certain_errors is not None:
        ecc = Ecc(one.certain_errors, one.length, one.dimension)
        return failures_of(ecc), one.dimension
    (intercept, slope), _, _ = _waterfall(one, _profile(one), levels)

    def of_line(rber: Column) -> Column:
        import numpy as np
        from scipy.special import ndtr

        return np.asarray(ndtr(intercept + slope * np.log(rber)))

    return of_line, one.dimension


def _waterfall(one: Codec, profile: dict[str, Any], levels: int) -> tuple[Column, Column, float]:
    """The line of a profile, a root of its covariance, and the least UBER that was measured."""
    import numpy as np

    every = {row["levels"]: row for row in profile["level"]}
    if levels not in every:
        known = ", ".join(map(str, every))
        raise refusal("levels", f"{levels} were not measured for {one.name}", known)
    rows = every[levels]
    rber, frames, errors = (np.array(rows[name], float) for name in ("rber", "frames", "errors"))
    seen = np.flatnonzero(errors > 0)
    # One rate below the first failure tells where the line must be low.
    first = max(int(seen[0]) - 1, 0) if len(seen) else len(rber)
    counts = (np.arange(len(rber)) >= first) & (errors <= WATERFALL * frames)
    if (errors[counts] > 0).sum() < 2:
        raise refusal(
            "code",
            f"the profile of {one.name} has too few failures for a line",
            hint="measure at least two rates at which some codewords fail, but below a tenth",
        )
    least = float((errors[seen] / frames[seen]).min()) / one.dimension
    return *_line(np.log(rber[counts]), frames[counts], errors[counts]), least


def _measured(one: Codec, profile: dict[str, Any], levels: int, uber: float) -> CodeLimit:
    import numpy as np
    from scipy.special import ndtri

    at, root, least = _waterfall(one, profile, levels)
    goal = float(ndtri(uber * one.dimension))
    x = (goal - at[0]) / at[1]
    deviation = float(np.linalg.norm(root.T @ np.array([1.0, x]))) / abs(at[1])
    wide = -float(ndtri((1 - LEVEL) / 2)) * deviation
    low, middle, high = (math.exp(end) for end in (x - wide, x, x + wide))
    ecc = Ecc(0, one.length, one.dimension)
    measured = least if uber < least else None
    return CodeLimit(one.name, levels, ecc, uber, middle, low, high, measured)


def _line(x: Column, frames: Column, errors: Column) -> tuple[Column, Column]:
    """Intercept and slope of the probit over x, and a root of their covariance."""
    import numpy as np
    from scipy.optimize import minimize
    from scipy.special import log_ndtr, ndtr, ndtri
    from scipy.stats import norm

    middle = float(x.mean())
    basis = np.stack([np.ones_like(x), x - middle], axis=-1)

    def cost(u: Column) -> float:
        z = basis @ u
        return -float((errors * log_ndtr(z) + (frames - errors) * log_ndtr(-z)).sum())

    start = np.linalg.lstsq(basis, ndtri((errors + 0.5) / (frames + 1)), rcond=None)[0]
    options = {"xatol": 1e-9, "fatol": 1e-9, "maxiter": 4000}
    u = minimize(cost, start, method="Nelder-Mead", options=options).x
    z = basis @ u
    share = np.clip(ndtr(z), 1e-300, 1 - 1e-16)
    weight = frames * norm.pdf(z) ** 2 / (share * (1 - share))
    # A bend of the waterfall scatters more than counts do: the interval is as much wider.
    told = frames * share >= 1
    pearson = ((errors - frames * share) ** 2 / (frames * share * (1 - share)))[told].sum()
    scatter = max(float(pearson) / max(int(told.sum()) - 2, 1), 1.0)
    covariance = scatter * np.linalg.inv(basis.T @ (basis * weight[:, None]))
    # Back from the middle to x = 0.
    back = np.array([[1.0, -middle], [0.0, 1.0]])
    return back @ u, back @ np.linalg.cholesky(covariance)

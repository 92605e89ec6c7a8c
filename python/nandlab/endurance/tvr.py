"""Threshold voltage reduction (TVR): the gain of levels without a retention margin.

Wang, Xie, Zhou (ICS'14), section 5, equations 10 to 14, with equations 4 and 9. The paper
writes them for 2-bit cells; here a *page rule* says what is read and programmed, so that other
cells follow from the same three steps:

1. A page that is read at r references errs at 2r tails, each of a state that holds a share 1/S of
   the S states' cells. All tails of a page are taken as equal (eq. 12, 13), so the limit of the
   raw bit error rate gives one distance z in standard deviations: limit = (2r / S) Q(z). For
   2-bit cells that is (1/2) Q for the MSB page and Q for the LSB page (eq. 10, 11).
2. From the erased state upwards, each reference stands z sigma above the state below it, and
   each state z sigma above the reference below it.
3. A program takes the smallest whole number of steps above its farthest way (eq. 14).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from nandlab.display.notebook import InNotebook
from nandlab.given.arguments import number, numbers, path_or_none, several
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


class PageRule(NamedTuple):
    """What one page of a wordline reads and how far its program moves a cell."""

    name: str
    references: tuple[int, ...]
    """References that a read uses; reference i is between the states i and i + 1."""
    moves: tuple[tuple[int, int], ...]
    """Pairs of states, from and to, that its program moves cells between."""


MLC_RULE = (
    PageRule("MSB", references=(1,), moves=((0, 2),)),
    PageRule("LSB", references=(0, 2), moves=((0, 1), (2, 3))),
)
"""The 2-bit cell of the paper: '11', '10', '00', '01'; the MSB page is programmed first."""

MU_V = (-2.267, 1.29, 2.658, 4.03)
"""Derived, not printed: means with which eq. 8 and 14 give the printed lifetimes and steps."""

LEAST_RISE_V = 1e-9
"""Of a program step: far below any that there is, so that steps can be counted."""

SIGMA_V = (0.4217, 0.1085, 0.1085, 0.1085)
"""Derived from the printed distances at the printed limit of the error rate."""


class VoltageLaw(NamedTuple):
    """Errors by cycles and threshold voltage: Wang's equation 9, fitted to their chips.

    errors = (alpha_1 ln V + beta_1) exp((alpha_2 ln V + beta_2) N / 1e5) - 1 in `page_bits` bits,
    with V the mean of the programmed states in volts and N the cycles. That N counts 1e5 cycles,
    that the 1 stands outside, and the 16,384 bits are derived: with them, and no others that were
    tried, the paper's lifetimes follow.
    """

    alpha_1: float = -5e-4
    beta_1: float = 0.0019
    alpha_2: float = 0.036
    beta_2: float = 0.6616
    page_bits: int = 16384

    def errors(self, vth_v: float, pe_cycles: float) -> float:
        """Errors in a page; never below zero."""
        a, b = self._at(vth_v)
        return max(a * math.exp(b * pe_cycles / 1e5) - 1.0, 0.0)

    def pe_cycles(self, vth_v: float, rber: float) -> float:
        """Cycles after which the raw bit error rate is `rber`."""
        a, b = self._at(vth_v)
        return 1e5 * math.log((rber * self.page_bits + 1.0) / a) / b

    def speed(self, vth_v: float) -> float:
        """How fast errors grow with cycles: b of equation 7."""
        return self._at(vth_v)[1]

    def _at(self, vth_v: float) -> tuple[float, float]:
        if not vth_v > 0:
            raise refusal("tvr", f"vth_v = {vth_v:g}: out of range", "above 0 V")
        a = self.alpha_1 * math.log(vth_v) + self.beta_1
        b = self.alpha_2 * math.log(vth_v) + self.beta_2
        if a <= 0 or b <= 0:
            raise refusal(
                "tvr",
                f"the law does not grow at {vth_v:g} V (a = {a:g}, b = {b:g})",
                "voltages at which a and b are above 0",
            )
        return a, b


@dataclass(frozen=True)
class PageSteps:
    """ISPP steps of a page's program."""

    name: str
    way_v: float
    """The farthest that a cell is moved."""
    reduced_way_v: float
    steps: int
    reduced_steps: int


@dataclass(frozen=True)
class Tvr(InNotebook):
    """What threshold voltage reduction does to a distribution."""

    mu_v: tuple[float, ...]
    sigma_v: tuple[float, ...]
    rber_limit: float
    below_v: tuple[float, ...]
    """Distance of each reference above the state below it: Delta 0, 2, 4 of the paper."""
    above_v: tuple[float, ...]
    """Distance of each state above the reference below it: Delta 1, 3, 5 of the paper."""
    reduced_mu_v: tuple[float, ...]
    references_v: tuple[float, ...]
    """References between the reduced states."""
    pages: tuple[PageSteps, ...]
    pe_cycles: float
    """Cycles until the error rate reaches the limit, read at once."""
    reduced_pe_cycles: float
    coupling_v: float
    """Worst shift by the neighbours (eq. 4)."""
    reduced_coupling_v: float

    @property
    def steps(self) -> float:
        """Mean over the pages."""
        return sum(page.steps for page in self.pages) / len(self.pages)

    @property
    def reduced_steps(self) -> float:
        """Mean over the pages."""
        return sum(page.reduced_steps for page in self.pages) / len(self.pages)

    @property
    def program_time_change(self) -> float:
        """Relative: -0.5 is half the time."""
        return self.reduced_steps / self.steps - 1.0

    @property
    def life_change(self) -> float:
        """Relative change of the cycles."""
        return self.reduced_pe_cycles / self.pe_cycles - 1.0

    @property
    def coupling_change(self) -> float:
        """Relative change of the worst shift."""
        return self.reduced_coupling_v / self.coupling_v - 1.0

    def __repr__(self) -> str:
        steps = f"{self.steps:g} to {self.reduced_steps:g} steps"
        cycles = f"{self.pe_cycles:,.0f} to {self.reduced_pe_cycles:,.0f} cycles"
        return f"<tvr of {len(self.mu_v)} levels: {steps}, {cycles}>"

    def __str__(self) -> str:
        """A table for people."""
        rows: list[tuple[str, str | float, str | float]] = [
            ("levels (V)", _list(self.mu_v), _list(self.reduced_mu_v)),
            *(
                (f"{page.name} page, largest distance (V)", page.way_v, page.reduced_way_v)
                for page in self.pages
            ),
            *((f"{page.name} page, steps", page.steps, page.reduced_steps) for page in self.pages),
            ("steps, mean", self.steps, self.reduced_steps),
            ("cycles to the limit", self.pe_cycles, self.reduced_pe_cycles),
            ("worst coupling (V)", self.coupling_v, self.reduced_coupling_v),
        ]
        lines = [f"{'':28} {'original':>26} {'reduced':>26}"]
        for name, before, after in rows:
            lines.append(f"{name:28} {_figure(before):>26} {_figure(after):>26}")
        if {page.name for page in self.pages} == {"MSB", "LSB"}:
            lines += ["", "the paper calls the lower page MSB and the upper page LSB"]
        return "\n".join(lines)

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Both distributions, one above the other, also written to `path`."""
        from nandlab.endurance.tvr_plot import plot_tvr

        return plot_tvr(self, path_or_none("plot", path))


@names_checked
def tvr(
    mu_v: ArrayLike = MU_V,
    sigma_v: ArrayLike = SIGMA_V,
    *,
    rber_limit: float = 4.5e-4,
    rule: Sequence[PageRule] = MLC_RULE,
    step_v: float = 0.2,
    beta: float = 1.14,
    law: VoltageLaw | None = None,
    coupling_bitline: float = 0.02,
    coupling_wordline: float = 0.006,
) -> Tvr:
    """Shrinks the margins of a distribution until reads at once just keep to the limit.

    Args:
        mu_v: mean threshold voltage of each state, the erased one first.
        sigma_v: standard deviation of each.
        rber_limit: raw bit error rate that the ECC still corrects.
        rule: references and moves of each page of a wordline.
        step_v: program step of the ISPP.
        beta: share of a step by which the threshold rises (eq. 1).
        law: errors by cycles and voltage; default: eq. 8 of the paper.
        coupling_bitline: coupling ratio of a neighbour on the same bitline (eq. 3).
        coupling_wordline: coupling ratio of each neighbour on the same wordline.

    Raises:
        NandlabError: levels that do not rise, or that are too close for the limit already, a width
            or limit out of range, a rule for other states; programmed levels whose mean is not
            above 0 V, as they are or reduced: eq. 8 takes its logarithm.
    """
    mu, sigma = tuple(numbers("tvr: mu_v", mu_v)), tuple(numbers("tvr: sigma_v", sigma_v))
    rber_limit = number("tvr: rber_limit", rber_limit)
    step_v, beta = number("tvr: step_v", step_v), number("tvr: beta", beta)
    coupling_bitline = number("tvr: coupling_bitline", coupling_bitline)
    coupling_wordline = number("tvr: coupling_wordline", coupling_wordline)
    rule = several("tvr: rule", rule)
    law = VoltageLaw() if law is None else law
    for value, kind in ((law, VoltageLaw), *((page, PageRule) for page in rule)):
        if not isinstance(value, kind):
            raise refusal("tvr", f"{value!r}", f"a {kind.__name__} of nandlab.tvr")
    _check(mu, sigma, rber_limit, rule)
    for name, value in (("step_v", step_v), ("beta", beta)):
        if not (value > 0 and math.isfinite(value)):
            raise refusal("tvr", f"{name} = {value:g}: out of range", "above 0")
    if beta * step_v < LEAST_RISE_V:
        raise refusal(
            "tvr",
            f"step_v = {step_v:g}: a step raises by {beta * step_v:g} V",
            f"beta x step_v of at least {LEAST_RISE_V:g} V",
        )
    for name, value in (
        ("coupling_bitline", coupling_bitline),
        ("coupling_wordline", coupling_wordline),
    ):
        if not (0 <= value < 1):
            raise refusal("tvr", f"{name} = {value:g}: out of range", "0 to below 1")
    z = _distances(len(mu), rber_limit, rule)
    below = tuple(z[i] * sigma[i] for i in range(len(z)))
    above = tuple(z[i] * sigma[i + 1] for i in range(len(z)))
    reduced, references = [mu[0]], []
    for down, up in zip(below, above, strict=True):
        references.append(reduced[-1] + down)
        reduced.append(references[-1] + up)
        i = len(reduced) - 1
        if reduced[i] > mu[i] + 1e-9:
            rise = f"state {i} would rise to {reduced[i]:.2f} V, so no margin is left"
            raise refusal(
                "tvr",
                f"mu_v = {_list(mu)}: {rise}",
                hint="use levels farther apart, a smaller sigma_v or a higher rber_limit",
            )
    vth_v, reduced_vth_v = _programmed(mu), _programmed(reduced)
    for which, volts, change in (
        ("", vth_v, "higher programmed levels"),
        ("reduced ", reduced_vth_v, "a higher erased level, a greater sigma_v, a lower rber_limit"),
    ):
        if not volts > 0:
            mean = f"the {which}programmed levels have a mean of {volts:.2f} V"
            raise refusal(
                "tvr",
                f"{mean}, and eq. 8 takes its logarithm",
                f"above 0 V: {change}",
            )
    coupling = coupling_bitline + 2 * coupling_wordline
    return Tvr(
        mu_v=mu,
        sigma_v=sigma,
        rber_limit=rber_limit,
        below_v=below,
        above_v=above,
        reduced_mu_v=tuple(reduced),
        references_v=tuple(references),
        pages=tuple(_steps(page, mu, reduced, beta * step_v) for page in rule),
        pe_cycles=law.pe_cycles(vth_v, rber_limit),
        reduced_pe_cycles=law.pe_cycles(reduced_vth_v, rber_limit),
        coupling_v=coupling * (mu[-1] - mu[0]),
        reduced_coupling_v=coupling * (reduced[-1] - reduced[0]),
    )


def margins(
    mu: Sequence[float], sigma: Sequence[float], rber_limit: float, rule: Sequence[PageRule]
) -> tuple[list[float], list[float]]:
    """Distances in deviations at the limit, and what is left between neighbours beside them.

    Raises:
        NandlabError: as for `tvr`; a margin that is below zero already.
    """
    _check(tuple(mu), tuple(sigma), rber_limit, rule)
    z = _distances(len(mu), rber_limit, rule)
    left = [mu[i + 1] - mu[i] - z[i] * (sigma[i] + sigma[i + 1]) for i in range(len(z))]
    for i, margin in enumerate(left):
        if margin < 0:
            raise refusal(
                "tvr",
                f"states {i} and {i + 1} are {-margin:.2f} V too close, so no margin is left",
                hint="use levels farther apart, a smaller sigma_v or a higher rber_limit",
            )
    return z, left


def coupling_shift_v(bitline: float, wordline: float, swing_v: float) -> float:
    """Worst shift of a cell by its neighbours, for the greatest swing of theirs (eq. 4)."""
    return (bitline + 2 * wordline) * swing_v


def _check(
    mu: tuple[float, ...], sigma: tuple[float, ...], limit: float, rule: Sequence[PageRule]
) -> None:
    if len(mu) < 2 or len(mu) != len(sigma):
        raise refusal(
            "tvr",
            f"{len(mu)} means and {len(sigma)} deviations",
            "one of each for every state, at least two",
        )
    if not all(map(math.isfinite, mu)) or any(b <= a for a, b in pairwise(mu)):
        raise refusal("tvr", f"mu_v = {_list(mu)}: out of order", "rising means")
    if not all(0 < s < math.inf for s in sigma):
        raise refusal("tvr", f"sigma_v = {_list(sigma)}: out of range", "above 0 V")
    if not 0 < limit < 0.5:
        raise refusal("tvr", f"rber_limit = {limit:g}: out of range", "0 to 0.5")
    used = sorted(reference for page in rule for reference in page.references)
    if used != list(range(len(mu) - 1)):
        raise refusal(
            "tvr",
            f"the rule uses the references {used} with {len(mu)} states",
            f"each reference from 0 to {len(mu) - 2} once",
        )
    for page in rule:
        for low, high in page.moves:
            if not 0 <= low < high < len(mu):
                raise refusal(
                    "tvr",
                    f"page {page.name} moves cells from state {low} to state {high}",
                    f"upwards within 0 to {len(mu) - 1}",
                )


def _distances(states: int, limit: float, rule: Sequence[PageRule]) -> list[float]:
    """Of each reference from its states, in standard deviations (eq. 10 to 13)."""
    z = [0.0] * (states - 1)
    for page in rule:
        tail = limit * states / (2 * len(page.references))
        if tail >= 0.5:
            problem = f"rber_limit = {limit:g} is too high for page {page.name}"
            most = len(page.references) / states
            raise refusal("tvr", problem, f"below {most:g}")
        for reference in page.references:
            z[reference] = -NormalDist().inv_cdf(tail)
    return z


def _steps(
    page: PageRule, mu: Sequence[float], reduced: Sequence[float], rise_v: float
) -> PageSteps:
    """Whole steps for the farthest way (eq. 14)."""
    way = max(mu[high] - mu[low] for low, high in page.moves)
    reduced_way = max(reduced[high] - reduced[low] for low, high in page.moves)
    steps, reduced_steps = (
        # A way of whole steps takes no step more because its quotient was rounded up.
        math.ceil(far / rise_v - 1e-9)
        for far in (way, reduced_way)
    )
    return PageSteps(page.name, way, reduced_way, steps, reduced_steps)


def _programmed(mu: Sequence[float]) -> float:
    """Mean of the programmed states, which eq. 8 takes as its voltage."""
    return sum(mu[1:]) / (len(mu) - 1)


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _figure(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"

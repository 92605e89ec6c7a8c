"""Comparison of runs: ratios of their figures to those of the first group, with intervals.

The interval of a ratio is of the logarithm of two independent means (delta method, Student's t
with the degrees of freedom of Welch and Satterthwaite). It needs two replicates in both groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab.compare.groups import Group, groups, notices
from nandlab.display.notebook import InNotebook
from nandlab.display.sheet import KINDS, write_sheet
from nandlab.drive.trust.figures import figure, is_number
from nandlab.given.arguments import as_text, flag, listed, path_of, path_or_none
from nandlab.given.names import names_checked
from nandlab.given.outputs import check_kind
from nandlab.given.refusal import refusal
from nandlab.report import key_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nandlab.report.tables import Operation, Report

CONFIDENCE = 0.95
"""Of every interval."""


class Measure(NamedTuple):
    """A figure of a report."""

    name: str
    key: Callable[[Report], object]
    """Reads its key."""
    is_high_good: bool | None
    """None where neither is better."""

    @property
    def path(self) -> str:
        """Path of its key."""
        return key_path(self.key)


def _latencies(name: str, of: Callable[[Report], Operation]) -> list[Measure]:
    return [
        Measure(f"{name} IOPS", lambda report: of(report).iops, True),
        Measure(f"{name} mean (us)", lambda report: of(report).latency_us.mean, False),
        Measure(f"{name} p50 (us)", lambda report: of(report).latency_us.p50, False),
        Measure(f"{name} p99 (us)", lambda report: of(report).latency_us.p99, False),
        Measure(f"{name} p99.9 (us)", lambda report: of(report).latency_us.p99_9, False),
        Measure(f"{name} p99.99 (us)", lambda report: of(report).latency_us.p99_99, False),
    ]


def _start_up(report: Report) -> object:
    return report.power and report.power.start_up and report.power.start_up.time_s


def _read_in_windows(report: Report) -> object:
    return report.windows and report.windows.inside.read.latency_us.p99_9


MEASURES = (
    Measure("IOPS", lambda report: report.host.iops, True),
    Measure("bandwidth (MB/s)", lambda report: report.host.bandwidth_mb_s, True),
    *_latencies("read", lambda report: report.host.read),
    *_latencies("write", lambda report: report.host.write),
    Measure("write amplification", lambda report: report.ftl.write_amplification, False),
    Measure("erases", lambda report: report.nand.erases, False),
    Measure("energy of the flash (uJ)", lambda report: report.nand.energy_uj, False),
    Measure("uncorrectable codewords", lambda report: report.ecc.uncorrectable, False),
    Measure("controller memory (bytes)", lambda report: report.ftl.ram_bytes.total, False),
    Measure("start-up (s)", _start_up, False),
    Measure("windows kept", lambda report: report.windows and report.windows.kept, True),
    Measure("read p99.9 in windows (us)", _read_in_windows, False),
    Measure("capacity (bytes)", lambda report: report.nandlab.capacity_bytes, True),
)
"""Figures that are compared, in this order; those that are 0 everywhere are left out."""


ROWS = (
    *("figure", "path", "group"),
    *(f"{name}{end}" for name in ("base", "value") for end in ("", "_low", "_high", "_few_beyond")),
    *("base_replicates", "replicates", "ratio", "ratio_low", "ratio_high", "verdict"),
)
"""Keys of a row of a comparison."""


class Estimate(NamedTuple):
    """A mean, with the number of values and their standard deviation."""

    mean: float
    replicates: int
    deviation: float | None
    """None of one value."""
    few_beyond: bool = False
    """A percentile that fewer than ten requests of a replicate exceed."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval of the mean; None of one value."""
        return None if self.deviation is None else self.mean - half_interval(self)

    @property
    def high(self) -> float | None:
        """The upper end of it."""
        return None if self.deviation is None else self.mean + half_interval(self)


class Ratio(NamedTuple):
    """A ratio of means, with an interval where there are replicates."""

    value: float | None
    """None of or to 0."""
    low: float | None
    high: float | None

    @property
    def is_different(self) -> bool | None:
        """Whether the interval leaves 1 out; None without an interval."""
        if self.low is None or self.high is None:
            return None
        return not self.low <= 1 <= self.high


class Comparison(InNotebook):
    """Groups of runs side by side; the first one is what the others are compared with."""

    def __init__(self, found: list[Group]) -> None:
        self.groups = found
        """The groups."""

    @property
    def names(self) -> list[str]:
        """Of the groups, by what differs."""
        return [group.name for group in self.groups]

    def rows(self) -> list[dict[str, Any]]:
        """One row for each figure and each group but the first, with the figures of both.

        `base` and `value` are means with `_low` and `_high`, None where a run has no such figure,
        and with `_few_beyond`: a percentile that fewer than ten requests of a run exceed. `ratio`,
        `ratio_low`, `ratio_high`; `verdict` is ``better``, ``worse``, ``same`` (the interval holds
        1), or empty without an interval.
        """
        result = []
        for measure in MEASURES:
            estimates = [estimate(group.reports, measure.key) for group in self.groups]
            if all(one is None or one.mean == 0 for one in estimates):
                continue
            base = estimates[0]
            for group, one in zip(self.groups[1:], estimates[1:], strict=True):
                found = ratio(base, one)
                result.append(
                    {
                        "figure": measure.name,
                        "path": measure.path,
                        "group": group.name,
                        **_said("base", base),
                        **_said("value", one),
                        "base_replicates": len(self.groups[0].reports),
                        "replicates": len(group.reports),
                        "ratio": found.value,
                        "ratio_low": found.low,
                        "ratio_high": found.high,
                        "verdict": verdict(measure, found),
                    }
                )
        return result

    def lines(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of each figure, by its name."""
        result: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows():
            result.setdefault(row["figure"], []).append(row)
        return result

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the table to a file.

        Args:
            path: ``.csv`` has the rows of `rows`. ``.tex`` is the table for a paper, with
                intervals, for the package ``booktabs``.

        Raises:
            NandlabError: another kind of file.
            OSError: it cannot be written.
        """
        from nandlab.compare.table import sheet

        file = path_of("write", path)
        check_kind("write", file, KINDS)
        write_sheet(file, sheet(self), ROWS, self.rows())

    def notices(self) -> list[str]:
        """What the reports say against their own figures: failed checks and notices, by file."""
        return [text for group in self.groups for text in notices(group)]

    def to_dict(self) -> dict[str, Any]:
        """All numbers."""
        about = [
            {
                "name": group.name,
                "files": list(dict.fromkeys(group.files)),
                "replicates": len(group.reports),
                "notices": notices(group),
            }
            for group in self.groups
        ]
        return {"groups": about, "rows": self.rows()}

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Latency over percentiles, a curve for each group, also written to `path`.

        Raises:
            NandlabError: another kind of file, or too many groups.
            OSError: it cannot be written.
        """
        from nandlab.compare.picture import plot_comparison

        return plot_comparison(self, path_or_none("plot", path))

    def __repr__(self) -> str:
        return f"<comparison of {len(self.groups)} groups: {'; '.join(self.names)}>"

    def __str__(self) -> str:
        from nandlab.compare.table import text

        return text(self)


@names_checked
def compare(
    reports: Sequence[str | PathLike[str] | dict[str, Any] | Any],
    *,
    each: bool = False,
    labels: Sequence[str] | None = None,
) -> Comparison:
    """Compares runs: ratios of their figures to those of the first.

    Reports that differ in their seed alone are replicates of one group; ratios of groups with
    replicates have intervals.

    Args:
        reports: of ``nandlab run --json`` by their paths, as dictionaries, or results.
        each: compares every report by itself.
        labels: names of the groups, in their order; what differs in them, if left out.

    Raises:
        NandlabError: a file is no report; fewer than two groups; not one label for each group.

    >>> print(nandlab.compare(["greedy.json", "fifo.json"]))
    """
    found = groups(reports, is_each=flag("each", each))
    return Comparison(found if labels is None else _labelled(found, labels))


def _labelled(found: list[Group], labels: Sequence[str]) -> list[Group]:
    """The groups with other names.

    Raises:
        NandlabError: not one for each group, or one that comes twice.
    """
    given = [as_text("label", one) for one in listed("label", labels, "texts, in a list")]
    if len(given) != len(found):
        names = ", ".join(group.name for group in found)
        raise refusal("label", f"{len(given)} labels", f"{len(found)}, one for each of: {names}")
    for index, name in enumerate(given):
        if not name.strip() or name in given[:index]:
            raise refusal("label", f"`{name}`", "a name for each group, no two the same")
    return [group._replace(name=name) for group, name in zip(found, given, strict=True)]


def estimate(reports: Sequence[Report], key: Callable[[Report], object]) -> Estimate | None:
    """The mean of the figure at a key over replicates; None where one of them lacks it."""
    path = key_path(key).split(".")
    found = [figure(report, path) for report in reports]
    values = [float(one.value) for one in found if is_number(one.value)]
    if len(values) < len(found):
        return None
    few_beyond = any(one.few_beyond for one in found)
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return Estimate(mean, 1, None, few_beyond)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return Estimate(mean, len(values), math.sqrt(variance), few_beyond)


def _said(name: str, one: Estimate | None) -> dict[str, Any]:
    """A mean as a row has it."""
    return {
        name: None if one is None else one.mean,
        f"{name}_low": None if one is None else one.low,
        f"{name}_high": None if one is None else one.high,
        f"{name}_few_beyond": one is not None and one.few_beyond,
    }


def half_interval(one: Estimate) -> float:
    """Half of the interval of a mean; 0 of one value."""
    if one.deviation is None:
        return 0.0
    return _factor(one.replicates - 1) * one.deviation / math.sqrt(one.replicates)


def _factor(freedom: float) -> float:
    """Student's, for the confidence of the intervals."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def ratio(base: Estimate | None, other: Estimate | None) -> Ratio:
    """The ratio of two means."""
    if base is None or other is None or base.mean <= 0 or other.mean <= 0:
        return Ratio(None, None, None)
    value = other.mean / base.mean
    if base.deviation is None or other.deviation is None:
        return Ratio(value, None, None)
    parts = [(one.deviation or 0.0) ** 2 / one.replicates / one.mean**2 for one in (base, other)]
    total = sum(parts)
    if total == 0:
        return Ratio(value, value, value)
    freedom = total**2 / sum(
        part**2 / (one.replicates - 1) for part, one in zip(parts, (base, other), strict=True)
    )
    factor = math.exp(_factor(freedom) * math.sqrt(total))
    return Ratio(value, value / factor, value * factor)


def verdict(measure: Measure, found: Ratio) -> str:
    """What a ratio says, in a word."""
    if found.is_different is None or found.value is None:
        return ""
    if not found.is_different:
        return "same"
    if measure.is_high_good is None:
        return "different"
    return "better" if (found.value > 1) == measure.is_high_good else "worse"

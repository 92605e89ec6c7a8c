"""Pace of a life: how much the host writes in a day, and how the jobs share that."""

from __future__ import annotations

import re

from nandlab.given.arguments import number
from nandlab.given.refusal import refusal
from nandlab.report import Report

HOURS_PER_YEAR = 8760.0

_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([kmgtp]?)(i?)b?\s*", re.IGNORECASE)


def bytes_of(place: str, given: object) -> float:
    """A size in bytes: a number, or a text as ``20GB`` or ``64GiB``.

    Raises:
        NandlabError: it is neither, or not above 0.
    """
    if isinstance(given, str):
        found = _SIZE.fullmatch(given)
        if found is None:
            raise refusal(place, repr(given), "a size, as 20GB, 64GiB or 5e10")
        base = 1024 if found[3] else 1000
        size = float(found[1]) * float(base ** " kmgtp".index(found[2].lower() or " "))
    else:
        size = number(place, given)
    if not 0 < size < 1e24:
        raise refusal(place, f"{given!r}: out of range", "more than 0 bytes")
    return size


class Pace:
    """Bytes that the host writes in an hour of calendar time."""

    def __init__(
        self, writes_per_day: str | float | None, dwpd: float | None, capacity_bytes: int
    ) -> None:
        """By a size a day, by drive writes a day, or by the run of each window."""
        if writes_per_day is not None and dwpd is not None:
            raise refusal("life", "writes_per_day and dwpd are both given", hint="give one of them")
        self._given: float | None = None
        if writes_per_day is not None:
            self._given = bytes_of("writes_per_day", writes_per_day) / 24
        if dwpd is not None:
            each = number("dwpd", dwpd)
            if not 0 < each < 1e6:
                raise refusal("dwpd", f"{each:g}: out of range", "above 0")
            self._given = each * capacity_bytes / 24

    @property
    def said(self) -> str:
        """Where the rate comes from."""
        return "of its runs" if self._given is None else "given"

    def bytes_per_hour(self, report: Report) -> float:
        """The rate, from the report of a run where none is given.

        Raises:
            NandlabError: the run has written nothing.
        """
        if self._given is not None:
            return self._given
        seconds, written = report.sim.simulated_s, report.host.write.bytes
        if not written or not seconds:
            raise refusal("life", "the workload writes nothing", hint="use one that writes")
        return written / seconds * 3600


def shares_of(report: Report) -> list[float]:
    """Bytes that each job of a run has written and trimmed.

    Raises:
        NandlabError: no job has written anything.
    """
    shares = [float(job.write.io_bytes + job.trim.io_bytes) for job in report.jobs]
    if not any(float(job.write.io_bytes) for job in report.jobs):
        raise refusal("life", "the workload writes nothing", hint="use one that writes")
    return shares

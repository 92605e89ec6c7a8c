"""Jobs of a fio job file as checks see them: options with their lines, kinds of requests, bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_SAME = {
    "readwrite": "rw",
    "blocksize": "bs",
    "blocksize_range": "bsrange",
    "ba": "blockalign",
    "io_limit": "io_size",
    "timeout": "runtime",
    "filesize": "size",
}
"""Other names of options."""

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

_PACES = ("rate", "rate_iops", "thinktime")
"""Options that send requests at times of their own."""


@dataclass(frozen=True)
class Job:
    """One job, with what ``[global]`` gives it."""

    name: str
    options: Mapping[str, str]
    lines: Mapping[str, int] = field(default_factory=dict)
    """Where an option stands; none for those of a report."""
    line: int = 0
    """Where the job begins."""

    def at(self, option: str) -> int:
        """The line of an option, or of the job."""
        return self.lines.get(option, self.line)

    @property
    def rw(self) -> str:
        """What it does, without a burst length."""
        return self.options.get("rw", "read").partition(":")[0]

    @property
    def is_replay(self) -> bool:
        """Whether it sends a trace."""
        return "read_iolog" in self.options

    @property
    def reads(self) -> bool:
        """Whether it reads."""
        return not self.is_replay and self.rw in ("read", "randread", "rw", "readwrite", "randrw")

    @property
    def writes(self) -> bool:
        """Whether it writes."""
        return not self.is_replay and ("write" in self.rw or self.rw in ("rw", "randrw"))

    @property
    def is_random(self) -> bool:
        """Whether its addresses are drawn."""
        return not self.is_replay and self.rw.startswith("rand")

    @property
    def is_closed(self) -> bool:
        """Whether a request is only sent when another one completes."""
        return not self.is_replay and not any(pace in self.options for pace in _PACES)

    @property
    def is_uniform(self) -> bool:
        """Whether it draws each address of its part of the drive alike."""
        uniform = self.options.get("random_distribution", "random").startswith("random")
        return self.is_random and uniform and "percentage_random" not in self.options

    @property
    def is_over_all(self) -> bool:
        """Whether it draws from the whole drive, each address alike."""
        narrow = ("size", "offset", "zonemode")
        return self.is_uniform and not any(one in self.options for one in narrow)

    def number(self, option: str, default: int) -> int:
        """A whole number; the default for any other form."""
        text = self.options.get(option, "")
        found = in_bytes(text)
        return default if found is None else found

    def span_bytes(self, capacity: int) -> float:
        """Bytes of a drive that its addresses lie in: all of it where that is not certain."""
        if "filename" in self.options or "zonemode" in self.options:
            return capacity
        size = in_bytes(self.options.get("size", ""), capacity)
        return capacity if not size else min(size, capacity)

    def written_bytes(self, capacity: int) -> float | None:
        """Bytes that it writes to a drive; None where that is not certain."""
        if self.is_replay or "time_based" in self.options or "bssplit" in self.options:
            return None
        if "bsrange" in self.options:
            return None
        share = 1.0
        if self.rw in ("rw", "readwrite", "randrw"):
            share = 1 - self.number("rwmixread", 50) / 100
            if "rwmixwrite" in self.options:
                share = self.number("rwmixwrite", 50) / 100
        of_writes = self.options.get("bs", "4k").split(",")
        size = in_bytes(of_writes[min(1, len(of_writes) - 1)])
        loops, clones = self.number("loops", 1), self.number("numjobs", 1)
        if "number_ios" in self.options and size is not None:
            return share * self.number("number_ios", 0) * size * loops * clones
        for option in ("io_size", "size"):
            if option in self.options:
                total = in_bytes(self.options[option], capacity)
                return None if total is None else share * total * loops * clones
        return share * capacity * loops * clones


def jobs_of(text: str) -> list[Job]:
    """The jobs of a job file that the engine takes, in their order."""
    found: list[Job] = []
    shared: dict[str, str] = {}
    shared_lines: dict[str, int] = {}
    options, lines = shared, shared_lines
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.lstrip("\ufeff").partition(";")[0].partition("#")[0].strip()
        if bare.startswith("["):
            name = bare.partition("]")[0].lstrip("[").strip()
            if name == "global":
                options, lines = shared, shared_lines
            else:
                options, lines = dict(shared), dict(shared_lines)
                found.append(Job(name, options, lines, number))
        elif bare:
            name, _, value = (part.strip() for part in bare.partition("="))
            name = _SAME.get(name, name)
            options[name] = value
            lines[name] = number
    return found


def job_of(name: str, options: Mapping[str, str]) -> Job:
    """A job from the options that a report has of it."""
    return Job(name, {_SAME.get(option, option): value for option, value in options.items()})


def in_bytes(text: str, whole: int | None = None) -> int | None:
    """A number with fio's suffix, or a percentage of `whole`; None for any other form."""
    said = text.strip().lower()
    if whole is not None and re.fullmatch(r"\d+(\.\d+)?%", said):
        return int(float(said[:-1]) * whole / 100)
    form = re.fullmatch(r"(\d+)([kmgt]?)(i?b)?", said)
    return None if form is None else int(form[1]) * _UNITS[form[2]]

"""What checks look at: a file with its drive, run, jobs, axes, columns or report."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nandlab.catalogue import Config
from nandlab.lint.jobs import Job
from nandlab.process.memory import memory_limit_bytes
from nandlab.report import Report
from nandlab.study.given import Given

PAGE_MAPPED = ("page", "dftl", "learned", "sepbit", "slc_cache", "frozen", "wom")
"""FTLs that write any page to any place."""


@dataclass(frozen=True)
class Run:
    """The run that a file plans."""

    precondition: str
    skip: str | None
    until: str | None
    is_trace: bool = False

    @property
    def settles(self) -> bool:
        """Whether it goes on until the drive has settled."""
        return self.until is not None and self.until.startswith(("settled", "pts"))


@dataclass(frozen=True)
class Subject:
    """One input of the linter."""

    kind: str
    """Of `nandlab.lint.check.KINDS`."""
    place: str
    """What messages call it."""
    text: str = ""
    """Of the file; empty where there is none."""
    drive: Config | None = None
    run: Run | None = None
    jobs: list[Job] = field(default_factory=list)
    jobs_place: str = ""
    """The file of the jobs."""
    study: Given | None = None
    report: Report | None = None

    @property
    def config(self) -> dict[str, Any]:
        """Every parameter of the drive; empty without one."""
        return {} if self.drive is None else self.drive.config

    def value(self, path: str) -> Any:
        """A parameter of the drive by its path; None where its members do not have it."""
        found: Any = self.config
        for key in path.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def is_given(self, path: str) -> bool:
        """Whether a file or an assignment gives this key, and it is not a default."""
        return self.drive is not None and self.drive.native.origin(path) is not None

    def is_varied(self, *beginnings: str) -> bool:
        """Whether an axis of the study changes a path that begins so."""
        return any(path.startswith(beginnings) for path in self.axes)

    @cached_property
    def axes(self) -> list[str]:
        """Paths that the axes of the study change."""
        found: list[str] = []
        for one in self.study.axes if self.study is not None else []:
            variants = (one.variants or {}).values()
            found += [one.path] if one.variants is None else [key for of in variants for key in of]
        return list(dict.fromkeys(found))

    @property
    def capacity_bytes(self) -> float:
        """Bytes that the host sees, up to what the FTL rounds."""
        geometry, drive = self.config["chip"]["geometry"], self.config["drive"]
        planes = drive["channels"] * drive["dies_per_channel"] * geometry["planes_per_die"]
        good = geometry["blocks_per_plane"] * (1 - geometry["bad_block_fraction"])
        block = geometry["pages_per_block"] * geometry["page_bytes"]
        return float(planes * good * block / (1 + self.config["ftl"]["overprovisioning"]))

    @cached_property
    def needs(self) -> tuple[int, int, int]:
        """Bytes that the host sees, memory of the FTL, and its bytes beside the data of a page.

        Of a drive of terabytes that takes seconds.
        """
        if self.drive is None:
            return 0, 0, 0
        capacity, ram, spare = self.drive.native.ftl_needs(memory_limit_bytes())
        return capacity, sum(size for _, size in ram), spare

    def at(self, path: str) -> str:
        """Where a parameter of the drive is given: file and line."""
        origin = None if self.drive is None else self.drive.native.origin(path)
        if origin is None:
            return self.place
        if origin.startswith("--set "):
            return self.line(path) or self.line(path.rpartition(".")[2]) or self.place
        return self.place if origin == "drive" else origin

    def line(self, key: str, table: str = "") -> str:
        """Where the text gives a key, in a table if one is named; empty where it does not."""
        inside = table == ""
        form = rf"\s*[\"']?{re.escape(key)}[\"']?\s*="
        for number, line in enumerate(self.text.splitlines(), 1):
            if header := re.match(r"\s*\[+([^\]]*)\]", line):
                inside = table in ("", header[1].strip())
            elif inside and re.match(form, line):
                return f"{self.place}:{number}"
        return ""

    def of_run(self, key: str) -> str:
        """Where the ``[run]`` table gives a key, or begins, or else the file."""
        found = self.line(key, "run")
        for number, line in enumerate(self.text.splitlines(), 1):
            if not found and re.match(r"\s*\[run\]", line):
                found = f"{self.place}:{number}"
        return found or self.place

    def of_axis(self, path: str) -> str:
        """Where an axis names a path."""
        for number, line in enumerate(self.text.splitlines(), 1):
            if re.search(rf"[\"']{re.escape(path)}[\"']", line.partition("#")[0]):
                return f"{self.place}:{number}"
        return self.place

    def of_job(self, job: Job, option: str) -> str:
        """Where a job gives an option, or begins."""
        line = job.at(option)
        return f"{self.jobs_place}:{line}" if line and self.jobs_place else self.place

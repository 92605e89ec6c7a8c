"""Memory of the machine and of this process: the limit and the peak use."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_SHARE = 0.9
"""Share of the available memory that a drive may take; the rest is for results."""

_processes = 1
"""Processes like this one that take their part of the memory."""


def share_memory(processes: int) -> None:
    """From now on this process takes its part of the memory only, as one of so many."""
    global _processes
    _processes = max(processes, 1)


def memory_limit_bytes() -> int:
    """Bytes that a drive may take: nine tenths of what is available now, or its part of that."""
    known = [size for size in (_free_bytes(), *_group_bytes(), *_own_bytes()) if size is not None]
    return int(_SHARE * min(known)) // _processes if known else 2**63 - 1


def _free_bytes() -> int | None:
    """Available memory of the machine; all of it where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return None


class _Names(NamedTuple):
    """Files of a control group's folder, and what its counts call files that can be dropped."""

    limit: str
    used: str
    droppable: str


_SECOND = _Names("memory.max", "memory.current", "inactive_file")
_FIRST = _Names("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def _group_bytes(
    listed: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> Iterator[int | None]:
    """What the control groups of this process leave: its own, and those around it.

    Both versions of groups are looked at. In a container the path may be the host's; its own
    group is the root there.
    """
    try:
        lines = listed.read_text().splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        names = _FIRST if controllers else _SECOND
        top = root / "memory" if controllers else root
        own = top / path.strip("/")
        for folder in (own, *own.parents):
            if folder.is_relative_to(top):
                yield _left(folder, names)


def _left(folder: Path, names: _Names) -> int | None:
    """What a control group leaves, where it sets a limit."""
    try:
        limit = int((folder / names.limit).read_text())
        used = int((folder / names.used).read_text())
        counts = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
        droppable = sum(int(count) for name, count in counts if name == names.droppable)
    except (OSError, ValueError):
        return None
    return max(limit - max(used - droppable, 0), 0)


def _own_bytes() -> Iterator[int | None]:
    """What the limits of this process leave (`ulimit -v`, `ulimit -d`)."""
    try:
        import resource

        pages = [int(word) for word in Path("/proc/self/statm").read_text().split()]
    except (ImportError, OSError, ValueError):
        return
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    for kind, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            yield max(limit - used * page_bytes, 0)


def peak_rss_mb() -> float:
    """Peak memory of this process in 10^6 bytes; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6

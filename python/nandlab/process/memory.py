"""Memory of the machine and of this process: what may be used, what was used."""

import os
import sys
from pathlib import Path

_SHARE = 0.9
"""Share of the available memory that a drive may take; the rest is for results."""


def memory_limit_bytes() -> int:
    """Bytes that a drive may take: nine tenths of what is available now."""
    known = [size for size in (_free_bytes(), _container_bytes()) if size is not None]
    return int(_SHARE * min(known)) if known else 2**63 - 1


def _free_bytes() -> int | None:
    """Available memory of the machine; all of it where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return None


def _container_bytes() -> int | None:
    """What the control group (a container) leaves, where it sets a limit."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = int((folder / "memory.max").read_text())
        return max(limit - int((folder / "memory.current").read_text()), 0)
    except (OSError, ValueError):
        return None


def peak_rss_mb() -> float:
    """Peak memory of this process in 10^6 bytes; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6

"""A database on a worn QLC drive: SQLite on ext4 on `nandlab.serve`, before and after two years.

    sudo python examples/device/worn_database.py [PICTURE]

Prints a table, and draws the times of queries and commits (worn_database.png). Needs root, /dev/fuse, loop
devices, e2fsprogs and nbdfuse (Debian: libnbd-bin, fuse3). It takes some minutes.
"""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import nandlab

ROWS = 60_000
QUERIES = 2_000
COMMITS = 200

#: A QLC drive with few blocks, whose codewords are real.
DRIVE = {
    "chip.geometry.blocks_per_plane": 24,
    "ftl.overprovisioning": 1.0,
    "ecc.model": "exact",
}

#: Cycles of all blocks, and the hours without power that follow.
STATES = {
    "fresh": (0, [0]),
    "worn": (1000, [0, 24 * 365, 24 * 365, 24 * 365]),
}


@dataclass
class Times:
    """What a state of the drive did to a database."""

    name: str
    queries_ms: list[float] = field(default_factory=list)
    commits_ms: list[float] = field(default_factory=list)
    refused: int = 0

    def row(self) -> str:
        """A row of the table."""
        query, commit = np.array(self.queries_ms or [np.nan]), np.array(self.commits_ms or [np.nan])
        figures = [*np.percentile(query, (50, 99)), query.max(), *np.percentile(commit, (50, 99))]
        return f"{self.name:<22}" + "".join(f"{x:>10.3f}" for x in figures) + f"{self.refused:>9}"


def root(*command: object) -> str:
    """A command of the system, which must not fail."""
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def mounted(uri: str, folder: Path, *, make: bool = False) -> Iterator[Path]:
    """The file system of a served drive; a new one if it is to `make` one."""
    disk, place = folder / "disk", folder / "files"
    disk.mkdir(exist_ok=True)
    place.mkdir(exist_ok=True)
    with subprocess.Popen(["nbdfuse", str(disk / "nbd"), uri]) as fuse:
        while not (disk / "nbd").exists():
            time.sleep(0.05)
        loop = root("losetup", "--find", "--show", disk / "nbd")
        try:
            if make:
                root("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", loop)
            root("mount", loop, place)
            try:
                yield place
            finally:
                root("umount", place)
        finally:
            root("losetup", "--detach", loop)
            root("umount", "--lazy", disk)
            fuse.wait()


def fill(place: Path) -> None:
    """Writes a table of 60,000 rows of 2 KB."""
    connection = sqlite3.connect(place / "rows.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, data BLOB)")
    connection.execute("BEGIN")
    rows = ((n, random.randbytes(2000)) for n in range(ROWS))
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.execute("COMMIT")
    connection.close()


def use(place: Path, times: Times, seed: int) -> None:
    """Reads rows at random, none of them cached, and commits some."""
    root("sync")
    Path("/proc/sys/vm/drop_caches").write_text("3")
    rng = random.Random(seed)
    connection = sqlite3.connect(place / "rows.db", isolation_level=None)
    connection.execute("PRAGMA cache_size=-256")
    connection.execute("PRAGMA synchronous=FULL")

    def timed(kept: list[float], statement: str, *values: object) -> None:
        start = time.perf_counter()
        try:
            connection.execute(statement, values).fetchall()
            kept.append(1e3 * (time.perf_counter() - start))
        except sqlite3.Error:
            times.refused += 1

    for _ in range(QUERIES):
        timed(times.queries_ms, "SELECT data FROM t WHERE n = ?", rng.randrange(ROWS))
    for _ in range(COMMITS):
        data = rng.randbytes(2000)
        timed(times.commits_ms, "UPDATE t SET data = ? WHERE n = ?", data, rng.randrange(ROWS))
    connection.close()


def lived(name: str, cycles: int, leaps_hours: list[int], folder: Path) -> Iterator[Times]:
    """The times on a drive of so many cycles, after each leap of time."""
    sets = {**DRIVE, "age.pe_cycles": cycles}
    places = {"socket": folder / f"{name}.sock", "store": folder / f"{name}.bytes"}
    with nandlab.serve(
        "modern_qlc", set=sets, clock="real", integrity="exact", **places
    ) as server:
        with mounted(server.uri, folder, make=True) as place:
            fill(place)
        hours = 0
        for seed, leap in enumerate(leaps_hours):
            hours += leap
            if leap > 0:
                server.age(leap)
            times = Times(f"{name}, {hours / 24 / 365:.0f} years" if hours else name)
            with mounted(server.uri, folder) as place:
                use(place, times, seed)
            yield times
        result = server.stop()
        told = result.to_dict()
        ecc = told["ecc"]
        print(f"  {name}: {told['device']['codewords']}, lost {told['device']['lost_bytes']} bytes")
        print(f"  {name}: {ecc}")


def draw(all_times: list[Times], path: str) -> None:
    """Shares of the queries and commits that took longer."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for panel, what in zip(panels, ("queries", "commits"), strict=True):
        for times in all_times:
            values = np.sort(getattr(times, f"{what}_ms"))
            if len(values):
                panel.loglog(values, 1 - np.arange(len(values)) / len(values), label=times.name)
        panel.set(xlabel=f"time of {what} [ms]", ylabel="share that took longer")
        panel.grid(alpha=0.3)
    panels[0].legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Lives through all states."""
    columns = ("query p50", "p99", "max", "commit p50", "p99")
    print(f"{'ms':<22}" + "".join(f"{name:>10}" for name in columns) + f"{'refused':>9}")
    all_times = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (cycles, leaps_hours) in STATES.items():
            for times in lived(name, cycles, leaps_hours, Path(folder)):
                print(times.row(), flush=True)
                all_times.append(times)
    draw(all_times, sys.argv[1] if len(sys.argv) > 1 else "worn_database.png")


if __name__ == "__main__":
    main()

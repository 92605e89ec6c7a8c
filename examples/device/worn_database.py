"""A database on a worn QLC drive: SQLite on ext4 on `nandlab.serve`, before and after years.

    sudo python examples/device/worn_database.py [--picture FILE] [--small]

Prints a table of how long queries and commits take, draws it, and says where the time of the
slowest queries went: drive, server or host. Needs root, /dev/fuse, loop devices, e2fsprogs and
nbdfuse (Debian: libnbd-bin, fuse3). Some minutes; `--small` takes seconds.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import nandlab
from nandlab.display.picture import new_figure, save

#: A QLC drive of few blocks and much spare space, whose codewords are real.
DRIVE = {
    "chip.geometry.blocks_per_plane": 24,
    "ftl.overprovisioning": 1.0,
    "ecc.model": "exact",
}

#: Lives of a drive: cycles of all blocks, and years without power that follow one on another.
LIVES = ((0, [0]), (1000, [0, 2]), (4000, [0, 2, 2]))

HOURS_A_YEAR = 8760

COLUMNS = ("query p50", "p99", "max", "commit p50", "p99")


@dataclass(frozen=True)
class Size:
    """How much is asked of the database."""

    rows: int
    queries: int
    commits: int


@dataclass
class Times:
    """What a state of the drive did to the database."""

    state: str
    queries_ms: list[float] = field(default_factory=list)
    commits_ms: list[float] = field(default_factory=list)
    refused: int = 0
    log: list[str] = field(default_factory=list)
    """When each query began and ended, in seconds since 1970."""

    def row(self) -> str:
        """A row of the table."""
        query, commit = (
            np.array(times or [np.nan]) for times in (self.queries_ms, self.commits_ms)
        )
        figures = [*np.percentile(query, (50, 99)), query.max(), *np.percentile(commit, (50, 99))]
        cells = "".join(f"{figure:>12.2f}" for figure in figures)
        return f"{self.state:<22}{cells}{self.refused:>9}"


def root(*command: object) -> str:
    """A command of the system, which must not fail."""
    path = {**os.environ, "PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}
    words = [str(word) for word in command]
    told = subprocess.run(words, env=path, check=True, capture_output=True, text=True)
    return told.stdout.strip()


@contextmanager
def mounted(uri: str, folder: Path, *, make: bool = False) -> Iterator[Path]:
    """The folder where the file system of a served drive is mounted; a new one, to `make` it."""
    disk, place = folder / "disk", folder / "files"
    disk.mkdir(exist_ok=True)
    place.mkdir(exist_ok=True)
    path = {**os.environ, "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(["nbdfuse", str(disk / "nbd"), uri], env=path) as fuse:
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


def fill(database: Path, rows: int) -> None:
    """Writes a table with rows of 2 KB."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, data BLOB)")
    connection.execute("BEGIN")
    data = ((n, random.randbytes(2000)) for n in range(rows))
    connection.executemany("INSERT INTO t VALUES (?, ?)", data)
    connection.execute("COMMIT")
    connection.close()


def use(database: Path, size: Size, times: Times, seed: int) -> None:
    """Reads rows at random, none of them from the machine's memory, and commits changes."""
    root("sync")
    Path("/proc/sys/vm/drop_caches").write_text("3")
    rng = random.Random(seed)
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA cache_size=-256")
    connection.execute("PRAGMA synchronous=FULL")

    def timed(kept: list[float], statement: str, *values: object) -> None:
        start = time.perf_counter()
        try:
            connection.execute(statement, values).fetchall()
            kept.append(1e3 * (time.perf_counter() - start))
        except sqlite3.Error:
            times.refused += 1

    for _ in range(size.queries):
        n = rng.randrange(size.rows)
        begin = time.time()
        timed(times.queries_ms, "SELECT data FROM t WHERE n = ?", n)
        times.log.append(f"{begin:.6f},{time.time():.6f},row {n}\n")
    for _ in range(size.commits):
        n, data = rng.randrange(size.rows), rng.randbytes(2000)
        timed(times.commits_ms, "UPDATE t SET data = ? WHERE n = ?", data, n)
    connection.close()


def lived(cycles: int, leaps: list[int], size: Size, folder: Path) -> Iterator[Times]:
    """The times in one life of the drive, after each leap of some years."""
    name = f"{cycles:,} cycles"
    requests = folder / f"requests_{cycles}.parquet"
    places = {"socket": folder / "disk.sock", "store": folder / f"bytes_{cycles}"}
    how: dict[str, Any] = {**places, "requests": requests, "explain": True}
    states = []
    changes = {**DRIVE, "age.pe_cycles": cycles}
    with nandlab.serve("modern_qlc", set=changes, integrity="exact", **how) as server:
        with mounted(server.uri, folder, make=True) as place:
            fill(place / "rows.db", size.rows)
        years = 0
        for seed, leap in enumerate(leaps):
            if leap > 0:
                server.age(leap * HOURS_A_YEAR)
            years += leap
            times = Times(f"{name}, {years} years" if years else name)
            try:
                with mounted(server.uri, folder) as place:
                    use(place / "rows.db", size, times, seed)
            except subprocess.CalledProcessError as error:
                # What the file system itself needs may be lost.
                print(f"  {times.state}: {error.stderr.strip()}")
                times.refused = size.queries + size.commits
            states.append(times)
            yield times
        report = server.stop().report
    ecc, device = report.ecc, report.device
    words = device.codewords
    print(
        f"  {name}: {words.decoded:,} codewords decoded, "
        f"{ecc.raw_bit_errors / max(ecc.codewords, 1):.0f} wrong bits in each, "
        f"{ecc.hard_failures:,} read again, {ecc.uncorrectable:,} reads given up, "
        f"{words.miscorrected} wrong words delivered",
        flush=True,
    )
    for times in states:
        log = folder / "queries.csv"
        log.write_text("".join(times.log), encoding="utf-8")
        if times.queries_ms:
            print(f"  {times.state}: {nandlab.why(log, requests).answer(20)}", flush=True)


def draw(lives: list[Times], picture: Path) -> None:
    """The shares of queries and commits that took longer than a time."""
    figure = new_figure(9.0, 3.8)
    left, right = figure.subplots(1, 2)
    for axes, what in ((left, "queries"), (right, "commits")):
        for times in lives:
            sorted_ms = np.sort(getattr(times, f"{what}_ms"))
            longer = 1 - np.arange(len(sorted_ms)) / max(len(sorted_ms), 1)
            axes.loglog(sorted_ms, longer, label=times.state)
        # Below are rows that the page before them has brought along.
        axes.set_xlim(left=0.1 if what == "queries" else None)
        axes.set_title(what)
        axes.set_xlabel("ms")
        axes.grid(visible=True, alpha=0.25)
    left.set_ylabel("share that took longer")
    right.legend(frameon=False, loc="upper right")
    save(figure, picture)


def main() -> None:
    """Lives through all states."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--picture", type=Path, default=Path("worn_database.png"))
    arguments.add_argument("--small", action="store_true")
    given = arguments.parse_args()
    size = Size(500, 50, 5) if given.small else Size(60_000, 2_000, 200)
    print(f"{'ms':<22}" + "".join(f"{name:>12}" for name in COLUMNS) + f"{'refused':>9}")
    lives = []
    with tempfile.TemporaryDirectory() as folder:
        for cycles, leaps in LIVES:
            for times in lived(cycles, leaps, size, Path(folder)):
                print(times.row(), flush=True)
                lives.append(times)
    draw(lives, given.picture)


if __name__ == "__main__":
    main()

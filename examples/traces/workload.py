#!/usr/bin/env python3
"""The work that record.py records: files and SQLite databases on one mounted file system.

The trace must come from programs that do something, not from a table of offsets, so everything
here goes through ordinary file calls and through SQLite.  All choices are drawn from a seeded
generator, so two runs ask the file system for the same things in the same order; the block
requests that follow still differ a little, because the kernel's timers take part.

Usage: python3 workload.py MOUNTPOINT [--seed N] [--scale F] [--pause SECONDS]

Each phase writes "PHASE <wall clock seconds> <name>" to standard output when it begins, so that
the recorder can say which requests belong to it.
"""

from __future__ import annotations

import argparse
import io
import mmap
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

WORDS = (
    "block page plane die channel erase program sense vector window ledger amber birch cedar "
    "delta ember frost grain haven inlet jetty kelp lumen maple north orbit pearl quartz river "
    "stone timber umber valley willow yarrow zephyr count order index table commit begin rollback"
).split()
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
KIB = 1024
MIB = 1024 * 1024


class Workload:
    """The phases, with the little state they share (where, how large, which generator)."""

    def __init__(self, root: Path, seed: int, scale: float, pause: float) -> None:
        """Fix the generator and make the text that all files are cut from."""
        self.root = root
        self.scale = scale
        self.pause = pause
        self.rng = random.Random(seed)
        # Text is cut out of one pool: making each file word by word would cost more time than
        # writing it, and that time would stand in the trace as silence.
        self.pool = " ".join(self.rng.choice(WORDS) for _ in range(120_000)).encode()
        self.orders = root / "orders.db"
        self.ledger = root / "ledger.db"
        self.image = root / "image.bin"
        self.order_count = 0

    def n(self, count: int) -> int:
        """Return a count after scaling; never 0, so that no phase is empty."""
        return max(1, round(count * self.scale))

    # ---- helpers -------------------------------------------------------------------------

    def begin(self, name: str) -> None:
        """Name the phase, after a quiet stretch that lets a drive's background work show."""
        time.sleep(self.pause)
        print(f"PHASE {time.time():.6f} {name}", flush=True)

    def settle(self) -> None:
        """Write this file system's dirty data out; a plain sync would touch the others too."""
        subprocess.run(["sync", "-f", str(self.root)], check=True)

    def forget(self) -> None:
        """Drop clean caches, so that the next reads must reach the device."""
        self.settle()
        DROP_CACHES.write_text("3\n")

    def text(self, size: int) -> bytes:
        """Return `size` bytes of words, the kind of content that logs and sources have."""
        out = bytearray()
        while len(out) < size:
            start = self.rng.randrange(len(self.pool) - 4 * KIB)
            out += self.pool[start : start + min(4 * KIB, size - len(out))]
        return bytes(out)

    def archive(self, name: str, files: int, median: int) -> io.BytesIO:
        """Make a tar in memory: text and binary files, sizes log-normal as real trees have."""
        held = io.BytesIO()
        with tarfile.open(fileobj=held, mode="w") as tar:
            for number in range(files):
                size = min(int(self.rng.lognormvariate(0.0, 1.4) * median) + 1, 4 * MIB)
                is_text = self.rng.random() < 0.6
                info = tarfile.TarInfo(
                    f"{name}/d{number % 37:02d}/f{number:05d}.{'txt' if is_text else 'bin'}"
                )
                info.size = size
                info.mtime = 1_700_000_000 + number
                body = self.text(size) if is_text else self.rng.randbytes(size)
                tar.addfile(info, io.BytesIO(body))
        held.seek(0)
        return held

    def unpack(self, archive: io.BytesIO) -> None:
        """Unpack as tar does: in archive order, one file after the other, no fsync."""
        with tarfile.open(fileobj=archive, mode="r") as tar:
            for member in tar:
                source = tar.extractfile(member)
                if source is None:
                    continue
                target = self.root / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                with open(target, "wb") as out:
                    shutil.copyfileobj(source, out, 64 * KIB)

    def files_under(self, name: str) -> Iterator[Path]:
        """Walk a tree in a fixed order; directory order would depend on the hash seed."""
        return (path for path in sorted((self.root / name).rglob("*")) if path.is_file())

    def connect(self, path: Path, cache_pages: int = 200) -> sqlite3.Connection:
        """Open a database with durable commits and a cache too small to hide the reads."""
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA synchronous=FULL")
        db.execute(f"PRAGMA cache_size={cache_pages}")
        return db

    def skewed(self, count: int) -> int:
        """Return a row number from 1 to count; small ones are much more likely (hot rows)."""
        return 1 + int(count * self.rng.random() ** 4)

    # ---- phases --------------------------------------------------------------------------

    def run(self) -> None:
        """Run all phases in order."""
        first = self.archive("tree_a", self.n(900), 24 * KIB)
        second = self.archive("tree_b", self.n(700), 20 * KIB)
        self.unpack_tree("unpack tree_a", first)
        self.bulk_load()
        self.small_transactions()
        self.point_reads("point reads, cold", 2600)
        self.edit_files()
        self.ledger_updates()
        self.sector_log()
        self.image_io()
        self.delete_and_vacuum()
        self.unpack_tree("unpack tree_b", second)
        self.trim()
        self.mixed()
        self.read_tree()
        self.point_reads("point reads, after vacuum", 1500)
        self.ledger_vacuum()
        self.settle()

    def unpack_tree(self, name: str, archive: io.BytesIO) -> None:
        """Many new files at once: large delayed writes with metadata between them."""
        self.begin(name)
        self.unpack(archive)
        self.settle()

    def insert_orders(self, db: sqlite3.Connection, rows: int) -> None:
        """Insert rows in one transaction."""
        db.execute("BEGIN")
        for _ in range(rows):
            self.order_count += 1
            db.execute(
                "INSERT INTO orders VALUES (?,?,?,?,?)",
                (
                    self.order_count,
                    self.rng.randrange(5000),
                    self.rng.choice(WORDS) + str(self.rng.randrange(100_000)),
                    self.rng.randrange(1_000_000),
                    self.rng.randbytes(self.rng.randrange(40, 900)),
                ),
            )
        db.execute("COMMIT")

    def bulk_load(self) -> None:
        """Fill the first database (4 KiB pages, write-ahead log) in a few big transactions."""
        self.begin("bulk load (WAL)")
        db = self.connect(self.orders, 2000)
        db.execute("PRAGMA page_size=4096")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, item TEXT,"
            " amount INTEGER, body BLOB)"
        )
        db.execute("CREATE INDEX by_customer ON orders(customer)")
        db.execute("CREATE INDEX by_item ON orders(item)")
        for _ in range(self.n(25)):
            self.insert_orders(db, 2000)
        db.close()
        self.settle()

    def small_transactions(self) -> None:
        """Durable commits of 1 to 12 rows: the log is written, flushed, and checkpointed."""
        self.begin("small inserts and updates (WAL)")
        db = self.connect(self.orders)
        for _ in range(self.n(2200)):
            if self.rng.random() < 0.6:
                self.insert_orders(db, self.rng.randrange(1, 13))
            else:
                db.execute("BEGIN")
                for _ in range(self.rng.randrange(1, 6)):
                    db.execute(
                        "UPDATE orders SET amount = amount + 1, body = ? WHERE id = ?",
                        (self.rng.randbytes(300), self.skewed(self.order_count)),
                    )
                db.execute("COMMIT")
        db.close()
        self.settle()

    def point_reads(self, name: str, count: int) -> None:
        """Look single rows up, by key and by index, with the page cache dropped now and then."""
        self.begin(name)
        db = self.connect(self.orders, 50)
        for turn in range(self.n(count)):
            if turn % 650 == 0:
                self.forget()
            if self.rng.random() < 0.7:
                key = self.rng.randrange(1, self.order_count + 1)
                db.execute("SELECT body FROM orders WHERE id = ?", (key,)).fetchall()
            else:
                customer = self.rng.randrange(5000)
                db.execute(
                    "SELECT sum(amount) FROM orders WHERE customer = ? LIMIT 5", (customer,)
                ).fetchall()
        db.close()

    def edit_files(self) -> None:
        """Edit as editors and loggers do: replace by rename, and append, each with fsync."""
        self.begin("edit files with fsync")
        paths = list(self.files_under("tree_a"))
        for turn in range(self.n(700)):
            path = self.rng.choice(paths)
            if turn % 3 == 0:
                body = path.read_bytes()
                fresh = path.with_suffix(".new")
                with open(fresh, "wb") as out:
                    out.write(body[: len(body) // 2])
                    out.write(self.text(2 * KIB))
                    out.write(body[len(body) // 2 :])
                    out.flush()
                    os.fsync(out.fileno())
                os.replace(fresh, path)
            else:
                with open(path, "ab") as out:
                    out.write(self.text(self.rng.randrange(60, 3000)))
                    out.flush()
                    os.fsync(out.fileno())
        self.settle()

    def ledger_updates(self) -> None:
        """Update a second database (8 KiB pages, rollback journal, SQLite's default mode)."""
        self.begin("ledger updates (rollback journal)")
        db = self.connect(self.ledger)
        db.execute("PRAGMA page_size=8192")
        db.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, note BLOB)")
        rows = self.n(60_000)
        db.execute("BEGIN")
        db.executemany(
            "INSERT INTO account VALUES (?,?,?)",
            ((key, 100, self.rng.randbytes(180)) for key in range(1, rows + 1)),
        )
        db.execute("COMMIT")
        for _ in range(self.n(900)):
            amount = self.rng.randrange(1, 50)
            db.execute("BEGIN")
            for sign in (-1, 1):
                db.execute(
                    "UPDATE account SET balance = balance + ? WHERE id = ?",
                    (sign * amount, self.skewed(rows)),
                )
            db.execute("COMMIT")
        db.close()
        self.settle()

    def sector_log(self) -> None:
        """Append to a circular log in 512-byte sectors and read it, as database redo logs do.

        This is the one source of requests that are not whole 4 KiB units; a simulator has to
        meet them, for a partial unit costs a drive a read, a merge and a write.
        """
        self.begin("circular log, 512-byte sectors (O_DIRECT, O_DSYNC)")
        path = self.root / "redo.log"
        size = 4 * MIB
        with open(path, "wb") as out:
            for _ in range(size // MIB):
                out.write(bytes(MIB))
            out.flush()
            os.fsync(out.fileno())
        held = mmap.mmap(-1, 64 * KIB)  # O_DIRECT wants aligned memory; a mapping has it
        view = memoryview(held)
        descriptor = os.open(path, os.O_RDWR | os.O_DIRECT | os.O_DSYNC)
        at = 0
        try:
            for _ in range(self.n(4000)):
                length = 512 * min(1 + int(self.rng.expovariate(0.4)), 64)
                if at + length > size:
                    at = 0
                view[:8] = self.rng.randbytes(8)
                os.pwritev(descriptor, [view[:length]], at)
                at += length
            for _ in range(self.n(800)):  # recovery reads records where they begin
                length = 512 * self.rng.randrange(1, 17)
                os.preadv(descriptor, [view[:length]], 512 * self.rng.randrange(at // 512))
        finally:
            os.close(descriptor)
            view.release()
            held.close()

    def image_io(self) -> None:
        """Random direct reads and writes of 4 to 256 KiB on one file, as a guest's disk gets."""
        self.begin("disk image, random 4-256 KiB (O_DIRECT)")
        size = 128 * MIB
        with open(self.image, "wb") as out:
            for _ in range(size // MIB):
                out.write(self.rng.randbytes(MIB))
        self.settle()
        held = mmap.mmap(-1, 256 * KIB)
        view = memoryview(held)
        descriptor = os.open(self.image, os.O_RDWR | os.O_DIRECT)
        lengths = (4 * KIB, 4 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 256 * KIB)
        try:
            for turn in range(self.n(12000)):
                length = self.rng.choice(lengths)
                at = self.rng.randrange((size - length) // (4 * KIB) + 1) * 4 * KIB
                if self.rng.random() < 0.6:
                    os.preadv(descriptor, [view[:length]], at)
                else:
                    os.pwritev(descriptor, [view[:length]], at)
                if turn % 200 == 199:
                    os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
            view.release()
            held.close()

    def delete_and_vacuum(self) -> None:
        """Delete rows and files, then rewrite the database: much data becomes stale at once."""
        self.begin("delete rows and files, VACUUM")
        db = self.connect(self.orders, 2000)
        top = self.order_count
        for start in range(1, top, 2500):
            db.execute(
                "DELETE FROM orders WHERE id >= ? AND id < ? AND customer % 5 < 2",
                (start, start + 2500),
            )
        for number, path in enumerate(self.files_under("tree_a")):
            if number % 2:
                path.unlink()
        self.settle()
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        self.settle()

    def trim(self) -> None:
        """Tell the device what is free, as the weekly timer of a distribution does."""
        self.begin("fstrim")
        subprocess.run(["fstrim", str(self.root)], check=True)

    def mixed(self) -> None:
        """Reads and durable updates on both databases, with the caches dropped now and then."""
        self.begin("mixed reads and updates on both databases")
        orders = self.connect(self.orders, 100)
        ledger = self.connect(self.ledger, 100)
        accounts = ledger.execute("SELECT max(id) FROM account").fetchone()[0]
        for turn in range(self.n(3000)):
            if turn % 600 == 0:
                self.forget()
            kind = self.rng.random()
            if kind < 0.45:
                key = self.rng.randrange(1, self.order_count + 1)
                orders.execute("SELECT body FROM orders WHERE id = ?", (key,)).fetchall()
            elif kind < 0.65:
                key = self.rng.randrange(1, accounts + 1)
                ledger.execute("SELECT note FROM account WHERE id = ?", (key,)).fetchall()
            elif kind < 0.9:
                orders.execute(
                    "UPDATE orders SET body = ? WHERE id = ?",
                    (self.rng.randbytes(500), self.skewed(self.order_count)),
                )
            else:
                ledger.execute(
                    "UPDATE account SET balance = balance - 1 WHERE id = ?",
                    (self.skewed(accounts),),
                )
        orders.close()
        ledger.close()
        self.settle()

    def read_tree(self) -> None:
        """Read every file that is left, as a backup does: read-ahead makes large requests."""
        self.begin("read all files, cold")
        self.forget()
        for name in ("tree_a", "tree_b"):
            for path in self.files_under(name):
                with open(path, "rb") as source:
                    while source.read(128 * KIB):
                        pass

    def ledger_vacuum(self) -> None:
        """Delete half the ledger and VACUUM it, and remove the disk image: the last discards."""
        self.begin("ledger VACUUM, image removed, fstrim")
        db = self.connect(self.ledger, 2000)
        db.execute("DELETE FROM account WHERE id % 2")
        db.execute("VACUUM")
        db.close()
        self.image.unlink()
        self.settle()
        subprocess.run(["fstrim", str(self.root)], check=True)


def main() -> int:
    """Parse the command line and run the phases."""
    parser = argparse.ArgumentParser(description="Work to record: files and SQLite on a mount.")
    parser.add_argument("mountpoint", type=Path)
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies every count")
    parser.add_argument("--pause", type=float, default=3.0, help="seconds of quiet per phase")
    args = parser.parse_args()
    if not args.mountpoint.is_mount():
        print(f"workload.py: {args.mountpoint} is not a mount point", file=sys.stderr)
        return 2
    # VACUUM's temporary database must lie on the recorded file system, not in /var/tmp.
    spool = args.mountpoint / "tmp"
    spool.mkdir(exist_ok=True)
    os.environ["SQLITE_TMPDIR"] = str(spool)
    Workload(args.mountpoint, args.seed, args.scale, args.pause).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Record a real block trace: ext4 and SQLite on an NBD memory disk that logs its requests.

A trace that may be given away has to be made by ourselves.  The stack needs no NBD or blktrace
support in the kernel, only loop and FUSE:

    workload.py -> ext4 -> loop device (direct I/O) -> nbdfuse -> nbdkit log filter -> memory

Usage (recording needs root; the other commands do not):

    python3 record.py record OUT.iolog.zst    record, and print the phases and the statistics
    python3 record.py stats FILE              print the statistics as Markdown tables
    python3 record.py check FILE              check the rules of README.md, say "ok" or why not

FILE may be plain text or .zst.  Exit codes: 0 done, 1 a run or a check failed, 2 a tool, a
right or an argument is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import NamedTuple

HEADER = "fio version 3 iolog"
NAME = "nandlab_sqlite"
DATA_OPS = ("read", "write", "trim")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
UNIT = 4096
SECTOR = 512
KIB = 1024
DEFAULT_SIZE = 512 * KIB * KIB
MAX_COMPRESSED = KIB * KIB
# Each tool with the Debian 12 package that has it, for a message that can be acted on.
TOOLS = {
    "nbdkit": "nbdkit",
    "nbdfuse": "libnbd-bin",
    "fusermount3": "fuse3",
    "mkfs.ext4": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "losetup": "mount",
    "mount": "mount",
    "umount": "mount",
    "fstrim": "util-linux",
    "sync": "coreutils",
    "zstd": "zstd",
}
CALL = re.compile(
    r"(?P<when>\S+ \S+) connection=\d+ (?P<act>Read|Write|Zero|Trim|Flush) id=\d+"
    r"(?: offset=(?P<offset>0x[0-9a-f]+) count=(?P<count>0x[0-9a-f]+))?(?P<rest>.*) \.\.\.$"
)
SIZE_CLASSES = (
    ("under 4 KiB", 4 * KIB - 1),
    ("4 KiB", 4 * KIB),
    ("up to 8 KiB", 8 * KIB),
    ("up to 16 KiB", 16 * KIB),
    ("up to 64 KiB", 64 * KIB),
    ("up to 256 KiB", 256 * KIB),
    ("up to 1 MiB", KIB * KIB),
    ("over 1 MiB", None),
)


class Missing(Exception):
    """Something the user has to provide is not there: exit code 2."""


class Failed(Exception):
    """A run or a check went wrong: exit code 1."""


class Request(NamedTuple):
    """One line of a trace: microseconds since the start, operation, bytes."""

    time_us: int
    op: str
    offset: int
    length: int


class Phase(NamedTuple):
    """The begin of one part of the workload, in seconds of the wall clock."""

    start: float
    name: str


# ---- trace files ---------------------------------------------------------------------------


def tool(name: str) -> str:
    """Find a program; sbin is searched too, for root's PATH does not always have it."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        raise Missing(f"{name} not found; on Debian: apt-get install {TOOLS[name]}")
    return found


def read_lines(path: Path) -> Iterator[str]:
    """Give the lines of a trace, through the zstd program where it is compressed."""
    if not path.is_file():
        raise Missing(f"{path}: no such file")
    if path.suffix == ".zst":
        done = subprocess.run([tool("zstd"), "-dcq", str(path)], stdout=subprocess.PIPE)
        if done.returncode:
            raise Failed(f"{path}: zstd cannot decompress it")
        text = done.stdout.decode("ascii", "replace")
    else:
        text = path.read_text(encoding="ascii", errors="replace")
    yield from text.splitlines()


def read_iolog(path: Path, size: int | None = None) -> list[Request]:
    """Read a trace and refuse whatever README.md does not allow, with the line number.

    `size` is the device's size; the format has no place for it, so the caller has to know it.
    """
    lines = read_lines(path)
    if next(lines, None) != HEADER:
        raise Failed(f"{path}:1: expected '{HEADER}'")
    requests: list[Request] = []
    actions: list[str] = []
    last = 0
    for number, line in enumerate(lines, start=2):
        where = f"{path}:{number}"
        fields = line.split(" ")
        if len(fields) not in (3, 5) or not fields[0].isdecimal() or fields[1] != NAME:
            raise Failed(f"{where}: not a trace line: {line[:80]!r}")
        now = int(fields[0])
        if now < last:
            raise Failed(f"{where}: time goes back from {last} to {now}")
        last = now
        if len(fields) == 3:
            actions.append(fields[2])
            if actions != ["add", "open", "close"][: len(actions)]:
                raise Failed(f"{where}: unexpected '{fields[2]}'")
            continue
        if actions != ["add", "open"]:
            raise Failed(f"{where}: a request outside open and close")
        op = fields[2]
        if not (fields[3].isdecimal() and fields[4].isdecimal()):
            raise Failed(f"{where}: offset and length must be numbers: {line[:80]!r}")
        offset, length = int(fields[3]), int(fields[4])
        if op in DATA_OPS:
            if offset % SECTOR or length % SECTOR or not length:
                raise Failed(f"{where}: offset and length must be multiples of {SECTOR}")
            if size is not None and offset + length > size:
                raise Failed(f"{where}: beyond the end of a device of {size} bytes")
        elif op not in ("sync", "datasync") or offset or length:
            raise Failed(f"{where}: unexpected request: {line[:80]!r}")
        requests.append(Request(now, op, offset, length))
    if actions != ["add", "open", "close"]:
        raise Failed(f"{path}: add, open and close are not all there")
    if not requests:
        raise Failed(f"{path}: no requests")
    return requests


def write_iolog(path: Path, requests: list[Request]) -> None:
    """Write a trace; a name that ends in .zst is compressed with zstd -19."""
    lines = [HEADER, f"0 {NAME} add", f"0 {NAME} open"]
    lines += [f"{r.time_us} {NAME} {r.op} {r.offset} {r.length}" for r in requests]
    lines.append(f"{requests[-1].time_us} {NAME} close")
    body = ("\n".join(lines) + "\n").encode("ascii")
    if path.suffix == ".zst":
        command = [tool("zstd"), "-19", "-q", "-f", "-o", str(path)]
        if subprocess.run(command, input=body).returncode:
            raise Failed(f"{path}: zstd failed")
    else:
        path.write_bytes(body)


# ---- the log of nbdkit ---------------------------------------------------------------------


def log_seconds(stamp: str) -> float:
    """Turn a stamp of the log into seconds; nbdkit runs with TZ=UTC, so it is in UTC."""
    parsed = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S.%f")
    return parsed.replace(tzinfo=timezone.utc).timestamp()


def convert_log(log: Path) -> tuple[list[Request], float, dict[str, int]]:
    """Turn the log into requests at their arrival; give also the start and what was rewritten.

    fio's format has neither FUA nor "write zeroes".  A write with FUA becomes a write and a
    datasync.  Write zeroes that may deallocate becomes a trim, which is what the memory disk did
    with it; without that leave it becomes writes, for then the data must be there.
    """
    found: list[tuple[float, str, int, int]] = []
    notes = {"fua": 0, "zero as trim": 0, "zero as write": 0}
    with open(log, encoding="ascii", errors="replace") as lines:
        for line in lines:
            if "return=-1" in line:
                raise Failed(f"the disk reported an error: {line.strip()}")
            match = CALL.match(line)
            if match is None:
                continue
            when, act, rest = log_seconds(match["when"]), match["act"], match["rest"]
            if act == "Flush":
                found.append((when, "datasync", 0, 0))
                continue
            offset, count = int(match["offset"], 16), int(match["count"], 16)
            if act == "Zero" and " trim=1" not in rest:
                notes["zero as write"] += 1
                for at in range(offset, offset + count, KIB * KIB):
                    found.append((when, "write", at, min(KIB * KIB, offset + count - at)))
            elif act == "Zero":
                notes["zero as trim"] += 1
                found.append((when, "trim", offset, count))
            else:
                found.append((when, act.lower(), offset, count))
            if " fua=1" in rest:
                notes["fua"] += 1
                found.append((when, "datasync", 0, 0))
    if not found:
        raise Failed("the log has no requests")
    # The stamp is taken before the log's lock, so neighbours can stand in the wrong order by
    # some microseconds.  More than that would be a clock that was set, and no trace at all.
    worst = max((before[0] - after[0] for before, after in pairwise(found)), default=0.0)
    if worst > 0.1:
        raise Failed(f"the clock went back by {worst:.3f} s during the run; record again")
    found.sort(key=lambda entry: entry[0])
    start = found[0][0]
    requests = [
        Request(round((when - start) * 1e6), op, offset, length)
        for when, op, offset, length in found
    ]
    return requests, start, notes


# ---- recording -----------------------------------------------------------------------------


def run(*command: str) -> str:
    """Run a command and give its output; its error output goes to the user."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: exit code {done.returncode}")
    return done.stdout


def try_hard(*command: str) -> None:
    """Run a command of the clean-up; a busy mount often needs a moment, so try again."""
    for attempt in range(10):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return
        time.sleep(0.3 + 0.2 * attempt)
    print(f"record.py: clean-up failed: {' '.join(command)}: {done.stderr}", file=sys.stderr)


def take_down(path: Path, *command: str) -> None:
    """Unmount, unless the run ended before the mount or has undone it already."""
    if path.is_mount():
        try_hard(*command, str(path))


def stop(process: subprocess.Popen[str], patience: float = 0.0) -> None:
    """End a process of ours, gently first; with patience for one that ends by itself."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(patience)
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(path: Path, process: subprocess.Popen[str], what: str) -> None:
    """Wait until a server has made its socket or file; it may also have died."""
    for _ in range(200):
        if path.exists():
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise Failed(f"{what} did not start")


def need_everything() -> None:
    """Say all that is missing before anything is touched."""
    problems: list[str] = []
    for name in TOOLS:
        try:
            tool(name)
        except Missing as error:
            problems.append(str(error))
    if os.geteuid() != 0:
        problems.append("recording needs root (mount, losetup)")
    for device in ("/dev/fuse", "/dev/loop-control"):
        if not Path(device).exists():
            problems.append(f"{device} is missing; the kernel needs fuse and loop")
    if problems:
        raise Missing("\nrecord.py: ".join(problems))


def raise_exit(signum: int, _frame: FrameType | None) -> None:
    """Turn a signal into an exception, so that the clean-up runs, and runs undisturbed."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    print(f"record.py: {signal.Signals(signum).name}, cleaning up", file=sys.stderr)
    raise SystemExit(128 + signum)


def trace_workload(work: Path, size: int, options: list[str]) -> tuple[Path, list[Phase]]:
    """Build the stack, run the workload on it, and take the stack down in every case."""
    log, socket, mount, root = (work / name for name in ("log", "socket", "nbd", "fs"))
    mount.mkdir()
    root.mkdir()
    phases: list[Phase] = []
    with contextlib.ExitStack() as cleanup:
        disk = subprocess.Popen(
            [tool("nbdkit"), "-f", "-U", str(socket)]
            + ["--filter=log", "memory", str(size), f"logfile={log}"],
            env={**os.environ, "TZ": "UTC"},
            text=True,
            start_new_session=True,  # Ctrl-C must not take the disk away under a mount
        )
        cleanup.callback(stop, disk)
        wait_for(socket, disk, "nbdkit")
        fuse = subprocess.Popen(
            [tool("nbdfuse"), str(mount), f"nbd+unix:///?socket={socket}"],
            text=True,
            start_new_session=True,
        )
        cleanup.callback(stop, fuse, 3.0)
        cleanup.callback(take_down, mount, tool("fusermount3"), "-u")
        wait_for(mount / "nbd", fuse, "nbdfuse")
        # Direct I/O on the lower file: without it the page cache under the loop device would
        # merge, delay and swallow requests, and the log would not show what ext4 sent.
        loop = run(tool("losetup"), "--direct-io=on", "--show", "-f", str(mount / "nbd")).strip()
        cleanup.callback(try_hard, tool("losetup"), "-d", loop)
        phases.append(Phase(time.time(), "mkfs and mount"))
        run(tool("mkfs.ext4"), "-q", "-b", "4096", loop)
        cleanup.callback(take_down, root, tool("umount"))
        run(tool("mount"), "-o", "discard", loop, str(root))
        worker = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("workload.py")), str(root), *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        cleanup.callback(stop, worker)
        assert worker.stdout is not None
        for line in worker.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "PHASE":
                stamp, _, name = rest.partition(" ")
                phases.append(Phase(float(stamp), name))
                print(f"record.py: {name}", file=sys.stderr)
        if worker.wait():
            raise Failed(f"workload.py: exit code {worker.returncode}")
        phases.append(Phase(time.time(), "umount and e2fsck"))
        run(tool("umount"), str(root))
        # Read the metadata back: the check belongs to the trace, and it proves the run sound.
        run(tool("e2fsck"), "-f", "-n", loop)
    return log, phases


def versions() -> Iterator[str]:
    """Name what took part, for the README."""
    yield f"kernel {platform.release()} ({platform.machine()})"
    release = Path("/etc/os-release")
    if release.is_file():
        for line in release.read_text(encoding="utf-8").splitlines():
            if line.startswith("PRETTY_NAME="):
                yield line.partition("=")[2].strip('"')
    for name, flag in (("nbdkit", "--version"), ("nbdfuse", "--version"), ("mkfs.ext4", "-V")):
        done = subprocess.run([tool(name), flag], capture_output=True, text=True)
        lines = (done.stdout + done.stderr).splitlines()
        yield lines[0] if lines else name
    yield f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"


def record(out: Path, size: int, options: list[str]) -> None:
    """Record one trace into `out` and print what the README needs."""
    need_everything()
    if not out.resolve().parent.is_dir():
        raise Missing(f"{out}: no such directory")
    if size < 256 * KIB * KIB or size % UNIT:
        raise Missing("--size must be a multiple of 4096, and 256 MiB or more")
    for signum in SIGNALS:
        signal.signal(signum, raise_exit)
    work = Path(tempfile.mkdtemp(prefix="nandlab-trace-"))
    try:
        log, phases = trace_workload(work, size, options)
        requests, start, notes = convert_log(log)
    finally:
        # Never delete through a mount that the clean-up could not take away.
        if (work / "nbd").is_mount() or (work / "fs").is_mount():
            print(f"record.py: {work} is still mounted; left as it is", file=sys.stderr)
        else:
            shutil.rmtree(work, ignore_errors=True)
    write_iolog(out, requests)
    for line in versions():
        print(f"- {line}")
    print("- rewritten for the format: " + ", ".join(f"{v} {k}" for k, v in notes.items()))
    print()
    print("\n".join(phase_table(requests, phases, start)))
    print()
    print("\n".join(statistics(requests)))


# ---- statistics ----------------------------------------------------------------------------


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Format a Markdown table, the first column to the left and the others to the right."""
    names = list(head)
    yield "| " + " | ".join(names) + " |"
    yield "|---|" + "---:|" * (len(names) - 1)
    for row in rows:
        yield "| " + " | ".join(f"{v:,}" if isinstance(v, int) else str(v) for v in row) + " |"


def phase_table(requests: list[Request], phases: list[Phase], start: float) -> Iterator[str]:
    """Count the requests of each phase; late write-back counts where it happened."""
    ops = ("read", "write", "trim", "datasync")
    counts = [dict.fromkeys(ops, 0) for _ in phases]
    at = 0
    begins = [round((phase.start - start) * 1e6) for phase in phases]
    for request in requests:
        while at + 1 < len(phases) and request.time_us >= begins[at + 1]:
            at += 1
        counts[at][request.op] += 1
    yield from table(
        ("phase", "from s", *ops),
        (
            (phase.name, f"{max(0, begin) / 1e6:.1f}", *(count[op] for op in ops))
            for phase, begin, count in zip(phases, begins, counts, strict=True)
        ),
    )


def units(request: Request) -> range:
    """Give the 4 KiB units a request touches; a part of a unit counts as the unit."""
    return range(request.offset // UNIT, -(-(request.offset + request.length) // UNIT))


def live_units(requests: list[Request]) -> tuple[int, int]:
    """Count the units written and not trimmed since: the most at any time, and at the end."""
    live: set[int] = set()
    most = 0
    for request in requests:
        if request.op == "write":
            live.update(units(request))
            most = max(most, len(live))
        elif request.op == "trim":  # a part of a unit keeps the unit
            end = (request.offset + request.length) // UNIT
            live.difference_update(range(-(-request.offset // UNIT), end))
    return most, len(live)


def statistics(requests: list[Request]) -> Iterator[str]:
    """Give the tables of the README."""
    ops = ("read", "write", "trim", "datasync", "sync")
    grouped = {op: [r for r in requests if r.op == op] for op in ops}
    total = len(requests)
    yield from table(
        ("operation", "requests", "share", "bytes", "MiB"),
        (
            (
                op,
                len(group),
                f"{100 * len(group) / total:.1f} %",
                sum(r.length for r in group),
                f"{sum(r.length for r in group) / KIB / KIB:.1f}",
            )
            for op, group in grouped.items()
            if group
        ),
    )
    yield ""
    rows: list[list[object]] = []
    lower = 0
    for name, upper in SIZE_CLASSES:
        row: list[object] = [name]
        for op in DATA_OPS:
            fits = (r.length for r in grouped[op])
            row.append(sum(lower < n and (upper is None or n <= upper) for n in fits))
        rows.append(row)
        lower = upper or 0
    yield from table(("size", *DATA_OPS), rows)
    yield ""
    written: dict[int, int] = {}
    for request in grouped["write"]:
        for unit in units(request):
            written[unit] = written.get(unit, 0) + 1
    seen_read = {unit for request in grouped["read"] for unit in units(request)}
    unit_writes = sum(written.values())
    factor = f"{unit_writes / len(written):.2f}" if written else "none"
    most_live, last_live = live_units(requests)
    moved = grouped["read"] + grouped["write"]

    def crooked(group: list[Request]) -> str:
        """Give the share of requests that are not whole 4 KiB units."""
        count = sum(bool(r.offset % UNIT or r.length % UNIT) for r in group)
        return f"{100 * count / len(group):.2f} %" if group else "none"

    gaps = [b.time_us - a.time_us for a, b in pairwise(requests)]
    measures: list[tuple[str, object]] = [
        ("requests", total),
        ("span", f"{requests[-1].time_us / 1e6:.3f} s"),
        ("idle stretches over 2 s", sum(gap > 2_000_000 for gap in gaps)),
        ("longest idle stretch", f"{max(gaps, default=0) / 1e6:.3f} s"),
        ("highest byte touched", max((r.offset + r.length for r in moved), default=0)),
        ("footprint, units read or written", len(seen_read | written.keys())),
        ("units written at least once", len(written)),
        ("units read at least once", len(seen_read)),
        ("units read without a write in the trace", len(seen_read - written.keys())),
        ("unit writes", unit_writes),
        ("rewrite factor (unit writes / units written)", factor),
        ("units with live data, most at any time", most_live),
        ("units with live data, at the end", last_live),
        ("unaligned to 4 KiB, reads", crooked(grouped["read"])),
        ("unaligned to 4 KiB, writes", crooked(grouped["write"])),
        ("unaligned to 4 KiB, both", crooked(moved)),
    ]
    yield from table(("measure (unit = 4 KiB)", "value"), measures)


# ---- command line --------------------------------------------------------------------------


def check(path: Path, size: int) -> None:
    """Check a trace against the rules and against the limit of its compressed size."""
    requests = read_iolog(path, size)
    held = path.stat().st_size
    if path.suffix == ".zst" and held > MAX_COMPRESSED:
        raise Failed(f"{path}: {held} bytes, more than {MAX_COMPRESSED}")
    print(f"ok: {len(requests)} requests, {held} bytes")


def main() -> int:
    """Parse the command line and do what it says."""
    parser = argparse.ArgumentParser(description="Record or describe a block trace.")
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("record", help="record a new trace (root)")
    making.add_argument("file", type=Path)
    making.add_argument("--size", type=int, default=DEFAULT_SIZE, help="bytes of the disk")
    making.add_argument("--seed", type=int, default=20261120)
    making.add_argument("--scale", type=float, default=1.0, help="multiplies the work")
    making.add_argument("--pause", type=float, default=3.0, help="seconds of quiet per phase")
    for name, text in (("stats", "print statistics"), ("check", "check the rules")):
        reading = commands.add_parser(name, help=text)
        reading.add_argument("file", type=Path)
        reading.add_argument("--size", type=int, default=DEFAULT_SIZE, help="bytes of the disk")
    args = parser.parse_args()
    try:
        if args.command == "record":
            options = [f"--{key}={getattr(args, key)}" for key in ("seed", "scale", "pause")]
            record(args.file, args.size, options)
        elif args.command == "stats":
            print("\n".join(statistics(read_iolog(args.file, args.size))))
        else:
            check(args.file, args.size)
    except Missing as error:
        print(f"record.py: {error}", file=sys.stderr)
        return 2
    except Failed as error:
        print(f"record.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

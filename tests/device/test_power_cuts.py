"""The power of a served drive is cut under real clients: what they were promised is there."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import nandlab as lab
from tests.conftest import carries, refused
from tests.device.clients import CLIENTS, SMALL, Client, client, needs
from tests.device.mounts import WRITER, loop_device, needs_file_systems, root, rows
from tests.waiting import until

#: Room enough for ext4, and spare blocks for what a cut costs.
DRIVE = {**SMALL, "ftl.overprovisioning": 0.5, "recovery.name": "scan_blocks"}


def test_flushed_data_are_there_after_a_cut(folder: Path) -> None:
    """nbdsh: clients are cut off; what was flushed is there, what was not may be."""
    needs("nbdsh")
    with lab.serve("tiny", set=DRIVE, clock="fast", precondition="fill") as server:
        uri = server.uri
        client("nbdsh", "-u", uri, "-c", "h.pwrite(b'f' * 65536, 0); h.flush()")
        script = "h.pwrite(b'g' * 4096, 0, flags=nbd.CMD_FLAG_FUA); h.pwrite(b'h' * 4096, 8192)"
        client("nbdsh", "-u", uri, "-c", script)
        arguments = ["nbdsh", "-u", uri, "-c", "import time; time.sleep(60)"]
        with subprocess.Popen(arguments, env=CLIENTS) as connected:
            until(lambda: server.status().clients == 1, what="client")
            server.cut()
            assert server.status().power == "off"
            until(lambda: server.status().clients == 0, what="client that is cut off")
            connected.kill()
        with refused("power", "cut already"):
            server.cut()
        server.restore()
        assert server.status().power == "on"
        script = """
data = h.pread(65536, 0)
assert data[:4096] == b'g' * 4096
assert data[4096:8192] == data[12288:16384] == b'f' * 4096
assert data[8192:12288] in (b'f' * 4096, b'h' * 4096)
"""
        client("nbdsh", "-u", uri, "-c", script)
        result = server.stop()
    [cut] = result.to_dict()["device"]["cuts"]
    assert cut["ready_after_s"] > 0
    assert cut["forgotten_units"] == 0
    assert result.checks.ok


def test_the_checks_hold_after_several_cuts(folder: Path) -> None:
    """Each cut breaks off an operation of each die, and the times of the dies still add up."""
    with lab.serve("tiny", set=DRIVE, clock="fast") as server:
        for cut in range(4):
            with Client(server.uri) as own:
                for block in range(200):
                    own.write(4096 * block, bytes([block + cut]) * 4096)
            if cut < 3:
                server.cut()
                server.restore()
        assert server.stop().checks.ok


def test_a_clock_gives_the_time_to_ready(folder: Path) -> None:
    """With a clock, clients wait outside until the drive has started up."""
    needs("nbdsh")
    with lab.serve("tiny", set=DRIVE, clock="scaled=20", precondition="fill") as server:
        server.cut()
        begin = time.monotonic()
        server.restore()
        assert server.status().power == "starting up"
        client("nbdsh", "-u", server.uri, "-c", "h.pread(4096, 0)")
        took_s = time.monotonic() - begin
        [cut] = server.stop().to_dict()["device"]["cuts"]
    assert took_s >= 20 * cut["ready_after_s"] > 0


@pytest.mark.long
def test_commands_come_by_a_socket(folder: Path) -> None:
    """`nandlab ctl` cuts, restores, ages and asks; mistakes are one line."""
    needs("nbdsh")
    nandlab = [sys.executable, "-m", "nandlab"]
    # The shell's command is the client: it writes, and the power is cut by another command.
    script = f"""
set -e
PATH=/usr/bin:/bin nbdsh -u "$uri" -c 'h.pwrite(bytes(4096), 0); h.flush()'
for command in cut status restore "age 100"; do
    {sys.executable} -m nandlab ctl nandlab.sock $command
done
! {sys.executable} -m nandlab ctl nandlab.sock restore
! {sys.executable} -m nandlab ctl nandlab.sock explode
! {sys.executable} -m nandlab ctl other.sock status
"""
    sets = [f"--set={key}={value}" for key, value in DRIVE.items()]
    arguments = [*nandlab, "nbd", "--drive", "tiny", *sets, "--clock", "fast", "--run", script]
    ended = subprocess.run(
        [*arguments, "--json", "r.json"], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    lines = [line for line in ended.stdout.splitlines() if "requests complete" in line]
    assert [line.split(",")[0] for line in lines] == [
        "power off",
        "power off",
        "power on",
        "power on",
    ]
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 3, errors
    carries(errors[0], "power", "not been cut")
    carries(errors[1], "`explode`", "cut", "restore", "status", "age")
    carries(errors[2], "other.sock", "no server")
    assert len(json.loads(Path("r.json").read_text())["device"]["cuts"]) == 1
    assert not Path("nandlab.sock.ctl").exists()


# --- ext4 and SQLite -----------------------------------------------------------------------------


def committed_until_cut(database: Path, mode: str, server: lab.Server, seconds: float) -> int:
    """Writes rows, and cuts the power in the middle: the last row that was committed."""
    writer = [sys.executable, "-c", WRITER, str(database), mode]
    with subprocess.Popen(writer, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        # The machine may be busy: the time begins with the first row.
        first = int(process.stdout.readline())
        time.sleep(seconds)
        server.cut()
        try:
            # From then on no row can be committed.
            until(lambda: server.status().clients == 0, what="client that is cut off")
        finally:
            process.kill()
        told = process.communicate()[0].split(b"\n")
    return max([first, *(int(line) for line in told[:-1])])


def ext4_under_cuts(folder: Path, cuts: int, **sets: object) -> int:
    """SQLite on ext4 on a served drive whose power is cut again and again: what cuts have taken."""
    place = folder / "mounted"
    place.mkdir()
    database = place / "rows.db"
    rng = random.Random(3)
    with lab.serve("tiny", set={**DRIVE, **sets}, clock="fast") as server:
        with loop_device(server.uri, folder) as loop:
            root("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", loop)
        for cut in range(cuts):
            mode = ("WAL", "DELETE")[cut // (cuts // 2) % 2]
            with loop_device(server.uri, folder) as loop:
                root("mount", "-o", "errors=remount-ro", loop, place)
                try:
                    last = committed_until_cut(database, mode, server, rng.random())
                finally:
                    root("umount", "--lazy", place)
            server.restore()
            with loop_device(server.uri, folder) as loop:
                # The journal is replayed; then nothing is left to repair.
                root("e2fsck", "-p", loop, may=(0, 1))
                root("e2fsck", "-f", "-n", loop)
                root("mount", loop, place)
                try:
                    assert rows(database) >= last > 0, f"cut {cut}, {mode}"
                finally:
                    root("umount", place)
        told = server.stop().to_dict()["device"]["cuts"]
    assert len(told) == cuts
    return sum(each["unanswered_requests"] + each["reverted_units"] for each in told)


def test_a_database_survives_cuts(folder: Path, few_or_all: Callable[[int, int], int]) -> None:
    """Ext4 and SQLite are whole, and every committed row is there."""
    needs_file_systems(folder)
    taken = ext4_under_cuts(folder, few_or_all(3, 30))
    if not taken:
        # Few cuts may all come between two requests; of more, some come within one.
        (folder / "more").mkdir()
        taken = ext4_under_cuts(folder / "more", 12)
    assert taken > 0


def test_a_drive_that_lies_loses_rows(folder: Path) -> None:
    """The same on a drive that acknowledges flushes too early: the loss is found."""
    needs_file_systems(folder)
    lies = {"buffer.lies_about_flush": True, "buffer.bytes": 16 << 20}
    with pytest.raises(AssertionError, match=r"e2fsck|cut \d"):
        ext4_under_cuts(folder, 10, **lies)

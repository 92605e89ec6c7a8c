"""A drive that real NBD clients use as a disk."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import nandlab as lab
from tests.conftest import COMMAND, Ended, refused, some
from tests.device.clients import SMALL, Client, client, needs
from tests.waiting import until

Run = Callable[..., Ended]
TINY = ("--drive", "tiny", "--clock", "fast")


def noise(path: Path, size: int, seed: int = 1) -> str:
    """Fills a file with bytes that do not repeat: their hash."""
    data = random.Random(seed).randbytes(size)
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def size_of() -> int:
    """Bytes of a small drive."""
    return lab.Drive("tiny", set=SMALL).capacity_bytes


def test_nbdinfo_reads_what_is_offered(folder: Path) -> None:
    """Size, flags, block sizes and contexts are those of the drive."""
    needs("nbdinfo")
    with lab.serve("tiny", set=SMALL, clock="fast", precondition="fill") as server:
        assert server.uri == "nbd+unix:///?socket=nandlab.sock"
        [export] = json.loads(client("nbdinfo", "--json", server.uri))["exports"]
        assert export["export-size"] == size_of()
        assert (export["block_size_minimum"], export["block_size_preferred"]) == (512, 4096)
        assert export["block_size_maximum"] == 32 << 20
        for flag in ("can_flush", "can_fua", "can_trim", "can_zero", "can_fast_zero", "can_cache"):
            assert export[flag], flag
        assert export["can_multi_conn"]
        assert not export["is_read_only"]
        assert export["contexts"] == ["base:allocation", "x-nandlab:die", "x-nandlab:age"]
        listed = json.loads(client("nbdinfo", "--list", "--json", server.uri))
        assert [each["export-name"] for each in listed["exports"]] == ["nandlab"]
        dies = json.loads(client("nbdinfo", "--json", "--map=x-nandlab:die", server.uri))
        assert sum(extent["length"] for extent in dies) == size_of()
        # Two channels with two dies each.
        assert {each["type"] for each in dies} == {1, 2, 3, 4}
    assert not Path("nandlab.sock").exists()


def test_a_hole_reads_as_zeros(folder: Path) -> None:
    """The map shows what was written, and a trim takes it back."""
    needs("nbdinfo", "nbdsh")
    with lab.serve("tiny", set=SMALL, clock="fast") as server:
        script = "h.pwrite(b'x' * 65536, 131072); h.flush(); h.trim(32768, 131072)"
        client("nbdsh", "-u", server.uri, "-c", script)
        extents = json.loads(client("nbdinfo", "--json", "--map", server.uri))
        assert [(e["offset"], e["length"], e["type"]) for e in extents] == [
            (0, 163840, 3),
            (163840, 32768, 0),
            (196608, size_of() - 196608, 3),
        ]
        script = "assert h.pread(65536, 131072) == bytes(32768) + b'x' * 32768"
        client("nbdsh", "-u", server.uri, "-c", script)


@pytest.mark.parametrize("clock", some(["fast", "real"]))
def test_a_copy_comes_back(folder: Path, clock: str) -> None:
    """Nbdcopy writes a whole drive and reads it again, over several connections."""
    needs("nbdcopy")
    given, back = folder / "in.img", folder / "out.img"
    digest = noise(given, size_of())
    with lab.serve("tiny", set=SMALL, clock=clock) as server:
        client("nbdcopy", "--flush", given, server.uri)
        client("nbdcopy", server.uri, back)
        assert hashlib.sha256(back.read_bytes()).hexdigest() == digest
        result = server.stop()
    report = result.to_dict()
    assert report["device"]["requests"]["write"] > 0
    assert report["host"]["write"]["bytes"] == size_of()
    assert report["device"]["failed_requests"] == 0
    assert result.checks.ok


def test_order_and_fua(folder: Path) -> None:
    """Many requests at a time, in any order: what was answered last is what is read."""
    needs("nbdsh")
    script = """
import random
rng = random.Random(7)
model = bytearray(1 << 20)
for step in range(200):
    cookies = []
    # None of a round overlap: their order is free.
    for part in rng.sample(range(64), 16):
        offset = part << 14
        offset += rng.randrange(16) * 512
        length = rng.randrange(1, 16) * 512
        data = bytes([step % 255 + 1]) * length
        flags = nbd.CMD_FLAG_FUA if rng.random() < 0.3 else 0
        kind = rng.random()
        if kind < 0.6:
            buffer = nbd.Buffer.from_bytearray(bytearray(data))
            cookies.append(h.aio_pwrite(buffer, offset, flags=flags))
            model[offset : offset + length] = data
        elif kind < 0.8:
            flags |= nbd.CMD_FLAG_NO_HOLE if rng.random() < 0.5 else 0
            cookies.append(h.aio_zero(length, offset, flags=flags))
            model[offset : offset + length] = bytes(length)
        else:
            cookies.append(h.aio_flush())
    for cookie in cookies:
        while not h.aio_command_completed(cookie):
            h.poll(-1)
    if step % 10 == 0:
        assert h.pread(1 << 20, 0) == model, step
h.cache(4096, 0)
assert h.pread(1 << 20, 0) == model
try:
    h.zero(4096, 512, flags=nbd.CMD_FLAG_FAST_ZERO)
    raise SystemExit("a fast zero of half units was taken")
except nbd.Error as error:
    assert error.errno == "ENOTSUP", error.errno
"""
    with lab.serve("tiny", set=SMALL, clock="fast", precondition="fill") as server:
        client("nbdsh", "-u", server.uri, "-c", script)


def test_qemu_reads_what_it_writes(folder: Path) -> None:
    """qemu-io's patterns, its zeros and discards; qemu-img compares the whole."""
    needs("qemu-io", "qemu-img")
    given = folder / "in.img"
    noise(given, size_of())
    with lab.serve("tiny", set=SMALL, clock="fast") as server:
        for command in (
            "write -P 17 4k 64k",
            "read -P 17 4k 64k",
            "write -z 8k 8k",
            "read -P 0 8k 8k",
            "write -f -P 9 512 1536",
            "read -P 9 512 1536",
            "discard 4k 64k",
            "flush",
        ):
            told = client("qemu-io", "-f", "raw", "-c", command, server.uri)
            assert "Pattern verification failed" not in told
            assert "error" not in told.lower()
        client("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", given, server.uri)
        same = client("qemu-img", "compare", "-f", "raw", "-F", "raw", given, server.uri)
        assert "identical" in same


def test_fio_verifies_what_it_writes(folder: Path) -> None:
    """The engine nbd of fio, with checksums, at depth 16."""
    needs("fio")
    if "nbd" not in client("fio", "--enghelp").split():
        pytest.skip("this fio has no engine nbd")
    with lab.serve("tiny", set=SMALL, clock="fast") as server:
        told = client(
            "fio",
            "--name=verified",
            "--ioengine=nbd",
            f"--uri={server.uri}",
            "--rw=randwrite",
            "--bs=4k",
            "--iodepth=16",
            "--size=8m",
            "--verify=crc32c",
            "--output-format=json",
        )
    [job] = json.loads(told[told.index("{") :])["jobs"]
    assert job["error"] == 0
    assert job["write"]["total_ios"] == job["read"]["total_ios"] == 2048


def test_a_file_keeps_the_bytes(folder: Path) -> None:
    """What one server has kept, the next one finds; one that reads only changes nothing."""
    needs("nbdsh")
    with lab.serve("tiny", set=SMALL, clock="fast", store="disk.img") as server:
        client("nbdsh", "-u", server.uri, "-c", "h.pwrite(b'kept' * 1024, 12288)")
    assert Path("disk.img").stat().st_size == size_of()
    with lab.serve("tiny", set=SMALL, clock="fast", store="disk.img", readonly=True) as server:
        script = """
assert h.is_read_only()
assert h.pread(4096, 12288) == b'kept' * 1024
h.set_strict_mode(0)
try:
    h.pwrite(bytes(512), 12288)
    raise SystemExit("a write was taken")
except nbd.Error as error:
    assert error.errno == 'EPERM', error.errno
"""
        client("nbdsh", "-u", server.uri, "-c", script)
        report = server.stop().to_dict()
    assert report["device"]["refused_requests"] == 1
    with refused("disk.img", "bytes"):
        lab.serve("tiny", clock="fast", store="disk.img")


def test_a_drive_is_used_again(folder: Path) -> None:
    """The drive that was served has what clients wrote, and runs on."""
    needs("nbdsh")
    drive = lab.Drive("tiny", set=SMALL).precondition("fill")
    with refused("clock"):
        drive.serve(clock="slow")
    with refused("a.sock"):
        drive.serve(clock="fast", socket="no/folder/a.sock")
    with drive.serve(clock="fast") as server:
        script = "[h.pwrite(bytes(65536), 65536 * n) for n in range(400)]"
        client("nbdsh", "-u", server.uri, "-c", script)
        with refused("drive", "in a run"):
            drive.run("[reads]\nrw=randread\nnumber_ios=10\n")
        first = server.stop()
    assert first.to_dict()["host"]["write"]["bytes"] == 400 * 65536
    assert drive.run("[reads]\nrw=randread\nnumber_ios=1000\n").checks.ok


def test_a_record_is_the_same_requests(folder: Path) -> None:
    """A trace of what clients asked for replays as what the drive was asked."""
    needs("nbdsh")
    script = """
for n in range(300):
    h.pwrite(bytes(4096), 4096 * (n * 37 % 1000))
    h.pread(512, 512 * n)
h.trim(65536, 0)
h.pwrite(bytes(512), 512, flags=nbd.CMD_FLAG_FUA)
h.flush()
"""
    with lab.serve(
        "tiny", set=SMALL, clock="fast", record="disk.iolog.zst", requests=True
    ) as server:
        client("nbdsh", "-u", server.uri, "-c", script)
        served = server.stop()
    replayed = lab.run("tiny", set=SMALL, trace="disk.iolog.zst", requests=True)
    counts = [
        {name: result.to_dict()["host"][name]["requests"] for name in ("read", "write", "trim")}
        for result in (served, replayed)
    ]
    assert counts[0] == counts[1] == {"read": 300, "write": 301, "trim": 1}
    columns = ["op", "offset_bytes", "length_bytes"]
    ordered = [
        result.requests().sort_by("arrival_ns").select(columns).to_pylist()
        for result in (served, replayed)
    ]
    # The forced write is followed by a flush in the trace.
    told = [[row for row in rows if row["op"] != "flush"] for rows in ordered]
    assert told[0] == told[1]


def test_no_answer_comes_early(folder: Path) -> None:
    """With a clock, a client waits as long as the simulated drive takes, and not much longer."""
    needs("nbdsh")
    with lab.serve(
        "tiny", set=SMALL, clock="scaled=5", precondition="fill", requests=True
    ) as server:
        script = """
import time
start = time.monotonic()
for n in range(200):
    h.pread(4096, 4096 * (n * 97 % 5000))
print(time.monotonic() - start)
"""
        took_s = float(client("nbdsh", "-u", server.uri, "-c", script))
        result = server.stop()
    simulated_s = sum(result.requests()["latency_ns"].to_pylist()) / 1e9
    assert took_s > 5 * simulated_s > 0
    late = result.to_dict()["device"]["late_us"]
    assert 0 <= late["p50"] <= late["p99"] <= late["max"]
    # Loose: the machine may be busy.
    assert late["p50"] < 5000


def test_broken_clients_harm_nobody(folder: Path) -> None:
    """Garbage, a silent client and one that leaves are dropped; others go on."""
    needs("nbdsh")
    with lab.serve("tiny", set=SMALL, clock="fast", port=0) as server:
        port = int(server.uri.rsplit(":", 1)[1])

        def connected() -> socket.socket:
            return socket.create_connection(("127.0.0.1", port), timeout=20)

        with connected() as silent, connected() as garbage:
            assert garbage.recv(18).startswith(b"NBDMAGICIHAVEOPT")
            garbage.sendall(bytes(range(256)) * 16)
            assert garbage.recv(1 << 16) == b"" or garbage.recv(1 << 16) == b""
            script = "assert h.pread(4096, 0) == bytes(4096)"
            client("nbdsh", "-u", server.uri, "-c", script)
            assert silent.recv(18).startswith(b"NBDMAGIC")
        client("nbdsh", "-u", server.uri, "-c", script)
        until(lambda: any("dropped" in note for note in server.notes()), what="dropped client")
        report = server.stop().to_dict()
    assert report["device"]["dropped_clients"] >= 1
    assert report["device"]["clients"] == 4


@pytest.mark.parametrize("clock", some(["real", "fast"]))
def test_answers_go_to_those_who_asked(folder: Path, clock: str) -> None:
    """Clients that take no answers, or leave, with large reads under way: others get their own."""
    length, count = 1 << 17, 8
    with lab.serve("tiny", set=SMALL, clock=clock, socket="drive.sock") as server:
        size = size_of() // length * length
        data = random.Random(3).randbytes(size)
        parts = [data[at : at + length] for at in range(0, size, length)]

        def ask(client: Client) -> None:
            for cookie in range(count):
                client.ask_for(cookie, cookie % len(parts) * length, length)

        with Client(server.uri) as writer:
            for number, part in enumerate(parts):
                writer.write(number * length, part)
        with Client(server.uri) as slow, Client(server.uri) as reader:
            ask(slow)
            for _ in range(5):
                with Client(server.uri) as leaves:
                    ask(leaves)
                for number, part in enumerate(parts):
                    assert reader.read(number * length, length) == part
            answers = dict(slow.answer(length) for _ in range(count))
        assert answers == {cookie: parts[cookie % len(parts)] for cookie in range(count)}
        report = server.stop().to_dict()
    assert report["device"]["clients"] == 8


def test_a_socket_is_for_this_user(folder: Path) -> None:
    """Mode 0600; one that was left behind is replaced; one in use, or another file, is refused."""
    with lab.serve("tiny", set=SMALL, clock="fast", socket="here.sock"):
        assert Path("here.sock").stat().st_mode & 0o777 == 0o600
        with refused("here.sock", "server listens"):
            lab.serve("tiny", set=SMALL, clock="fast", socket="here.sock")
    left = socket.socket(socket.AF_UNIX)
    left.bind("here.sock")
    left.close()
    with lab.serve("tiny", set=SMALL, clock="fast", socket="here.sock"):
        pass
    Path("file.sock").write_text("mine")
    with refused("file.sock", "not a socket"):
        lab.serve("tiny", set=SMALL, clock="fast", socket="file.sock")
    assert Path("file.sock").read_text() == "mine"
    assert list(folder.glob(".nandlab*")) == []


def test_the_command_ends_with_its_command(nandlab: Run, folder: Path) -> None:
    """--run: the report is written, the socket is gone, the exit code is the command's."""
    needs("nbdsh")
    script = "PATH=/usr/bin:/bin nbdsh -u \"$uri\" -c 'h.pwrite(bytes(8192), 0)'"
    ended = nandlab("nbd", *TINY, "--run", script, "--json", "-", "--plot", "disk.png")
    report = ended.succeeded().json
    assert report["host"]["write"]["bytes"] == 8192
    assert report["device"]["clients"] == 1
    assert (folder / "disk.png").stat().st_size > 10_000
    assert not (folder / "nandlab.sock").exists()
    assert nandlab("nbd", *TINY, "--run", "exit 7", "--quiet").code == 7


@pytest.mark.parametrize("which", some([signal.SIGINT, signal.SIGTERM]))
def test_a_signal_ends_it_in_order(folder: Path, which: signal.Signals) -> None:
    """What is under way is answered, reports are written, the socket is removed."""
    needs("nbdsh")
    arguments = [COMMAND, "nbd", *TINY, "--json", "report.json", "--requests", "r.parquet"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "nbd+unix" in process.stderr.readline()
        script = "h.pwrite(bytes(4096), 0)"
        try:
            client("nbdsh", "-u", "nbd+unix:///?socket=nandlab.sock", "-c", script)
            process.send_signal(which)
            told = process.communicate(timeout=60)[1]
        finally:
            process.kill()
        assert process.returncode == 0, told
    report = json.loads(Path("report.json").read_text())
    assert report["host"]["write"]["requests"] == 1
    assert not report["sim"]["interrupted"]
    assert Path("r.parquet").stat().st_size > 0
    assert not Path("nandlab.sock").exists()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--drive", "tiny", "--clock", "slow"), ["fast", "real", "scaled"]),
        (("--drive", "tiny", "--socket", "a", "--port", "1"), ["socket", "port"]),
        (("--drive", "tiny", "--listen-anywhere"), ["listen_anywhere", "port"]),
        (("--drive", "tiny", "--port", "70000"), ["70000", "0 to 65535"]),
        (("--drive", "tiny", "--socket", "no/folder/a.sock"), ["a.sock"]),
        (("--drive", "tiny", "--store", "no/folder/a.img"), ["a.img"]),
        (
            ("--drive", "tiny", "--set", "ftl.name=zoned", "--set", "ftl.max_active_zones=4"),
            ["ftl.name", "zoned"],
        ),
        (("--drive", "mqsim_default"), ["--store"]),
        ((), ["no drive"]),
    ],
)
def test_a_mistake_is_one_line(nandlab: Run, arguments: tuple[str, ...], parts: list[str]) -> None:
    """Bad input is refused before anything is served."""
    nandlab("nbd", *arguments, "--run", "true").refused(*parts)


def test_a_worn_drive_loses_codewords(folder: Path) -> None:
    """A read of lost data is an error of input and output; others are answered."""
    needs("nbdsh")
    # As many wrong bits as the code corrects, in the mean: some words are lost.
    sets = {
        "chip.array": {"name": "power_law", "epsilon": 1e-3, "alpha": 0, "beta": 0, "gamma": 0},
        "ecc": {"model": "threshold", "t": 11, "payload_bytes": 1024, "parity_bytes": 56},
    }
    script = """
lost = 0
for n in range(300):
    try:
        h.pread(4096, 4096 * n)
    except nbd.Error as error:
        assert error.errno == 'EIO', error.errno
        lost += 1
print(lost)
"""
    with lab.serve("tiny", set={**SMALL, **sets}, precondition="fill", clock="fast") as server:
        lost = int(client("nbdsh", "-u", server.uri, "-c", script))
        report = server.stop().to_dict()
    assert 0 < lost == report["device"]["failed_requests"]
    assert 1024 * lost <= report["device"]["lost_bytes"] < 4096 * lost

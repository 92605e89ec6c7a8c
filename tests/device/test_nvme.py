"""A drive that an NVMe host connects to over TCP: a host of our own."""

from __future__ import annotations

import json
import random
import shlex
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest

import nandlab as lab
from nandlab.served.control import Control, ask
from tests.conftest import Ended, refused, some
from tests.device.clients import SMALL, Client
from tests.device.nvme_host import DISCOVERY, Queue, attached

Run = Callable[..., Ended]


def number(page: bytes, at: int, count: int = 8) -> int:
    return int.from_bytes(page[at : at + count], "little")


@pytest.mark.parametrize("digests", [False, True])
@pytest.mark.parametrize("clock", some(["fast", "real"]))
def test_a_host_reads_what_it_has_written(clock: str, digests: bool) -> None:
    """Data in capsules and data that the drive asks for; the report counts them."""
    rng = random.Random(1)
    small, large = rng.randbytes(4096), rng.randbytes(20_480 if digests else 1 << 20)
    with lab.serve("tiny", set=SMALL, clock=clock, protocol="nvme", port=0) as server:
        assert server.uri.startswith("nvme+tcp://127.0.0.1:")
        with attached(server.uri, digests=digests) as (_admin, queue):
            assert queue.write(8, small) == 0
            assert queue.write(4096, large) == 0
            queue.flush()
            assert queue.read(8, 8) == small
            assert queue.read(4096, len(large) // 512) == large
        report = server.stop().to_dict()
    assert report["device"]["requests"]["write"] == 2
    assert report["device"]["clients"] == 2
    assert report["device"]["dropped_clients"] == 0
    assert (report["device"]["late_us"] is None) == (clock == "fast")


@pytest.mark.parametrize("clock", some(["fast", "real"]))
def test_many_queues_work_at_once(clock: str) -> None:
    """Each of four queues writes its part of the drive and finds it."""
    with (
        lab.serve("tiny", set=SMALL, clock=clock, protocol="nvme", port=0) as server,
        attached(server.uri, queues=4) as (admin, *queues),
    ):
        wrong: list[int] = []

        def work(part: int, queue: Queue) -> None:
            rng = random.Random(part)
            for step in range(50):
                block = 8 * (4 * step + part)
                data = rng.randbytes(4096)
                if queue.write(block, data) != 0 or queue.read(block, 8) != data:
                    wrong.append(block)

        threads = [threading.Thread(target=work, args=one) for one in enumerate(queues)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        smart = admin.log(2, 512)
        assert (number(smart, 64), number(smart, 80)) == (200, 200)


def test_discovery_leads_to_the_drive() -> None:
    with lab.serve("tiny", set=SMALL, clock="fast", protocol="nvme", port=0) as server:
        queue = Queue(server.uri)
        assert queue.connect(0, nqn=DISCOVERY).status == 0
        queue.enable()
        page = queue.log(0x70, 2048)
        queue.socket.close()
    assert number(page, 8) == 1
    host, port = page[1536:1792].decode().strip(), page[1056:1088].decode().strip()
    name = page[1280:1536].rstrip(b"\0").decode()
    assert f"nvme+tcp://{host}:{port}/{name}" == server.uri


def test_a_cut_drive_comes_back_with_what_it_promised(folder: Path) -> None:
    """`nandlab ctl` cuts: the host is cut off, connects again, and finds what it has flushed."""
    sets = {**SMALL, "recovery.name": "scan_blocks"}
    with (
        lab.serve("tiny", set=sets, clock="fast", protocol="nvme", port=0) as server,
        Control(server, folder / "s.ctl"),
    ):
        with attached(server.uri) as (_admin, queue):
            assert queue.write(0, b"a" * 4096) == 0
            queue.flush()
            assert ask(folder / "s.ctl", ["cut"])["power"] == "off"
            with pytest.raises(ConnectionError):
                queue.read(0, 8)
        assert ask(folder / "s.ctl", ["restore"])["power"] == "on"
        with attached(server.uri) as (admin, queue):
            assert queue.read(0, 8) == b"a" * 4096
            # Unsafe shutdowns.
            assert number(admin.log(2, 512), 144) == 1


def test_a_host_without_keep_alive_is_dropped() -> None:
    with lab.serve("tiny", set=SMALL, clock="fast", protocol="nvme", port=0) as server:
        queue = Queue(server.uri)
        assert queue.connect(0, keep_alive_ms=400).status == 0
        begin = monotonic()
        with pytest.raises(ConnectionError):
            queue.take()
        assert 0.3 < monotonic() - begin < 10
        sleep(0.1)
        assert any("keep-alive" in note for note in server.notes())


def test_a_broken_host_is_told_and_others_go_on() -> None:
    with (
        lab.serve("tiny", set=SMALL, clock="fast", protocol="nvme", port=0) as server,
        attached(server.uri) as (_admin, queue),
    ):
        broken = Queue(server.uri)
        broken.socket.sendall(struct.pack("<BBBBI", 0x55, 0, 8, 0, 8))
        kind, _flags, rest, _data = broken.take()
        assert (kind, number(rest, 0, 2)) == (3, 1)
        with pytest.raises(ConnectionError):
            broken.take()
        assert queue.write(0, bytes(512)) == 0


def test_a_read_only_drive_refuses_writes() -> None:
    with (
        lab.serve(
            "tiny", set=SMALL, clock="fast", protocol="nvme", port=0, readonly=True
        ) as server,
        attached(server.uri) as (_admin, queue),
    ):
        assert queue.write(0, bytes(512)) == 0x020
        assert queue.read(0, 1) == bytes(512)


def test_a_command_serves_and_reports(folder: Path, nandlab: Run) -> None:
    """`nandlab nvme` with the options of `nandlab nbd`."""
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1]);"
        "from tests.device.nvme_host import attached\n"
        "with attached(os.environ['uri']) as (_, queue): assert queue.write(0, bytes(4096)) == 0"
    )
    root = Path(__file__).parents[2]
    line = shlex.join([sys.executable, "-c", script, str(root)])
    ended = nandlab(
        "nvme", "--drive", "tiny", "--clock", "fast", "--port", "0", "--run", line,
        "--json", "r.json", "--quiet",
    )  # fmt: skip
    assert ended.code == 0, ended
    assert json.loads((folder / "r.json").read_text())["device"]["requests"]["write"] == 1


@pytest.mark.parametrize("clock", ["fast", "real"])
def test_nbd_clients_use_the_same_drive(folder: Path, clock: str) -> None:
    """What one protocol writes the other reads, and the report counts both."""
    with lab.serve(
        "tiny", set=SMALL, clock=clock, protocol="nvme", port=0, socket="s.sock"
    ) as server:
        assert server.uris == (server.uri, "nbd+unix:///?socket=s.sock")
        with attached(server.uri) as (_admin, queue), Client(server.uris[1]) as client:
            assert queue.write(8, b"n" * 4096) == 0
            assert client.read(4096, 4096) == b"n" * 4096
            client.write(8192, b"c" * 4096)
            assert queue.read(16, 8) == b"c" * 4096
            client.flush()
        requests = server.stop().report.device.requests
        assert (requests.read, requests.write, requests.flush) == (2, 2, 1)
    assert not Path("s.sock").exists()


def test_a_wrong_address_or_protocol_is_refused() -> None:
    with refused("socket", "port"):
        lab.serve("tiny", socket="s.sock", port=0)
    with refused("protocol", "iscsi", "nbd or nvme"):
        lab.serve("tiny", protocol="iscsi")


@pytest.mark.parametrize("clock", some(["fast", "real"]))
@pytest.mark.parametrize("leaves", [False, True])
def test_a_server_ends_under_a_host_that_takes_no_answers(clock: str, leaves: bool) -> None:
    """60 MiB of reads, most of which wait for others: nobody waits for them at the end."""
    with (
        lab.serve("tiny", set=SMALL, clock=clock, protocol="nvme", port=0) as server,
        attached(server.uri) as (_admin, queue),
    ):
        for number_of in range(60):
            queue.ask_for(number_of, 2048 * number_of, 2048)
        if leaves:
            queue.socket.close()
        sleep(0.3)
        begin = monotonic()
        assert server.stop().checks.ok
        assert monotonic() - begin < 10

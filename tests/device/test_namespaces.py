"""Several namespaces of a drive over NVMe: a drive file, a saved drive, and who refuses them."""

from __future__ import annotations

import random
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import nandlab as lab
from tests.conftest import Ended, refused, some
from tests.device.clients import SMALL
from tests.device.nvme_host import Queue, attached

Run = Callable[..., Ended]

FILE = """drive_preset = "tiny"

[chip.geometry]
pages_per_block = 8

[[namespace]]
share = 0.5

[[namespace]]
bytes = "1MiB"
block_bytes = 4096
"""


def blocks(admin: Queue, nsid: int) -> tuple[int, int]:
    """Number of blocks of a namespace, and the number of their format."""
    page = admin.command(0x06, nsid, struct.pack("<I20x", 0), wanted=4096).data
    return struct.unpack_from("<Q", page)[0], page[26]


def listed(admin: Queue, structure: int = 2) -> list[int]:
    """Identifiers of the namespaces."""
    page = admin.command(0x06, 0, struct.pack("<I20x", structure), wanted=4096).data
    return [nsid for nsid in struct.unpack("<1024I", page) if nsid]


def write(queue: Queue, nsid: int, block: int, count: int, data: bytes) -> int:
    return queue.command(0x01, nsid, struct.pack("<QI12x", block, count - 1), data).status


def read(queue: Queue, nsid: int, block: int, count: int, size: int) -> tuple[int, bytes]:
    rest = struct.pack("<QI12x", block, count - 1)
    done = queue.command(0x02, nsid, rest, wanted=size)
    return done.status, done.data


@pytest.mark.parametrize("clock", some(["fast", "real"]))
def test_namespaces_of_a_drive_file_are_used_at_once(clock: str, folder: Path) -> None:
    """A host for each of two namespaces; the report has the commands of each, and of each queue."""
    (folder / "two.toml").write_text(FILE)
    with lab.serve("two.toml", clock=clock, protocol="nvme", port=0) as server:
        with attached(server.uri, queues=2) as (admin, *queues):
            assert listed(admin) == [1, 2]
            assert blocks(admin, 2) == (256, 1)
            wrong: list[int] = []

            def work(nsid: int, queue: Queue) -> None:
                rng = random.Random(nsid)
                count, size = (8, 4096) if nsid == 1 else (2, 8192)
                for step in range(40):
                    data = rng.randbytes(size)
                    if write(queue, nsid, step * count, count, data) != 0:
                        wrong.append(step)
                    if read(queue, nsid, step * count, count, size) != (0, data):
                        wrong.append(step)

            threads = [threading.Thread(target=work, args=one) for one in enumerate(queues, 1)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not wrong
            for queue in queues:
                queue.flush()
        result = server.stop()
    report = result.to_dict()["device"]
    table = result._repr_html_()
    assert all(title in table for title in ("namespace 1", "namespace 2", "queue 2"))
    for part in ("namespaces", "queues"):
        assert list(report[part]) == ["1", "2"]
        for name, size in (("1", 4096), ("2", 8192)):
            for flow in ("read", "write"):
                counts = report[part][name][flow]
                assert counts["bytes"] == 40 * size
                latency = counts["latency_us"]
                assert latency["count"] == 40
                assert 0 < latency["p50"] <= latency["p99"] <= latency["max"]
    # Both flushes were sent for the first namespace, each on its queue.
    assert report["namespaces"]["1"]["other"]["latency_us"]["count"] == 2
    assert report["queues"]["2"]["other"]["latency_us"]["count"] == 1


@pytest.mark.parametrize("clock", some(["fast", "real"]))
def test_a_copy_goes_on_by_the_clock(clock: str) -> None:
    """A copy of 1 MiB, by a second request to the drive once all has been read."""
    data = random.Random(3).randbytes(1 << 20)
    with (
        lab.serve("tiny", set=SMALL, clock=clock, protocol="nvme", port=0) as server,
        attached(server.uri) as (_admin, queue),
    ):
        assert queue.write(0, data) == 0
        ranges = [(1024, 1024), (0, 1024)]
        sources = b"".join(struct.pack("<8xQH14x", first, count - 1) for first, count in ranges)
        for _ in range(3):
            done = queue.command(0x19, 1, struct.pack("<QI12x", 4096, 1), sources)
            assert (done.status, done.result) == (0, 0)
        half = len(data) // 2
        assert queue.read(4096, 2048) == data[half:] + data[:half]


def test_a_saved_drive_keeps_its_namespaces(folder: Path) -> None:
    """Namespaces that a host has made, with their names, their data, and blocks that are lost."""
    with (
        lab.serve("tiny", set=SMALL, clock="fast", protocol="nvme", port=0) as server,
        attached(server.uri) as (admin, queue),
    ):
        assert admin.command(0x0D, 1, struct.pack("<I20x", 1)).status == 0
        for size, flbas in ((512, 0), (256, 1)):
            made = struct.pack("<QQ10xB3xB4065x", size, size, flbas, 1)
            nsid = admin.command(0x0D, 0, struct.pack("<24x"), made).result
            controllers = struct.pack("<HH4092x", 1, 1)
            done = admin.command(0x15, nsid, struct.pack("<I20x", 0), controllers)
            assert done.status == 0
        assert listed(admin) == [1, 2]
        assert write(queue, 2, 9, 1, b"k" * 4096) == 0
        assert queue.command(0x04, 1, struct.pack("<QI12x", 5, 0)).status == 0
        names = [admin.command(0x06, nsid, struct.pack("<I20x", 3), wanted=4096) for nsid in (1, 2)]
        server.snapshot("now.nldrive")
    assert names[0].data != names[1].data
    drive = lab.Drive.load("now.nldrive")
    with (
        drive.serve(clock="fast", protocol="nvme", port=0) as server,
        attached(server.uri) as (admin, queue),
    ):
        assert listed(admin) == [1, 2]
        assert [blocks(admin, nsid) for nsid in (1, 2)] == [(512, 0), (256, 1)]
        assert read(queue, 2, 9, 1, 4096) == (0, b"k" * 4096)
        assert read(queue, 1, 5, 1, 512)[0] == 0x281
        assert read(queue, 1, 4, 1, 512)[0] == 0


def test_jobs_name_a_namespace_and_others_refuse_them(folder: Path, nandlab: Run) -> None:
    """Traces and network block devices know the whole drive alone."""
    (folder / "two.toml").write_text(FILE)
    job = "[a]\nrw=read\nio_size=64k\n"
    (folder / "a.fio").write_text(job)
    run = ("run", "--drive", "two.toml", "--workload", "a.fio")
    nandlab(*run).refused("a.fio:1", "filename", "/dev/nvme0n1")
    (folder / "a.fio").write_text(job + "filename=/dev/nvme0n2\n")
    assert nandlab(*run).code == 0
    (folder / "a.csv").write_text("128166372003061629,hm,1,Read,0,4096,100\n")
    nandlab("run", "--drive", "two.toml", "--trace", "a.csv").refused("namespace")
    with refused("namespace", "NVMe"):
        lab.serve("two.toml", socket="s.sock")

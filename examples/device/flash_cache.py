"""A flash cache on a drive over NVMe: small objects, and a log of large ones under its own handle.

    python examples/device/flash_cache.py [--writes N]

Prints the write amplification by the drive's statistics of placement, by its log of the Open
Compute Project, and by the report. It speaks NVMe/TCP itself: a queue of the host is a connection.
"""

from __future__ import annotations

import argparse
import random
import socket
import struct
from typing import Any
from urllib.parse import urlsplit

import nandlab

#: A drive of 20 MiB in units of 256 KiB: blocks of all dies are opened, filled and erased together.
DRIVE = {
    "chip.geometry.blocks_per_plane": 100,
    "chip.geometry.pages_per_block": 4,
    "ftl.superblock_dies": 0,
    "ftl.overprovisioning": 0.25,
    "ftl.static_wear_delta": 0,
    "buffer.bytes": 131072,
}

#: Part of the drive for small objects, and their part of the written bytes.
SMALL_SPACE, SMALL_WRITES = 0.1, 0.8

OBJECT, SEGMENT = 4096, 65536


class Queue:
    """A queue of an NVMe host, with one command at a time."""

    def __init__(self, uri: str, number: int, controller: int = 0xFFFF) -> None:
        address = urlsplit(uri)
        self._socket = socket.create_connection((address.hostname, address.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(struct.pack("<BBBBI120x", 0, 0, 128, 0, 128))
        self._taken(128)
        names = (address.path[1:].encode().ljust(256, b"\0"), b"nqn.cache".ljust(512, b"\0"))
        data = b"h" * 16 + struct.pack("<H238x", controller) + b"".join(names)
        self.controller, _ = self.command(
            0x7F, 1, struct.pack("<HHHBxI12x", 0, number, 63, 0, 0), data
        )
        if number == 0:
            # Enables the controller, with entries of 64 and of 16 bytes.
            self.command(0x7F, 0, struct.pack("<IIQ8x", 0, 0x14, 0x460001))

    def _taken(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise ConnectionError("the drive has gone")
            data += more
        return data

    def command(
        self, opcode: int, namespace: int, words: bytes, data: bytes = b"", wanted: int = 0
    ) -> tuple[int, bytes]:
        """Result and data of a command with its dwords from the tenth on; an error if it fails."""
        is_inside = 0 < len(data) <= 8192
        kind = 0x01 if is_inside else 0x5A
        entry = struct.pack(
            "<BBHI24xIxxxB", opcode, 0x40, 0, namespace, len(data) or wanted, kind
        ) + words.ljust(24, b"\0")
        inside = data if is_inside else b""
        head = struct.pack("<BBBBI", 4, 0, 72, 72 if inside else 0, 72 + len(inside))
        self._socket.sendall(head + entry + inside)
        read = b""
        while True:
            kind, _, length, at, whole = struct.unpack("<BBBBI", self._taken(8))
            rest = self._taken(whole - 8)
            if kind == 9:
                # The drive is ready for all of the data.
                head = struct.pack("<BBBBI", 6, 4, 24, 24, 24 + len(data))
                self._socket.sendall(head + struct.pack("<HHII4x", 0, 0, 0, len(data)) + data)
            elif kind == 7:
                read += rest[at - 8 :]
            else:
                result, status = struct.unpack("<Q6xH", rest[: length - 8])
                if status >> 1:
                    raise OSError(f"status {status >> 1 & 0x7FF:#x} of command {opcode:#x}")
                return result, read

    def write(self, at: int, data: bytes, handle: int | None) -> None:
        """Write bytes; with a handle as the Data Placement directive says."""
        directive, identifier = (0, 0) if handle is None else (2 << 20, handle << 16)
        blocks = len(data) // 512 - 1
        self.command(0x01, 1, struct.pack("<QII", at // 512, blocks | directive, identifier), data)

    def log(self, number: int, count: int) -> bytes:
        """A log page, of the endurance group where it is one of placement."""
        is_placement = number in (0x20, 0x21, 0x22, 0x23)
        words = struct.pack("<II", number | (count // 4 - 1) << 16, is_placement << 16)
        return self.command(0x02, 0xFFFFFFFF, words, wanted=count)[1]


def fill(uri: str, capacity: int, writes: int, handles: tuple[int | None, int | None]) -> Queue:
    """Write as a cache does, for so many drive writes. Returns the admin queue of the host."""
    admin = Queue(uri, 0)
    queue = Queue(uri, 1, admin.controller)
    rng = random.Random(1)
    small = int(capacity * SMALL_SPACE) // SEGMENT * SEGMENT
    ring = range(small, capacity // SEGMENT * SEGMENT, SEGMENT)
    objects_of_segment = round(SMALL_WRITES / (1 - SMALL_WRITES) * SEGMENT / OBJECT)
    written, segment = 0, 0
    while written < writes * capacity:
        queue.write(ring[segment % len(ring)], bytes(SEGMENT), handles[1])
        for _ in range(objects_of_segment):
            queue.write(OBJECT * rng.randrange(small // OBJECT), bytes(OBJECT), handles[0])
        segment += 1
        written += SEGMENT + objects_of_segment * OBJECT
    return admin


def amplification(writes: int, handles: tuple[int | None, int | None]) -> tuple[float, ...]:
    """Write amplification by statistics of placement, by the log of OCP, and by the report."""
    sets: dict[str, Any] = {**DRIVE, "ftl.host_streams": 2}
    capacity = nandlab.Drive("tiny", set=sets).capacity_bytes
    with nandlab.serve("tiny", set=sets, protocol="nvme", port=0, clock="fast") as server:
        admin = fill(server.uri, capacity, writes, handles)
        host, media = struct.unpack("<Q8xQ", admin.log(0x22, 64)[:24])
        [physical] = struct.unpack("<Q", admin.log(0xC0, 512)[:8])
        report = server.stop().report.endurance_group.write_amplification
    return media / host, physical / host, report


def main() -> None:
    """Print the table of both ways to write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writes", type=int, default=12, help="drive writes")
    writes = parser.parse_args().writes
    print(f"{'write amplification by':<24}{'statistics':>12}{'OCP log':>9}{'report':>8}")
    for name, handles in (("no handle", (None, None)), ("a handle for each kind", (0, 1))):
        figures = amplification(writes, handles)
        cells = "".join(
            f"{figure:>{width}.2f}" for figure, width in zip(figures, (12, 9, 8), strict=True)
        )
        print(f"{name:<24}{cells}")


if __name__ == "__main__":
    main()

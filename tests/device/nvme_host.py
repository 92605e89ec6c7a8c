"""An NVMe host of our own, over TCP: one queue for each connection, one command at a time."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"


def crc32c(data: bytes) -> int:
    """Checksum of a digest, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@dataclass(frozen=True)
class Done:
    """Outcome of a command: type and code of its status in one number."""

    status: int
    result: int
    data: bytes


class Queue:
    """A queue of a host, on a connection of its own."""

    def __init__(self, uri: str, *, digests: bool = False) -> None:
        address = urlsplit(uri)
        self._nqn = address.path[1:]
        self._digests = digests
        self._cid = 0
        self.socket = socket.create_connection((address.hostname, address.port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(struct.pack("<BBBBIHBBI112x", 0, 0, 128, 0, 128, 0, 0, digests, 0))
        kind, _flags, rest, _data = self.take()
        assert (kind, len(rest), rest[3]) == (1, 120, int(digests))

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError("the drive has gone")
            data += more
        return data

    def take(self) -> tuple[int, int, bytes, bytes]:
        """The next PDU: type, flags, rest of the header, data."""
        common = self._exactly(8)
        kind, flags, length, at, whole = struct.unpack("<BBBBI", common)
        rest = self._exactly(length - 8)
        read = length
        if flags & 1:
            assert struct.unpack("<I", self._exactly(4)) == (crc32c(common + rest),)
            read += 4
        data = self._exactly(whole - read)
        return kind, flags, rest, data[at - read :] if at else data

    def _send(self, kind: int, flags: int, rest: bytes, data: bytes = b"") -> None:
        length = 8 + len(rest)
        at = length + 4 * self._digests
        whole = at + len(data)
        header = struct.pack(
            "<BBBBI", kind, flags | self._digests, length, at if data else 0, whole
        )
        header += rest
        digest = struct.pack("<I", crc32c(header)) if self._digests else b""
        self.socket.sendall(header + digest + data)

    def command(
        self, opcode: int, nsid: int = 1, rest: bytes = b"", data: bytes = b"", wanted: int = 0
    ) -> Done:
        """Sends a command, whose dwords from the tenth on are `rest`, and takes its outcome."""
        self._cid += 1
        is_inside = 0 < len(data) <= 8192
        entry = struct.pack("<BBHI16xQIxxxB", opcode, 0x40, self._cid, nsid, 0, 0, 0)
        entry = entry[:32] + struct.pack("<IxxxB", len(data) or wanted, 0x01 if is_inside else 0x5A)
        entry += rest.ljust(24, b"\0")
        self._send(4, 0, entry, data if is_inside else b"")
        read = b""
        while True:
            kind, _flags, header, more = self.take()
            if kind == 9:
                cid, tag, offset, length = struct.unpack("<HHII4x", header)
                piece = data[offset : offset + length]
                for at in range(0, length, 100_000):
                    part = piece[at : at + 100_000]
                    is_last = at + len(part) == length
                    place = struct.pack("<HHII4x", cid, tag, offset + at, len(part))
                    self._send(6, 4 * is_last, place, part)
            elif kind == 7:
                read += more
            elif kind == 5:
                result, _head, _queue, cid, status = struct.unpack("<QHHHH", header)
                assert cid == self._cid
                return Done(status >> 1 & 0x7FF, result, read)
            else:
                raise ConnectionError(f"a PDU of type {kind}: {header.hex()}")

    def connect(
        self, number: int, controller: int = 0xFFFF, nqn: str = "", keep_alive_ms: int = 0
    ) -> Done:
        """Makes the queue."""
        names = (nqn or self._nqn).encode().ljust(256, b"\0") + b"nqn.a-host".ljust(256, b"\0")
        data = b"h" * 16 + struct.pack("<H", controller) + bytes(238) + names + bytes(256)
        rest = struct.pack("<HHHBxI12x", 0, number, 63, 0, keep_alive_ms)
        return self.command(0x7F, 1, rest, data)

    def enable(self) -> None:
        """Enables the controller of an admin queue, with all command sets that it has."""
        capabilities = self.command(0x7F, 4, struct.pack("<II16x", 1, 0)).result
        asked = 0x460061 if capabilities >> 43 & 1 else 0x460001
        assert self.command(0x7F, 0, struct.pack("<IIQ8x", 0, 0x14, asked)).status == 0
        assert self.command(0x7F, 4, struct.pack("<II16x", 0, 0x1C)).result == 1

    def log(self, number: int, count: int) -> bytes:
        """A log page."""
        rest = struct.pack("<I20x", number | (count // 4 - 1) << 16)
        return self.command(0x02, 0xFFFFFFFF, rest, wanted=count).data

    def write(self, block: int, data: bytes) -> int:
        """Writes blocks: the status."""
        rest = struct.pack("<QI12x", block, len(data) // 512 - 1)
        return self.command(0x01, 1, rest, data).status

    def read(self, block: int, count: int) -> bytes:
        """Reads blocks."""
        rest = struct.pack("<QI12x", block, count - 1)
        done = self.command(0x02, 1, rest, wanted=512 * count)
        assert done.status == 0
        return done.data

    def ask_for(self, cid: int, block: int, count: int) -> None:
        """Asks for blocks, and takes no answer."""
        entry = struct.pack("<BBHI24xIxxxB", 0x02, 0x40, cid, 1, 512 * count, 0x5A)
        self._send(4, 0, entry + struct.pack("<QI12x", block, count - 1))

    def flush(self) -> None:
        """Makes what is written durable."""
        assert self.command(0x00).status == 0


@contextmanager
def attached(uri: str, *, digests: bool = False, queues: int = 1) -> Iterator[list[Queue]]:
    """The admin queue of an enabled controller, and I/O queues."""
    admin = Queue(uri, digests=digests)
    controller = admin.connect(0)
    assert controller.status == 0
    admin.enable()
    every = [admin]
    for number in range(1, 1 + queues):
        queue = Queue(uri, digests=digests)
        assert queue.connect(number, controller.result).status == 0
        every.append(queue)
    try:
        yield every
    finally:
        for queue in every:
            queue.socket.close()

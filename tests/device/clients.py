"""NBD clients of the distribution, and a drive that is small enough for them."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

#: 100 MiB of host bytes.
SMALL = {"chip.geometry.pages_per_block": 8}


#: Where a distribution puts clients, and the Python that its nbdsh needs.
CLIENTS = {**os.environ, "PATH": "/usr/bin:/bin:/usr/local/bin"}


def needs(*tools: str) -> None:
    """Skips the test where a client is not installed."""
    missing = [tool for tool in tools if shutil.which(tool, path=CLIENTS["PATH"]) is None]
    if "nbdsh" in tools and not missing:
        told = subprocess.run(["nbdsh", "-c", "1"], env=CLIENTS, capture_output=True, check=False)
        missing = ["python3-libnbd"] if told.returncode else []
    if missing:
        packages = "libnbd-bin, python3-libnbd, qemu-utils, fio"
        pytest.skip(f"no {', '.join(missing)} here (Debian: {packages})")


def client(*arguments: str | Path, timeout_s: float = 60) -> str:
    """What a client prints; it must end well."""
    ended = subprocess.run(
        [*map(str, arguments)],
        env=CLIENTS,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


class Client:
    """A client of our own: one request at a time, with simple replies."""

    def __init__(self, uri: str) -> None:
        address = urlsplit(uri)
        if address.scheme == "nbd":
            self._socket = socket.create_connection((address.hostname, address.port), timeout=60)
        else:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.settimeout(60)
            self._socket.connect(address.query.removeprefix("socket="))
        assert self._take(18).startswith(b"NBDMAGICIHAVEOPT")
        # Fixed newstyle without zeros; the export without a name.
        self._socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        self.size_bytes, _flags = struct.unpack(">QH", self._take(10))

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            assert more, "the server has gone"
            data += more
        return data

    def _ask(self, command: int, offset: int, length: int, data: bytes = b"") -> None:
        self._socket.sendall(
            struct.pack(">IHHQQI", 0x25609513, 0, command, 7, offset, length) + data
        )
        assert struct.unpack(">IIQ", self._take(16)) == (0x67446698, 0, 7)

    def read(self, offset: int, length: int) -> bytes:
        """The bytes there."""
        self._ask(0, offset, length)
        return self._take(length)

    def ask_for(self, cookie: int, offset: int, length: int) -> None:
        """Asks for bytes, and takes no answer."""
        self._socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 0, cookie, offset, length))

    def answer(self, length: int) -> tuple[int, bytes]:
        """The next answer to what it has asked for: the cookie, and so many bytes."""
        magic, error, cookie = struct.unpack(">IIQ", self._take(16))
        assert (magic, error) == (0x67446698, 0)
        return cookie, self._take(length)

    def write(self, offset: int, data: bytes) -> None:
        """Keeps bytes."""
        self._ask(1, offset, len(data), data)

    def flush(self) -> None:
        """Makes them durable."""
        self._ask(3, 0, 0)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_error: object) -> None:
        self._socket.close()

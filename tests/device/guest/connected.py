"""Connections of a guest to served drives, by nvme-cli."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import nandlab as lab
from tests.device.guest.machine import HOST, Guest

DISK = "/dev/nvme0n1"


def at(server: lab.Server) -> str:
    """Options of nvme-cli that say where the drive is, as the guest sees it."""
    address = urlsplit(server.uri)
    return f"-t tcp -a {HOST} -s {address.port}"


@contextmanager
def connected(guest: Guest, server: lab.Server, options: str = "") -> Iterator[None]:
    """The drive is a disk of the guest, until the end of the block."""
    name = urlsplit(server.uri).path[1:]
    guest.run(f"nvme connect {at(server)} -n {name} --reconnect-delay=1 {options}")
    guest.run(f"while [ ! -b {DISK} ]; do sleep 0.1; done")
    try:
        yield
    finally:
        guest.run("nvme disconnect-all")

"""Fit of an imported drive: the engine reads it, and free blocks leave room for its data."""

from __future__ import annotations

import re

from nandlab._core import NandlabError
from nandlab.catalogue import load_config
from nandlab.given.refusal import refusal
from nandlab.imported.given import Given
from nandlab.imported.written import DriveFile

_NO_LIMIT = 2**62
"""Bytes of memory: a file is imported here, and may be run elsewhere."""

START = "gc.start_free_blocks"
RESERVE = "ftl.gc_reserve_blocks"


def fitted(drive: DriveFile, name: str) -> int:
    """The bytes that the host sees, with fewer free blocks where its data leave no room for them.

    nandlab keeps the free blocks of collection out of the capacity; where another simulator fills
    them with data, none would be left to collect.

    Args:
        drive: the drive; its free blocks may become fewer, with a note.
        name: key of the other simulator that the free blocks come from.

    Raises:
        NandlabError: the engine refuses the drive; names the key of the other simulator.
    """
    try:
        return _needs(drive)
    except NandlabError as error:
        wanted, reserve = (int(str(drive.lines[path].value)) for path in (START, RESERVE))
        first = error
    least = reserve + 1
    # The largest number that fits; half of it leaves blocks to collect from.
    low, high = least - 1, wanted
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _needs(drive, {START: middle})
            low = middle
        except NandlabError:
            high = middle
    if low < least:
        raise _renamed(first, drive, drive.given) from first
    fewer = max(least, low // 2)
    line = drive.lines[START]
    line.comment += f"; {wanted} leave no room"
    line.value = fewer
    drive.notes.append(
        f"{name} would keep {wanted} blocks of each plane free. The data of a full "
        f"drive leave room for {low}, and {fewer} of them are kept: {START}."
    )
    return _needs(drive)


def _needs(drive: DriveFile, change: dict[str, object] | None = None) -> int:
    """The bytes that the host sees, with other values of some keys."""
    tables = {path: line.value for path, line in drive.lines.items()} | (change or {})
    config = load_config(tables, place="drive.toml")
    capacity, _, _ = config.native.ftl_needs(_NO_LIMIT)
    return capacity


def _renamed(error: NandlabError, drive: DriveFile, given: Given) -> NandlabError:
    """The same error, at the key of the other simulator from which the refused one comes."""
    said = str(error)
    found = re.match(r"drive\.toml: ([a-z_.]+)", said)
    line = drive.lines.get(found[1]) if found else None
    origins = given.origins()
    names = [name for name in line.names if name in origins] if line else []
    at = origins[names[0]].place if names else given.place
    return refusal(at, f"nandlab refuses this drive: {said}")

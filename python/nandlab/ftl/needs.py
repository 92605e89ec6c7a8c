"""FTLs of the roster for one drive: memory of the controller, and bytes in the spare area."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

from nandlab._core import NandlabError
from nandlab.catalogue import Config, drive_of, load_config, roster
from nandlab.given.assignments import of_a_drive
from nandlab.given.names import names_checked
from nandlab.process.memory import memory_limit_bytes


class FtlNeeds(NamedTuple):
    """What an FTL needs of the hardware of a drive."""

    name: str
    summary: str
    """What it does, in one line."""
    citation: str
    """Key of the bibliography; empty for none."""
    capacity_bytes: int
    """Bytes that the host sees."""
    ram_bytes: dict[str, int]
    """Memory of the controller, by use."""
    spare_bytes: int
    """Bytes beside the data of a page."""
    refused: str
    """Why the drive cannot have it; empty where it can."""

    @property
    def total_bytes(self) -> int:
        """Memory of the controller."""
        return sum(self.ram_bytes.values())

    @property
    def bytes_per_gib(self) -> float:
        """Memory of the controller for each GiB that the host sees."""
        return self.total_bytes / max(self.capacity_bytes / 2**30, 1e-300)


@names_checked
def ftls(
    drive: str | PathLike[str] | Mapping[str, Any] = "tiny",
    *,
    set: Mapping[str, object] | Sequence[str] = (),
    scale: str | float | None = None,
) -> list[FtlNeeds]:
    """What each FTL needs for a drive, in the order of the roster.

    What a drive file gives its own FTL beside the common parameters is left out for the others,
    unless `set` gives it.

    Args:
        drive: name of a preset, path of a TOML file, or a mapping of its tables.
        set: parameters to change, as for `nandlab.run`.
        scale: share of the drive, as for `nandlab.run`.

    Raises:
        NandlabError: a drive or an assignment that is refused.
    """
    given, sets = drive_of(drive), of_a_drive(set, scale)
    # Its own errors are told before those of single members.
    own = load_config(given, sets)
    if scale is not None:
        # A scale that the drive refuses is no matter of single members.
        own.native.ftl_needs(memory_limit_bytes())
    return [_needs(given, sets, member) for member in roster("ftl")]


def _needs(given: str | Mapping[str, Any], sets: list[str], member: Any) -> FtlNeeds:
    facts = (member.name, member.summary, member.citation)
    try:
        loaded: Config = load_config(given, [*sets, f"ftl.name={member.name}"])
        capacity, ram, spare = loaded.native.ftl_needs(memory_limit_bytes())
    except NandlabError as error:
        return FtlNeeds(*facts, 0, {}, 0, str(error))
    return FtlNeeds(*facts, capacity, dict(ram), spare, "")

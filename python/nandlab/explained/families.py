"""Families and their members: what each member is, and how one chooses it."""

from __future__ import annotations

from typing import NamedTuple

from nandlab.catalogue import Member, families, roster

TABLES = {
    "ftl": "ftl",
    "gc": "gc",
    "scheduler": "scheduler",
    "retry": "retry",
    "recovery": "recovery",
    "chip.array": "array",
    "ecc": "model",
}
"""Families by the path of their table in a drive file."""

SELECTORS = {
    name: f"{table}.model" if name == "model" else f"{table}.name" for table, name in TABLES.items()
}
"""Keys of a drive file that choose a member, by family."""

_USES = {
    "trace": "--format NAME with a trace",
    "workload": "random_distribution=NAME:ARGUMENT in a fio job",
    "code": "name of [code] in a code file",
    "decoder": "name of [decoder] in a code file, or --decoder NAME",
    "channel": "nandlab ecc curve --channel NAME",
    "mechanism": "the table chip.cell.NAME of a chip",
    "procedure": "nandlab board NAME --chip CHIP",
}
"""How a member of the other families is chosen."""

_TITLES = {
    "ftl": "FTL",
    "gc": "victim selection",
    "array": "error law of a chip",
    "model": "error correction",
    "trace": "trace format",
    "workload": "distribution of addresses",
    "mechanism": "mechanism of a cell",
    "procedure": "procedure of the test board",
}
"""What a member of a family is, where the family's name does not say it."""


class Found(NamedTuple):
    """A member in its family."""

    family: str
    member: Member

    @property
    def what(self) -> str:
        """What it is."""
        return title(self.family)

    @property
    def use(self) -> str:
        """How it is chosen."""
        if self.family in SELECTORS:
            return f"--set {SELECTORS[self.family]}={self.member.name}"
        return _USES[self.family].replace("NAME", self.member.name)

    @property
    def parameters(self) -> list[str]:
        """Keys that it has and not all members of its family have."""
        every = [set(one.schema.get("properties", {})) for one in roster(self.family)]
        shared = set.intersection(*every) if len(every) > 1 else set()
        own = [key for key in self.member.schema.get("properties", {}) if key not in shared]
        table = next((path for path, name in TABLES.items() if name == self.family), self.family)
        table = {"mechanism": f"chip.cell.{self.member.name}"}.get(self.family, table)
        return [f"{table}.{key}" for key in own]


def title(family: str) -> str:
    """What members of a family are."""
    return _TITLES.get(family, family)


def members(name: str) -> list[Found]:
    """The members of all families that have this name."""
    return [
        Found(family, member)
        for family in families()
        for member in roster(family)
        if member.name == name
    ]


def family_of(word: str) -> str | None:
    """The family that a word names, by itself or by its table or its selector in a drive file."""
    if word in TABLES:
        return TABLES[word]
    for family, selector in SELECTORS.items():
        if word == selector:
            return family
    return word if word in families() else None

"""Custom FTLs and actions on a drive, each with every feature that it goes together with."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import nandlab
from fuzz.case import Case, Command
from fuzz.inputs import features
from fuzz.inputs.dice import Dice
from nandlab import Drive, NandlabError
from nandlab.catalogue import conflicts
from nandlab.ftl import Ftl, PageHooks
from nandlab.ftl.given import given_ftl

_JOB = "[global]\niodepth=4\nbs=4k\nsize=2m\nnumber_ios=300\n[a]\nrw=randwrite\n[b]\nrw=randread\n"

_FTL_FILE = """import nandlab


class Given(nandlab.ftl.{base}):
    {body}
"""


class Action(NamedTuple):
    """Action on a drive by a command, or custom FTL that a command gives it."""

    words: tuple[str, ...]
    sets: tuple[str, ...] = ()
    """Assignments that it needs."""
    base: type[Ftl | PageHooks] | None = None
    """Class that its custom FTL extends, and the body of that FTL."""
    body: str = "pass"
    implies: str = ""
    """Action that it is a kind of."""

    def ftl(self) -> type[Ftl | PageHooks] | None:
        """The custom FTL, as a class."""
        if self.base is None:
            return None
        scope: dict[str, type[Ftl | PageHooks]] = {}
        exec(self.source(), scope)
        return scope["Given"]

    def source(self) -> str:
        """The file of the custom FTL."""
        name = self.base.__name__ if self.base else ""
        return _FTL_FILE.format(base=name, body=self.body)

    def line(self, sets: list[str]) -> list[str]:
        """Words of its command, on `tiny` with these assignments."""
        words = [*self.words, "--drive", "tiny"]
        words += [word for text in sets for word in ("--set", text)]
        return words + (["--ftl", "given.py"] if self.base else [])


_MOVES = """move_streams = 2

    def stream_moves(self, unit):
        return unit % 2"""

_RUN = ("run", "--workload", "job.fio", "--json", "r.json", "--quiet")
_LIFE = ("life", "--workload", "job.fio", "--json", "r.json", "--years", "0.001", "--dwpd", "1")
_NBD = ("nbd", "--run", "true")

#: What a drive may be given beside the features of its file, by the engine's name for it, if it has
#: one.
ACTIONS: dict[str, Action] = {
    "hooks of a user": Action(_RUN, base=PageHooks),
    "hooks with several streams of moved data": Action(_RUN, base=PageHooks, body=_MOVES),
    "a custom FTL": Action(_RUN, base=nandlab.ftl.Page),
    "exchange of a die": Action((*_RUN, "--exchange", "1@0.0005")),
    "a power cut": Action((*_RUN, "--cut-at", "0.0005"), ("recovery.name=scan_pages",)),
    "a whole life": Action((*_LIFE, "--windows", "1", "--accelerate", "1")),
    "an accelerated life": Action(
        (*_LIFE, "--windows", "1", "--accelerate", "4"), implies="a whole life"
    ),
    "a drive that is served over NBD": Action(_NBD),
    "bytes that are really encoded": Action(
        (*_NBD, "--integrity", "exact"),
        features.WORDS,
        implies="a drive that is served over NBD",
    ),
}


def draw(dice: Dice, case: Case) -> None:
    """An action, or a custom FTL, with a feature that it goes together with."""
    lay_out(case, *dice.one(pairs()))


def lay_out(case: Case, name: str, feature: str) -> None:
    """Makes a case of an action on a drive with a feature."""
    action = ACTIONS[name]
    case.files["job.fio"] = job(feature).encode()
    if action.base:
        case.files["given.py"] = action.source().encode()
    case.steps = [Command(action.line(assignments(name, feature)))]


def job(feature: str) -> str:
    """Job on a drive with a feature: zones are written in order."""
    zoned = _JOB.replace("[a]", "zonemode=zbd\n[a]").replace("size=2m", "size=2z")
    return zoned if feature == "zones" else _JOB


def assignments(name: str, feature: str) -> list[str]:
    """Assignments for `tiny` with a feature, on which an action is tried."""
    return [*dict.fromkeys((*features.assignments(feature), *ACTIONS[name].sets))]


@cache
def pairs() -> list[tuple[str, str]]:
    """Every action with every feature that it goes together with, by the table of conflicts."""
    return [
        (name, feature)
        for name in ACTIONS
        for feature in features.SETS
        if _go_together(name, feature)
    ]


def _go_together(name: str, feature: str) -> bool:
    """Whether an action goes together with a feature."""
    action = ACTIONS[name]
    if _are_apart(action, features.SETS[feature]):
        return False
    rows = conflicts()
    try:
        drive = Drive("tiny", set=assignments(name, feature), ftl=action.ftl())
    except NandlabError as error:
        if any(row.why in str(error) for row in rows):
            return False
        raise
    has, does = drive._native.features(), {name, action.implies}
    return not any(
        (row.feature in does and row.other in has) or (row.other in does and row.feature in has)
        for row in rows
    )


def _are_apart(action: Action, sets: tuple[str, ...]) -> bool:
    """Whether a feature wants other values than an action, or parameters of another FTL."""
    wanted = dict(text.split("=", 1) for text in sets)
    needed = dict(text.split("=", 1) for text in action.sets)
    if any(wanted.get(key, value) != value for key, value in needed.items()):
        return True
    ftl = action.ftl()
    if ftl is None:
        return False
    try:
        given_ftl(ftl).assigned(list(sets))
    except NandlabError:
        # What the custom FTL decides, or another FTL.
        return True
    return False

"""Conformance of an FTL in Python: random storms that hold it to the promises of its contract."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nandlab import _core
from nandlab.catalogue import load_config
from nandlab.ftl.given import given_ftl
from nandlab.given.arguments import whole
from nandlab.given.assignments import assignments


class Conformance(NamedTuple):
    """What an FTL has gone through, without a broken promise."""

    name: str
    drives: int
    """Small drives of different shapes."""
    requests: int
    """Of the host, in storms with time; every read returned the newest data."""
    host_units: int
    """Written in storms without time, and one by one in any order."""
    moved_units: int
    """Moved by collection."""
    erases: int
    """Blocks erased."""


def check(
    ftl: object,
    *,
    set: Mapping[str, object] | Sequence[str] = (),
    storms: int = 3,
) -> Conformance:
    """Holds an FTL to the promises of its contract.

    Small drives of different shapes are written, trimmed, read and collected at random: without
    time, with time, and with programs and erases that end in any order. An account of its calls is
    compared with what the FTL reports, and every read with what was written.

    Args:
        ftl: a class below `Ftl` or `PageHooks`, or an object of one.
        set: parameters of the drives to change, as for `nandlab.run`.
        storms: of each kind on each drive.

    Raises:
        NandlabError: a promise is broken; names the method, the call and the rule. An exception
            of a method is its cause.
    """
    given = given_ftl(ftl)
    storms = whole("storms", storms, 1, 1000)
    sets = given.assigned(assignments(set))
    # Its own errors are told before those of the small drives.
    load_config("tiny", sets)
    told: dict[str, Any] = json.loads(_core.check_ftl(given.native(), sets[1:], storms))
    return Conformance(given.name, **told)

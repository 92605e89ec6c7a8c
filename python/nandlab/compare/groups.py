"""Reports in groups: those that differ in their seed alone are replicates of one group."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from nandlab.drive.result import Checks, Result
from nandlab.drive.trust.replicates import reports_of
from nandlab.given.arguments import listed
from nandlab.given.inputs import input_text
from nandlab.given.refusal import refusal
from nandlab.report import Report

_MOST_KEYS = 3
"""Keys that a group is named by; with more, files name it."""

_NEEDED = ("nandlab", "host", "ftl", "nand", "dies", "sim")
"""Tables that tell a report from other JSON."""


class Group(NamedTuple):
    """Replicates."""

    name: str
    reports: list[Report]
    files: list[str]
    """Of each report; that of a run with replicates comes once for each."""


def groups(given: Sequence[object], *, is_each: bool = False) -> list[Group]:
    """The groups of reports, in the order of their first reports.

    Args:
        given: paths of reports, reports, or results.
        is_each: every report is a group of its own.

    Raises:
        NandlabError: a file cannot be read or is not a report; one group only.
    """
    named = [_report(one, number) for number, one in enumerate(_several(given), 1)]
    found: dict[str, list[tuple[str, Report]]] = {}
    for number, (name, report) in enumerate(named):
        key = str(number) if is_each else json.dumps(_identity(report), sort_keys=True)
        found.setdefault(key, []).extend((name, one) for one in reports_of(report))
    if len(found) < 2:
        if len(named) < 2:
            raise refusal("compare", f"{len(named)} report", "two or more")
        problem = f"{len(named)} reports that differ in their seed alone are one group"
        raise refusal("compare", problem, hint="--each compares each report by itself")
    names = _names(list(found.values()))
    return [
        Group(name, [report for _, report in members], [file for file, _ in members])
        for name, members in zip(names, found.values(), strict=True)
    ]


def notices(group: Group) -> list[str]:
    """What the reports of a group say against their figures, each with the files that say it."""
    said: dict[str, dict[str, None]] = {}
    # Runs that no file has are named by their group.
    names = group.files or [group.name] * len(group.reports)
    for file, report in zip(names, group.reports, strict=True):
        has_checks = isinstance(report.get("checks"), Mapping)
        failed = Checks.of(report).failures() if has_checks else []
        for text in [*failed, *report.nandlab.get("notices", [])]:
            said.setdefault(text, {})[file] = None
    return [f"{', '.join(files)}: {text}" for text, files in said.items()]


def _several(given: object) -> list[Any]:
    return listed("compare", given, "paths of reports, in a list")


def _report(given: object, number: int) -> tuple[str, Report]:
    """A name and a report."""
    if isinstance(given, Result):
        return f"{given.title} ({number})", given.report
    if isinstance(given, Mapping):
        return checked_report(f"report {number}", dict(given))
    if not isinstance(given, str | PathLike) or not isinstance(path := fspath(given), str):
        raise refusal("compare", f"{given!r}", "the path of a report, a report, or a result")
    text = input_text(path, "a report of `nandlab run --json`")
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as error:
        said = str(error).splitlines()[0]
        expected = "a report of `nandlab run --json`"
        raise refusal(path, f"not JSON: {said}", expected) from None
    return checked_report(path, loaded)


def checked_report(name: str, report: Any) -> tuple[str, Report]:
    """A report with what messages call it.

    Raises:
        NandlabError: it is not a report, or the report of a run that did not begin.
    """
    expected = "a report of `nandlab run --json`"
    if not isinstance(report, dict):
        raise refusal(name, f"JSON, but a {type(report).__name__}", expected)
    for key in _NEEDED:
        if not isinstance(report.get(key), dict):
            raise refusal(name, f"not a report: `{key}` is missing", expected)
    view = Report.of(report)
    for key in ("config", "run"):
        if not isinstance(view.nandlab.get(key), dict):
            raise refusal(name, f"not a report: `nandlab.{key}` is missing", expected)
    if view.sim.get("begun") is False:
        raise refusal(name, "the run was ended before it began", "a run with results")
    return name, view


def _identity(report: Report) -> dict[str, Any]:
    """What tells groups apart: all but the seed, by dotted paths."""
    about = report.nandlab
    run = {key: value for key, value in about.run.items() if key not in ("set", "name")}
    config = {key: value for key, value in about.config.items() if key != "seed"}
    flat = {"version": about.get("version"), **_flat(config, ""), **_flat(run, "run.")}
    if (trace := about.get("trace")) is not None:
        flat["run.requests"] = trace.get("requests")
    return flat


def _flat(table: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _names(members: Sequence[Sequence[tuple[str, Report]]]) -> list[str]:
    """Names of groups: by the keys that differ, where these are few, or else by their files."""
    flats = [_identity(group[0][1]) for group in members]
    keys = list(dict.fromkeys(key for flat in flats for key in flat))
    missing = object()
    differing = [
        key
        for key in keys
        if len({json.dumps(flat.get(key, "-"), sort_keys=True) for flat in flats}) > 1
    ]
    if 0 < len(differing) <= _MOST_KEYS:
        names = [
            ", ".join(
                f"{key} = {_said(flat[key])}"
                for key in differing
                if flat.get(key, missing) is not missing
            )
            for flat in flats
        ]
    else:
        names = [Path(group[0][0]).stem for group in members]
    if len(set(names)) < len(names) or not all(names):
        names = [group[0][0] for group in members]
    # The same file given twice has one name.
    return [
        name if names.count(name) == 1 else f"{name} ({index})"
        for index, name in enumerate(names, 1)
    ]


def _said(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    if "\n" in text:
        return f"jobs {text.strip().splitlines()[0]}"
    return Path(text).name if "/" in text else text

"""Tables of a study, as ``study.toml`` or `nandlab.Study` has them, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nandlab.display.label import Label, label_of
from nandlab.given.arguments import as_text, flag, listed, seeded, whole
from nandlab.given.assignments import assignments
from nandlab.given.refusal import refusal
from nandlab.study.axis import Axis, axis, check_path, flat
from nandlab.study.expression import Expression
from nandlab.study.own_ftl import PATH, StudyFtl, is_own
from nandlab.study.points import BLOCKED, DESIGNS, DRAWN, LISTED, Design

KEYS = (
    *("summary", "drive", "run", "set", "ftl", "seed", "replicates"),
    *("axis", "design", "points", "design_seed", "zip", "constraints"),
    *("columns", "labels", "objectives", "limits", "reports"),
)
"""Keys of a study."""

COLUMNS = (
    "iops = host.iops",
    "bandwidth_mb_s = host.bandwidth_mb_s",
    "read_us_p99 = host.read.latency_us.p99",
    "write_us_p99 = host.write.latency_us.p99",
    "write_amplification = ftl.write_amplification",
)
"""Columns where a study names none."""

OWN_COLUMNS = ("id", "replicate", "doubts", "few_beyond", "error", "wall_s")
"""Columns that every table of a study has."""

MOST_POINTS = 10_000_000
MOST_REPLICATES = 100_000


@dataclass(frozen=True)
class Column:
    """A column that is wanted of every point."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Objective:
    """A column that is to be high or low."""

    column: Column
    is_max: bool


@dataclass(frozen=True)
class Limit:
    """What columns must keep to: an expression over them that is 0 at most."""

    text: str
    excess: Expression


@dataclass(frozen=True)
class Given:
    """A study, checked."""

    place: str
    """What messages call it: its file, or ``study``."""
    folder: Path
    """Where relative paths begin."""
    summary: str
    drive: Any
    """Preset, path or tables."""
    run: dict[str, Any]
    """Its ``[run]`` table."""
    sets: list[str]
    ftl: StudyFtl | None
    """An FTL in Python at all points."""
    seed: int | None
    design: Design
    columns: list[Column]
    objectives: list[Objective] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of axes and columns, where they are not made from their names."""
    reports: bool = True

    def label(self, name: str) -> Label:
        """The label of an axis or a column."""
        return Label(self.labels[name]) if name in self.labels else label_of(name)

    @property
    def axes(self) -> Sequence[Axis]:
        """Its axes, in their order."""
        return self.design.axes

    @property
    def own_ftls(self) -> list[StudyFtl]:
        """All FTLs in Python that its points have."""
        sets = [each for one in self.axes for each in (one.variants or {}).values()]
        every = [self.ftl, *(each.get(PATH) for each in sets)]
        return [one for one in every if isinstance(one, StudyFtl)]

    @property
    def wants(self) -> tuple[str, ...]:
        """The expressions that a row needs."""
        return tuple(dict.fromkeys(column.expression.text for column in self.columns))


def given_study(
    tables: Mapping[str, Any], place: str, folder: Path, *, is_listed: bool = False
) -> Given:
    """A study from its tables.

    Args:
        tables: as TOML has them.
        place: what messages call them.
        folder: where relative paths begin.
        is_listed: something else chooses the points: `design` and its keys say nothing.

    Raises:
        NandlabError: a key or a value is refused; names it.
    """
    for key in tables:
        if key not in KEYS:
            raise refusal(place, f"unknown key `{key}`", KEYS, given=key)
    if "drive" not in tables:
        raise refusal(place, "no `drive`", "a preset's name, or the path of a drive file")
    drive = tables["drive"]
    if not isinstance(drive, str | Mapping):
        raise refusal(f"{place}: drive", f"{drive!r}", "a preset's name, a path, or tables")
    run = tables.get("run", {})
    if not isinstance(run, Mapping):
        raise refusal(f"{place}: run", f"{run!r}", "a table, as in a drive file")
    axes = _axes(place, tables.get("axis", []), folder)
    design = _listed(place, tables, axes) if is_listed else _design(place, tables, axes)
    columns = _columns(place, tables.get("columns", list(COLUMNS)), axes)
    objectives = _objectives(place, tables.get("objectives", []), columns)
    for objective in objectives:
        if objective.column not in columns:
            columns.append(objective.column)
    seed = tables.get("seed")
    return Given(
        place=place,
        folder=folder,
        summary=as_text(f"{place}: summary", tables.get("summary", "")),
        drive=drive,
        run=dict(run),
        sets=_assignments(place, tables.get("set", {})),
        ftl=_ftl(place, tables.get("ftl"), folder, axes),
        seed=None if seed is None else _whole(place, "seed", seed, 0, 2**62),
        design=design,
        columns=columns,
        objectives=objectives,
        limits=_limits(place, tables.get("limits", []), columns),
        labels=_labels(place, tables.get("labels", {}), axes, columns),
        reports=flag(f"{place}: reports", tables.get("reports", True)),
    )


def with_ftls(tables: Mapping[str, Any], ftls: Sequence[Any]) -> dict[str, Any]:
    """Tables of a study with other FTLs: an axis in the place of what the tables say of them.

    Paths among them begin at the working folder, not at that of the study.
    """
    values = [
        str(Path.cwd() / one) if isinstance(one, str) and is_own(one) else one for one in ftls
    ]
    axes = tables.get("axis", [])
    if isinstance(axes, list):
        axes = [one for one in axes if not (isinstance(one, Mapping) and one.get("path") == PATH)]
        axes = [*axes, {"path": PATH, "values": values}]
    return {key: value for key, value in tables.items() if key != "ftl"} | {"axis": axes}


def _whole(place: str, key: str, given: Any, least: int, most: int) -> int:
    if key == "seed":
        seeded(given)
    return whole(f"{place}: {key}", given, least, most)


def _ftl(place: str, given: Any, folder: Path, axes: list[Axis]) -> StudyFtl | None:
    """The FTL in Python of all points."""
    if given is None:
        return None
    if not is_own(given):
        expected = f"FILE.py, FILE.py:CLASS, or in Python a class; others by {PATH}"
        raise refusal(f"{place}: ftl", f"{given!r}", expected)
    for one in axes:
        if _sets(one, PATH):
            raise refusal(f"{place}: ftl", f"beside axis {one.path}, which sets {PATH}", "one")
    return StudyFtl.of(f"{place}: ftl", given, folder)


def _axes(place: str, given: Any, folder: Path) -> list[Axis]:
    """Axes from a list of tables, or from a mapping by path as Python has it."""
    axes = []
    if isinstance(given, Mapping):
        axes = [axis(place, path, values, folder) for path, values in given.items()]
    else:
        for table in listed(f"{place}: axis", given, "[[axis]] tables"):
            if not isinstance(table, Mapping):
                raise refusal(f"{place}: axis", f"{table!r}", "[[axis]] tables")
            axes.append(_axis(place, table, folder))
    for index, one in enumerate(axes):
        if one.path in [other.path for other in axes[:index]]:
            raise refusal(place, f"two axes `{one.path}`", "one axis for a path")
    return axes


def _axis(place: str, table: Mapping[str, Any], folder: Path) -> Axis:
    """An axis from its ``[[axis]]`` table."""
    rest = dict(table)
    if "variants" in rest:
        name, variants = rest.pop("name", None), rest.pop("variants")
        if name is None:
            raise refusal(f"{place}: axis", "variants without `name`", "a name of the axis")
        if rest:
            key = next(iter(rest))
            raise refusal(f"{place}: axis {name}", f"`{key}` beside variants", "name and variants")
        if not isinstance(variants, Mapping):
            raise refusal(f"{place}: axis {name}.variants", f"{variants!r}", "a table")
        return axis(place, name, dict(variants), folder)
    path = rest.pop("path", None)
    if path is None:
        raise refusal(f"{place}: axis", "an axis without `path`", "path = KEY, with values or from")
    if "values" in rest:
        values = rest.pop("values")
        if rest:
            key = next(iter(rest))
            raise refusal(f"{place}: axis {path}", f"`{key}` beside values", "path and values")
        if isinstance(values, Mapping):
            raise refusal(f"{place}: axis {path}.values", f"{values!r}", "a list")
        return axis(place, path, values, folder)
    if "from" not in rest and "to" not in rest:
        keys = "values = [...], or a range with from and to"
        unknown = next(iter(rest), None)
        problem = "no values" if unknown is None else f"unknown key `{unknown}`"
        raise refusal(f"{place}: axis {path}", problem, keys)
    return axis(place, path, rest)


def _design(place: str, tables: Mapping[str, Any], axes: list[Axis]) -> Design:
    kind = tables.get("design", "grid")
    if kind not in DESIGNS:
        raise refusal(f"{place}: design", f"{kind!r}", DESIGNS, given=kind)
    replicates = _whole(place, "replicates", tables.get("replicates", 1), 1, MOST_REPLICATES)
    if replicates > 1 and any(_sets(one, "seed") for one in axes):
        raise refusal(f"{place}: replicates", "beside an axis `seed`", "one of the two")
    points = 0
    if kind in DRAWN:
        if "points" not in tables:
            raise refusal(f"{place}: points", f"missing: design `{kind}` has no end", "a number")
        points = _whole(place, "points", tables["points"], 1, MOST_POINTS)
        if not axes:
            raise refusal(f"{place}: axis", f"design `{kind}` without axes", "one or more")
    else:
        for key in ("points", "design_seed"):
            if key in tables:
                why = f"not supported: design `{kind}` draws nothing"
                raise refusal(f"{place}: {key}", why, hint=f"use it with {', '.join(DRAWN)}")
    constraints = [
        _constraint(place, text, axes)
        for text in listed(f"{place}: constraints", tables.get("constraints", []), "expressions")
    ]
    if constraints and kind in BLOCKED:
        problem = f"not supported: design `{kind}` needs all of its points"
        raise refusal(f"{place}: constraints", problem)
    zips = _zips(place, tables.get("zip", []), axes, kind)
    if kind == "zip":
        _check_lengths(f"{place}: design", axes)
    return Design(
        kind,
        axes,
        zips,
        constraints,
        points,
        _whole(place, "design_seed", tables.get("design_seed", 1), 0, 2**31 - 1),
        replicates,
        place,
    )


def _listed(place: str, tables: Mapping[str, Any], axes: list[Axis]) -> Design:
    """A design whose points come from elsewhere."""
    if not axes:
        raise refusal(f"{place}: axis", "none", "one or more to search over")
    rest = {key: tables[key] for key in ("replicates", "constraints") if key in tables}
    design = _design(place, {**rest, "design": "random", "points": 1}, axes)
    return replace(design, kind=LISTED, points=0)


def _sets(one: Axis, path: str) -> bool:
    """Whether an axis sets a path."""
    sets = [{one.path: 0}] if one.variants is None else one.variants.values()
    return any(path in each for each in sets)


def _zips(place: str, given: Any, axes: list[Axis], kind: str) -> list[list[str]]:
    groups = listed(f"{place}: zip", given, "lists of paths")
    named = {one.path: one for one in axes}
    if groups and kind != "grid":
        raise refusal(f"{place}: zip", f"beside design `{kind}`", "design `grid`")
    taken: set[str] = set()
    for group in groups:
        paths = listed(f"{place}: zip", group, "lists of paths, as [['a', 'b']]")
        for path in paths:
            if path not in named:
                raise refusal(f"{place}: zip", f"no axis `{path}`", named, given=path)
            if path in taken:
                raise refusal(f"{place}: zip", f"`{path}` is given twice", "each axis once")
            taken.add(path)
        _check_lengths(f"{place}: zip", [named[path] for path in paths])
    return groups


def _check_lengths(where: str, axes: Sequence[Axis]) -> None:
    lengths = {one.path: len(one.values) for one in axes}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{path} has {count}" for path, count in lengths.items())
        raise refusal(where, f"axes of different lengths: {said}", "as many values in each")


def _constraint(place: str, text: Any, axes: list[Axis]) -> Expression:
    where = f"{place}: constraints"
    expression = Expression(where, as_text(where, text, "an expression"))
    names = [one.path for one in axes]
    for path in expression.paths:
        name = ".".join(map(str, path))
        if name not in names:
            raise refusal(where, f"`{name}` is no axis", names, given=name)
    return expression


_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)(.+)", re.DOTALL)


def _columns(place: str, given: Any, axes: list[Axis]) -> list[Column]:
    where = f"{place}: columns"
    if isinstance(given, Mapping):
        given = [f"{name} = {text}" for name, text in given.items()]
    columns = [
        column(where, text)
        for text in listed(where, given, "expressions, as `iops = host.iops`, in a list")
    ]
    if not columns:
        raise refusal(where, "no columns", "one or more")
    taken = [*OWN_COLUMNS, *(one.path for one in axes)]
    for one in columns:
        if one.name in taken:
            raise refusal(where, f"two columns `{one.name}`", "different names")
        taken.append(one.name)
    return columns


def column(where: str, text: Any) -> Column:
    """A column from ``name = expression``, or from an expression alone.

    Raises:
        NandlabError: it is refused.
    """
    said = as_text(where, text, "an expression, as `iops = host.iops`")
    found = _NAMED.fullmatch(said)
    name, of = (found[1], found[2]) if found else (None, said)
    expression = Expression(where, of)
    return Column(name or expression.text, expression)


def _objectives(place: str, given: Any, columns: list[Column]) -> list[Objective]:
    where = f"{place}: objectives"
    return [
        objective(where, text, columns)
        for text in listed(where, given, "a list, as ['max iops', 'min p99_us']")
    ]


def objective(where: str, text: Any, columns: Sequence[Column]) -> Objective:
    """An objective from ``max COLUMN``, ``min COLUMN`` or ``min EXPRESSION``.

    Raises:
        NandlabError: it is refused.
    """
    said = as_text(where, text, "`max COLUMN` or `min COLUMN`")
    way, _, rest = said.strip().partition(" ")
    if way not in ("max", "min") or not rest.strip():
        raise refusal(where, f"`{said}`", "`max COLUMN` or `min COLUMN`")
    name = rest.strip()
    named = {one.name: one for one in columns}
    if name not in named and name.isidentifier():
        raise refusal(where, f"no column `{name}`", named, given=name)
    return Objective(named.get(name) or column(where, name), way == "max")


def _limits(place: str, given: Any, columns: Sequence[Column]) -> list[Limit]:
    where = f"{place}: limits"
    return [
        limit(where, text, columns)
        for text in listed(where, given, "a list, as ['write_amplification <= 3']")
    ]


def limit(where: str, text: Any, columns: Sequence[Column]) -> Limit:
    """A limit from ``EXPRESSION <= EXPRESSION`` or ``>=``, over columns by their names.

    Raises:
        NandlabError: it is refused.
    """
    expected = "an expression over columns, as `write_amplification <= 3`"
    said = as_text(where, text, expected)
    parts = re.split(r"(<=|>=)", said)
    if len(parts) != 3:
        raise refusal(where, f"`{said}`", expected)
    left, sign, right = parts
    for part in (left, right):
        Expression(where, part)
    low, high = (left, right) if sign == "<=" else (right, left)
    excess = Expression(where, f"({low}) - ({high})")
    names = [one.name for one in columns]
    for path in excess.paths:
        if path[0] not in names or len(path) > 1:
            name = ".".join(map(str, path))
            raise refusal(where, f"no column `{name}`", names, given=name)
    return Limit(" ".join(said.split()), excess)


def _labels(
    place: str, given: Any, axes: Sequence[Axis], columns: Sequence[Column]
) -> dict[str, str]:
    """Labels of axes and columns by their names."""
    where = f"{place}: labels"
    if not isinstance(given, Mapping):
        raise refusal(where, f"{given!r}", 'a table, as `read_us_p99 = "p99 of reads (µs)"`')
    names = [*(one.path for one in axes), *(one.name for one in columns)]
    found = {}
    for name, text in flat(given).items():
        if name not in names:
            raise refusal(where, f"no axis or column `{name}`", names, given=name)
        found[name] = " ".join(as_text(f"{where}.{name}", text).split())
        if not found[name]:
            raise refusal(f"{where}.{name}", "an empty label", "text")
    return found


def _assignments(place: str, given: Any) -> list[str]:
    """Assignments from a table or a list."""
    texts = assignments(flat(given) if isinstance(given, Mapping) else given)
    for text in texts:
        path = text.partition("=")[0].strip()
        check_path(f"{place}: set", path)
        if path == "drive" or path.startswith(("job.", "run.")):
            raise refusal(f"{place}: set", f"`{path}` is no key of a drive", "a key of a drive")
    return texts

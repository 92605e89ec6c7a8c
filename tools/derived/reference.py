"""`docs/reference.md`: everything that has a name, from the installed package.

Commands, families with their members, keys, presets, sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import nandlab
from derived.commands import commands
from derived.markdown import code, table
from derived.sources import sources
from nandlab.catalogue import roster

#: Families by the path of their table in a drive file.
FAMILIES = {
    "ftl": "ftl",
    "gc": "gc",
    "scheduler": "scheduler",
    "retry": "retry",
    "chip.array": "array",
    "ecc": "model",
}


def reference() -> str:
    """Everything that has a name: commands, members, keys, presets, sources."""
    schema = nandlab.schema()
    lines = [
        "# Reference",
        "",
        "Derived by `python tools/regen.py`; not to be edited. Formats of files: "
        "[report](formats/report.md), [requests](formats/requests.md), "
        "[timeline](formats/timeline.md), [traces](formats/traces.md), "
        "[drive files](formats/drive-files.md), [fio jobs](formats/jobs.md), "
        "[measurements of a chip](formats/fit.md), [rows of the board](formats/board.md), "
        "[code files](formats/codes.md), [curves and profiles](formats/curve.md).",
        "",
        *commands(),
        "## Families",
        "",
        "A member is chosen by name: `--set gc.name=fifo`. Its parameters stand beside the name.",
        "",
    ]
    for path, name in FAMILIES.items():
        lines += family(path, name, at(schema, path))
    lines += named(
        "Trace formats",
        "`nandlab run --trace FILE --format NAME`; see [traces](formats/traces.md).",
        "trace",
    )
    lines += named(
        "Address distributions",
        "fio's `random_distribution=NAME:ARGUMENT`; see [fio jobs](formats/jobs.md).",
        "workload",
    )
    for title, intro, name in (
        ("Codes", "`name` of a code file's `[code]`; see [code files](formats/codes.md).", "code"),
        (
            "Decoders",
            "`name` of a code file's `[decoder]`, with its parameters; `--set decoder.KEY=VALUE`, "
            "and `--decoder NAME` for another. `nandlab ecc list` shows them too.",
            "decoder",
        ),
        (
            "Channels",
            "`nandlab ecc curve --channel NAME`; see [curves](formats/curve.md).",
            "channel",
        ),
    ):
        lines += named(title, intro, name)
        lines += parameters(name)
    lines += named(
        "Mechanisms of a cell",
        "What moves a threshold voltage: the table `chip.cell.NAME`; see [cells](cells.md).",
        "mechanism",
    )
    lines += named(
        "Procedures of the test board",
        "`nandlab board NAME --chip CHIP`; see [rows of the board](formats/board.md).",
        "procedure",
    )
    lines += ["## Keys of a drive file", "", *keys(schema), "## Presets", ""]
    for kind in ("drive", "chip", "cell", "code", "host"):
        rows = [[code(p.name), p.summary] for p in nandlab.presets(kind)]
        lines += [f"### {kind.capitalize()}s", "", *table(["name", "what it is"], rows)]
    lines += ["## Sources", "", "`nandlab cite DRIVE` prints the BibTeX entries of a drive.", ""]
    lines += table(["key", "source"], [[code(key), text] for key, text in sources()])
    return "\n".join(lines).rstrip() + "\n"


def at(schema: dict[str, Any], path: str) -> dict[str, Any]:
    """The schema of the table at a dotted path."""
    here = schema
    for key in path.split("."):
        here = resolved(schema, here["properties"][key])
    return here


def resolved(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """A node, or what it refers to."""
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    return node


def family(path: str, name: str, schema: dict[str, Any]) -> Iterator[str]:
    """A family: its members, then their parameters."""
    selector = next(iter(schema["properties"]))
    yield from [f"### `{path}`: {schema['description']}", ""]
    rows = [[code(m.name), m.summary, code(m.citation)] for m in roster(name)]
    yield from table([f"`{path}.{selector}`", "what it does", "source"], rows)
    own = {
        a["title"]: {k: v for k, v in a["properties"].items() if k != selector}
        for a in schema["anyOf"]
    }
    every = [set(parameters) for parameters in own.values()]
    shared = set.intersection(*every) if len(every) > 1 else set()
    rows = []
    for whose, parameters in [("all", next(iter(own.values()))), *own.items()]:
        for key, value in sorted(parameters.items()):
            if (key in shared) == (whose == "all"):
                meaning = value.get("description", "")
                rows.append([code(f"{path}.{key}"), whose, code(shown_default(value)), meaning])
    if len(own) == 1:
        rows = [row for row in rows if row[1] != "all"]
    if rows:
        yield from table(["parameter", "of", "default", "meaning"], rows)


def shown_default(value: dict[str, Any]) -> str:
    """A default as TOML has it."""
    if "default" not in value:
        return ""
    given = value["default"]
    return f"{given:g}" if isinstance(given, float) else json.dumps(given)


def named(title: str, intro: str, family: str) -> list[str]:
    """A family whose members have no tables in a drive file."""
    rows = [[code(m.name), m.summary, code(m.citation)] for m in roster(family)]
    return [f"## {title}", "", intro, "", *table(["name", "what it does", "source"], rows)]


def parameters(family: str) -> Iterator[str]:
    """Parameters of the members of a family, with their ranges."""
    rows = []
    for member in roster(family):
        for key, value in member.schema.get("properties", {}).items():
            ends = [value.get("minimum"), value.get("maximum")]
            given = "" if None in ends else f"{ends[0]:g} to {ends[1]:g}"
            meaning = value.get("description", "")
            default = code(shown_default(value))
            rows.append([code(f"{family}.{key}"), member.name, default, given, meaning])
    if rows:
        yield from table(["parameter", "of", "default", "range", "meaning"], rows)


def keys(schema: dict[str, Any]) -> Iterator[str]:
    """Every key by its path, as `--set` takes it; those of families stand above."""
    rows: list[list[str]] = []
    _keys(schema, schema, "", rows)
    yield from [
        "As `--set PATH=VALUE` takes them. No default means that a drive must say it, by itself or "
        "by its preset. The tables `ftl`, `gc`, `scheduler`, `retry`, `chip.array` and `ecc` are "
        "[families](#families).",
        "",
    ]
    yield from table(["key", "type", "default", "meaning"], rows)


def _keys(schema: dict[str, Any], node: dict[str, Any], prefix: str, rows: list[list[str]]) -> None:
    for key, value in node["properties"].items():
        path = f"{prefix}{key}"
        target = resolved(schema, value)
        if path in FAMILIES:
            continue
        if "properties" in target:
            _keys(schema, target, f"{path}.", rows)
            continue
        meaning = value.get("description") or target.get("description", "")
        items = resolved(schema, target.get("items", {}))
        if "properties" in items:
            fields = ", ".join(f"`{name}`" for name in items["properties"])
            meaning += f" Rows of {fields}."
        rows.append([code(path), kind(schema, target), code(shown_default(value)), meaning])


def kind(schema: dict[str, Any], target: dict[str, Any]) -> str:
    """The type of a value, in words."""
    target = resolved(schema, target)
    if "oneOf" in target:
        return ", ".join(_variant(schema, one) for one in target["oneOf"])
    if "anyOf" in target:
        return " or ".join(dict.fromkeys(kind(schema, one) for one in target["anyOf"]))
    words = {"integer": "whole", "number": "number", "string": "text", "boolean": "true, false"}
    if target.get("type") == "array":
        return "list"
    types = target.get("type", "")
    if isinstance(types, list):
        return " or ".join(words.get(one, "table") for one in types if one != "null")
    return words.get(types, "table")


def _variant(schema: dict[str, Any], one: dict[str, Any]) -> str:
    """One value of several: a name, or a table with one key."""
    if "const" in one:
        return code(one["const"])
    given = ", ".join(
        f"{name} = {kind(schema, value)}" for name, value in one["properties"].items()
    )
    return code(f"{{ {given} }}")

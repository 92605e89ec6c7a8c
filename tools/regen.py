"""Makes what is derived: `python tools/regen.py` writes it, `--check` says whether it is fresh.

- `docs/reference.md`: command line, families, keys, presets, sources; from the installed package,
  `params/CITATIONS.bib` and the rosters in the Rust sources (which need not be built).
- `docs/validation.md`: the rows that Rust tests print as
  `validation | what | ours | reference | tolerance | source`; runs them, which takes a minute. And
  the rows of `experiments/`, which `nandlab papers` prints.

`python tools/regen.py reference` does one of them only.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent

#: Tests that print rows, as arguments of `cargo test`.
QUICK_TESTS = (
    "--lib",
    "--test=cell_presets",
    "--test=closed_forms",
    "--test=decoders",
    "--test=error_correction",
    "--test=read_reclaim",
    "--test=real_cells",
    "--test=retirement",
)
SLOW_TESTS = ("--test", "write_amplification")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, with an empty line after it."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell(part) for part in line) + " |" for line in lines] + [""]


def cell(text: str) -> str:
    """Text that fits a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Text as code; nothing where there is none."""
    return f"`{text}`" if text else ""


# --- The rosters, as the sources have them -------------------------------------------------------


class Member(NamedTuple):
    """What a member of a family says of itself."""

    name: str
    summary: str
    citation: str


def members(family: str) -> dict[str, Member]:
    """The members of the family in this folder, in the order of their roster."""
    roster = (ROOT / f"{family}.rs").read_text(encoding="utf-8")
    found = {}
    for file in re.findall(r"(\w+)::MEMBER", roster):
        text = (ROOT / family / f"{file}.rs").read_text(encoding="utf-8")
        fields = [rust_string(text, key) for key in ("name", "summary", "citation")]
        found[fields[0]] = Member(*fields)
    return found


def rust_string(text: str, key: str) -> str:
    """The text that a member gives a field."""
    found = re.search(rf'MEMBER\b.*?\b{key}:\s*"((?:[^"\\]|\\.)*)"', text, re.S)
    return re.sub(r"\\\n\s*", "", found[1]) if found else ""


#: Families by the path of their table in a drive file.
FAMILIES = {
    "ftl": "crates/ssd/src/ftl",
    "gc": "crates/ssd/src/gc",
    "scheduler": "crates/ssd/src/scheduler",
    "retry": "crates/ssd/src/retry",
    "chip.array": "crates/nand/src/array",
    "ecc": "crates/ecc/src/model",
}


# --- docs/reference.md ---------------------------------------------------------------------------


def reference() -> str:
    """Everything that has a name: commands, members, keys, presets, sources."""
    import nandlab

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
    for path, folder in FAMILIES.items():
        lines += family(path, folder, at(schema, path))
    lines += named(
        "Trace formats",
        "`nandlab run --trace FILE --format NAME`; see [traces](formats/traces.md).",
        "crates/host/src/trace",
    )
    lines += named(
        "Address distributions",
        "fio's `random_distribution=NAME:ARGUMENT`; see [fio jobs](formats/jobs.md).",
        "crates/host/src/workload",
    )
    for title, intro, folder in (
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
        lines += named(title, intro, f"crates/ecc/src/{folder}")
        lines += parameters(folder)
    lines += named(
        "Procedures of the test board",
        "`nandlab board NAME --chip CHIP`; see [rows of the board](formats/board.md).",
        "crates/nand/src/procedure",
    )
    lines += ["## Keys of a drive file", "", *keys(schema), "## Presets", ""]
    for kind in ("drive", "chip", "cell", "code", "host"):
        rows = [[code(p.name), p.summary] for p in nandlab.presets(kind)]
        lines += [f"### {kind.capitalize()}s", "", *table(["name", "what it is"], rows)]
    lines += ["## Sources", "", "`nandlab cite DRIVE` prints the BibTeX entries of a drive.", ""]
    lines += table(["key", "source"], [[code(key), text] for key, text in sources()])
    return "\n".join(lines).rstrip() + "\n"


def commands() -> Iterator[str]:
    """The command line, from the objects that parse it: the same with every terminal."""
    import typer.main

    from nandlab.cli.commands import app

    yield from ["## Command line", ""]
    group: Any = typer.main.get_command(app)
    yield from command("nandlab", group)


def command(name: str, what: Any) -> Iterator[str]:
    """One command with its options, or a group with its commands."""
    below: dict[str, Any] = getattr(what, "commands", {})
    shown = [parameter for parameter in what.params if not getattr(parameter, "hidden", False)]
    arguments = [p for p in shown if not p.opts[0].startswith("-")]
    usage = " ".join([name, *(argument(p) for p in arguments)])
    if not below:
        yield from [f"### `{usage}`", "", what.help.strip(), ""]
    rows = [[code(argument(p)), "", p.help or ""] for p in arguments if p.help]
    rows += [[code(option(p)), default(p), p.help or ""] for p in shown if p not in arguments]
    if rows and not below:
        yield from table(["argument or option", "default", "meaning"], rows)
    for other, inner in below.items():
        yield from command(f"{name} {other}", inner)


def argument(parameter: Any) -> str:
    """An argument as a usage line has it."""
    name = str(parameter.metavar or parameter.name.upper())
    return name if parameter.required else f"[{name}]"


def option(parameter: Any) -> str:
    """An option with what it takes."""
    name = ", ".join(parameter.opts)
    return name if parameter.is_flag else f"{name} {parameter.metavar or 'VALUE'}"


def default(parameter: Any) -> str:
    """The default of an option where it says something."""
    value = parameter.default
    return str(value) if isinstance(value, (int, float, str)) and value else ""


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


def family(path: str, folder: str, schema: dict[str, Any]) -> Iterator[str]:
    """A family: its members, then their parameters."""
    selector = next(iter(schema["properties"]))
    facts = members(folder)
    names = [alternative["title"] for alternative in schema["anyOf"]]
    if names != list(facts):
        raise SystemExit(f"{folder}: {list(facts)} in the sources, {names} in the package")
    yield from [f"### `{path}`: {schema['description']}", ""]
    rows = [[code(m.name), m.summary, code(m.citation)] for m in facts.values()]
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


def named(title: str, intro: str, folder: str) -> list[str]:
    """A family whose members have no tables in a drive file."""
    rows = [[code(m.name), m.summary, code(m.citation)] for m in members(folder).values()]
    return [f"## {title}", "", intro, "", *table(["name", "what it does", "source"], rows)]


def parameters(kind: str) -> Iterator[str]:
    """Parameters of the decoders or channels, with their ranges."""
    from nandlab import _core

    rosters = {"decoder": _core.decoders, "channel": _core.channels}
    rows = []
    for name, *_, schema in rosters[kind]() if kind in rosters else ():
        for key, value in json.loads(schema).get("properties", {}).items():
            ends = [value.get("minimum"), value.get("maximum")]
            given = "" if None in ends else f"{ends[0]:g} to {ends[1]:g}"
            meaning = value.get("description", "")
            rows.append([code(f"{kind}.{key}"), name, code(shown_default(value)), given, meaning])
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


def sources() -> Iterator[tuple[str, str]]:
    """The bibliography, short."""
    text = (ROOT / "params/CITATIONS.bib").read_text(encoding="utf-8")
    for entry in re.findall(r"^@\w+\{(.*?)^\}", text, re.M | re.S):
        key, fields = entry.split(",", 1)
        value = {
            name: bib_field(fields, name) for name in ("author", "organization", "title", "year")
        }
        names = re.split(r"\s+and\s+", value["author"]) if value["author"] else []
        who = names[0].split(",")[0] if names else value["organization"]
        who += " et al." if len(names) > 1 else ""
        year = f" ({value['year']})" if value["year"] else ""
        yield key.strip(), f"{who}{year}: {value['title']}"


def bib_field(fields: str, name: str) -> str:
    """A field of a BibTeX entry, without its braces."""
    found = re.search(
        rf"\b{name}\s*=\s*\{{((?:[^{{}}]|\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}})*)\}}", fields
    )
    text = found[1] if found else ""
    for accent, letter in {r"{\'o}": "ó", r"{\"o}": "ö", r"{\o}": "ø"}.items():
        text = text.replace(accent, letter)
    return " ".join(text.replace("{", "").replace("}", "").split())


# --- docs/validation.md --------------------------------------------------------------------------


AT_MOST = "at most"
"""In place of a tolerance: ours is not above the reference."""


class Row(NamedTuple):
    """One figure held against a reference."""

    what: str
    ours: float
    reference: float
    tolerance: float | None
    """None where ours is to be at most the reference."""
    source: str
    printed: tuple[str, str]

    @property
    def deviation(self) -> float:
        """Relative."""
        return self.ours / self.reference - 1.0 if self.reference else self.ours

    @property
    def passes(self) -> bool:
        """Within its tolerance; a tolerance of zero is equality."""
        if self.tolerance is None:
            return self.ours <= self.reference
        return abs(self.ours - self.reference) <= self.tolerance * abs(self.reference)


def run_tests(arguments: Sequence[str]) -> str:
    """What Rust tests print, whether they pass or not."""
    command = ["cargo", "test", "--workspace", "--no-fail-fast", *arguments, "--", "--nocapture"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if "test result:" not in done.stdout:
        raise SystemExit(done.stderr)
    return done.stdout


def rows_of(printed: str) -> list[Row]:
    """The rows in what tests print, in an order that does not depend on threads."""
    found = []
    for line in printed.splitlines():
        before, mark, rest = line.partition("validation | ")
        if not mark or before.strip(". "):
            before = ""
        parts = [part.strip() for part in rest.split(" | ")]
        if mark and len(parts) == 5:
            what, ours, reference, tolerance, source = parts
            most = None if tolerance == AT_MOST else float(tolerance)
            numbers = float(ours), float(reference), most
            found.append(Row(what, *numbers, source, (figure(ours), figure(reference))))
    return sorted(set(found), key=lambda row: (_natural(row), row.reference, row.ours))


def _natural(row: Row) -> list[tuple[int, float, str]]:
    """Numbers in a name count as numbers."""
    parts = re.split(r"(\d+(?:\.\d+)?)", row.what)
    return [(1, float(p), "") if p[:1].isdigit() else (0, 0.0, p) for p in parts if p]


def figure(text: str) -> str:
    """A figure as it is read: seven digits at most."""
    value = float(text)
    return f"{value:.7g}" if value == 0 or 1e-3 <= abs(value) < 1e9 else f"{value:.4g}"


def validation(rows: Sequence[Row] | None = None) -> str:
    """The page of all rows, the failed ones first."""
    if rows is None:
        rows = rows_of(run_tests([*QUICK_TESTS, *SLOW_TESTS]))
    failed = [row for row in rows if not row.passes]
    lines = [
        "# Validation",
        "",
        "Derived by `python tools/regen.py` from what the Rust tests print; not to be edited. Each "
        "row is a figure of ours held against a closed form, a mean field or a printed table, and "
        "a test fails where it does not hold. Tolerances are relative; `exact` is equality, and "
        "`at most` asks for a figure that is not above the reference. The figures are the same on "
        "every machine.",
        "",
        f"{len(rows)} rows, {len(failed)} failed.",
        "",
    ]
    if failed:
        lines += ["## Failed", "", *rows_table(failed)]
    rest = [row for row in rows if row.passes]
    for title, belongs in SECTIONS:
        chosen = [row for row in rest if belongs(row)]
        rest = [row for row in rest if not belongs(row)]
        lines += [f"## {title[0]}", "", title[1], "", *rows_table(chosen)] if chosen else []
    lines += papers()
    lines += ["## Calibrated, not validated", "", *calibrated()]
    return "\n".join(lines).rstrip() + "\n"


def _is(prefix: str) -> Callable[[Row], bool]:
    return lambda row: row.what.startswith(prefix)


def _holds(*parts: str) -> Callable[[Row], bool]:
    return lambda row: any(part in row.what for part in parts)


def _any(*prefixes: str) -> Callable[[Row], bool]:
    return lambda row: row.what.startswith(prefixes)


#: Title and introduction of each section, and which of the rows that are left belong to it.
SECTIONS: list[tuple[tuple[str, str], Callable[[Row], bool]]] = [
    (
        (
            "Write amplification",
            "One plane of blocks of 64 units, uniform writes unless said, after six overwrites, "
            "measured over four (hot and cold: eight and four). alpha is physical over logical; "
            "theory is taken at the effective alpha, which leaves out the two blocks that hold no "
            "settled data (`d_choices`: at alpha itself, with 16,384 blocks). "
            "`crates/ssd/tests/write_amplification.rs`.",
        ),
        _is("write amplification"),
    ),
    (
        (
            "Life",
            "Random writes to a small drive until it has lost so many blocks that it takes none. "
            "`crates/ssd/tests/retirement.rs`.",
        ),
        _is("life of a drive"),
    ),
    (("Pages of a block", "`crates/nand/src/wordline.rs`."), _is("page map")),
    (
        (
            "Codes and decoders",
            "Against closed forms and independent sums, and against what peers were measured to do "
            "(there ours is the upper end of the interval of our counts). `crates/ecc`.",
        ),
        _any("codeword", "random words", "patterns of", "CRC", "802.11n", "frame error rate"),
    ),
    (
        (
            "Reads that fail",
            "A small drive, to the nanosecond, and its models of decoding against each other. "
            "`crates/ssd/src/reading_tests.rs`, `crates/host/tests/error_correction.rs`, "
            "`real_cells.rs` beside it.",
        ),
        _holds("soft level", "BCH t = 40", "TLC cells", "drawn flips"),
    ),
    (
        (
            "Cells",
            "Error rates of cells in closed form against the printed equations, and counted on "
            "blocks of real voltages against the closed form of the same mechanisms, within four "
            "standard errors. `crates/nand/src/cell_tests.rs`, `cell_block_tests.rs`, `cell/`, "
            "`cell_slice_tests.rs`, `array_table_tests.rs`.",
        ),
        _any("RBER", "program steps", "hours at", "table rate", "variance of errors"),
    ),
    (
        (
            "Soft reads",
            "Where references keep the most information, and how many errors that bears. "
            "`crates/nand/src/sense_tests.rs`, `crates/ecc/src/information.rs`.",
        ),
        _any("soft offset", "largest RBER"),
    ),
    (
        (
            "Times and rates of the whole drive",
            "A small drive with plain numbers, from parameters alone. "
            "`crates/host/tests/closed_forms.rs`.",
        ),
        _is(""),
    ),
]


def rows_table(rows: Sequence[Row]) -> list[str]:
    """Rows with their verdicts."""
    header = ["what", "ours", "reference", "deviation", "tolerance", "source", "verdict"]
    return table(
        header,
        [
            [
                row.what,
                *row.printed,
                "0" if row.ours == row.reference else percent(row.deviation),
                allowed(row.tolerance),
                row.source,
                "pass" if row.passes else "FAIL",
            ]
            for row in rows
        ],
    )


def allowed(tolerance: float | None) -> str:
    """A tolerance as it is read."""
    if tolerance is None:
        return AT_MOST
    return "exact" if tolerance == 0 else f"{100 * tolerance:.2g} %"


def papers() -> Iterator[str]:
    """Every paper's rows with their verdicts, misses among them."""
    from nandlab.cli.papers import figure
    from nandlab.papers import KINDS
    from nandlab.papers import papers as reproduced

    kinds = "; ".join(f"*{kind}*: {meaning}" for kind, meaning in KINDS.items())
    yield from [
        "## Papers",
        "",
        "What a paper prints, and what comes out here: `nandlab papers`, from `experiments/`. "
        "These rows are not counted above. A miss is *explained* where its reason is known; a test "
        f"fails where it is not. What kind of evidence a row is: {kinds}.",
        "",
    ]
    header = ["what", "ours", "paper", "tolerance", "place", "evidence", "verdict"]
    for paper in reproduced(ROOT / "experiments"):
        rows, notes = [], []
        unmet: dict[tuple[str, str], list[str]] = {}
        for outcome in paper.run():
            row = outcome.row
            relation = "" if row.relation == "=" else f"{row.relation} "
            ours = f"{figure(outcome.ours)} {row.unit}"
            printed = f"{relation}{figure(row.paper)} {row.unit}"
            kind, verdict = outcome.expected.kind, outcome.verdict
            rows.append([row.claim, ours, printed, outcome.tolerance, row.place, kind, verdict])
            if verdict != "met":
                why = outcome.expected.explained or "no explanation yet"
                unmet.setdefault((verdict, why), []).append(row.claim)
        for (verdict, why), claims in unmet.items():
            others = f" and {len(claims) - 2} more rows" if len(claims) > 3 else ""
            named_claims = "; ".join(claims[:2] if others else claims)
            notes.append(f"- {verdict}: {named_claims}{others}: {why}")
        for printed, why in paper.contradictions:
            notes.append(f"- no row, the print against itself: {printed}: {why}")
        yield from [
            f"### {paper.title}",
            "",
            *table(header, rows),
            *notes,
            *([""] if notes else []),
        ]
        if paper.waiting:
            waiting = ", ".join(f"{row.claim} ({row.needs})" for row in paper.waiting)
            yield from [f"Not run yet, and what each waits for: {waiting}.", ""]


def percent(share: float) -> str:
    """A deviation in percent; what rounds to nothing has no sign."""
    text = f"{100 * share:+.2f} %"
    return text if text.strip("+-0. %") else "0.00 %"


def calibrated() -> Iterator[str]:
    """Parameter files that say of themselves that they are fitted."""
    yield (
        "Numbers that were fitted to a result. Reproducing that result with them proves nothing, "
        "and no row above uses them."
    )
    yield ""
    rows = []
    for path in sorted((ROOT / "params").rglob("*.toml")):
        comments = re.match(r"(?:#.*\n)*", path.read_text(encoding="utf-8"))
        text = " ".join(line.lstrip("# ") for line in (comments[0] if comments else "").split("\n"))
        sentences = re.split(r"(?<=\.)\s+(?=[A-Z])", text.strip())
        for i, sentence in enumerate(sentences):
            if "calibrated" in sentence:
                said = " ".join(sentences[i : i + 2])
                rows.append([code(path.relative_to(ROOT).as_posix()), said])
    yield from table(["file", "what it says"], rows)


# --- Files ---------------------------------------------------------------------------------------

DERIVED: dict[str, tuple[str, Callable[[], str]]] = {
    "reference": ("docs/reference.md", reference),
    "validation": ("docs/validation.md", validation),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes derived files, or says which of them are not fresh."""
    parser = argparse.ArgumentParser(description="Writes the files that are derived.")
    parser.add_argument("which", nargs="*", help=f"of {', '.join(DERIVED)}; all where left out")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if one differs")
    given = parser.parse_args(arguments)
    for name in given.which:
        if name not in DERIVED:
            parser.error(f"unknown file `{name}`; allowed: {', '.join(DERIVED)}")
    stale = 0
    for name in given.which or DERIVED:
        path, make = DERIVED[name]
        file = ROOT / path
        old = file.read_text(encoding="utf-8") if file.is_file() else ""
        new = make()
        if new == old:
            continue
        stale += 1
        if given.check:
            diff = difflib.unified_diff(
                old.splitlines(), new.splitlines(), path, "what it should be", lineterm="", n=1
            )
            print(
                "\n".join([*list(diff)[:60], f"{path} is not fresh: python tools/regen.py {name}"])
            )
        else:
            file.write_text(new, encoding="utf-8")
            print(f"wrote {path}")
    return 1 if given.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""`docs/validation.md`: figures of ours against references, as Rust tests and papers print them.

A test prints `validation | what | ours | reference | tolerance | source`; the rows of
`experiments/` are those of `nandlab papers`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from suite import rust

from derived import ROOT
from derived.markdown import code, table

if TYPE_CHECKING:
    from nandlab.papers import Outcome, Paper

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


def printed() -> str:
    """Output of all Rust tests that print rows: kept by the last full run, or of a run now."""
    if not rust.is_fresh():
        built = rust.build()
        if built is None:
            raise SystemExit("the Rust tests were not built; the reason stands above")
        # Those of many random cases print no rows.
        rust.run(built, ("--include-ignored", "--skip", "many_"), is_kept=True)
    return rust.kept().read_text(encoding="utf-8")


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


def validation() -> str:
    """The page: all rows, papers, and what is calibrated."""
    os.environ.setdefault(rust.TURN, "0")
    lines = [
        *sections(rows_of(printed())),
        *papers(),
        "## Calibrated, not validated",
        "",
        *calibrated(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def sections(rows: Sequence[Row]) -> list[str]:
    """The head of the page and its rows, the failed ones first."""
    failed = [row for row in rows if not row.passes]
    lines = [
        "# Validation",
        "",
        "Derived by `python tools/regen.py` from the output of the Rust tests; do not edit. Each"
        " row compares a figure of ours with a closed form, a mean field or a printed table;"
        " outside of the tolerance a test fails. Tolerances are relative; `exact` means equal, and"
        " `at most` means that ours is not above the reference. The figures are the same on every"
        " machine.",
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
    return lines


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
            "Maps on flash and log blocks",
            "Uniform writes to one plane, untimed. Rows of `dftl`: map pages read and written per"
            " host write, with a share C/N of the entries in memory. Other rows: write"
            " amplification and erases with L log blocks for U data blocks of P pages. Tests:"
            " `crates/ssd/tests/dftl.rs`, and the file of each FTL beside it.",
        ),
        _holds("dftl:", ", bast,", ", fast,", ", log_group,", ", block,", "superblock"),
    ),
    (
        (
            "Write amplification",
            "One plane of blocks of 64 units, uniform writes unless stated, after six overwrites,"
            " measured over four (hot and cold: eight and four). alpha is physical over logical"
            " capacity; theory uses the effective alpha, which leaves out the two blocks without"
            " settled data (`d_choices`: alpha itself, with 16,384 blocks). Test:"
            " `crates/ssd/tests/write_amplification.rs`.",
        ),
        _is("write amplification"),
    ),
    (
        (
            "Life",
            "Random writes to a small drive until lost blocks make it read-only. Test:"
            " `crates/ssd/tests/retirement.rs`.",
        ),
        _is("life of a drive"),
    ),
    (("Pages of a block", "`crates/nand/src/block/wordline.rs`."), _is("page map")),
    (
        (
            "Codes and decoders",
            "References are closed forms, independent sums, and measurements of peers (there ours"
            " is the upper end of the interval of our counts). Tests: `crates/ecc`.",
        ),
        _any("codeword", "random words", "patterns of", "CRC", "802.11n", "frame error rate"),
    ),
    (
        (
            "Reads that fail",
            "Times of a small drive to the nanosecond, and its decoder models compared with each"
            " other. Tests: `crates/ssd/src/drive/read/tests.rs`,"
            " `crates/host/tests/error_correction.rs`, `real_cells.rs` beside it.",
        ),
        _holds("soft read", "BCH t = 40", "TLC cells", "drawn flips"),
    ),
    (
        (
            "Cells",
            "Error rates of cells in closed form against the printed equations; and error counts "
            "on blocks of real voltages against the closed form of the same mechanisms, within "
            "four standard errors. Tests: `crates/nand/src/cell/tests.rs`, `cell_block_tests.rs`, "
            "`cell/`, `cell_slice_tests.rs`, `array_table_tests.rs`.",
        ),
        _any(
            *("RBER", "program steps", "hours at", "table rate", "variance of errors"),
            *("dose of reads", "strings blocked"),
        ),
    ),
    (
        (
            "Soft reads",
            "The references that keep the most information, and the error rate at which they"
            " suffice. Tests: `crates/nand/src/sense/tests.rs`,"
            " `crates/ecc/src/channel/information.rs`.",
        ),
        _any("soft offset", "largest RBER"),
    ),
    (
        (
            "Years",
            "Refresh and patrol reads of a small idle drive. Test: `crates/ssd/tests/refresh.rs`.",
        ),
        _any("blocks refreshed", "patrol reads", "erases, refreshed"),
    ),
    (
        (
            "Parity over dies",
            "Every unit of 40 to 200 small drives is read, whose codewords fail by a share that is"
            " set or by bit errors: shares of reads that the code gives up, and of those that"
            " parity does not give back either. Tolerances are three standard deviations of the"
            " closed form at as many reads. Test: `crates/ssd/tests/lost_reads.rs`. Random writes"
            " to as much space for data, with parity and without it: means of three seeds,"
            " intervals of 95 %. Test: `crates/ssd/tests/parity.rs`.",
        ),
        _any("share of", "parity over dies:"),
    ),
    (
        (
            "Reads around collection",
            "A small drive with stripes of four dies serves 10,000 reads a second beside 2,000"
            " random writes, for four seconds: percentiles of reads over those of a drive with room"
            " for all writes, which never collects; and what rotation costs it under random writes"
            " as fast as it takes them. Means of five seeds, intervals of 95 %. Test:"
            " `crates/ssd/tests/read_around.rs`.",
        ),
        _any("reads around", "random writes at full speed"),
    ),
    (
        (
            "Read cache",
            "Independent reads of 10,000 units, the i-th as often as i^-a (Zipf): hit rates of a"
            " cache of C units, the mean of five seeds of 100,000 reads with its 95 % interval, and"
            " the approximation of Che for LRU; for CLOCK the same with a hand that comes by every"
            " t. Test: `crates/ssd/src/cache/tests.rs`.",
        ),
        _is("hit rate of"),
    ),
    (
        (
            "The DRAM of the controller",
            "Requests saturate at its bandwidth over the bytes that each moves there. Test:"
            " `crates/host/tests/dram.rs`.",
        ),
        _is("DRAM:"),
    ),
    (
        (
            "Times and rates of the whole drive",
            "A small drive with round numbers; the references follow from its parameters alone."
            " Test: `crates/host/tests/closed_forms.rs`.",
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


OF_GROUP = {
    "real drives": "Drives on sale, as measured by others; rows are read as those of papers.",
    "simulators": "The same drive in another simulator; rows are read as those of papers.",
}


PAPER_COLUMNS = ["what", "ours", "seeds", "paper", "tolerance", "place", "kind", "verdict"]


def cells(outcome: Outcome) -> list[str]:
    """A row of a paper, in these columns."""
    from nandlab.cli.papers import figure as shown
    from nandlab.cli.papers import ours

    row, expected = outcome.row, outcome.expected
    relation = "" if row.relation == "=" else f"{row.relation} "
    printed = f"{relation}{shown(row.paper)} {row.unit}"
    seeds = f"{expected.seeds or ''}"
    terms = [outcome.tolerance, row.place, expected.kind, outcome.verdict]
    return [row.claim, f"{ours(outcome)} {row.unit}", seeds, printed, *terms]


def papers() -> Iterator[str]:
    """Every paper's rows with their verdicts, misses among them."""
    from nandlab.papers import KINDS
    from nandlab.papers import papers as reproduced

    kinds = "; ".join(f"*{kind}*: {meaning}" for kind, meaning in KINDS.items())
    yield from [
        "## Papers",
        "",
        "Printed figures of papers beside ours: `nandlab papers`, from `experiments/`. The count "
        f"above leaves these rows out. A row is of one kind: {kinds}. Only *predicted* rows count: "
        "they are *met*, *not met* or *undecided*. Rows of the other kinds *hold* or *do not "
        "hold*, and prove nothing.",
        "",
        "Column *seeds*: how many seeds a random row was run with. Ours is their mean with its "
        "95 % interval (Student), and a row is met or not met only where the whole interval is "
        "inside or outside of the tolerance; "
        "otherwise it is undecided. The tolerance of a gain is half of the printed gain or one "
        "point, whichever is larger, or its own if that is stricter; beside a group of gains "
        "stands what a model that says 'nothing changes' would have. A reason for a difference "
        "holds in a range; a test fails if a row "
        "differs without a reason or leaves its range.",
        "",
    ]
    group = "papers"
    for paper in reproduced(ROOT / "experiments"):
        if paper.group != group:
            group = paper.group
            yield from [f"## {group.capitalize()}", "", f"{OF_GROUP[group]}", ""]
        yield from section(paper, list(paper.run()))


def section(paper: Paper, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """One paper with all its rows, and why those are not met that are not."""
    from nandlab.cli.papers import reason
    from nandlab.papers import gains, tally

    notes = []
    unmet: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.is_met is False:
            unmet.setdefault(reason(outcome), []).append(outcome)
    for why, rows in unmet.items():
        claims = [one.row.claim for one in rows]
        others = f" and {len(claims) - 2} more rows" if len(claims) > 3 else ""
        named_claims = "; ".join(claims[:2] if others else claims)
        notes.append(f"- {rows[0].verdict}: {named_claims}{others}: {why}")
    notes += [f"- {line}" for line in gains(outcomes)]
    for printed, why in paper.contradictions:
        notes.append(f"- no row, the print against itself: {printed}: {why}")
    yield from [
        f"### {paper.title}",
        "",
        f"{tally(outcomes)}.",
        "",
        *table(PAPER_COLUMNS, [cells(outcome) for outcome in outcomes]),
        *notes,
        *([""] if notes else []),
    ]
    if paper.waiting:
        waiting = ", ".join(f"{row.claim} ({row.needs})" for row in paper.waiting)
        yield from [f"Not run yet, and what each waits for: {waiting}.", ""]
    if paper.absent():
        rows_of_traces = "; ".join(f"{row.claim} ({row.needs})" for row in paper.absent())
        yield from [
            "Not run, because the trace is not part of nandlab "
            f"(`nandlab papers {paper.name} --traces FOLDER` runs them): {rows_of_traces}.",
            "",
        ]


def percent(share: float) -> str:
    """A deviation in percent; what rounds to nothing has no sign."""
    text = f"{100 * share:+.2f} %"
    return text if text.strip("+-0. %") else "0.00 %"


def calibrated() -> Iterator[str]:
    """Parameter files that say of themselves that they are fitted."""
    yield (
        "These numbers were fitted to a result. They prove nothing about that result, and no row"
        " above uses them."
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

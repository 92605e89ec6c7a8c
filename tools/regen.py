"""Derived files: `python tools/regen.py` writes them, `--check` tests whether they are fresh.

- `docs/reference.md`: command line, families, keys, presets, sources; from the installed package
  and `params/CITATIONS.bib`.
- `docs/formats/report.md`: its tables of keys, from the JSON Schema of the report.
- `python/nandlab/report/tables.pyi`: types of the report's tables, from the same.
- `docs/formats/requests.md`: the columns of the time series that are counts of the FTL.
- `docs/life.md`: its tables of columns and keys, from the JSON Schema of a life.
- `docs/lint.md`: the checks of `nandlab lint`, with the figures of their pairs of runs.
- `docs/formats/traces.md`: its table of options, from `nandlab.options`.
- `docs/formats/import.md`: its tables of keys, from the rosters of `nandlab.imported`.
- Functions of `python/nandlab/` that take options: arguments and docstrings, from the same
  (`signatures`).
- `docs/validation.md`: the rows that Rust tests print, which takes a minute, and those of
  `experiments/`, which `nandlab papers` prints.

`python tools/regen.py reference` does one of them only.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Sequence

from derived import ROOT
from derived.imports import PAGE as IMPORT_PAGE
from derived.imports import import_page
from derived.life import PAGE as LIFE_PAGE
from derived.life import life_page
from derived.lint import lint_page
from derived.reference import reference
from derived.report import PAGE as REPORT_PAGE
from derived.report import report_page
from derived.report_view import STUB, report_view
from derived.series import PAGE as SERIES_PAGE
from derived.series import series_page
from derived.signatures import sources
from derived.traces import PAGE, traces_page
from derived.validation import validation

DERIVED: dict[str, tuple[str, Callable[[], str]]] = {
    "reference": ("docs/reference.md", reference),
    "report": (REPORT_PAGE, report_page),
    "report_view": (STUB, report_view),
    "series": (SERIES_PAGE, series_page),
    "life": (LIFE_PAGE, life_page),
    "lint": ("docs/lint.md", lint_page),
    "validation": ("docs/validation.md", validation),
    "traces": (PAGE, traces_page),
    "import": (IMPORT_PAGE, import_page),
    **sources(),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes derived files, or says which of them are not fresh."""
    parser = argparse.ArgumentParser(description="Writes the files that are derived.")
    parser.add_argument("which", nargs="*", help=f"of {', '.join(DERIVED)}; all where left out")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if one differs")
    given = parser.parse_args(arguments)
    if "signatures" in given.which:
        given.which = [name for name in given.which if name != "signatures"] + list(sources())
    for name in given.which:
        if name not in DERIVED:
            parser.error(f"unknown file `{name}`; expected: {', '.join(DERIVED)}")
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

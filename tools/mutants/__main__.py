"""Command `python -m mutants`: checks the list of mutants, makes the copy, or runs the trials."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from suite import rust

from mutants.copy import make
from mutants.list import Mutant, Refused, mutants, problems
from mutants.suite import Bench
from mutants.table import as_json, line, markdown, summary
from mutants.trial import Trials, Verdict


def main() -> int:
    """Exit code: 0 where all is well, 1 where a mutant survived or does not fit, 2 if refused."""
    given = _arguments()
    try:
        if given.command == "check":
            return _check()
        if given.command == "make":
            print(f"{make(given.folder)} mutants in {given.folder}")
            return 0
        return _run(given)
    except Refused as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m mutants", description="Seeded faults, and whether the tests notice them."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="whether each mutant fits the tree")
    to = commands.add_parser("make", help="copy the tree, with all mutants asleep")
    to.add_argument("folder", type=Path, help="a new folder, outside of the tree")
    run = commands.add_parser("run", help="try each mutant on a copy that has been built")
    run.add_argument("folder", type=Path, help="a copy, with nandlab in its .venv")
    run.add_argument("--only", action="append", metavar="NAME", help="this mutant; may be repeated")
    run.add_argument("--named", action="store_true", help="try no suite but those it names")
    run.add_argument("--jobs", type=int, default=2, help="mutants at a time (2)")
    run.add_argument("--json", type=Path, metavar="OUT", help="file for all verdicts")
    return parser.parse_args()


def _check() -> int:
    found = list(problems())
    print("\n".join(found) or f"{len(mutants())} mutants fit the tree")
    return 1 if found else 0


def _chosen(every: Sequence[Mutant], only: Sequence[str] | None) -> list[Mutant]:
    """The mutants of these names, or all."""
    names = [one.name for one in every]
    for name in only or ():
        if name not in names:
            raise Refused(f"no mutant `{name}`; expected: {', '.join(names)}")
    return [one for one in every if not only or one.name in only]


def _run(given: argparse.Namespace) -> int:
    # The list that the copy was made of.
    chosen = _chosen(mutants(given.folder), given.only)
    jobs = max(given.jobs, 1)
    built = rust.build(folder=given.folder)
    if not built:
        raise Refused(f"the Rust tests of {given.folder} were not built: see above")
    bench = Bench(given.folder, built, jobs)
    ended = 0

    def tell(verdict: Verdict) -> None:
        nonlocal ended
        ended += 1
        print(line(verdict, ended, len(chosen)), flush=True)

    verdicts = Trials(bench, is_named_only=given.named).run(chosen, jobs, tell)
    print(f"\n{markdown(verdicts)}\n\n{summary(verdicts)}")
    if given.json is not None:
        given.json.write_text(as_json(verdicts), encoding="utf-8")
    if len(verdicts) < len(chosen):
        print("interrupted", file=sys.stderr)
        return 130
    return 0 if all(one.is_killed for one in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())

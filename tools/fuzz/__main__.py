"""Command `./lab fuzz`: runs random cases and says which laws were broken."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import monotonic

from fuzz.campaign import Count, Verdict, again, campaign
from fuzz.inputs.kinds import KINDS
from fuzz.running import PATIENCE_S


def main() -> int:
    """Exit code: 0 where every law held, 1 where one did not, 130 after Ctrl-C."""
    options = _arguments()
    if options.again is not None:
        verdict = again(options.again, options.keep)
        problems = verdict.problems if verdict is not None else []
        print("\n".join(problems) or "every law holds")
        return 1 if problems else 0
    start = monotonic()
    count = campaign(
        options.seed,
        cases=options.cases,
        minutes=None if options.cases is not None else options.minutes,
        only=options.only,
        kept=options.keep,
        workers=options.workers,
        patience_s=options.patience,
        is_calm=options.calm,
        tell=_tell,
    )
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    _summary(count, monotonic() - start)
    if count.is_interrupted:
        return 130
    return 1 if count.failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "./lab fuzz",
        description="Random and damaged inputs for every command; the laws of their answers.",
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="how long new cases begin (1)")
    parser.add_argument("--cases", type=int, help="how many, in the place of minutes")
    parser.add_argument("--seed", type=int, default=1, help="decides every case (1)")
    parser.add_argument("--only", choices=[*KINDS], help="only this kind of cases")
    parser.add_argument("--workers", type=int, help="cases at a time: as many as cores")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE_S, help="seconds of a command (10)"
    )
    parser.add_argument("--calm", action="store_true", help="no case sends signals")
    parser.add_argument(
        "--keep", type=Path, default=Path("fuzz-failures"), help="folder of failures"
    )
    parser.add_argument("--again", type=Path, metavar="FOLDER", help="runs a kept failure again")
    return parser.parse_args()


def _tell(verdict: Verdict, count: Count) -> None:
    """A line for each failure as it comes, and where we are."""
    if verdict.problems:
        print(f"{verdict.kind} {verdict.number}: {verdict.problems[0][:300]}", flush=True)
        if verdict.folder:
            print(f"    {verdict.folder}", flush=True)
    if sys.stderr.isatty():
        done = sum(count.cases.values())
        print(f"\r\x1b[K{done} cases, {len(count.failures)} failed", end="", file=sys.stderr)


def _summary(count: Count, seconds: float) -> None:
    """Counts by kind and by exit code."""
    kinds = ", ".join(f"{number} {kind}" for kind, number in count.cases.most_common())
    codes = {0: "succeeded", 2: "were refused", 130: "were interrupted", None: "did not end"}
    ended = ", ".join(
        f"{number} {codes.get(code, f'ended with {code}')}"
        for code, number in count.codes.most_common()
    )
    print(f"{sum(count.cases.values())} cases in {seconds:.0f} s: {kinds or 'none'}")
    print(f"{sum(count.codes.values())} commands: {ended or 'none'}; {count.long} took long")
    print(f"{len(count.failures)} failed" if count.failures else "every law held")
    if count.is_interrupted:
        print("interrupted")


if __name__ == "__main__":
    sys.exit(main())

"""Table of the README: erases by k, workload and what is equal, with trials and intervals.

Run it with `python table.py`. Trials differ in their seed; intervals are Student's, of 95 %.
"""

import statistics
import sys

import run

TRIALS = 5
STUDENT = 2.776
"""Of 95 % and four degrees of freedom."""


def with_interval(measure, *drive):
    """Mean and half of the interval over the trials, as text."""
    values = [measure(*drive, seed=seed) for seed in range(1, TRIALS + 1)]
    half = STUDENT * statistics.stdev(values) / TRIALS**0.5
    return f"{statistics.mean(values):.2f} ± {half:.2f}"


def main():
    print("| k | generations | workload | erases, same spare | erases, same capacity | energy |")
    print("|---|---|---|---|---|---|")
    for bits in run.BITS:
        for workload in run.JOBS:
            cells = [
                with_interval(run.fewer_erases, bits, workload),
                with_interval(run.fewer_erases, bits, workload, True),
                with_interval(run.most_energy, bits, workload),
            ]
            print(f"| {bits} | {run.generations(bits)} | {workload} | {' | '.join(cells)} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Speed of studies against its goals: `python tools/study_speed.py [POINTS]`.

1,000 points of 20,000 requests on `tiny`, one preconditioning: by one worker and by two, in turn,
three times each; the best of each counts. Where the machine does other things, the ratio says
little.
"""

from __future__ import annotations

import sys
from time import perf_counter

from nandlab import Study

JOB = "[mix]\nrw=randrw\nbs=4k\niodepth=16\nnorandommap\nnumber_ios=20000\n"

#: Wall time of 1,000 points by two workers, in seconds.
GOAL_S = 60.0
#: How much faster two workers are than one.
GOAL_RATIO = 1.8
#: Wall time of a point beside its run, in milliseconds.
GOAL_OVERHEAD_MS = 10.0

TIMES = 3


def study(points: int) -> Study:
    """Points that differ in what they run."""
    axes = {
        "job.rwmixread": {"from": 0, "to": 99, "step": 1},
        "job.randseed": {"from": 1, "to": max(points // 100, 1), "step": 1},
    }
    if points < 200:
        axes = {"job.randseed": {"from": 1, "to": points, "step": 1}}
    return Study("tiny", JOB, precondition="steady", axes=axes, columns=["s = sim.wall_s"])


def main(points: int = 1000) -> None:
    """Prints the figures beside their goals."""
    best: dict[int, float] = {}
    overhead_ms = float("inf")
    for _ in range(TIMES):
        for workers in (1, 2):
            one = study(points)
            start = perf_counter()
            one.run(workers=workers)
            wall_s = perf_counter() - start
            best[workers] = min(best.get(workers, wall_s), wall_s)
            if workers == 1:
                runs_s = sum(row["s"] for row in one.records())
                overhead_ms = min(overhead_ms, 1e3 * (wall_s - runs_s) / len(one))
    count = len(study(points))
    print(f"{count} points by 2 workers: {best[2]:.1f} s (goal for 1,000: {GOAL_S:.0f} s)")
    print(f"2 workers / 1 worker: {best[1] / best[2]:.2f} (goal {GOAL_RATIO})")
    print(f"a point beside its run: {overhead_ms:.1f} ms (goal {GOAL_OVERHEAD_MS:.0f} ms)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))

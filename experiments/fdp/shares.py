"""Rows of flash caches with other shares of the writes for small objects.

`python experiments/fdp/shares.py` prints the table of README.md, in about a minute.
"""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import run

SHARES = (0.7, 0.8, 0.9)

ROWS = (
    "soc_4_mixed",
    "soc_4_apart",
    "use_50_mixed",
    "use_70_mixed",
    "use_80_mixed",
    "soc_64_apart",
    "tenants_mixed",
    "gc_events",
    "soc_20_mixed",
    "soc_20_apart",
    "soc_40_mixed",
    "soc_40_apart",
)


def main():
    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["row"]: row for row in csv.DictReader(lines)}
    columns = {}
    for share in SHARES:
        run.SMALL = share
        run.of_caches.cache_clear()
        columns[share] = [getattr(run, name)() for name in ROWS]
    print("| row | measured | " + " | ".join(f"{100 * share:.0f} %" for share in SHARES) + " |")
    for number, name in enumerate(ROWS):
        row = printed.get(name, printed.get(f"{name}_kv202206"))
        ours = " | ".join(f"{columns[share][number]:.2f}" for share in SHARES)
        print(f"| {name} | {float(row['paper']):.2f} | {ours} |")


if __name__ == "__main__":
    main()

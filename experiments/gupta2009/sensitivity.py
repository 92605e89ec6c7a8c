"""Table of what moves the answers of `run.py`: `python experiments/gupta2009/sensitivity.py`.

`--traces FOLDER` adds the rows of the trace. A row differs from the first of its group by what it
says.
"""

from argparse import ArgumentParser
from pathlib import Path

from nandlab.papers import paper

HERE = Path(__file__).resolve().parent
PIECE = "spc_financial1.head50k.flashsim.lossy.txt.zst"

ASSUMED = {
    "3/4 of the drive written, Zipf 1.0": {},
    "1/4 of the drive written": {"share": 0.25},
    "9/10 of the drive written": {"share": 0.9},
    "all of the drive written": {"share": 1.0},
    "uniform addresses": {"skew": "random"},
    "Zipf 0.8": {"skew": "zipf:0.8"},
    "Zipf 1.2": {"skew": "zipf:1.2"},
    "45 % of the requests go on from the last": {"random_percent": 55},
    "spare 6.25 %": {"spare": 0.0625},
    "spare 12.5 %": {"spare": 0.125},
    "64 log blocks of 256": {"log_blocks": 64},
    "a quarter of the requests a second": {"rate": 0.25},
}
OF_TPCH = ("3/4 of the drive written, Zipf 1.0", "uniform addresses", "Zipf 1.2")

PIECES = {
    "1 GiB, holds what the piece touches": {},
    "16 log blocks of 256": {"log_blocks": 16},
    "32 log blocks": {"log_blocks": 32},
    "64 log blocks": {"log_blocks": 64},
    "128 log blocks": {"log_blocks": 128},
    "1 GiB, all of it written before": {"is_full": True},
    "drive of the piece's size": {"is_sized": True},
}


def line(workload, name, measured):
    """A row of the table, of three FTLs."""
    _, dftl, fast = measured
    change = 100 * (dftl.mean_ms / fast.mean_ms - 1)
    means = " | ".join(f"{found.mean_ms:.3g}" for found in measured)
    ratio = dftl.collections / fast.collections
    blocks = dftl.reclaimed_blocks / fast.reclaimed_blocks
    return f"| {workload} | {name} | {means} | {change:+.0f} | {ratio:.2f} | {blocks:.2f} |"


def main():
    parser = ArgumentParser(description="How the answers of gupta2009 hang on what is assumed.")
    parser.add_argument("--traces", type=Path, help=f"folder with {PIECE}")
    folder = parser.parse_args().traces
    run = paper(HERE.name, HERE.parent).load()
    print("| workload | | page (ms) | DFTL (ms) | FAST (ms) | change (%) | collections | blocks |")
    print("|---|---|---|---|---|---|---|---|")
    for workload, names in (("financial", tuple(ASSUMED)), ("tpch", OF_TPCH)):
        for name in names:
            assumed = run.Assumed(**ASSUMED[name])
            measured = [run.generated(workload, ftl, assumed) for ftl in run.FTLS]
            print(line(run.NAMES[workload], name, measured), flush=True)
    file = folder / PIECE if folder else None
    if file is None or not file.is_file():
        print(f"\nNot shown: the piece of the trace, as there is no {PIECE}.")
        return
    records = list(run.records(file))
    for name, given in PIECES.items():
        measured = [run.replayed(file, ftl, **given) for ftl in run.FTLS]
        print(line("piece of Financial1", name, measured), flush=True)
    written = {first + i for _, first, pages, reads in records if not reads for i in range(pages)}
    touched = run.touched_pages(file)
    print(f"\nThe piece touches {touched:,} pages of 2 KiB and writes {len(written):,} of them.")


if __name__ == "__main__":
    main()

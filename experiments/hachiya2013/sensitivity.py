"""Table of what moves the answers of `run.py`: `python experiments/hachiya2013/sensitivity.py`."""

from pathlib import Path

from nandlab.papers import paper

HERE = Path(__file__).resolve().parent

ASSUMED = {
    "as the rows": {},
    "spare of MLC alone 10 %": {"spare": 0.1},
    "spare of MLC alone 20 %": {"spare": 0.2},
    "spare of MLC alone 40 %": {"spare": 0.4},
    "TLC programs take half as long": {"tlc_program_us": 6480.0},
    "TLC programs take twice as long": {"tlc_program_us": 25920.0},
    "erases take 3 ms": {"erase_us": 3000.0},
    "16 requests under way": {"depth": 16},
    "overwrites of TLC leave dead data": {"overwrite": "log"},
}


def line(run, workload, name, assumed):
    """A row of the table: half of the chips are TLC, against MLC alone."""
    ofs = (run.serial_mb_s, run.mb_s, run.write_energy_of, run.mlc_erases_of, run.mlc_cycles_of)
    changes = [run.change(workload, 4, of, assumed=assumed) for of in ofs]
    found = run.measured(workload, 4, assumed=assumed)
    figures = " | ".join(f"{change:+.0f}" for change in changes)
    return f"| {workload} | {name} | {figures} | {found.tlc_cycles / found.mlc_cycles:.3f} |"


def main():
    run = paper(HERE.name, HERE.parent).load()
    print(
        "| workload | | throughput, one chip at a time (%) | side by side (%) | energy (%) "
        "| erases of MLC (%) | cycles of MLC (%) | TLC / MLC cycles |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for workload in run.WORKLOADS:
        for name, changed in ASSUMED.items():
            print(line(run, workload, name, run.BASE._replace(**changed)), flush=True)


if __name__ == "__main__":
    main()

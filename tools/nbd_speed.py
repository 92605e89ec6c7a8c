"""Speed of a served drive beside nbdkit's memory plugin: the same fio jobs, in turn.

    python tools/nbd_speed.py [ROUNDS]
    python tools/nbd_speed.py exact DRIVE [ROUNDS]

Prints the median of each job's rate and of the ratios of neighbouring runs, with quartiles. With
`exact` the codewords of a drive are real (`--integrity exact`), and nothing stands beside it. Needs
fio with its engine nbd, and nbdkit (Debian: fio, nbdkit).
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nandlab

#: Name of a job, its options, and what is counted.
JOBS = (
    ("4 KiB reads, depth 1", "--rw=randread --bs=4k --iodepth=1", "iops"),
    ("4 KiB writes, depth 1", "--rw=randwrite --bs=4k --iodepth=1", "iops"),
    ("4 KiB reads, depth 64", "--rw=randread --bs=4k --iodepth=64", "iops"),
    ("4 KiB writes, depth 64", "--rw=randwrite --bs=4k --iodepth=64", "iops"),
    ("1 MiB reads, depth 4", "--rw=read --bs=1m --iodepth=4", "bw_bytes"),
    ("1 MiB writes, depth 4", "--rw=write --bs=1m --iodepth=4", "bw_bytes"),
)
SECONDS = 2


def rate(uri: str, options: str, counted: str, size: str = "700m") -> float:
    """What fio reaches in a job."""
    job = ["fio", "--name=job", "--ioengine=nbd", f"--uri={uri}", *options.split()]
    job += ["--time_based", f"--runtime={SECONDS}", f"--size={size}", "--output-format=json"]
    told = subprocess.run(job, capture_output=True, text=True, check=True).stdout
    [done] = json.loads(told[told.index("{") :])["jobs"]
    return float(max(done[way][counted] for way in ("read", "write")))


def quartiles(values: list[float]) -> str:
    """Median and quartiles."""
    if len(values) < 2:
        return f"{values[0]:.3g}"
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3g} [{low:.3g}, {high:.3g}]"


def main() -> None:
    """Runs everything."""
    if sys.argv[1:2] == ["exact"]:
        exact(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        theirs = Path(folder) / "nbdkit.sock"
        command = ["nbdkit", "--foreground", "--unix", str(theirs), "memory", "800M"]
        with subprocess.Popen(command) as peer:
            while not theirs.exists():
                time.sleep(0.05)
            try:
                ours = Path(folder) / "nandlab.sock"
                with nandlab.serve(
                    "tiny", precondition="fill", clock="fast", socket=ours
                ) as server:
                    compare(f"nbd+unix:///?socket={theirs}", server.uri, rounds)
            finally:
                peer.terminate()


#: A drive of few blocks and much spare space, which fits in memory, with real codewords.
SMALL = {
    "drive.dies_per_channel": 1,
    "chip.geometry.blocks_per_plane": 24,
    "ftl.overprovisioning": 1.0,
    "ecc.model": "exact",
}


def exact(drive: str, rounds: int) -> None:
    """Prints one line for each job of large requests, of a fresh drive in each round."""
    jobs = [job for job in JOBS if "1 MiB" in job[0]]
    # Writes come first, and all that is read is written by then.
    jobs.reverse()
    rates: dict[str, list[float]] = {name: [] for name, *_ in jobs}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            socket = Path(folder) / "exact.sock"
            with nandlab.serve(
                drive, set=SMALL, clock="fast", socket=socket, integrity="exact"
            ) as server:
                for name, options, counted in jobs:
                    rates[name].append(rate(server.uri, options, counted, "200m"))
    for name, values in rates.items():
        print(f"{name:24} {quartiles(values)}")


def compare(theirs: str, ours: str, rounds: int) -> None:
    """Prints one line a job."""
    for name, options, counted in JOBS:
        pairs = list[tuple[float, float]]()
        for turn in range(rounds):
            order = (theirs, ours) if turn % 2 == 0 else (ours, theirs)
            rates = {uri: rate(uri, options, counted) for uri in order}
            pairs.append((rates[theirs], rates[ours]))
        columns = (
            quartiles([pair[0] for pair in pairs]),
            quartiles([pair[1] for pair in pairs]),
            quartiles([pair[1] / pair[0] for pair in pairs]),
        )
        print(f"{name:24} nbdkit {columns[0]:28} nandlab {columns[1]:28} ratio {columns[2]}")


if __name__ == "__main__":
    main()

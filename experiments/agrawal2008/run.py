"""The SSD extension of DiskSim (Agrawal et al., ATC'08): figures of its own outputs beside ours.

One function for each row of `reference.csv`; `nandlab papers agrawal2008` runs them. Figures are
those of the outputs that come with it (ssdmodel/valid).
"""

import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import nandlab

DRIVE = "agrawal2008"

#: "Storage capacity per device", in sectors, of which a page has 8; one request in 0 to 1 ms.
PAGES = 7_018_904 // 8
REQUESTS = 250_000
ELEMENTS = 8

#: Runs of each synthetic workload, with other arrivals and other addresses.
REPLICATES = 3


def arrivals(seed=42):
    """Arrival times in us: uniform in 0 to 1 ms."""
    draw, now = random.Random(seed), 0.0
    for _ in range(REQUESTS):
        now += draw.uniform(0.0, 1000.0)
        yield now


@cache
def mean_us(reads, in_order, seed=1):
    """Mean response time of requests of a page, on a full drive."""
    draw = random.Random(6 + seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "requests.txt"
        with path.open("w", encoding="utf-8") as lines:
            for i, at in enumerate(arrivals(41 + seed)):
                page = i % PAGES if in_order else draw.randrange(PAGES)
                lines.write(f"{round(1000 * at)} 0 {8 * page} 8 {int(reads)}\n")
        drive = nandlab.Drive(DRIVE, seed=seed).precondition("fill")
        return drive.run(trace=path, format="ssdsim").latency.mean


def sequential_read_us(seed=1):
    return mean_us(True, True, seed)


def sequential_write_us(seed=1):
    return mean_us(False, True, seed)


def random_read_us(seed=1):
    return mean_us(True, False, seed)


def random_write_us(seed=1):
    return mean_us(False, False, seed)


# --- Queues of fixed elements: a model of its own, no part of nandlab -----------------------------

#: Array, 4,224 bytes at 25 ns, 8 sectors on the link.
READ_US, WRITE_US, SUMMARY_US = 132.5, 307.5, 305.6
DATA_PAGES = 63


def fixed_us(service_us, summary_us, seed=1):
    """Mean response time where each page has its element, which serves one request at a time."""
    draw, free, total = random.Random(6 + seed), [0.0] * ELEMENTS, 0.0
    written = [draw.randrange(DATA_PAGES) for _ in range(ELEMENTS)]
    for at in arrivals(41 + seed):
        element = draw.randrange(ELEMENTS)
        written[element] = (written[element] + 1) % DATA_PAGES
        busy = service_us + (summary_us if written[element] == 0 else 0.0)
        free[element] = max(at, free[element]) + busy
        total += free[element] - at
    return total / REQUESTS


def fixed_random_read_us(seed=1):
    return fixed_us(READ_US, 0.0, seed)


def fixed_random_write_us(seed=1):
    return fixed_us(WRITE_US, SUMMARY_US, seed)


# --- The trace that comes with it -----------------------------------------------------------------


@cache
def iozone(path):
    """The run of the trace, with every request kept."""
    drive = nandlab.Drive(DRIVE).precondition("fill")
    options = {"address": "compact"}
    return drive.run(trace=path, format="disksim", trace_options=options, requests=True)


def iozone_cleans(path):
    return iozone(path).report.ftl.gc_runs


def iozone_ms(path):
    return iozone(path).latency.mean / 1e3


def iozone_below_5_ms_percent(path):
    table = iozone(path).requests()
    latencies = table.column("latency_ns").to_numpy()
    return 100 * float((latencies < 5e6).mean())


def picture():
    """Means of the four synthetic workloads."""
    from nandlab.display.picture import COLOURS, finish, new_figure

    bars = {
        "reads\nin order": (132.511, sequential_read_us()),
        "random\nreads": (136.118, random_read_us()),
        "writes\nin order": (310.895, sequential_write_us()),
        "random\nwrites": (329.458, random_write_us()),
    }
    figure = new_figure(7.0, 4.2)
    axes = figure.subplots()
    for i, (label, colour) in enumerate((("extension", "read"), ("nandlab", "write"))):
        at = [x + 0.4 * i - 0.2 for x in range(len(bars))]
        axes.bar(at, [pair[i] for pair in bars.values()], 0.38, color=COLOURS[colour], label=label)
    axes.set_xticks(range(len(bars)), list(bars))
    axes.set_ylabel("mean response time (us)")
    axes.legend(frameon=False)
    finish(axes, "DiskSim's SSD extension and nandlab")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)

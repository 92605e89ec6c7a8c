"""One job in three ways: inside nandlab, by fio over NBD, by a Linux guest over NVMe.

    python tools/three_views.py [PICTURE]

Prints percentiles of what the drive took, of how late its answers went out, and of what the client
measured, and draws them. Needs fio with its engine nbd, and what the tests of the guest need.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

import nandlab
from nandlab.display.picture import finish, new_figure, save
from tests.device.guest.machine import HOST, Guest
from tests.device.guest.packages import made

DRIVE = "modern_tlc"
#: A drive of few blocks whose bytes fit in memory; reads fill it in the end.
SMALL = {
    "drive.dies_per_channel": 1,
    "chip.geometry.blocks_per_plane": 24,
    "ftl.overprovisioning": 0.5,
}
DEPTH, REQUESTS = 4, 8000
JOB = {
    "rw": "randread",
    "bs": "4k",
    "iodepth": str(DEPTH),
    "norandommap": "1",
    "number_ios": str(REQUESTS),
    "size": "512m",
}
PERCENTS = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9)
SHOWN = (50, 99, 99.9)

Times = NDArray[np.float64]


@dataclass(frozen=True)
class View:
    """Percentiles of a job in one of the ways, in microseconds, at `PERCENTS`."""

    name: str
    drive_us: Times
    late_us: Times | None
    client_us: Times

    def row(self) -> str:
        """Row of the table."""

        def cell(times: Times | None) -> str:
            if times is None:
                return f"{'':>27}"
            return "".join(f"{times[PERCENTS.index(percent)]:>9.0f}" for percent in SHOWN)

        cells = (self.drive_us, self.late_us, self.client_us)
        return f"{self.name:<22}" + "  ".join(map(cell, cells))


def inside() -> View:
    """The job as a run: no sockets, no wall clock."""
    job = "[job]\n" + "".join(f"{key}={value}\n" for key, value in JOB.items())
    ran = nandlab.run(DRIVE, job, set=SMALL, precondition="fill", requests=True)
    times = np.percentile(ran.requests()["latency_ns"].to_numpy() / 1e3, PERCENTS)
    return View("nandlab run", times, None, times)


def served(name: str, protocol: str, fio: Callable[[str, str], str]) -> View:
    """The job by fio on a served drive."""
    options = "".join(f" --{key}={value}" for key, value in JOB.items())
    options += f" --name=job --output-format=json --percentile_list={':'.join(map(str, PERCENTS))}"
    with nandlab.serve(
        DRIVE,
        set=SMALL,
        precondition="fill",
        protocol=protocol,
        port=0,
        requests=True,
    ) as server:
        told = fio(server.uri, options)
        result = server.stop()
    [job] = json.loads(told[told.index("{") : told.rindex("}") + 1])["jobs"]
    client = np.array(list(job["read"]["clat_ns"]["percentile"].values())) / 1e3
    table = result.requests()
    reads = table["op"].to_numpy() == "read"
    drive = table["latency_ns"].to_numpy()[reads] / 1e3
    late = (table["answered_unix_ns"].to_numpy() - table["due_unix_ns"].to_numpy())[reads] / 1e3
    # Reads of the kernel's own, which looks for partitions, are a few of thousands.
    drive_us, late_us = (np.percentile(times, PERCENTS) for times in (drive, late))
    return View(name, drive_us, late_us, client)


def by_nbd(uri: str, options: str) -> str:
    """Output of fio on this machine, over NBD."""
    command = ["fio", *options.split(), "--ioengine=nbd", f"--uri={uri}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return str(ended.stdout)


def by_guest(uri: str, options: str) -> str:
    """Output of fio in a Linux guest, over NVMe."""
    kernel, image = made()
    address = urlsplit(uri)
    disk = "/dev/nvme0n1"
    with Guest(kernel, image) as guest:
        where = f"-t tcp -a {HOST} -s {address.port} -n {address.path[1:]}"
        guest.run(f"nvme connect {where} && while [ ! -b {disk} ]; do sleep 0.1; done")
        job = f"fio{options} --ioengine=libaio --direct=1 --filename={disk}"
        told = guest.run(job, seconds=300)
        guest.run("nvme disconnect-all")
    return told


def draw(views: list[View], picture: Path) -> None:
    """Shares of reads that took longer than a time: for the client, and in the drive."""
    figure = new_figure(9.0, 3.8)
    left, right = figure.subplots(1, 2, sharey=True)
    longer = 100 - np.array(PERCENTS)
    for view in views:
        left.loglog(view.drive_us, longer, label=view.name)
        right.loglog(view.client_us, longer, label=view.name)
    left.set_ylabel("reads that took longer (%)")
    for axes, title in ((left, "in the simulated drive"), (right, "for the client")):
        axes.set_xlabel("time (µs)")
        axes.xaxis.set_minor_formatter("")
        finish(axes, title)
    left.set_xlim(30, 1000)
    left.legend(frameon=False, loc="upper right")
    save(figure, picture)


def main() -> None:
    """Runs the job in each way."""
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("three_views.png")
    kinds = "  ".join(f"{kind:>27}" for kind in ("drive", "late", "client"))
    heads = "  ".join("".join(f"{f'p{percent:g}':>9}" for percent in SHOWN) for _ in range(3))
    print(f"{'us':<22}{kinds}\n{'':<22}{heads}")
    views = [
        inside(),
        served("fio over NBD", "nbd", by_nbd),
        served("fio in a guest, NVMe", "nvme", by_guest),
    ]
    for view in views:
        print(view.row())
    draw(views, picture)


if __name__ == "__main__":
    main()

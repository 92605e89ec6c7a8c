"""Bottleneck of a run: the station with the highest utilization, or what the host could send."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nandlab.report.tables import Job, Report

LIMIT = 0.9
"""Busy share from which on a station limits the run. With less, requests find it free often."""

_FULL_QUEUE = 0.95
"""Share of the requests that a host keeps under way, from which on their number limits the run."""

_RELIEF = {
    "dies": "more dies, or faster operations",
    "channels": "more channels, or a faster bus",
    "decoders": "more or faster decoders",
    "encoders": "more or faster encoders",
    "cores": "more or faster cores of the controller",
    "link": "a faster link",
    "DRAM": "a faster DRAM (controller.dram_mb_s)",
    "submission": "more jobs: each has a thread, which takes host.submit_us for a request",
    "queue depth": "more requests at a time (iodepth)",
}


class Bottleneck(NamedTuple):
    """What limits a run: the busiest station, or the host."""

    resource: str
    """``dies``, ``channels``, ``decoders``, ``encoders``, ``cores``, ``link`` or ``DRAM`` of the
    drive; ``submission`` (the busiest job's thread) or ``queue depth`` of the host, where no
    station of the drive is busy enough."""
    busy: float
    """Busy share of the run, 0 to 1: of all dies, decoders, encoders or cores together, of the
    busiest channel, direction of the link or thread; of the queue its full share."""

    @property
    def is_limit(self) -> bool:
        """Whether it limits the run: a station that is busy for at least 90 % of it."""
        return self.busy >= LIMIT

    @property
    def relief(self) -> str:
        """What would relieve it."""
        return _RELIEF[self.resource]

    def __str__(self) -> str:
        """One sentence for the table."""
        if self.is_limit:
            state = "full" if self.resource == "queue depth" else "busy"
            return f"{self.resource} {self.busy:.0%} {state}; relieved by {self.relief}"
        return f"none; highest utilization: {self.resource}, {self.busy:.0%}"


def bottleneck(report: Report) -> Bottleneck:
    """What limits the run of a report."""
    front = report.front
    stations = {
        "dies": 1.0 - report.dies.idle,
        "channels": max(report.channels.busy_fraction),
        "decoders": report.ecc.decoders_busy_fraction,
        "encoders": report.ecc.encoders_busy_fraction,
        "cores": front.cores_busy_fraction,
        "link": max(front.link_in_busy_fraction, front.link_out_busy_fraction),
        "DRAM": front.dram_busy_fraction,
        "submission": max((_submission(report, job) for job in report.jobs), default=0.0),
    }
    busiest = Bottleneck(*max(stations.items(), key=lambda station: station[1]))
    if busiest.is_limit:
        return busiest
    queue = _queue(report)
    return Bottleneck("queue depth", queue) if queue >= _FULL_QUEUE else busiest


def _submission(report: Report, job: Job) -> float:
    """Busy share of the thread that sends the requests of a job."""
    submit_us = report.nandlab.config["host"]["submit_us"]
    requests = sum(way.total_ios for way in (job.read, job.write, job.trim, job.sync))
    seconds = report.sim.simulated_s
    return min(requests * submit_us * 1e-6 / seconds, 1.0) if seconds else 0.0


def _queue(report: Report) -> float:
    """Share of the requests that the jobs may have under way: 0 where none has to keep a depth.

    Traces at their times have none, nor jobs at a rate.
    """
    is_kept = report.checks.little_law_error is not None
    if not is_kept or len({job.groupid for job in report.jobs}) != 1:
        return 0.0
    depths = [str(job["job options"]["iodepth"]) for job in report.jobs]
    most = sum(int(depth) for depth in depths if depth.isdecimal())
    return min(report.host.mean_queue_depth / most, 1.0) if most else 0.0

"""Bounds of a drive's figures in closed form: what no run of it can exceed.

They rule out, before any run, only what truly cannot hold. Each takes the best case: every plane
busy all the time, the fastest page, no waiting, as much from the write buffer as it can hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from nandlab.cell import cell
from nandlab.design.amplification import FTLS, least_moved
from nandlab.design.workload import Kind, Uniform
from nandlab.drive.workload import Plan

SLACK = 1.02
"""Factor by which a bound must be beyond a limit: chance lets a few more requests than on average
find their data in the write buffer."""

_WRITTEN_STATES = ("fill", "steady", "rested")
"""States of a drive in which every address has data."""

_PERCENTILES = ("p50", "p90", "p99", "p99_9", "p99_99", "p99_999")

_ONE_SHOT = "one_shot"

_OPEN_BLOCKS = 4
"""Blocks of a plane that may be open at the beginning of a run, at most."""


@dataclass(frozen=True)
class _Times:
    """Shortest times of a die, in seconds, with what each moves."""

    read: float
    """Time of a page, its plane's share of the die where planes read together."""
    sense: float
    """Time of a page alone."""
    program: float
    """Time of a page, likewise a share."""


def bounds_of(
    config: Mapping[str, Any], capacity: int, plan: Plan, load: Uniform | None
) -> dict[str, float]:
    """Best value that each figure of a run can have; figures without a bound are left out.

    Args:
        config: the whole configuration of the drive.
        capacity: bytes that the host sees.
        plan: of the run.
        load: its workload, where it is uniform.
    """
    if load is None or plan.precondition not in _WRITTEN_STATES or config.get("chips"):
        return {}
    return _Bounds(config, capacity, plan, load).figures()


def least_cycles(
    config: Mapping[str, Any], capacity: int, load: Uniform | None, written: float
) -> float:
    """Program/erase cycles of the mean block after some bytes from the host, at least.

    Without uniform writes, and with FTLs that the closed form is not of, write amplification is 1
    at least; FTLs that program a block again without an erase have no bound, which is 0.
    """
    if config["ftl"]["name"] not in FTLS:
        return 0.0
    physical = raw_bytes(config)
    moved = 0.0
    if load is not None and load.is_independent and load.sizes(is_read=False):
        pool = physical - capacity
        moved = least_moved(physical / capacity, _units(config, load), written, pool)
    return (written + moved) / physical


def raw_bytes(config: Mapping[str, Any]) -> float:
    """Bytes of all pages of a drive, without their spare bytes."""
    geometry = config["chip"]["geometry"]
    return float(
        _dies(config) * geometry["planes_per_die"] * geometry["blocks_per_plane"]
    ) * _block_bytes(config)


def _dies(config: Mapping[str, Any]) -> int:
    return int(config["drive"]["channels"] * config["drive"]["dies_per_channel"])


def _block_bytes(config: Mapping[str, Any]) -> float:
    geometry = config["chip"]["geometry"]
    return float(geometry["pages_per_block"] * geometry["page_bytes"])


def _units(config: Mapping[str, Any], load: Uniform) -> int:
    """Writes that a block holds: the fewer, the less is amplified."""
    return max(int(_block_bytes(config) // max(load.sizes(is_read=False))), 1)


class _Bounds:
    """Bounds of one drive under one workload."""

    def __init__(self, config: Mapping[str, Any], capacity: int, plan: Plan, load: Uniform) -> None:
        self.config, self.load = config, load
        chip = config["chip"]
        self.page = chip["geometry"]["page_bytes"]
        timing = chip["timing"]
        bus = timing["bus_mt_s"] * timing["bus_bits"] / 8 * 1e6
        self.buses = bus * config["drive"]["channels"]
        self.times = _times(config)
        buffered = config["buffer"]["bytes"]
        # Addresses are uniform: so many requests find their data in the buffer, on average.
        self.hits = min(buffered / capacity, 1.0)
        cached = config.get("read_cache", {}).get("bytes", 0)
        self.read_hits = min((buffered + cached) / capacity, 1.0)
        # Bytes that reach the flash for each one that the host writes: overwrites in the buffer do
        # not, nor what is in it at the end.
        written, physical = load.written, raw_bytes(config)
        self.programmed = max(1.0 - self.hits - buffered / written, 0.0) if written else 0.0
        self.moved = 0.0
        is_settled = plan.precondition == "steady" and config["ftl"]["name"] in FTLS
        if written and is_settled and load.is_independent and load.sizes(is_read=False):
            reached = written * self.programmed
            gc, planes = config["gc"], _dies(config) * chip["geometry"]["planes_per_die"]
            free = gc["start_free_blocks"] + gc["background_free_blocks"] + _OPEN_BLOCKS
            pool = min(free * planes * _block_bytes(config), physical - capacity)
            moved = least_moved(physical / capacity, _units(config, load), reached, pool)
            self.moved = moved / written

    def figures(self) -> dict[str, float]:
        """The bounds."""
        kinds, share = self.load.kinds, self.load.read_share
        costs = [(one, self._cost(one)) for one in kinds]
        found = {
            "iops": self._rate([(cost, 1.0) for _, cost in costs]),
            "bandwidth_mb_s": self._rate([(cost, one.size / 1e6) for one, cost in costs]),
        }
        for way, is_read in (("read", True), ("write", False)):
            own = [(cost, 1.0) for one, cost in costs if one.is_read is is_read]
            found[f"{way}_iops"] = self._rate(own)
        latencies = self._latencies()
        if latencies:
            # Each read in flight is one at a time (Little).
            most = self.load.read_depth * 1e6 / latencies["read_us_mean"]
            found["read_iops"] = min(found["read_iops"], most)
        if share is not None:
            # All requests together take what the mix takes on average.
            shares = [share if one.is_read else 1.0 - share for one in kinds]
            mixed = {
                key: sum(part * cost[key] for part, (_, cost) in zip(shares, costs, strict=True))
                for key in costs[0][1]
            }
            reads = found["read_iops"] / share if share else inf
            found["iops"] = min(found["iops"], self._rate([(mixed, 1.0)]), reads)
            for way, part in (("read", share), ("write", 1.0 - share)):
                found[f"{way}_iops"] = min(found[f"{way}_iops"], found["iops"] * part)
            size = sum(part * one.size / 1e6 for part, one in zip(shares, kinds, strict=True))
            found["bandwidth_mb_s"] = min(found["bandwidth_mb_s"], found["iops"] * size)
        found |= latencies
        if self.moved:
            found["write_amplification"] = self.programmed + self.moved
        return {name: value for name, value in found.items() if value < inf}

    def _cost(self, kind: Kind) -> dict[str, float]:
        """Part of each resource that a request takes for a second."""
        times, pages = self.times, kind.size / self.page
        flash = 1.0 - self.read_hits
        controller = self.config["controller"]
        cores = controller["command_us"] / 1e6 / controller["cores"]
        if kind.is_read:
            # Each request has a command of its own, also where several read one page.
            die = times.read * max(pages, 1.0) * flash if times else 0.0
            bus = kind.size * flash / self.buses
        else:
            moves = 0.0 if self.config["gc"]["copyback"] != "off" else 2.0 * self.moved
            bus = kind.size * (self.programmed + moves) / self.buses
            die = 0.0
            if times:
                die = pages * times.program * (self.programmed + self.moved)
                die += pages * times.read * self.moved
        return {"dies": die / _dies(self.config), "buses": bus, "cores": cores}

    def _rate(self, costs: list[tuple[dict[str, float], float]]) -> float:
        """Largest sum of weights a second: the request that costs least for its weight."""
        if not costs:
            return inf
        best = (
            max((weight / cost[key] if cost[key] else inf) for cost, weight in costs)
            for key in costs[0][0]
        )
        return min(best)

    def _latencies(self) -> dict[str, float]:
        """Latencies of reads: a page is sensed, then all data cross the buses."""
        sizes = self.load.sizes(is_read=True)
        if not sizes or self.times is None or self.read_hits == 1.0:
            return {}
        least_us = (self.times.sense + min(sizes) / self.buses) * 1e6
        found = {"read_us_mean": least_us * (1.0 - self.read_hits)}
        if self.read_hits < 0.25:
            # More than half of the reads come from the flash, whatever chance does.
            found |= {f"read_us_{rank}": least_us for rank in _PERCENTILES}
        return found


def _times(config: Mapping[str, Any]) -> _Times | None:
    """Shortest times of a die; None where they follow from more than its chip's table."""
    chip, timing = config["chip"], config["chip"]["timing"]
    varied = {"wear", "spread"} & timing.keys() or {"content", "reduced"} & chip.keys()
    if varied or config["ftl"]["name"] not in FTLS:
        return None
    reads, programs = timing["t_read_us"], timing["t_program_us"]
    if "cell" in (reads, programs):
        of_cell = [cell(chip).times(int(age)) for age in {0, config["age"]["pe_cycles"]}]
        if reads == "cell":
            reads = [time for one in of_cell for time in one.read_us]
        if programs == "cell":
            programs = [time for one in of_cell for time in one.program_us]
    single = timing.get("single_level", {})
    read = min(_least(reads), single.get("t_read_us", inf)) / 1e6
    program = min(_least(programs), single.get("t_program_us", inf)) / 1e6
    features, planes = chip["features"], chip["geometry"]["planes_per_die"]
    together = 1 if features["multi_plane_read"] == "none" else planes
    at_once = planes if features["multi_plane_program"] else 1
    at_once *= chip["cell_bits"] if chip["page_order"] == _ONE_SHOT else 1
    return _Times(read / together, read, program / at_once)


def _least(times: Any) -> float:
    return float(min(times) if isinstance(times, list | tuple) else times)

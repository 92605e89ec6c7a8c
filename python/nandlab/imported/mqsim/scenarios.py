"""Scenarios of MQSim: flows that run together, as the jobs of a fio file, or as traces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from nandlab.given.refusal import plain, refusal
from nandlab.imported.given import Found, Given
from nandlab.imported.job import Job, job_file
from nandlab.imported.mqsim.flow import put_flow
from nandlab.imported.mqsim.keys import SYNTHETIC, TRACE
from nandlab.imported.result import Moved, Unmatched
from nandlab.imported.written import DriveFile
from nandlab.imported.xml import Element

SCENARIO = "IO_Scenario"
_KINDS = {
    "IO_Flow_Parameter_Set_Synthetic": SYNTHETIC,
    "IO_Flow_Parameter_Set_Trace_Based": TRACE,
}
_UNITS = {"PICOSECOND": "ps", "NANOSECOND": "ns", "MICROSECOND": "us"}
_IDS = ("Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs")
_ALIGNED = 4096
"""Bytes to which the parts of flows are rounded down: a mapping unit."""


@dataclass
class Scenarios:
    """Files and runs that the scenarios of a workload file become."""

    files: dict[str, str] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    unmatched: list[Unmatched] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, run: DriveFile, title: str, unmatched: Sequence[Unmatched]) -> None:
        """Adds the file of a run."""
        self.notes += [note for note in run.notes if note not in self.notes]
        self.files[name] = run.text([f"{title} `nandlab run --drive {name}` runs it."], unmatched)
        self.runs.append(name)


class _Flow(NamedTuple):
    """A flow, and the part of the drive that it uses."""

    number: int
    kind: str
    given: Given
    offset: int
    size: int


def scenarios(
    root: Element,
    path: Path,
    config: Given,
    capacity_bytes: int,
    folder: str | PathLike[str] | None,
) -> Scenarios:
    """The files of all scenarios: a run for each, and one more for each trace.

    Args:
        root: of the workload file.
        path: of that file.
        config: keys of the configuration.
        capacity_bytes: bytes of the drive.
        folder: where the new files will stand.

    Raises:
        NandlabError: a scenario without flows, or a value that is refused.
    """
    made = Scenarios()
    found = [one for one in root.inner if one.name == SCENARIO]
    if not found:
        raise refusal(f"{path.name}:{root.line}", f"no {SCENARIO}", "one or more")
    strangers = [one for one in root.inner if one.name != SCENARIO]
    for number, element in enumerate(found, 1):
        strangers += [one for one in element.inner if one.name not in _KINDS]
        keys = [Found(one.name, one.text.strip(), path.name, one.line) for one in strangers]
        # What MQSim does not know either stands in the first file behind it.
        lost = Given((), keys, path.name).unmatched
        made.unmatched += lost
        _scenario(made, number, element, path, config, capacity_bytes, folder, lost)
        strangers = []
    return made


def _scenario(
    made: Scenarios,
    number: int,
    element: Element,
    path: Path,
    config: Given,
    capacity_bytes: int,
    folder: str | PathLike[str] | None,
    lost: Sequence[Unmatched],
) -> None:
    """Adds the files of a scenario; `lost` is listed in the first of them."""
    flows = _flows(element, path.name, config, capacity_bytes)
    if not flows:
        place = f"{path.name}:{element.line}: {SCENARIO}"
        raise refusal(place, "no flows", ", ".join(_KINDS))
    synthetic = [one for one in flows if one.kind == "IO_Flow_Parameter_Set_Synthetic"]
    name = f"scenario_{number}"
    title = f"Scenario {number} of MQSim's {plain(path.name)}, written by `nandlab import mqsim`."
    if synthetic:
        jobs = [_job(flow, config) for flow in synthetic]
        givens = [flow.given for flow in synthetic]
        run = _run_file(givens, config)
        run.put("run.workload", f"{name}.fio")
        unmatched = [*lost, *_finish(made, givens)]
        lost = ()
        made.add(f"{name}.toml", run, title, ())
        made.notes += [note for job in jobs for note in job.notes if note not in made.notes]
        made.files[f"{name}.fio"] = job_file([title], jobs, unmatched)
    for flow in flows:
        if flow.kind != "IO_Flow_Parameter_Set_Trace_Based":
            continue
        run = _run_file([flow.given], config)
        _put_trace(run, flow.given, path, folder)
        if len(flows) > 1:
            run.notes.append(
                f"In MQSim the {len(flows)} flows of this scenario run together. Here each trace "
                "is a run of its own."
            )
        unmatched = [*lost, *_finish(made, [flow.given])]
        lost = ()
        made.add(f"{name}_flow_{flow.number}.toml", run, title, unmatched)


def _flows(element: Element, file: str, config: Given, capacity_bytes: int) -> list[_Flow]:
    """The flows of a scenario, each with its part of the drive."""
    found: list[tuple[int, Element, Given]] = []
    for one in element.inner:
        if one.name not in _KINDS:
            continue
        keys = [Found(key.name, key.text.strip(), file, key.line) for key in one.inner]
        given = Given(_KINDS[one.name], keys, f"{file}:{one.line}")
        found.append((len(found) + 1, one, given))
    shares = _shares([given for _, _, given in found], config)
    flows, begin = [], Fraction(0)
    for (number, one, given), share in zip(found, shares, strict=True):
        offset, end = (int(at * capacity_bytes) for at in (begin, begin + share))
        begin += share
        offset -= offset % _ALIGNED
        end -= end % _ALIGNED
        flows.append(_Flow(number, one.name, given, offset, end - offset))
    return flows


def _shares(flows: Sequence[Given], config: Given) -> list[Fraction]:
    """The share of the addresses of each flow: planes are divided among those that name them."""
    shape = (
        config["Flash_Channel_Count"],
        config["Chip_No_Per_Channel"],
        config["Die_No_Per_Chip"],
        config["Plane_No_Per_Die"],
    )
    for flow in flows:
        for name, count in zip(_IDS, shape, strict=True):
            if flow[name][-1] >= count:
                raise flow.refuse(name, f"has a number beyond the {count} of the drive")
    # The same set of planes for all flows is what nearly every file has.
    sets = [tuple(tuple(flow[name]) for name in _IDS) for flow in flows]
    if len(set(sets)) == 1:
        planes = Fraction(_count(sets[0]), prod(shape))
        return [planes / len(flows)] * len(flows)
    if prod(shape) > _MOST_PLANES:
        problem = f"differs between flows of {prod(shape)} planes"
        raise flows[0].refuse("Channel_IDs", problem, f"at most {_MOST_PLANES} planes")
    users: dict[tuple[int, ...], int] = {}
    for one in sets:
        for plane in _planes(one):
            users[plane] = users.get(plane, 0) + 1
    return [
        sum((Fraction(1, users[p]) for p in _planes(one)), Fraction(0)) / prod(shape)
        for one in sets
    ]


_MOST_PLANES = 1 << 16
"""Planes that are counted one by one."""


def _planes(ids: tuple[tuple[int, ...], ...]) -> list[tuple[int, ...]]:
    return list(product(*ids))


def _count(ids: tuple[tuple[int, ...], ...]) -> int:
    return prod(len(one) for one in ids)


def _job(flow: _Flow, config: Given) -> Job:
    """The job of a flow."""
    job = Job(f"flow_{flow.number}", flow.given)
    put_flow(job, flow.offset, flow.size, config)
    return job


def _run_file(flows: Sequence[Given], config: Given) -> DriveFile:
    """The drive with the state in which a run begins."""
    run = DriveFile(flows[0])
    run.put("drive_preset", "drive.toml")
    modes = {flow["Device_Level_Data_Caching_Mode"] for flow in flows}
    writes = {"WRITE_CACHE", "WRITE_READ_CACHE"}
    name = "Device_Level_Data_Caching_Mode"
    if not modes & writes:
        run.put("buffer.bytes", 0, name)
    for flow in flows:
        mode = flow[name]
        if mode not in writes and modes & writes:
            flow.unmatch(name, "all jobs share the write buffer")
        elif "READ_CACHE" in mode:
            flow.unmatch(name, "reads are not cached")
        else:
            flow.move([name], "buffer.bytes")
    reads_only = all("Read_Percentage" in flow and flow["Read_Percentage"] == 100 for flow in flows)
    how = config.spoken("Enabled_Preconditioning")
    if config["Enabled_Preconditioning"]:
        state = "fill" if reads_only else "steady"
        run.notes.append(
            "Preconditioning fills the whole drive; MQSim fills Initial_Occupancy_Percentage of it."
        )
        if state == "steady":
            run.notes.append(
                "`steady` takes long on a large drive; `--precondition fill` takes seconds."
            )
    elif reads_only:
        state, how = "fill", f"{how}, but MQSim reads flash where nothing was written"
    else:
        state = "none"
        run.notes.append(
            "MQSim reads flash where nothing was written, nandlab does not: `--precondition fill`."
        )
    config.move(["Enabled_Preconditioning"], "run.precondition")
    run.put("run.precondition", state, how=how)
    return run


def _put_trace(run: DriveFile, flow: Given, path: Path, folder: str | PathLike[str] | None) -> None:
    """The trace of a flow, and how it is read."""
    trace = Path(str(flow["File_Path"]).replace("\\", "/"))
    beside = path.parent / trace
    if not trace.is_absolute():
        trace = Path(os.path.relpath(beside, folder)) if folder is not None else beside
    run.put("run.trace", trace.as_posix(), "File_Path")
    if not beside.is_file():
        run.notes.append(f"There is no {plain(beside)} yet: set run.trace.")
    run.put("run.format", "mqsim")
    run.put("run.time_unit", _UNITS[flow["Time_Unit"]], "Time_Unit")
    run.put("run.loops", flow["Relay_Count"], "Relay_Count")
    run.put("run.address", "wrap", how="MQSim folds addresses")
    if flow["Percentage_To_Be_Executed"] == 100:
        flow.move(["Percentage_To_Be_Executed"], "run.trace")
    for name in _IDS:
        flow.unmatch(name, "the trace may use the whole drive")


def _finish(made: Scenarios, flows: Sequence[Given]) -> list[Unmatched]:
    """Notes what has become of the keys of flows: those without a counterpart."""
    for flow in flows:
        flow.unmatch_rest()
        made.moved += flow.moved
        made.unmatched += flow.unmatched
    return [row for flow in flows for row in flow.unmatched]

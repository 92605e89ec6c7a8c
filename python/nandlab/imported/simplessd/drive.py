"""A drive of SimpleSSD: its configuration as a drive file, and Standalone's workload as a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from nandlab.given.refusal import plain, refusal
from nandlab.imported.fitting import fitted
from nandlab.imported.given import Given
from nandlab.imported.result import Imported
from nandlab.imported.simplessd.ini import read_ini
from nandlab.imported.simplessd.keys import ROSTER
from nandlab.imported.simplessd.workload import workload
from nandlab.imported.written import DriveFile

_EXPECTED = "a configuration file of SimpleSSD 2.0 (.cfg)"
_CELL_BITS = {"SLC": 1, "MLC": 2, "TLC": 3}
_PAGES = {1: ("LSB",), 2: ("LSB", "MSB"), 3: ("LSB", "CSB", "MSB")}

_COMMAND_CYCLES = 7
"""Bus cycles of the command and address of a read or write in SimpleSSD."""

_LANE_MB_S = {"Gen1": 250.0, "Gen2": 500.0, "Gen3": 984.615}
"""A lane of PCIe: SimpleSSD's time of a byte with its code, 3.2 ns x 1.25, ... 1 ns x 65/64."""
_SATA_MB_S = {"1.5 Gb/s": 150.0, "3 Gb/s": 300.0, "6 Gb/s": 600.0}
_MPHY_MB_S = {"HS-G1": 124.8, "HS-G2": 249.6, "HS-G3": 499.1, "HS-G4": 998.8}

_NOTES = (
    "SimpleSSD counts instructions of the controller and times of its DRAM. Here both take no "
    "time: controller.command_us and buffer.latency_us are free to set.",
    "Reads are not cached. With a read cache that hits, SimpleSSD's reads are faster.",
)


def import_simplessd(files: Sequence[str], folder: str | PathLike[str] | None = None) -> Imported:
    """Imports files of SimpleSSD: that of the SSD, and that of Standalone if there is one.

    Args:
        files: in any order; together they have each section once.
        folder: the folder of the new files, from which the path of a trace leads.

    Raises:
        NandlabError: a file that is not SimpleSSD's, an unknown value, or a drive that nandlab
            refuses.
    """
    by_file = {file: list(read_ini(file, _EXPECTED)) for file in files}
    found = [key for keys in by_file.values() for key in keys]
    names = ", ".join(Path(file).name for file in files)
    sections = {key.key.partition(".")[0] for key in found}
    if not sections & {"pal", "ftl"}:
        problem = f"no section [pal] or [ftl] (there are {', '.join(sorted(sections)) or 'none'})"
        raise refusal(plain(names), problem, _EXPECTED)
    given = Given(ROSTER, found, names)
    drive = _drive(given, names)
    fitted(drive, "ftl.GCThreshold")
    made: dict[str, str] = {}
    notes: list[str] = []
    runs: list[str] = []
    if sections & {"generator", "trace"}:
        of_run = next(
            file
            for file, keys in by_file.items()
            if any(key.key.startswith(("generator.", "trace.")) for key in keys)
        )
        made, notes = workload(given, Path(of_run), folder)
        runs = [name for name in made if name.endswith(".toml")]
    given.unmatch_rest()
    head = [
        f"The drive of SimpleSSD's {plain(names)}, written by `nandlab import simplessd`. Comments "
        "name the keys that its numbers have there."
    ]
    return Imported(
        simulator="simplessd",
        inputs=files,
        files={"drive.toml": drive.text(head, given.unmatched), **made},
        runs=runs,
        moved=given.moved,
        unmatched=given.unmatched,
        notes=[*drive.notes, *notes],
    )


def _drive(given: Given, names: str) -> DriveFile:
    drive = DriveFile(given, notes=list(_NOTES))
    channels, packages, dies = (given[f"pal.{name}"] for name in ("Channel", "Package", "Die"))
    summary = f"{channels} channels x {packages} packages x {dies} dies"
    drive.put("summary", f"SimpleSSD, {plain(names)}: {summary}")
    drive.put("drive.channels", channels, "pal.Channel")
    drive.put("drive.dies_per_channel", packages * dies, "pal.Package", "pal.Die")
    drive.put("drive.queue_depth", 65536, how="the controller has no limit there")
    _put_host(drive, given)
    _put_chip(drive, given)
    _put_ftl(drive, given)
    caches = given["icl.EnableWriteCache"]
    if caches:
        drive.put("buffer.bytes", given["icl.CacheSize"], "icl.CacheSize", "icl.EnableWriteCache")
    else:
        drive.put("buffer.bytes", 0, "icl.EnableWriteCache")
    return drive


def _put_host(drive: DriveFile, given: Given) -> None:
    """The link, and the time of a request in the host's software."""
    kind = given["global.Interface"]
    if kind == "none":
        drive.put("host.link_mb_s", 0.0, "global.Interface", how="0: no limit")
    elif kind == "nvme":
        lane, lanes = _LANE_MB_S[given["nvme.PCIEGeneration"]], given["nvme.PCIELane"]
        names = ["nvme.PCIEGeneration", "nvme.PCIELane", "global.Interface"]
        drive.put("host.link_mb_s", round(lane * lanes, 1), *names)
    elif kind == "sata":
        speed = _SATA_MB_S[given["sata.SATAMode"]]
        drive.put("host.link_mb_s", speed, "sata.SATAMode", "global.Interface")
    else:
        lane, lanes = _MPHY_MB_S[given["ufs.MPHYMode"]], given["ufs.MPHYLane"]
        names = ["ufs.MPHYMode", "ufs.MPHYLane", "global.Interface"]
        drive.put("host.link_mb_s", round(lane * lanes, 1), *names)
    submission, completion = "global.SubmissionLatency", "global.CompletionLatency"
    drive.put("host.link_latency_us", given[completion] / 1e6, completion)
    drive.put("host.submit_us", given[submission] / 1e6, submission)


def _put_chip(drive: DriveFile, given: Given) -> None:
    """Geometry, times and energy of the chip."""
    cell_bits = _CELL_BITS[given["pal.NANDType"]]
    drive.put("chip.cell_bits", cell_bits, "pal.NANDType")
    drive.put("chip.rated_pe_cycles", given["ftl.EraseThreshold"], "ftl.EraseThreshold")
    drive.put("chip.page_order", "all_bitline", how="pages follow each other, lower page first")
    for path, name in (
        ("planes_per_die", "Plane"),
        ("blocks_per_plane", "Block"),
        ("pages_per_block", "Page"),
        ("page_bytes", "PageSize"),
    ):
        drive.put(f"chip.geometry.{path}", given[f"pal.{name}"], f"pal.{name}")
    drive.put("chip.geometry.spare_bytes", 0, how="SimpleSSD has no spare area")
    for path, what in (("t_read_us", "Read"), ("t_program_us", "Write")):
        pages = [f"pal.{page}{what}" for page in _PAGES[cell_bits]]
        for name in pages:
            if given[name] == 0:
                kind = given["pal.NANDType"]
                raise given.refuse(name, f"is the time of a page of {kind}", "more than 0 ps")
        times = [given[name] / 1e6 for name in pages]
        drive.put(f"chip.timing.{path}", times[0] if len(set(times)) == 1 else times, *pages)
        for page in {"CSB", "MSB"} - set(_PAGES[cell_bits]):
            given.unmatch(f"pal.{page}{what}", f"{given['pal.NANDType']} has no such page")
    drive.put("chip.timing.t_erase_us", given["pal.Erase"] / 1e6, "pal.Erase")
    # SimpleSSD's mega is 2^20 here.
    rate = given["pal.DMASpeed"] * 2**20 / 1e6
    drive.put("chip.timing.bus_mt_s", round(rate, 4), "pal.DMASpeed", how="times 2^20 / 10^6")
    bits = int(given["pal.DMAWidth"])
    drive.put("chip.timing.bus_bits", bits, "pal.DMAWidth")
    cycles_us = round(_COMMAND_CYCLES / rate / (bits // 8), 6)
    drive.put("chip.timing.t_command_us", cycles_us, how=f"{_COMMAND_CYCLES} cycles of the bus")
    joins = given["pal.EnableMultiPlaneOperation"]
    drive.put("chip.features.multi_plane_program", joins, "pal.EnableMultiPlaneOperation")
    way = "same_page" if joins else "none"
    drive.put("chip.features.multi_plane_read", way, "pal.EnableMultiPlaneOperation")
    drive.put("chip.energy.vcc_v", given["pal.Voltage"] / 1000, "pal.Voltage")
    for path, name in (
        ("icc_read_ma", "ReadCurrent"),
        ("icc_program_ma", "ProgramCurrent"),
        ("icc_erase_ma", "EraseCurrent"),
        ("icc_bus_ma", "IdleCurrent"),
    ):
        drive.put(f"chip.energy.{path}", given[f"pal.{name}"] / 1000, f"pal.{name}")
    standby = float(given["pal.StandbyCurrent"])
    drive.put("chip.energy.icc_standby_ua", standby, "pal.StandbyCurrent")
    drive.put("chip.array.name", "ideal", how="SimpleSSD has no errors")


def _put_ftl(drive: DriveFile, given: Given) -> None:
    """Mapping, spare space and garbage collection."""
    page_bytes, blocks = given["pal.PageSize"], given["pal.Block"]
    drive.put("ftl.name", "page", "ftl.MappingMode")
    if given["ftl.EnableRandomIOTweak"]:
        drive.put("ftl.unit_bytes", page_bytes, "pal.PageSize", "ftl.EnableRandomIOTweak")
    else:
        drive.put("ftl.unit_bytes", page_bytes, "pal.PageSize")
        given.unmatch("ftl.EnableRandomIOTweak", "a unit is a page here, there a superpage")
    ratio = given["ftl.OverProvisioningRatio"]
    spare = round(1 / (1 - ratio) - 1, 4)
    drive.put("ftl.overprovisioning", spare, "ftl.OverProvisioningRatio", how="1 / (1 - ratio) - 1")
    letters = given["pal.SuperblockSize"].upper()
    if strange := set(letters) - set("CWDP"):
        raise given.refuse("pal.SuperblockSize", f"has `{min(strange)}`", "letters C, W, D, P")
    counts = {"C": given["pal.Channel"], "W": given["pal.Package"], "D": given["pal.Die"], "P": 1}
    dies = math.prod(counts[letter] for letter in set(letters))
    drive.put("ftl.superblock_dies", dies, "pal.SuperblockSize")
    reserve = 2
    drive.put("ftl.gc_reserve_blocks", reserve, how="SimpleSSD has none")
    drive.put("ftl.static_wear_delta", 0, how="SimpleSSD has no wear levelling of this kind")
    policy = given["ftl.EvictPolicy"]
    drive.put("gc.name", policy, "ftl.EvictPolicy")
    if policy == "d_choices":
        drawn = given["ftl.DChoiceParam"] * given["ftl.GCReclaimBlocks"]
        drive.put("gc.d", drawn, "ftl.DChoiceParam", "ftl.GCReclaimBlocks")
    start = max(reserve + 1, math.ceil(given["ftl.GCThreshold"] * blocks))
    drive.put("gc.start_free_blocks", start, "ftl.GCThreshold", "pal.Block")
    drive.put("scheduler.name", "in_order", how="commands of a die there are served as they come")
    drive.put("retry.name", "none")
    drive.put("ecc.model", "ideal")
    payload = min(4096, page_bytes)
    drive.put("ecc.payload_bytes", payload, "pal.PageSize", how="there are no codewords there")
    drive.put("ecc.parity_bytes", 0, how="as above")

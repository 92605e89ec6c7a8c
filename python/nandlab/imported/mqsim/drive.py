"""A drive of MQSim: its configuration as a drive file over the preset `mqsim_default`.

The preset has what MQSim's file does not say: times of commands, the mapping unit, codewords.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path

from nandlab.given.refusal import plain, refusal
from nandlab.imported.fitting import fitted
from nandlab.imported.given import Found, Given
from nandlab.imported.mqsim.keys import DEVICE, FLASH, HOST
from nandlab.imported.mqsim.scenarios import Scenarios, scenarios
from nandlab.imported.result import Imported
from nandlab.imported.written import DriveFile
from nandlab.imported.xml import Element, read_xml

CONFIG = "Execution_Parameter_Set"
WORKLOAD = "MQSim_IO_Scenarios"

_EXPECTED = f"MQSim's ssdconfig.xml, whose root is {CONFIG}"

_CELL_BITS = {"SLC": 1, "MLC": 2, "TLC": 3}
_PAGES = {1: ("LSB",), 2: ("LSB", "MSB"), 3: ("LSB", "CSB", "MSB")}

_POLICIES = {
    "GREEDY": "greedy",
    "RGA": "d_choices",
    "RANDOM": "random",
    "RANDOM_P": "random",
    "RANDOM_PP": "random",
    "FIFO": "fifo",
}

_NOTES = (
    "The mapping unit is 4 KiB, in MQSim a page: there a write of less than a page first reads the "
    "rest of it. `--set ftl.unit_bytes=N` with the bytes of a page does so here too.",
    "Of the dies of a chip MQSim lets only one work at a time, and on its channels data go before "
    "commands: `--set drive.dies_per_channel=N` with the number of chips, `--set "
    "drive.data_first=true`.",
)


def import_mqsim(
    config: str | PathLike[str],
    workload: str | PathLike[str] | None,
    folder: str | PathLike[str] | None,
) -> Imported:
    """Imports MQSim's configuration, and its workloads where they are given.

    Args:
        config: MQSim's ssdconfig.xml.
        workload: MQSim's workload.xml.
        folder: the folder of the new files, from which paths of traces lead.

    Raises:
        NandlabError: a file that is not MQSim's, an unknown value, or a drive that nandlab refuses.
    """
    file = Path(config).name
    root = read_root(config, CONFIG, _EXPECTED)
    if not any(one.name == "Device_Parameter_Set" for one in root.inner):
        raise refusal(f"{file}:{root.line}: {CONFIG}", "no Device_Parameter_Set", _EXPECTED)
    given = given_of(_leaves(root, file), file)
    drive = _drive(given, file)
    capacity_bytes = fitted(drive, "GC_Exec_Threshold")
    inputs, of_flows = [fspath(config)], Scenarios()
    if workload is not None:
        inputs.append(fspath(workload))
        expected = f"MQSim's workload.xml, whose root is {WORKLOAD}"
        flows = read_root(workload, WORKLOAD, expected)
        of_flows = scenarios(flows, Path(workload), given, capacity_bytes, folder)
    given.unmatch_rest()
    head = [
        f"The drive of MQSim's {plain(file)}, written by `nandlab import mqsim`. Comments name the "
        "keys that its numbers have there."
    ]
    return Imported(
        simulator="mqsim",
        inputs=inputs,
        files={"drive.toml": drive.text(head, given.unmatched), **of_flows.files},
        runs=of_flows.runs,
        moved=[*given.moved, *of_flows.moved],
        unmatched=[*given.unmatched, *of_flows.unmatched],
        notes=[*drive.notes, *of_flows.notes],
    )


def read_root(path: str | PathLike[str], name: str, expected: str) -> Element:
    """The root of a file; XML of another kind is refused by the name of its root."""
    root = read_xml(path, expected)
    if root.name == name:
        return root
    hints = {
        WORKLOAD: "this is a workload, which comes second",
        CONFIG: "this is a configuration, which comes first",
    }
    raise refusal(
        f"{Path(path).name}:{root.line}",
        f"its root is `{plain(root.name)}`",
        expected,
        hint=hints.get(root.name, ""),
    )


def _leaves(root: Element, file: str) -> Iterator[Found]:
    """The keys of a configuration; one that MQSim looks for in another part keeps its own."""
    parts = {"Host_Parameter_Set": HOST, "Device_Parameter_Set": DEVICE}
    parts["Flash_Parameter_Set"] = FLASH
    part_of = {key.name: part for part, keys in parts.items() for key in keys}
    waiting = [("", root)]
    while waiting:
        part, element = waiting.pop()
        for one in element.inner:
            if one.name in parts:
                waiting.append((one.name, one))
                continue
            is_elsewhere = part_of.get(one.name, part) != part
            yield found_of(one, f"{part}/{one.name}" if is_elsewhere else one.name, file)


def found_of(element: Element, name: str, file: str) -> Found:
    """An element as a key with its value."""
    text = element.text.strip()
    if element.inner:
        text = f"{text} <{element.inner[0].name}> ...".strip()
    return Found(name, text, file, element.line)


def given_of(leaves: Iterator[Found], file: str) -> Given:
    """The keys of a configuration, against those that MQSim knows."""
    found = sorted(leaves, key=lambda one: one.line)
    return Given((*HOST, *DEVICE, *FLASH), found, file)


def shape_of(given: Given) -> tuple[int, int, int, int]:
    """Channels, chips of each, dies of each, planes of each."""
    return (
        given["Flash_Channel_Count"],
        given["Chip_No_Per_Channel"],
        given["Die_No_Per_Chip"],
        given["Plane_No_Per_Die"],
    )


def _drive(given: Given, file: str) -> DriveFile:
    """The drive file."""
    channels, chips, dies, planes = shape_of(given)
    drive = DriveFile(given, notes=list(_NOTES))
    drive.put("drive_preset", "mqsim_default", how="for what MQSim's file does not say")
    summary = f"{channels} channels x {chips} chips x {dies} dies of {planes} planes"
    drive.put("summary", f"MQSim, {plain(file)}: {summary}")
    drive.put("seed", given["Seed"], "Seed")
    drive.put("drive.channels", channels, "Flash_Channel_Count")
    drive.put("drive.dies_per_channel", chips * dies, "Chip_No_Per_Channel", "Die_No_Per_Chip")
    if given["HostInterface_Type"] == "SATA":
        drive.put(
            "drive.queue_depth", given["IO_Queue_Depth"], "IO_Queue_Depth", "HostInterface_Type"
        )
        delay_us = given["SATA_Processing_Delay"] / 1000
        drive.put("host.link_latency_us", delay_us, "SATA_Processing_Delay")
    else:
        drive.put(
            "drive.queue_depth", given["Queue_Fetch_Size"], "Queue_Fetch_Size", "HostInterface_Type"
        )
    link = given["PCIe_Lane_Bandwidth"] * given["PCIe_Lane_Count"] * 1000
    drive.put("host.link_mb_s", round(link, 6), "PCIe_Lane_Bandwidth", "PCIe_Lane_Count")
    _put_flash(drive, given)
    _put_ftl(drive, given)
    _put_buffer(drive, given)
    return drive


def _put_flash(drive: DriveFile, given: Given) -> None:
    """Geometry and times of the chip."""
    cell_bits = _CELL_BITS[given["Flash_Technology"]]
    drive.put("chip.cell_bits", cell_bits, "Flash_Technology")
    drive.put("chip.rated_pe_cycles", given["Block_PE_Cycles_Limit"], "Block_PE_Cycles_Limit")
    for path, name in (
        ("planes_per_die", "Plane_No_Per_Die"),
        ("blocks_per_plane", "Block_No_Per_Plane"),
        ("pages_per_block", "Page_No_Per_Block"),
        ("page_bytes", "Page_Capacity"),
        ("spare_bytes", "Page_Metadat_Capacity"),
    ):
        drive.put(f"chip.geometry.{path}", given[name], name)
    page_bytes = given["Page_Capacity"]
    if page_bytes < 4096:
        drive.put("ftl.unit_bytes", page_bytes, "Page_Capacity")
        drive.put("ecc.payload_bytes", page_bytes, "Page_Capacity")
    longest_us = 0.0
    for path, what in (("t_read_us", "Read"), ("t_program_us", "Program")):
        names = [f"Page_{what}_Latency_{page}" for page in _PAGES[cell_bits]]
        times = [given[name] / 1000 for name in names]
        drive.put(f"chip.timing.{path}", times[0] if len(set(times)) == 1 else times, *names)
        longest_us = max(times)
        for page in {"CSB", "MSB"} - set(_PAGES[cell_bits]):
            why = f"{given['Flash_Technology']} has no such page"
            given.unmatch(f"Page_{what}_Latency_{page}", why)
    t_erase_us = given["Block_Erase_Latency"] / 1000
    drive.put("chip.timing.t_erase_us", t_erase_us, "Block_Erase_Latency")
    drive.put(
        "chip.timing.bus_mt_s", float(given["Channel_Transfer_Rate"]), "Channel_Transfer_Rate"
    )
    drive.put("chip.timing.bus_bits", 8 * given["Flash_Channel_Width"], "Flash_Channel_Width")
    support = given["CMD_Suspension_Support"]
    drive.put("chip.timing.suspends_max", int(support != "NONE"), "CMD_Suspension_Support")
    # A suspend that takes as long as the operation never pays, and so is off.
    for path, name, words, whole_us in (
        ("t_program_suspend_us", "Suspend_Program_Time", ("PROGRAM", "PROGRAM_ERASE"), longest_us),
        ("t_erase_suspend_us", "Suspend_Erase_Time", ("ERASE", "PROGRAM_ERASE"), t_erase_us),
    ):
        if support in words:
            drive.put(f"chip.timing.{path}", given[name] / 1000, name)
        else:
            how = "as long as the operation, which is never suspended"
            drive.put(f"chip.timing.{path}", whole_us, "CMD_Suspension_Support", how=how)


def _put_ftl(drive: DriveFile, given: Given) -> None:
    """Mapping, spare space and garbage collection."""
    blocks = given["Block_No_Per_Plane"]
    if given["Address_Mapping"] == "HYBRID":
        why = (
            "a stub in MQSim; this is a page map, and ftl.name = bast, fast and others are hybrids"
        )
        given.unmatch("Address_Mapping", why)
    if given["Ideal_Mapping_Table"]:
        drive.put("ftl.name", "page", "Address_Mapping", "Ideal_Mapping_Table")
    else:
        drive.put("ftl.name", "dftl", "Address_Mapping", "Ideal_Mapping_Table")
        drive.put(
            "ftl.map_cache_bytes", given["CMT_Capacity"], "CMT_Capacity", how="8 bytes an entry"
        )
    ratio = given["Overprovisioning_Ratio"]
    drive.put(
        "ftl.overprovisioning",
        round(1 / (1 - ratio) - 1, 4),
        "Overprovisioning_Ratio",
        how="1 / (1 - ratio) - 1",
    )
    reserve = max(1, int(given["GC_Hard_Threshold"] * blocks))
    drive.put("ftl.gc_reserve_blocks", reserve, "GC_Hard_Threshold", "Block_No_Per_Plane")
    levels = given["Static_Wearleveling_Enabled"]
    names = ["Static_Wearleveling_Enabled"] + ["Static_Wearleveling_Threshold"] * levels
    delta = given["Static_Wearleveling_Threshold"] if levels else 0
    drive.put("ftl.static_wear_delta", delta, *names)
    policy = given["GC_Block_Selection_Policy"]
    drive.put("gc.name", _POLICIES[policy], "GC_Block_Selection_Policy")
    if policy == "RGA":
        drive.put("gc.d", max(1, int(math.log2(blocks))), "Block_No_Per_Plane", how="its log2")
    elif policy in ("RANDOM_P", "RANDOM_PP"):
        given.unmatch("GC_Block_Selection_Policy", "its limits are not drawn: any full block")
    start = max(reserve + 1, int(given["GC_Exec_Threshold"] * blocks))
    drive.put("gc.start_free_blocks", start, "GC_Exec_Threshold", "Block_No_Per_Plane")
    # An FTL with a map cache moves data from plane to plane.
    copies = given["Use_Copyback_for_GC"] and given["Ideal_Mapping_Table"]
    if given["Use_Copyback_for_GC"] and not copies:
        given.unmatch("Use_Copyback_for_GC", "only with Ideal_Mapping_Table = true")
    else:
        drive.put("chip.features.copyback", copies, "Use_Copyback_for_GC")
        drive.put("gc.copyback", "unchecked" if copies else "off", "Use_Copyback_for_GC")
    reuse = "least_worn" if given["Dynamic_Wearleveling_Enabled"] else "fifo"
    drive.put("gc.reuse", reuse, "Dynamic_Wearleveling_Enabled")
    drive.put("scheduler.name", "out_of_order", "Transaction_Scheduling_Policy")
    if given["Transaction_Scheduling_Policy"] == "FLIN":
        given.unmatch(
            "Transaction_Scheduling_Policy", "out_of_order; MQSim does not build it either"
        )


def _put_buffer(drive: DriveFile, given: Given) -> None:
    """The write buffer: its size, and the time in which its DRAM moves 4 KiB."""
    drive.put("buffer.bytes", given["Data_Cache_Capacity"], "Data_Cache_Capacity")
    burst_bytes = given["Data_Cache_DRAM_Data_Busrt_Size"]
    row_bytes = given["Data_Cache_DRAM_Row_Size"]
    burst_ns = 1000 / given["Data_Cache_DRAM_Data_Rate"]
    first_ns = given["Data_Cache_DRAM_tRCD"] + given["Data_Cache_DRAM_tCL"]
    # Each row is opened once; two bursts of a double data rate go in the time of one.
    rows = math.ceil(4096 / row_bytes)
    time_ns = 4096 // burst_bytes // 2 * burst_ns + rows * first_ns
    drive.put(
        "buffer.latency_us",
        round(time_ns / 1000, 2),
        "Data_Cache_DRAM_Data_Rate",
        "Data_Cache_DRAM_Data_Busrt_Size",
        "Data_Cache_DRAM_Row_Size",
        "Data_Cache_DRAM_tRCD",
        "Data_Cache_DRAM_tCL",
        how="4 KiB",
    )

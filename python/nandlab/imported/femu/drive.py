"""A drive of FEMU's black-box mode as a drive file."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from nandlab.given.refusal import plain
from nandlab.imported.femu.keys import NAMES, ROSTER
from nandlab.imported.femu.script import options
from nandlab.imported.fitting import fitted
from nandlab.imported.given import Given
from nandlab.imported.result import Imported
from nandlab.imported.written import DriveFile

_FAST_MT_S = 100_000.0
"""The fastest bus: FEMU's channels take no time."""

_NOTES = (
    "FEMU runs in real time beside a guest, which has the workload: `nandlab new job FILE.fio` "
    "writes a job to begin with.",
    "FEMU opens, fills and collects one block of each die together; so does "
    "ftl.superblock_dies = 0, whose free blocks are those of all dies.",
)


def import_femu(file: str | PathLike[str]) -> Imported:
    """Imports the device of a script that starts FEMU.

    Args:
        file: the script.

    Raises:
        NandlabError: no device of FEMU, another mode than the black box, an unknown value, or a
            drive that nandlab refuses.
    """
    name = Path(file).name
    found, line = options(file, NAMES)
    given = Given(ROSTER, found, f"{name}:{line}")
    drive = DriveFile(given, notes=list(_NOTES))
    mode = given["femu_mode"]
    if "femu_mode" in given and mode != "black box":
        hint = "set femu_mode=1, or begin with a preset: `nandlab presets drive`"
        raise given.refuse("femu_mode", f"not supported: {mode}", "1 (black box)", hint=hint)
    if "femu_mode" not in given:
        drive.notes.append("femu_mode is left out: FEMU would have no flash; this is mode 1.")
    _put(drive, given, name)
    fitted(drive, "gc_thres_pcent_high")
    given.unmatch_rest()
    head = [
        f"The drive of FEMU's {plain(name)}, written by `nandlab import femu`. Comments name the "
        "options that its numbers have there."
    ]
    return Imported(
        simulator="femu",
        inputs=[fspath(file)],
        files={"drive.toml": drive.text(head, given.unmatched)},
        runs=[],
        moved=given.moved,
        unmatched=given.unmatched,
        notes=drive.notes,
    )


def _put(drive: DriveFile, given: Given, name: str) -> None:
    channels, dies = given["nchs"], given["luns_per_ch"]
    drive.put("summary", f"FEMU, {plain(name)}: {channels} channels x {dies} dies")
    drive.put("drive.channels", channels, "nchs")
    drive.put("drive.dies_per_channel", dies, "luns_per_ch")
    depth = min(65536, given["queues"] * (given["entries"] + 1))
    drive.put("drive.queue_depth", depth, "queues", "entries")
    capacity = given["devsz_mb"] << 20
    drive.put("drive.capacity", capacity, "devsz_mb", how="in MiB there")
    drive.put("host.link_mb_s", 0.0, how="0: no limit, as there")
    drive.put("chip.cell_bits", 1, how="pages have one time")
    drive.put("chip.rated_pe_cycles", 100_000, how="assumed: FEMU counts none")
    drive.put("chip.page_order", "all_bitline", how="of no effect with one bit a cell")
    drive.put("chip.geometry.planes_per_die", given["pls_per_lun"], "pls_per_lun")
    drive.put("chip.geometry.blocks_per_plane", given["blks_per_pl"], "blks_per_pl")
    drive.put("chip.geometry.pages_per_block", given["pgs_per_blk"], "pgs_per_blk")
    page_bytes = given["secsz"] * given["secs_per_pg"]
    drive.put("chip.geometry.page_bytes", page_bytes, "secsz", "secs_per_pg")
    drive.put("chip.geometry.spare_bytes", 0, how="FEMU has no spare area")
    for path, key in (
        ("t_read_us", "pg_rd_lat"),
        ("t_program_us", "pg_wr_lat"),
        ("t_erase_us", "blk_er_lat"),
    ):
        drive.put(f"chip.timing.{path}", given[key] / 1000, key)
    drive.put("chip.timing.bus_mt_s", _FAST_MT_S, how="FEMU's channels take no time")
    drive.put("chip.features.multi_plane_program", False, how="FEMU programs page by page")
    drive.put("chip.features.multi_plane_read", "none", how="and reads page by page")
    for key, value in (("vcc_v", 3.3), ("icc_read_ma", 25.0), ("icc_program_ma", 25.0)):
        drive.put(f"chip.energy.{key}", value, how="assumed: FEMU has no energy")
    drive.put("chip.energy.icc_erase_ma", 25.0, how="assumed: as above")
    drive.put("chip.array.name", "ideal", how="FEMU has no errors")
    drive.put("ftl.name", "page", "femu_mode")
    drive.put("ftl.unit_bytes", page_bytes, "secsz", "secs_per_pg")
    drive.put("ftl.superblock_dies", 0, how="a line of FEMU: a block of each die")
    drive.put("ftl.gc_reserve_blocks", 1, how="FEMU writes until no line is free")
    drive.put("ftl.static_wear_delta", 0, how="FEMU has no wear levelling")
    drive.put("gc.name", "greedy", how="the line with the fewest valid pages")
    blocks = given["blks_per_pl"]
    soft, hard = (
        blocks * (100 - given[key]) // 100 + 1 for key in ("gc_thres_pcent", "gc_thres_pcent_high")
    )
    drive.put(
        "gc.background_free_blocks", max(soft, 2), "gc_thres_pcent", "blks_per_pl", how="when idle"
    )
    drive.put("gc.start_free_blocks", max(hard, 2), "gc_thres_pcent_high", "blks_per_pl")
    drive.put("scheduler.name", "in_order", how="a die takes commands as they come")
    drive.put("retry.name", "none")
    drive.put("ecc.model", "ideal")
    payload = min(4096, page_bytes)
    how = "there are no codewords there"
    drive.put("ecc.payload_bytes", payload, "secsz", "secs_per_pg", how=how)
    drive.put("ecc.parity_bytes", 0, how="as above")
    drive.put("buffer.bytes", 0, how="FEMU has no write buffer")

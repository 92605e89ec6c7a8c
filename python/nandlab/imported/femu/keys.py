"""Options of FEMU's device, with their defaults (commit 68032f3), and what becomes of each.

Names, defaults and meanings: hw/femu/femu.c and run-blackbox.sh of FEMU, Li et al., FAST 2018.
"""

from __future__ import annotations

from nandlab.imported.form import Numbered, Text, Whole
from nandlab.imported.given import Key

_COUNT = Whole(1, 65536)
_NS = Whole(1, 10**12)
_PAGE = "chip.geometry.page_bytes, ftl.unit_bytes, ecc.payload_bytes"
_NO_HEAD = "identity of an NVMe controller, which changes no time"
_ZONES = "only with femu_mode = 3"
_CHANNELS = "only with femu_mode = 0"

ROSTER = (
    Key(
        "femu_mode",
        Numbered({0: "open channel", 1: "black box", 2: "no flash", 3: "zones"}),
        "2",
        "ftl.name",
        "only 1 is read; presets with zones: `nandlab presets drive`",
    ),
    Key("devsz_mb", Whole(1, 2**40), "1024", "drive.capacity", "MiB"),
    Key("secsz", Whole(512, 4096), "512", _PAGE, "times secs_per_pg"),
    Key("secs_per_pg", Whole(1, 65536), "8", _PAGE, "times secsz"),
    Key("pgs_per_blk", Whole(1, 2**31), "256", "chip.geometry.pages_per_block"),
    Key(
        "blks_per_pl",
        Whole(1, 2**31),
        "256",
        "chip.geometry.blocks_per_plane, gc.background_free_blocks, gc.start_free_blocks",
    ),
    Key("pls_per_lun", _COUNT, "1", "chip.geometry.planes_per_die"),
    Key("luns_per_ch", _COUNT, "8", "drive.dies_per_channel"),
    Key("nchs", _COUNT, "8", "drive.channels"),
    Key("pg_rd_lat", _NS, "40000", "chip.timing.t_read_us", "ns"),
    Key("pg_wr_lat", _NS, "200000", "chip.timing.t_program_us", "ns"),
    Key("blk_er_lat", _NS, "2000000", "chip.timing.t_erase_us", "ns"),
    Key(
        "ch_xfer_lat",
        Whole(0, 10**12),
        "0",
        "",
        "FEMU reads it, and does not use it; chip.timing.bus_mt_s is the rate of a channel",
    ),
    Key(
        "gc_thres_pcent",
        Whole(0, 100),
        "75",
        "gc.background_free_blocks",
        "(100 - percent) of blks_per_pl, and one more",
    ),
    Key(
        "gc_thres_pcent_high",
        Whole(0, 100),
        "95",
        "gc.start_free_blocks",
        "(100 - percent) of blks_per_pl, and one more",
    ),
    Key("queues", Whole(1, 65535), "8", "drive.queue_depth", "times entries + 1"),
    Key("entries", Whole(1, 65535), "2047", "drive.queue_depth", "times queues"),
    Key(
        "namespaces",
        Whole(1, 256),
        "1",
        "",
        "`namespace`: jobs and NVMe hosts name theirs",
    ),
    *(
        Key(name, Text(), "", "", _NO_HEAD)
        for name in (
            *(
                "serial",
                "id",
                "max_cqes",
                "max_sqes",
                "stride",
                "aerl",
                "acl",
                "elpe",
                "cqr",
                "vwc",
            ),
            *("intc", "intc_thresh", "intc_time", "mpsmin", "mpsmax", "nlbaf", "lba_index"),
            *("extended", "dpc", "dps", "mc", "ms", "ms_max", "meta", "cmbsz", "cmbloc", "oacs"),
            *("oncs", "vid", "did", "dlfeat"),
        )
    ),
    Key("mdts", Text(), "10", "", "requests of any length are taken"),
    Key("multipoller_enabled", Text(), "0", "", "threads of the emulator"),
    Key("flash_type", Text(), "", "", "black-box mode has one time for all pages"),
    *(
        Key(name, Text(), "", "", _CHANNELS)
        for name in (
            *("lver", "lsec_size", "lsecs_per_pg", "lpgs_per_blk", "lmax_sec_per_rq", "lnum_ch"),
            *("lnum_lun", "lnum_pln", "lmetasize"),
        )
    ),
    *(
        Key(name, Text(), "", "", _ZONES)
        for name in ("zns_num_ch", "zns_num_lun", "zns_read", "zns_write")
    ),
)
"""All options."""

NAMES = frozenset(
    (
        *(
            "secsz",
            "secs_per_pg",
            "pgs_per_blk",
            "blks_per_pl",
            "pls_per_lun",
            "luns_per_ch",
            "nchs",
        ),
        *("pg_rd_lat", "pg_wr_lat", "blk_er_lat", "ch_xfer_lat"),
        *("gc_thres_pcent", "gc_thres_pcent_high", "devsz_mb"),
    )
)
"""Options of the flash, which scripts have as variables of the same name."""

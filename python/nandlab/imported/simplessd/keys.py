"""Keys of SimpleSSD 2.0 and SimpleSSD-Standalone, with their defaults, and what becomes of each.

Names, defaults and meanings: their sample files and sources (commits 2be3716 and 8255367), Jung et
al., IEEE CAL 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

from nandlab.imported.form import Choice, Flag, Numbered, Real, Text, Whole
from nandlab.imported.given import Key


@dataclass(frozen=True)
class Suffixed:
    """A whole number with a suffix, or nothing: 4K, 10m; 5us."""

    factors: tuple[tuple[str, int], ...]
    what: str

    def read(self, text: str) -> int | None:
        """The number; 0 for an empty text."""
        if not text:
            return 0
        digits = text.rstrip("".join({letter for name, _ in self.factors for letter in name}))
        number = Whole().read(digits)
        factor = dict(self.factors).get(text[len(digits) :])
        if number is None or factor is None or number * factor >= 2**63:
            return None
        return number * factor

    @property
    def allowed(self) -> str:
        """The suffixes."""
        return f"{self.what}, or with {', '.join(name for name, _ in self.factors if name)}"


SIZE = Suffixed(
    (
        ("", 1),
        *((letter, 1000 ** (at + 1)) for at, letter in enumerate("kmgt")),
        *((letter, 1024 ** (at + 1)) for at, letter in enumerate("KMGT")),
    ),
    "a whole number",
)
TIME = Suffixed(
    (("", 1), ("ps", 1), ("ns", 10**3), ("us", 10**6), ("ms", 10**9), ("s", 10**12)),
    "picoseconds",
)
_FLAG = Flag((("0", "false", "f", "no", "n"), ("1", "true", "t", "yes", "y")))
_COUNT = Whole(1, 65536)
_PICOSECONDS = Whole(0, 10**15)
_WIDTHS = {0: "32", 1: "64", 2: "128", 3: "256", 4: "512", 5: "1024"}
_LANES = Whole(1, 64)

_NO_BUS = "the bus inside of the controller is not modelled"
_NO_LOOP = "the controller takes commands as they come; controller.command_us is its time for one"
_NO_WEIGHTS = "not imported; host.weight_high and its like weigh classes of queues"
_NO_IMAGE = "`nandlab nbd --store` keeps contents"
_NO_CORES = "instructions are not counted; controller.command_us and controller.cores are"
_NO_READS = "not taken over: `read_cache` of the drive is set by hand"
_NO_DRAM = "the DRAM is not modelled; buffer.latency_us is its time for a request"


def _host(section: str, *keys: Key) -> tuple[Key, ...]:
    """Keys of a host interface: those of its link, and those that all have."""
    shared = (
        Key("AXIBusWidth", Numbered(_WIDTHS), "2", "", _NO_BUS),
        Key("AXIClock", Whole(1), "250000000", "", _NO_BUS),
        Key("WorkInterval", _PICOSECONDS, "50000", "", _NO_LOOP),
        Key("MaxRequestCount", Whole(1), "4", "", _NO_LOOP),
        Key("LBASize", Whole(512, 2**20), "512", "", "requests are multiples of 512 bytes"),
        Key("EnableDiskImage", _FLAG, "0", "", _NO_IMAGE),
        Key("StrictSizeCheck", _FLAG, "0", "", _NO_IMAGE),
        Key("DiskImageFile", Text(), "", "", _NO_IMAGE),
        Key("UseCopyOnWriteDisk", _FLAG, "0", "", _NO_IMAGE),
    )
    return tuple(key._replace(name=f"{section}.{key.name}") for key in (*keys, *shared))


_OF_NVME, _OF_SATA, _OF_UFS = (f"only with global.Interface = {number}" for number in (1, 2, 3))

_PCIE = (
    Key(
        "PCIEGeneration",
        Numbered({0: "Gen1", 1: "Gen2", 2: "Gen3"}),
        "2",
        "host.link_mb_s",
        _OF_NVME,
    ),
    Key("PCIELane", _LANES, "4", "host.link_mb_s", _OF_NVME),
)

_CPU = tuple(
    Key(f"cpu.{name}", Whole(0), default, "", _NO_CORES)
    for name, default in (
        ("ClockSpeed", "400000000"),
        ("HILCoreCount", "1"),
        ("ICLCoreCount", "1"),
        ("FTLCoreCount", "1"),
    )
)

_NVME = _host(
    "nvme",
    *_PCIE,
    Key("FIFOTransferUnit", Whole(1), "4096", "", _NO_BUS),
    Key("MaxIOCQueue", _COUNT, "16", "", "each job has a queue"),
    Key("MaxIOSQueue", _COUNT, "16", "", "each job has a queue"),
    Key("WRRHigh", Whole(0, 65535), "2", "", _NO_WEIGHTS),
    Key("WRRMedium", Whole(0, 65535), "2", "", _NO_WEIGHTS),
    Key("DefaultNamespace", Whole(0, 65535), "1", "", "a drive has one namespace"),
    *(Key(f"DiskImageFile{number}", Text(), "", "", _NO_IMAGE) for number in range(1, 5)),
)
_SATA = _host(
    "sata",
    *(key._replace(becomes="", how="the link is that of SATA") for key in _PCIE),
    Key(
        "SATAMode",
        Numbered({0: "1.5 Gb/s", 1: "3 Gb/s", 2: "6 Gb/s"}),
        "2",
        "host.link_mb_s",
        _OF_SATA,
    ),
)
_UFS = _host(
    "ufs",
    Key(
        "MPHYMode",
        Numbered({0: "HS-G1", 1: "HS-G2", 2: "HS-G3", 3: "HS-G4"}),
        "2",
        "host.link_mb_s",
        _OF_UFS,
    ),
    Key("MPHYLane", _LANES, "2", "host.link_mb_s", _OF_UFS),
)

_PAL = tuple(
    key._replace(name=f"pal.{key.name}")
    for key in (
        Key("Channel", _COUNT, "8", "drive.channels"),
        Key("Package", _COUNT, "4", "drive.dies_per_channel", "times Die"),
        Key("Die", _COUNT, "2", "drive.dies_per_channel", "times Package"),
        Key("Plane", _COUNT, "1", "chip.geometry.planes_per_die"),
        Key(
            "Block", Whole(1, 2**31), "512", "chip.geometry.blocks_per_plane, gc.start_free_blocks"
        ),
        Key("Page", Whole(1, 2**31), "512", "chip.geometry.pages_per_block"),
        Key(
            "PageSize",
            Whole(512, 2**31),
            "16384",
            "chip.geometry.page_bytes, ftl.unit_bytes, ecc.payload_bytes",
            "codewords: up to 4 KiB",
        ),
        Key(
            "EnableMultiPlaneOperation",
            _FLAG,
            "1",
            "chip.features.multi_plane_program, chip.features.multi_plane_read",
        ),
        Key("NANDType", Numbered({0: "SLC", 1: "MLC", 2: "TLC"}), "1", "chip.cell_bits"),
        *(
            Key(f"{page}{what}", _PICOSECONDS, default, f"chip.timing.{path}", "picoseconds")
            for page, what, path, default in (
                ("LSB", "Read", "t_read_us", "40000000"),
                ("CSB", "Read", "t_read_us", "0"),
                ("MSB", "Read", "t_read_us", "65000000"),
                ("LSB", "Write", "t_program_us", "500000000"),
                ("CSB", "Write", "t_program_us", "0"),
                ("MSB", "Write", "t_program_us", "1300000000"),
            )
        ),
        Key("Erase", _PICOSECONDS, "3500000000", "chip.timing.t_erase_us", "picoseconds"),
        Key("DMASpeed", Whole(1, 90000), "400", "chip.timing.bus_mt_s", "times 2^20 / 10^6"),
        Key("DMAWidth", Choice(("8", "16")), "8", "chip.timing.bus_bits"),
        Key(
            "SuperblockSize",
            Text(),
            "",
            "ftl.superblock_dies",
            "the product of the counts of its letters C, W, D; P is always joined",
        ),
        Key("PageAllocation", Text(), "CWDP", "", "the FTL spreads data over dies itself"),
        Key("Voltage", Whole(1), "3300", "chip.energy.vcc_v", "mV"),
        Key("ReadCurrent", Whole(0), "25000", "chip.energy.icc_read_ma", "uA"),
        Key("ProgramCurrent", Whole(0), "25000", "chip.energy.icc_program_ma", "uA"),
        Key("EraseCurrent", Whole(0), "25000", "chip.energy.icc_erase_ma", "uA"),
        Key("IdleCurrent", Whole(0), "5000", "chip.energy.icc_bus_ma", "uA"),
        Key("StandbyCurrent", Whole(0), "10", "chip.energy.icc_standby_ua", "uA"),
    )
)

_SHARE = Real(0, 1, is_open=True)
_FILLED = "the states of a drive are empty, full and steady"

_FTL = tuple(
    key._replace(name=f"ftl.{key.name}")
    for key in (
        Key("MappingMode", Numbered({0: "page level"}), "0", "ftl.name"),
        Key("OverProvisioningRatio", _SHARE, "0.25", "ftl.overprovisioning", "1 / (1 - ratio) - 1"),
        Key("EraseThreshold", Whole(1, 2**31), "100000", "chip.rated_pe_cycles"),
        Key(
            "FillingMode",
            Numbered({0: "in order", 1: "overwritten at random", 2: "at random"}),
            "0",
            "run.precondition",
            _FILLED,
        ),
        Key("FillRatio", Real(0, 1), "0", "run.precondition", "0: none, above: fill"),
        Key("InvalidPageRatio", Real(0, 1), "0", "run.precondition", "above 0: steady"),
        Key(
            "EvictPolicy",
            Numbered({0: "greedy", 1: "cost_benefit", 2: "random", 3: "d_choices"}),
            "0",
            "gc.name",
        ),
        Key(
            "DChoiceParam",
            Whole(1, 2**31),
            "3",
            "gc.d",
            "times GCReclaimBlocks; only with EvictPolicy = 3",
        ),
        Key("GCThreshold", _SHARE, "0.05", "gc.start_free_blocks", "times Block"),
        Key(
            "GCMode",
            Numbered({0: "n blocks", 1: "until a threshold"}),
            "0",
            "",
            "collection ends as soon as a plane has its free blocks again",
        ),
        Key(
            "GCReclaimBlocks",
            Whole(1),
            "1",
            "gc.d",
            "only with EvictPolicy = 3, times DChoiceParam",
        ),
        Key(
            "GCReclaimThreshold",
            _SHARE,
            "0.1",
            "",
            "collection ends as soon as a plane has its free blocks again",
        ),
        Key("EnableRandomIOTweak", _FLAG, "1", "ftl.unit_bytes", "0: a unit there is a superpage"),
    )
)

_ICL = tuple(
    key._replace(name=f"icl.{key.name}")
    for key in (
        Key("CacheSize", Whole(1), "33554432", "buffer.bytes", "only with EnableWriteCache = 1"),
        Key("CacheWaySize", Whole(0), "1", "", "the write buffer takes any data"),
        Key("EnableReadCache", _FLAG, "0", "", _NO_READS),
        Key("EnableReadPrefetch", _FLAG, "0", "", _NO_READS),
        Key("ReadPrefetchMode", Numbered({0: "superpage", 1: "all"}), "1", "", _NO_READS),
        Key("ReadPrefetchCount", Whole(1), "1", "", _NO_READS),
        Key("ReadPrefetchRatio", Real(is_open=True), "0.5", "", _NO_READS),
        Key("EnableWriteCache", _FLAG, "1", "buffer.bytes"),
        Key(
            "EvictPolicy",
            Numbered({0: "random", 1: "fifo", 2: "lru"}),
            "2",
            "",
            "the write buffer is a queue",
        ),
        Key(
            "EvictMode", Numbered({0: "superpage", 1: "all"}), "1", "", "rows are programmed whole"
        ),
        Key("CacheLatency", Whole(0), "10", "", "picoseconds; too few to matter"),
    )
)

_DRAM_NAMES = (
    *("Model", "Channel", "Rank", "Bank", "Chip", "BusWidth", "BurstLength", "ChipSize"),
    *("PageSize", "tCK", "tRCD", "tCL", "tRP", "tRAS", "tWR", "tRTP", "tBURST", "tCCD_L", "tRFC"),
    *("tREFI", "tWTR", "tRTW", "tCS", "tRRD", "tRRD_L", "tXAW", "tXP", "tXPDLL", "tXS", "tXSDLL"),
    *(f"IDD{name}_{part}" for name in ("0", "2P0", "2P1", "2N", "3P0", "3P1") for part in "01"),
    *(
        f"{name}_{part}"
        for name in ("IDD3N", "IDD4R", "IDD4W", "IDD5", "IDD6", "VDD")
        for part in "01"
    ),
)
_DRAM = tuple(Key(f"dram.{name}", Text(), "", "", _NO_DRAM) for name in _DRAM_NAMES)

_NO_LOG = "`nandlab run` has outputs of its own"

_GLOBAL = tuple(
    key._replace(name=f"global.{key.name}")
    for key in (
        Key("Mode", Numbered({0: "generator", 1: "trace"}), "0", "run.workload, run.trace"),
        Key("LogPeriod", Text(), "", "", _NO_LOG),
        Key("LogFile", Text(), "", "", _NO_LOG),
        Key("DebugLogFile", Text(), "", "", _NO_LOG),
        Key("LatencyLogFile", Text(), "", "", _NO_LOG),
        Key("ProgressPeriod", Text(), "", "", _NO_LOG),
        Key(
            "Interface",
            Numbered({0: "none", 1: "nvme", 2: "sata", 3: "ufs"}),
            "1",
            "host.link_mb_s",
        ),
        Key("Scheduler", Numbered({0: "noop"}), "0", "", "hosts do not sort requests"),
        Key("SubmissionLatency", TIME, "0", "host.submit_us"),
        Key("CompletionLatency", TIME, "0", "host.link_latency_us"),
    )
)

_GENERATOR = tuple(
    key._replace(name=f"generator.{key.name}")
    for key in (
        Key("io_size", SIZE, "0", "io_size", "only with time_based = 0"),
        Key(
            "readwrite",
            Choice(("read", "write", "randread", "randwrite", "readwrite", "randrw")),
            "read",
            "rw, norandommap",
        ),
        Key("rwmixread", Real(0, 1), "0", "rwmixread", "only of readwrite and randrw"),
        Key("blocksize", SIZE, None, "bs"),
        Key("blockalign", SIZE, "", "blockalign, bs", "empty: blocksize"),
        Key("iomode", Choice(("sync", "async")), "sync", "iodepth", "sync: 1"),
        Key("iodepth", SIZE, "1", "iodepth", "only with iomode = async"),
        Key("offset", SIZE, "0", "offset"),
        Key("size", SIZE, "", "size", "empty: to the end of the drive"),
        Key("thinktime", TIME, "0", "", "SimpleSSD reads it, and does not use it"),
        Key("randseed", SIZE, "0", "randseed"),
        Key("time_based", _FLAG, "0", "time_based, io_size"),
        Key("runtime", TIME, "0", "runtime", "only with time_based = 1"),
    )
)

_TRACE = tuple(
    key._replace(name=f"trace.{key.name}")
    for key in (
        Key("File", Text(), None, "run.trace", "from the folder of its file"),
        Key(
            "TimingMode",
            Numbered({0: "one by one", 1: "queue depth", 2: "times of the trace"}),
            "0",
            "run.iodepth, run.trace",
        ),
        Key("QueueDepth", Whole(1, 65535), "1", "run.iodepth", "only with TimingMode = 1"),
        Key(
            "IOLimit",
            Text(),
            "",
            "",
            "the whole trace is sent; a part of it is a file of its own",
        ),
        Key(
            "Regex",
            Text(),
            "",
            "run.format, run.action",
            "only of blkparse; other traces have formats, not expressions: docs/formats/traces.md",
        ),
        *(
            Key(name, Text(), "", "", "the format says where fields are")
            for name in (
                *("Operation", "ByteOffset", "ByteLength", "LBAOffset", "LBALength", "Second"),
                *("Millisecond", "Microsecond", "Nanosecond", "Picosecond", "UseHexadecimal"),
            )
        ),
        Key("LBASize", Whole(1, 2**20), "512", "", "the format says it"),
    )
)

ROSTERS = {
    "cpu": _CPU,
    "nvme": _NVME,
    "sata": _SATA,
    "ufs": _UFS,
    "pal": _PAL,
    "ftl": _FTL,
    "icl": _ICL,
    "dram": _DRAM,
    "global": _GLOBAL,
    "generator": _GENERATOR,
    "trace": _TRACE,
}
"""Keys by section; names have the section before them."""

ROSTER = tuple(key for keys in ROSTERS.values() for key in keys)
"""All keys."""

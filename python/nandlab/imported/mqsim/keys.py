"""Keys of MQSim's files, with their defaults (commit 7ec40e3), and what becomes of each.

Names, defaults and meanings: MQSim's README and source, Tavakkol et al., FAST 2018.
"""

from __future__ import annotations

from itertools import permutations

from nandlab.imported.form import Choice, Flag, Numbers, Real, Text, Whole
from nandlab.imported.given import Key

_COUNT = Whole(1, 65536)
_TIME = Whole(0, 10**15)
_DRAM = "with those of the DRAM: moves 4 KiB"

HOST = (
    Key("PCIe_Lane_Bandwidth", Real(is_open=True), "0.4", "host.link_mb_s", "GB/s, times lanes"),
    Key("PCIe_Lane_Count", _COUNT, "4", "host.link_mb_s"),
    Key(
        "SATA_Processing_Delay",
        _TIME,
        "0",
        "host.link_latency_us",
        "ns; only with HostInterface_Type = SATA",
    ),
    Key("Enable_ResponseTime_Logging", Flag(), "false", "", "`nandlab run --requests` keeps times"),
    Key(
        "ResponseTime_Logging_Period_Length",
        _TIME,
        "400000",
        "",
        "`nandlab run --series` has times over time",
    ),
)
"""Keys of `Host_Parameter_Set`."""

DEVICE = (
    Key("Seed", Whole(0, 2**31 - 1), "123", "seed"),
    Key("Enabled_Preconditioning", Flag(), "true", "run.precondition", "only with a workload"),
    Key("Memory_Type", Choice(("FLASH",)), "FLASH", "", "all drives are flash"),
    Key("HostInterface_Type", Choice(("NVME", "SATA")), "NVME", "drive.queue_depth", ""),
    Key(
        "IO_Queue_Depth",
        Whole(1, 65535),
        "1024",
        "drive.queue_depth, iodepth",
        "only of SATA, or with BANDWIDTH, as iodepth",
    ),
    Key(
        "Queue_Fetch_Size",
        Whole(1, 65535),
        "512",
        "drive.queue_depth",
        "only with HostInterface_Type = NVME",
    ),
    Key(
        "Caching_Mechanism",
        Choice(("SIMPLE", "ADVANCED")),
        "ADVANCED",
        "",
        "there is one write buffer; `read_cache` of the drive is set by hand",
    ),
    Key(
        "Data_Cache_Sharing_Mode",
        Choice(("SHARED", "EQUAL_PARTITIONING")),
        "SHARED",
        "",
        "all jobs share the write buffer",
    ),
    Key("Data_Cache_Capacity", Whole(0), "536870912", "buffer.bytes"),
    Key("Data_Cache_DRAM_Row_Size", Whole(1), "8192", "buffer.latency_us", _DRAM),
    Key("Data_Cache_DRAM_Data_Rate", Whole(1, 10**6), "800", "buffer.latency_us", _DRAM),
    Key("Data_Cache_DRAM_Data_Busrt_Size", Whole(1), "4", "buffer.latency_us", _DRAM),
    Key("Data_Cache_DRAM_tRCD", _TIME, "13", "buffer.latency_us", _DRAM),
    Key("Data_Cache_DRAM_tCL", _TIME, "13", "buffer.latency_us", _DRAM),
    Key("Data_Cache_DRAM_tRP", _TIME, "13", "", "rows of the DRAM are not modelled"),
    Key(
        "Address_Mapping",
        Choice(("PAGE_LEVEL", "HYBRID")),
        "PAGE_LEVEL",
        "ftl.name",
        "HYBRID is a stub there; ftl.name = bast, fast and others are hybrids",
    ),
    Key("Ideal_Mapping_Table", Flag(), "false", "ftl.name", "true: page, false: dftl"),
    Key(
        "CMT_Capacity",
        Whole(1),
        "2097152",
        "ftl.map_cache_bytes",
        "only with Ideal_Mapping_Table = false",
    ),
    Key(
        "CMT_Sharing_Mode",
        Choice(("SHARED", "EQUAL_PARTITIONING")),
        "SHARED",
        "",
        "all jobs share the map cache",
    ),
    Key(
        "Plane_Allocation_Scheme",
        Choice(tuple(sorted("".join(each) for each in permutations("CDPW")))),
        "CWDP",
        "",
        "the FTL spreads data over dies itself",
    ),
    Key(
        "Transaction_Scheduling_Policy",
        Choice(("OUT_OF_ORDER", "PRIORITY_OUT_OF_ORDER", "FLIN")),
        "OUT_OF_ORDER",
        "scheduler.name",
        "FLIN, which MQSim does not build either, becomes out_of_order",
    ),
    Key(
        "Overprovisioning_Ratio",
        Real(0, 1, is_open=True),
        "0.07",
        "ftl.overprovisioning",
        "1 / (1 - ratio) - 1, to four decimals",
    ),
    Key(
        "GC_Exec_Threshold",
        Real(0, 1, is_open=True),
        "0.05",
        "gc.start_free_blocks",
        "times Block_No_Per_Plane",
    ),
    Key(
        "GC_Block_Selection_Policy",
        Choice(("GREEDY", "RGA", "RANDOM", "RANDOM_P", "RANDOM_PP", "FIFO")),
        "RGA",
        "gc.name",
        "RGA: d_choices with d = log2 of Block_No_Per_Plane",
    ),
    Key(
        "Use_Copyback_for_GC",
        Flag(),
        "false",
        "gc.copyback, chip.features.copyback",
        "only with Ideal_Mapping_Table = true",
    ),
    Key(
        "Preemptible_GC_Enabled",
        Flag(),
        "true",
        "",
        "commands of the host always go before those of collection",
    ),
    Key(
        "GC_Hard_Threshold",
        Real(0, 1, is_open=True),
        "0.005",
        "ftl.gc_reserve_blocks",
        "times Block_No_Per_Plane",
    ),
    Key(
        "Dynamic_Wearleveling_Enabled",
        Flag(),
        "true",
        "gc.reuse",
        "true: least_worn, false: fifo",
    ),
    Key("Static_Wearleveling_Enabled", Flag(), "true", "ftl.static_wear_delta", "false: 0"),
    Key(
        "Static_Wearleveling_Threshold",
        Whole(1, 2**32 - 1),
        "100",
        "ftl.static_wear_delta",
        "only with Static_Wearleveling_Enabled = true",
    ),
    *(
        Key(name, _TIME, default, "", "a suspend begins as soon as a read arrives")
        for name, default in (
            ("Prefered_suspend_erase_time_for_read", "700000"),
            ("Preferred_suspend_erase_time_for_write", "700000"),
            ("Preferred_suspend_write_time_for_read", "100000"),
        )
    ),
    Key(
        "Preferred_suspend_erase_time_for_read",
        _TIME,
        "700000",
        "",
        "a suspend begins as soon as a read arrives (MQSim reads it as `Prefered_...`)",
    ),
    Key("Flash_Channel_Count", _COUNT, "8", "drive.channels"),
    Key("Flash_Channel_Width", Whole(1, 16), "1", "chip.timing.bus_bits", "bytes, times 8"),
    Key("Channel_Transfer_Rate", Whole(1, 100000), "300", "chip.timing.bus_mt_s"),
    Key(
        "Chip_No_Per_Channel",
        _COUNT,
        "4",
        "drive.dies_per_channel",
        "times Die_No_Per_Chip",
    ),
    Key("Flash_Comm_Protocol", Choice(("NVDDR2",)), "NVDDR2", "", "the only one there"),
)
"""Keys of `Device_Parameter_Set`."""

_LATENCY = "ns; CSB only of TLC, MSB not of SLC; one number where all times are equal"

FLASH = (
    Key("Flash_Technology", Choice(("SLC", "MLC", "TLC")), "MLC", "chip.cell_bits"),
    Key(
        "CMD_Suspension_Support",
        Choice(("NONE", "ERASE", "PROGRAM", "PROGRAM_ERASE")),
        "ERASE",
        "chip.timing.suspends_max, chip.timing.t_program_suspend_us, "
        "chip.timing.t_erase_suspend_us",
        "what is not suspended takes as long as the operation",
    ),
    *(
        Key(
            f"Page_{what}_Latency_{page}",
            Whole(1, 10**12),
            default,
            f"chip.timing.{path}",
            _LATENCY,
        )
        for what, path, default in (
            ("Read", "t_read_us", "75000"),
            ("Program", "t_program_us", "750000"),
        )
        for page in ("LSB", "CSB", "MSB")
    ),
    Key("Block_Erase_Latency", Whole(1, 10**12), "3800000", "chip.timing.t_erase_us", "ns"),
    Key("Block_PE_Cycles_Limit", Whole(1, 2**31), "10000", "chip.rated_pe_cycles"),
    Key(
        "Suspend_Erase_Time",
        _TIME,
        "700000",
        "chip.timing.t_erase_suspend_us",
        "ns; only if CMD_Suspension_Support has ERASE",
    ),
    Key(
        "Suspend_Program_Time",
        _TIME,
        "100000",
        "chip.timing.t_program_suspend_us",
        "ns; only if CMD_Suspension_Support has PROGRAM",
    ),
    Key("Die_No_Per_Chip", _COUNT, "2", "drive.dies_per_channel", "times Chip_No_Per_Channel"),
    Key("Plane_No_Per_Die", _COUNT, "2", "chip.geometry.planes_per_die"),
    Key(
        "Block_No_Per_Plane",
        Whole(1, 2**31),
        "2048",
        "chip.geometry.blocks_per_plane, gc.start_free_blocks, ftl.gc_reserve_blocks, gc.d",
    ),
    Key("Page_No_Per_Block", Whole(1, 2**31), "256", "chip.geometry.pages_per_block"),
    Key(
        "Page_Capacity",
        Whole(512, 2**31),
        "8192",
        "chip.geometry.page_bytes, ftl.unit_bytes, ecc.payload_bytes",
        "units and codewords: up to 4 KiB",
    ),
    Key("Page_Metadat_Capacity", Whole(0, 2**31), "1872", "chip.geometry.spare_bytes"),
)
"""Keys of `Flash_Parameter_Set`."""

_PARTITION = "all jobs use all dies; the share of the addresses is that of the planes"

FLOW = (
    Key(
        "Priority_Class",
        Choice(("URGENT", "HIGH", "MEDIUM", "LOW")),
        "HIGH",
        "",
        "not imported; host.jobs.NAME.priority sets the class of a queue",
    ),
    Key(
        "Device_Level_Data_Caching_Mode",
        Choice(("WRITE_CACHE", "READ_CACHE", "WRITE_READ_CACHE", "TURNED_OFF")),
        None,
        "buffer.bytes",
        "0 if no flow of the scenario caches writes; reads are not cached",
    ),
    Key("Channel_IDs", Numbers(), None, "offset, size", _PARTITION),
    Key("Chip_IDs", Numbers(), None, "offset, size", _PARTITION),
    Key("Die_IDs", Numbers(), None, "offset, size", _PARTITION),
    Key("Plane_IDs", Numbers(), None, "offset, size", _PARTITION),
    Key(
        "Initial_Occupancy_Percentage",
        Whole(0, 100),
        "0",
        "",
        "preconditioning fills the whole drive",
    ),
)
"""Keys of every flow."""

SYNTHETIC = (
    *FLOW,
    Key("Working_Set_Percentage", Whole(1, 100), None, "size"),
    Key("Synthetic_Generator_Type", Choice(("BANDWIDTH", "QUEUE_DEPTH")), None, "iodepth, rate"),
    Key("Read_Percentage", Whole(0, 100), None, "rw, rwmixread"),
    Key(
        "Address_Distribution",
        Choice(("STREAMING", "RANDOM_HOTCOLD", "RANDOM_UNIFORM")),
        None,
        "rw, random_distribution, norandommap",
    ),
    Key(
        "Percentage_of_Hot_Region",
        Whole(0, 100),
        "0",
        "random_distribution",
        "only of RANDOM_HOTCOLD",
    ),
    Key(
        "Generated_Aligned_Addresses", Flag(), "false", "blockalign, rw", "STREAMING: a hole of rw"
    ),
    Key(
        "Address_Alignment_Unit",
        Whole(1, 2**22),
        "1",
        "blockalign, rw",
        "only with Generated_Aligned_Addresses",
    ),
    Key("Request_Size_Distribution", Choice(("FIXED", "NORMAL")), "FIXED", "bs, bssplit"),
    Key("Average_Request_Size", Whole(1, 2**22), None, "bs, bssplit", "sectors of 512 bytes"),
    Key("Variance_Request_Size", Whole(0, 2**22), "0", "bssplit", "only of NORMAL"),
    Key("Seed", Whole(0, 2**31 - 1), "0", "randseed"),
    Key(
        "Average_No_of_Reqs_in_Queue",
        Whole(1, 65535),
        "1",
        "iodepth",
        "only of QUEUE_DEPTH",
    ),
    Key("Bandwidth", Whole(1, 2**32 - 1), "1", "rate", "only of BANDWIDTH"),
    Key("Intensity", Text(), "", "", "MQSim does not read it either"),
    Key("Stop_Time", Whole(0), "0", "runtime, number_ios", "ns; 0: number_ios ends the job"),
    Key(
        "Total_Requests_To_Generate",
        Whole(0, 2**32 - 1),
        "0",
        "number_ios",
        "only with Stop_Time = 0",
    ),
)
"""Keys of `IO_Flow_Parameter_Set_Synthetic`."""

TRACE = (
    *FLOW,
    Key("File_Path", Text(), None, "run.trace", "from the folder of the workload file"),
    Key(
        "Percentage_To_Be_Executed",
        Whole(1, 100),
        "100",
        "",
        "the whole trace is sent; a part of it is a file of its own",
    ),
    Key("Relay_Count", Whole(1, 2**31 - 1), "1", "run.loops"),
    Key(
        "Time_Unit",
        Choice(("PICOSECOND", "NANOSECOND", "MICROSECOND")),
        "NANOSECOND",
        "run.time_unit",
    ),
)
"""Keys of `IO_Flow_Parameter_Set_Trace_Based`."""

ROSTERS = {
    "Host_Parameter_Set": HOST,
    "Device_Parameter_Set": DEVICE,
    "Flash_Parameter_Set": FLASH,
    "IO_Flow_Parameter_Set_Synthetic": SYNTHETIC,
    "IO_Flow_Parameter_Set_Trace_Based": TRACE,
}
"""Keys by the element in which they stand."""

"""Import of MQSim's files: the drive, scenarios of flows, traces, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended, refused

import nandlab as lab
from nandlab.catalogue import load_config
from nandlab.imported.mqsim import ROSTERS

PARTS = ("Host_Parameter_Set", "Device_Parameter_Set", "Flash_Parameter_Set")

#: A drive of 2 x 2 x 1 dies, small enough to fill in a moment.
SMALL = {
    "PCIe_Lane_Bandwidth": "0.5",
    "PCIe_Lane_Count": "2",
    "Seed": "11",
    "Enabled_Preconditioning": "true",
    "HostInterface_Type": "NVME",
    "Queue_Fetch_Size": "64",
    "Data_Cache_Capacity": "1048576",
    "Data_Cache_DRAM_Data_Rate": "400",
    "Data_Cache_DRAM_Data_Busrt_Size": "8",
    "Ideal_Mapping_Table": "true",
    "Overprovisioning_Ratio": "0.2",
    "GC_Exec_Threshold": "0.06",
    "GC_Hard_Threshold": "0.03",
    "GC_Block_Selection_Policy": "GREEDY",
    "Flash_Channel_Count": "2",
    "Channel_Transfer_Rate": "200",
    "Chip_No_Per_Channel": "2",
    "Flash_Technology": "TLC",
    "CMD_Suspension_Support": "PROGRAM_ERASE",
    "Page_Read_Latency_LSB": "40000",
    "Page_Read_Latency_CSB": "50000",
    "Page_Read_Latency_MSB": "60000",
    "Page_Program_Latency_LSB": "500000",
    "Page_Program_Latency_CSB": "900000",
    "Page_Program_Latency_MSB": "1900000",
    "Block_Erase_Latency": "3000000",
    "Suspend_Erase_Time": "300000",
    "Suspend_Program_Time": "60000",
    "Die_No_Per_Chip": "1",
    "Plane_No_Per_Die": "2",
    "Block_No_Per_Plane": "64",
    "Page_No_Per_Block": "48",
    "Page_Capacity": "8192",
    "Page_Metadat_Capacity": "512",
}

#: What MQSim's own ssdconfig.xml says, of the keys that become something.
SHIPPED = {
    "PCIe_Lane_Bandwidth": "1.0",
    "PCIe_Lane_Count": "4",
    "Seed": "321",
    "HostInterface_Type": "NVME",
    "Queue_Fetch_Size": "512",
    "Data_Cache_Capacity": "268435456",
    "Data_Cache_DRAM_Row_Size": "8192",
    "Data_Cache_DRAM_Data_Rate": "100",
    "Data_Cache_DRAM_Data_Busrt_Size": "1",
    "Data_Cache_DRAM_tRCD": "13",
    "Data_Cache_DRAM_tCL": "13",
    "Address_Mapping": "PAGE_LEVEL",
    "Ideal_Mapping_Table": "false",
    "CMT_Capacity": "2097152",
    "Transaction_Scheduling_Policy": "PRIORITY_OUT_OF_ORDER",
    "Overprovisioning_Ratio": "0.07",
    "GC_Exec_Threshold": "0.05",
    "GC_Block_Selection_Policy": "RGA",
    "Use_Copyback_for_GC": "false",
    "GC_Hard_Threshold": "0.005",
    "Dynamic_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Threshold": "100",
    "Flash_Channel_Count": "8",
    "Flash_Channel_Width": "1",
    "Channel_Transfer_Rate": "333",
    "Chip_No_Per_Channel": "4",
    "Flash_Technology": "MLC",
    "CMD_Suspension_Support": "ERASE",
    **{
        f"Page_{what}_Latency_{page}": time
        for what, time in (("Read", "75000"), ("Program", "750000"))
        for page in ("LSB", "MSB")
    },
    "Block_Erase_Latency": "3800000",
    "Block_PE_Cycles_Limit": "10000",
    "Suspend_Erase_Time": "700000",
    "Die_No_Per_Chip": "2",
    "Plane_No_Per_Die": "2",
    "Block_No_Per_Plane": "2048",
    "Page_No_Per_Block": "256",
    "Page_Capacity": "8192",
    "Page_Metadat_Capacity": "448",
}

FLOW = {
    "Priority_Class": "LOW",
    "Device_Level_Data_Caching_Mode": "WRITE_CACHE",
    "Channel_IDs": "0,1",
    "Chip_IDs": "0,1",
    "Die_IDs": "0",
    "Plane_IDs": "0,1",
    "Initial_Occupancy_Percentage": "60",
    "Working_Set_Percentage": "50",
    "Synthetic_Generator_Type": "QUEUE_DEPTH",
    "Read_Percentage": "70",
    "Address_Distribution": "RANDOM_UNIFORM",
    "Generated_Aligned_Addresses": "true",
    "Address_Alignment_Unit": "8",
    "Average_Request_Size": "8",
    "Seed": "5",
    "Average_No_of_Reqs_in_Queue": "4",
    "Total_Requests_To_Generate": "600",
}

TRACE = {
    **{key: FLOW[key] for key in list(FLOW)[:7]},
    "File_Path": "three.trace",
    "Relay_Count": "2",
    "Time_Unit": "MICROSECOND",
}


def configuration(keys: dict[str, str]) -> str:
    """The text of a configuration."""
    parts = {
        part: "".join(
            f"    <{key.name}>{keys[key.name]}</{key.name}>\n"
            for key in ROSTERS[part]
            if key.name in keys
        )
        for part in PARTS
    }
    flash = f"<Flash_Parameter_Set>\n{parts.pop('Flash_Parameter_Set')}</Flash_Parameter_Set>\n"
    return (
        "<Execution_Parameter_Set>\n"
        f"<Host_Parameter_Set>\n{parts['Host_Parameter_Set']}</Host_Parameter_Set>\n"
        f"<Device_Parameter_Set>\n{parts['Device_Parameter_Set']}{flash}</Device_Parameter_Set>\n"
        "</Execution_Parameter_Set>\n"
    )


def scenarios(*of: list[dict[str, str]]) -> str:
    """The text of a workload: flows with a File_Path are traces."""
    text = "<MQSim_IO_Scenarios>\n"
    for flows in of:
        text += "<IO_Scenario>\n"
        for flow in flows:
            kind = "Trace_Based" if "File_Path" in flow else "Synthetic"
            inner = "".join(f"    <{key}>{value}</{key}>\n" for key, value in flow.items())
            text += f"<IO_Flow_Parameter_Set_{kind}>\n{inner}</IO_Flow_Parameter_Set_{kind}>\n"
        text += "</IO_Scenario>\n"
    return text + "</MQSim_IO_Scenarios>\n"


def read(
    folder: Path, keys: dict[str, str] | None = None, *flows: list[dict[str, str]]
) -> lab.Imported:
    """An import of such files into the folder `out`."""
    (folder / "ssd.xml").write_text(configuration(SMALL if keys is None else keys))
    files = ["ssd.xml"]
    if flows:
        (folder / "work.xml").write_text(scenarios(*flows))
        files.append("work.xml")
    return lab.import_drive("mqsim", files, out="out")


def options(text: str) -> dict[str, str]:
    """The options of a job file with one job."""
    found = re.findall(r"^([a-z_]+)=(.*)$", text, re.M)
    assert len(found) == len(dict(found))
    return dict(found)


def flat(tables: dict[str, object], prefix: str = "") -> dict[str, object]:
    """Tables with dotted keys."""
    found: dict[str, object] = {}
    for key, value in tables.items():
        found |= (
            flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        )
    return found


def test_the_shipped_configuration_is_the_preset(folder: Path):
    """But for what MQSim's file itself says otherwise than the preset.

    The preset has all of the map in memory, and the DRAM of MQSim's C++ defaults; the file has a
    map cache of 2 MB, and a DRAM that moves a byte at 100 MT/s.
    """
    read(folder, SHIPPED)
    ours, preset = (load_config(name) for name in ("out/drive.toml", "mqsim_default"))
    mine, theirs = flat(ours.config), flat(preset.config)
    shared = mine.keys() & theirs.keys()
    assert {key for key in shared if mine[key] != theirs[key]} == {"ftl.name", "buffer.latency_us"}
    # Others are parameters that only one of the two FTLs has.
    assert all(key.startswith("ftl.") for key in mine.keys() ^ theirs.keys())
    assert mine["ftl.map_cache_bytes"] == 2 << 20
    assert mine["buffer.latency_us"] == 20.51  # 13 + 13 ns, and 2048 times 10 ns
    changes = ["ftl.name=page", "buffer.latency_us=0.67"]
    assert load_config("out/drive.toml", changes).config_hash == preset.config_hash


def test_its_reads_are_those_of_mqsim(folder: Path):
    """The row `map_in_memory_us` of `nandlab papers mqsim`: 282 us, within 3 %."""
    read(folder, SHIPPED)
    job = "[r]\nrw=randread\nbs=4k\niodepth=64\nnorandommap=1\nnumber_ios=50000\n"
    given = {
        "ftl.name": "page",
        "ftl.overprovisioning": 0.28,
        "drive.data_first": True,
        "drive.dies_per_channel": 4,
        "chip.geometry.blocks_per_plane": 256,
        "gc.start_free_blocks": 13,
        "buffer.bytes": 0,
    }
    result = lab.run("out/drive.toml", job, set=given, precondition="fill")
    assert abs(result.latency.mean / 282 - 1) < 0.03


def test_the_map_in_memory_and_mqsims_own_dram_are_the_preset(folder: Path):
    """The C++ defaults of the DRAM, by leaving its keys out."""
    keys = {name: value for name, value in SHIPPED.items() if "DRAM" not in name}
    read(folder, keys | {"Ideal_Mapping_Table": "true"})
    assert load_config("out/drive.toml").config_hash == load_config("mqsim_default").config_hash


def test_every_number_has_the_name_that_it_has_there(folder: Path):
    read(folder)
    drive = load_config("out/drive.toml").config
    assert drive["seed"] == 11
    assert (
        drive["drive"] | {"channels": 2, "dies_per_channel": 2, "queue_depth": 64} == drive["drive"]
    )
    assert drive["host"]["link_mb_s"] == 1000
    timing = drive["chip"]["timing"]
    assert timing["t_read_us"] == [40, 50, 60]
    assert timing["t_program_us"] == [500, 900, 1900]
    assert (timing["t_program_suspend_us"], timing["t_erase_suspend_us"]) == (60, 300)
    assert drive["chip"]["geometry"]["blocks_per_plane"] == 64
    assert drive["gc"] | {"name": "greedy", "start_free_blocks": 3} == drive["gc"]
    assert drive["ftl"] | {"name": "page", "overprovisioning": 0.25} == drive["ftl"]
    assert drive["buffer"] == {"bytes": 1 << 20, "latency_us": 0.67}
    text = Path("out/drive.toml").read_text()
    for key in SMALL:
        if key not in ("Enabled_Preconditioning",):
            assert re.search(rf"\b{key} = {re.escape(SMALL[key])}\b", text), key


def test_runs_of_all_kinds_run(nandlab: Callable[..., Ended], folder: Path):
    (folder / "three.trace").write_text("0 0 8 8 0\n50 0 800 16 1\n900 1 99999999 8 1\n")
    stream = FLOW | {
        "Address_Distribution": "STREAMING",
        "Address_Alignment_Unit": "16",
        "Read_Percentage": "0",
        "Device_Level_Data_Caching_Mode": "TURNED_OFF",
    }
    paced = FLOW | {
        "Synthetic_Generator_Type": "BANDWIDTH",
        "Bandwidth": "50000000",
        "Stop_Time": "20000000",
        "Address_Distribution": "RANDOM_HOTCOLD",
        "Percentage_of_Hot_Region": "20",
        "Request_Size_Distribution": "NORMAL",
        "Variance_Request_Size": "3",
    }
    (folder / "ssd.xml").write_text(configuration(SMALL))
    flows = [[FLOW, paced], [stream], [FLOW | {"Read_Percentage": "100"}], [TRACE]]
    (folder / "work.xml").write_text(scenarios(*flows))
    ended = nandlab("import", "mqsim", "ssd.xml", "work.xml", "--out", "new").succeeded()
    assert ended.err == ""
    runs = re.findall(r"^run it: nandlab (.*)$", ended.out, re.M)
    assert len(runs) == 4
    reports = [nandlab(*each.split(), "--quiet", "--json", "-").succeeded().json for each in runs]
    jobs = {job["jobname"]: job for job in reports[0]["jobs"]}
    assert jobs["flow_1"]["read"]["total_ios"] + jobs["flow_1"]["write"]["total_ios"] == 600
    assert 0.6 < jobs["flow_1"]["read"]["total_ios"] / 600 < 0.8
    # 20 ms at 50 MB/s are 1 MB.
    sent = sum(jobs["flow_2"][way]["io_bytes"] for way in ("read", "write"))
    assert 0.8e6 < sent < 1.2e6
    assert [each["nandlab"]["run"]["precondition"] for each in reports[:3]] == [
        "steady",
        "steady",
        "fill",
    ]
    assert reports[1]["nandlab"]["config"]["buffer"]["bytes"] == 0
    assert reports[3]["host"]["requests_completed"] == 6


def test_a_flow_becomes_a_job(folder: Path):
    made = read(folder, None, [FLOW, FLOW | {"Device_Level_Data_Caching_Mode": "TURNED_OFF"}])
    capacity = made.files["drive.toml"]
    assert capacity
    first, second = made.files["scenario_1.fio"].split("[flow_2]")
    job = options(first)
    assert (
        job
        | {
            "rw": "randrw",
            "rwmixread": "70",
            "bs": "4096",
            "blockalign": "4096",
            "norandommap": "1",
            "iodepth": "4",
            "number_ios": "600",
            "randseed": "5",
            "offset": "0",
        }
        == job
    )
    # Two flows on the same planes have half of the drive each, and use half of that.
    total = lab.ftls("out/drive.toml")[0].capacity_bytes
    assert abs(int(job["size"]) - total / 4) <= 8192
    assert abs(int(options(second)["offset"]) - total / 2) <= 8192
    lost = {(row.key, row.line) for row in made.unmatched if row.file == "work.xml"}
    assert len(set(made.moved)) == len(made.moved)
    names = [key for key, _ in lost]
    assert names.count("Priority_Class") == names.count("Initial_Occupancy_Percentage") == 2
    assert names.count("Device_Level_Data_Caching_Mode") == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"Read_Percentage": "0"}, {"rw": "randwrite"}),
        ({"Read_Percentage": "100"}, {"rw": "randread"}),
        (
            {"Address_Distribution": "STREAMING", "Address_Alignment_Unit": "32"},
            {"rw": "rw:12288", "bs": "4096"},
        ),
        (
            {"Address_Distribution": "RANDOM_HOTCOLD", "Percentage_of_Hot_Region": "30"},
            {"random_distribution": "zoned:70/30:30/70"},
        ),
        (
            {"Synthetic_Generator_Type": "BANDWIDTH", "Bandwidth": "1000000"},
            {"rate": "700000,300000", "rate_process": "poisson", "iodepth": "1024"},
        ),
        ({"Stop_Time": "5000000"}, {"runtime": "5000us", "time_based": "1"}),
        ({"Generated_Aligned_Addresses": "false"}, {"blockalign": "512"}),
    ],
)
def test_options_of_a_flow(folder: Path, change: dict[str, str], expected: dict[str, str]):
    made = read(folder, None, [FLOW | change])
    job = options(made.files["scenario_1.fio"])
    assert job | expected == job
    of_flow = ROSTERS["IO_Flow_Parameter_Set_Synthetic"]
    known = {key.name: key.becomes.split(", ") for key in of_flow}
    moved = [row for row in made.moved if row.file == "work.xml"]
    assert [row for row in moved if row.becomes not in known[row.key]] == []
    listed = {row.key for row in made.unmatched if row.why}
    assert {*FLOW, *change} <= {row.key for row in moved} | listed


def test_sizes_of_a_normal_flow(folder: Path):
    """Twentieths of the bell: shares of 100 %, and the mean and deviation of the draws."""
    change = {"Request_Size_Distribution": "NORMAL", "Average_Request_Size": "64"}
    made = read(folder, None, [FLOW | change | {"Variance_Request_Size": "10"}])
    split = options(made.files["scenario_1.fio"])["bssplit"].split(":")
    parts = [tuple(map(int, one.split("/"))) for one in split]
    assert sum(share for _, share in parts) == 100
    mean = sum(size * share for size, share in parts) / 100 / 512
    spread = (sum((size / 512 - mean) ** 2 * share for size, share in parts) / 100) ** 0.5
    assert abs(mean - 64.5) < 0.3  # rounded up to sectors
    assert abs(spread - 10) < 0.7


def test_planes_of_a_flow_are_its_share(folder: Path):
    """Planes that two flows name are divided among them."""
    one = FLOW | {"Channel_IDs": "0"}
    made = read(folder, None, [FLOW, one])
    first, second = made.files["scenario_1.fio"].split("[flow_2]")
    total = lab.ftls("out/drive.toml")[0].capacity_bytes
    assert abs(int(options(second)["offset"]) / total - 3 / 4) < 1e-4
    assert abs(int(options(first)["size"]) / total - 3 / 8) < 1e-4


def test_a_trace_keeps_its_options(folder: Path):
    made = read(folder, None, [TRACE, FLOW])
    assert made.runs == ["scenario_1.toml", "scenario_1_flow_1.toml"]
    run = load_config("out/scenario_1_flow_1.toml").run
    assert run | {"format": "mqsim", "time_unit": "us", "loops": 2, "address": "wrap"} == run
    # From the folder of the workload file, not from that of the new files.
    assert Path("out", str(run["trace"])).resolve() == (folder / "three.trace").resolve()
    assert any("run of its own" in note for note in made.notes)
    assert any("three.trace" in note for note in made.notes)


def test_no_key_is_dropped_in_silence(folder: Path):
    """Keys that MQSim knows and keys that nobody knows are moved or listed with a reason."""
    every = {
        key.name: key.default for part in PARTS for key in ROSTERS[part] if key.default is not None
    }
    text = configuration(every | SMALL | {"Ideal_Mapping_Table": "false"})
    text = text.replace(
        "</Device_Parameter_Set>", "<Use_of_Ai>1</Use_of_Ai></Device_Parameter_Set>"
    )
    text = text.replace("<Seed>11</Seed>", "<Seed>10</Seed><Seed>11</Seed>")
    text = text.replace(
        "<PCIe_Lane_Count>", "<Chip_No_Per_Channel>9</Chip_No_Per_Channel><PCIe_Lane_Count>"
    )
    Path("ssd.xml").write_text(text)
    made = lab.import_drive("mqsim", "ssd.xml")
    listed = {row.key: row.why for row in made.unmatched}
    assert all(listed.values())
    assert set(every) <= {row.key for row in made.moved} | set(listed)
    assert {"Use_of_Ai", "Seed", "Host_Parameter_Set/Chip_No_Per_Channel"} <= set(listed)
    known = {key.name: key.becomes.split(", ") for part in PARTS for key in ROSTERS[part]}
    assert [row for row in made.moved if row.becomes not in known[row.key]] == []
    head = made.files["drive.toml"].partition("\nsummary")[0]
    assert all(key in head for key in listed)
    assert not Path("out").exists()


def test_copyback_needs_the_map_in_memory(folder: Path):
    """An FTL with a map cache has none, and the key is listed."""
    read(folder, SMALL | {"Use_Copyback_for_GC": "true"})
    assert load_config("out/drive.toml").config["gc"]["copyback"] == "unchecked"
    text = configuration(SMALL | {"Use_Copyback_for_GC": "true", "Ideal_Mapping_Table": "false"})
    Path("ssd.xml").write_text(text)
    made = lab.import_drive("mqsim", "ssd.xml")
    assert "Use_Copyback_for_GC" in {row.key for row in made.unmatched}


def test_free_blocks_leave_room_for_data(folder: Path):
    """Fewer are kept free than MQSim would, where they would hold data, and that is said."""
    made = read(folder, SMALL | {"GC_Exec_Threshold": "0.5"})
    kept = load_config("out/drive.toml").config["gc"]["start_free_blocks"]
    assert 3 <= kept < 32
    assert any("GC_Exec_Threshold" in note and "32" in note for note in made.notes)
    lab.run("out/drive.toml", "[w]\nrw=randwrite\nnumber_ios=100\n", precondition="fill")


BOMB = """<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<Execution_Parameter_Set>&b;</Execution_Parameter_Set>"""


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("<svg>\n</svg>", ["ssd.xml:1", "`svg`", "Execution_Parameter_Set"]),
        (scenarios([FLOW]), ["`MQSim_IO_Scenarios`", "second"]),
        ("<Execution_Parameter_Set/>", ["ssd.xml:1", "Device_Parameter_Set"]),
        ("{}", ["ssd.xml:1", "no XML"]),
        ("", ["ssd.xml", "no XML"]),
        ("<Execution_Parameter_Set>", ["ssd.xml:1", "no XML"]),
        (BOMB, ["ssd.xml:1", "entities"]),
        ('<a x="1"/>', ["ssd.xml:1", "a", "attributes", "x"]),
        (configuration(SMALL | {"Page_Capacity": "8k"}), ["Page_Capacity", "`8k`", "512"]),
        (
            configuration(SMALL | {"GC_Exec_Threshold": "1.5"}),
            ["GC_Exec_Threshold", "1.5", "below 1"],
        ),
        (configuration(SMALL | {"Flash_Technology": "QLC"}), ["Flash_Technology", "`QLC`", "TLC"]),
        (configuration(SMALL | {"Page_Capacity": "1000"}), ["Page_Capacity", "1000", "512"]),
        (configuration(SMALL | {"Overprovisioning_Ratio": "0.001"}), ["Overprovisioning_Ratio"]),
        (configuration(SMALL | {"Seed": "\u0663"}), ["Seed", "whole number"]),
    ],
)
def test_what_is_refused_of_a_configuration(
    nandlab: Callable[..., Ended], folder: Path, text: str, parts: list[str]
):
    (folder / "ssd.xml").write_text(text, encoding="utf-8")
    nandlab("import", "mqsim", "ssd.xml", "--out", "out").refused(*parts)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("flow", "parts"),
    [
        ({"Read_Percentage": "120"}, ["Read_Percentage", "`120`", "0 to 100"]),
        ({"Channel_IDs": "0,7"}, ["work.xml", "Channel_IDs", "0,7", "2"]),
        ({"Channel_IDs": "0;1"}, ["Channel_IDs", "commas"]),
        ({"Total_Requests_To_Generate": "0"}, ["Total_Requests_To_Generate", "Stop_Time"]),
        ({"Address_Distribution": "ZIPF"}, ["`ZIPF`", "RANDOM_HOTCOLD"]),
    ],
)
def test_what_is_refused_of_a_flow(folder: Path, flow: dict[str, str], parts: list[str]):
    with refused(*parts):
        read(folder, None, [FLOW | flow])
    missing = {key: value for key, value in FLOW.items() if key != "Read_Percentage"}
    with refused("work.xml:3", "no Read_Percentage", "0 to 100"):
        read(folder, None, [missing])
    assert not Path("out").exists()


def test_what_mqsim_does_not_know_is_listed_in_the_new_files(folder: Path):
    """Elements beside the flows and the scenarios, in the first file behind them."""
    read(folder, None, [FLOW])
    text = scenarios([FLOW]).replace("<IO_Scenario>", "<Plan>3</Plan><IO_Scenario><Beside/>")
    (folder / "work.xml").write_text(text)
    made = lab.import_drive("mqsim", ["ssd.xml", "work.xml"])
    assert {"Plan", "Beside"} <= {row.key for row in made.unmatched}
    assert all(key in made.files["scenario_1.fio"] for key in ("Plan = 3", "Beside"))

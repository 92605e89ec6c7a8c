"""Import of SimpleSSD's files: the drive, the generator or trace of Standalone, refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended, refused

import nandlab as lab
from nandlab.catalogue import load_config
from nandlab.imported.simplessd import ROSTER

#: A drive of 2 x 2 x 1 dies of TLC.
SSD = """\
; a drive of our own
[nvme]
PCIEGeneration = 1   # 5 GT/s
PCIELane = 2
[pal]
Channel = 2
Package = 2
Die = 1
Plane = 2
Block = 40
Page = 96
PageSize = 8192
EnableMultiPlaneOperation = 1
NANDType = 2
LSBRead = 50000000
CSBRead = 70000000
MSBRead = 90000000
LSBWrite = 800000000
CSBWrite = 1600000000
MSBWrite = 2400000000
Erase = 4000000000
DMASpeed = 200
DMAWidth = 8
SuperblockSize = C
[ftl]
OverProvisioningRatio = 0.2
GCThreshold = 0.06
EvictPolicy = 3
DChoiceParam = 4
FillRatio = 1.0
InvalidPageRatio = 0.3
[icl]
CacheSize = 4194304
EnableReadCache = 1
"""

SIM = """\
[global]
Mode = {mode}
Interface = 1
SubmissionLatency = 2us
CompletionLatency = 500ns

[generator]
io_size = 2M
readwrite = randrw
rwmixread = 0.75
blocksize = 8K
blockalign =
iomode = async
iodepth = 8
offset = 16K
size = 8M
thinktime = 0
randseed = 99
time_based = 0
runtime = 1s

[trace]
File = some.blkparse
TimingMode = {timing}
QueueDepth = 6
IOLimit = 3
Regex = "\\d+,\\d+ +\\d+ +\\d+ +(\\d+).(\\d+) +\\d+ +{action} +(\\w+) +(\\d+) \\+ (\\d+)"
Operation = 3
"""

LINES = "".join(
    f"8,0 0 {number} 0.{number:09d} 7 {action} W {8 * number} + 8 [x]\n"
    for number, action in enumerate("QQDDD", 1)
)


def read(folder: Path, *, mode: int = 0, timing: int = 1, action: str = "D") -> lab.Imported:
    """An import of such files into the folder `out`."""
    (folder / "ssd.cfg").write_text(SSD)
    (folder / "sim.cfg").write_text(SIM.format(mode=mode, timing=timing, action=action))
    return lab.import_drive("simplessd", ["sim.cfg", "ssd.cfg"], out="out")


def test_the_drive_has_the_numbers_of_its_file(folder: Path):
    read(folder)
    drive = load_config("out/drive.toml").config
    assert (drive["drive"]["channels"], drive["drive"]["dies_per_channel"]) == (2, 2)
    assert drive["host"] == {"link_mb_s": 1000, "link_latency_us": 0.5, "submit_us": 2}
    chip = drive["chip"]
    assert chip["cell_bits"] == 3
    assert chip["timing"]["t_read_us"] == [50, 70, 90]
    assert chip["timing"]["t_program_us"] == [800, 1600, 2400]
    # SimpleSSD's mega is 2^20, and a command takes 7 cycles.
    assert chip["timing"]["bus_mt_s"] == pytest.approx(200 * 2**20 / 1e6, rel=1e-6)
    assert chip["timing"]["t_command_us"] == pytest.approx(7 / (200 * 2**20 / 1e6), rel=1e-4)
    assert chip["energy"]["icc_read_ma"] == 25
    ftl, gc = drive["ftl"], drive["gc"]
    assert (ftl["overprovisioning"], ftl["superblock_dies"], ftl["unit_bytes"]) == (0.25, 2, 8192)
    assert (gc["name"], gc["d"], gc["start_free_blocks"]) == ("d_choices", 4, 3)
    assert drive["buffer"]["bytes"] == 4 << 20


def test_the_generator_becomes_a_job(nandlab: Callable[..., Ended], folder: Path):
    made = read(folder)
    assert made.runs == ["run.toml"]
    ended = nandlab("run", "--drive", "out/run.toml", "--quiet", "--json", "-").succeeded()
    report = ended.json
    assert report["nandlab"]["run"]["precondition"] == "steady"
    (job,) = report["jobs"]
    assert sum(job[way]["io_bytes"] for way in ("read", "write")) == 2 << 20
    assert job["read"]["io_bytes"] == 8192 * job["read"]["total_ios"]
    assert "rwmixread=75" in made.files["jobs.fio"]
    assert "offset=16384" in made.files["jobs.fio"]


@pytest.mark.parametrize(("timing", "iodepth"), [(0, 1), (1, 6), (2, None)])
def test_the_trace_becomes_a_run(
    nandlab: Callable[..., Ended], folder: Path, timing: int, iodepth: int | None
):
    (folder / "some.blkparse").write_text(LINES)
    read(folder, mode=1, timing=timing)
    run = load_config("out/run.toml").run
    assert (run["format"], run["action"], run.get("iodepth")) == ("blkparse", "D", iodepth)
    report = nandlab("run", "--drive", "out/run.toml", "--quiet", "--json", "-").succeeded().json
    assert report["host"]["requests_completed"] == 3


def test_other_expressions_are_listed(folder: Path):
    made = read(folder, mode=1, action="X")
    assert "format" not in load_config("out/run.toml").run
    assert "trace.Regex" in {row.key for row in made.unmatched}


def test_no_key_is_dropped_in_silence(folder: Path):
    sections: dict[str, list[str]] = {}
    for key in ROSTER:
        section, _, name = key.name.partition(".")
        value = key.default if key.default is not None else "4K"
        sections.setdefault(section, []).append(f"{name} = {value}")
    sections["generator"] = [
        line.replace("io_size = 0", "io_size = 4K") for line in sections["generator"]
    ]
    sections["ftl"].append("TurboMode = 1")
    sections["fancy"] = ["a = 1"]
    text = "".join(f"[{name}]\n" + "\n".join(lines) + "\n" for name, lines in sections.items())
    Path("all.cfg").write_text(text)
    made = lab.import_drive("simplessd", "all.cfg")
    listed = {row.key: row.why for row in made.unmatched}
    assert all(listed.values())
    assert {key.name for key in ROSTER} <= {row.key for row in made.moved} | set(listed)
    assert {"ftl.TurboMode", "fancy.a"} <= set(listed)
    known = {key.name: key.becomes.split(", ") for key in ROSTER}
    assert [row for row in made.moved if row.becomes not in known[row.key]] == []
    head = made.files["drive.toml"].partition("\nsummary")[0]
    assert all(key in head for key in listed)


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("Channel = 2", "Channel = two", ["ssd.cfg:6", "pal.Channel", "`two`", "1 to 65536"]),
        ("NANDType = 2", "NANDType = 3", ["pal.NANDType", "`3`", "TLC"]),
        ("CSBRead = 70000000", "CSBRead = 0", ["pal.CSBRead", "`0`"]),
        ("SuperblockSize = C", "SuperblockSize = X", ["pal.SuperblockSize", "`X`", "C, W, D, P"]),
        ("PageSize = 8192", "PageSize = 1000", ["ssd.cfg:12", "pal.PageSize", "1000"]),
        ("Package = 2", "Package", ["ssd.cfg:7", "`Package`", "key = value"]),
        ("; a drive of our own", "<config>", ["ssd.cfg:1", "`<config>`", "2.1"]),
    ],
)
def test_what_is_refused(
    nandlab: Callable[..., Ended], folder: Path, old: str, new: str, parts: list[str]
):
    assert old in SSD
    (folder / "ssd.cfg").write_text(SSD.replace(old, new))
    nandlab("import", "simplessd", "ssd.cfg", "--out", "out").refused(*parts)
    assert not (folder / "out").exists()


def test_a_file_without_a_drive_is_refused(folder: Path):
    (folder / "sim.cfg").write_text(SIM.format(mode=0, timing=0, action="D"))
    with refused("sim.cfg", "pal", "generator"):
        lab.import_drive("simplessd", "sim.cfg")

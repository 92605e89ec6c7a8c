"""Checks of the linter: each one finds its assumption, and is quiet where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import refused

import nandlab
from nandlab.catalogue import roster
from nandlab.lint.check import KINDS
from nandlab.lint.controller import amplification, bch_parity_bytes
from nandlab.lint.jobs import in_bytes, jobs_of
from nandlab.lint.roster import ROSTER, check_of
from nandlab.lint.subject import PAGE_MAPPED

LAW = 'array.name = "power_law"'
WRITES = "[writes]\nrw=randwrite\niodepth=16\nnorandommap\n"

#: A geometry of its own, with numbers as real dies have them.
ODD = """\
drive_preset = "tiny"
[chip]
geometry.pages_per_block = 66
timing.t_program_us = [375.0, 1125.0]
"""

#: Program and erase times that the cell gives: a small block is erased in the time of a whole one.
CELL_TIMES = 'drive_preset = "modern_tlc"\n[chip]\ngeometry.pages_per_block = {}\n'

STUDY = """\
drive = "odd.toml"
[run]
workload = "writes.fio"
precondition = "steady"
[[axis]]
path = "ftl.overprovisioning"
values = [0.1, 0.2]
"""


def chip(*lines: str, more: str = "") -> str:
    return ODD + "".join(f"{line}\n" for line in lines) + more


def study(*lines: str, more: str = "") -> str:
    top, rest = STUDY.split("[run]")
    return "".join([top, *(f"{line}\n" for line in lines), "[run]", rest, more])


WINDOWS = "\n[windows]\ndeterministic_ms = 1000\nnon_deterministic_ms = 50\n"

HANDLES = """
[ftl]
overprovisioning = 0.5
host_streams = 2
isolation = "persistent"
"""


class Case(NamedTuple):
    """A text with an assumption, one without it, and where it stands."""

    code: str
    name: str
    bad: str
    good: str
    stands: str
    """In the line that the finding names; empty where the whole file is meant."""


AGE = "\n[age]\npe_cycles = 3000\n"
SHARES = '[ecc]\nmodel = "shares"\nfailures = [0.1, 0.0]\n'
POINTS = (
    'array = { name = "table", points = ['
    "{ pe_cycles = 0, hours = 0, reads = 0, rber = [1e-4, 1e-4] }, "
    "{ pe_cycles = 0, hours = 9, reads = 0, rber = [2e-4, 2e-4] }]%s }"
)
THRESHOLD = '\n[ecc]\nmodel = "threshold"\nt = %d\npayload_bytes = 1024\nparity_bytes = 48\n'
CARD = (
    '\n[host]\npreset = "usb_2"\n[drive]\nqueue_depth = 1\nchannels = 4\n[ftl]\nname = "%s"\n'
    "[buffer]\nbytes = 0\n"
)
SSD = ("geometry.blocks_per_plane = 16384", "geometry.page_bytes = 16384")
RUN = '\n[run]\nworkload = "%s"\nprecondition = "%s"\n'
CACHE = '\n[read_cache]\nbytes = "%s"\n' + RUN
POLICY = '[[axis]]\npath = "gc.name"\nvalues = ["greedy", "fifo"]\n'

TURNS = """
[parity]
pages = 1
read_around = "%s"
[gc]
rotation = "all"
[ftl]
superblock_dies = 0
gc_reserve_blocks = 2
overprovisioning = 2.0
"""

BORROWED = """
[ftl]
name = "dftl"
map_cache_bytes = "%s"
host_memory_bytes = "1MiB"
"""

PARITY = """
[parity]
pages = 1
[ftl]
superblock_dies = 0
gc_reserve_blocks = 2
overprovisioning = 2.0
[gc]
start_free_blocks = 4
"""

CASES = [
    Case(
        "L001",
        "a.toml",
        ODD.replace("66", "128"),
        ODD,
        "pages_per_block",
    ),
    Case(
        "L002",
        "a.toml",
        chip("timing.t_erase_us = 60000"),
        chip("timing.t_erase_us = 3000"),
        "t_erase_us",
    ),
    Case(
        "L002",
        "small_blocks.toml",
        CELL_TIMES.format(48),
        CELL_TIMES.format(1152),
        "pages_per_block",
    ),
    Case(
        "L003",
        "a.toml",
        ODD.replace("[375.0, 1125.0]", "800.0"),
        ODD,
        "t_program_us",
    ),
    Case("L004", "a.toml", chip(LAW, "array.beta = 0.0"), chip(LAW), "array.beta"),
    Case(
        "L005",
        "a.toml",
        chip("fault.median_ratings = 2"),
        chip(LAW, "fault.median_ratings = 150", more=SHARES),
        "median_ratings",
    ),
    Case(
        "L006",
        "a.toml",
        chip(LAW, more=AGE),
        chip(LAW, more=f"{AGE}retention_hours = 8760\n"),
        "pe_cycles",
    ),
    Case(
        "L007",
        "a.toml",
        chip(*SSD, more='\n[recovery]\nname = "scan_pages"\n'),
        chip(*SSD, more='\n[recovery]\nname = "scan_blocks"\n'),
        "scan_pages",
    ),
    Case("L008", "card.toml", chip(more=CARD % "page"), chip(more=CARD % "block"), "name"),
    Case(
        "L008",
        "ssd.toml",
        chip(*SSD, more='\n[ftl]\nname = "dftl"\nmap_cache_bytes = 2097152\n'),
        chip(*SSD, more='\n[ftl]\nname = "dftl"\nmap_cache_bytes = 67108864\n'),
        "map_cache_bytes",
    ),
    Case("L009", "a.toml", chip(more=THRESHOLD % 40), chip(more=THRESHOLD % 24), "t = "),
    Case(
        "L010",
        "a.toml",
        chip(more="\n[ftl]\noverprovisioning = 0.04\n"),
        chip(more="\n[ftl]\noverprovisioning = 0.07\n"),
        "overprovisioning",
    ),
    # A page of parity in four leaves 6.5 % of 42 %, with the writes of 5 % without parity.
    Case(
        "L010",
        "rain.toml",
        chip(more=PARITY.replace("2.0", "0.42")),
        chip(more=PARITY.replace("2.0", "0.5")),
        "overprovisioning",
    ),
    Case(
        "L011",
        "study.toml",
        study(more=POLICY),
        study(more=f'{POLICY}[[axis]]\npath = "job.size"\nvalues = ["10%", "100%"]\n'),
        "gc.name",
    ),
    Case("L012", "a.toml", chip(more=RUN % ("writes.fio", "none")), ODD, "precondition"),
    Case(
        "L012",
        "study.toml",
        study().replace("steady", "none"),
        study(),
        "precondition",
    ),
    Case(
        "L013",
        "a.toml",
        chip(more=RUN % ("reads.fio", "none")),
        chip(more=RUN % ("reads.fio", "fill")),
        "precondition",
    ),
    Case(
        "L014",
        "a.toml",
        chip(more=RUN % ("short.fio", "fill")),
        chip(more=RUN % ("short.fio", "steady")),
        "number_ios",
    ),
    Case(
        "L015",
        "a.toml",
        chip(more=RUN % ("aligned.fio", "steady")),
        chip(more=RUN % ("aligned.fio", "steady") + '[ftl]\nname = "fast"\n'),
        "blockalign",
    ),
    Case(
        "L015",
        "study.toml",
        study(more='[[axis]]\npath = "job.blockalign"\nvalues = ["4k", "512k"]\n'),
        study(more='[[axis]]\npath = "job.bs"\nvalues = ["4k", "512k"]\n'),
        "blockalign",
    ),
    Case(
        "L016",
        "study.toml",
        study('columns = ["tail = host.write.latency_us.p99_9"]'),
        study('columns = ["tail = host.write.latency_us.mean"]'),
        "columns",
    ),
    Case(
        "L016",
        "a.fio",
        f"{WRITES}percentile_list=99:99.9\n",
        f"{WRITES}percentile_list=99:99.9\nrate_iops=5000\n",
        "percentile_list",
    ),
    Case(
        "L017",
        "ideal.toml",
        chip(LAW),
        chip(LAW, more=SHARES),
        "",
    ),
    Case(
        "L017",
        "shares.toml",
        chip(LAW, more=f"{SHARES}{AGE}"),
        chip(LAW, more=f"{THRESHOLD % 24}{AGE}"),
        "model",
    ),
    Case(
        "L018",
        "points.toml",
        chip(POINTS % ""),
        chip(POINTS % ", page_spread = 0.3"),
        "points",
    ),
    Case("L018", "spread.toml", chip("fault.spread = 0.0"), chip("fault.spread = 0.1"), "spread"),
    Case(
        "L019",
        "a.toml",
        chip(more=AGE),
        chip(LAW, more=f"{AGE}retention_hours = 10\n"),
        "pe_cycles",
    ),
    Case(
        "L020",
        "a.toml",
        chip(more="\n[ftl]\noverprovisioning = 7\n"),
        chip(more="\n[ftl]\noverprovisioning = 0.5\n"),
        "overprovisioning",
    ),
    Case(
        "L021",
        "a.toml",
        chip(more=f"\n[ftl]\nfast_pages = true\n{RUN % ('writes.fio', 'steady')}"),
        chip(more=f"\n[ftl]\nfast_pages = true\n{RUN % ('waits.fio', 'steady')}"),
        "rw",
    ),
    # 1 KiB and its parity at the law's floor of 1.48e-3 have 12.7 wrong bits.
    Case(
        "L022",
        "weak.toml",
        chip(LAW, more=f"{THRESHOLD % 12}"),
        chip(LAW, more=f"{THRESHOLD % 13}"),
        "t",
    ),
    # Ten passes over blocks of 66 pages, and a hundred.
    Case(
        "L023",
        "soon.toml",
        chip(more="[gc]\nreclaim_reads = 660\n"),
        chip(more="[gc]\nreclaim_reads = 6600\n"),
        "reclaim_reads",
    ),
    # At 3,000 cycles the law has 6.7e-3, and 0.29 after 6.6 million reads.
    Case(
        "L024",
        "late.toml",
        chip(LAW, more=f"{AGE}{THRESHOLD % 200}[gc]\nreclaim_reads = 6600000\n"),
        chip(LAW, more=f"{AGE}{THRESHOLD % 200}[gc]\nreclaim_reads = 66000\n"),
        "reclaim_reads",
    ),
    # What the dies program in 100 ms is more than the free blocks of a plane take.
    Case(
        "L025",
        "a.toml",
        chip(more=f"{WINDOWS}{RUN % ('writes.fio', 'steady')}"),
        chip(more=f"{WINDOWS}{RUN % ('paced.fio', 'steady')}"),
        "rw",
    ),
    Case(
        "L026",
        "a.toml",
        chip(more=f"{HANDLES}handle_quota = [0.5, 0.4]\n"),
        chip(more=f"{HANDLES}handle_quota = [0.6, 0.4]\n"),
        "handle_quota",
    ),
    Case(
        "L027",
        "a.toml",
        chip(more=CACHE % ("8GiB", "reads.fio", "fill")),
        chip(more=CACHE % ("64MiB", "reads.fio", "fill")),
        "[reads]",
    ),
    Case(
        "L028",
        "a.toml",
        chip(more=CACHE % ("1MiB", "reads.fio", "fill")),
        chip(more=CACHE % ("64MiB", "reads.fio", "fill")),
        "bytes",
    ),
    Case(
        "L029",
        "a.toml",
        chip(more=f"{PARITY}"),
        chip(LAW, more=f"{THRESHOLD % 40}{PARITY}"),
        "pages",
    ),
    Case(
        "L030",
        "a.toml",
        chip(more=TURNS % "never"),
        chip(more=TURNS % "collection"),
        "rotation",
    ),
    Case(
        "L031",
        "a.toml",
        chip(more=BORROWED % "64MiB"),
        chip(more=BORROWED % "64KiB"),
        "host_memory_bytes",
    ),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with job files and a drive, to work in."""
    monkeypatch.chdir(tmp_path)
    jobs = {
        "writes.fio": WRITES,
        "reads.fio": "[reads]\nrw=randread\n",
        "short.fio": f"{WRITES}number_ios=1000\n",
        "waits.fio": f"{WRITES}prio=0\n",
        "paced.fio": f"{WRITES}rate_iops=500\n",
        "aligned.fio": f"{WRITES}bs=512k\nblockalign=1m\n",
        "odd.toml": ODD,
    }
    for name, text in jobs.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def found(folder: Path, name: str, text: str, code: str) -> list[nandlab.Finding]:
    (folder / name).write_text(text)
    return [one for one in nandlab.lint(name) if one.code == code]


@pytest.mark.parametrize("case", CASES, ids=[f"{one.code}-{one.name}" for one in CASES])
def test_a_check_finds_its_assumption_alone(case: Case, folder: Path):
    assert found(folder, case.name, case.good, case.code) == []
    [one] = found(folder, case.name, case.bad, case.code)
    assert not one.is_explained
    assert one.title == check_of(case.code).title
    if case.stands:
        name, _, line = one.place.rpartition(":")
        assert case.stands in (folder / name).read_text().splitlines()[int(line) - 1]


def test_every_check_has_a_case():
    # Reports have tests of their own below.
    assert {one.code for one in CASES} == {one.code for one in ROSTER}
    assert [one.code for one in ROSTER] == [f"L{i:03d}" for i in range(1, len(ROSTER) + 1)]
    assert all(set(one.looks_at) <= set(KINDS) for one in ROSTER)


def test_an_erase_time_of_its_own_beside_programs_of_the_cell(folder: Path):
    text = CELL_TIMES.format(48)
    assert found(folder, "a.toml", f"{text}timing.t_erase_us = 400\n", "L002") == []
    [one] = found(folder, "a.toml", f"{text}timing.t_erase_us = 9000\n", "L002")
    assert one.place == "a.toml:4"


def test_every_ftl_is_known_as_a_page_map_or_not():
    """A new one must be looked at: checks of spare flash and alignment ask it."""
    others = {"bast", "fast", "log_group", "block", "superblock", "zoned"}
    assert {*PAGE_MAPPED, *others} == {one.name for one in roster("ftl")}


def test_sources_are_in_the_bibliography():
    for check in ROSTER:
        cite = {"drive_preset": "tiny", "cite": list(check.sources)}
        assert all(key in nandlab.bibliography(cite) for key in check.sources), check.code


def codes(*inputs: Any, **given: Any) -> list[str]:
    return [one.code for one in nandlab.lint(*inputs, **given)]


def test_the_first_good_drive_has_no_finding():
    assert codes({"drive_preset": "modern_tlc"}) == []
    assert codes("modern_tlc", "modern_qlc") == []


def test_an_axis_is_no_assumption(folder: Path):
    """What a study varies it does not assume."""
    axis = '[[axis]]\npath = "%s"\nvalues = [%s]\n'
    for path, values, code in (
        ("run.precondition", '"none", "steady"', "L012"),
        ("job.rate_iops", "100, 200", "L016"),
        ("ftl.overprovisioning", "0.02, 0.2", "L010"),
    ):
        text = study('columns = ["tail = host.write.latency_us.p99"]')
        text = text.partition("[[axis]]")[0] + axis % (path, values)
        (folder / "study.toml").write_text(text)
        assert code not in codes("study.toml")


def test_jobs_are_judged_on_a_drive(folder: Path):
    assert codes("reads.fio") == []
    assert codes("reads.fio", drive="modern_tlc") == ["L013"]
    assert codes("reads.fio", drive="modern_tlc", precondition="fill") == []
    assert codes(WRITES, drive="modern_tlc") == ["L012"]
    assert codes(WRITES, drive="modern_tlc", until="settled") == []
    assert codes("short.fio", drive="tiny", precondition="fill") == ["L014"]
    with refused("precondition: 'full'"):
        nandlab.lint("reads.fio", drive="tiny", precondition="full")


def test_reports():
    writes = "[a]\nrw=randwrite\nnorandommap\nnumber_ios=3000\n"
    assert "L014" in codes(nandlab.run("tiny", writes, precondition="fill"))
    reads = nandlab.run("tiny", "[a]\nrw=randread\nnumber_ios=300\n")
    assert codes(reads) == ["L013"]
    assert codes(reads.to_dict()) == ["L013"]
    full = nandlab.run("tiny", "[a]\nrw=randread\nnumber_ios=300\n", precondition="fill")
    assert codes(full) == []
    small = {"chip.geometry.blocks_per_plane": 64}
    mixed = "[a]\nrw=randrw\niodepth=8\nnorandommap\nnumber_ios=3000\n"
    settled = nandlab.run("tiny", mixed, precondition="steady", until="settled", set=small)
    assert codes(settled) == []


def test_a_report_says_what_its_run_said():
    """The same rule and the same words as the notices of a run."""
    result = nandlab.run("tiny", "[a]\nrw=randread\nnumber_ios=300\n")
    [one] = nandlab.lint(result)
    assert one.says in result.to_dict()["nandlab"]["notices"]


def test_a_stalling_closed_loop():
    small = {"chip.geometry.blocks_per_plane": 64}
    job = "[a]\nrw=randwrite\nnorandommap\nnumber_ios=20000\n%s"
    closed = nandlab.run("tiny", job % "", precondition="steady", set=small, until="settled")
    assert codes(closed) == ["L016"]
    rate = "iodepth=4096\nrate_iops=4000\nrate_process=poisson\n"
    given = nandlab.run("tiny", job % rate, precondition="steady", set=small)
    assert "L016" not in codes(given)


def test_sums_of_checks():
    """FIFO's amplification by its table, and the parity of a code of 100 errors in 4320 bytes."""
    for alpha, expected in ((1.07, 7.817), (1.28, 2.481), (2.0, 1.255)):
        assert amplification(alpha) == pytest.approx(expected, abs=1e-3)
    assert bch_parity_bytes(100, 4096) == 200
    assert bch_parity_bytes(40, 512) == 65


def test_job_files_are_read_as_fio_does():
    text = "[global]\nblocksize=8k\n[a]\nreadwrite=randwrite ; x\n[b]\nbs=1m,4k\nrw=rw\n"
    a, b = jobs_of(text)
    assert (a.rw, a.at("rw"), a.options["bs"], a.at("bs")) == ("randwrite", 4, "8k", 2)
    assert (b.reads, b.writes, b.is_random) == (True, True, False)
    assert b.written_bytes(1 << 30) == (1 << 30) / 2
    [c] = jobs_of("[c]\nrw=randrw\nrwmixread=70\nnumber_ios=1k\nbs=8k,4k\nnumjobs=2\n")
    assert c.written_bytes(1 << 30) == pytest.approx(0.3 * 1024 * 4096 * 2)
    assert [in_bytes(each) for each in ("4k", "1M", "512", "7x", "2kib")] == [
        *(4096, 1 << 20, 512, None, 2048)
    ]
    assert in_bytes("50%", 1000) == 500

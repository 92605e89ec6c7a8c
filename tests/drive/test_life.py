"""A whole life of a drive: its end, its account, its demand, its files, and what is refused."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended, carries, refused, some

import nandlab
from nandlab import _core
from nandlab.life.result import COLUMNS
from nandlab.life.schema import life_schema

JOB = "[w]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=2000\nnorandommap=1\n"

SMALL = {"chip.geometry.blocks_per_plane": 64, "chip.geometry.pages_per_block": 32}
"""`tiny`, smaller: a cycle of its blocks takes some milliseconds."""

FAILING = {**SMALL, "chip.fault.median_ratings": 0.01, "chip.fault.spread": 0.1}
"""Its blocks fail after 85 cycles or so."""

CODED = {
    **SMALL,
    "chip.array": {"name": "power_law"},
    "ecc": {"model": "threshold", "t": 120, "t_soft": [120]},
}
"""Its blocks bear as many cycles as the code: some hundred."""


def test_a_life_ends_when_the_spare_is_used_up():
    life = nandlab.life("tiny", JOB, to_death=True, dwpd=2, windows=5, set=FAILING, seed=1)
    assert life.end == "spare"
    last = life.windows[-1]
    assert last.failed_blocks > 0
    assert last.read_us_p99 is None
    # Timed runs leave no trace: windows do not change the life.
    other = nandlab.life("tiny", JOB, to_death=True, dwpd=2, windows=1, set=FAILING, seed=1)
    assert other.tbw == pytest.approx(life.tbw, rel=1e-3)
    assert other.windows[-1].pe_cycles_max == last.pe_cycles_max


ZONED = {
    **FAILING,
    "ftl.name": "zoned",
    "ftl.max_active_zones": 4,
    "ftl.zrwa_bytes": 131072,
}
"""With zones of 2 MiB, and random write areas for those that ask for them."""

ZONE_JOB = "[w]\nzonemode=zbd\niodepth=8\nio_size=64m\n"

#: Options of a job on zones, and the write amplification: rests of zones that are padded.
ZONE_JOBS = [
    ("rw=write\nbs=64k\n", 1.0),
    ("rw=write\nbs=64k\nnandlab_append=1\n", 1.0),
    # A life counts what leaves the random write areas.
    ("rw=randwrite\nbs=16k\nnandlab_rewrite=50\n", 1.0),
    ("rw=randrw\nbs=16k\nmax_open_zones=4\n", 1.0),
    # 42 of 48 KiB fill a zone but for 32 KiB.
    ("rw=write\nbs=48k\n", 64 / 63),
    # Five jobs for four zones: they wait for each other.
    ("rw=write\nbs=64k\n" + "".join(f"{ZONE_JOB}rw=write\nbs=64k\n" for _ in range(4)), 1.0),
    ("rw=write\nbs=64k\n" + f"{ZONE_JOB}rw=trim\nbs=2m\n", 1.0),
]


@pytest.mark.parametrize(("options", "amplification"), some(ZONE_JOBS, 3))
@pytest.mark.parametrize("accelerate", [1, 4])
def test_zones_have_a_life(options: str, amplification: float, accelerate: int):
    """Resets, finishes and appends of jobs are carried out, to the end of the spare blocks."""
    asked = {"dwpd": 5, "windows": 2, "set": ZONED, "seed": 1, "accelerate": accelerate}
    life = nandlab.life("tiny", ZONE_JOB + options, years=0.05, **asked)
    assert life.end == "years"
    written = life.tbw * 1e12 / life.capacity_bytes
    # Batches and leaps end a little late.
    assert written == pytest.approx(5 * 365.25 * 0.05, rel=0.02)
    assert life.windows[-1].write_amplification == pytest.approx(amplification, rel=1e-3)
    dead = nandlab.life("tiny", ZONE_JOB + options, to_death=True, **asked)
    assert dead.end == "spare"
    # Their blocks bear some 85 cycles, and cycles are spread evenly over them.
    assert 80 < dead.windows[-1].pe_cycles_max < 100


def test_blocks_that_rest_live_longer():
    """By the closed form: a cycle counts as its rest says, also in leaps."""
    ends = {}
    for recovery, times in ((0.0, 1), (0.05, 1), (0.05, 20)):
        cell = {"preset": "wang2014_mlc", "wear": {"recovery": recovery}}
        life = nandlab.life(
            "tiny",
            JOB,
            to_death=True,
            dwpd=2,
            windows=3,
            set={**CODED, "chip.cell": cell},
            retention_hours=1.0,
            temperature_c=30.0,
            accelerate=times,
        )
        assert life.end == "uber"
        ends[recovery, times] = life
    plain, exact, leaping = (life.windows[-1].pe_cycles_max for life in ends.values())
    rest_hours = 8760 * ends[0.05, 1].years / ends[0.05, 1].windows[-1].pe_cycles_mean
    gain = 1 / (1 - 0.05 * math.log1p(rest_hours / 0.01))
    assert gain > 1.4
    assert exact == pytest.approx(gain * plain, rel=0.02)
    assert leaping == pytest.approx(exact, rel=0.03)
    # The limit is one of wear, whatever the cycles.
    ubers = [life.windows[-1].uber or 0.0 for life in ends.values()]
    assert 0 < max(ubers) < 2 * min(ubers)


def test_dwpd_tbw_and_years_are_one_account():
    life = nandlab.life("tiny", JOB, years=0.05, dwpd=3, windows=4, set=SMALL)
    assert life.end == "years"
    assert life.years == pytest.approx(0.05, rel=0.01)
    assert life.dwpd == pytest.approx(3, rel=0.01)
    days = life.years * 365
    assert life.tbw * 1e12 == pytest.approx(3 * days * life.capacity_bytes, rel=1e-6)
    a_day = nandlab.life(
        "tiny",
        JOB,
        years=0.05,
        writes_per_day=3 * life.capacity_bytes,
        windows=4,
        set=SMALL,
    )
    assert a_day.windows == life.windows
    # TBW = cycles x physical capacity / write amplification.
    physical = 8 * 64 * 32 * 8192
    cycles = life.windows[-1].pe_cycles_mean
    assert life.write_amplification is not None
    expected = cycles * physical / life.write_amplification
    assert life.tbw * 1e12 == pytest.approx(expected, rel=0.05)
    for window in life.windows[1:]:
        assert window.dwpd == pytest.approx(3, rel=0.05)


def test_a_job_with_a_rate_sets_the_pace():
    job = "[w]\nrw=randwrite\nbs=4k\nrate_iops=100\nnumber_ios=2000\nnorandommap=1\n"
    life = nandlab.life("tiny", job, years=0.001, windows=2, set=SMALL)
    hours = life.years * 8760
    assert life.tbw * 1e12 == pytest.approx(hours * 3600 * 100 * 4096, rel=0.02)


@pytest.mark.parametrize(
    ("hours", "t"), some([(24.0, 118), (100.0, 125), (24.0, 125), (100.0, 118)])
)
def test_a_life_ends_with_the_endurance_of_chip_and_code(hours: float, t: int):
    """Desnoyers' endurance: by retention time and code."""
    sets = {**CODED, "ecc": {"model": "threshold", "t": t, "t_soft": [t]}}
    life = nandlab.life(
        "tiny", JOB, to_death=True, dwpd=1, windows=2, retention_hours=hours, set=sets
    )
    assert life.end == "uber"
    chip = nandlab.Drive("tiny", set=sets)._source.loaded.config["chip"]
    [point] = nandlab.endurance(
        chip,
        retention_hours=hours,
        temperature_c=30,
        t=t,
        codeword_bits=8 * 4096,
        user_bits=8 * 4096,
    ).points
    last = life.windows[-1]
    assert last.pe_cycles_max == point.pe_cycles
    assert last.uber == pytest.approx(1e-15, rel=0.3, abs=0)
    assert last.pe_cycles_mean == pytest.approx(point.pe_cycles, rel=0.1)


def test_an_accelerated_life_is_like_the_exact_one():
    """The tests of the core compare more of them."""
    sets = {**FAILING, "chip.fault.median_ratings": 0.03}
    exact, fast = (
        nandlab.life("tiny", JOB, to_death=True, dwpd=1, windows=2, set=sets, accelerate=times)
        for times in (1, 20)
    )
    assert fast.facts.acceleration == 20
    assert fast.tbw == pytest.approx(exact.tbw, rel=0.03)
    assert fast.write_amplification == pytest.approx(exact.write_amplification, rel=0.03)
    assert fast.end == exact.end


def test_auto_accelerates_what_would_take_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules["nandlab.life.whole"], "EXACT_UNITS", 1e7)
    short, long = (
        nandlab.life("tiny", JOB, years=years, dwpd=2, windows=1, set=SMALL) for years in (0.02, 2)
    )
    assert short.facts.acceleration == 1
    assert long.facts.acceleration > 2
    assert long.years == pytest.approx(2, rel=1e-3)
    assert long.tbw == pytest.approx(100 * short.tbw, rel=0.03)


def test_data_that_stay_are_named():
    job = "[w]\nrw=randwrite\nbs=4k\nnumber_ios=500\nnorandommap=1\nsize=40%\n"
    life = nandlab.life("tiny", job, to_death=True, dwpd=1, windows=1, set=FAILING, accelerate=20)
    [note] = [note for note in life.notes if "accelerate" in note]
    carries(note, "static data")
    exact = nandlab.life("tiny", job, to_death=True, dwpd=1, windows=1, set=FAILING, accelerate=1)
    assert not any("accelerate" in note for note in exact.notes)


def test_a_trace_and_an_ftl_of_ones_own_can_live():
    trace = Path(__file__).parents[2] / "examples/traces/sqlite_ext4.iolog.zst"
    life = nandlab.life(
        "tiny", trace=trace, years=0.01, dwpd=1, windows=1, until="2000", precondition="fill"
    )
    assert life.years == pytest.approx(0.01, rel=0.05)

    class Emptiest(nandlab.ftl.PageHooks):
        pass

    life = nandlab.life("tiny", JOB, years=0.002, dwpd=1, windows=1, set=SMALL, ftl=Emptiest)
    assert life.facts.acceleration == 1


def test_files_and_table_have_every_window(nandlab: Callable[..., Ended], folder: Path):
    import pyarrow.parquet as pq

    (folder / "jobs.fio").write_text(JOB)
    ended = nandlab(
        *("life", "--drive", "tiny", "--workload", "jobs.fio", "--to-death", "--dwpd", "1"),
        *("--windows", "3", "--json", "life.json", "--parquet", "life.parquet"),
        *("--plot", "life.png", "--quiet"),
        *(f"--set={key}={value}" for key, value in FAILING.items()),
    ).succeeded()
    assert ended.out == ""
    whole = json.loads((folder / "life.json").read_text())
    table = pq.read_table(folder / "life.parquet")
    assert table.column_names == list(COLUMNS)
    assert table.to_pylist() == whole["windows"]
    assert whole["end"] == "spare"
    assert (folder / "life.png").stat().st_size > 10_000


REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["neither", "years", "to_death"]),
    ({"years": 1, "to_death": True}, ["years and to_death"]),
    ({"years": -1}, ["years", "-1"]),
    ({"years": 1, "windows": 0}, ["windows"]),
    ({"years": 1, "dwpd": 1, "writes_per_day": "1GB"}, ["writes_per_day", "dwpd"]),
    ({"years": 1, "writes_per_day": "ten"}, ["writes_per_day", "'ten'", "20GB"]),
    ({"years": 1, "dwpd": 0}, ["dwpd", "0"]),
    ({"years": 1, "accelerate": "much"}, ["accelerate", "'much'"]),
    ({"years": 1, "accelerate": 0.5}, ["accelerate", "0.5"]),
    ({"years": 1, "profile": "clint"}, ["`client`"]),
    ({"years": 1, "uber": 2}, ["uber", "2"]),
    ({"years": 1, "precondition": "none"}, ["fill", "steady", "rested"]),
    ({"years": 1, "workload": "[r]\nrw=randread\nnumber_ios=10\n"}, ["writes nothing"]),
]


@pytest.mark.parametrize(("given", "parts"), REFUSED)
def test_bad_input_is_refused(given: dict[str, Any], parts: list[str]):
    with refused(*parts):
        nandlab.life("tiny", **{"workload": JOB, "set": SMALL, **given})


def test_an_interrupted_life_keeps_its_windows():
    def stop(progress: nandlab.Progress) -> None:
        if progress.phase == "life":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(nandlab.LifeUnfinished) as ended:
        nandlab.life("tiny", JOB, years=100, dwpd=100, windows=1, set=SMALL, progress=stop)
    assert ended.value.result.end == "interrupted"
    assert len(ended.value.result.windows) == 1


KINDS = {"number": float, "integer": int, "string": str, "object": dict, "array": list}


def test_a_life_has_the_keys_and_types_of_its_schema():
    schema = life_schema()
    life = nandlab.life("tiny", JOB, years=0.001, dwpd=1, windows=1, set=SMALL)
    told = life.to_dict()
    tables = [(schema, told), *((schema["$defs"]["Window"], row) for row in told["windows"])]
    for of, table in tables:
        assert of["required"] == [*table] == [*of["properties"]]
        for key, value in table.items():
            kinds = of["properties"][key]["type"]
            allowed = [KINDS.get(kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
            assert (None if value is None else type(value)) in allowed, key
            assert of["properties"][key]["description"], key


def test_cycles_of_blocks_are_those_of_the_drive():
    drive = nandlab.Drive("tiny", set=SMALL)
    drive.precondition("fill")
    drive.age(cycles=5)
    cycles = drive.block_cycles
    assert (cycles.min(), cycles.max()) == (drive.pe_cycles.min, drive.pe_cycles.max)
    assert cycles.mean() == pytest.approx(drive.pe_cycles.mean)


def test_a_life_ends_where_a_timed_run_loses_data():
    """A demand that the code meets for longer than the pages of a run."""
    life = nandlab.life(
        *("tiny", JOB),
        to_death=True,
        dwpd=1,
        windows=10,
        uber=2e-5,
        retention_hours=0,
        set=CODED,
        accelerate=20,
    )
    assert life.end == "errors"
    assert life.windows[-1].uncorrectable
    assert not any(window.uncorrectable for window in life.windows[:-1])


def test_refresh_wears_a_drive_that_is_hardly_written() -> None:
    """Every month, blocks with data are rewritten, whatever the host writes."""
    wear = {}
    for after_hours in (0, 730):
        changes = {**SMALL, "refresh.after_hours": after_hours}
        life = nandlab.life("tiny", JOB, years=2, writes_per_day="1m", windows=2, set=changes)
        assert life.facts.acceleration == 1
        wear[after_hours] = life.windows[-1].pe_cycles_mean
    assert wear[730] - wear[0] > 0.5 * 2 * 12
    changes = {**SMALL, "refresh.after_hours": 730}
    with refused("accelerate"):
        nandlab.life("tiny", JOB, years=1, writes_per_day="1m", accelerate=10, set=changes)


def of_a_page(job: str, sets: dict[str, Any], **asked: object) -> tuple[str, list[dict[str, Any]]]:
    """End and windows of a life in the session of a page."""
    session = _core.Window(1 << 32)

    def call(method: str, **params: object) -> dict[str, Any]:
        answer = json.loads(session.call(json.dumps({"method": method, **params})))
        found: dict[str, Any] = answer["ok"]
        return found

    build = {"config": {"drive": "tiny"}, "set": sets, "job": job, "seed": 3}
    call("build", precondition="fill", **build)
    life = call("life", accelerate=1, **asked)["life"]
    rows: list[dict[str, Any]] = []
    while True:
        told = call("live", life=life, since=len(rows), units=10_000, requests=700)
        rows += told["windows"]
        if told["end"]:
            return told["end"], rows


PACED = JOB.replace("number_ios=2000", "number_ios=1000") + "rate_iops=100\n"

PAGES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    (JOB, FAILING, {"to_death": True, "dwpd": 2}, {"dwpd": 2}, "spare"),
    (PACED, SMALL, {"years": 0.001}, {"years": 0.001}, "years"),
    (JOB, CODED, {"to_death": True, "dwpd": 1, "retention_hours": 24}, {"dwpd": 1}, "uber"),
]
"""Jobs, drives, and lives as the command and as a page ask for them."""


@pytest.mark.parametrize(("job", "sets", "command", "page", "end"), PAGES)
def test_a_page_lives_the_life_of_the_command(
    job: str, sets: dict[str, Any], command: dict[str, Any], page: dict[str, Any], end: str
):
    """Figure by figure; a page that is told the limit of the data ends with it."""
    life = nandlab.life("tiny", job, windows=3, seed=3, set=sets, accelerate=1, **command)
    assert life.end == end
    if end == "uber":
        page = {**page, "most_cycles": life.windows[-1].pe_cycles_max}
    ended, rows = of_a_page(job, sets, windows=3, **page)
    assert ended == ("limit" if end == "uber" else end)
    # The page has no code: it knows no UBER.
    told = [name for name in COLUMNS if name not in ("uber", "uber_of_code")]
    assert [[row.get(name) for name in told] for row in rows] == [
        [row[name] for name in told] for row in life.rows()
    ]


def test_a_life_ends_with_the_first_set_without_spare_blocks():
    """Two sets of dies: the job wears one of them, and the life says which."""
    sets = {**FAILING, "ftl.overprovisioning": 0.6, "namespace": [{"dies": 2}, {"dies": 2}]}
    job = JOB + "filename=/dev/nvme0n2\n"
    life = nandlab.life("tiny", job, to_death=True, dwpd=2, windows=2, set=sets)
    assert life.end == "spare"
    [note] = [note for note in life.notes if "NVM set" in note]
    carries(note, "NVM set 2")


def test_replicates_are_lives_of_the_next_seeds():
    given: dict[str, Any] = {"to_death": True, "dwpd": 2, "windows": 1, "set": FAILING}
    life = nandlab.life("tiny", JOB, seed=5, replicates=3, workers=2, **given)
    alone = [nandlab.life("tiny", JOB, seed=seed, **given) for seed in (5, 6, 7)]
    assert life.windows == alone[0].windows
    assert life.replicates is not None
    assert life.replicates["seeds"] == [5, 6, 7]
    assert life.replicates["ends"] == ["spare"] * 3
    tbw = life.replicates["figures"]["tbw"]
    assert tbw["each"] == [one.tbw for one in alone]
    mean = sum(tbw["each"]) / 3
    spread = math.sqrt(sum((each - mean) ** 2 for each in tbw["each"]) / 2)
    # Student's t of two degrees of freedom.
    half = 4.302653 * spread / math.sqrt(3)
    assert tbw["high"] - mean == pytest.approx(half, rel=1e-5)
    assert mean - tbw["low"] == pytest.approx(half, rel=1e-5)
    assert half > 0

"""FTLs in Python: good ones, each broken promise by its name, exceptions, clones, saved drives."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import carries, refused, some
from waiting import until

import nandlab
from nandlab.ftl import Ftl, Page, PageHooks

JOB = "[mix]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=3000\nnorandommap=1\n"
WRITES = "[w]\nrw=randwrite\nbs=4k\niodepth=16\nnumber_ios=20000\nnorandommap=1\n"
MEASURED = ("wall_s", "precondition_wall_s", "requests_per_wall_s", "peak_rss_mb")


def report(result: nandlab.Result) -> dict[str, Any]:
    """The report without what the machine decides."""
    found = result.to_dict()
    found["sim"] = {key: value for key, value in found["sim"].items() if key not in MEASURED}
    return found


class Plain(Page):
    """The FTL that is shipped, by another name."""


@pytest.mark.parametrize("policy", some(["greedy", "fifo", "cost_benefit"]))
def test_page_in_python_is_the_member(policy: str) -> None:
    """Every figure is the same, and the victims are those of ``gc``; the host is paced."""
    alike = {"chip.geometry.planes_per_die": 1, "ftl.static_wear_delta": 0}
    sets = {"chip.geometry.planes_per_die": 1, "gc.name": policy}
    begun = {"precondition": "steady"}
    member = nandlab.run("tiny", WRITES, set={**alike, **sets}, **begun)
    ours = nandlab.run("tiny", WRITES, set=sets, ftl=Page, **begun)
    rooms = ["host", "ftl", "nand", "dies", "channels", "buffer"]
    found, expected = report(ours), report(member)
    for of in (found, expected):
        # What the firmware needs for its tables is another account.
        of["ftl"] = {k: v for k, v in of["ftl"].items() if "bytes" not in k}
    assert [found[room] for room in rooms] == [expected[room] for room in rooms]
    left = nandlab.run("tiny", WRITES, set={**sets, "gc.paced": False}, ftl=Page, **begun)
    tails = [each.to_dict()["host"]["write"]["latency_us"]["p99_9"] for each in (left, ours)]
    assert tails[0] > 3 * tails[1]


def test_a_policy_without_effect_is_refused() -> None:
    """Who picks the victims in a method leaves nothing to ``gc.name``."""
    for set in ({"gc.name": "fifo"}, {"gc.d": 5}):
        with refused(*set, "Told", "victims"):
            nandlab.run("tiny", JOB, ftl=Told, set=set)


class Told(Plain):
    """It has every method, and keeps a map of its own."""

    streams = 2
    open_blocks = 3

    def begin(self) -> None:
        self.where = [-1] * self.flash.logical_units
        self.calls = {"victim": 0, "collect": 0, "erased": 0, "trimmed": 0}

    def stream(self, unit: int, hint: int) -> int:
        return int(unit < self.flash.logical_units // 10)

    def victim(self, die: int) -> int | None:
        self.calls["victim"] += 1
        blocks, valid, age = self.flash.candidates(die)
        assert len(blocks) == len(valid) == len(age) == len(self.flash.full_blocks(die))
        if len(blocks) == 0:
            return None
        victim = int(blocks[valid.argmin()])
        assert self.flash.emptiest(die) in (victim, None) or valid.min() == self.flash.valid(victim)
        units = self.flash.units_of(victim)
        assert len(units) == self.flash.valid(victim)
        assert all(self.flash.block_of(int(unit)) == victim for unit in units)
        return victim

    def collect(self, die: int, is_idle: bool) -> bool:
        self.calls["collect"] += 1
        return self.flash.free_blocks(die) < 5

    def programmed(self, block: int, units: tuple[int, ...], is_moved: bool) -> None:
        for unit in units:
            assert self.flash.block_of(unit) == block
            self.where[unit] = block

    def erased(self, block: int) -> None:
        self.calls["erased"] += 1
        assert self.flash.status(block) == "free"
        assert self.flash.valid(block) == 0

    def trimmed(self, unit: int) -> None:
        self.calls["trimmed"] += 1
        self.where[unit] = -1
        assert self.flash.block_of(unit) is None


class Streams(PageHooks):
    """Two streams by address, the emptiest block, collection earlier than `page` begins."""

    streams = 2

    def stream(self, unit: int, hint: int) -> int:
        return int(unit < 20000)

    def victim(self, plane: int, blocks: Any, valid: Any, age: Any) -> int:
        assert len(blocks) == len(valid) == len(age) > 0
        return int(blocks[valid.argmin()])

    def collect(self, die: int, free_blocks: int, is_idle: bool) -> bool:
        return free_blocks < 5


@pytest.mark.parametrize(
    ("precondition", "ftl"),
    some(
        [
            *[("none", Plain), ("none", Told), ("steady", Plain), ("steady", Streams)],
            *[("none", Streams), ("steady", Told)],
        ],
        4,
    ),
)
def test_a_run_is_sound_and_repeats(ftl: Any, precondition: str) -> None:
    first = nandlab.run("tiny", JOB, precondition=precondition, ftl=ftl)
    assert first.checks.ok
    again = nandlab.run("tiny", JOB, precondition=precondition, ftl=ftl)
    assert report(first) == report(again)
    if precondition == "steady":
        assert first.to_dict()["sim"]["precondition_write_amplification"] > 1.1


def test_hooks_that_do_what_page_does_are_page() -> None:
    class Nothing(PageHooks):
        pass

    class Greedy(PageHooks):
        def victim(self, plane: int, blocks: Any, valid: Any, age: Any) -> int:
            return int(blocks[valid.argmin()])

    for set in ({}, {"ftl.static_wear_delta": 5, "gc.background_free_blocks": 6}):
        page = report(nandlab.run("tiny", WRITES, precondition="steady", set=set))
        hooked = report(nandlab.run("tiny", WRITES, precondition="steady", set=set, ftl=Nothing))
        for key in ("host", "ftl", "nand", "jobs"):
            assert hooked[key] == page[key]
        greedy = nandlab.run("tiny", WRITES, precondition="steady", set=set, ftl=Greedy)
        found, expected = greedy.to_dict()["ftl"], page["ftl"]
        amplification = "write_amplification"
        assert found[amplification] == pytest.approx(expected[amplification], rel=0.03)


class HotMoves(PageHooks):
    """Moved data of the hot tenth of the units have blocks of their own."""

    move_streams = 2

    def begin(self, logical_units: int) -> None:
        self.hot = logical_units // 10
        self.block_of: dict[int, int] = {}

    def stream_moves(self, unit: int) -> int:
        assert unit in self.block_of
        return int(unit < self.hot)

    def programmed(self, block: int, units: tuple[int, ...], is_moved: bool) -> None:
        self.block_of |= dict.fromkeys(units, block)

    def trimmed(self, unit: int) -> None:
        self.block_of.pop(unit, None)


def test_sorted_moves_are_fewer() -> None:
    """Hot and cold data that collection keeps apart are moved less, and need no more padding."""
    job = (
        "[w]\nrw=randwrite\nbs=4k\niodepth=16\nnumber_ios=100000\nnorandommap=1\n"
        "random_distribution=zoned:90/10:10/90\n"
    )
    set = {
        **{"chip.geometry.blocks_per_plane": 128, "chip.geometry.pages_per_block": 32},
        **{"buffer.bytes": 65536, "ftl.overprovisioning": 0.25, "ftl.static_wear_delta": 0},
    }
    page, hooked = (
        nandlab.run("tiny", job, precondition="steady", set=set, ftl=ftl).to_dict()["ftl"]
        for ftl in (None, HotMoves)
    )
    name = "write_amplification_flash"
    assert hooked[name] < 0.92 * page[name]
    assert hooked["padding_units"] <= page["padding_units"] + 1000


def test_reclaimed_blocks_do_not_wait_for_others() -> None:
    """Blocks that are moved off for their reads are erased, also where moved data are sorted."""
    job = "[r]\nrw=randread\nbs=4k\niodepth=16\nsize=4m\nnumber_ios=60000\nnorandommap=1\n"
    set = {"gc.reclaim_reads": 1000}
    page, hooked = (
        nandlab.run("tiny", job, precondition="fill", set=set, ftl=ftl).to_dict()
        for ftl in (None, HotMoves)
    )
    assert page["nand"]["erases"] > 0
    assert hooked["nand"]["erases"] == page["nand"]["erases"]


def test_a_plain_log_is_about_page() -> None:
    page = nandlab.run("tiny", WRITES, precondition="steady").to_dict()
    plain = nandlab.run("tiny", WRITES, precondition="steady", ftl=Plain).to_dict()
    name = "precondition_write_amplification"
    assert plain["sim"][name] == pytest.approx(page["sim"][name], rel=0.05)


def test_the_report_names_the_class_and_its_parameters() -> None:
    class Windowed(Plain):
        def __init__(self, window: int) -> None:
            self.window = window
            self.seen: set[int] = set()

    page = nandlab.run("tiny", JOB)
    runs = [nandlab.run("tiny", JOB, ftl=ftl) for ftl in (Plain, Windowed(3), Windowed(4))]
    hashes = {run.to_dict()["nandlab"]["config_hash"] for run in (page, *runs)}
    assert len(hashes) == 4
    config = runs[1].to_dict()["nandlab"]["config"]["ftl"]
    assert config["name"] == "Windowed"
    assert config["own"]["class"].endswith("Windowed")
    assert config["own"]["attributes"]["window"] == 3
    assert len(config["own"]["source"]) == 16
    again = nandlab.run("tiny", JOB, ftl=Windowed(3)).to_dict()["nandlab"]
    assert again["config_hash"] == runs[1].to_dict()["nandlab"]["config_hash"]


@pytest.mark.parametrize("ftl", [Plain, Told, Streams])
def test_conformance(ftl: Any) -> None:
    found = nandlab.ftl.check(ftl, storms=1)
    assert found.name == ftl.__name__
    assert found.drives >= 12
    assert found.requests > 20000
    assert min(found.host_units, found.moved_units, found.erases) > 1000


# --- Broken promises -----------------------------------------------------------------------------


def of(**methods: Callable[..., Any]) -> type[Plain]:
    """A plain FTL with other methods."""
    return type("Mine", (Plain,), methods)


def once(later: int, answer: Callable[[Any], Any], name: str) -> Callable[..., Any]:
    """A method that answers as the plain one does, and then so."""
    usual = getattr(Plain, name)

    def method(self: Any, *given: Any) -> Any:
        self.called = getattr(self, "called", 0) + 1
        return answer(self) if self.called > later else usual(self, *given)

    return method


def eager(flash: Any, die: int) -> int:
    """The open block of a die or any free one, and none left for collection."""
    block = flash.open_block(die, 0)
    return flash.free_block(die) if block is None else block


#: FTL, the call that broke a promise, and what is said of it behind the call.
BROKEN: list[tuple[type[Plain], str, list[str]]] = [
    (of(place=lambda *_: 10**6), r"Mine\.place\(0, \(.*\), \(0, 1, 2, 3\)\)", ["block 1000000"]),
    (of(place=lambda *_: "x"), r"Mine\.place\(0", ["'x'", "a block"]),
    (of(place=lambda *_: -1), r"Mine\.place\(0", ["-1"]),
    (of(place=lambda *_: None), r"Mine\.place\(0", ["None", "no job"]),
    (
        of(place=lambda self, stream, units, dies: self.flash.free_block(dies[0])),
        r"Mine\.place\(0",
        ["open already", "open_blocks"],
    ),
    (
        of(place=once(3000, lambda self: int(self.flash.full_blocks(0)[0]), "place")),
        r"Mine\.place\(0",
        ["full", "free block"],
    ),
    (
        of(place=lambda self, stream, units, dies: eager(self.flash, dies[0])),
        r"Mine\.place\(0",
        ["last 1", "gc_reserve_blocks"],
    ),
    (
        # By collection, or none where it has just begun.
        of(place=once(6000, lambda self: self.flash.open_block(0), "place")),
        r"Mine\.place\(0.*(`place_moves`|None)",
        [],
    ),
    (of(place_moves=lambda *_: None), r"Mine\.place_moves\(\d, \(", ["None", "gc_reserve_blocks"]),
    (of(place_moves=lambda *_: 10**6), r"Mine\.place_moves\(\d", ["block 1000000"]),
    (of(victim=lambda *_: 10**6), r"Mine\.victim\(\d\)", ["block 1000000", "full block of die"]),
    (
        of(victim=lambda self, die: self.flash.free_block(die)),
        r"Mine\.victim\(\d\)",
        ["is free", "full block of die"],
    ),
    (
        of(victim=lambda self, die: int(self.flash.full_blocks((die + 1) % 4)[0])),
        r"Mine\.victim\((\d)\)",
        ["belongs", "full block of die"],
    ),
    (of(victim=lambda *_: None), r"Mine\.place\(0", ["no job"]),
    (
        of(victim=lambda self, die: int(max(self.flash.full_blocks(die), key=self.flash.valid))),
        r"Mine\.victim\(\d\)",
        ["units", "moved", "internal work"],
    ),
    (of(streams=2, stream=lambda *_: 2), r"Mine\.stream\(\d+, 0\)", ["2 is no stream", "0 to 1"]),
    (of(streams=2, stream=lambda *_: None), r"Mine\.stream\(\d+, 0\)", ["None"]),
]


@pytest.mark.parametrize(("ftl", "call", "parts"), BROKEN)
@pytest.mark.parametrize("precondition", ["none", "steady"])
def test_a_broken_promise_is_named(
    ftl: type[Plain], call: str, parts: list[str], precondition: str
) -> None:
    small = {"chip.geometry.blocks_per_plane": 24, "ftl.overprovisioning": 0.5}
    job = WRITES.replace("20000", "80000")
    with pytest.raises(nandlab.NandlabError, match=f"(?s){call}") as caught:
        nandlab.run("tiny", job, precondition=precondition, set=small, ftl=ftl)
    assert "please report" not in carries(behind(call, caught.value), *parts)


def behind(call: str, error: nandlab.NandlabError) -> str:
    """What an error says behind the call that it names."""
    return re.split(call, str(error), maxsplit=1, flags=re.DOTALL)[-1]


@pytest.mark.parametrize(("ftl", "call", "parts"), BROKEN[:4] + BROKEN[8:13])
def test_check_names_it_too(ftl: type[Plain], call: str, parts: list[str]) -> None:
    any_dies = call.replace(r"\(0, 1, 2, 3\)", r"\(.*\)")
    with pytest.raises(nandlab.NandlabError, match=f"(?s){any_dies}") as caught:
        nandlab.ftl.check(ftl, storms=1)
    carries(caught.value, *parts)


@pytest.mark.parametrize(
    ("methods", "call", "parts"),
    [
        ({"streams": 2, "stream": lambda *_: 5}, r"Mine\.stream\(\d+, 0\)", ["5 is no stream"]),
        ({"victim": lambda *_: 10**6}, r"Mine\.victim\(\d, \d+ blocks\)", ["1000000", "not among"]),
        ({"victim": lambda *_: "x"}, r"Mine\.victim\(\d", ["'x'"]),
        (
            {"move_streams": 2, "stream_moves": lambda *_: 2},
            r"Mine\.stream_moves\(\d+\)",
            ["2 is no stream", "0 to 1", "move_streams"],
        ),
        ({"erased": lambda *_: 1 / 0}, r"Mine\.erased\(\d+\)", ["ZeroDivisionError"]),
    ],
)
def test_a_broken_hook_is_named(methods: dict[str, Any], call: str, parts: list[str]) -> None:
    mine = type("Mine", (PageHooks,), methods)
    with pytest.raises(nandlab.NandlabError, match=call) as caught:
        nandlab.run("tiny", WRITES, precondition="steady", ftl=mine)
    carries(caught.value, *parts)


# --- Exceptions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["begin", "stream", "place", "place_moves", "victim", "collect"])
def test_an_exception_keeps_its_traceback(name: str) -> None:
    def fails(self: Any, *_: Any) -> Any:
        raise ZeroDivisionError("by my own hand")

    mine = type("Mine", (Plain,), {name: fails, "streams": 2, "open_blocks": 3})
    with pytest.raises(
        nandlab.NandlabError, match=rf"Mine\.{name}\(.*ZeroDivisionError: by my"
    ) as caught:
        nandlab.run("tiny", WRITES.replace("20000", "200000"), precondition="fill", ftl=mine)
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    trace = cause.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    assert trace.tb_frame.f_code is fails.__code__


def test_ctrl_c_ends_a_run_and_a_method_that_does_not_end() -> None:
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals go to the main thread")
    # A shell that starts the tests in the background makes them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    is_under_way = threading.Event()
    turns: list[float] = []
    pressed: list[float] = []

    class Working(Plain):
        def place(self, stream: int, units: tuple[int, ...], dies: tuple[int, ...]) -> int | None:
            if self.flash.clock > 5000:
                is_under_way.set()
            return super().place(stream, units, dies)

    class Endless(Plain):
        def place(self, stream: int, units: tuple[int, ...], dies: tuple[int, ...]) -> int | None:
            if self.flash.clock > 5000:
                is_under_way.set()
                while True:
                    turns.append(time.monotonic())
                    time.sleep(0.01)
            return super().place(stream, units, dies)

    def press(is_stuck: bool) -> None:
        is_under_way.wait(20)
        pressed.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)
        if is_stuck:
            # The first one has been seen when the method has gone on behind it for a while.
            seen = len(turns) + 70
            until(lambda: len(turns) >= seen, what="turn of the endless method")
            signal.raise_signal(signal.SIGINT)

    try:
        for ftl in (Endless, Working):
            is_under_way.clear()
            pressed.clear()
            presses = threading.Thread(target=press, args=(ftl is Endless,))
            presses.start()
            endless = "[w]\nrw=randwrite\nbs=4k\ntime_based\nruntime=100000\n"
            try:
                with pytest.raises(nandlab.Interrupted) as caught:
                    nandlab.run("tiny", endless, ftl=ftl)
                assert time.monotonic() - pressed[0] < 5
                assert caught.value.result.to_dict()["host"]["requests_completed"] > 100
            finally:
                try:
                    presses.join()
                except KeyboardInterrupt:
                    presses.join()
    finally:
        signal.signal(signal.SIGINT, before)


# --- Arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        (3, ["3", "nandlab.ftl.Ftl"]),
        (Ftl, ["nandlab.ftl.Ftl"]),
        (dict, ["dict", "nandlab.ftl.Ftl"]),
        (type("Mine", (Ftl,), {"place": Plain.place}), ["`Mine`", "`place_moves`"]),
        (of(streams=17), ["Mine.streams", "17"]),
        (of(open_blocks=0), ["Mine.open_blocks", "0"]),
        (of(stream=lambda *_: 0), ["Mine.stream", "`streams`"]),
    ],
)
def test_what_is_refused(given: Any, parts: list[str]) -> None:
    with refused(*parts):
        nandlab.run("tiny", JOB, ftl=given)


def test_as_many_streams_as_page_has() -> None:
    class Sixteen(PageHooks):
        streams = 16

        def stream(self, unit: int, hint: int) -> int:
            return unit % 16

    # Each stream has open blocks of its own.
    result = nandlab.run("tiny", JOB, ftl=Sixteen, set={"ftl.overprovisioning": 0.9})
    assert result.checks.ok


def test_no_other_ftl_beside_it() -> None:
    for sets in ({"ftl.name": "dftl"}, {"ftl.host_streams": 2}):
        for ftl in (Plain, Streams):
            with refused("ftl."):
                nandlab.run("tiny", JOB, set=sets, ftl=ftl)
    with refused("ftl."):
        nandlab.run("tiny", JOB, set={"ftl.superblock_dies": 0}, ftl=Plain)
    # That of the drive's file is not meant.
    tables = {"drive_preset": "tiny", "ftl": {"name": "dftl", "map_cache_bytes": 4096}}
    assert nandlab.run(tables, JOB, ftl=Plain).checks.ok


def test_hooks_decide_about_superblocks_and_after_power_cuts() -> None:
    """With superblocks a block of the hooks is a superblock; a cut ends with hooks that begin."""
    seen: dict[int, int] = {}

    class Told(nandlab.ftl.PageHooks):
        def victim(self, plane: int, blocks: Any, valid: Any, age: Any) -> int:
            seen[plane] = seen.get(plane, 0) + 1
            return int(blocks[valid.argmin()])

        def programmed(self, block: int, units: tuple[int, ...], is_moved: bool) -> None:
            seen[-1] = max(seen.get(-1, 0), block)

    together = {"ftl.superblock_dies": 0, "ftl.overprovisioning": 0.9}
    result = nandlab.run("tiny", JOB, ftl=Told, set=together)
    assert result.checks.ok
    # One span of all dies, with a superblock for each block of a plane.
    blocks = result.config["chip"]["geometry"]["blocks_per_plane"]
    assert set(seen) <= {-1, 0}
    assert seen[-1] < blocks
    cut = {"recovery.name": "scan_pages", "ftl.overprovisioning": 0.9}
    assert nandlab.run("tiny", JOB, ftl=Told, set=cut | together, cut_at=0.001).checks.ok


def test_the_flash_is_seen_inside_of_methods_only() -> None:
    kept: list[Any] = []

    class Keeping(Plain):
        def begin(self) -> None:
            kept.append(self.flash)

    nandlab.run("tiny", JOB, ftl=Keeping)
    assert kept[0].dies == 4
    with refused("flash", "inside a method"):
        kept[0].valid(0)

    class Asking(Plain):
        def begin(self) -> None:
            self.flash.valid(10**6)

    with refused("begin()", "block 1000000", "0 to"):
        nandlab.run("tiny", JOB, ftl=Asking)


# --- Drives as objects ---------------------------------------------------------------------------


@pytest.mark.parametrize("ftl", some([Streams, Told]))
def test_a_clone_has_a_copy_of_the_ftl(ftl: Any) -> None:
    alone = nandlab.run("tiny", JOB, precondition="steady", ftl=ftl)
    drive = nandlab.Drive("tiny", ftl=ftl).precondition("steady")
    clones = [drive.clone(), drive.clone()]
    for one in (*clones, drive):
        assert report(one.run(JOB)) == report(alone)
    # What one has learned does not reach another one.
    assert report(clones[0].run(WRITES)) == report(drive.run(WRITES))


def test_a_clone_that_cannot_be_copied_is_refused() -> None:
    class Locked(Plain):
        def begin(self) -> None:
            self.lock = threading.Lock()

    drive = nandlab.Drive("tiny", ftl=Locked).precondition("fill")
    with refused("Locked", "clone", "lock", "__deepcopy__"):
        drive.clone()


def test_runs_on_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    drive = nandlab.Drive("tiny", ftl=Told).precondition("fill")
    expected = report(drive.clone().run(JOB))
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda one: report(one.run(JOB)), [drive.clone() for _ in range(3)]):
            assert found == expected


def test_a_method_that_asks_for_its_own_drive_is_refused() -> None:
    drives: list[nandlab.Drive] = []

    class Curious(Plain):
        def place(self, stream: int, units: tuple[int, ...], dies: tuple[int, ...]) -> int | None:
            assert drives[0].capacity_bytes > 0
            return super().place(stream, units, dies)

    drives.append(nandlab.Drive("tiny", ftl=Curious))
    for act in (lambda: drives[0].precondition("fill"), lambda: drives[0].run(JOB)):
        with refused("Curious.place(0", "drive", "in a run"):
            act()


def test_another_thread_waits_for_a_drive() -> None:
    drive = nandlab.Drive("tiny", ftl=Told)
    preconditioning = threading.Thread(target=lambda: drive.precondition("fill"))
    preconditioning.start()
    while preconditioning.is_alive():
        assert drive.capacity_bytes > 0
    preconditioning.join()
    assert drive.run(JOB).checks.ok


def test_a_drive_is_saved_with_an_ftl_that_says_its_state(tmp_path: Path) -> None:
    path = tmp_path / "x.nldrive"
    drive = nandlab.Drive("tiny", ftl=Plain).precondition("fill")
    with refused("not supported", "saving", "`saved`", "`restore`"):
        drive.save(path)
    assert not path.exists()

    class Saved(Plain):
        def saved(self) -> str:
            return str(self.turn)

        def restore(self, text: str) -> None:
            self.turn = int(text)

    drive = nandlab.Drive("tiny", ftl=Saved).precondition("steady")
    drive.save(path)
    for given, said in [(None, "`Saved`"), (Plain, "`Plain`")]:
        with refused("ftl", said):
            nandlab.Drive.load(path, ftl=given)
    loaded = nandlab.Drive.load(path, ftl=Saved)
    for key in ("host", "ftl", "nand"):
        assert report(loaded.run(JOB))[key] == report(drive.run(JOB))[key]
    nandlab.Drive("tiny").save(path)
    with refused("ftl", "`page`", "saved"):
        nandlab.Drive.load(path, ftl=Plain)


def test_ages_by_writes() -> None:
    drive = nandlab.Drive("tiny", ftl=Told, set={"chip.geometry.blocks_per_plane": 32})
    drive.precondition("fill").age(cycles=3)
    assert drive.pe_cycles.mean >= 3
    assert drive.run(JOB).checks.ok

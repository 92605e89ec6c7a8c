"""What a served drive leaves behind: recordings, whole or cut off, and the file of its bytes."""

from __future__ import annotations

import re
import runpy
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nandlab as lab
from nandlab.trace.recording import commands_in
from tests.conftest import COMMAND, ROOT, Ended, carries, refused
from tests.device.clients import SMALL, Client
from tests.waiting import until

Run = Callable[..., Ended]
#: So many that Zstandard has written more than one block.
COUNT = 12000
#: A small drive whose old data need retries.
WORN = {
    "age.pe_cycles": 3000,
    "chip.geometry.blocks_per_plane": 24,
    "ftl.overprovisioning": 1,
}
KINDS = ("disk.iolog", "disk.iolog.gz", "disk.iolog.zst")


def recorded(path: str, count: int, hours: float | None = None) -> None:
    """Serves a drive that is written to, aged in the middle if hours are given, and read."""
    served = lab.serve("tiny", set=SMALL, clock="fast", record=path)
    with served as server, Client(server.uri) as client:
        for n in range(count):
            client.write(4096 * (n * 37 % 1000), bytes(4096))
            if hours is not None and n == count // 2:
                server.age(hours)


@pytest.mark.parametrize("path", KINDS)
def test_a_replay_says_that_the_drive_was_aged(folder: Path, path: str) -> None:
    """Its hours and its moment; a recording without commands has nothing to say."""
    recorded(path, 200, hours=17520)
    [command] = commands_in(path)
    assert (command.name, command.value) == ("age", "17520")
    replayed = lab.run("tiny", set=SMALL, trace=path)
    assert replayed.to_dict()["host"]["write"]["requests"] == 200
    [told] = [note for note in replayed.notices if path in note]
    carries(told, "17520")
    assert f"{command.now_ns / 1e9:,.6g}" in told
    recorded("plain.iolog", 50)
    assert commands_in("plain.iolog") == []
    assert not [note for note in lab.run("tiny", trace="plain.iolog").notices if "plain" in note]


def test_a_replay_has_the_same_errors_and_the_same_tail(folder: Path) -> None:
    """A worn drive is aged between its reads: the replay needs the same retries as the clients."""
    how: dict[str, Any] = {"set": WORN, "precondition": "fill"}
    with lab.serve("modern_qlc", clock="fast", store="b.img", record="a.iolog", **how) as server:
        with Client(server.uri) as client:
            for n in range(2000):
                client.read(4096 * (n * 997 % 20000), 4096)
                if n == 1000:
                    server.age(8760)
        served = server.stop()
    replayed = lab.run("modern_qlc", trace="a.iolog", **how)
    bare = Path("bare.iolog")
    bare.write_text(re.sub(r".*nandlab\.age.*\n", "", Path("a.iolog").read_text()))
    young = lab.run("modern_qlc", trace="bare.iolog", **how)
    errors = [one.to_dict()["ecc"]["hard_failures"] for one in (served, replayed, young)]
    assert errors[0] > 100
    assert errors[1] == pytest.approx(errors[0], rel=0.02)
    assert errors[2] < errors[0] / 2
    assert replayed.read.p99 == pytest.approx(served.read.p99, rel=0.02)
    assert young.read.p99 < 0.9 * served.read.p99


def test_a_replay_repeats_cuts_and_exchanges(folder: Path) -> None:
    """A power cut loses what the drive has, and later requests are served; a die is exchanged."""
    sets = {
        "chip.geometry.pages_per_block": 16,
        "chip.geometry.blocks_per_plane": 40,
        "ftl.overprovisioning": 1.5,
    }
    with lab.serve("tiny", set=sets, clock="fast", precondition="fill", record="a.iolog") as server:
        with Client(server.uri) as client:
            client.write(0, bytes(4096))
            server.exchange(2, way="suspended", pe_cycles=7)
            for n in range(500):
                client.read(4096 * n, 4096)
        served = server.stop().to_dict()
    replayed = lab.run("tiny", set=sets, trace="a.iolog", precondition="fill")
    report = replayed.to_dict()
    assert replayed.checks.ok
    for key in ("die", "way", "pe_cycles", "moved_units"):
        assert report["exchange"][key] == served["exchange"][key], key
    # With an option that changes when the drive does what, commands are left out.
    left_out = lab.run("tiny", set=sets, trace="a.iolog", precondition="fill", iodepth=4)
    assert "exchange" not in left_out.to_dict() or left_out.to_dict()["exchange"] is None
    assert [note for note in left_out.notices if "iodepth" in note and "die 2" in note]

    recovering = {**SMALL, "recovery.name": "scan_blocks"}
    with lab.serve("tiny", set=recovering, clock="fast", record="b.iolog") as server:
        for n in range(3):
            with Client(server.uri) as client:
                for at in range(100):
                    client.write(4096 * at, bytes(4096))
            if n < 2:
                server.cut()
                server.restore()
        server.stop()
    replayed = lab.run("tiny", set=recovering, trace="b.iolog")
    report = replayed.to_dict()
    assert replayed.checks.conservation_ok
    assert report["host"]["write"]["requests"] == 300
    assert not [note for note in replayed.notices if "not repeated" in note]
    # A drive without recovery cannot lose its power.
    other = lab.run("tiny", set=SMALL, trace="b.iolog")
    assert len([note for note in other.notices if "not repeated" in note]) == 4
    assert other.to_dict()["host"]["write"]["requests"] == 300


def test_every_command_is_recorded(folder: Path) -> None:
    """A power cut and an exchange are no requests either."""
    sets = {
        "chip.geometry.pages_per_block": 16,
        "chip.geometry.blocks_per_plane": 40,
        "ftl.overprovisioning": 1.5,
    }
    with lab.serve("tiny", set=sets, clock="fast", record="a.iolog") as server:
        with Client(server.uri) as client:
            client.write(0, bytes(4096))
        server.exchange(2)
    recovering = {**SMALL, "recovery.name": "scan_blocks"}
    with lab.serve("tiny", set=recovering, clock="fast", record="b.iolog") as server:
        with Client(server.uri) as client:
            client.write(0, bytes(4096))
        server.cut()
        server.restore()
    assert [(each.name, each.value) for each in commands_in("a.iolog")] == [("exchange", "2")]
    assert [each.name for each in commands_in("b.iolog")] == ["cut", "restore"]
    assert lab.run("tiny", set=SMALL, trace="b.iolog").checks.ok


@pytest.mark.parametrize("path", KINDS)
def test_a_recording_that_ends_early_is_read_to_its_last_whole_line(
    nandlab: Run, folder: Path, path: str
) -> None:
    """Wherever it is cut: no request is invented, none that is whole is lost, and it is said."""
    recorded(path, COUNT)
    every = Path(path).read_bytes()
    counts = []
    for share in (0.5, 0.9, 0.99):
        cut = Path(f"cut-{share}-{path}")
        # The last bytes of a plain file would be the end of a number.
        cut.write_bytes(every[: int(len(every) * share)])
        counts.append(lab.trace_info(cut)["requests"])
        if path == "disk.iolog":
            assert counts[-1] == cut.read_bytes().count(b" write ") - (
                b" write " in cut.read_bytes().splitlines()[-1]
            )
    assert counts == sorted(counts)
    assert counts[-1] <= COUNT
    assert counts[0] > 0
    replayed = lab.run("tiny", set=SMALL, trace="cut-0.99-" + path)
    assert replayed.to_dict()["host"]["write"]["requests"] == counts[-1]
    assert [note for note in replayed.notices if path in note]
    assert path in nandlab("trace", "info", "cut-0.99-" + path).err


def test_a_store_belongs_to_one_server(folder: Path) -> None:
    """The second is refused; those who only read share it; it is free once a server has ended."""
    how: dict[str, Any] = {"set": SMALL, "clock": "fast", "store": "disk.img"}
    with lab.serve("tiny", socket="a.sock", **how) as server:
        for readonly in (False, True):
            with refused("--store disk.img", "server"):
                lab.serve("tiny", socket="b.sock", readonly=readonly, **how)
        with Client(server.uri) as client:
            client.write(0, b"a" * 4096)
    readers = [lab.serve("tiny", socket=f"{name}.sock", readonly=True, **how) for name in "cd"]
    with refused("--store disk.img", "server"):
        lab.serve("tiny", socket="e.sock", **how)
    for reader in readers:
        reader.stop()
    lab.serve("tiny", socket="e.sock", **how).stop()


def test_a_killed_server_lets_go_of_its_store(folder: Path) -> None:
    """After `kill -9` the file is free, and its recording can be replayed."""
    sets = [f"--set={key}={value}" for key, value in SMALL.items()]
    command = [COMMAND, "nbd", "--drive", "tiny", *sets, "--clock", "fast", "--store", "disk.img"]
    command += ["--record", "disk.iolog", "--quiet", "--socket", "a.sock"]
    process = subprocess.Popen(command)
    try:
        until(lambda: Path("a.sock").exists(), what="socket")
        with Client("nbd+unix:///?socket=a.sock") as client:
            for n in range(1000):
                client.write(4096 * n, bytes(4096))
        with refused("--store disk.img", "server"):
            lab.serve("tiny", set=SMALL, socket="b.sock", store="disk.img")
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    finally:
        process.kill()
    lab.serve("tiny", set=SMALL, socket="b.sock", store="disk.img", clock="fast").stop()
    assert 0 < lab.trace_info("disk.iolog")["requests"] <= 1000
    assert lab.run("tiny", set=SMALL, trace="disk.iolog").checks.ok


def test_a_recording_keeps_placement_handles(folder: Path) -> None:
    """Writes of a host under two handles: a replay costs what they cost, and less than without."""
    cache = runpy.run_path(str(ROOT / "examples/device/flash_cache.py"))
    sets = {**cache["DRIVE"], "ftl.host_streams": 2}
    capacity = lab.Drive("tiny", set=sets).capacity_bytes
    how: dict[str, Any] = {"set": sets, "clock": "fast", "protocol": "nvme", "port": 0}
    with lab.serve("tiny", record="cache.iolog", **how) as server:
        cache["fill"](server.uri, capacity, 6, (1, 0))
        served = server.stop().to_dict()["endurance_group"]
    lines = Path("cache.iolog").read_text().splitlines()
    # Handle 0 is the default, and has no mark.
    written = {line.split(" write ")[1].count(" ") for line in lines if " write " in line}
    assert written == {1, 2}
    assert any(line.endswith(" 4096 1") for line in lines)
    replayed = lab.run("tiny", set=sets, trace="cache.iolog").to_dict()["endurance_group"]
    assert replayed["host_bytes"] == served["host_bytes"]
    assert replayed["media_bytes"] == pytest.approx(served["media_bytes"], rel=0.02)
    Path("plain.iolog").write_text(
        "\n".join(line.removesuffix(" 1") if " write " in line else line for line in lines) + "\n"
    )
    plain = lab.run("tiny", set=sets, trace="plain.iolog").to_dict()["endurance_group"]
    assert plain["media_bytes"] > 1.2 * served["media_bytes"]

"""Commands to a drive while clients use it: a die is exchanged, the drive is saved."""

from __future__ import annotations

import io
import json
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import nandlab as lab
from tests.conftest import Ended, carries, refused
from tests.device.clients import Client
from tests.waiting import until

Run = Callable[..., Ended]

#: A small drive with spare for a die.
ROOMY = {
    "chip.geometry.pages_per_block": 16,
    "chip.geometry.blocks_per_plane": 40,
    "ftl.overprovisioning": 1.5,
}
ROOMY_SETS = [f"--set={key}={value}" for key, value in ROOMY.items()]


class Model:
    """What a client has written, beside the drive."""

    def __init__(self, client: Client, seed: int = 1) -> None:
        self.client, self.bytes = client, bytearray(client.size_bytes)
        self._rng = random.Random(seed)

    def write(self, count: int) -> None:
        """Writes of bytes that do not repeat, and a read of each other's."""
        for _ in range(count):
            length = 512 * self._rng.randint(1, 24)
            offset = 512 * self._rng.randrange((len(self.bytes) - length) // 512)
            data = self._rng.randbytes(length)
            self.client.write(offset, data)
            self.bytes[offset : offset + length] = data
            at = 4096 * self._rng.randrange(len(self.bytes) // 4096)
            assert self.client.read(at, 4096) == self.bytes[at : at + 4096]

    def is_read_back(self) -> bool:
        """Whether the whole drive reads as it was written."""
        return whole(self.client) == self.bytes


def whole(client: Client) -> bytes:
    """All bytes of a drive."""
    return b"".join(client.read(at, 1 << 18) for at in range(0, client.size_bytes, 1 << 18))


def test_a_die_is_exchanged_while_clients_write(folder: Path) -> None:
    """What is written before, during and after both ways reads back; the report has them."""
    with lab.serve("tiny", set=ROOMY, clock="fast", precondition="fill") as server:
        with Client(server.uri) as client:
            model = Model(client)
            for die, way in ((1, "in_service"), (2, "suspended")):
                model.write(100)
                server.exchange(die, way=way, pe_cycles=30)
                told = server.status().exchange
                assert told is not None
                assert (told["die"], told["way"], told["replaced_s"]) == (die, way, None)
                if way == "in_service":
                    with refused("exchange", "die 1", "being exchanged"):
                        server.exchange(3)
                    with refused("snapshot", "being exchanged", "hint"):
                        server.snapshot("no.nldrive")
                while not (server.status().exchange or {})["replaced_s"]:
                    model.write(10)
                model.write(100)
                assert model.is_read_back()
        result = server.stop()
    report = result.to_dict()
    first, second = report["device"]["exchanges"]
    assert report["exchange"] == second
    assert first["moved_units"] > 0
    assert first["dead_time_s"] == 0 < first["longest_without_service_ms"]
    assert 0 < second["dead_time_s"] * 1e3 <= second["longest_without_service_ms"]
    assert report["device"]["failed_requests"] == 0
    assert result.checks.ok


def test_an_exchange_goes_on_by_the_clock(folder: Path) -> None:
    """With a clock nobody has to ask for anything."""
    with lab.serve("tiny", set=ROOMY, clock="scaled=0.1", precondition="fill") as server:
        server.exchange(0)
        until(lambda: bool((server.status().exchange or {})["replaced_s"]), what="exchanged die")
        with Client(server.uri) as client:
            model = Model(client)
            model.write(20)
            assert model.is_read_back()


def test_what_cannot_be_exchanged_is_refused(folder: Path) -> None:
    """A die out of range, an unknown way, and drives that keep their data where they are."""
    with lab.serve("tiny", set=ROOMY, clock="fast") as server:
        with refused("exchange", "die 4", "0 to 3"):
            server.exchange(4)
        with refused("exchange.way", "`quickly`", "in_service", "suspended"):
            server.exchange(1, way="quickly")
        with refused("exchange.die", "-1"):
            server.exchange(-1)
        assert server.status().exchange is None
        assert server.stop().to_dict()["device"]["exchanges"] == []
    for key, value in (
        ("ftl.name", "frozen"),
        ("ftl.name", "superblock"),
        ("recovery.name", "scan_blocks"),
        ("ftl.overprovisioning", 0.3),
    ):
        sets = {**ROOMY, key: value}
        with lab.serve("tiny", set=sets, clock="fast") as server, refused("exchange", key):
            server.exchange(1)


@pytest.mark.parametrize("clock", ["fast", "real"])
def test_a_snapshot_has_the_bytes_of_its_moment(folder: Path, clock: str) -> None:
    """The drive is written on; the file gives back what was there, again and again."""
    with lab.serve("tiny", set=ROOMY, clock=clock) as server:
        with Client(server.uri) as client:
            model = Model(client)
            model.write(150)
            server.snapshot("now.nldrive")
            then = bytes(model.bytes)
            model.write(150)
            assert model.is_read_back()
            server.snapshot("later.nldrive")
        result = server.stop()
    assert result.checks.ok
    [first, second] = result.to_dict()["device"]["snapshots"]
    assert 0 < first["at_s"] < second["at_s"]
    drive = lab.Drive.load("now.nldrive")
    for store in (None, "disk.img"):
        with drive.clone().serve(clock="fast", store=store) as server:
            with Client(server.uri) as client:
                assert whole(client) == then
                # What is loaded is a drive like any other.
                again = Model(client, seed=2)
                again.bytes[:] = then
                again.write(100)
                assert again.is_read_back()
            with refused("snapshot", "now.nldrive", "input"):
                server.snapshot("now.nldrive")
            server.snapshot("again.nldrive")
    for path, held in (("again.nldrive", again.bytes), ("later.nldrive", model.bytes)):
        with lab.Drive.load(path).serve(clock="fast") as server, Client(server.uri) as client:
            assert whole(client) == held != then
    with refused("disk.img", "have bytes"):
        drive.serve(clock="fast", store="disk.img")
    assert drive.run("[reads]\nrw=randread\nnumber_ios=100\n").checks.ok
    # The bytes were those of the drive before the run.
    with drive.serve(clock="fast") as server, Client(server.uri) as client:
        assert whole(client) == bytes(client.size_bytes)


def test_requests_wait_for_a_snapshot(folder: Path) -> None:
    """Clients that never pause get every answer; the file has what each had written by then."""
    counted = [0, 0, 0]
    is_over = threading.Event()

    def write(number: int) -> None:
        with Client(server.uri) as client:
            while not is_over.is_set():
                counted[number] += 1
                client.write(4096 * number, counted[number].to_bytes(8, "big") * 512)

    def goes_on(count: int) -> Callable[[], bool]:
        return lambda: min(counted) > count

    with lab.serve("tiny", set=ROOMY, clock="real") as server:
        threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        try:
            until(lambda: min(counted) > 20, what="21 writes of each client")
            for number in range(3):
                before = list(counted)
                server.snapshot(f"{number}.nldrive")
                after = list(counted)
                until(goes_on(max(after)), what="write after the snapshot")
                with (
                    lab.Drive.load(f"{number}.nldrive").serve(
                        clock="fast", socket="saved.sock"
                    ) as saved,
                    Client(saved.uri) as client,
                ):
                    for writer in range(3):
                        kept = client.read(4096 * writer, 4096)
                        value = int.from_bytes(kept[:8], "big")
                        assert kept == kept[:8] * 512
                        assert before[writer] - 1 <= value <= after[writer]
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
        assert server.stop().to_dict()["device"]["failed_requests"] == 0


def test_a_snapshot_that_is_refused_changes_nothing(folder: Path) -> None:
    """No folder, a file that the server uses, a drive without power."""
    sets = {**ROOMY, "recovery.name": "scan_blocks"}
    with lab.serve("tiny", set=sets, clock="fast", store="disk.img") as server:
        with Client(server.uri) as client:
            model = Model(client)
            model.write(30)
            with refused("snapshot", "no folder no"):
                server.snapshot("no/folder.nldrive")
            with refused("snapshot", "disk.img", "input"):
                server.snapshot("disk.img")
            assert model.is_read_back()
            client.flush()
        server.cut()
        with refused("snapshot", "no power"):
            server.snapshot("now.nldrive")
        server.restore()
        server.snapshot("now.nldrive")
        with Client(server.uri) as client:
            assert whole(client) == model.bytes
        result = server.stop()
    assert Path("disk.img").read_bytes() == model.bytes
    assert len(result.to_dict()["device"]["snapshots"]) == 1
    Path("cut.nldrive").write_bytes(Path("now.nldrive").read_bytes()[:-100])
    with refused("cut.nldrive", "cut short"):
        lab.Drive.load("cut.nldrive").serve(clock="fast")


def test_options_of_other_commands_are_refused(nandlab: Run) -> None:
    nandlab("ctl", "c.sock", "cut", "--way", "suspended").refused("--way", "`cut`", "exchange")


@pytest.mark.parametrize("folder_name", ["/", "."])
def test_a_path_without_a_name_is_no_socket(nandlab: Run, folder_name: str) -> None:
    nandlab("ctl", folder_name, "status").refused(folder_name, "folder", "socket")


def test_commands_come_to_a_server_at_a_port(folder: Path) -> None:
    """`--control` names the socket; the table tells of clients, answers and the exchange."""
    ctl = f"{sys.executable} -m nandlab ctl c.sock"
    script = f"""
set -e
test "$(stat -c %a c.sock)" = 600
{ctl} exchange 2 --way suspended --pe-cycles 5
until {ctl} status | grep -w replaced; do sleep 0.1; done
mkdir there && cd there && {sys.executable} -m nandlab ctl ../c.sock snapshot now.nldrive
! {sys.executable} -m nandlab ctl ../c.sock exchange 77
! {sys.executable} -m nandlab ctl ../c.sock exchange x
! {sys.executable} -m nandlab ctl ../c.sock age
"""
    arguments = [sys.executable, "-m", "nandlab", "nbd", "--drive", "tiny", *ROOMY_SETS]
    arguments += ["--port", "0", "--control", "c.sock", "--clock", "scaled=0.1"]
    ended = subprocess.run(
        [*arguments, "--precondition", "fill", "--run", script, "--json", "r.json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    carries(ended.stdout, "die 2 suspended")
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    carries(errors[0], "die 77", "0 to 3")
    carries(errors[1], "`x`", "whole number")
    carries(errors[2], "age HOURS", "exchange DIE", "snapshot FILE")
    report = json.loads(Path("r.json").read_text())
    [exchange] = report["device"]["exchanges"]
    assert (exchange["die"], exchange["way"], exchange["pe_cycles"]) == (2, "suspended", 5)
    assert Path("there/now.nldrive").exists()
    assert not Path("c.sock").exists()
    carries(ended.stdout, "no requests", "1 snapshot")


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("file.sock", ["file.sock", "not a socket"]),
        ("here.sock", ["here.sock", "server listens"]),
        ("no/c.sock", ["no folder no"]),
        ("s.sock", ["s.sock", "server"]),
    ],
)
def test_a_control_socket_has_a_place_of_its_own(
    nandlab: Run, folder: Path, path: str, parts: list[str]
) -> None:
    """A file, another server's socket and the server's own are refused, and stay."""
    Path("file.sock").write_text("mine")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("here.sock")
        listening.listen()
        arguments = ["nbd", "--drive", "tiny", "--socket", "s.sock", "--run", "true"]
        nandlab(*arguments, "--control", path).refused("--control", *parts)
    assert Path("file.sock").read_text() == "mine"
    assert not Path("s.sock").exists()


def test_systems_without_such_sockets_say_so(
    nandlab: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows: nothing is asked there, and no control socket begins."""
    monkeypatch.delattr("socket.AF_UNIX")
    nandlab("ctl", "d.sock", "status").refused("d.sock", "Windows")
    begun = ("nbd", "--drive", "tiny", "--port", "0", "--control", "c.sock")
    nandlab(*begun).refused("--control", "Windows")
    assert not (folder / "c.sock").exists()


def test_the_table_tells_of_clients(folder: Path) -> None:
    """Requests, how late answers were, and power cuts have a row each."""
    from rich.console import Console

    from nandlab.drive.table import print_result

    sets = {**ROOMY, "recovery.name": "scan_blocks"}
    with lab.serve("tiny", set=sets, clock="scaled=0.1") as server:
        with Client(server.uri) as client:
            Model(client).write(5)
            client.flush()
        server.cut()
        server.restore()
        until(lambda: server.status().power == "on", what="power")
        result = server.stop()
    console = Console(width=200, record=True, file=io.StringIO())
    print_result(result, console)
    lines = console.export_text().splitlines()
    rows = {line[:19].strip(): line[19:].strip() for line in lines}
    assert rows["clients"] == "1: 5 reads, 5 writes, 1 flush"
    carries(rows["answers"], "mean", "p99.9")
    carries(rows["power cuts"], "1", "ready")
    # An ordinary run has none of them.
    console = Console(width=200, record=True, file=io.StringIO())
    print_result(lab.run("tiny", "[reads]\nrw=randread\nnumber_ios=10\n"), console)
    assert "clients" not in console.export_text()

"""Windows of commands: a dashboard, a run and a served drive that are seen, a run in a file."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

import nandlab as lab
from nandlab.window.counts import sections
from nandlab.window.live import About, Recorder, Watched
from tests.conftest import COMMAND, ENDLESS, MIXED, Ended, carries
from tests.device.clients import Client
from tests.waiting import until

Run = Callable[..., Ended]

SOCKET = "nbd+unix:///?socket=d.sock"


class Page:
    """A page of a window, as a browser has it."""

    def __init__(self, connection: ClientConnection, greeted: dict[str, Any]) -> None:
        self.connection = connection
        self.host, self.hello = greeted["ok"]["host"], greeted["ok"]["hello"]

    def asked(self, method: str, **params: object) -> dict[str, Any]:
        """The answer to a call."""
        self.connection.send(json.dumps({"id": 1, "method": method, **params}))
        answer: dict[str, Any] = json.loads(self.connection.recv(60))
        return answer

    def frame(self) -> dict[str, Any]:
        """A frame with all layers."""
        layers = sum(1 << one["bit"] for one in self.hello["layers"].values())
        self.connection.send(json.dumps({"id": 1, "method": "frame", "layers": layers}))
        message = self.connection.recv(60)
        assert isinstance(message, bytes)
        return sections(message[8:])

    def scalars(self) -> dict[str, float]:
        """The scalars of a frame, by their names."""
        names = [one["name"] for one in self.hello["scalars"]]
        return dict(zip(names, self.frame()["scal"].tolist(), strict=True))


@contextmanager
def page_at(url: str) -> Iterator[Page]:
    """A page that has sent the token."""
    parts = urlsplit(url)
    origin: Any = f"http://{parts.netloc}"
    with connect(f"ws://{parts.netloc}/window", origin=origin, max_size=None) as connection:
        connection.send(json.dumps({"token": parts.fragment.removeprefix("token=")}))
        yield Page(connection, json.loads(connection.recv(60)))


@contextmanager
def begun(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command with the address of its window."""
    with subprocess.Popen(
        [COMMAND, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if found := re.search(r"window at (\S+)", line):
                    yield process, found[1]
                    break
            else:
                pytest.fail(f"no address: exit code {process.wait()}")
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> int:
    """The exit code of a command after Ctrl-C."""
    process.send_signal(signal.SIGINT)
    return process.wait(30)


def test_a_dashboard_shows_a_drive_and_lets_a_page_drive_it(folder: Path) -> None:
    words = ("--drive", "tiny", "--set", "gc.name=fifo", "--seed", "3", "--workload", "mixed.fio")
    with begun(folder, "dashboard", *words, "--no-open") as (process, url):
        with page_at(url) as page:
            assert page.host == {"kind": "drive", "refused": []}
            assert page.hello["name"] == "tiny"
            assert page.hello["config"]["gc"]["name"] == "fifo"
            assert page.hello["seed"] == 3
            while not (state := page.asked("advance", simulated_ns=10**9)["ok"])["finished"]:
                pass
            report = page.asked("report")["ok"]
            assert state["completed"] == report["host"]["requests_completed"] == 5000
            own = lab.run("tiny", MIXED, set={"gc.name": "fifo"}, seed=3).report
            assert report["host"]["iops"] == own.host.iops
            assert page.scalars()["requests"] == 5000
            with page_at(url) as other:
                assert other.asked("hello")["ok"]["name"] == "tiny"
        assert ended(process) == 0


def test_a_dashboard_without_a_drive_waits_for_one(folder: Path) -> None:
    with begun(folder, "dashboard", "--no-open") as (process, url):
        with page_at(url) as page:
            assert page.hello is None
            assert page.asked("build", config={"drive": "tiny"})["ok"]["name"] == "tiny"
            assert (
                "gc.name"
                in page.asked("build", config={"drive": "tiny"}, set={"gc.name": "x"})["error"][
                    "key"
                ]
            )
        assert ended(process) == 0


def test_a_dashboard_goes_on_with_a_saved_drive(folder: Path, nandlab: Run) -> None:
    nandlab("save", "--drive", "tiny", "--precondition", "fill", "--out", "d.nldrive").succeeded()
    command = begun(folder, "dashboard", "--from", "d.nldrive", "--no-open")
    with command as (_, url), page_at(url) as page:
        assert page.frame()["vald"].mean() > 100


def test_what_a_dashboard_cannot_open_is_refused(nandlab: Run) -> None:
    nandlab("dashboard", "--drive", "tinyy").refused("tinyy", "tiny")
    nandlab("dashboard", "--workload", "mixed.fio").refused("workload")
    nandlab("dashboard", "--drive", "tiny", "--workload", "none.fio").refused("none.fio")
    nandlab("dashboard", "--drive", "tiny", "--port", "70000").refused("--port", "70000")
    nandlab("dashboard", "--drive", "tiny", "--set", "gc.name=none").refused("gc.name", "greedy")


def test_a_run_is_seen_while_it_goes_and_is_not_driven(folder: Path) -> None:
    (folder / "endless.fio").write_text(ENDLESS)
    words = ("--drive", "tiny", "--workload", "endless.fio", "--live", "--json", "r.json")
    with begun(folder, "run", *words) as (process, url):
        with page_at(url) as page:
            assert page.host["kind"] == "run"
            assert page.hello["job"].endswith("endless.fio")
            for method in page.host["refused"]:
                if method != "load":
                    assert "error" in page.asked(
                        method, config={"drive": "tiny"}, job="", command=""
                    )
            first = page.asked("advance", simulated_ns=1)["ok"]
            until(lambda: page.asked("advance", events=0)["ok"]["completed"] > first["completed"])
            state = page.asked("advance", events=0)["ok"]
            assert state["phase"] == "run"
            assert not state["finished"]
            frame = page.frame()
            assert frame["vald"].size == page.hello["geometry"]["blocks"]
            assert page.asked("report")["ok"]["host"]["requests_completed"] > 0
            for among in ("recent", "all"):
                assert page.asked("slow", among=among)["error"]["key"] == "explain"
        assert ended(process) == 130
    assert json.loads((folder / "r.json").read_text())["sim"]["interrupted"] is True


def test_pages_stay_after_a_run_until_they_are_closed(folder: Path) -> None:
    job = "[a]\nrw=randrw\nbs=4k\niodepth=16\nnumber_ios=60000\n"
    (folder / "long.fio").write_text(job)
    words = ("--drive", "tiny", "--workload", "long.fio", "--live", "--explain", "99")
    with begun(folder, "run", *words) as (process, url):
        with page_at(url) as page:
            until(lambda: page.asked("advance", events=0)["ok"]["finished"], 60)
            slow = page.asked("slow", percentile=100, among="all")["ok"]
            assert sum(part["ns"] for part in slow["parts"]) == slow["latency_ns"]
            assert process.poll() is None
        assert process.wait(30) == 0


def core(report: Any) -> dict[str, Any]:
    """A report without what differs between equal runs."""
    told: dict[str, Any] = json.loads(report if isinstance(report, str) else report.to_json())
    for key in [key for key in told["sim"] if "wall_s" in key or "rss" in key]:
        del told["sim"][key]
    return told


def test_looking_on_changes_no_run(folder: Path) -> None:
    given: dict[str, Any] = {"precondition": "fill", "explain": True, "timeline": True}
    alone = lab.run("tiny", MIXED, **given)
    recorder = Recorder(About("tiny", "mixed"))
    seen = lab.run("tiny", MIXED, onlooker=recorder, **given)
    assert core(seen) == core(alone)
    alone.timeline("alone.json")
    seen.timeline("seen.json")
    assert Path("alone.json").read_bytes() == Path("seen.json").read_bytes()
    assert recorder.packed() is not None


def test_a_recorder_keeps_the_last_run_that_it_saw(folder: Path) -> None:
    recorder = Recorder(About("tiny", "mixed"))
    assert recorder.packed() is None
    given: dict[str, Any] = {"timeline": True, "timeline_from": "slowest"}
    result = lab.run("tiny", MIXED, onlooker=recorder, **given)
    last = recorder._recording._moments[-1].state
    assert last["completed"] == result.report.host.requests_completed
    assert last["phase"] == "over"


def test_a_served_drive_is_seen_while_clients_use_it(folder: Path) -> None:
    words = ("--drive", "tiny", "--socket", "d.sock", "--clock", "fast", "--live")
    with begun(folder, "nbd", *words) as (process, url):
        with page_at(url) as page, Client(SOCKET) as client:
            assert page.host["kind"] == "clients"
            before = page.scalars()["requests"]
            data = bytes(range(256)) * 256
            for at in range(20):
                client.write(at * len(data), data)
            assert client.read(0, len(data)) == data
            assert page.scalars()["requests"] >= before + 21
            assert "error" in page.asked("act", command="cut")
            assert page.asked("advance", events=0)["ok"]["phase"] == "run"
        assert ended(process) == 0


def test_a_served_drive_that_has_ended_is_not_looked_at(folder: Path) -> None:
    server = lab.serve("tiny", socket=folder / "d.sock", clock="fast")
    watched = Watched(server.native, About("tiny", ""))
    assert json.loads(watched.call('{"method": "hello"}'))["ok"]["name"] == "tiny"
    server.stop()
    with pytest.raises(lab.NandlabError):
        watched.frame(0)


def test_pages_of_a_run_hear_that_it_was_ended(folder: Path) -> None:
    (folder / "endless.fio").write_text(ENDLESS)
    words = ("--drive", "tiny", "--workload", "endless.fio", "--live")
    with begun(folder, "run", *words) as (process, url), page_at(url) as page:
        assert ended(process) == 130
        with pytest.raises(ConnectionClosed) as closed:
            page.connection.recv(30)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001


def test_a_run_in_a_file_is_one_of_its_outputs(folder: Path, nandlab: Run) -> None:
    run = ("run", "--drive", "tiny", "--workload", "mixed.fio")
    with_page = nandlab(*run, "--json", "-", "--html", "run.html").succeeded()
    alone = nandlab(*run, "--json", "-").succeeded()
    one, other = (core(each.out) for each in (with_page, alone))
    assert one["host"] == other["host"]
    text = (folder / "run.html").read_text()
    carries(text[:2000], "Content-Security-Policy")
    assert len(text) < 17_000_000
    nandlab(*run, "--html", "mixed.fio").refused("--html", "mixed.fio")

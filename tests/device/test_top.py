"""How a served drive is doing: numbers of all kinds, as JSON, as a table, and for Prometheus."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

import nandlab as lab
from nandlab.served.control import Control
from nandlab.served.measures import percentiles_us, prometheus, summary
from tests.conftest import Ended
from tests.device.clients import SMALL, Client
from tests.waiting import until

Run = Callable[..., Ended]
COUNT = 100


def used(server: lab.Server) -> None:
    """Reads, writes and a flush of one client."""
    with Client(server.uri) as client:
        for n in range(COUNT):
            client.write(4096 * n, bytes(4096))
            client.read(4096 * (n * 97 % 5000), 4096)
        client.flush()


def test_measures_are_those_of_the_report(folder: Path) -> None:
    """Counts, latencies and lateness, while the server goes on."""
    with lab.serve("tiny", set=SMALL, clock="real", precondition="fill") as server:
        before = server.measures()
        used(server)
        server.age(48)
        # How late an answer was is counted once it is sent.
        until(lambda: summary(server.measures())["late_us"]["count"] == 2 * COUNT + 1)
        now = server.measures()
        report = server.stop().to_dict()
    assert before["latency_ns"] == {}
    told = summary(now)
    for op in ("read", "write", "flush"):
        expected = report["host"][op]["latency_us"]
        assert told["latency_us"][op]["count"] == expected["count"]
        assert told["latency_us"][op]["p99"] == pytest.approx(expected["p99"], rel=0.01)
    assert now["bytes"]["write"] == 4096 * COUNT
    assert now["counts"]["host_read_units"] == report["host"]["read_units"]
    assert 0 < now["free_blocks"] < now["blocks"]
    assert before["oldest_hours"] < 1
    assert now["oldest_hours"] == pytest.approx(48, abs=0.1)


def test_percentiles_are_ranks() -> None:
    assert percentiles_us([]) == {}
    told = percentiles_us([(1000, 98), (2000, 1), (5000, 1)])
    assert told == {"count": 100, "p50": 1.0, "p99": 2.0, "p99.9": 5.0, "max": 5.0}


def test_prometheus_reads_the_text(folder: Path) -> None:
    """Each line has its form; buckets rise to the count; HTTP answers at the control socket."""
    with lab.serve("tiny", set=SMALL, clock="fast") as server, Control(server, Path("c.sock")):
        used(server)
        text = prometheus(server.measures())
        answers = []
        for path in ("/metrics", "/other"):
            with socket.socket(socket.AF_UNIX) as asking:
                asking.settimeout(20)
                asking.connect("c.sock")
                asking.sendall(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
                answer = b""
                while more := asking.recv(1 << 16):
                    answer += more
            answers.append(answer.decode())
    sample = re.compile(r'nandlab_\w+(\{\w+="[^"]+"(,le="[^"]+")?\})? -?[\d.e+-]+')
    for line in text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or sample.fullmatch(line), line
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    rising = [
        int(count)
        for count in re.findall(r'latency_seconds_bucket\{op="read",le="[^"]+"\} (\d+)', text)
    ]
    assert rising == sorted(rising)
    assert rising[-1] == COUNT
    assert f'nandlab_bytes_total{{op="write"}} {4096 * COUNT}' in text
    head, _, body = answers[0].partition("\r\n\r\n")
    assert head.startswith("HTTP/1.0 200 OK")
    assert f"Content-Length: {len(body)}" in head
    assert body.replace("clients 0", "clients 1") == text.replace("clients 0", "clients 1")
    assert answers[1].startswith("HTTP/1.0 404")


def test_a_command_shows_it(nandlab: Run, folder: Path) -> None:
    """JSON has the numbers; top prints one table where nobody watches."""
    with lab.serve("tiny", set=SMALL, clock="real") as server, Control(server, Path("c.sock")):
        used(server)
        told = json.loads(nandlab("ctl", "c.sock", "status", "--json", "-").succeeded().out)
        top = nandlab("ctl", "c.sock", "top").succeeded().out
        metrics = nandlab("ctl", "c.sock", "metrics").succeeded().out
        nandlab("ctl", "c.sock", "cut", "--json", "-").refused("--json", "`cut`", "status")
    assert told["latency_us"]["write"]["count"] == COUNT
    assert told["power"] == "on"
    rows = [line.split("  ")[0].strip() for line in top.splitlines()]
    for name in ("read", "write", "answers late", "free blocks", "oldest data", "soft reads"):
        assert name in rows, top
    assert "nandlab_write_amplification" in metrics

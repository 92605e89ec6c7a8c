"""Requests of a served drive on the wall clock, what they waited for, and why lines were slow."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import nandlab as lab
from nandlab.drive.requests import COLUMNS
from nandlab.served.requests import SERVED, WAITS
from tests.conftest import refused
from tests.device.clients import SMALL, Client

COUNT = 200
FACTOR = 5


def served(clock: str, **how: object) -> tuple[pa.Table, lab.Result, list[tuple[float, float]]]:
    """Requests of two clients, and wall-clock times of the first one's reads."""
    sets = {**SMALL, "recovery.name": "scan_blocks"}
    spans = []
    with lab.serve(
        "tiny", set=sets, clock=clock, precondition="fill", requests=True, **how
    ) as server:
        with Client(server.uri) as first, Client(server.uri) as second:
            for n in range(COUNT):
                begin = time.time()
                first.read(4096 * (n * 97 % 5000), 4096)
                spans.append((begin, time.time()))
            second.write(0, bytes(4096))
        result = server.stop()
    # Threads of two clients may log their last requests in either order.
    return result.requests().sort_by("asked_unix_ns"), result, spans


def test_each_request_is_on_both_clocks() -> None:
    """Its answer comes after it was asked and due; the client measured about the same times."""
    table, result, spans = served(f"scaled={FACTOR}")
    assert table.column_names == [*COLUMNS, *SERVED]
    assert table.schema.metadata[b"clock"] == f"scaled={FACTOR}".encode()
    assert table["client"].to_pylist() == [1] * COUNT + [2]
    reads = table.slice(0, COUNT).to_pylist()
    for row, (begin, end) in zip(reads, spans, strict=True):
        asked, due, answered = (row[f"{name}_unix_ns"] for name in ("asked", "due", "answered"))
        assert asked + row["latency_ns"] * FACTOR <= due + 1000
        assert due <= answered
        assert row["late_ns"] == answered - due
        # The clock of the wall may be set a little while it is read.
        assert begin * 1e9 - 5e6 <= asked < answered <= end * 1e9 + 5e6
    late_us = result.to_dict()["device"]["late_us"]
    assert pc.max(table["late_ns"]).as_py() / 1e3 == pytest.approx(late_us["max"], rel=0.01)


def test_without_a_clock_nothing_is_due() -> None:
    table, _, _ = served("fast")
    assert table["due_unix_ns"].null_count == table["late_ns"].null_count == COUNT + 1
    assert pc.all(pc.less(table["asked_unix_ns"], table["answered_unix_ns"])).as_py()


def test_waits_add_up_to_the_latency() -> None:
    """The same account as that of the result, request by request."""
    table, result, _ = served("fast", explain=True)
    assert table.column_names == [*COLUMNS, *SERVED, *WAITS]
    sums = sum(table[name].to_numpy().astype(int) for name in WAITS)
    assert (sums == table["latency_ns"].to_numpy()).all()
    found = result.explain(0, "read")
    assert found.requests == COUNT
    for name, cause in WAITS.items():
        mean_us = pc.mean(table[name].slice(0, COUNT)).as_py() / 1e3
        assert found.causes_us.get(cause, 0.0) == pytest.approx(mean_us)


def test_a_client_that_has_gone_has_no_answer() -> None:
    """Its request is in the table all the same; the requests of others have answers."""
    sets = {**SMALL}
    with lab.serve(
        "tiny", set=sets, clock="scaled=10000", precondition="fill", requests=True
    ) as server:
        with Client(server.uri) as client:
            client.ask_for(1, 0, 4096)
            time.sleep(0.3)
        with Client(server.uri) as client:
            client.read(8192, 4096)
        result = server.stop()
    rows = result.requests().to_pylist()
    assert [row["answered_unix_ns"] is None for row in rows if row["client"] == 2] == [False]
    assert len(rows) == 2


def test_a_command_keeps_what_a_run_keeps(folder: Path) -> None:
    """Series, requests, waits and their picture; the table tells of the slowest."""
    script = "import sys; sys.path[:0] = sys.argv[2:]\n"
    script += "from tests.device.clients import Client\n"
    script += "with Client(sys.argv[1]) as client:\n    client.write(0, bytes(4096))\n"
    Path("one.py").write_text(script)
    root = Path(__file__).parents[2]
    arguments = [sys.executable, "-m", "nandlab", "nbd", "--drive", "tiny", "--clock", "fast"]
    arguments += ["--socket", "a.sock", "--run", f"{sys.executable} one.py $uri {root}"]
    arguments += ["--requests", "r.parquet", "--series", "s.csv", "--explain", "50"]
    arguments += ["--explain-plot", "e.png"]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "writes: slowest 50 % (1)" in ended.stdout
    assert set(WAITS) <= set(pq.read_schema("r.parquet").names)
    assert pq.read_table("r.parquet").num_rows == 1
    assert Path("s.csv").read_text().startswith('"time_s"')
    assert Path("e.png").read_bytes().startswith(b"\x89PNG")


def written(path: str, lines: list[str]) -> str:
    Path(path).write_text("".join(f"{line}\n" for line in lines))
    return path


def test_the_time_of_a_line_goes_to_one_party(folder: Path) -> None:
    """A line of one read is the drive's, one without requests the host's; parts add up."""
    table, _, spans = served(f"scaled={FACTOR * 20}", explain=True)
    pause = (spans[-1][1] + 10.0, spans[-1][1] + 10.5)
    lines = [f"{begin:.9f},{end:.9f},read {n}" for n, (begin, end) in enumerate(spans)]
    log = written("q.csv", ["start,end,name", *lines, f"{pause[0]:.6f},{pause[1]:.6f},pause"])
    found = lab.why(log, table)
    assert [line.took_ms for line in found.lines] == sorted(
        (line.took_ms for line in found.lines), reverse=True
    )
    for line in found.lines:
        assert sum(line.parts_ms.values()) == pytest.approx(line.took_ms, abs=1e-5)
        assert all(part >= 0 for part in line.parts_ms.values())
    slowest = found.lines[0]
    assert (slowest.name, slowest.requests, slowest.slowest) == ("pause", 0, "host")
    assert slowest.parts_ms["host"] == slowest.took_ms
    [last] = [line for line in found.lines if line.name == f"read {COUNT - 1}"]
    assert last.requests == 1
    row = table.slice(COUNT - 1, 1).to_pylist()[0]
    expected_ms = row["latency_ns"] * FACTOR * 20 / 1e6
    assert last.parts_ms["drive"] == pytest.approx(expected_ms, rel=0.01)
    # A busy machine may delay some of them.
    assert any(line.slowest == "drive" for line in found.lines)
    assert sum(last.waits_ms.values()) == pytest.approx(expected_ms, rel=1e-6)
    assert "drive" in found.answer()


def test_requests_side_by_side_count_once(folder: Path) -> None:
    """Time with several requests in the drive is no longer than the line."""
    names = ["asked_unix_ns", "due_unix_ns", "answered_unix_ns", "latency_ns"]
    # Two overlap: 100 to 150 and 120 to 180 in the drive, answers at 160 and 200.
    rows = [[100, 150, 160, 50], [110, 180, 200, 60], [300, 310, 320, 10]]
    columns = {
        name: pa.array([row[at] for row in rows], pa.uint64()) for at, name in enumerate(names)
    }
    columns |= {"client": pa.array([1, 2, 1]), "late_ns": pa.array([10, 20, 10])}
    table = pa.table(columns).replace_schema_metadata({"clock": "real"})
    log = written("q.csv", ["0.000000090,0.000000210,both", "0.000000170,0.000000305"])
    both, tail = sorted(lab.why(log, table).lines, key=lambda line: line.start_unix_ns)
    in_ns = {party: round(ms * 1e6) for party, ms in both.parts_ms.items()}
    assert in_ns == {"drive": 80, "program": 20, "host": 20}
    assert (both.requests, tail.requests, tail.name) == (2, 2, "2")
    in_ns = {party: round(ms * 1e6) for party, ms in tail.parts_ms.items()}
    # 170 to 180 and 300 to 305 in the drive, 180 to 200 in the program.
    assert in_ns == {"drive": 15, "program": 20, "host": 100}


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("1", ["q.csv:1", "`1`", "start,end"]),
        ("soon,2", ["q.csv:1", "`soon`", "ISO 8601"]),
        ("nan,2", ["q.csv:1", "`nan`"]),
        ("2,1", ["q.csv:1", "`2,1`", "not before"]),
        ("# nothing", ["q.csv", "no lines"]),
    ],
)
def test_a_log_that_cannot_be_read_is_refused(folder: Path, line: str, parts: list[str]) -> None:
    with refused(*parts):
        lab.why(written("q.csv", [line]), "r.parquet")


def test_requests_of_other_runs_are_refused(folder: Path) -> None:
    """Those of a run, of a drive without a clock, and files that are none."""
    log = written("q.csv", ["2026-01-01T00:00:00.5+00:00,2026-01-01 00:00:01+00:00"])
    run = lab.run("tiny", "[a]\nrw=read\nnumber_ios=10\n", requests=True)
    with refused("requests", "client", "served"):
        lab.why(log, run.requests())
    with refused("requests", "fast", "real"):
        lab.why(log, served("fast")[0])
    with refused("q.csv"):
        lab.why(log, log)
    assert lab.why(log, served("real")[0]).lines[0].took_ms == 500

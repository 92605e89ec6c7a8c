"""Requests and series as tables: the same run as the report tells."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import MIXED, Ended, carries, refused

import nandlab
from nandlab.drive.requests import COLUMNS
from nandlab.drive.table import _collection

#: Enough for several row groups.
MANY = "[many]\nrw=randrw\nbs=4k\nnorandommap\niodepth=32\nnumber_ios=300000\nio_size=100g\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[nandlab.Result, Path]:
    """A run whose requests are in a file."""
    path = tmp_path_factory.mktemp("requests") / "r.parquet"
    return nandlab.run("tiny", MANY, precondition="fill", requests=path), path


def test_columns_and_metadata(run: tuple[nandlab.Result, Path]):
    result, path = run
    schema = pq.read_schema(path)
    assert schema.names == list(COLUMNS)
    assert schema.field("op").type == pa.dictionary(pa.int8(), pa.string())
    about = result.to_dict()["nandlab"]
    assert schema.metadata[b"config_hash"].decode() == about["config_hash"]
    assert schema.metadata[b"seed"].decode() == str(about["seed"])


def test_rows_come_in_groups(run: tuple[nandlab.Result, Path]):
    """So memory does not grow with their number."""
    metadata = pq.ParquetFile(run[1]).metadata
    assert metadata.num_rows == 300_000
    assert metadata.num_row_groups >= 2
    assert metadata.row_group(0).num_rows < 250_000


def test_counts_and_percentiles_are_those_of_the_report(run: tuple[nandlab.Result, Path]):
    result, _ = run
    table = result.requests()
    host = result.to_dict()["host"]
    assert table.num_rows == host["requests_completed"]
    for op in ("read", "write"):
        rows = table.filter(pc.equal(table["op"], op))
        latency_us = rows["latency_ns"].to_numpy() / 1e3
        said = host[op]["latency_us"]
        assert rows.num_rows == host[op]["requests"]
        assert pc.sum(rows["length_bytes"]).as_py() == host[op]["bytes"]
        assert latency_us.mean() == pytest.approx(said["mean"], rel=1e-9)
        assert latency_us.max() == pytest.approx(said["max"], rel=1e-9)
        for key, percent in [("p50", 50), ("p99", 99), ("p99_9", 99.9), ("p99_99", 99.99)]:
            exact = np.percentile(latency_us, percent, method="inverted_cdf")
            assert said[key] == pytest.approx(exact, rel=0.01)


def test_times_follow_each_other(run: tuple[nandlab.Result, Path]):
    table = run[0].requests()
    rows = {name: table[name].to_numpy() for name in COLUMNS}
    assert np.all(rows["arrival_ns"] <= rows["start_ns"])
    assert np.all(rows["start_ns"] <= rows["completion_ns"])
    assert np.all(np.diff(rows["completion_ns"].astype(np.int64)) >= 0)
    assert np.all(rows["latency_ns"] == rows["completion_ns"] - rows["arrival_ns"])
    parts = sum(rows[name] for name in ("queue_ns", "flash_ns", "bus_ns", "ecc_ns"))
    assert np.all(parts <= rows["latency_ns"])
    assert np.any(rows["flash_ns"] > 0)


def test_other_tools_read_it(run: tuple[nandlab.Result, Path]):
    query = f"select op, count(*) n from '{run[1]}' group by op order by op"
    counts = dict(duckdb.sql(query).fetchall())
    assert counts == {"read": run[0].read.count, "write": run[0].write.count}


def test_in_memory_is_the_same(run: tuple[nandlab.Result, Path]):
    kept = nandlab.run("tiny", MANY, precondition="fill", requests=True).requests()
    filed = run[0].requests()
    assert kept.num_rows == filed.num_rows
    for name in COLUMNS:
        assert kept[name].to_pylist()[:1000] == filed[name].to_pylist()[:1000]


def test_sql_answers(run: tuple[nandlab.Result, Path]):
    query = "select quantile_disc(latency_ns, 0.99) / 1e3 as us from requests where op = 'read'"
    answer = run[0].sql(query)["us"][0].as_py()
    assert answer == pytest.approx(run[0].read.percentile(99), rel=0.01)
    assert run[0].sql("select count(*) n from series")["n"][0].as_py() > 1


def test_series_adds_up_to_the_report(run: tuple[nandlab.Result, Path]):
    result, _ = run
    series = {name: result.series()[name].to_numpy() for name in result.series().column_names}
    report = result.to_dict()
    duration_s = series["duration_s"]
    for op in ("read", "write"):
        assert (series[f"{op}_iops"] * duration_s).sum() == pytest.approx(
            report["host"][op]["requests"]
        )
        assert (series[f"{op}_mb_s"] * duration_s).sum() == pytest.approx(
            report["host"][op]["bytes"] / 1e6
        )
    sections = {**report, **{f"ftl_{name}": report["ftl"][name] for name in ("map", "merges")}}
    counts = {
        f"{section}_{key}".removeprefix("ftl_"): value
        for section, table in sections.items()
        if isinstance(table, dict)
        for key, value in table.items()
    }
    assert {"gc_copies", "gc_runs", "host_units", "map_hits", "trimmed_units"} <= counts.keys()
    compared = counts.keys() & series.keys() - {"write_amplification"}
    # At least these have a count of each section.
    assert len(compared) > 40
    for name in compared:
        assert series[name].sum() == counts[name], name
    programmed = np.nansum(series["write_amplification"] * series["host_units"])
    programmed += series["gc_copies"][series["host_units"] == 0].sum()
    programmed += series["padding_units"][series["host_units"] == 0].sum()
    told = report["ftl"]["write_amplification_flash"] * report["ftl"]["host_units"]
    assert programmed == pytest.approx(told)
    assert duration_s.sum() == pytest.approx(report["sim"]["simulated_s"])
    assert series["latency_max_us"].max() == report["host"]["latency_us"]["max"]
    done = (series["read_iops"] + series["write_iops"]) * duration_s
    mean_us = np.nansum(series["latency_mean_us"] * done) / done.sum()
    assert mean_us == pytest.approx(report["host"]["latency_us"]["mean"])


def test_a_file_is_that_of_its_run(folder: Path):
    """Not of a later run that wrote the same path, nor of the folder that one is in."""
    first = nandlab.run("tiny", MIXED, requests="q.parquet")
    (folder / "below").mkdir()
    os.chdir(folder / "below")
    rows = first.requests()
    assert rows.num_rows == first.to_dict()["host"]["requests_completed"]
    assert first.sql("select count(*) n from REQUESTS")["n"][0].as_py() == rows.num_rows
    second = nandlab.run("tiny", MIXED, seed=9, requests="../q.parquet")
    assert second.requests() != rows
    with refused("requests", "q.parquet", "changed", "hint"):
        first.requests()
    (folder / "q.parquet").unlink()
    for ask in (second.requests, lambda: second.sql("select * from requests")):
        with refused("q.parquet", "No such file", "hint"):
            ask()
    assert second.sql("select count(*) n from series").num_rows == 1


@pytest.mark.parametrize("query", ["", ";", None, 3])
def test_what_is_no_query(query: Any):
    result = nandlab.run("tiny", "[a]\nrw=read\nnumber_ios=1\n")
    with refused("sql", "DuckDB's SQL"):
        result.sql(query)


def test_empty_file_of_a_run_without_requests(nandlab: Callable[..., Ended], folder: Path):
    (folder / "none.fio").write_text("[a]\nrw=randread\nruntime=1us\nstartdelay=1\n")
    nandlab(*["run", "--drive", "tiny", "--workload", "none.fio", "--requests", "r.parquet"])
    if (folder / "r.parquet").exists():
        assert pq.read_schema(folder / "r.parquet").names == list(COLUMNS)


def test_rows_say_what_is_measured():
    """Two jobs, one with a ramp: the rows that are measured are the report's, to the request."""
    jobs = (
        "[global]\nrw=randrw\nbs=4k\niodepth=16\nnorandommap\nnumber_ios=5000\n"
        "[ramped]\nramp_time=3ms\n[plain]\nstonewall\n"
    )
    result = nandlab.run("tiny", jobs, precondition="fill", requests=True)
    host = result.to_dict()["host"]
    assert result.requests().num_rows == 10_000
    rows = result.sql(
        "select op, count(*) n, avg(latency_ns) / 1e3 mean, sum(length_bytes) bytes,"
        " quantile_disc(latency_ns, 0.9) / 1e3 p90 from requests where measured group by op"
    ).to_pylist()
    assert sum(row["n"] for row in rows) < 10_000
    for row in rows:
        said = host[row["op"]]
        assert (row["n"], row["bytes"]) == (said["requests"], said["bytes"])
        assert row["mean"] == pytest.approx(said["latency_us"]["mean"], rel=1e-9)
        assert row["p90"] == pytest.approx(said["latency_us"]["p90"], rel=2e-3)


def test_the_table_tells_of_collection_before_a_block_is_reclaimed():
    """What was moved is in the write amplification beside it."""
    job = "[w]\nrw=randwrite\nbs=4k\nnorandommap\niodepth=4\nnumber_ios={}\n"
    seen = set()
    for requests in range(50, 2000, 50):
        report = nandlab.run("tiny", job.format(requests), precondition="steady").report
        text = _collection(report)
        moved, reclaimed = report.ftl.gc_copies, report.ftl.gc_runs
        if not moved and not reclaimed:
            assert text == "none"
        else:
            carries(text, f"{moved:,} units")
            assert ("no block" in text) == (reclaimed == 0)
        seen.add((moved > 0, reclaimed > 0))
        if (True, False) in seen and (True, True) in seen:
            return
    pytest.fail(f"not both seen: {seen}")

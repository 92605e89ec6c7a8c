"""Measured rows: CSV and fio's JSON, what they say, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import carries, refused

import nandlab
from nandlab import NandlabError
from nandlab.calibrate.measured import COLUMNS, read_measured
from nandlab.calibrate.metric import METRICS
from nandlab.calibrate.row import Row


def csv(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "m.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def only(path: Path, **options: Any) -> Row:
    [row] = read_measured(path, **options).rows
    return row


# --- CSV -----------------------------------------------------------------------------------------


def test_columns_make_the_job(tmp_path: Path):
    path = csv(
        tmp_path,
        "# a comment",
        "operation, block_bytes, depth, jobs, read_percent, rate_iops, distribution, iops, mean_us",
        "randread,4096,8,2,,,zipf:1.1,1000,80.5",
        "write,128KiB,1,4,,,,500,",
        "randrw,16k,32,,70,1000,,,120",
    )
    first, second, third = read_measured(path).rows
    assert first.job == (
        "[row]\nrw=randread\nbs=4096\niodepth=8\nnumjobs=2\nnorandommap=1\n"
        "random_distribution=zipf:1.1\n"
    )
    assert (first.direction, dict(first.measured)) == ("read", {"iops": 1000.0, "mean_us": 80.5})
    assert first.place == f"{path}: row 3"
    assert "size=25%\noffset_increment=25%" in second.job
    assert "bs=131072" in second.job
    assert dict(second.measured) == {"iops": 500.0}
    assert "rwmixread=70\nrate_iops=700,300\nrate_process=poisson" in third.job
    assert (third.direction, third.path("iops")) == ("", ("host", "iops"))
    assert third.path("read_p99_us") == ("host", "read", "latency_us", "p99")


def test_every_job_runs(tmp_path: Path):
    path = csv(
        tmp_path,
        "operation,block_bytes,depth,jobs,read_percent,rate_iops,iops",
        *("randread,4k,4,1,,,1", "randwrite,4k,4,2,,500,1", "randrw,8k,4,1,30,,1"),
        *("read,64k,1,3,,,1", "write,64k,1,1,,,1", "rw,4k,1,2,50,100,1"),
    )
    for row in read_measured(path).rows:
        result = nandlab.run("tiny", row.job, until="500")
        assert result.checks.ok, row.name
        assert result.iops > 0


def test_weights_marks_states_and_names(tmp_path: Path):
    path = csv(
        tmp_path,
        "operation,block_bytes,tolerance,holdout,state,requests,name,iops",
        "randwrite,4k,0.1,yes,steady,500,ours,10",
        "randwrite,4k,,,,,,10",
    )
    first, second = read_measured(path).rows
    assert first.weight == pytest.approx(0.25)
    assert (first.is_held_out, first.state, first.requests, first.name) == (
        *(True, "steady", 500, "ours"),
    )
    assert (second.weight, second.is_held_out, second.state, second.requests) == (
        *(1.0, False, None, None),
    )
    assert second.name == "randwrite 4 KiB depth 1"


def test_a_job_file_is_a_workload(tmp_path: Path):
    (tmp_path / "w.fio").write_text("[w]\nrw=randwrite\nbs=4k\nnumber_ios=100\n")
    row = only(csv(tmp_path, "job,write_amplification,iops", "w.fio,1.5,100"))
    assert (row.ends_itself, row.direction, row.name) == (True, "write", "w.fio")
    assert row.path("write_amplification") == ("ftl", "write_amplification")


def test_columns_are_renamed_and_added(tmp_path: Path):
    path = csv(tmp_path, "bytes,depth,mean,sd,series", "8192,4,90,1,spdk")
    measured = read_measured(
        path,
        rename={"mean": "mean_us", "bytes": "block_bytes"},
        columns={"operation": "randread"},
    )
    [row] = measured.rows
    assert dict(row.measured) == {"mean_us": 90.0}
    assert (row.columns["series"], row.columns["sd"]) == ("spdk", 1.0)
    [note] = measured.notes
    carries(note, path, "columns", "sd")
    assert "series" not in note


HEAD = "operation,block_bytes,iops"


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        (["operation,block_bytes", "read,4k"], ["column", "metric"]),
        (["block_bytes,iops", "4k,1"], ["no column `operation`"]),
        (["operation,block_byte,iops", "read,4k,1"], ["`block_bytes`"]),
        ([f"{HEAD},dept", "read,4k,1,1"], ["`depth`"]),
        ([f"{HEAD},iops", "read,4k,1,1"], ["`iops`", "twice"]),
        ([HEAD], ["no rows"]),
        ([HEAD, "read,4k"], ["row 2", "2 fields", "3"]),
        ([HEAD, "raed,4k,1"], ["row 2, column operation", "`raed`", "`read`"]),
        ([HEAD, "read,4x,1"], ["row 2, column block_bytes", "`4x`"]),
        ([HEAD, "read,100,1"], ["multiple of 512"]),
        ([HEAD, "read,4k,0"], ["row 2, column iops", "`0`", "above 0"]),
        ([HEAD, "read,4k,-1"], ["number from 0"]),
        ([HEAD, "read,4k,nan"], ["column iops", "`nan`"]),
        ([HEAD, "read,4k,"], ["metric", "value"]),
        ([HEAD, "read,,1"], ["row 2, column block_bytes", "empty"]),
        ([f"{HEAD},depth", "read,4k,1,0"], ["column depth", "`0`", "number from 1"]),
        ([f"{HEAD},depth", "read,4k,1,1.5"], ["whole number from 1"]),
        ([f"{HEAD},holdout", "read,4k,1,maybe"], ["true, yes, 1, false, no, 0"]),
        ([f"{HEAD},state", "read,4k,1,full"], ["none, fill, steady, rested"]),
        ([f"{HEAD},weight,tolerance", "read,4k,1,1,1"], ["one of the two"]),
        ([f"{HEAD},read_percent", "read,4k,1,50"], ["`read_percent`", "`read`"]),
        ([f"{HEAD},distribution", "read,4k,1,zipf:1"], ["random operation"]),
        ([f"{HEAD},jobs", "read,4k,1,200"], ["200 sequential jobs"]),
        ([f"{HEAD},job", "read,4k,1,w.fio"], ["`operation`", "`job`"]),
        (["job,iops", "no.fio,1"], ["no.fio"]),
        ([HEAD, '"read,4k,1'], ["quote"]),
    ],
)
def test_what_is_refused_of_csv(tmp_path: Path, lines: list[str], parts: list[str]):
    with pytest.raises(NandlabError) as caught:
        read_measured(csv(tmp_path, *lines))
    assert "\n" not in carries(caught.value, *parts)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"rename": {"men": "mean_us"}}, ["rename", "`men`"]),
        ({"columns": {"oper": "read"}}, ["column `oper`"]),
        ({"columns": {"iops": 1}}, ["unknown column `iops`"]),
        ({"columns": {"block_bytes": 4096}}, ["has", "column `block_bytes`"]),
    ],
)
def test_what_is_refused_of_options(tmp_path: Path, options: dict[str, Any], parts: list[str]):
    with refused(*parts):
        read_measured(csv(tmp_path, HEAD, "read,4k,1"), **options)


def test_every_column_and_metric_is_described():
    page = (Path(__file__).parents[2] / "docs/formats/measured.md").read_text()
    cells = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", page, re.M)
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    plain = {name for name in METRICS if not name.startswith(("read_", "write_"))}
    assert named == {*COLUMNS, *plain, "write_amplification"}


# --- fio's JSON ----------------------------------------------------------------------------------


def direction(
    iops: float, mean_us: float, p99_us: float, bins: dict[str, int] | None = None
) -> Any:
    latency: dict[str, Any] = {"min": 1, "max": 9, "mean": mean_us * 1e3, "N": int(iops)}
    latency["percentile"] = {"50.000000": 1e3 * mean_us, "99.000000": 1e3 * p99_us}
    if bins is not None:
        latency["bins"] = bins
    idle = {"mean": 0.0, "N": 0}
    return {
        "total_ios": int(iops),
        "iops": iops,
        "bw": iops * 4,
        "bw_bytes": iops * 4096,
        "lat_ns": latency if bins is None else {k: latency[k] for k in ("mean", "N")},
        "clat_ns": latency,
        "slat_ns": idle,
    }


IDLE = {"total_ios": 0, "iops": 0.0, "bw": 0, "bw_bytes": 0, "lat_ns": {"mean": 0.0, "N": 0}}


def fio(tmp_path: Path, *jobs: dict[str, Any], common: dict[str, str] | None = None) -> Path:
    path = tmp_path / "fio.json"
    every = [
        {"error": 0, "groupid": 0, "write": IDLE, "read": IDLE, "trim": IDLE} | j for j in jobs
    ]
    result = {"fio version": "fio-3.33", "global options": common or {}, "jobs": every}
    path.write_text("fio: a message before\n" + json.dumps(result))
    return path


def test_the_workload_is_that_of_the_job_options(tmp_path: Path):
    job = {
        "jobname": "my reads",
        "job options": {
            **{"name": "my reads", "rw": "randread", "iodepth": "32", "size": "100G"},
            **{"filename": "/dev/nvme0n1", "ioengine": "io_uring", "direct": "1"},
        },
        "read": direction(1000, 80, 150),
    }
    path = fio(tmp_path, job, common={"bs": "8k", "runtime": "60", "time_based": "1"})
    measured = read_measured(path)
    [row] = measured.rows
    assert row.job == "[my_reads]\nbs=8k\nrw=randread\niodepth=32\n"
    assert row.name == "randread 8 KiB depth 32"
    assert row.direction == "read"
    assert dict(row.measured) == pytest.approx(
        {"iops": 1000, "bandwidth_mb_s": 4.096, "mean_us": 80, "p50_us": 80, "p99_us": 150}
    )
    [note] = measured.notes
    carries(note, "left out", "size=100G")
    measured.select(None)
    assert set(measured.rows[0].measured) == {"iops", "mean_us", "p50_us", "p99_us"}
    assert nandlab.run("tiny", row.job, until="100").checks.ok


def test_a_mix_has_both_directions_and_offered_rates_stay(tmp_path: Path):
    options = {"rw": "randrw", "rwmixread": "70", "bs": "4k", "rate_iops": "700,300", "size": "50%"}
    job = {"jobname": "m", "job options": options}
    row = only(fio(tmp_path, job | {"read": direction(700, 90, 1), "write": direction(300, 9, 2)}))
    assert row.direction == ""
    assert row.measured["read_iops"] == 700
    assert row.measured["write_p99_us"] == 2
    assert "rate_iops=700,300\nsize=50%" in row.job
    assert row.columns["rate_iops"] == 700


def test_clones_are_joined_and_groups_are_rows(tmp_path: Path):
    options = {"rw": "randread", "bs": "4k", "numjobs": "2"}
    clone = {"jobname": "a", "job options": options}
    slow, fast = direction(100, 200, 300), direction(300, 100, 150)
    path = fio(
        tmp_path,
        clone | {"read": slow},
        clone | {"read": fast},
        {"jobname": "b", "groupid": 1, "job options": {"rw": "write"}, "write": fast},
    )
    measured = read_measured(path)
    first, second = measured.rows
    assert first.measured["iops"] == 400
    assert first.measured["mean_us"] == pytest.approx(125)
    assert "p99_us" not in first.measured
    assert "json+" in measured.notes[0]
    assert first.job.count("[a]") == 1
    assert second.place == f"{path}: group 1"
    assert (second.direction, second.measured["p99_us"]) == ("write", 150)


def test_histograms_of_clones_are_joined(tmp_path: Path):
    clone = {"jobname": "a", "job options": {"rw": "randread", "numjobs": "2"}}
    one = direction(100, 1, 1, {"1000": 98, "9000": 2})
    two = direction(100, 1, 1, {"1000": 99, "5000": 1})
    row = only(fio(tmp_path, clone | {"read": one}, clone | {"read": two}))
    # 197 of 200 took 1 us, one 5 us, two 9 us.
    assert (row.measured["p50_us"], row.measured["p99_us"]) == (1.0, 5.0)
    assert row.measured["p99_9_us"] == 9.0


def test_a_report_of_nandlab_is_read_too(tmp_path: Path):
    result = nandlab.run("tiny", "[r]\nrw=randwrite\niodepth=4\nnumber_ios=4000\n")
    path = tmp_path / "r.json"
    path.write_text(json.dumps(result.to_dict()))
    row = only(path)
    latency = result.to_dict()["host"]["write"]["latency_us"]
    assert row.measured["iops"] == pytest.approx(result.iops)
    assert row.measured["p99_us"] == pytest.approx(latency["p99"], abs=0.001)
    assert row.measured["write_amplification"] == pytest.approx(result.write_amplification)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{", ["not JSON"]),
        ("{}", ["no `jobs`"]),
        ('{"jobs": []}', ["no job"]),
        ('{"jobs": [1]}', ["job", "not an object"]),
        ('{"jobs": [{"jobname": "a", "error": 5}]}', ["job a", "error 5"]),
        ('{"jobs": [{"jobname": "a"}]}', ["no reads", "no writes"]),
        ('{"jobs": [{"read": {"total_ios": 3, "iops": 1}}]}', ["keys", "fio 3"]),
    ],
)
def test_what_is_refused_of_fio(tmp_path: Path, text: str, parts: list[str]):
    path = tmp_path / "f.json"
    path.write_text(text)
    with refused(*parts):
        read_measured(path)

"""The schema of the report holds for real reports, and the typed view of them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import nandlab as lab
from nandlab.explained.report import names, properties, report_paths, report_schema, target
from nandlab.report import Table, read

JOBS = "[a]\nrw=randtrim\nnumber_ios=100\n[b]\nrw=randrw\nnumber_ios=3000\nfsync=100\n"
#: Recording of a drive with zones.
ZONE_COMMANDS = """fio version 3 iolog
0 d add
0 d open
10 d zone_append 0 16384 0
9000 d zone_reset 0 512
"""
ZONES = "[a]\nzonemode=zbd\nrw=randwrite\nbs=16k\nio_size=4z\n"

#: Unlike runs of `tiny`, which together have every table of the report.
RUNS: dict[str, dict[str, Any]] = {
    "blame": {"workload": JOBS, "precondition": "steady", "explain": True},
    "trace": {
        "trace": ROOT / "examples/traces/sqlite_ext4.iolog.zst",
        "trace_options": {"time_scale": 2.0},
    },
    "cut": {"workload": JOBS, "set": {"recovery.name": "checkpoint"}, "cut_at": 0.001},
    "exchange": {"workload": JOBS, "set": {"ftl.overprovisioning": 0.6}, "exchange": "1@0.001"},
    "parity": {
        "workload": JOBS,
        "set": {
            "parity": {"pages": 1, "read_around": "busy"},
            "ftl.superblock_dies": 0,
            "ftl.gc_reserve_blocks": 2,
            "gc.start_free_blocks": 4,
            "ftl.overprovisioning": 2.0,
        },
        "fail_die": "1@0.001",
    },
    "refresh": {
        "workload": JOBS,
        "set": {"refresh.after_hours": 24, "chip.cost_per_gb": 0.1},
    },
    "power": {
        "workload": JOBS,
        "set": {
            "power.states.light": {"power_mw": 50.0, "idle_ms": 1.0},
            "power.thermal": {
                "capacity_j_per_k": 1.0,
                "resistance_k_per_w": 1.0,
                "ambient_c": 25.0,
                "limits": {"hot": {"from_c": 70.0, "until_c": 60.0, "speed": 0.5}},
            },
        },
    },
    "read cache": {"workload": JOBS, "set": {"read_cache.bytes": 1 << 20}},
    "zones": {"workload": ZONES, "set": {"ftl.name": "zoned", "ftl.max_active_zones": 8}},
    "handles": {"workload": JOBS, "set": {"ftl.host_streams": 2}},
    "windows": {
        "workload": JOBS,
        "set": {"windows": {"deterministic_ms": 1.0, "non_deterministic_ms": 1.0}},
    },
    "windows of sets": {
        "workload": "[a]\nrw=randrw\nnumber_ios=3000\nfilename=/dev/nvme0n1\n",
        "set": {
            "namespace": [
                {"dies": 2, "windows": {"deterministic_ms": 1.0, "non_deterministic_ms": 1.0}}
            ]
        },
    },
    "sets": {
        "workload": "[a]\nrw=randrw\nnumber_ios=3000\nfilename=/dev/nvme0n1\n",
        "set": {"namespace": [{"dies": 2}]},
    },
    "cache": {"drive": "consumer_tlc", "workload": JOBS},
    "kinds": {"drive": "hachiya2013", "workload": JOBS},
    "codes": {
        "workload": JOBS,
        "set": {
            "chip.geometry.spare_bytes": 1024,
            "ecc": {
                "model": "threshold",
                "parity_bytes": 200,
                "stages": [{"from_cycles": 5, "t": 150, "parity_bytes": 700}],
            },
            "ftl.gc_reserve_blocks": 2,
            "gc.start_free_blocks": 4,
        },
    },
    "replicates": {"workload": JOBS, "replicates": 2},
    "tenants": {"workload": JOBS, "tenants": True},
}

#: Tables of served drives that need clients with a clock, exact data, an exchange, or NVMe hosts.
ELSEWHERE = (
    "device.late_us.",
    "device.codewords.",
    "device.exchanges.",
    "device.namespaces.",
    "device.queues.",
)

#: Keys that share their table with others, and stand only there: in `nandlab trace info`, and at
#: latencies other than those of submission.
NEVER = {
    *(f"jobs.{op}.slat_ns.percentile" for op in ("read", "write", "trim")),
    *(f"nandlab.trace.{key}" for key in ("footprint_4k", "unique_written_4k", "rewrite_factor")),
    "nandlab.trace.top_20_percent_write_share",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    made = [lab.run(**{"drive": "tiny", **given}).to_dict() for given in RUNS.values()]
    folder = tmp_path_factory.mktemp("served")
    recorded = folder / "zones.iolog"
    recorded.write_text(ZONE_COMMANDS)
    zoned = {"ftl.name": "zoned", "ftl.max_active_zones": 8}
    made.append(lab.run("tiny", trace=recorded, set=zoned).to_dict())
    with lab.serve("tiny", set={"recovery.name": "scan_blocks"}, clock="fast", port=0) as server:
        server.cut()
        server.restore()
        server.snapshot(folder / "served.nldisk")
        return [*made, server.stop().to_dict()]


def paths(value: Any, table: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Paths of the keys of a report, each of which the schema has; `NAME` is any name."""
    if isinstance(value, list):
        for item in value:
            yield from paths(item, table, prefix)
    elif isinstance(value, dict):
        missing = [key for key in table.get("required", ()) if key not in value]
        assert not missing, (prefix, missing)
        for key, inner in value.items():
            known = properties(table).get(key)
            of_names = table.get("additionalProperties")
            is_known = known is not None or (of_names and key in (names(table) or [key]))
            assert is_known, f"{prefix}{key}: not in the schema"
            yield (path := f"{prefix}{key if known is not None else 'NAME'}")
            below = of_names if known is None else known
            if isinstance(below, dict):
                yield from paths(inner, target(below), f"{path}.")


def test_every_key_of_a_report_is_in_its_schema_and_the_reverse(
    reports: list[dict[str, Any]],
) -> None:
    found = {path for report in reports for path in paths(report, report_schema())}
    assert {path for path in report_paths() if not path.startswith(ELSEWHERE)} - found == NEVER


def types(value: Any, schema: dict[str, Any]) -> Iterator[str]:
    """Keys of a report whose value has not the type that the schema says."""
    allowed = {"integer": int, "number": (int, float), "string": str, "boolean": bool}
    for key, inner in value.items():
        known = properties(schema).get(key, {})
        kinds = known.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        is_null = "null" in kinds or any(one == {"type": "null"} for one in known.get("anyOf", []))
        if inner is None:
            yield from [] if is_null else [key]
        elif isinstance(inner, dict):
            yield from types(inner, target(known))
        elif kinds and not isinstance(inner, list):
            is_right = any(isinstance(inner, allowed[kind]) for kind in kinds if kind in allowed)
            yield from [] if is_right else [key]


def test_values_have_the_types_of_the_schema(reports: list[dict[str, Any]]) -> None:
    for report in reports:
        assert list(types(report, report_schema())) == []


def test_every_key_has_a_meaning() -> None:
    tables = [report_schema(), *report_schema()["$defs"].values()]
    assert len(tables) > 40
    for table in tables:
        for key, value in properties(table).items():
            assert value.get("description", "").strip(), key
            # It would hide a method of the view.
            assert not hasattr(dict, key), key


def test_keys_are_attributes(tmp_path: Path) -> None:
    result = lab.run("tiny", JOBS, explain=True)
    report, plain = result.report, result.to_dict()
    assert report.host.latency_us.p99 == plain["host"]["latency_us"]["p99"] > 0
    assert report.jobs[1].read.lat_ns.mean == plain["jobs"][1]["read"]["lat_ns"]["mean"] > 0
    # Keys that Python adds are tables of the view too.
    assert report.nandlab.run.precondition == "none"
    assert report.blame is not None
    assert report.blame.read[0].percent == 0
    assert report == plain
    assert type(plain["host"]) is dict
    assert {"host", "ftl"} <= set(dir(report))
    assert read(result.to_json(tmp_path / "report.json")) == report
    for same in (copy.deepcopy(report), pickle.loads(pickle.dumps(report)), Table.of(plain)):
        assert same.ftl.merges.full == report.ftl.merges.full


def test_an_unknown_key_is_an_attribute_error() -> None:
    table = Table.of({"host": {"iops": 1.0}, "jobs": [{"error": 0}]})
    assert table["jobs"][0].error == 0
    with pytest.raises(AttributeError, match="iop5"):
        _ = table["host"].iop5

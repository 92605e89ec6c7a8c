"""Words explained: keys of drives and reports, members of families, values with their source."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended, refused

import nandlab as lab
from nandlab.catalogue import families, roster
from nandlab.explained.families import SELECTORS
from nandlab.explained.report import report_key, report_paths
from nandlab.explained.words import meanings, words
from nandlab.keys import every_key, key, keys, written
from nandlab.study.axis import check_path


def test_every_key_has_a_meaning() -> None:
    found = every_key()
    assert len(found) > 150
    assert len({one.path for one in found}) == len(found)
    for one in found:
        assert one.kind, one
        assert one.meaning or one.path.endswith((".name", ".model")), one


def test_a_key() -> None:
    found = key("ftl.map_cache_bytes")
    assert found.members == ("dftl", "slc_cache")
    assert found.unit == "bytes"
    assert key("ftl.overprovisioning").members == tuple(one.name for one in roster("ftl"))
    assert key("ftl.overprovisioning").default == "0.07"
    assert "dftl" in key("ftl.name").kind
    assert key("chip.timing.t_erase_us").unit == "microseconds"
    assert key("drive.channels").members == ()


def test_keys_of_tables_that_may_be_left_out_and_of_rows() -> None:
    settable = {one.path for one in keys()}
    assert {"windows", "windows.in_turn", "power.thermal.start_c"} <= settable
    assert key("windows.deterministic_ms").unit == "milliseconds"
    for path, of in (
        ("namespace.dies", "namespace"),
        ("ecc.stages.from_cycles", "ecc.stages"),
        ("chips.NAME.dies_per_channel", "chips"),
        ("power.thermal.limits.NAME.speed", "power.thermal.limits"),
    ):
        assert key(path).rows_of == of
        assert path not in settable
    assert key("ecc.stages.t").members == tuple(one.name for one in roster("model"))
    # Any name stands for NAME, and a table like a section has the keys of the section.
    assert key("host.jobs.a b.weight").path == "host.jobs.NAME.weight"
    assert key("namespace.windows").section == "windows"
    assert key("namespace.windows.in_turn") == key("windows.in_turn")
    assert key("chips.fast.chip.timing.t_read_us") == key("chip.timing.t_read_us")
    # Axes of studies take what `--set` takes.
    check_path("axis", "windows.deterministic_ms")
    with refused("namespace.dies"):
        check_path("axis", "namespace.dies")
    for unknown in ("namespace.die", "chips.fast.chip.t", "host.jobs..weight", "windows.x"):
        with refused(unknown):
            key(unknown)


def test_every_nested_table_of_the_schema_is_walked() -> None:
    """Each name that any table of the schema has is the last part of some key."""
    schema = lab.schema()
    tables = [one for one in schema["$defs"].values() if one.get("additionalProperties") is False]
    names = {name for one in tables for name in one.get("properties", {})}
    assert len(names) > 100
    assert names <= {one.path.rpartition(".")[2] for one in every_key()} | {
        part for one in every_key() for part in one.path.split(".")
    }


def test_values_are_words(nandlab: Callable[..., Ended]) -> None:
    for word, path in (
        ("busy", "parity.read_around"),
        ("collection", "parity.read_around"),
        ("clock", "read_cache.policy"),
        ("arc", "read_cache.policy"),
        ("lru", "read_cache.policy"),
        ("lru", "ftl.map_cache_policy"),
    ):
        [one] = [one for one in meanings(word) if path in one.facts.get("of", "")]
        assert one.kind == "value"
        assert meanings(f"{path}={word}")[0].facts["meaning"] == one.facts["meaning"]
    for one in every_key():
        assert all(meaning for _, meaning in one.values), one
    nandlab("explain", "parity.read_around=bsy").refused("`busy`")


def test_a_value_of_rows(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(
        'drive_preset = "tiny"\n[[namespace]]\nshare = 0.5\n[[namespace]]\nshare = 0.2\n'
    )
    found = written("namespace.share", str(mine))
    assert found is not None
    assert found.value == "[0.5, 0.2]"
    assert written("windows.in_turn", str(mine)) is None


def test_the_value_of_a_drive(tmp_path: Path) -> None:
    of_preset = written("ftl.overprovisioning", "tiny")
    assert of_preset is not None
    assert of_preset.value == "0.28"
    assert of_preset.comment
    mine = tmp_path / "mine.toml"
    mine.write_text('drive_preset = "tiny"\n# of the data sheet\ndrive.channels = 3\n')
    found = written("drive.channels", str(mine))
    assert found is not None
    assert (found.value, found.place) == ("3", f"{mine}:3")
    assert found.comment == "of the data sheet"
    default = written("gc.start_free_blocks", "tiny")
    assert default is None or default.value
    assert written("ftl.log_blocks", "tiny") is None


def test_command_line(nandlab: Callable[..., Ended]) -> None:
    said = nandlab("explain", "ftl.overprovisioning", "--drive", "tiny").succeeded().out
    assert "physical / logical capacity - 1" in said
    assert "0.28" in said
    for wrong, part in [("gc.dd", "`gc.d`"), ("chip.timing", "t_read_us"), ("", "unknown word")]:
        nandlab("explain", wrong).refused(part)
    with refused("`ftl.nam`", "`ftl.name`"):
        key("ftl.nam")


def test_every_member_has_a_line(nandlab: Callable[..., Ended]) -> None:
    """By its name, and by the key that chooses it; its summary stands there."""
    for family in families():
        listed = meanings(SELECTORS.get(family, family))[0].members
        for one in roster(family):
            assert listed[one.name] == one.summary
            assert any(one.summary in found.facts["meaning"] for found in meanings(one.name))
            if family in SELECTORS:
                [chosen] = meanings(f"{SELECTORS[family]}={one.name}")
                assert one.summary in chosen.facts["meaning"]
    said = nandlab("explain", "greedy").succeeded().out
    assert roster("gc")[0].summary in said
    assert "--set gc.name=greedy" in said
    # A name of several families has a meaning in each.
    assert len(nandlab("explain", "none", "--json", "-").succeeded().json["others"]) >= 1


def test_own_keys_of_a_member_are_named() -> None:
    own = {one.path for one in keys() if one.members == ("dftl",)}
    assert own <= set(meanings("dftl")[0].facts["keys"].split(", "))


def paths(value: Any, prefix: str = "") -> Iterator[str]:
    """Paths of all keys of a report, of lists those of their first item."""
    if isinstance(value, list):
        yield from paths(value[0], f"{prefix}[0]") if value else ()
    elif isinstance(value, dict):
        for name, inner in value.items():
            path = f"{prefix}.{name}" if prefix else name
            yield path
            yield from paths(inner, path)


JOB = "[a]\nrw=randrw\nfsync=8\nnumber_ios=200\n"
REPORTS = {
    "tiny": {"explain": True, "precondition": "fill"},
    "power and cost": {
        "set": {"recovery.name": "scan_blocks", "chip.cost_per_gb": 1, "refresh.after_hours": 10},
        "cut_at": 0.001,
    },
    "zones": {"set": {"ftl.name": "zoned", "ftl.max_active_zones": 8}},
    "exchange": {"exchange": "1@0.0001", "set": {"ftl.overprovisioning": 0.8}},
}

_ELSEWHERE = r"nandlab\.(config|run)\.|jobs\[0\]\.job options\.|.*causes_us\."
"""Keys of a drive file, of a job file, and causes."""
_OF_FIO = {"fio version", "timestamp", "time", "global options"}


@pytest.mark.parametrize("kind", REPORTS)
def test_every_key_of_a_report_is_explained(kind: str) -> None:
    job = "[a]\nrw=write\nzonemode=zbd\nbs=64k\nnumber_ios=50\n" if kind == "zones" else JOB
    report = lab.run("tiny", job, **REPORTS[kind]).to_dict()
    asked = [path for path in paths(report) if not re.match(_ELSEWHERE, path)]
    assert len(asked) > 200
    assert [one for one in asked if one not in _OF_FIO and report_key(one) is None] == []


def test_keys_of_the_report(nandlab: Callable[..., Ended]) -> None:
    for known in ("ftl.write_amplification", "host.latency_us.p99_9", "jobs[0].latency_us.100"):
        assert nandlab("explain", known, "--json", "-").succeeded().json["kind"] == "report"
    for unknown in ("ftl.map.hitz", "host.latency_us.p99_8", "nand.reads.programs", "cost.per_gb"):
        assert report_key(unknown) is None
    assert all(report_key(path) is not None for path in report_paths())


def test_every_word_is_explained() -> None:
    assert all(meanings(word) for word in words()[::7])


def test_unknown_words_get_the_nearest(nandlab: Callable[..., Ended]) -> None:
    for wrong, near in {
        "gredy": "`greedy`",
        "gc.name=gredy": "`greedy`",
        "ftl.write_amplificaton": "`ftl.write_amplification`",
        "cost.per_gb": "`cost.usd_per_gb`",
    }.items():
        nandlab("explain", wrong).refused(near)
    nandlab("explain", "greedy", "--drive", "tiny").refused("--drive", "greedy")

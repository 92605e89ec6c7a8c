"""Expressions of studies: what they are worth, what is missing, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import carries, refused

import nandlab
from nandlab import NandlabError
from nandlab.study.check import check_study
from nandlab.study.expression import Expression, check_path, found

REPORT: dict[str, Any] = {
    "host": {"iops": 1500.0, "read": {"latency_us": {"p99": 200.0}}, "writes": 0},
    "channels": {"busy": [0.5, 0.25]},
    "settled": {"metric": "iops", "value": None},
    "global options": {"bs": "4k"},
}


def worth(text: str) -> Any:
    return Expression("columns", text).value(lambda path: found(REPORT, path))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("host.iops / 1000", 1.5),
        ("host.read.latency_us.p99", 200.0),
        ("channels.busy[0] + channels.busy[-1]", 0.75),
        ("max(channels.busy)", 0.5),
        ("mean(channels.busy) * 2", 0.75),
        ("sqrt(16) + log2(8) - -1", 8.0),
        ("2 ** 3 ** 2", 512.0),
        ("7 // 2 + 7 % 4", 6),
        ("settled.metric == 'iops' and host.iops > 1e3", True),
        ("host.iops if host.writes > 0 else 0", 0),
        ("not host.writes", True),
        ("settled.metric in ['iops', 'p99']", True),
        ("1 < 2 < 3 and not 1 < 3 < 2", True),
        ("'global' in settled.metric", False),
        ("true != false", True),
    ],
)
def test_values(text: str, value: Any):
    assert worth(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "host.nothing",
        "host.nothing + 1",
        "host.iops / host.writes",
        "settled.value > 3",
        "channels.busy[7]",
        "log(0)",
        "max(settled.value, 1)",
        "9.0 ** 9 ** 9",
        "host.iops.deeper",
    ],
)
def test_what_has_no_value_is_missing(text: str):
    assert worth(text) is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no expression"),
        ("host.iops +", "no expression"),
        ("__import__('os')", "functions"),
        ("(lambda: 1)()", "functions"),
        ("[x for x in y]", "functions"),
        ("host.iops.bit_length()", "functions"),
        ("f'{host}'", "functions"),
        ("max(1, key=2)", "functions"),
        ("(1).real", "functions"),
        ("x" * 3000, "long"),
        ("(" * 500 + ")" * 500, "no expression"),
        ("1 << 999999", "functions"),
    ],
)
def test_what_is_no_expression(text: str, part: str):
    with pytest.raises(NandlabError) as raised:
        Expression("study.toml: columns", text)
    said = carries(raised.value, part)
    assert said.startswith("study.toml: columns: ")
    assert "\n" not in said


@pytest.mark.parametrize("text", ["settled.metric + 1", "settled.metric < 1", "'a' * 9"])
def test_kinds_that_do_not_go_together(text: str):
    with refused("columns"):
        worth(text)


def test_paths_of_a_report():
    check_path("x", REPORT, ("host", "read", "latency_us", "p99"))
    check_path("x", REPORT, ("channels", "busy", 17))
    check_path("x", REPORT, ("settled", "value", "anything"))
    check_path("x", REPORT, ("global options", "bs"))
    with refused("host", "`iopss`", "`iops`"):
        check_path("x", REPORT, ("host", "iopss"))
    with refused("host.iops", "not a table"):
        check_path("x", REPORT, ("host", "iops", "p99"))


@pytest.mark.parametrize(
    ("column", "near"),
    [
        ("cost.per_gb", "`usd_per_gb`"),
        ("power.start_up.times", "`time_s`"),
        ("zones.append.latency_us.p9", "`p99`"),
        ("ftl.cache.host_unit / 2", "`host_units`"),
    ],
)
def test_a_key_that_no_report_has_is_refused_before_a_study_runs(column: str, near: str):
    """Also below tables that only some drives have."""
    job = "[a]\nrw=randread\nnumber_ios=10\n"
    with refused("columns", near):
        nandlab.Study("tiny", job, columns=[f"a = {column}"]).run()


def test_keys_of_tables_that_only_some_drives_have_are_taken():
    taken = [
        *("cost.usd_per_gb", "power.start_up.time_s", "zones.append.latency_us.p99"),
        *("ftl.cache.host_units", "nand.kinds.tlc.erases", "refresh.blocks.age", "exchange.die"),
        *("nandlab.trace.by_op.read.requests", "blame.read[0].mean_us", "jobs[1].read.iops"),
        *("nandlab.config.recovery.name", "zones.states['read only']", "nand.peak_power_w"),
    ]
    job = "[a]\nrw=randread\nnumber_ios=10\n"
    study = nandlab.Study("tiny", job, columns=[f"c{at} = {one}" for at, one in enumerate(taken)])
    check_study(study.given, study.tasks())

"""Jobs that share a drive: priorities with and without effect, fairness, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended, carries, refused

import nandlab

#: Two flows of reads, one of which is to go first.
PRIORITIES = """
[global]
rw=randread
norandommap
bs=4k
iodepth=64
number_ios=5000
[urgent]
prioclass=1
[low]
prioclass=3
"""

WEIGHTED: dict[str, Any] = {"host.arbitration": "weighted_round_robin"}


def run(jobs: str = PRIORITIES, **given: Any) -> nandlab.Result:
    return nandlab.run("tiny", jobs, precondition="fill", **given)


def means(result: nandlab.Result) -> list[float]:
    return [job.read.lat_ns.mean for job in result.report.jobs]


def test_priorities_of_reads_change_the_order_or_are_noticed():
    plain = run()
    [said] = plain.report.nandlab.notices
    carries(said, "prioclass", "host.arbitration", "round_robin")
    assert means(plain)[0] == pytest.approx(means(plain)[1], rel=0.1)
    weighted = run(set=WEIGHTED)
    assert weighted.report.nandlab.notices == []
    urgent, low = means(weighted)
    assert urgent < 0.7 * low
    assert urgent < 0.8 * means(plain)[0]
    # A drive with room for all takes each request at once.
    wide = run(set={**WEIGHTED, "drive.queue_depth": 128})
    [said] = wide.report.nandlab.notices
    carries(said, "drive.queue_depth", "128")
    assert wide.report.host.requests_waited == 0


def test_weights_without_arbitration_are_noticed():
    sets = {"host.weight_high": 8, "host.jobs.low.weight": 2, "host.jobs.low.limit_iops": 100000}
    notices = run(PRIORITIES.replace("prioclass", "; prioclass"), set=sets).report.nandlab.notices
    [said] = notices
    carries(said, "host.weight_high", "host.jobs.low.weight", "round_robin")


def test_weights_of_no_job_and_a_burst_without_limits_are_noticed():
    idle = {"host.weight_medium": 7, "host.limit_burst_us": 5}
    notices = run(set={**WEIGHTED, **idle}).report.nandlab.notices
    weight, burst = notices
    carries(weight, "host.weight_medium", "no job", "medium")
    carries(burst, "host.limit_burst_us", "no job", "limit_iops")
    used = {**idle, "host.jobs.low.priority": "medium", "host.jobs.low.limit_iops": 100000}
    notices = run(set={**WEIGHTED, **used}).report.nandlab.notices
    assert not [one for one in notices if "changes nothing" in one]


def test_tenants_are_told_in_report_and_table():
    two = PRIORITIES.replace("prioclass", "; prioclass").replace("64", "32")
    result = run(two, tenants=True, set={"drive.queue_depth": 16})
    tenants = result.report.tenants
    assert tenants is not None
    assert [one.name for one in tenants.jobs] == ["urgent", "low"]
    assert tenants.fairness == pytest.approx(1, abs=0.02)
    assert all(one.alone.requests == one.together.requests == 5000 for one in tenants.jobs)
    assert all(one.slowdown == pytest.approx(2, abs=0.1) for one in tenants.jobs)
    carries(result._repr_html_(), "tenant", "slowdown", "fairness")
    assert result.report.nandlab.run.tenants is True
    without = run(two, set={"drive.queue_depth": 16})
    assert without.report.tenants is None
    assert means(without) == means(result)


def test_what_does_not_go_with_tenants_is_refused():
    for given in ({"replicates": 2}, {"cut_at": 0.1}, {"exchange": "0@0"}):
        with refused("tenants", *given):
            run(tenants=True, **given)
    with refused("tenants", "one"):
        run("[one]\nrw=randread\nnumber_ios=10\n", tenants=True)
    with refused("host.jobs", "nobody", "urgent"):
        run(set={"host.jobs.nobody.weight": 3})


def test_tenants_of_a_file_are_switched_off_on_the_command_line(
    folder: Path, nandlab: Callable[..., Ended]
):
    (folder / "two.fio").write_text(PRIORITIES)
    table = '[run]\nworkload = "two.fio"\nprecondition = "fill"\ntenants = true\n'
    (folder / "two.toml").write_text(f'drive_preset = "tiny"\n{table}')
    given = ("run", "--drive", "two.toml", "--json", "-")
    assert nandlab(*given).succeeded().json["tenants"] is not None
    assert nandlab(*given, "--no-tenants").succeeded().json.get("tenants") is None

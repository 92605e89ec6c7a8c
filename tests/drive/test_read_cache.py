"""The read cache in runs: its share of hits, latencies, reads ahead, and what shows it."""

from __future__ import annotations

from typing import Any

import pytest

import nandlab
from nandlab import Result

SMALL: dict[str, Any] = {"chip.geometry.blocks_per_plane": 64}
READS = "[reads]\nbs=4k\niodepth=4\nnorandommap\nnumber_ios=60000\nrw={}\n"


def run(rw: str, cache: dict[str, Any], **more: Any) -> Result:
    keys = {f"read_cache.{key}": value for key, value in cache.items()}
    workload = READS.format(rw)
    return nandlab.run(
        "tiny", workload=workload, precondition="fill", set={**SMALL, **keys}, **more
    )


@pytest.mark.parametrize("policy", ["lru", "clock", "arc"])
def test_uniform_reads_hit_as_often_as_the_cache_is_large(policy: str):
    """Every unit is as likely as any other, so the policy makes no difference: C / N."""
    capacity = run("randread", {}, until="1").report.nandlab.capacity_bytes
    room = round(capacity / 4096 * 0.3) * 4096
    # The first half fills the cache.
    report = run("randread", {"bytes": room, "policy": policy}, skip="30000").report
    cache = report.read_cache
    assert cache is not None
    assert cache.held_units == cache.room_units == room // 4096
    # A miss counts when its data are there: at either end four reads are in flight.
    assert abs(cache.hits + cache.misses - report.host.read_units) <= 4
    # Four standard deviations of 30,000 draws.
    share, expected = cache.hits / (cache.hits + cache.misses), room / capacity
    assert abs(share - expected) < 4 * (expected * (1 - expected) / 30000) ** 0.5


def test_reads_ahead_make_sequences_fast():
    alone = run("read", {})
    ahead = run("read", {"bytes": 1 << 20, "prefetch_units": 64})
    cache = ahead.report.read_cache
    assert alone.report.read_cache is None
    assert cache is not None
    assert ahead.report.host.iops > 1.5 * alone.report.host.iops
    assert cache.ahead_used > 0.99 * cache.ahead_units > 0


def test_hits_are_explained():
    # What is read fits: nearly all reads are hits, and their time is that of a slow DRAM.
    cache = {"bytes": 1 << 30, "dram_mb_s": 100}
    result = run("randread\nsize=4m", cache, skip="5000", explain=True)
    cache_report = result.report.read_cache
    assert cache_report is not None
    assert cache_report.hits > 0.9 * result.report.host.read_units
    causes = result.explain(50, "read").causes_us
    assert next(iter(causes)) == "read cache"
    assert result.to_dict()["checks"]["blame_error_ns"] == 0

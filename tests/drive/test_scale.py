"""Smaller drives of the same kind: collection, latencies and caches are those of the whole one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import MIXED, Ended, refused

import nandlab

RANDOM = "[w]\nrw=randwrite\nbs=4k\niodepth=32\nnorandommap=1\n"


def steady(drive: str, drive_writes: float, **given: Any) -> tuple[float, float, float]:
    """Write amplification, mean and 99th percentile of random writes without a pause."""
    made = nandlab.Drive(drive, **given)
    made.precondition("steady")
    until, skip = f"{drive_writes}x", f"{drive_writes / 4}x"
    report = made.run(RANDOM, skip=skip, until=until).report
    latency = report.host.latency_us
    return report.ftl.write_amplification, latency.mean, latency.p99


@pytest.mark.parametrize(("spare", "scatter"), [(0.12, 0.0), (0.28, 0.03)])
def test_random_writes_take_as_long_as_on_the_whole_drive(
    spare: float, scatter: float, few_or_all: Callable[[Any, Any], Any]
):
    """Within 2 %, and two standard deviations of the 99th percentile over seeds."""
    given = {"set": {"ftl.overprovisioning": spare}, "seed": 1}
    *whole, slow = steady("tiny", 3, **given)
    for scale, writes in few_or_all([("1/6", 18)], [("1/2", 6), ("1/6", 18)]):
        *scaled, scaled_slow = steady("tiny", writes, scale=scale, **given)
        assert scaled == pytest.approx(whole, rel=0.02)
        assert scaled_slow == pytest.approx(slow, rel=0.02 + scatter)


@pytest.mark.long
def test_random_writes_of_qlc_take_as_long_as_on_the_whole_drive():
    """With shorter blocks, so that the whole drive can be run."""
    given = {"set": {"chip.geometry.pages_per_block": 192}}
    whole = steady("modern_qlc", 0.6, **given)
    assert steady("modern_qlc", 5, scale="1/16", **given) == pytest.approx(whole, rel=0.02)


def test_shorter_blocks_take_as_long_for_random_writes():
    """Blocks of 192 pages in place of 384: 1.0 to 1.1 % less, at three seeds."""
    sets = {"chip.geometry.pages_per_block": 384, "drive.dies_per_channel": 1}
    *whole, _ = steady("modern_qlc", 0.75, scale="1/16", set=sets, seed=1)
    *shorter, _ = steady("modern_qlc", 1.5, scale="1/32", set=sets, seed=1)
    assert shorter == pytest.approx(whole, rel=0.02)


def cliff_bytes(scale: str) -> tuple[float, int]:
    """Bytes written in order when the rate falls, and the capacity of the drive."""
    result = nandlab.run(
        "consumer_qlc_sata", "[w]\nrw=write\nbs=1m\niodepth=8\nsize=12%\n", scale=scale
    )
    series = result.series()
    rates = series["write_mb_s"].to_numpy()
    written = (rates * series["duration_s"].to_numpy() * 1e6).cumsum()
    # Above the mean before it, and below it from then on.
    falls = (rates - rates.mean()).cumsum().argmax()
    return float(written[falls]), result.report.nandlab.capacity_bytes


@pytest.mark.parametrize("parts", [32, 64])
def test_a_cache_is_full_at_the_scaled_place(parts: int):
    """To a set of blocks of each plane, 64 MiB, in each part of the cache."""
    cliff, capacity = cliff_bytes(f"1/{parts}")
    assert cliff == pytest.approx(42e9 / parts, abs=2 * (64 << 20))
    assert capacity == pytest.approx(1e12 / parts, rel=0.02)


def test_scale_is_an_option_a_key_and_an_axis(folder: Path):
    option = nandlab.run("tiny", MIXED, scale="1/8")
    assert nandlab.run("tiny", MIXED, set={"drive.scale": 0.125}).config == option.config
    assert nandlab.Drive("tiny", scale=1 / 8).run(MIXED).config == option.config
    Path("mine.toml").write_text('drive_preset = "tiny"\ndrive.scale = "1/2"\n')
    assert nandlab.run("mine.toml", MIXED, scale="1/8").config == option.config
    # The report is of a drive like any other.
    assert nandlab.run(option.config, MIXED).config == option.config
    assert len([text for text in option.notices if "drive.scale" in text]) == 1
    study = nandlab.Study("tiny", "mixed.fio", axes={"drive.scale": ["1/8", "1/4"]}).run(workers=1)
    sizes = [report.nandlab.capacity_bytes for _, report in study.reports()]
    assert sizes[1] == pytest.approx(2 * sizes[0], rel=0.05)


def test_a_scale_goes_wherever_a_drive_is_named(folder: Path, nandlab: Callable[..., Ended]):
    nandlab("save", "--drive", "tiny", "--scale", "1/4", "--out", "a.nldrive", "--quiet")
    nandlab("run", "--from", "a.nldrive", "--workload", "mixed.fio", "--quiet")
    nandlab("ftl", "--drive", "tiny", "--scale", "1/4")
    ended = nandlab("run", "--from", "a.nldrive", "--scale", "1/4", "--workload", "mixed.fio")
    ended.refused("--scale", "saved drive")
    for bad in ("0", "2", "x", "1/0"):
        ended = nandlab("run", "--drive", "tiny", "--scale", bad, "--workload", "mixed.fio")
        ended.refused("drive.scale", bad, "1/64")


def test_too_few_blocks_are_refused_with_the_least_scale():
    with refused("drive.scale", "3 of 682 blocks", "of 192 pages"):
        nandlab.Drive("modern_qlc", scale="1/2000")

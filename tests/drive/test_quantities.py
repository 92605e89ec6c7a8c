"""Drives by the capacity that the host sees, and numbers with units."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import MIXED, refused

import nandlab
from nandlab.catalogue import load_config, roster

FTLS = [member.name for member in roster("ftl")]


@pytest.mark.parametrize("ftl", FTLS)
def test_the_host_sees_what_was_asked_for(ftl: str):
    """Of every FTL, to the mapping unit; of zones whole ones."""
    sets = [f"ftl.name={ftl}", "drive.capacity=500MB"]
    if ftl == "wom":
        sets += ["chip.page_order=even_odd", "drive.capacity=300MB"]
    config = load_config("tiny", sets)
    asked = config.config["drive"]["capacity"]
    capacity, _, _ = config.native.ftl_needs(1 << 32)
    most = 2 << 20 if ftl == "zoned" else 4096
    assert 0 <= asked - capacity < most
    if ftl == "page":
        spare = config.config["ftl"]["overprovisioning"]
        assert spare == pytest.approx((1 << 30) / asked - 1, abs=1e-4)


def test_a_report_has_both_and_is_a_drive_again(folder: Path):
    result = nandlab.run("tiny", MIXED, set={"drive.capacity": "600 MB"})
    again = nandlab.run(result.config, MIXED)
    assert again.config == result.config
    assert again.config["drive"]["capacity"] == 600_000_000
    assert again.config["ftl"]["overprovisioning"] == pytest.approx(0.7896, abs=1e-4)
    both = ["drive.capacity=600MB", "ftl.overprovisioning=0.2"]
    with refused("drive.capacity", "ftl.overprovisioning=0.2"):
        nandlab.run("tiny", MIXED, set=both)
    with refused("drive.capacity=1.05GB", "over-provisioning", "at least"):
        nandlab.run("tiny", MIXED, set=["drive.capacity=1.05GB"])
    with refused("drive.capacity=2TB", "good blocks"):
        nandlab.run("tiny", MIXED, set=["drive.capacity=2TB"])


def test_numbers_with_units_are_the_same_drive(folder: Path):
    plain = nandlab.run("tiny", MIXED, set={"buffer.bytes": 2097152, "ftl.overprovisioning": 0.3})
    Path("units.toml").write_text('drive_preset = "tiny"\nftl.overprovisioning = "30%"\n')
    tables = {"drive_preset": "tiny", "buffer": {"bytes": "2MiB"}, "ftl": {"overprovisioning": 0.3}}
    for units in [
        nandlab.run("tiny", MIXED, set=["buffer.bytes=2M", "ftl.overprovisioning=30%"]),
        nandlab.run("units.toml", MIXED, set={"buffer.bytes": "2 MiB"}),
        nandlab.run(tables, MIXED),
    ]:
        assert units.config == plain.config
        assert (
            units.to_dict()["nandlab"]["config_hash"] == plain.to_dict()["nandlab"]["config_hash"]
        )
    with refused("buffer.bytes", "2MX", "MiB"):
        nandlab.run("tiny", MIXED, set={"buffer.bytes": "2MX"})


def test_the_rates_of_a_chip_may_have_units() -> None:
    """`nandlab.endurance` takes what a drive takes."""
    array = {"name": "power_law", "alpha": 1e-9}
    plain, with_units = (
        nandlab.endurance({"preset": "tlc_3d", "array": {**array, "epsilon": epsilon}})
        for epsilon in (1e-4, "0.01%")
    )
    assert [point.pe_cycles for point in plain.points] == [
        point.pe_cycles for point in with_units.points
    ]

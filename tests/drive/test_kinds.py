"""Drives with several kinds of chips: what the report says of each, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import refused

import nandlab
from nandlab.catalogue import load_config
from nandlab.explained.summary import built

JOB = "[writes]\nrw=randwrite\nbs=16k\niodepth=8\nnorandommap=1\nnumber_ios=20000\n"


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    drive = nandlab.Drive("hachiya2013")
    drive.precondition("fill")
    return drive.run(JOB).to_dict()


def test_kinds_add_up(report: dict[str, Any]):
    nand = report["nand"]
    kinds = nand["kinds"]
    assert set(kinds) == {"chip", "tlc"}
    assert kinds["tlc"]["programs"] > 0
    for key in ("programs", "erases"):
        assert sum(kind[key] for kind in kinds.values()) == nand[key]
    energy = sum(kind["energy_uj"] for kind in kinds.values())
    assert energy == pytest.approx(nand["energy_uj"])
    assert report["checks"]["conservation"]["ok"]
    assert report["checks"]["busy_idle_error"] == 0


@pytest.mark.parametrize(
    ("share", "told"), [("channels", "on 1 channel"), ("dies_per_channel", "on 1 die of each")]
)
def test_the_summary_says_the_share_of_each_kind(share: str, told: str):
    drive = load_config("hachiya2013").config
    drive["chips"]["tlc"] = {share: 1, "chip": drive["chips"]["tlc"]["chip"]}
    assert told in built(drive)


def test_times_are_those_of_each_kind(report: dict[str, Any]):
    kinds = report["nand"]["kinds"]
    assert set(kinds["chip"]["program_us"].values()) == {1600.0}
    assert kinds["tlc"]["program_us"] == {"wordline": pytest.approx(12960.0)}


def test_flash_costs_what_its_kinds_cost(report: dict[str, Any]):
    mlc, tlc = (report["nand"]["kinds"][name]["flash_bytes"] for name in ("chip", "tlc"))
    assert tlc == 1.5 * mlc == 1.5 * 4 * 128 * 128 * 16384
    assert report["cost"]["flash_bytes"] == mlc + tlc
    assert report["cost"]["flash_usd"] == pytest.approx((mlc + 0.6667 * tlc) / 1e9)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"chips.tlc.channels": 8}, ["1 to 7"]),
        ({"chips.tlc.dies_per_channel": 1}, ["chips.tlc", "two shares"]),
        ({"chips.tlc.chip.geometry.page_bytes": 32768}, ["page_bytes"]),
        ({"chips.tlc.chip.array.name": "no_such"}, ["no_such"]),
        ({"chips.tlc.chip.no_such": 1}, ["no_such"]),
        ({"ftl.name": "page"}, ["ftl.name", "page", "one kind"]),
        ({"recovery.name": "scan_pages"}, ["recovery.name"]),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, object], parts: list[str]):
    with refused(*parts):
        nandlab.Drive("hachiya2013", set=given)


def test_a_whole_life_is_of_one_kind():
    with refused("chips", "several kinds"):
        nandlab.life("hachiya2013", workload=JOB, years=1)


WORN = {
    "ecc.code": "bch_1024_t72",
    "ecc.model": "threshold",
    "chip.array": {"name": "power_law", "epsilon": 1e-3, "alpha": 0, "beta": 0, "gamma": 0},
    "chips.tlc.chip.array": {
        "name": "power_law",
        "epsilon": 5e-3,
        "alpha": 0,
        "beta": 0,
        "gamma": 0,
    },
    "chips.tlc.ecc.code": "ldpc_4k_r90",
    "chip.geometry.spare_bytes": 2048,
    "chips.tlc.chip.geometry.spare_bytes": 2048,
    "retry.name": "soft_decision",
}
"""Worn TLC with LDPC beside MLC with BCH."""


def test_each_kind_has_the_code_that_it_names():
    drive = nandlab.Drive("hachiya2013", set=WORN)
    drive.precondition("fill")
    job = "[reads]\nrw=randread\nbs=16k\niodepth=8\nnumber_ios=4000\n"
    report = drive.run(job).to_dict()
    config = report["nandlab"]["config"]
    own = config["chips"]["tlc"]["ecc"]
    assert (own["model"], own["code"]) == ("profile", "ldpc_4k_r90")
    assert config["ecc"]["code"] == "bch_1024_t72"
    mlc, tlc = (report["nand"]["kinds"][name]["ecc"] for name in ("chip", "tlc"))
    for key in mlc:
        assert mlc[key] + tlc[key] == report["ecc"][key]
    # Words of 1 KiB and of 4 KiB in pages of 16 KiB.
    assert mlc["codewords"] % 16 == 0
    assert tlc["codewords"] % 4 == 0
    assert (mlc["hard_failures"], mlc["iterations"]) == (0, 0)
    assert tlc["iterations"] > tlc["codewords"] > 0
    assert tlc["uncorrectable"] == 0
    # Errors of each are those of its rate: data and parity of a word times the rate.
    for of, bits, rate in ((mlc, 8192, 1e-3), (tlc, 32768, 5e-3)):
        mean = of["raw_bit_errors"] / of["codewords"]
        assert bits * rate < mean < 1.2 * bits * rate
    assert report["checks"]["conservation"]["ok"]


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"chips.tlc.ecc.code": "no_such"}, ["chips.tlc.ecc.code"]),
        ({"chips.tlc.ecc": {"t_decode_us": 1}}, ["chips.tlc.ecc", "`model`"]),
        ({"chips.tlc.ecc.model": "no_such"}, ["chips.tlc.ecc.model", "no_such"]),
        ({"chips.tlc.ecc": {"model": "ideal", "no_such": 1}}, ["chips.tlc.ecc", "no_such"]),
        (
            {"chips.tlc.ecc": {"model": "ideal", "payload_bytes": 32768}},
            ["chips.tlc.ecc", "at most 16384"],
        ),
        (
            {
                "chips.tlc.ecc": {"model": "ideal", "payload_bytes": 1024, "parity_bytes": 64},
                "chips.tlc.chip.geometry.spare_bytes": 512,
            },
            ["chips.tlc.ecc", "1024 bytes", "at most 512"],
        ),
    ],
)
def test_codes_that_do_not_fit_are_refused(given: dict[str, object], parts: list[str]):
    with refused(*parts):
        nandlab.Drive("hachiya2013", set=given)

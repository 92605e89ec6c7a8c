"""What an FTL needs of a drive's hardware: controller memory, and bytes in the spare area."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import MIXED, Ended, carries, refused

import nandlab
from nandlab.catalogue import roster

#: `wom` rewrites safe pages in pairs, which the order of `tiny` does not have.
PAIRS = {"chip.page_order": "even_odd"}


def needs(name: str, **given: object) -> nandlab.FtlNeeds:
    (row,) = (row for row in nandlab.ftls("tiny", set=given) if row.name == name)
    return row


def test_every_member_has_a_row():
    rows = nandlab.ftls("tiny", set=PAIRS)
    assert [row.name for row in rows] == [member.name for member in roster("ftl")]
    for row in rows:
        assert row.refused == ""
        assert row.total_bytes == sum(row.ram_bytes.values()) > 0
        assert row.spare_bytes > 0
        assert row.bytes_per_gib == pytest.approx(row.total_bytes / row.capacity_bytes * 2**30)


def test_a_page_map_takes_four_bytes_a_unit():
    row = needs("page")
    assert row.ram_bytes["map"] == row.capacity_bytes // 4096 * 4


def test_memory_is_what_the_report_says():
    for row in nandlab.ftls("tiny", set=PAIRS):
        given: dict[str, object] = {**PAIRS, "ftl.name": row.name}
        job = MIXED
        if row.name == "zoned":
            given["ftl.max_active_zones"] = 8
            job = "[zones]\nzonemode=zbd\nrw=randwrite\nbs=16k\nio_size=4z\n"
        result = nandlab.run("tiny", job, set=given)
        told = result.to_dict()["ftl"]["ram_bytes"]
        if row.name == "learned":
            # Grows with what is written: the row is that of an empty drive.
            assert told["total"] > row.total_bytes
        else:
            assert told == {"total": row.total_bytes, **row.ram_bytes}


@pytest.mark.parametrize("seed", range(1, 5))
def test_writes_that_wait_for_the_map_go_on(seed: int):
    """One at a time, without a write buffer: nothing but the map's own work wakes them."""
    given = {"ftl.map_cache_bytes": 512, "ftl.overprovisioning": 0.2}
    job = "[a]\nrw=randwrite\nbs=2k\niodepth=1\nnorandommap=1\nnumber_ios=2000\nsize=256m\n"
    result = nandlab.run("gupta2009", f"{job}randseed={seed}\n", set=given)
    assert result.to_dict()["host"]["requests_completed"] == 2000


def test_memory_is_limited():
    row = needs("page")
    limit = row.total_bytes
    assert nandlab.run("tiny", MIXED, set={"ftl.ram_bytes": limit}).checks.ok
    with refused("ftl.ram_bytes", f"{limit - 1} bytes", "`page`", limit):
        nandlab.run("tiny", MIXED, set={"ftl.ram_bytes": limit - 1})
    carries(needs("page", **{"ftl.ram_bytes": limit - 1}).refused, f"at least {limit}, or 0")


def test_a_map_on_flash_is_cached_within_the_limit():
    """On a drive whose whole map would fit its cache."""
    whole = needs("dftl")
    assert "map" in whole.ram_bytes
    for limit in (whole.total_bytes - 1, 300_000, 100_000):
        row = needs("dftl", **{"ftl.ram_bytes": limit})
        assert row.refused == ""
        assert row.ram_bytes["map_cache"] > 0
        assert limit - 8 < row.total_bytes <= limit
    carries(needs("dftl", **{"ftl.ram_bytes": 10_000}).refused, "at least")
    given = {"ftl.name": "dftl", "ftl.ram_bytes": 100_000}
    assert (
        nandlab.run("tiny", MIXED, set=given, precondition="fill").to_dict()["ftl"]["map"]["reads"]
        > 0
    )


def test_a_code_that_leaves_too_little_spare_area_is_refused():
    """Eight words of 577 bytes: 520 bytes of parity, and none for the FTL."""
    given = {"chip.geometry.page_bytes": 4096, "ecc.code": "bch_512_t40", "ecc.model": "threshold"}
    given |= PAIRS

    def rows(spare_bytes: int) -> list[nandlab.FtlNeeds]:
        return nandlab.ftls("tiny", set={**given, "chip.geometry.spare_bytes": spare_bytes})

    for row in rows(520 + 11):
        carries(row.refused, f"`{row.name}`", "12 bytes", "spare area")
        carries(row.refused, "at most 11", "`bch_512_t40`")
    # Nothing is known of an area of 0 bytes.
    for row in [*rows(520 + 12), *rows(0)]:
        assert (row.refused, row.spare_bytes) == ("", 12)


def test_command(nandlab: Callable[..., Ended]):
    # An eighth of its blocks: memory that nobody uses takes seconds to get.
    size = ["chip.geometry.blocks_per_plane=256", "gc.start_free_blocks=13"]
    sets = [word for one in size for word in ("--set", one)]
    ended = nandlab("ftl", "--drive", "mqsim_default", *sets, "--json", "-").succeeded()
    rows = {row["name"]: row for row in ended.json}
    assert rows["page"]["bytes_per_gib"] == pytest.approx(2**20, rel=0.01)
    assert rows["dftl"]["total_bytes"] < rows["page"]["total_bytes"] / 20
    assert "59.5 MiB map" in ended.err
    nandlab("ftl", "--set", "ftl.nmae=page").refused("nmae")
    nandlab("ftl", "--drive", "modern_qlc", "--scale", "1/2000").refused("drive.scale", "3 of 682")

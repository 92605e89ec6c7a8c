"""Pages by name: the same as by number, in cells and endurances."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import Ended, refused

import nandlab
from nandlab.cell.pages import PAGE_TYPES
from nandlab.endurance import endurance

STRESS = {"pe_cycles": 1000, "retention_hours": 24.0}


@pytest.mark.parametrize(("name", "bits"), [("slc", 1), ("wang2014_mlc", 2), ("tlc_3d", 3)])
def test_a_name_is_its_number(name: str, bits: int):
    cell = nandlab.cell(name)
    assert cell.cell_bits == bits
    for number, page in enumerate(PAGE_TYPES[bits]):
        assert cell.rber(page, **STRESS) == cell.rber(number, **STRESS)
        assert cell.best_shifts_v(page, **STRESS) == cell.best_shifts_v(number, **STRESS)
        assert repr(cell.soft(page, 2, **STRESS)) == repr(cell.soft(number, 2, **STRESS))


def test_a_page_that_a_cell_does_not_have():
    cell = nandlab.cell("wang2014_mlc")
    for given in ("middle", "Upper", "2", 2, -1, 0.5, None, True):
        with refused("cell: page_type", "lower, upper"):
            cell.rber(given)  # type: ignore[arg-type]


def test_endurance_of_a_page(nandlab: Callable[..., Ended]):
    asked = {"retention_hours": 24.0}
    for number, page in enumerate(PAGE_TYPES[3]):
        by_name = endurance("tlc_3d", page_type=page, **asked).points
        assert by_name == endurance("tlc_3d", page_type=number, **asked).points
    for page in ("lower", 0):
        assert endurance({"name": "power_law"}, page_type=page, **asked).points
    with refused("page `top`"):
        endurance("tlc_3d", page_type="top", **asked)
    command = ["endurance", "tlc_3d", "--retention-hours", "24", "--json", "-", "--page-type"]
    found = [nandlab(*command, page).succeeded().json for page in ("upper", "2")]
    assert found[0] == found[1]

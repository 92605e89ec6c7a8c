"""Keys that bear on a cause: they exist, and a table of causes names those of the largest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conftest import Ended

from nandlab._core import CAUSES
from nandlab.explained.causes import KEYS, keys_of
from nandlab.keys import keys


def test_causes_and_their_keys_exist() -> None:
    assert set(KEYS) <= set(CAUSES)
    assert {path for of in KEYS.values() for path in of} <= {one.path for one in keys()}


def test_keys_have_the_values_of_the_drive_and_absent_ones_are_left_out() -> None:
    config = {"chip": {"timing": {"suspends_max": 8}}}
    found = keys_of("die: erase, suspends used up", config)
    assert found == {"chip.timing.suspends_max": 8}
    assert keys_of("die: refresh", config) == {}


def test_an_explanation_names_the_keys_of_the_largest_part(
    tmp_path: Path, nandlab: Callable[..., Ended]
) -> None:
    jobs = tmp_path / "jobs.fio"
    jobs.write_text("[r]\nrw=randread\niodepth=64\nnumber_ios=500\n")
    options = ("--drive", "tiny", "--workload", jobs, "--precondition", "fill")
    ended = nandlab("run", *options, "--set", "drive.channels=1", "--explain", "99")
    assert ended.code == 0
    assert "drive.channels=1" in ended.out.partition("waited for")[2]

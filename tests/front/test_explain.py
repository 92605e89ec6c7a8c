"""Keys explained: what each means, and where a drive has its value from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conftest import Ended, refused

from nandlab.catalogue import roster
from nandlab.keys import key, keys, written


def test_every_key_has_a_meaning() -> None:
    found = keys()
    assert len(found) > 150
    assert len({one.path for one in found}) == len(found)
    for one in found:
        assert one.kind, one
        assert one.meaning or one.path.endswith((".name", ".model")), one


def test_a_key() -> None:
    found = key("ftl.map_cache_bytes")
    assert found.members == ("dftl",)
    assert found.unit == "bytes"
    assert key("ftl.overprovisioning").members == tuple(one.name for one in roster("ftl"))
    assert key("ftl.overprovisioning").default == "0.07"
    assert "dftl" in key("ftl.name").kind
    assert key("chip.timing.t_erase_us").unit == "microseconds"
    assert key("drive.channels").members == ()


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
    for wrong, part in [("gc.dd", "`gc.d`"), ("chip.timing", "t_read_us"), ("", "unknown key")]:
        nandlab("explain", wrong).refused(part)
    with refused("`ftl.nam`", "`ftl.name`"):
        key("ftl.nam")

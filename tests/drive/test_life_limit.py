"""The limit of a life is the endurance of its chip, as its drive reads it."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

from nandlab.catalogue import load_config
from nandlab.life.limit import demand, limit_of
from tests.conftest import Ended


@pytest.mark.parametrize("retry", ["none", "read_retry"])
def test_the_options_of_a_life_give_its_limit(nandlab: Callable[..., Ended], retry: str) -> None:
    """Best references where the drive retries, else those of the cell: it says which."""
    sets = [
        *("chip.preset=wang2014_mlc", "chip.geometry.blocks_per_plane=64"),
        *(
            "ecc.model=threshold",
            "ecc.t=40",
            "ecc.parity_bytes=64",
            "chip.geometry.spare_bytes=256",
            f"retry.name={retry}",
        ),
    ]
    limit = limit_of(load_config("tiny", sets).config, demand("client", None, 24.0, 30.0))
    [note] = [note for note in limit.notes if "nandlab endurance" in note]
    words = shlex.split(note.split("`nandlab ")[1].rstrip("`"))
    words[words.index("CHIP")] = "wang2014_mlc"
    asked = ("--retention-hours", "24", "--temperature-c", "30", "--uber", "1e-15")
    [point] = nandlab(*words, *asked, "--json", "-").succeeded().json
    assert point["pe_cycles"] == limit.pe_cycles
    assert ("--best" in words) == (retry == "read_retry")

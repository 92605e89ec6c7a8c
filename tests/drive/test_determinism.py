"""Same seed, same bytes; another seed, other requests."""

import json

import pytest
from conftest import MIXED

import nandlab


def text(seed: int, precondition: str = "steady") -> str:
    """The report without what depends on the machine."""
    report = nandlab.run("tiny", MIXED, precondition=precondition, seed=seed).to_dict()
    for key in ("wall_s", "precondition_wall_s", "requests_per_wall_s", "peak_rss_mb"):
        del report["sim"][key]
    return json.dumps(report)


@pytest.mark.parametrize("precondition", ["none", "fill", "steady"])
def test_same_seed_same_bytes(precondition: str):
    assert text(5, precondition) == text(5, precondition)


def test_other_seed_other_run():
    mine, other = (json.loads(text(seed)) for seed in (5, 6))
    assert mine["host"] != other["host"]
    assert mine["nandlab"]["config_hash"] != other["nandlab"]["config_hash"]


def test_looking_changes_nothing():
    """Requests, timeline and progress are watched, not touched."""
    plain = nandlab.run("tiny", MIXED)
    watched = nandlab.run(
        "tiny", MIXED, requests=True, timeline=True, progress=lambda progress: None
    )
    assert plain.to_dict()["host"] == watched.to_dict()["host"]

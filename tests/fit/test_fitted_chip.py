"""Chips with fitted error rates: what is said where their cell is simulated instead."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import nandlab as lab
from nandlab import _core
from nandlab.catalogue import load_config
from tests.conftest import Ended, carries, refused

Run = Callable[..., Ended]

LAW = {"name": "power_law", "epsilon": 1e-5, "alpha": 1e-9, "k": 1.5, "beta": 0.0, "gamma": 0.0}
AT = ("--pe-cycles", "3000", "--retention-hours", "1000")


def law(pe_cycles: int) -> float:
    """The rate of `LAW`."""
    return 1e-5 + 1e-9 * pe_cycles**1.5


@pytest.fixture
def chip(folder: Path) -> str:
    """A chip whose cell is that of a preset, and whose rates are of a law."""
    text = lab.show("chip/tlc_3d")
    head, _, rest = text.partition("[array]")
    _, _, behind = rest.partition("\n[")
    keys = "\n".join(f"{key} = {value!r}" for key, value in LAW.items())
    (folder / "my.toml").write_text(f"{head}[array]\n{keys}\n{'[' + behind if behind else ''}")
    return "my.toml"


def test_a_cell_says_the_rates_of_the_array_first(nandlab: Run, chip: str) -> None:
    """In the table and as JSON, named as what they are; a chip of its cell has one rate."""
    report = nandlab("cell", chip, *AT, "--json", "-").succeeded().json
    for page in report["pages"]:
        assert page["array_rber"] == pytest.approx(law(3000), rel=1e-6)
        assert page["rber"] > 2 * page["array_rber"]
    printed = nandlab("cell", chip, *AT).succeeded().out
    assert printed.index("chip.array") < printed.index("of the cell")
    assert printed.index(f"{law(3000):.3e}") < printed.index(f"{report['pages'][0]['rber']:.3e}")
    own = nandlab("cell", "tlc_3d", *AT, "--json", "-").succeeded().json
    assert not any("array_rber" in page for page in own["pages"])
    assert own["array_rber_unknown"] is None


def test_a_board_says_the_rates_of_the_array(chip: str) -> None:
    """At the end of its rows; where a procedure has no cycles, what has them."""
    few = {
        "procedure.points": 1,
        "procedure.measured_cycles": 1,
        "chip.geometry.pages_per_block": 96,
    }
    found = lab.board("wear", chip, cycles=300, set=few)
    last = found.table().to_pylist()[-1]
    [note] = found.notes
    carries(note, "chip.array", f"{law(last['pe_cycles']):.3e}")
    own = {"procedure.points": 2, "procedure.measured_cycles": 1}
    own["chip.geometry.pages_per_block"] = 64
    assert lab.board("wear", "wang2014_mlc", cycles=2000, set=own).notes == []


LEVELS = {"vth_mean_v": [-2.0, 1.0, 2.0, 3.0], "vth_sigma_v": [0.4, 0.2, 0.2, 0.2]}


def test_a_cell_of_levels_alone_does_not_age() -> None:
    """As one that was fitted to a histogram: a run that ages it says so, another does not."""
    drive = {
        "drive_preset": "tiny",
        "chip": {
            "preset": "mqsim_mlc",
            "geometry": {"blocks_per_plane": 64},
            "cell": {"levels": LEVELS},
            "array": {"name": "table"},
        },
    }
    job = "[r]\nrw=randread\nbs=4k\nnumber_ios=50\n"
    for cycles, count in ((0, 0), (3000, 1)):
        found = lab.run(drive, job, precondition="fill", set={"age.pe_cycles": cycles})
        told = [note for note in found.notices if "chip.cell" in note]
        assert len(told) == count
        for note in told:
            carries(note, "age.pe_cycles", "histogram")


def test_an_endurance_beyond_the_data_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the ends of the data; within the data there is nothing to say."""
    monkeypatch.setattr(import_module("nandlab.endurance.chip"), "DRAWS", 6)
    rows = [(n, h) for n in (300, 1000, 3000, 10_000) for h in (0, 10, 100, 1000)]
    rates = [1e-5 + 3e-11 * n**1.9 + 2e-8 * n**0.9 * (h / 24) ** 0.6 for n, h in rows]
    data = {
        "pe_cycles": [n for n, _ in rows],
        "retention_hours": [h for _, h in rows],
        "bits_read": [10**9] * len(rows),
        "bit_errors": [round(1e9 * rate) for rate in rates],
    }
    found = lab.fit(data, "power_law")
    assert found.ranges() == {"pe_cycles": (300, 10_000), "retention_hours": (0, 1000)}
    inside, beyond = (
        lab.endurance(found, retention_hours=hours, t=40).notes() for hours in (100.0, 2000.0)
    )
    assert inside == []
    [note] = beyond
    carries(note, "10,000", "1,000", "power_law")


def test_a_report_has_the_covariance_of_its_parameters() -> None:
    """With the standard errors that the intervals of single parameters come from."""
    cycles = [1000, 2000, 4000, 8000, 16000] * 2
    data = {
        "pe_cycles": cycles,
        "bits_read": [10**9] * 10,
        "bit_errors": [round(1e9 * (1e-5 + 1e-9 * n**1.5)) for n in cycles],
    }
    found = lab.fit(data, "power_law", each=True, without=["retention", "reads"])
    report = found.to_dict()
    assert report["ranges"] == {"pe_cycles": [1000.0, 16000.0]}
    names = list(report["parameters"])
    for i, (name, is_log) in enumerate(zip(names, report["is_log"], strict=True)):
        low, high = report["parameters"][name][1:]
        assert report["covariance"][i][i] > 0
        wide = (math.log(high / low) if is_log else high - low) / 2
        assert wide == pytest.approx(1.96 * report["covariance"][i][i] ** 0.5, rel=0.3)
    assert report["covariance"][0][1] == pytest.approx(report["covariance"][1][0])


def fitted(law: str, model: dict[str, object]) -> lab.fit.Fit:
    """A law fitted to counts of the model, up to 6000 cycles and 2400 hours."""
    grid = np.meshgrid([300, 1000, 3000, 6000], [1.0, 24, 240, 2400])
    cycles, hours = (axis.ravel() for axis in grid)
    states = [(0, int(n), float(t), 0) for n, t in zip(cycles, hours, strict=True)]
    rates = np.array(_core.Array(json.dumps(model)).rber(states))
    size = np.full(len(rates), 10**7)
    errors = np.random.default_rng(8).binomial(size, rates)
    data = {"pe_cycles": cycles, "retention_hours": hours, "bits_read": size}
    return lab.fit({**data, "bit_errors": errors}, law)


POWER = {"name": "power_law", "epsilon": 1e-5, "alpha": 3.3e-11, "k": 1.9, "beta": 2e-8}
POWER |= {"m": 0.9, "n": 0.6, "gamma": 0.0, "p": 0.0, "q": 1.0}


@pytest.mark.parametrize("model", [POWER, {"name": "retention_law"}], ids=lambda m: str(m["name"]))
def test_a_chip_file_knows_what_its_fit_knows(model: dict[str, object], folder: Path) -> None:
    """The same endurances with the same intervals, and where they are beyond the data."""
    found = fitted(str(model["name"]), model)
    Path("chip.toml").write_text(found.chip_toml("mqsim_mlc"))
    for ask in ({"retention_hours": [24, 8760]}, {"retention_hours": 24, "level": 0.8}):
        fit, file = (lab.endurance(one, t=400, **ask) for one in (found, "chip.toml"))
        assert file.points == fit.points
        assert all(one.pe_cycles_low < one.pe_cycles < one.pe_cycles_high for one in file.points)
        assert file.notes() == fit.notes()
        carries(file.notes()[-1], f"extrapolations of {found.law}", "6,000 cycles")


def test_facts_of_a_fit_change_no_drive(folder: Path) -> None:
    text = fitted("power_law", POWER).chip_toml("wang2014_mlc")
    Path("chip.toml").write_text(text)
    Path("bare.toml").write_text(text[: text.index("[fit]")])
    told, bare = (load_config("tiny", [f"chip.preset={one}.toml"]) for one in ("chip", "bare"))
    assert told.config_hash == bare.config_hash
    assert told.config == bare.config
    # A chip that was fitted before has the facts of its last fit.
    again = fitted("retention_law", {"name": "retention_law"}).chip_toml("chip.toml")
    assert again.count("[fit]") == 1
    with refused("level", "a fit", "[fit]"):
        lab.endurance("bare.toml", level=0.9)


def test_facts_that_do_not_belong_to_the_rates(folder: Path) -> None:
    """Rates that somebody changed have no intervals, and say so; broken facts are refused."""
    text = fitted("power_law", POWER).chip_toml("wang2014_mlc")
    alpha = re.search(r"^alpha = (\S+)", text, flags=re.M)
    assert alpha
    Path("chip.toml").write_text(text.replace(alpha[0], f"alpha = {2 * float(alpha[1])!r}"))
    changed = lab.endurance("chip.toml", t=400)
    assert changed.points[0].pe_cycles_low is None
    carries(" ".join(changed.notes()), "chip.toml", "changed")
    Path("chip.toml").write_text(text.replace("is_log = [", "is_log = [true, "))
    with refused("chip.toml", "fit.is_log", "one for each"):
        lab.endurance("chip.toml")
    with refused("chip.toml", "chip.fit.is_log"):
        load_config("tiny", ["chip.preset=chip.toml"])

"""Temperature of a drive: how fast its data grow old, and laws that do not know it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended, carries

import nandlab
from nandlab.endurance import acceleration

JOB = "[r]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=3000\n"
ECC = {"ecc.model": "threshold", "ecc.t": 100, "ecc.parity_bytes": 200}
LAW = {"chip.array.name": "retention_law", "age.pe_cycles": 10_000}
CELL = {"chip.preset": "tlc_planar", "chip.geometry.blocks_per_plane": 32, "age.pe_cycles": 500}


def errors(sets: dict[str, Any]) -> int:
    given = {**ECC, **sets}
    report = nandlab.run("tiny", JOB, set=given, precondition="fill").to_dict()
    return int(report["ecc"]["raw_bit_errors"])


@pytest.mark.parametrize(("sets", "own"), [(LAW, 25.0), (CELL, 30.0)])
def test_hours_at_a_temperature_are_hours_at_the_reference(sets: dict[str, Any], own: float):
    """To the error, at the same seed; at the law's own temperature nothing moves."""
    hours = 100.0
    warm = errors({**sets, "age.retention_hours": hours, "age.temperature_c": 60.0})
    longer = hours * acceleration(60.0, own)
    same = errors({**sets, "age.retention_hours": longer})
    left_out = errors({**sets, "age.retention_hours": hours})
    assert warm == pytest.approx(same, rel=1e-3)
    assert warm > 1.05 * left_out
    at_home = errors({**sets, "age.retention_hours": hours, "age.temperature_c": own})
    assert at_home == left_out


def test_a_drive_that_rests_ages_at_its_temperature():
    def after(celsius: float, hours: float) -> int:
        sets = {**ECC, **LAW, "age.temperature_c": celsius}
        drive = nandlab.Drive("tiny", set=sets).precondition("fill").age(hours=hours)
        return int(drive.run(JOB).to_dict()["ecc"]["raw_bit_errors"])

    hours = 100.0
    assert after(60.0, hours) == pytest.approx(
        after(25.0, hours * acceleration(60.0, 25.0)), rel=1e-3
    )
    assert after(60.0, hours) > 1.05 * after(25.0, hours)


def test_left_out_it_is_not_in_the_configuration():
    plain = nandlab.run("tiny", JOB).to_dict()["nandlab"]
    told = nandlab.run("tiny", JOB, set={"age.temperature_c": 40.0}).to_dict()["nandlab"]
    assert "temperature_c" not in plain["config"]["age"]
    assert told["config"]["age"]["temperature_c"] == 40.0
    assert plain["config_hash"] != told["config_hash"]
    [notice] = [one for one in told["notices"] if "age.temperature_c" in one]
    carries(notice, "no errors")


def test_laws_that_know_no_temperature(nandlab: Callable[..., Ended], folder: Path):
    (folder / "r.fio").write_text(JOB)
    run = ["run", "--drive", "tiny", "--workload", "r.fio"]
    warm = [*run, "--set", "age.temperature_c=40"]
    for law in ("power_law", "exponential"):
        parts = ["age.temperature_c=40", "40.0", "chip.array", law]
        parts += ["activation energy", "hint", "chip.array.activation_ev"]
        nandlab(*warm, "--set", f"chip.array.name={law}").refused(*parts)
    # At the temperature of its rates there is nothing to convert.
    law = ["--set", "chip.array.name=power_law", "--set", "chip.array.reference_c=40"]
    nandlab(*warm, *law).succeeded()
    law = ["--set", "chip.array.name=power_law", "--set", "chip.array.activation_ev=1.1"]
    nandlab(*warm, *law).succeeded()
    wrong = {"400": "-100 to 300", "nan": "-100 to 300", '"x"': "age.temperature_c"}
    for value, part in wrong.items():
        nandlab(*run, "--set", f"age.temperature_c={value}").refused(part)

"""Power of the whole drive: closed forms of its energy, power states, heat and limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended, carries

import nandlab
from nandlab.endurance import acceleration

#: Everything that `[power]` can count, at powers that no flash of `tiny` comes near.
POWER = {
    "power.controller_mw": 2000.0,
    "power.command_uj": 3.0,
    "power.host_pj_per_byte": 500.0,
    "power.flash_pj_per_byte": 700.0,
    "power.dram_mw": 100.0,
    "power.dram_pj_per_byte": 40.0,
    "power.link_mw": 50.0,
    "power.link_pj_per_byte": 80.0,
}
STATES = {
    "power.states.light": {
        "power_mw": 500.0,
        "idle_ms": 10.0,
        "entry_us": 1000.0,
        "exit_us": 200.0,
    },
    "power.states.deep": {"power_mw": 5.0, "idle_ms": 50.0, "entry_us": 5e3, "exit_us": 20e3},
}
HEAT = {
    "power.thermal.capacity_j_per_k": 0.2,
    "power.thermal.resistance_k_per_w": 10.0,
    "power.thermal.ambient_c": 25.0,
}
#: No energy of the flash.
NO_FLASH = {
    "chip.energy": {"vcc_v": 3.0, "icc_read_ma": 0.0, "icc_program_ma": 0.0, "icc_erase_ma": 0.0},
    "ecc.model": "ideal",
}


def one_read(pause_s: float, **further: Any) -> str:
    options = "".join(f"{key}={value}\n" for key, value in further.items())
    return f"[r]\nrw=randread\nbs=4k\nnumber_ios=1\nstartdelay={pause_s}\n{options}"


def run(job: str, *sets: dict[str, Any], filled: bool = True) -> Any:
    given = {key: value for one in sets for key, value in one.items()}
    return nandlab.run("tiny", job, set=given, precondition="fill" if filled else "none")


def test_a_drive_without_power_has_none():
    result = run(one_read(0))
    assert result.report.energy is None
    assert result.drive_power_w is None
    assert not {"drive_power_w", "temperature_c"} & set(result.series().column_names)
    assert "power" not in result.to_dict()["nandlab"]["config"]


def test_an_idle_drive_uses_its_power_and_the_flash_stands_by():
    report = run(one_read(2), POWER).report
    energy, time_us = report.energy, report.sim.simulated_s * 1e6
    assert report.sim.simulated_s == pytest.approx(2, abs=1e-3)
    one = 3.0 + 500e-6 * 4096
    bus = energy.controller_uj - 2.0 * time_us - one
    # A page of 4 KiB with its parity, and nothing else, has crossed the bus.
    assert 700e-6 * 4096 <= bus < 700e-6 * 4096 * 1.3
    bus_bytes = bus / 700e-6
    assert energy.dram_uj == pytest.approx(0.1 * time_us + 40e-6 * (4096 + bus_bytes))
    assert energy.link_uj == pytest.approx(0.05 * time_us + 80e-6 * 4096)
    assert energy.flash_uj == report.nand.energy_uj
    parts = energy.controller_uj + energy.dram_uj + energy.link_uj + energy.flash_uj
    assert energy.total_uj == pytest.approx(parts + energy.decoders_uj)
    assert energy.power_w == pytest.approx(energy.total_uj / time_us)


@pytest.mark.parametrize("kib", [4, 64, 1024])
@pytest.mark.parametrize("operation", ["randread", "randwrite"])
def test_requests_cost_the_sum_of_their_commands_and_bytes(kib: int, operation: str):
    job = f"[j]\nrw={operation}\nbs={kib}k\nnumber_ios=50\n"
    per_byte = {"power.host_pj_per_byte": 2.0, "power.link_pj_per_byte": 3.0}
    report = run(job, {"power.command_uj": 5.0, **per_byte}, filled=operation == "randread").report
    assert report.energy.controller_uj == pytest.approx(50 * (5.0 + 2e-6 * kib * 1024))
    assert report.energy.link_uj == pytest.approx(50 * 3e-6 * kib * 1024)
    assert report.energy.dram_uj == 0


def test_energy_over_time_adds_up():
    """With a rest in the middle, in whose power states the drive uses less.

    What the flash is still doing at the end has its whole energy in the report.
    """
    jobs = "[a]\nrw=randwrite\nbs=16k\nnumber_ios=3000\n[b]\nstonewall\nstartdelay=0.2\n"
    result = run(jobs + "rw=randread\nbs=4k\nnumber_ios=3000\n", POWER, STATES)
    series, energy = result.series().to_pandas(), result.report.energy
    total_uj = (series["drive_power_w"] * series["duration_s"]).sum() * 1e6
    assert total_uj == pytest.approx(energy.total_uj, rel=1e-5)
    assert series["drive_power_w"].min() < 0.2 < 2.0 < series["drive_power_w"].max()
    assert energy.peak_power_w >= energy.power_w


def test_power_states_are_entered_after_their_idle_time_and_delay_the_next_command():
    at_once = run(one_read(0), POWER).report.host.latency_us.max
    cases = [(0.009, 0, 0, 0.0), (0.0105, 700, 0, 0.0), (0.03, 200, 19e-3, 0.0)]
    cases += [(0.052, 23e3, 39e-3, 0.0), (1.0, 20e3, 39e-3, 0.945)]
    for pause_s, delay_us, light_s, deep_s in cases:
        report = run(one_read(pause_s), POWER, STATES).report
        assert report.host.latency_us.max == pytest.approx(at_once + delay_us, rel=2e-3), pause_s
        states = report.energy.states
        assert states["light"].time_s == pytest.approx(light_s, abs=1e-9)
        assert states["deep"].time_s == pytest.approx(deep_s, abs=1e-9)
        assert (states["light"].entries, states["deep"].entries) == (
            int(pause_s > 0.01),
            int(pause_s > 0.05),
        )
        asleep_uj = 0.5 * light_s * 1e6 + 0.005 * deep_s * 1e6
        assert report.energy.asleep_uj == pytest.approx(asleep_uj)
        assert report.energy.awake_s == pytest.approx(
            report.sim.simulated_s - light_s - deep_s, abs=1e-9
        )


def test_a_drive_heats_up_exponentially():
    """2 W behind 10 K/W, with a time constant of 2 s: within 1 % of the rise at any time."""
    job = "[r]\nrw=randread\nbs=4k\nnumber_ios=1000\nthinktime=10ms\n"
    watts = {"power.controller_mw": 2000.0}
    result = run(job, watts, HEAT, NO_FLASH)
    series = result.series().to_pandas()
    end_s = series["time_s"] + series["duration_s"]
    rise = 20.0 * (1.0 - 2.718281828459045 ** (-end_s / 2.0))
    assert len(end_s) > 500
    assert end_s.iloc[-1] > 9.9
    assert (series["temperature_c"] - 25.0).to_numpy() == pytest.approx(rise.to_numpy(), abs=0.2)
    assert result.report.energy.temperature.max_c == pytest.approx(45.0, rel=0.01)


def test_a_limit_takes_a_share_of_the_speed_and_cools_the_drive():
    job = "[r]\nrw=randread\nbs=4k\niodepth=4\ntime_based=1\nruntime=0.5\n"
    limit = {"power.thermal.limits.hot": {"from_c": 60.0, "until_c": 50.0, "speed": 0.5}}
    free = run(job, POWER, HEAT, limit)
    assert free.report.energy.temperature.throttled_s["hot"] == 0
    hot = run(job, POWER, HEAT, limit, {"power.thermal.start_c": 120.0})
    assert hot.report.energy.temperature.throttled_s["hot"] == pytest.approx(0.5, rel=0.01)
    assert hot.iops == pytest.approx(0.5 * free.iops, rel=0.05)
    assert hot.report.energy.temperature.end_c < 120.0


@pytest.mark.parametrize(
    ("from_c", "until_c", "key"), [(25.0, 20.0, "from_c"), (60.0, 25.0, "until_c")]
)
def test_limits_that_the_surroundings_reach_are_noticed(from_c: float, until_c: float, key: str):
    limit = {"from_c": from_c, "until_c": until_c, "speed": 0.5}
    [said] = run(
        one_read(0), POWER, HEAT, {"power.thermal.limits.hot": limit}
    ).report.nandlab.notices
    carries(said, f"power.thermal.limits.hot.{key} = 25", "power.thermal.ambient_c = 25")


def test_data_age_at_the_temperature_that_the_drive_has():
    """A day at 55 degrees, 3 W above surroundings of 25: as a day of a drive that is always so."""
    law = {"chip.array.name": "retention_law", "age.pe_cycles": 10_000}
    law |= {"ecc.model": "threshold", "ecc.t": 100, "ecc.parity_bytes": 200}
    job = f"[r]\nrw=randread\nbs=4k\nnumber_ios=3000\nstartdelay={24 * 3600}\n"
    heat = {"power.controller_mw": 3000.0, **HEAT, "power.thermal.start_c": 55.0}
    heat["power.thermal.capacity_j_per_k"] = 100.0

    def errors(*sets: dict[str, Any]) -> int:
        return int(run(job, law, *sets).report.ecc.raw_bit_errors)

    warm = errors(heat)
    assert warm == pytest.approx(errors({"age.temperature_c": 55.0}), rel=5e-3)
    assert acceleration(55.0, 25.0) > 10
    assert warm > 1.05 * errors({"age.temperature_c": 25.0})


def test_values_out_of_range_are_named(nandlab: Callable[..., Ended], folder: Path):
    (folder / "r.fio").write_text(one_read(0))
    ranges = {
        "power.controller_mw=-1": ["power.controller_mw", "0 to 1000000"],
        "power.dram_pj_per_byte=nan": ["power.dram_pj_per_byte", "0 to"],
        "power.controler_mw=1": ["controler_mw", "controller_mw"],
        "power.states.a={power_mw=1, idle_ms=-1}": ["power.states.a.idle_ms"],
        "power.states.a={idle_ms=1}": ["power_mw"],
        "power.thermal={capacity_j_per_k=0, resistance_k_per_w=1, ambient_c=20}": [
            "power.thermal.capacity_j_per_k",
            "0.001",
        ],
    }
    heat = "power.thermal={capacity_j_per_k=1, resistance_k_per_w=1, ambient_c=20, "
    ranges[heat + "start_c=10}"] = ["power.thermal.start_c", "20"]
    for speed in ("0", "1.5"):
        limits = f"limits={{a={{from_c=60, until_c=50, speed={speed}}}}}}}"
        ranges[heat + limits] = ["power.thermal.limits.a.speed", "0.01 to 1"]
    limits = "limits={a={from_c=60, until_c=61, speed=0.5}}}"
    ranges[heat + limits] = ["power.thermal.limits.a.until_c", "60"]
    run = ["run", "--drive", "tiny", "--workload", "r.fio"]
    for given, parts in ranges.items():
        nandlab(*run, "--set", given).refused(*parts)
    states = ["power.states.a={power_mw=9, idle_ms=5, entry_us=3000}"]
    states += ["power.states.b={power_mw=1, idle_ms=7}"]
    given = [part for state in states for part in ("--set", state)]
    nandlab(*run, *given).refused("power.states.b.idle_ms", "7 ms", "`a`", "8")
    warm = ["--set", heat + "}", "--set", "age.temperature_c=30"]
    nandlab(*run, *warm).refused("age.temperature_c", "power.thermal")


def test_heat_goes_on_after_a_power_cut():
    """The drive reaches the temperature of its power, whether its power was cut before or not."""
    heat = {**HEAT, "power.thermal.capacity_j_per_k": 0.002, "recovery.name": "checkpoint"}
    states = {"power.states.deep": {"power_mw": 5.0, "idle_ms": 1.0, "exit_us": 1e5}}
    drive = nandlab.Drive("tiny", set={**POWER, **heat, **states}).precondition("fill")
    drive.cut()
    drive.recover()
    report = drive.run("[a]\nrw=randread\nbs=4k\niodepth=8\ntime_based\nruntime=1\n").report
    energy = report.energy
    assert energy is not None
    assert energy.temperature is not None
    warm = 25.0 + 10.0 * energy.power_w
    assert energy.temperature.end_c == pytest.approx(warm, abs=0.5)
    # It is awake: no exit from before the cut is waited for.
    assert report.host.latency_us.max < 1e5

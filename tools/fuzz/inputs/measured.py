"""Measured rows of a drive, as CSV and as fio's JSON, and calibrations on them."""

from __future__ import annotations

import json
from typing import Any

from fuzz.case import Case, Command
from fuzz.inputs import options
from fuzz.inputs.damage import damaged
from fuzz.inputs.dice import Dice

_OPERATIONS = ("randread", "randwrite", "randrw", "read", "write", "rw")
_METRICS = (
    *("iops", "mean_us", "p50_us", "p99_us", "p99_9_us", "bandwidth_mb_s"),
    *("read_iops", "write_p99_us", "write_amplification"),
)
_FITS = (
    "controller.command_us=0.1:10",
    "chip.timing.t_read_us=20:200",
    "host.link_mb_s=100:4000:log",
    "buffer.bytes=65536:4194304",
    "drive.channels=1:4",
)
_ODD_FITS = (
    "chip.timing.t_read_us[0]=20:90",
    "gc.name=1:2",
    "controller.command_us=2:1",
    "drive.channels=1:",
    "x=1:2",
    "=1:2",
)


def table(dice: Dice) -> bytes:
    """A few rows of every column."""
    extra: dict[str, tuple[str, ...]] = {
        "depth": ("1", "4", "32", ""),
        "jobs": ("1", "2", ""),
        "read_percent": ("", "50"),
        "rate_iops": ("", "500"),
        "distribution": ("", "zipf:1.1"),
        "state": ("", "none", "fill", "steady"),
        "requests": ("", "200"),
        "weight": ("", "2"),
        "tolerance": ("", "0.1"),
        "holdout": ("", "", "true", "no"),
        "series": ("", "a"),
        "remark": ("", "x", "1"),
        "dept": ("1",),
    }
    chosen = dice.some([name for name in extra if name != "dept" or dice.spoils(0.1)], 4)
    if "weight" in chosen and "tolerance" in chosen and not dice.spoils(0.1):
        chosen.remove("weight")
    metrics = dice.some(_METRICS, 3) or ["iops"]
    lines = [",".join(["operation", "block_bytes", *chosen, *metrics])]
    for _ in range(dice.one((1, 2, 3, 5))):
        operation = dice.one(_OPERATIONS)
        row = [operation, dice.one(("4k", "4096", "16KiB"))]
        row += [_field(dice, operation, name, extra[name]) for name in chosen]
        row += [f"{10 ** (1 + 3 * dice.random()):.4g}" for _ in metrics]
        if dice.spoils(0.1):
            row[dice.randint(0, len(row) - 1)] = dice.odd()
        lines.append(",".join(row))
    return "\n".join(lines).encode(errors="replace") + b"\n"


def _field(dice: Dice, operation: str, name: str, values: tuple[str, ...]) -> str:
    """A field that goes with an operation, most often."""
    is_other = (name == "read_percent" and operation not in ("randrw", "rw")) or (
        name == "distribution" and not operation.startswith("rand")
    )
    return "" if is_other and not dice.spoils(0.1) else dice.one(values)


def result(dice: Dice) -> bytes:
    """A result of fio, with one job or two."""
    jobs: list[dict[str, Any]] = []
    for number in range(dice.one((1, 1, 2))):
        mean = 10 ** (4 + 2 * dice.random())
        latency = {
            "mean": mean,
            "N": 1000,
            "percentile": {"50.000000": mean, "99.000000": 2 * mean},
        }
        if dice.chance(0.3):
            latency["bins"] = {str(int(mean)): 990, str(int(2 * mean)): 10}
        given = {"rw": dice.one(_OPERATIONS), "bs": "4k", "iodepth": dice.one(("1", "8"))}
        if dice.chance(0.3):
            given[dice.one(("size", "numjobs", "runtime", "zonemode", "rate_iops"))] = "2"
        side = {"total_ios": 1000, "iops": 1e9 / mean, "bw": 4000, "lat_ns": latency}
        job = {"jobname": f"j{number}", "groupid": dice.one((0, number)), "job options": given}
        jobs.append(job | {dice.one(("read", "write")): side})
    return json.dumps({"fio version": "fio-3.33", "jobs": jobs}).encode()


def calibration(dice: Dice, case: Case) -> None:
    """A short calibration of a small drive."""
    name, data = dice.one((("m.csv", table), ("m.csv", table), ("m.json", result)))
    made = data(dice)
    case.files[name] = damaged(made, dice) if dice.spoils(0.3) else made
    fits = dice.some(_FITS, 2) or [_FITS[0]]
    if dice.spoils(0.1):
        fits.append(dice.one(_ODD_FITS))
    given = {"--measured": [name], "--fit": fits, "--workers": ["1"], "--json": ["c.json"]}
    given |= {"--requests": ["200"], "--trials": [dice.one(("1", "10", "30"))]}
    if dice.chance(0.5):
        given["--out"] = ["f.toml"]
    if dice.chance(0.3):
        given["--holdout"] = [dice.one(("0.3", "0.5", "0", "2") if dice.is_wild else ("0.3",))]
    if dice.chance(0.2):
        given["--holdout-rows"] = [dice.one(("depth == 1", "operation == 'randread'", "x > 1"))]
    if dice.chance(0.2):
        given["--metrics"] = [dice.one(("iops", "iops,p99_us", "iop"))]
    without = ("--column", "--rows", "--rename", "--precondition", "--holdout", "--table")
    most = 2 if dice.is_wild else 0
    line = options.line(dice, "calibrate", given, ("--drive", "tiny"), most=most, without=without)
    case.steps = [Command(line)]
    if "--out" in given and dice.chance(0.5):
        case.steps.append(Command(["lint", "f.toml"]))

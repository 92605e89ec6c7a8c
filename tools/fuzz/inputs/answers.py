"""Cases of commands that answer: the cheapest drive, and why lines of a log were slow."""

from __future__ import annotations

from fuzz.case import Case, Command
from fuzz.inputs import options
from fuzz.inputs.damage import damaged
from fuzz.inputs.dice import Dice


def design(dice: Dice, case: Case) -> None:
    """A target for a small space, and the same again, which goes on with its rows."""
    limit = dice.one(("iops", "read_us_p99", "capacity_gb", "write_amplification", dice.odd()))
    value = dice.one(("1000", "0.001", "0", "1e9", '"many"'))
    text = (
        'drive = "tiny"\n[run]\nworkload = "[r]\\nrw=randread\\nnumber_ios=200\\n"\n'
        'precondition = "fill"\n[set]\n"chip.geometry.blocks_per_plane" = 32\n'
        f"[target]\n{limit} = {value}\n"
        '[[axis]]\npath = "drive.channels"\nvalues = [1, 2]\n'
    ).encode()
    case.files["target.toml"] = damaged(text, dice) if dice.spoils(0.2) else text
    given = {"--out": ["d"], "--json": ["a.json"], "--workers": ["1"]}
    line = ["design", "target.toml", *(word for key in given for word in (key, *given[key]))]
    case.steps = [Command([*line, "--quiet"]) for _ in range(dice.randint(1, 2))]


def why(dice: Dice, case: Case) -> None:
    """Lines of a log beside requests, which no server has answered."""
    lines = [
        f"{dice.one(('1', '2.5', '1e9', '2026-01-01T00:00:00', dice.odd()))},{dice.one(('3', '0'))}"
        for _ in range(dice.randint(0, 3))
    ]
    case.files["log.csv"] = "\n".join(lines).encode(errors="replace")
    step = ["run", "--drive", "tiny", "--workload", "examples.fio", "--quiet"]
    case.files["examples.fio"] = b"[r]\nrw=randread\nnumber_ios=50\n"
    case.steps = [
        Command([*step, "--requests", "r.parquet"]),
        Command(options.line(dice, "why", {"--requests": ["r.parquet"]}, ("log.csv",), most=1)),
    ]

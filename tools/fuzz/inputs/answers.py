"""Cases of commands that answer: the cheapest drive, and why lines of a log were slow."""

from __future__ import annotations

from fuzz.case import Case, Command
from fuzz.inputs import options
from fuzz.inputs.damage import damaged
from fuzz.inputs.dice import Dice

_LIVES = ("", "", "years = 0.001\ndwpd = 1", "years = 0.001\nwrites_gb_per_day = 0.1")

_PRICES = ("", "", "[price]\nkwh = 1\ndie = 0")

_CHANNELS = ("values = [1, 2]", "from = 1\nto = 2\nstep = 1", "from = 1\nto = 4\nfactor = 2")

_LIMITS = (
    *("iops = 1000", "iops = 40000", "iops = 1e9", "bandwidth_mb_s = 200", "capacity_gb = 0.05"),
    *("uncorrectable = 0", "uncorrectable = 2", "write_amplification = 4"),
)


def design(dice: Dice, case: Case) -> None:
    """A target for a small space, and the same again, which goes on with its rows."""
    life = dice.one(_LIVES) if not dice.spoils(0.2) else f"years = {dice.odd()}\ndwpd = 1"
    limit = dice.one(_LIMITS) if not dice.spoils(0.3) else f"{dice.odd()} = {dice.odd()}"
    price = dice.one(_PRICES) if not dice.spoils(0.2) else f"[price]\ntlc_gb = {dice.odd()}"
    axis = dice.one(_CHANNELS) if not dice.spoils(0.2) else f"from = 1\nfactor = {dice.odd()}"
    way = dice.one(("randread", "randrw", "randwrite")) if not life else "randrw"
    state = dice.one(("fill", "fill", "none", "steady")) if not dice.spoils(0.2) else "trace"
    text = (
        f'drive = "tiny"\n[run]\nworkload = "[r]\\nrw={way}\\nnorandommap\\nnumber_ios=200\\n"\n'
        f'precondition = "{state}"\n[set]\n"chip.geometry.blocks_per_plane" = 32\n'
        f"[target]\n{limit}\n{life}\n{price}\n"
        f'[[axis]]\npath = "drive.channels"\n{axis}\n'
    ).encode(errors="replace")
    case.files["target.toml"] = damaged(text, dice) if dice.spoils(0.2) else text
    given = {"--out": ["d"], "--json": ["a.json"], "--workers": ["1"], "--quiet": []}
    if dice.chance(0.3):
        given["--plot"] = [dice.one(options.VALUES["--plot"])]
    without = ("--executor", *(() if "--plot" in given else ("--style",)))
    line = options.line(dice, "design", given, ("target.toml",), most=1, without=without)
    case.steps = [Command(line) for _ in range(dice.randint(1, 2))]


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

"""Cases of commands that answer: the cheapest drive, and why lines of a log were slow."""

from __future__ import annotations

from fuzz.case import Case, Command
from fuzz.inputs import options
from fuzz.inputs.damage import damaged
from fuzz.inputs.dice import Dice

_LIFE = (
    "",
    "",
    "years = 0.001\ndwpd = 1\n",
    "years = 0.001\nwrites_gb_per_day = 0.1\n",
    "years = 1\n",
)

_CHANNELS = ("values = [1, 2]", "from = 1\nto = 2\nstep = 1", "from = 1\nto = 4\nfactor = 2")


def design(dice: Dice, case: Case) -> None:
    """A target for a small space, and the same again, which goes on with its rows."""
    limit = dice.one(("iops", "read_us_p99", "capacity_gb", "uncorrectable", dice.odd()))
    value = dice.one(("1000", "0.001", "0", "1e9", '"many"'))
    price = dice.one(("", "", "[price]\nkwh = 1\ndie = 0\n", "[price]\nmlc_gb = -1\n"))
    way = dice.one(("randread", "randrw", "randwrite"))
    channels = f"from = 1\nto = {dice.odd()}" if dice.spoils(0.1) else dice.one(_CHANNELS)
    text = (
        f'drive = "tiny"\n[run]\nworkload = "[r]\\nrw={way}\\nnorandommap\\nnumber_ios=200\\n"\n'
        f'precondition = "{dice.one(("fill", "fill", "none", "trace"))}"\n'
        '[set]\n"chip.geometry.blocks_per_plane" = 32\n'
        f"[target]\n{limit} = {value}\n{dice.one(_LIFE)}{price}"
        f'[[axis]]\npath = "drive.channels"\n{channels}\n'
    ).encode(errors="replace")
    case.files["target.toml"] = damaged(text, dice) if dice.spoils(0.2) else text
    given = {"--out": ["d"], "--json": ["a.json"], "--workers": ["1"], "--quiet": []}
    without = ("--executor",)
    line = options.line(dice, "design", given, ("target.toml",), most=2, without=without)
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

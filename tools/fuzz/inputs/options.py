"""Options: command lines of every command, from its own list of options, with values for each.

The options come from the command line itself, so that a new one is drawn as soon as it is there.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import typer

from fuzz.inputs.dice import Dice
from fuzz.inputs.parameters import PRESETS
from nandlab import catalogue
from nandlab.cli import app
from nandlab.display.style import STYLES


class Option(NamedTuple):
    """An option of a command."""

    name: str
    names: tuple[str, ...]
    """All of its names, the one that switches it off among them."""
    metavar: str
    is_flag: bool
    is_repeated: bool


_PLOTS = ("p.png", "p.png", "p.svg", "p.pdf")
_CYCLES = ("0", "1", "100", "1000", "3000", "20000", "1000000")
_HOURS = ("0", "0.5", "24", "1000", "8760", "87600", "1e7")
_CELSIUS = ("25", "40", "85", "-40", "125")
_BITS = ("1", "64", "4096", "32768", "34560", "36608", "1048576")

#: Values that somebody may give; names without a dash hold for every command.
VALUES: dict[str, tuple[str, ...]] = {
    "--action": ("Q", "D", "G", "I", "C"),
    "--address": ("reject", "wrap", "compact"),
    "--animate": ("a.gif", "a.html"),
    "--absorbing": ("3", "4", "5"),
    "--socket": ("s.sock",),
    "--control": ("c.sock",),
    "--way": ("in_service", "suspended"),
    "--store": ("memory",),
    "--sampler": ("tpe", "nsga2", "random", "qmc", "gp"),
    "--limits": ("host.iops >= 1", "iops <= 3"),
    "--channel": ("bsc", "awgn", "mlc"),
    "--chip": (*PRESETS["chip"], *("tlc_3d", "qlc_3d", "wang2014_mlc") * 6),
    "--clock": ("fast", "real", "scaled=3", "scaled=0.1"),
    "--integrity": ("model", "exact"),
    "--code": PRESETS["code"],
    "--codeword-bits": _BITS,
    "--column": ("iops", "host.iops", "p"),
    "--columns": ("2", "8", "20", "60"),
    "--crc-bytes": ("0", "4"),
    "--cycles": ("0", "1", "100", "1000", "3000", "20000"),
    "--decoder": tuple(member.name for member in catalogue.roster("decoder")),
    "--namespace": ("1", "2", "3", "0", "4294967295"),
    "--device": ("0", "1", "host_0", "d0", "259,0"),
    "--draws": ("1", "5", "20"),
    "--drive": PRESETS["drive"],
    "--errors": ("1", "5", "20"),
    "--exchange": ("0@0.0001", "1@0.001,suspended", "2@0,pe_cycles=100", "9@1"),
    "--explain": ("0", "50", "99", "99.9"),
    "--explain-plot": ("w.png", "w.svg"),
    "--form": ("base", "alist"),
    "--format": tuple(member.name for member in catalogue.roster("trace")),
    "--frames": ("2", "5"),
    "--from": ("d.nldrive",),
    "--iodepth": ("1", "2", "8", "256"),
    "--json": ("r.json", "r.json", "-"),
    "--label": ("a", "a b", "µs, 50 %", "x_1 & y", "$f$"),
    "--law": (
        *("power_law", "exponential", "exponential_vth", "retention_law", "table"),
        *("gaussian", "student_t", "cell"),
    ),
    "--level": ("0.95", "0.5", "0.9", "0.999", "0.999999999"),
    "--levels": ("0", "2", "4", "6", "0,2"),
    "--max-frames": ("1", "100", "300", "1e3"),
    "--metadata-bytes": ("0", "4", "16"),
    "--on-bad-line": ("fail", "skip"),
    "--over": ("cycles", "hours", "reads"),
    "--page-bits": _BITS,
    "--page-type": ("lower", "upper", "each", "0", "1", "2", "3"),
    "--payload-bytes": ("0", "512", "1024", "64"),
    "--pe-cycles": _CYCLES,
    "--picture": ("levels", "rber", "program", "endurance"),
    "--plot": _PLOTS,
    "--precondition": ("none", "fill", "steady", "rested"),
    "--port": ("0",),
    "--profile": ("client", "enterprise"),
    "--quantity": ("fer", "ber"),
    "--rber": ("0.001", "0.005,0.01", "0.001:0.003:0.001", "0.5", "0.05"),
    "--rber-spread": ("0", "0.1", "0.5", "3"),
    "--reads": ("0", "1", "1000", "100000", "1000000000"),
    "--reference-c": _CELSIUS,
    "--reference-v": ("0", "1.5", "-3"),
    "--record": ("d.iolog", "d.iolog.zst", "d.iolog.gz"),
    "--rename": ("PE=pe_cycles", "block=note", "rber=reads"),
    "--replicates": ("1", "2", "3"),
    "--reprograms": ("0", "1", "5"),
    "--requests": ("q.parquet",),
    "--retention-hours": _HOURS,
    "--retry": ("1", "2", "3", "16"),
    "--rows": ("1", "2", "3", "6", "all"),
    "--sector-bytes": ("64", "512", "4096"),
    "--seed": ("0", "1", "7", "9223372036854775807"),
    "--series": ("s.csv", "s.parquet"),
    "--show": ("L001", "L010", "L013", "L016", "L018"),
    "--size-unit-bytes": ("1", "512", "4096"),
    "--soft": ("1", "2", "7"),
    "--sort-window": ("1", "10", "4096"),
    "--states": ("2", "4", "8"),
    "--style": tuple(STYLES),
    "--table": ("t.parquet", "t.tex", "t.csv"),
    "--t": ("0", "1", "40", "300", "1000"),
    "--temperature-c": _CELSIUS,
    "--threads": ("1", "2"),
    "--time": ("reject", "clamp", "sort-window"),
    "--time-scale": ("0.5", "2", "1e-6", "1000"),
    "--time-unit": ("ps", "ns", "us", "ms", "s", "100ns"),
    "--timeline": ("t.json",),
    "--timeline-spans": ("1", "100", "200000"),
    "--toml": ("o.toml",),
    "--until": ("100", "5000", "2ms", "0.01x", "pts=iops"),
    "--uber": ("1e-15", "1e-11", "1e-3", "1e-300"),
    "--urgent": ("none", "marked", "all"),
    "--user-bits": _BITS,
    "--weight": ("2", "3", "4"),
    "--without": ("epsilon", "wear", "retention", "reads", "wear.power", "retention.spread"),
    "--workers": ("1", "2"),
    "--z": ("1", "8", "64", "128", "256"),
}

#: The same option by another meaning.
OUTS: dict[str, tuple[str, ...]] = {
    "board": ("b.parquet", "b.csv"),
    "code make": ("c.toml", "-"),
    "code import": ("c.toml", "-"),
    "code export": ("x.base", "x.alist", "-"),
    "ecc curve": ("e.parquet",),
    "ecc profile": ("x.profile.toml",),
    "save": ("d.nldrive",),
}

#: Options that no person minds a case to leave out: they make it slow, or need more than a value.
_LEFT_OUT = (
    "--help",
    "--from",
    "--folder",
    "--ftl",
    "--set",
    "--strict",
    "--install-completion",
    "--show-completion",
    *("--timeline-from", "--timeline-around", "--picture", "--loops", "--skip"),
)


@cache
def commands() -> dict[str, tuple[Option, ...]]:
    """Every command by its words, with its options."""
    found: dict[str, tuple[Option, ...]] = {}

    def walk(command: Any, words: str) -> None:
        if hasattr(command, "commands"):
            for name, inner in command.commands.items():
                walk(inner, f"{words} {name}".strip())
            return
        found[words] = tuple(
            Option(
                max(each.opts, key=len),
                (*each.opts, *each.secondary_opts),
                each.metavar or "",
                bool(getattr(each, "is_flag", False)),
                bool(each.multiple),
            )
            for each in command.params
            if each.opts[0].startswith("-")
        )

    walk(typer.main.get_command(app), "")
    return found


def line(
    dice: Dice,
    command: str,
    given: dict[str, list[str]],
    arguments: tuple[str, ...] = (),
    *,
    most: int = 4,
    without: tuple[str, ...] = (),
) -> list[str]:
    """A command line: what is given, and up to `most` other options.

    Args:
        dice: draws.
        command: its words.
        given: values by option; an empty list is an option without a value.
        arguments: those without an option.
        most: options beyond those given.
        without: options that are not drawn.
    """
    wild = dice.one((0.0, 0.1, 0.5)) if dice.is_wild else 0.0
    options = [
        option
        for option in commands()[command]
        if option.name not in given and option.name not in (*_LEFT_OUT, *without)
    ]
    words = [*command.split(), *arguments]
    for name, values in given.items():
        words += [name] if not values else [word for value in values for word in (name, value)]
    for option in dice.some(options, most):
        words += _words(dice, command, option, wild)
    if dice.spoils(0.03):
        words.insert(dice.randint(0, len(words)), dice.odd())
    if dice.chance(0.005):
        words.append("--help")
    return [word.replace("\0", "") for word in words]


def _words(dice: Dice, command: str, option: Option, wild: float) -> list[str]:
    """An option with its values, each odd with the chance `wild`."""
    if option.is_flag:
        return [dice.one(option.names)]
    times = dice.one((1, 1, 2, 4)) if option.is_repeated else 1
    return [
        word for _ in range(times) for word in (option.name, value(dice, command, option, wild))
    ]


def value(dice: Dice, command: str, option: Option, wild: float) -> str:
    """A value of an option."""
    if dice.chance(wild):
        return dice.odd()
    if option.name == "--out" and command in OUTS:
        return dice.one(OUTS[command])
    if option.name in VALUES:
        return dice.one(VALUES[option.name])
    if "|" in option.metavar:
        return dice.one(option.metavar.split("|"))
    return dice.odd()

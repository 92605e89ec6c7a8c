"""Chip with reduced threshold voltages: a chip file that runs in a drive (Wang, ICS'14).

`nandlab.tvr` works out levels; here a chip with a cell gets them, and its own laws say the rest:

- *levels*: each margin between two states shrinks to the share `keep` of itself. Left out, it is
  the least with which data survive the cycles and hours asked for, by the chip's own cell. With 0
  it is the retention-free case of the paper, whose widths leave out what neighbours add.
- *times*: `times = "cell"` takes the pulses that the reduced levels need, and leaves the part of a
  program without pulses as it is. With `"steps"` a whole program shrinks as its pulses do: the
  paper's equation 14, where time is steps.
- *wear*: a cycle wears by the mean of the programmed levels: by b of equation 7.
- *storage*: the cell's own laws move the levels. The file and the table give the hours until the
  limit: the price of the margins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from nandlab.catalogue import chip_text
from nandlab.cell.model import Cell, cell
from nandlab.cell.source import find
from nandlab.display.notebook import InNotebook
from nandlab.endurance.chip import duration
from nandlab.endurance.tvr import PageRule, VoltageLaw, margins
from nandlab.given.arguments import as_text, number, path_of, whole
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text
from nandlab.given.tables import merged
from nandlab.given.toml import parse_toml, toml_value

TIMES = ("cell", "steps")
"""What a program takes with reduced levels."""

MOST_CYCLES, MOST_HOURS = 10**7, 1e6
"""How far a limit is looked for."""


@dataclass(frozen=True)
class Figures:
    """What levels mean for a chip."""

    levels_v: tuple[float, ...]
    program_us: tuple[float, ...]
    """By page type, fresh; of the wordline where it is programmed in one shot."""
    rber: float
    """Of the worst page type, fresh, read at once."""
    pe_cycles: int
    """Until the worst page type errs at the limit, read at once."""
    retention_hours: float
    """Until then, fresh."""
    worn_retention_hours: float
    """The same at the rated cycles."""


@dataclass(frozen=True)
class TvrChip(InNotebook):
    """A chip with reduced levels beside the original one."""

    chip: str
    keep: float
    times: str
    rber_limit: float
    rated_pe_cycles: int
    original: Figures
    reduced: Figures
    cycle_weight: float
    """Wear of a cycle against one of the original chip."""
    text: str
    """The chip file."""

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the chip file, for `--set chip.preset=FILE` or `[chip] preset` of a drive."""
        write_text(path_of("tvr", path), self.text)

    def __repr__(self) -> str:
        before, after = (_list(f.program_us, 0) for f in (self.original, self.reduced))
        return f"<tvr chip of {self.chip}: programs of {before} us to {after} us>"

    def __str__(self) -> str:
        """A table for people."""
        rows: list[tuple[str, Callable[[Figures], str]]] = [
            ("levels (V)", lambda f: _list(f.levels_v, 2)),
            ("program (us)", lambda f: _list(f.program_us, 0)),
            ("error rate at once", lambda f: f"{f.rber:.3g}"),
            ("cycles to the limit", lambda f: _count(f.pe_cycles)),
            ("retention, fresh", lambda f: _hours(f.retention_hours)),
            (
                f"retention, {self.rated_pe_cycles:,} cycles",
                lambda f: _hours(f.worn_retention_hours),
            ),
        ]
        lines = [f"{'':28} {'original':>26} {'reduced':>26}"]
        for name, of in rows:
            lines.append(f"{name:28} {of(self.original):>26} {of(self.reduced):>26}")
        lines.append(f"{'wear of a cycle':28} {'1':>26} {self.cycle_weight:>26.3g}")
        lines += ["", f"limit of the error rate: {self.rber_limit:g}; margins kept: {self.keep:g}"]
        return "\n".join(lines)


@names_checked
def tvr_chip(
    chip: str | PathLike[str] = "wang2014_mlc",
    *,
    keep: float | None = None,
    retention_hours: float = 0.0,
    pe_cycles: int = 0,
    times: str = "cell",
    rber_limit: float = 4.5e-4,
    law: VoltageLaw | None = None,
    beside: bool = False,
) -> TvrChip:
    """A chip whose margins are reduced, as a file that a drive can name.

    Args:
        chip: a chip with a cell, preset or file, whose program times are those of its cell.
        keep: share of each margin that is kept: 0 is the paper's retention-free case, 1 changes
            nothing. Left out, the least with which data survive, to a thousandth.
        retention_hours: how long data must survive, without `keep`.
        pe_cycles: after how many cycles, without `keep`.
        times: ``cell`` (the part of a program without pulses stays) or ``steps`` (it shrinks too).
        rber_limit: raw bit error rate that the ECC still corrects.
        law: wear by threshold voltage; default: eq. 8 of the paper.
        beside: the file has the chip as it is, with the reduced levels beside its own
            (``chip.reduced``): blocks of ``ftl.reduced_streams`` have them, all others do not.

    Raises:
        NandlabError: no such chip, one without a cell or with other program times, levels that
            have no margin to give, or data that do not survive with whole margins either.
    """
    rber_limit = number("tvr: rber_limit", rber_limit)
    hours = number("tvr: retention_hours", retention_hours)
    pe_cycles = whole("tvr: pe_cycles", pe_cycles, 0, 10**7)
    if keep is not None:
        keep = number("tvr: keep", keep)
        if not 0 <= keep <= 1:
            raise refusal("tvr", f"keep = {keep:g}: out of range", "0 to 1")
        if hours or pe_cycles:
            raise refusal(
                "tvr",
                "keep beside retention_hours or pe_cycles",
                hint="give keep, or retention_hours and pe_cycles",
            )
    if as_text("tvr: times", times, ", ".join(TIMES)) not in TIMES:
        raise refusal("tvr", f"times = {times!r}", TIMES, given=times)
    law = VoltageLaw() if law is None else law
    text, place = chip_text(chip)
    name = str(chip)
    tables = parse_toml(text, place)
    timing = tables.get("timing", {})
    if timing.get("t_program_us") != "cell":
        raise refusal(
            place,
            f"timing.t_program_us = {timing.get('t_program_us')}: levels do not change it",
            'a chip with t_program_us = "cell", such as wang2014_mlc',
        )
    source = find(name if name.endswith(".toml") else f"chip/{name}")
    own = merged(source.tables, parse_toml("\n".join(source.sets), place))
    original = cell({**tables, "cell": own})

    def at(keep: float) -> tuple[Cell, dict[str, Any], float]:
        changed, weight = _reduced_cell(original, own, keep, rber_limit, law)
        return cell({**tables, "cell": merged(own, changed)}), changed, weight

    if keep is None:
        keep = _least(lambda keep: _worst(at(keep)[0], pe_cycles, hours) <= rber_limit)
    if keep is None:
        raise refusal(
            "tvr",
            f"{name}: after {pe_cycles:,} cycles and {hours:g} hours, errors exceed {rber_limit:g}",
            hint="give fewer cycles or hours, or a higher rber_limit: no margin is left to reduce",
        )
    reduced, changed, weight = at(keep)
    if times == "steps":
        changed = merged(changed, _shrunk_fixed(own, original, reduced))
        reduced = cell({**tables, "cell": merged(own, changed)})
    rated = int(tables.get("rated_pe_cycles", 0))
    before, after = (_figures(each, rber_limit, rated) for each in (original, reduced))
    made = TvrChip(name, keep, times, rber_limit, rated, before, after, weight, "")
    if beside:
        return _with_both(made, text, changed)
    return _with_text(made, text, merged(own, changed), changed)


def _reduced_cell(
    original: Cell, own: Mapping[str, Any], keep: float, limit: float, law: VoltageLaw
) -> tuple[dict[str, Any], float]:
    """What changes of the cell's parameters, and the wear of a cycle."""
    mu = [float(v) for v in own["levels"]["vth_mean_v"]]
    sigma = [float(v) for v in own["levels"]["vth_sigma_v"]]
    rule = [
        PageRule(page.name, tuple(original.read_v.index(v) for v in page.references_v), ())
        for page in original.pages
    ]
    z, gaps = margins(mu, sigma, limit, rule)
    reduced, references = [mu[0]], []
    for i, gap in enumerate(gaps):
        spare = keep * gap / 2
        references.append(reduced[-1] + z[i] * sigma[i] + spare)
        reduced.append(references[-1] + z[i] * sigma[i + 1] + spare)
    levels: dict[str, Any] = {"vth_mean_v": [round(v, 4) for v in reduced]}
    if "read_v" in own["levels"]:
        levels["read_v"] = [round(v, 4) for v in references]
    if "coarse_margin_v" in own["levels"]:
        share = (reduced[-1] - reduced[0]) / (mu[-1] - mu[0])
        levels["coarse_margin_v"] = round(share * float(own["levels"]["coarse_margin_v"]), 4)
    changed: dict[str, Any] = {"levels": levels}
    weight = law.speed(_mean(reduced[1:])) / law.speed(_mean(mu[1:]))
    wear = own.get("wear", {})
    grown = weight ** float(wear.get("power", 0.5))
    widths = ("erased_shift_v", "erased_widen_v", "shift_v", "widen_v")
    if scaled := {key: grown * float(wear[key]) for key in widths if key in wear}:
        changed["wear"] = {key: float(f"{value:.6g}") for key, value in scaled.items()}
    disturb = own.get("read_disturb", {})
    if "v_pass_v" in disturb:
        lower = float(disturb["v_pass_v"]) - (mu[-1] - reduced[-1])
        changed["read_disturb"] = {"v_pass_v": round(lower, 4)}
    return changed, weight


def _shrunk_fixed(own: Mapping[str, Any], before: Cell, after: Cell) -> dict[str, Any]:
    """The part of a program without pulses, smaller as the part with pulses is, by pass."""
    times, reduced = before.times(0).program_us, after.times(0).program_us
    given = [float(us) for us in own.get("program", {}).get("fixed_us", [])]
    fixed = [(given or [0.0])[min(i, len(given) - 1)] for i in range(len(times))]
    rows = zip(fixed, times, reduced, strict=True)
    shrunk = [round(f * (t_after - f) / (t - f), 3) if t > f else f for f, t, t_after in rows]
    return {"program": {"fixed_us": shrunk}} if given else {}


def _figures(of: Cell, limit: float, rated: int) -> Figures:
    return Figures(
        levels_v=tuple(level.mean_v for level in of.levels()),
        program_us=tuple(of.times(0).program_us),
        rber=_worst(of, 0, 0.0),
        pe_cycles=int(_last_within(lambda n: _worst(of, round(n), 0.0), limit, MOST_CYCLES)),
        retention_hours=_last_within(lambda h: _worst(of, 0, h), limit, MOST_HOURS),
        worn_retention_hours=_last_within(lambda h: _worst(of, rated, h), limit, MOST_HOURS),
    )


def _worst(of: Cell, pe_cycles: int, hours: float) -> float:
    """Error rate of the worst page type."""
    rates = (
        of.rber(page.page_type, pe_cycles=pe_cycles, retention_hours=hours) for page in of.pages
    )
    return max(map(float, rates))


def _least(survives: Callable[[float], bool]) -> float | None:
    """The least share, in thousandths, with which data survive: more margin is never worse."""
    if not survives(1.0):
        return None
    low, high = -1, 1000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if survives(middle / 1000) else (middle, high)
    return high / 1000


def _last_within(rate: Callable[[float], float], limit: float, most: float) -> float:
    """The largest stress with a rate within the limit: rates rise with stress."""
    if rate(0.0) > limit:
        return 0.0
    if rate(most) <= limit:
        return most
    low, high = 0.0, most
    while high - low > 1e-3 * high and high > 1e-3:
        middle = (low * high) ** 0.5 if low > 0 else high / 16
        low, high = (middle, high) if rate(middle) <= limit else (low, middle)
    return low


def _with_text(
    made: TvrChip, text: str, tables: Mapping[str, Any], changed: Mapping[str, Any]
) -> TvrChip:
    """With the chip's text, whose cell is written out."""
    kept = re.sub(
        r"^\[\[?cell(\.[^\]]*)?\][^\n]*\n.*?(?=^\[|^#|\Z)", "", _headless(text), flags=re.M | re.S
    )
    lines = []
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            continue
        lines += ["", f"[cell.{name}]"]
        for key, value in table.items():
            is_ours = key in changed.get(name, {})
            mark = f"nandlab tvr, keep = {made.keep:g}" if is_ours else f"cell of {made.chip}"
            lines.append(f"{f'{key} = {toml_value(value)}':52} # derived: {mark}")
    return _of_parts(made, "with reduced threshold voltages", [kept.strip("\n"), *lines])


def _with_both(made: TvrChip, text: str, changed: Mapping[str, Any]) -> TvrChip:
    """With the chip's text, and the reduced levels beside its own."""
    mark = f"derived: nandlab tvr, keep = {made.keep:g}"
    lines = []

    def table(name: str, values: Mapping[str, Any]) -> None:
        keys = (f"{f'{key} = {toml_value(value)}':52} # {mark}" for key, value in values.items())
        lines.extend(["", f"[{name}]", *keys])

    table("reduced", {"t_program_us": "cell"})
    for name, values in changed.items():
        table(f"reduced.cell.{name}", values)
    what = "with reduced threshold voltages beside its own"
    return _of_parts(made, what, [_headless(text).strip("\n"), *lines])


def _headless(text: str) -> str:
    """The text of a chip without its summary and the comment before it."""
    text = re.sub(r"^summary\s*=.*\n", "", text, flags=re.M)
    return re.sub(r"\A(#[^\n]*\n)+", "", text)


def _of_parts(made: TvrChip, what: str, parts: Sequence[str]) -> TvrChip:
    """With a text of these parts, and what it is before them."""
    fresh, worn = made.reduced.retention_hours, made.reduced.worn_retention_hours
    hours = f"{_hours(fresh)} fresh, {_hours(worn)} worn"
    summary = f"{made.chip} {what}, {made.keep:g} of the margins kept"
    head = [
        f"# {made.chip} {what}, by `nandlab tvr`: {made.keep:g} of each",
        f"# margin is kept. Retention at an error rate of {made.rber_limit:g}: {hours}",
        f"# ({made.rated_pe_cycles:,} cycles). A cycle wears {made.cycle_weight:.3g} times.",
        f"summary = {toml_value(summary)}",
    ]
    fields = {**vars(made), "text": "\n".join([*head, *parts]) + "\n"}
    return TvrChip(**fields)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _list(values: Sequence[float], digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def _count(cycles: int) -> str:
    return f"above {MOST_CYCLES:,}" if cycles >= MOST_CYCLES else f"{cycles:,}"


def _hours(hours: float) -> str:
    if hours >= MOST_HOURS:
        return f"above {duration(MOST_HOURS)}"
    return duration(hours) if hours >= 1 else f"{hours:.2g} h"

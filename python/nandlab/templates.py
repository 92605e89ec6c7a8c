"""Files to begin with: a drive, a fio job and a study, every key with its meaning and unit."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from nandlab import catalogue
from nandlab.explained.families import SELECTORS, TABLES
from nandlab.given.toml import parse_toml, toml_value
from nandlab.keys import Key, keys

LIKE = "tiny"
"""The preset whose values the drive file has: small, so that a first run takes seconds."""

_SECTIONS = (
    "drive",
    "chip",
    "ftl",
    "gc",
    "scheduler",
    "retry",
    "ecc",
    "recovery",
    "refresh",
    "buffer",
    "read_cache",
    "parity",
    "controller",
    "host",
    "age",
)

_CHOICES = ("preset", "name", "model")
"""Keys that decide which others there are; they stand first."""

_ELSEWHERE = ("chip.cell.", "chip.energy.", "power.")
"""Keys that are left to presets: there are many, and they belong together."""

_OF_NONE = {"recovery": {"name": "none"}}
"""What sections need that the preset does not have."""

NEEDED = (
    *(f"drive.{key}" for key in ("channels", "dies_per_channel", "queue_depth")),
    "chip.preset",
    *(f"{family}.name" for family in ("ftl", "gc", "scheduler", "retry")),
    "ecc.model",
)
"""Keys without a default, but for those that a chip's preset gives."""

_DRIVE = f"""\
# A drive: the same as the preset `{LIKE}`, until you change it.
#
# A line with `#` before its key shows a default (`...`: none); take the `#` away to change it.
# A line with `##` shows a key that other members have than the chosen one: with their name, take
# both away. `nandlab explain WORD` tells more of a key or a member, `nandlab presets chip` lists
# chips, and `nandlab run --drive THIS_FILE --workload JOB.fio` runs it.
"""

JOB = """\
# A fio job file: what a host asks of the drive. Names and meaning are fio's.
# `nandlab run --drive DRIVE.toml --workload THIS_FILE` runs it.

[global]
# What every job does, unless it says otherwise.
# Bytes of a request, a multiple of 512; suffixes are powers of 1024: 512, 4k, 1m
bs=4k
# Requests in flight at the same time
iodepth=16

[mixed]
# read, write, trim, randread, randwrite, randtrim, rw (mixed, in order), randrw (mixed, at random)
rw=randrw
# Reads of a mixed job, in percent
rwmixread=70
# Requests to send. Others that end a job: io_size (bytes), runtime with time_based=1 (time: 10s)
number_ios=20000
# The part of the drive that is used, in bytes or percent; the whole drive if left out
#size=50%
# Where requests go: random, zipf:1.2, pareto:0.2, normal:10, zoned:60/10:40/90
#random_distribution=zipf:1.2
# Draw each address anew; otherwise every block comes once before any comes again
#norandommap=1
# Requests a second at most; otherwise each one is sent when an earlier one completes
#rate_iops=5000
# A flush after so many writes
#fsync=32
# Identical jobs side by side
#numjobs=1
# Requests that complete in this time are left out of the report's latencies and rates
#ramp_time=1s
"""

STUDY = """\
# A study: a drive at many points. `nandlab sweep THIS_FILE --plot study.png` runs those that have
# no row yet; start it again after a change, and only what is new runs.
#
# A line with `#` before its key shows another key; take the `#` away to use it.

# One line; the title of pictures
summary = "Spare flash and victim selection of a small drive"
# A preset, or the path of a drive file from the folder of this file
drive = "tiny"
# Runs of each combination, with seeds that follow each other: pictures then have intervals
replicates = 2
# What is wanted of each report, as NAME = EXPRESSION; docs/formats/report.md has the paths.
# Reports are kept, so another column needs no run
columns = [
    "write_amplification = ftl.write_amplification",
    "kiops = host.iops / 1000",
    "capacity_mib = nandlab.capacity_bytes / 2**20",
]
# What is to be high or low: for `--picture pareto`, and for `nandlab search`
objectives = ["max capacity_mib", "max kiops"]
# What the best points of a search keep to
#limits = ["write_amplification <= 3"]
# Expressions over axes that hold for every point
#constraints = ["job.iodepth <= 16 or gc.name == 'greedy'"]
# Which combinations: grid, zip (first values together), random, sobol, morris, saltelli
#design = "grid"
# How many points, of designs that draw
#points = 64
# Seed of such a design
#design_seed = 1
# Axes of a grid that go together
#zip = [["ftl.overprovisioning", "gc.name"]]
# Seed of the first replicate; that of the drive if left out
#seed = 1
# Labels of axes and columns in tables and pictures; left out, names with the units they end with
#labels = { kiops = "requests a second (thousands)", "gc.name" = "victims" }
# Whole reports in the rows (about 5 KB each)
#reports = true
# An FTL in Python: a file, or FILE:CLASS. Several, beside members: values of the axis ftl.name
#ftl = "my_ftl.py"

# What is run, as in a drive file. `workload` is a fio job file or, as here, its text
[run]
workload = '''
[writes]
rw=randwrite
bs=4k
iodepth=16
norandommap=1
# For percentiles of latency: arrivals at times of their own (nandlab lint --show L016)
#rate_iops=2000
#rate_process=poisson
'''
# The drive before the run: none (empty), fill (written in order), steady (overwritten at random),
# rested (the same, and collected)
precondition = "steady"
# When it ends: settled, requests (20000), simulated time (2s), drive writes (1.5x)
until = "20000"
# The beginning that is not measured, in the same form
#skip = "0.5x"
# A recorded trace in the place of the jobs
#trace = "disk.csv.gz"

# Parameters that are the same at all points: keys of docs/reference.md
[set]
"chip.geometry.blocks_per_plane" = 64

# An axis: a key of the drive, drive, run.KEY, job.OPTION or job.NAME.OPTION. A range has from, to,
# and points or step; scale = "log" has equal factors
[[axis]]
path = "ftl.overprovisioning"
from = 0.14
to = 0.42
points = 3

# A list of values
[[axis]]
path = "gc.name"
values = ["greedy", "fifo"]

# An option of the jobs
[[axis]]
path = "job.random_distribution"
values = ["random", "zipf:0.9"]

# Variants: sets of parameters that belong together, in the place of path and values
#[[axis]]
#name = "policy"
#variants.two_choices = { "gc.name" = "d_choices", "gc.d" = 2 }
#variants.cost_benefit = { "gc.name" = "cost_benefit" }
"""


def drive_text() -> str:
    """The text of a drive file with all keys, as TOML."""
    of_preset = parse_toml(catalogue.show(f"drive/{LIKE}"), LIKE)
    config = catalogue.load_config(LIKE).config
    # What the presets of chip and host have, which lie under their sections.
    under = {
        "chip": dict(_flat(catalogue.chip(of_preset["chip"]))),
        "host": dict(_flat(config["host"])),
    }
    chosen = {table: _at(config, SELECTORS[name]) for table, name in TABLES.items()}
    known = keys()
    # Keys outside of sections must stand before the first one.
    lines = [_DRIVE, 'summary = "a drive of my own"']
    lines += _described(next(one for one in known if one.path == "seed"))
    lines += [f"seed = {config['seed']}"]
    for section in _SECTIONS:
        given = _OF_NONE.get(section, {}) | dict(_flat(of_preset.get(section, {})))
        own = [one for one in known if one.path.startswith(f"{section}.")]
        lines += ["", f"[{section}]"]
        lines += _section(section, own, given, under.get(section, {}), chosen)
    return "\n".join(lines) + "\n"


def _section(
    section: str,
    own: list[Key],
    given: dict[str, Any],
    under: dict[str, Any],
    chosen: dict[str, Any],
) -> Iterator[str]:
    """The keys of a section: given ones first, those of members that are not chosen last.

    Args:
        section: of the drive.
        own: its keys.
        given: what the preset has in the section.
        under: what the preset of chip or host has.
        chosen: members of families, by their tables.
    """
    named = {one.path.removeprefix(f"{section}."): one for one in own}
    for name in sorted(given, key=lambda name: name not in _CHOICES):
        yield from _described(named[name])
        yield f"{name} = {toml_value(given[name])}"
    others: list[str] = []
    for name, one in named.items():
        if name in given or one.path.startswith(_ELSEWHERE):
            continue
        table = next((table for table in TABLES if one.path.startswith(f"{table}.")), "")
        value = toml_value(under[name]) if name in under else one.default or "..."
        if one.members and chosen[table] not in one.members:
            others += [*_described(one), f"##{name} = {value}"]
            continue
        yield from _described(one)
        yield f"#{name} = {value}"
    yield from others


def _at(tables: dict[str, Any], path: str) -> Any:
    """What stands at a dotted path; None where there is nothing."""
    value: Any = tables
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _flat(tables: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tables.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _described(one: Key) -> Iterator[str]:
    """Comments above a key: its meaning, its unit, and what it may be."""
    meaning = " ".join(one.meaning.split()).rstrip(".") or "Which one"
    what = f"in {one.unit}" if one.unit else one.kind
    need = "; needed" if one.path in NEEDED else ""
    table = next((table for table in TABLES if one.path.startswith(f"{table}.")), "")
    # Keys that all members have are named without them.
    is_own = one.members and len(one.members) < len(catalogue.roster(TABLES[table]))
    of = f"; of {', '.join(one.members)}" if is_own else ""
    for line in textwrap.wrap(f"{meaning} ({what}{need}{of})", 96, break_long_words=False):
        yield f"# {line}"

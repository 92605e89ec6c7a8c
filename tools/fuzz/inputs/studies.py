"""Studies: files for `nandlab sweep` with axes, designs and columns of every kind."""

from __future__ import annotations

from fuzz.inputs.dice import Dice
from nandlab.study.points import DESIGNS

#: Axes with values that go together with a small drive.
_AXES = (
    ("ftl.overprovisioning", ("values = [1.0, 1.5]", "from = 0.9\nto = 2.0\npoints = 2")),
    ("gc.name", ('values = ["greedy", "fifo"]', 'values = ["d_choices", "gredy"]')),
    ("job.iodepth", ("values = [1, 8]", 'from = 1\nto = 16\npoints = 3\nscale = "log"')),
    ("job.bs", ('values = ["4k", "16k"]', 'values = ["4k", "1"]')),
    ("run.precondition", ('values = ["none", "fill"]', 'values = ["fill", "stedy"]')),
    ("run.until", ('values = ["50", "1ms"]',)),
    ("seed", ("values = [1, 2]", "from = 1\nto = 3\nstep = 1")),
    ("drive", ('values = ["tiny", "drive.toml"]',)),
)

_COLUMNS = (
    *("host.iops", "iops = host.iops / 1000", "p = host.read.latency_us.p99", "nand.erases > 3"),
    *("x = jobs[0].read.iops", "settled.metric", "channels.busy_fraction", "host.iosp", "1 / 0"),
    *("m = max(channels.busy_fraction)", "error = 1", "host.iops +", "nandlab.config.gc.name"),
)

_TOP = (
    *("replicates = 2", "seed = 7", "reports = false", 'summary = "s"', "points = 3"),
    *("design_seed = 2", 'objectives = ["max host.iops", "min nand.erases"]', "zip = []"),
    *('constraints = ["job.iodepth < 9"]', 'constraints = ["gc.name"]', 'ftl = "nofile.py"'),
)


def file(dice: Dice) -> bytes:
    """A study of `job.fio`, of a few points."""
    lines = ['drive = "tiny"'] if not dice.spoils(0.1) else [f"drive = {dice.odd()}"]
    design = dice.one(tuple(DESIGNS)) if dice.chance(0.3) else "grid"
    if design != "grid":
        lines.append(f'design = "{design}"')
        if design != "zip":
            lines.append("points = 2")
    if dice.chance(0.6):
        columns = dice.some(_COLUMNS if dice.is_wild else _COLUMNS[:3], 3)
        lines.append(f"columns = {[*columns]}")
    for line in dice.some(_TOP[:4] if not dice.is_wild else _TOP, 2):
        if line.partition("=")[0] not in [one.partition("=")[0] for one in lines]:
            lines.append(line)
    lines += ["[run]", 'workload = "job.fio"', "[set]"]
    lines += ['"chip.geometry.blocks_per_plane" = 16', '"chip.geometry.pages_per_block" = 24']
    lines += ['"gc.start_free_blocks" = 3', '"ftl.overprovisioning" = 1.0']
    for path, values in dice.some(_AXES, 2):
        value = dice.one(values)
        if dice.spoils(0.15):
            value = f"values = [{dice.odd()}]"
        if dice.spoils(0.1):
            path = dice.odd()
        lines += ["[[axis]]", f'path = "{path}"', value]
    return "\n".join(lines).encode("utf-8", "replace")

r"""Nandlab: from the threshold voltage of a flash cell to the tail latency of an application.

Ten things to begin with; ``help(nandlab.run)`` and the like tell more of each.

>>> import nandlab
>>> jobs = "[mix]\nrw=randrw\niodepth=16\nnumber_ios=2000\n"  # a fio job file, or its text

Drives, chips, cells and codes that come with it:

>>> drives = nandlab.presets("drive")

A run of a workload on a drive; ``print(result.read.p99, result.write_amplification)``:

>>> result = nandlab.run("tiny", jobs, precondition="fill")

Its picture, also into a file: ``result.plot("run.png")``:

>>> figure = result.plot()

What the slowest requests waited for:

>>> why = nandlab.run("tiny", jobs, precondition="fill", explain=True).explain(99.9)

A drive that is preconditioned once, cloned, aged, saved, and run again and again:

>>> old = nandlab.Drive("tiny").precondition("fill").age(hours=8760).run(jobs)

Runs side by side, with ratios:

>>> table = nandlab.compare([result, old], each=True)

A study: a run for each point of axes, in parallel; ``study.run().frame()`` has its rows:

>>> study = nandlab.Study("tiny", jobs, axes={"gc.name": ["greedy", "fifo"]})

A whole life of a drive: terabytes written, years, latencies by age:

>>> life = nandlab.life("tiny", jobs, years=0.01, dwpd=1, windows=1)

Assumptions about flash that mislead, in a drive file, a study, jobs or a result:

>>> findings = nandlab.lint(result)

A cell, its threshold voltages and its errors:

>>> rber = nandlab.cell("tlc_3d").rber(0, pe_cycles=3000, retention_hours=8760)

Further: `board` and `fit` (a chip on a test board, laws fitted to it), `endurance`, `ecc_curve` and
`ecc_profile` (codes), `design` (the cheapest drive for a target), `calibrate` (a drive fitted to a
real one), `serve` (a drive as a disk), `import_drive` (drives of other simulators), `ftls`,
`trace_info`, `show`, `schema`. On the command line `nandlab explain WORD` explains keys of drives,
members of families and keys of reports.

Everything heavy (numpy, scipy, pyarrow, matplotlib, duckdb) is imported when it is first needed.
"""

# Before all else: it watches for Ctrl-C while the rest is imported.
import nandlab.process.early as _early  # noqa: F401
from nandlab import ecc
from nandlab._core import NandlabError, version
from nandlab.board.measurement import Measurement, Procedure, Unfinished, board, procedures
from nandlab.calibrate.calibrating import CalibrationUnfinished, calibrate
from nandlab.calibrate.result import Calibration
from nandlab.catalogue import Preset, bibliography, presets, schema, show
from nandlab.cell.content import Content, content
from nandlab.cell.model import Cell, State, cell
from nandlab.compare.comparison import Comparison, compare
from nandlab.design.answer import Answer
from nandlab.design.designing import design
from nandlab.display.progress import Progress
from nandlab.display.style import style
from nandlab.drive.device import Drive
from nandlab.drive.exchange import Exchange
from nandlab.drive.result import Result
from nandlab.drive.simulate import Interrupted, run
from nandlab.ecc.curve import Curve, CurveUnfinished, ecc_curve
from nandlab.ecc.profile import ProfileUnfinished, ecc_profile
from nandlab.ecc.speed import DecodeSpeed, SpeedUnfinished, ecc_speed
from nandlab.endurance.chip import Endurance, endurance
from nandlab.endurance.tvr import Tvr, tvr
from nandlab.endurance.tvr_chip import TvrChip, tvr_chip
from nandlab.fit.fitting import Fit, fit
from nandlab.ftl.needs import FtlNeeds, ftls
from nandlab.given.replacement import Unwritten
from nandlab.imported.importing import import_drive
from nandlab.imported.result import Imported
from nandlab.life.result import Life
from nandlab.life.whole import LifeUnfinished, life
from nandlab.lint.check import Finding
from nandlab.lint.linting import lint
from nandlab.options.trace import TraceOptions
from nandlab.served.serve import serve
from nandlab.served.server import Server, ServerStatus
from nandlab.served.why import Why, why
from nandlab.study.definition import Study, StudyUnfinished
from nandlab.trace.info import trace_info

__version__ = version()

__all__ = [
    "Answer",
    "Calibration",
    "CalibrationUnfinished",
    "Cell",
    "Comparison",
    "Content",
    "Curve",
    "CurveUnfinished",
    "DecodeSpeed",
    "Drive",
    "Endurance",
    "Exchange",
    "Finding",
    "Fit",
    "FtlNeeds",
    "Imported",
    "Interrupted",
    "Life",
    "LifeUnfinished",
    "Measurement",
    "NandlabError",
    "Preset",
    "Procedure",
    "ProfileUnfinished",
    "Progress",
    "Result",
    "Server",
    "ServerStatus",
    "SpeedUnfinished",
    "State",
    "Study",
    "StudyUnfinished",
    "TraceOptions",
    "Tvr",
    "TvrChip",
    "Unfinished",
    "Unwritten",
    "Why",
    "__version__",
    "bibliography",
    "board",
    "calibrate",
    "cell",
    "compare",
    "content",
    "design",
    "ecc",
    "ecc_curve",
    "ecc_profile",
    "ecc_speed",
    "endurance",
    "fit",
    "ftls",
    "import_drive",
    "life",
    "lint",
    "presets",
    "procedures",
    "run",
    "schema",
    "serve",
    "show",
    "style",
    "trace_info",
    "tvr",
    "tvr_chip",
    "why",
]

r"""Nandlab: from the threshold voltage of a flash cell to the tail latency of an application.

>>> import nandlab
>>> result = nandlab.run("tiny", "[reads]\nrw=randread\nnumber_ios=1000\n")
>>> result.checks.ok
True

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
from nandlab.life.result import Life
from nandlab.life.whole import LifeUnfinished, life
from nandlab.lint.check import Finding
from nandlab.lint.linting import lint
from nandlab.served.serve import serve
from nandlab.served.server import Server, ServerStatus
from nandlab.study.definition import Study, StudyUnfinished
from nandlab.trace.info import trace_info
from nandlab.trace.options import TraceOptions

__version__ = version()

__all__ = [
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
    "__version__",
    "bibliography",
    "board",
    "calibrate",
    "cell",
    "compare",
    "content",
    "ecc",
    "ecc_curve",
    "ecc_profile",
    "ecc_speed",
    "endurance",
    "fit",
    "ftls",
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
]

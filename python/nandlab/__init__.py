r"""Nandlab: from the threshold voltage of a flash cell to the tail latency of an application.

>>> import nandlab
>>> result = nandlab.run("tiny", "[reads]\nrw=randread\nnumber_ios=1000\n")
>>> result.checks.ok
True

Everything heavy (numpy, scipy, pyarrow, matplotlib, duckdb) is imported when it is first needed.
"""

# Before all else: it watches for Ctrl-C while the rest is imported.
import nandlab.early as _early  # noqa: F401
from nandlab import ecc
from nandlab._core import NandlabError, version
from nandlab.board import Measurement, Procedure, Unfinished, board, procedures
from nandlab.catalogue import Preset, bibliography, presets, schema, show, trace_info
from nandlab.cell import Cell, State, cell
from nandlab.code_profile import ProfileUnfinished, ecc_profile
from nandlab.curve import Curve, CurveUnfinished, ecc_curve
from nandlab.decode_speed import DecodeSpeed, SpeedUnfinished, ecc_speed
from nandlab.endurance import Endurance, endurance
from nandlab.fit import Fit, fit
from nandlab.progress import Progress
from nandlab.result import Result
from nandlab.simulate import Interrupted, run
from nandlab.tvr import Tvr, tvr
from nandlab.workload import TraceOptions

__version__ = version()

__all__ = [
    "Cell",
    "Curve",
    "CurveUnfinished",
    "DecodeSpeed",
    "Endurance",
    "Fit",
    "Interrupted",
    "Measurement",
    "NandlabError",
    "Preset",
    "Procedure",
    "ProfileUnfinished",
    "Progress",
    "Result",
    "SpeedUnfinished",
    "State",
    "TraceOptions",
    "Tvr",
    "Unfinished",
    "__version__",
    "bibliography",
    "board",
    "cell",
    "ecc",
    "ecc_curve",
    "ecc_profile",
    "ecc_speed",
    "endurance",
    "fit",
    "presets",
    "procedures",
    "run",
    "schema",
    "show",
    "trace_info",
    "tvr",
]

"""Laws fitted to measurements of a real chip.

In come a table of measurements and the name of a law; out come parameters with intervals, a picture
and a chip file.
"""

from nandlab.fit.compare import Comparison, Row, compare
from nandlab.fit.fitting import EVERY_LAW, Fit, fit
from nandlab.fit.page_types import fit_page_types
from nandlab.fit.parameters import Confidence, Parameter
from nandlab.fit.whole_cell import CellFit, fit_cell

__all__ = [
    "EVERY_LAW",
    "CellFit",
    "Comparison",
    "Confidence",
    "Fit",
    "Parameter",
    "Row",
    "compare",
    "fit",
    "fit_cell",
    "fit_page_types",
]

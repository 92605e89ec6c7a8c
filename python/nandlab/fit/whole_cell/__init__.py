"""Parameters of a chip's whole cell, fitted to error counts and histograms of voltages together.

In come tables of measurements and a chip; out come wear, retention, disturb and levels of its cell
with intervals, and a chip file.
"""

from nandlab.fit.whole_cell.fitting import fit_cell
from nandlab.fit.whole_cell.found import CellFit

__all__ = ["CellFit", "fit_cell"]

"""A flash cell: threshold voltages, error rates, read references and program times.

Input: the name of a cell and its history (`State`); output: figures and pictures.
"""

from nandlab.cell.model import OVER, Cell, Level, Page, Soft, State, Times, cell
from nandlab.cell.pages import PAGE_TYPES

__all__ = ["OVER", "PAGE_TYPES", "Cell", "Level", "Page", "Soft", "State", "Times", "cell"]

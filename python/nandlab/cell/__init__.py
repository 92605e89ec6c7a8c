"""A flash cell: threshold voltages, error rates, read references and program times.

In come a cell's name and what has happened to it (`State`); out come figures and pictures.
"""

from nandlab.cell.model import OVER, PAGE_TYPES, Cell, Level, Page, Soft, State, Times, cell

__all__ = ["OVER", "PAGE_TYPES", "Cell", "Level", "Page", "Soft", "State", "Times", "cell"]

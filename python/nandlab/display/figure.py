"""Figure that a notebook draws where it ends a cell. Imports matplotlib, so it is imported late."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure of matplotlib that needs neither pyplot nor ``%matplotlib`` to be shown."""

    _DPI = 100

    def _repr_png_(self) -> bytes:
        image = BytesIO()
        self.savefig(image, format="png", dpi=self._DPI)
        return image.getvalue()

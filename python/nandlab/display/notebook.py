"""Notebook display of results that print as a table."""

from html import escape


class InNotebook:
    """A result that a notebook shows as its `str`, in a monospaced font."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

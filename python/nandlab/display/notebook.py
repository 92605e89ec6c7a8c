"""What a notebook shows of things that print as a table."""

from html import escape


class InNotebook:
    """Shown as `str` prints it, in letters of one width."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

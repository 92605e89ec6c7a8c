"""Markdown as the derived pages have it: tables, their cells, code."""

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, with an empty line after it."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell(part) for part in line) + " |" for line in lines] + [""]


def cell(text: str) -> str:
    """Text that fits a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Text as code; nothing where there is none."""
    return f"`{text}`" if text else ""

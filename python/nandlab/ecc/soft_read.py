"""Soft reads in words: how many, and their references beyond that of the hard read.

A soft read adds two references to each one of a page, on either side. The laboratory counts these
references (0, 2, 4, 6), a drive counts soft reads (0 to 3).
"""

from __future__ import annotations


def reads(references: int) -> str:
    """A number of extra references as the reads that have them."""
    count = references // 2
    return f"{count} soft read{'s' if count > 1 else ''}" if count else "hard read"


def said(references: int) -> str:
    """The same with the references."""
    return f"{reads(references)} ({references} extra references)" if references else "hard read"

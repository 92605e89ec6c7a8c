"""Derived pages of docs/: one file for each page, and shared parts.

In come the installed package, `params/` and what the Rust tests print; out comes Markdown.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

"""Papers reproduced: the results of a paper side by side with ours, with a verdict.

In comes a folder below `experiments/`; out come rows, verdicts and a picture.
"""

from nandlab.papers.comparison import Paper, main, paper, papers
from nandlab.papers.files import GROUPS
from nandlab.papers.verdict import (
    KINDS,
    VERDICTS,
    Contradiction,
    Expected,
    Outcome,
    Row,
    gains,
    predicted,
    tally,
)

__all__ = [
    "GROUPS",
    "KINDS",
    "VERDICTS",
    "Contradiction",
    "Expected",
    "Outcome",
    "Paper",
    "Row",
    "gains",
    "main",
    "paper",
    "papers",
    "predicted",
    "tally",
]

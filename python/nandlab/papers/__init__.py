"""Papers reproduced: what a paper prints beside what comes out here, with a verdict.

In comes a folder below `experiments/`; out come rows, verdicts and a picture.
"""

from nandlab.papers.comparison import (
    KINDS,
    Contradiction,
    Expected,
    Outcome,
    Paper,
    Row,
    main,
    paper,
    papers,
)

__all__ = [
    "KINDS",
    "Contradiction",
    "Expected",
    "Outcome",
    "Paper",
    "Row",
    "main",
    "paper",
    "papers",
]

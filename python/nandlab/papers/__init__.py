"""Papers reproduced: the results of a paper side by side with ours, with a verdict.

In comes a folder below `experiments/`; out come rows, verdicts and a picture.
"""

from nandlab.papers.comparison import (
    GROUPS,
    KINDS,
    NO_REASON,
    VERDICTS,
    WITH_REASON,
    Contradiction,
    Expected,
    Outcome,
    Paper,
    Row,
    main,
    paper,
    papers,
    tally,
)

__all__ = [
    "GROUPS",
    "KINDS",
    "NO_REASON",
    "VERDICTS",
    "WITH_REASON",
    "Contradiction",
    "Expected",
    "Outcome",
    "Paper",
    "Row",
    "main",
    "paper",
    "papers",
    "tally",
]

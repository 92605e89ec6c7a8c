"""Endurance: P/E cycles of a chip, and the gain of threshold voltage reduction (TVR).

In come a chip or a fit with a retention time, a temperature and an ECC; out come cycles.
"""

from nandlab.endurance.chip import (
    HOURS_PER_YEAR,
    PROFILES,
    RETENTION_HOURS,
    Endurance,
    Point,
    Profile,
    duration,
    endurance,
)
from nandlab.endurance.rates import MOST_PE_CYCLES, acceleration

__all__ = [
    "HOURS_PER_YEAR",
    "MOST_PE_CYCLES",
    "PROFILES",
    "RETENTION_HOURS",
    "Endurance",
    "Point",
    "Profile",
    "acceleration",
    "duration",
    "endurance",
]

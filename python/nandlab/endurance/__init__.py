"""Endurance: how many cycles a chip lasts, and what reduced threshold voltages add (TVR).

In come a chip or a fit with a retention time, a temperature and an ECC; out come cycles.
"""

from nandlab.endurance.chip import (
    HOURS_PER_YEAR,
    MOST_PE_CYCLES,
    PROFILES,
    RETENTION_HOURS,
    Endurance,
    Point,
    Profile,
    acceleration,
    duration,
    endurance,
)

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

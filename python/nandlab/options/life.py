"""Options of a whole life: how long it lasts, what is written in it, and what data must survive."""

from typing import Annotated

from nandlab.options.option import Option
from nandlab.options.run import OwnOptions, ProgressOptions, WorkloadOptions


class LifeOptions(WorkloadOptions, OwnOptions, ProgressOptions, total=False):
    """Options of `nandlab.life`."""

    years: Annotated[float | None, Option()]
    """Years of the life, unless the drive dies before."""
    to_death: Annotated[bool, Option(default=False)]
    """Until the drive dies, whatever that takes."""
    windows: Annotated[int, Option(default=20)]
    """Timed runs along the years, or along the cycles that the drive is expected to bear.

    There is one more at the beginning, and one at the end.
    """
    writes_per_day: Annotated[str | float | None, Option(form="SIZE")]
    """Host writes a day, in bytes or as 20GB.

    With neither this nor `dwpd`, the run at each window says it: that suits a job with a `rate` or
    a `thinktime`, or a trace with times.
    """
    dwpd: Annotated[float | None, Option()]
    """The same in drive writes per day."""
    profile: Annotated[str | None, Option(unset="client")]
    """Requirements of JESD218 on data that are kept: client or enterprise."""
    uber: Annotated[float | None, Option()]
    """Uncorrectable bit error rate that is accepted at most, instead of the profile's."""
    retention_hours: Annotated[float | None, Option()]
    """Hours that data are kept without power, in place of those of the profile."""
    temperature_c: Annotated[float | None, Option()]
    """At which temperature, instead of the profile's."""
    accelerate: Annotated[str | float, Option(default="auto", form="auto|N")]
    """Cycles that each cycle stands for that is carried out; 1 is exact.

    ``auto`` is exact where that takes no more than about half a billion units of writes. A life
    with an FTL in Python is always exact.
    """
    precondition: Annotated[str, Option(default="fill", form="fill|steady|rested")]
    """State of the drive at the beginning.

    ``fill``, ``steady`` or ``rested``, as for `nandlab.run`.
    """
    skip: Annotated[str | None, Option(form="N|2s|1.5x")]
    """Beginning of the run at each window that is not measured."""
    until: Annotated[str | None, Option(form="N|2s|1.5x")]
    """End of the run at each window."""

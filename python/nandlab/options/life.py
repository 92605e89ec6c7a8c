"""Options of a whole life: how long it lasts, what is written in it, and what data must survive."""

from typing import Annotated

from nandlab.options.option import Option
from nandlab.options.run import OwnOptions, ProgressOptions, WorkloadOptions


class LifeOptions(WorkloadOptions, OwnOptions, ProgressOptions, total=False):
    """Options of `nandlab.life`."""

    years: Annotated[float | None, Option()]
    """Years of the life, unless the drive dies before."""
    to_death: Annotated[bool, Option(default=False)]
    """Until the drive dies, however long this takes."""
    windows: Annotated[int, Option(default=20)]
    """Number of timed runs along the years, or along the expected cycles of the drive.

    One more runs at the beginning, and one at the end.
    """
    writes_per_day: Annotated[str | float | None, Option(form="SIZE")]
    """Host writes per day, in bytes or as 20GB.

    Without this and `dwpd`, the run at each window gives the rate: this suits a job with a `rate`
    or a `thinktime`, or a trace with times.
    """
    dwpd: Annotated[float | None, Option()]
    """Host writes per day, in drive writes."""
    profile: Annotated[str | None, Option(unset="client")]
    """Requirements of JESD218 on data retention: client or enterprise."""
    uber: Annotated[float | None, Option()]
    """Largest accepted uncorrectable bit error rate; overrides the profile."""
    retention_hours: Annotated[float | None, Option()]
    """Retention without power in hours; overrides the profile."""
    temperature_c: Annotated[float | None, Option()]
    """Temperature of the retention; overrides the profile."""
    accelerate: Annotated[str | float, Option(default="auto", form="auto|N")]
    """Simulates one of so many cycles; 1 is exact.

    ``auto`` is exact up to about half a billion units of writes. A life with a custom FTL in Python
    is always exact.
    """
    precondition: Annotated[str, Option(default="fill", form="fill|steady|rested")]
    """State of the drive at the beginning.

    ``fill``, ``steady`` or ``rested``, as for `nandlab.run`.
    """
    skip: Annotated[str | None, Option(form="N|2s|1.5x")]
    """Part at the beginning of each window's run that is not measured."""
    until: Annotated[str | None, Option(form="N|2s|1.5x")]
    """End of each window's run."""
    replicates: Annotated[int | None, Option(unset="1")]
    """Lives of so many drives, each built and lived with the next seed.

    Windows and figures are those of the first; key ``replicates`` has the mean and the 95 %
    interval of the figures of all.
    """
    workers: Annotated[int | None, Option(unset="one for each processor")]
    """Threads of `replicates`, which change no result."""

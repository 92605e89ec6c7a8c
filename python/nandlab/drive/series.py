"""Time series of a run: throughput, latency and garbage collection as an Arrow table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from nandlab.report.tables import Report


def series_table(
    columns: dict[str, Any],
    counts: dict[str, Any],
    interval_ns: int,
    report: Report,
    metadata: dict[str, str],
) -> pa.Table:
    """One row for each interval of simulated time.

    Args:
        columns: what `Simulation.series` gave; each of shape (intervals,).
        counts: counts of the drive at the ends of the intervals; each of shape (intervals,).
        interval_ns: length of an interval. The last one ends with the run.
        report: the report of the same moment, for where the run ended.
        metadata: facts of the run, kept with the table.

    Returns:
        ``time_s`` (start of the interval, from the beginning of the run, skipped or not),
        ``duration_s``, ``read_iops``, ``write_iops``,
        ``read_mb_s``, ``write_mb_s`` (10^6 bytes), ``latency_mean_us``, ``latency_max_us`` (over
        the requests completed in it), ``gc_moved_mb_s``, ``write_amplification``, ``power_w``
        (flash and decoders; an operation uses its energy while it lasts), of a drive with
        ``[power]`` ``drive_power_w`` (the whole drive), with ``power.thermal`` ``temperature_c``
        (at the end of the interval), and each count of the
        report by its key: ``gc_copies`` of ``ftl``, ``nand_erases``. A drive with placement handles
        has ``handles_0_host_units`` and the like, ``handles_0_write_amplification``, and at the end
        of the interval ``handles_0_blocks`` (that hold data of the handle),
        ``handles_0_pe_cycles_mean`` and ``handles_0_pe_cycles_max`` (of these), for each.
        The mean is NaN where nothing completed, write amplification where nothing of the host was
        programmed.
    """
    import numpy as np
    import pyarrow as pa

    intervals = len(columns["reads"])
    interval_s = interval_ns / 1e9
    time_s = np.arange(intervals) * interval_s
    duration_s = np.full(intervals, interval_s)
    if intervals:
        duration_s[-1] = max(report.sim.simulated_s - time_s[-1], 1e-9)
    completed = columns["requests"].astype(np.float64)
    completed[completed == 0] = np.nan
    # Signed, as the units of a failed program are taken back.
    gains = {name: np.diff(counter.astype(np.int64), prepend=0) for name, counter in counts.items()}
    moved, host = gains["gc_copies"], gains["host_units"].astype(np.float64)
    host[host <= 0] = np.nan
    unit_mb = report.ftl.unit_bytes / 1e6
    programmed = moved + gains["padding_units"] + gains["map_writes"]
    table = {
        "time_s": time_s + report.sim.skipped_s,
        "duration_s": duration_s,
        "read_iops": columns["reads"] / duration_s,
        "write_iops": columns["writes"] / duration_s,
        "read_mb_s": columns["read_bytes"] / 1e6 / duration_s,
        "write_mb_s": columns["write_bytes"] / 1e6 / duration_s,
        "latency_mean_us": columns["latency_sum_ns"] / 1e3 / completed,
        "latency_max_us": columns["latency_max_ns"] / 1e3,
        "gc_moved_mb_s": moved * unit_mb / duration_s,
        "write_amplification": 1 + programmed / host,
        "power_w": np.diff(columns["energy_uj"], prepend=0.0) / 1e6 / duration_s,
        **_of_drive(columns, duration_s),
        **gains,
        **_of_handles(gains),
        **{name: column for name, column in columns.items() if name.startswith("handles_")},
    }
    arrays = {name: _arrow(column) for name, column in table.items()}
    return pa.table(arrays).replace_schema_metadata(metadata)


def _of_drive(columns: dict[str, Any], duration_s: Any) -> dict[str, Any]:
    """Power of the whole drive and its temperature, where the drive has them."""
    import numpy as np

    of_drive = {}
    if "drive_uj" in columns:
        of_drive["drive_power_w"] = np.diff(columns["drive_uj"], prepend=0.0) / 1e6 / duration_s
    if "temperature_c" in columns:
        of_drive["temperature_c"] = columns["temperature_c"]
    return of_drive


def _of_handles(gains: dict[str, Any]) -> dict[str, Any]:
    """Write amplification of each placement handle, of a drive that has several."""
    import numpy as np

    of_handles = {}
    for handle in range(len(gains)):
        if (host := gains.get(f"handles_{handle}_host_units")) is None:
            break
        written = host.astype(np.float64)
        written[written <= 0] = np.nan
        amplification = 1 + gains[f"handles_{handle}_moved_units"] / written
        of_handles[f"handles_{handle}_write_amplification"] = amplification
    return of_handles


def _arrow(column: Any) -> pa.Array:
    """An array of NumPy for Arrow, whose own conversion imports pandas: most of a second."""
    import numpy as np
    import pyarrow as pa

    values = np.ascontiguousarray(column)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


PEAK_S = 0.01
"""Least time over which a peak of power is told: long against one program or erase."""


def peak_power_w(series: pa.Table, column: str = "power_w") -> float | None:
    """Highest mean power over intervals of at least `PEAK_S`; None for a run that is shorter."""
    import numpy as np

    # `to_numpy` imports pandas.
    duration_s, power_w = (
        np.frombuffer(series[name].chunk(0).buffers()[1]) for name in ("duration_s", column)
    )
    if duration_s.sum() < PEAK_S:
        return None
    energy_j = np.concatenate([[0.0], np.cumsum(power_w * duration_s)])
    end_s = np.concatenate([[0.0], np.cumsum(duration_s)])
    # From each interval to the first end that is far enough away.
    last = np.searchsorted(end_s, end_s + PEAK_S * (1 - 1e-9))
    first = np.flatnonzero(last < len(end_s))
    last = last[first]
    return float(((energy_j[last] - energy_j[first]) / (end_s[last] - end_s[first])).max())

"""Result of a run: latencies, rates, checks, tables, pictures, the JSON report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab._core import OPERATIONS, Simulation
from nandlab.drive.blame import Blame, Explanation
from nandlab.drive.bottleneck import Bottleneck, bottleneck
from nandlab.drive.jobs.rates import no_depth
from nandlab.drive.latency import Latency
from nandlab.drive.requests import RequestFile
from nandlab.drive.series import peak_power_w, series_table
from nandlab.drive.timeline import Timeline
from nandlab.given.arguments import path_of, path_or_none
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text
from nandlab.report import Report, tables

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Checks:
    """Laws that every run is held to."""

    little_law_error: float | None
    """How far a closed loop's mean depth, from its latencies, is from the depth asked for; below
    0.005. None where no depth was to be kept."""
    busy_idle_error: float | None
    """How far the dies' busy times are from counts x times. None where no time passed."""
    conservation_ok: bool
    """All requests of the jobs completed; the FTL's counts are those of the flash; mapped + free +
    invalid + bad units = physical units."""

    no_depth: str = "no depth to keep"
    """Reason why Little's law was not checked, if it was not."""

    LITTLE_LIMIT = 0.005
    BUSY_IDLE_LIMIT = 1e-9

    @classmethod
    def of(cls, report: Report) -> Checks:
        """Those of a report."""
        checks = report.checks
        return cls(
            checks.little_law_error,
            checks.busy_idle_error,
            checks.conservation.ok,
            no_depth(report),
        )

    @property
    def ok(self) -> bool:
        """All of them hold."""
        return not self.failures()

    def made(self) -> list[str]:
        """The checks that were made, in words."""
        return [
            "conservation",
            *(["Little's law"] if self.little_law_error is not None else []),
            *(["busy times"] if self.busy_idle_error is not None else []),
        ]

    def left_out(self) -> list[str]:
        """The checks that do not apply, and why."""
        return [
            *([f"Little's law ({self.no_depth})"] if self.little_law_error is None else []),
            *(["busy times (no time passed)"] if self.busy_idle_error is None else []),
        ]

    def failures(self) -> list[str]:
        """The checks that do not hold, in words."""
        failed = []
        if self.little_law_error is not None and self.little_law_error >= self.LITTLE_LIMIT:
            failed.append(f"Little's law is off by {self.little_law_error:.2%}")
        if self.busy_idle_error is not None and self.busy_idle_error >= self.BUSY_IDLE_LIMIT:
            failed.append(f"busy times are off by {self.busy_idle_error:.2e}")
        if not self.conservation_ok:
            failed.append("requests or units were lost, or counted wrongly")
        return failed


class Result:
    """The result of a run. The simulated drive itself is gone; this is small.

    Attributes:
        latency: of all requests together: ``count``; ``mean``, ``p50``, ``p90``, ``p99``,
            ``p99_9``, ``p99_99`` and ``percentile(percent)`` in microseconds.
        read: latency of reads.
        write: latency of writes.
        trim: latency of trims.
        flush: latency of flushes.
        of_zones: latency of ``append``, ``reset``, ``finish``, ``open``, ``close``, ``open_area``
            and ``commit``, on a drive with zones.

    Figures: `iops`, `bandwidth_mb_s`, `write_amplification`, `power_w`, `bottleneck`, `checks`.
    What was run: `title`, `config`, `notices`, `interrupted`. All numbers: `report`, `to_dict`,
    `to_json`. Tables: `series`, `requests`, `to_pandas`, `sql`. Pictures: `plot`, `plot_latency`,
    `plot_throughput`, `plot_timeline`; `timeline` for Perfetto.

    >>> result = nandlab.run("tiny", "reads.fio")
    >>> result.read.p99, result.power_w, result.bottleneck
    """

    def __init__(
        self,
        report: Report,
        latencies: dict[str, Latency],
        series: pa.Table,
        requests: RequestFile | pa.Table | None,
        timeline: Timeline | None,
        blame: Blame | None = None,
    ) -> None:
        self._report = report
        self._series = series
        self._requests = requests
        self._timeline = timeline
        self._blame = blame
        self.latency: Latency = latencies["all"]
        """Of all requests together."""
        self.read: Latency = latencies["read"]
        """Of reads."""
        self.write: Latency = latencies["write"]
        """Of writes."""
        self.trim: Latency = latencies["trim"]
        """Of trims."""
        self.flush: Latency = latencies["flush"]
        """Of flushes."""
        self.of_zones: dict[str, Latency] = {
            op: latencies[op] for op in OPERATIONS[4:] if op in latencies
        }
        """Of `append`, `reset`, `finish`, `open` and `close`, on a drive with zones."""

    @classmethod
    def of(
        cls,
        simulation: Simulation,
        report: Report,
        metadata: dict[str, str],
        *,
        own: Report,
        requests: RequestFile | pa.Table | None,
        has_timeline: bool,
        blame: Blame | None = None,
    ) -> Result:
        """Takes everything that is to be kept out of a simulation.

        `own` is the report of the first replicate, which the series is of.
        """
        report.blame = None if blame is None else tables.Blame.of(blame.facts())
        told = {"all": report.host, **(report.zones or {}), **report.host}
        latencies = {
            name: Latency(told[name].latency_us, *simulation.latency_buckets(name))
            for name in ("all", *OPERATIONS)
            if name in told
        }
        columns, counts, interval_ns = simulation.series()
        series = series_table(columns, counts, interval_ns, own, metadata)
        report.nand.peak_power_w = peak_power_w(series)
        if report.energy:
            report.energy.peak_power_w = peak_power_w(series, "drive_power_w")
        timeline = None
        if has_timeline:
            spans, kinds, dropped = simulation.timeline()
            jobs = [job.jobname for job in report.jobs]
            channels = report.nandlab.config["drive"]["channels"]
            timeline = Timeline(spans, kinds, dropped, jobs, channels, metadata)
        return cls(report, latencies, series, requests, timeline, blame)

    @property
    def report(self) -> Report:
        """The whole report; its keys are attributes, described in docs/formats.

        It is the result's own: `to_dict` gives a copy to change.

        >>> result.report.host.latency_us.p99, result.report.ftl.gc_copies
        """
        return self._report

    @property
    def iops(self) -> float:
        """Requests completed per simulated second."""
        return self._report.host.iops

    @property
    def bandwidth_mb_s(self) -> float:
        """10^6 bytes read and written per simulated second."""
        return self._report.host.bandwidth_mb_s

    @property
    def write_amplification(self) -> float:
        """Units programmed / units written by the host; 0 without writes."""
        return self._report.ftl.write_amplification

    @property
    def power_w(self) -> float:
        """Mean power of the flash and the decoders in watts; 0 where no time passed.

        The energies are those of ``chip.energy`` and ``ecc.iteration_pj_per_bit``. Controller,
        DRAM and link are in `drive_power_w`.
        """
        seconds = self._report.sim.simulated_s
        used_uj = self._report.nand.energy_uj + self._report.ecc.energy_uj
        return used_uj / 1e6 / seconds if seconds else 0.0

    @property
    def drive_power_w(self) -> float | None:
        """Mean power of the whole drive in watts; None of a drive without ``[power]``."""
        energy = self._report.energy
        return energy.power_w if energy else None

    @property
    def peak_power_w(self) -> float | None:
        """Highest power over 10 ms, of the same parts; None for a run that is shorter."""
        return self._report.nand.peak_power_w

    @property
    def config(self) -> dict[str, Any]:
        """Every parameter of the drive, as nested tables."""
        copy: dict[str, Any] = json.loads(json.dumps(self._report.nandlab.config))
        return copy

    @property
    def bottleneck(self) -> Bottleneck:
        """The resource of the drive that was busy for most of the time."""
        return bottleneck(self._report)

    @property
    def blame(self) -> Blame:
        """What requests waited for, and the slowest of them one by one.

        Raises:
            NandlabError: it was not kept.
        """
        if self._blame is None:
            raise refusal("", "no account of what requests waited for", "run(..., explain=True)")
        return self._blame

    def explain(self, percent: float = 99.9, op: str = "all") -> Explanation:
        """What the slowest requests waited for: see `Blame.explain`.

        >>> print(nandlab.run("tiny", job, explain=True).explain(99.9, "read"))

        Raises:
            NandlabError: it was not kept; no such percentile or operation, or no request of it.
        """
        return self.blame.explain(percent, op)

    @property
    def interrupted(self) -> bool:
        """The run ended before its workload did."""
        return self._report.sim.interrupted

    @property
    def has_begun(self) -> bool:
        """Whether anything was run: not where Ctrl-C came during preconditioning."""
        return self._report.sim.begun

    @property
    def notices(self) -> list[str]:
        """Notices: options without meaning here, parameters without effect, rates not reached."""
        return list(self._report.nandlab.notices)

    @property
    def title(self) -> str:
        """Drive and workload, as in a title."""
        about = self._report.nandlab
        return f"{Path(about.drive).stem} · {about.run.name}"

    @property
    def checks(self) -> Checks:
        """The laws that every run is held to."""
        return Checks.of(self._report)

    def to_dict(self) -> dict[str, Any]:
        """The whole report; its keys are described in docs/formats."""
        copy: dict[str, Any] = json.loads(json.dumps(self._report))
        return copy

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The report as JSON text, also written to `path`.

        Raises:
            NandlabError: the file cannot be written.
        """
        text = json.dumps(self._report, indent=2) + "\n"
        if path is not None:
            file = path_of("to_json", path)
            check_outputs({"to_json": file}, [])
            write_text(file, text)
        return text

    def requests(self) -> pa.Table:
        """Every request in the order of completion; columns as in `nandlab.drive.requests.COLUMNS`.

        Raises:
            NandlabError: they were not kept, or their file is gone or another run's.
        """
        if self._requests is None:
            raise refusal(
                "", "requests were not kept", hint="use run(..., requests=True) or a path"
            )
        if isinstance(self._requests, RequestFile):
            return self._requests.read()
        return self._requests

    def series(self) -> pa.Table:
        """Throughput, latency and garbage collection over time; see `nandlab.drive.series`."""
        return self._series

    def to_pandas(self, table: str = "series") -> Any:
        """``series`` or ``requests`` as a ``pandas.DataFrame``; ``pip install 'nandlab[pandas]'``.

        Raises:
            NandlabError: no such table, requests that were not kept, or pandas is not installed.
        """
        from nandlab.display.frames import data_frame

        tables = {"series": self.series, "requests": self.requests}
        if table not in tables:
            raise refusal("to_pandas", f"unknown table `{table}`", tables)
        return data_frame(tables[table]())

    def sql(self, query: str) -> pa.Table:
        """DuckDB's answer over the tables ``series`` and, where they were kept, ``requests``.

        >>> result.sql("select op, quantile_cont(latency_ns, 0.99) from requests group by op")

        Raises:
            NandlabError: a query that DuckDB refuses, as one of requests that were not kept, or of
                requests whose file is gone or another run's.
        """
        import duckdb

        if not isinstance(query, str):
            raise refusal("sql", f"{query!r}: not text", "DuckDB's SQL")
        tables = "series" if self._requests is None else "series, requests"
        with duckdb.connect() as connection:
            connection.register("series", self._series)
            # Only for who asks for them: their file may be long, or gone.
            if self._requests is not None and "requests" in query.lower():
                connection.register("requests", self.requests())
            try:
                answer = connection.sql(query)
                if answer is None:
                    raise refusal("sql", "no query", f"DuckDB's SQL over {tables}")
                return answer.to_arrow_table()
            except duckdb.Error as error:
                more = "" if self._requests is not None else "; run(..., requests=True) keeps more"
                problem = str(error).splitlines()[0]
                raise refusal("sql", problem, f"DuckDB's SQL over {tables}{more}") from error

    def timeline(self, path: str | PathLike[str]) -> None:
        """Writes the timeline as JSON for Perfetto or chrome://tracing.

        Raises:
            NandlabError: it was not kept.
            OSError: the file cannot be written.
        """
        self.kept_timeline.write(path_of("timeline", path))

    def plot_timeline(self, path: str | PathLike[str] | None = None) -> Figure:
        """Dies, buses and decoders over time, also written to `path`; for short timelines.

        Raises:
            NandlabError: it was not kept, or is too long for a picture.
            OSError: the file cannot be written.
        """
        from nandlab.drive.pictures.timeline import plot_timelines

        return plot_timelines({self.title: self.kept_timeline}, path_or_none("plot", path))

    @property
    def kept_timeline(self) -> Timeline:
        """The timeline, as spans.

        Raises:
            NandlabError: it was not kept.
        """
        if self._timeline is None:
            raise refusal("", "no timeline was kept", hint="use run(..., timeline=True) or a path")
        return self._timeline

    @property
    def timeline_dropped(self) -> int:
        """Spans that the timeline had no room for."""
        return self._timeline.dropped if self._timeline is not None else 0

    def plot(self, path: str | PathLike[str] | None = None, *, kind: str = "summary") -> Figure:
        """A picture of the run, also written to `path`.

        Args:
            path: a file that ends with ``.png``, ``.svg`` or ``.pdf``.
            kind: ``summary`` is the latency distribution above throughput over time; ``latency``
                and ``throughput`` are one of the two. ``heatmap`` is latency over time, and needs
                ``run(..., requests=True)`` or a file of requests.

        Raises:
            NandlabError: the run has no results, the kind of picture or of `path` is unknown, or a
                heat map of a run that did not keep its requests.
            OSError: the file cannot be written.
        """
        from nandlab.drive.pictures.run import plot_run

        return plot_run(self, path, kind=kind)

    def plot_latency(self, axes: Axes | None = None, *, label: str = "") -> Figure:
        """Percentiles over latency, one curve for each operation; the axes are logarithmic.

        Args:
            axes: where to draw; runs that are drawn later on the same have other lines.
            label: of the run, in front of the operations in the legend.
        """
        from nandlab.drive.pictures.latency import plot_latency

        return plot_latency(self, axes, label=label)

    def plot_throughput(self, axes: Axes | None = None, *, label: str = "") -> Figure:
        """Read, write and garbage-collection bandwidth over simulated time.

        Args:
            axes: where to draw; runs that are drawn later on the same are lines without areas.
            label: of the run, in front of the names in the legend.
        """
        from nandlab.drive.pictures.throughput import plot_throughput

        return plot_throughput(self, axes, label=label)

    def _repr_html_(self) -> str:
        from nandlab.drive.table import result_html

        return result_html(self)

    def __repr__(self) -> str:
        state = ", interrupted" if self.interrupted else ""
        return f"<result of {self.title}: {self.iops:.0f} IOPS, {self.latency.said()}{state}>"

"""Windows of a life: age, wear, errors and quality of service, as a table, files and a picture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_type_hints

from nandlab.display.notebook import InNotebook
from nandlab.given.arguments import path_of, path_or_none
from nandlab.given.outputs import check_kind
from nandlab.given.replacement import write_text
from nandlab.life.pace import HOURS_PER_YEAR

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from nandlab.life.limit import Uber

ENDS = {
    "spare": "no spare block is left: the drive is read-only",
    "uber": "the most worn block has the last cycle at which its data are kept",
    "measured": "the chip was measured to no more cycles: it lasts so long or longer",
    "errors": "data of the timed run were lost: neither decoded nor rebuilt",
    "years": "the years that were asked for have passed",
    "interrupted": "it was interrupted",
}
"""What ends a life."""


class Window(NamedTuple):
    """Window of a life. What its timed run measures is `null` once the drive is read-only."""

    years: float
    """Calendar time since the life began."""
    tb_written: float
    """Data written by the host since the life began, in 10^12 bytes."""
    drive_writes: float
    """Data written by the host since the life began, over the capacity."""
    dwpd: float
    """Drive writes per day since the window before."""
    pe_cycles_min: int
    """Least program/erase cycles of the blocks in use."""
    pe_cycles_mean: float
    """Mean program/erase cycles of the blocks in use."""
    pe_cycles_max: int
    """Most program/erase cycles of the blocks in use."""
    failed_blocks: int
    """Blocks that have failed since the life began."""
    write_amplification: float | None
    """Write amplification of the untimed writes since the window before; `null` in the first."""
    uber: float | None
    """UBER of the worst page type of the most worn block after the retention time, without what
    parity gives back; `null` without a code.
    """
    uber_of_code: float | None
    """UBER of the code alone, which is `uber` without parity; `null` without a code."""
    read_us_mean: float | None = None
    """Mean latency of reads of the timed run."""
    read_us_p50: float | None = None
    """Median latency of reads."""
    read_us_p99: float | None = None
    """99th percentile of the latency of reads."""
    read_us_p99_9: float | None = None
    """99.9th percentile of the latency of reads."""
    read_us_p99_99: float | None = None
    """99.99th percentile of the latency of reads."""
    write_us_mean: float | None = None
    """Mean latency of writes of the timed run."""
    write_us_p50: float | None = None
    """Median latency of writes."""
    write_us_p99: float | None = None
    """99th percentile of the latency of writes."""
    write_us_p99_9: float | None = None
    """99.9th percentile of the latency of writes."""
    write_us_p99_99: float | None = None
    """99.99th percentile of the latency of writes."""
    iops: float | None = None
    """Requests a second of the timed run."""
    bandwidth_mb_s: float | None = None
    """Bandwidth of the timed run."""
    run_write_amplification: float | None = None
    """Write amplification of the timed run, whose buffer may absorb writes."""
    rber: float | None = None
    """Bit errors over the bits that the timed run has decoded."""
    hard_failures: int | None = None
    """Codewords that hard decision could not decode."""
    soft_reads: int | None = None
    """Soft reads of pages, of all levels."""
    uncorrectable: int | None = None
    """Uncorrectable page reads."""
    requests_failed: int | None = None
    """Requests with an error."""
    energy_j_per_gb: float | None = None
    """Energy of flash and decoders, reads included, for each 10^9 bytes that the host writes."""
    energy_j: float = 0.0
    """Energy since the life began: `energy_j_per_gb` of each window times the bytes written since
    the window before.
    """


@dataclass
class Facts:
    """Facts of a life: the drive, the workload, and the demand."""

    nandlab_version: str
    """Version of nandlab."""
    drive: str
    """Name of the drive."""
    workload: str
    """Source of the workload; `fio jobs` for a text of jobs."""
    run: dict[str, Any]
    """Workload and options of the timed runs, as `nandlab.run` in a report."""
    config_hash: str
    """Hash of the drive's configuration, as in a report."""
    seed: int
    """Seed of every random stream."""
    asked_years: float | None
    """Years asked for; `null` where the drive was to die."""
    writes: str
    """Source of the write rate."""
    uber: float
    """Largest accepted uncorrectable bit error rate."""
    retention_hours: float
    """Retention without power."""
    temperature_c: float
    """Temperature of the retention."""
    acceleration: float = 1.0
    """Cycles for each cycle that is simulated; 1 is exact."""


COLUMNS: tuple[str, ...] = Window._fields

FIGURES = (
    *("capacity_bytes", "end", "tbw", "years", "dwpd", "write_amplification", "energy_kwh"),
    *("replicates", "notes"),
)
"""Keys of a life in JSON beside its facts and windows."""


@dataclass
class Life(InNotebook):
    """Life of a drive."""

    windows: list[Window]
    """Windows in the order of time."""
    facts: Facts
    """Facts of the life: drive, workload, seed, demand, acceleration, version."""
    end: str
    """End of the life: `spare`, `uber`, `measured`, `errors`, `years` or `interrupted`."""
    capacity_bytes: int
    """Bytes that the host sees."""
    notes: list[str]
    """Notes on the assumptions of the figures."""
    replicates: dict[str, Any] | None = None
    """Lives of other seeds together: `count`, `seeds`, `ends`, and for each of the `figures` its
    `mean`, the ends `low` and `high` of the 95 % interval, and `each`; `null` of one life.
    """

    @property
    def tbw(self) -> float:
        """Data written by the host until the end, in 10^12 bytes."""
        return self.windows[-1].tb_written if self.windows else 0.0

    @property
    def years(self) -> float:
        """Calendar time until the end, in years."""
        return self.windows[-1].years if self.windows else 0.0

    @property
    def dwpd(self) -> float | None:
        """Drive writes per day over the life; `null` where no time has passed."""
        days = self.years * HOURS_PER_YEAR / 24
        return self.windows[-1].drive_writes / days if days else None

    @property
    def write_amplification(self) -> float | None:
        """Write amplification of the untimed writes over the life; `null` without any."""
        total, before = 0.0, 0.0
        for window in self.windows:
            if window.write_amplification is not None:
                total += window.write_amplification * (window.tb_written - before)
            before = window.tb_written
        return total / before if before else None

    @property
    def energy_kwh(self) -> float:
        """Energy of flash and decoders over the life."""
        return self.windows[-1].energy_j / 3.6e6 if self.windows else 0.0

    def rows(self) -> list[dict[str, Any]]:
        """A dictionary for each window."""
        return [window._asdict() for window in self.windows]

    def to_dict(self) -> dict[str, Any]:
        """All of it."""
        figures = {name: getattr(self, name) for name in FIGURES}
        return {**asdict(self.facts), **figures, "windows": self.rows()}

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """All of it as JSON, also written to `path`."""
        text = json.dumps(self.to_dict(), indent=2) + "\n"
        if path is not None:
            write_text(path_of("json", path), text)
        return text

    def to_arrow(self) -> pa.Table:
        """A row for each window, with the facts as metadata."""
        import pyarrow as pa

        hints = get_type_hints(Window).items()
        fields = [
            pa.field(name, pa.int64() if int in (of, *get_args(of)) else pa.float64())
            for name, of in hints
        ]
        metadata = {key: _text(value) for key, value in asdict(self.facts).items()}
        metadata["end"] = self.end
        schema = pa.schema(fields, metadata=metadata)
        return pa.Table.from_pylist(self.rows(), schema=schema)

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """A row for each window, in a file: .parquet or .csv.

        Raises:
            NandlabError: another kind of file.
            OSError: it cannot be written.
        """
        from nandlab.board.rows import KINDS, write

        file = path_of("parquet", path)
        check_kind("parquet", file, KINDS)
        write(self.to_arrow(), file)

    def to_pandas(self) -> Any:
        """All windows as a ``pandas.DataFrame``; ``pip install 'nandlab[pandas]'``."""
        from nandlab.display.frames import data_frame

        return data_frame(self.to_arrow())

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Percentiles, write amplification, wear and UBER over what was written."""
        from nandlab.life.plot import plot_life

        return plot_life(self, path_or_none("plot", path))

    def __repr__(self) -> str:
        return f"<life of {self.facts.drive}: {self.tbw:.4g} TB, end: {self.end}>"

    def __str__(self) -> str:
        """A table for people."""
        from nandlab.life.table import text_of

        return text_of(self)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def window_of(row: Mapping[str, Any], uber: Uber) -> Window:
    """A window from what the engine tells of it, and its UBER."""
    told: dict[str, Any] = {name: row.get(name) for name in COLUMNS}
    return Window(**{**told, "uber": uber.drive, "uber_of_code": uber.code})

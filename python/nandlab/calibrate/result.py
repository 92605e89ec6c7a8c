"""Result of a calibration: fitted numbers, residuals by use, tables, files and a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab.calibrate.row import Row
from nandlab.display.notebook import InNotebook
from nandlab.given.arguments import path_of, path_or_none
from nandlab.given.outputs import check_kind
from nandlab.given.replacement import write_text

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

FITTED, HELD_OUT = "fitted", "held out"


class Fitted(NamedTuple):
    """A number that was fitted."""

    key: str
    value: float
    low: float | None
    high: float | None
    """Interval; None where there is none."""
    status: str
    """``fitted``, ``at the lower end``, ``at the upper end``, ``not identified``, ``no effect``, or
    ``not looked at``. With ``no effect`` the value is the drive's own."""
    why: str
    range_low: float
    range_high: float
    scale: str
    """``linear`` or ``log``."""
    is_whole: bool
    own: float | None
    """What the drive had."""

    def said(self, value: float | None) -> str:
        """A value as tables have it."""
        if value is None:
            return "-"
        return f"{value:,.0f}" if self.is_whole else f"{value:.4g}"

    @property
    def interval(self) -> str:
        """The interval as tables have it."""
        return "-" if self.low is None else f"{self.said(self.low)} to {self.said(self.high)}"


class Residual(NamedTuple):
    """A measured value beside the simulated one."""

    row: str
    place: str
    metric: str
    use: str
    """``fitted`` or ``held out``."""
    measured: float
    simulated: float | None
    log_ratio: float | None
    """Natural logarithm of simulated over measured."""
    weight: float

    @property
    def percent(self) -> float | None:
        """By how much the simulated value is higher."""
        return None if self.log_ratio is None else 100 * math.expm1(self.log_ratio)


class Summary(NamedTuple):
    """Errors of the values of one use, of one metric or of all."""

    use: str
    metric: str
    """Empty for all."""
    rows: int
    values: int
    missing: int
    """Values that the simulated runs do not have."""
    bias_percent: float | None
    """By the mean of the log ratios."""
    rms_percent: float | None
    """By the root of the mean of their squares."""
    worst_percent: float | None
    """The largest either way, with its sign."""


@dataclass
class Calibration(InNotebook):
    """A drive fitted to measurements."""

    fitted: list[Fitted]
    residuals: list[Residual]
    facts: dict[str, Any]
    """Drive, data, seed, level, points, versions."""
    notes: list[str]
    is_interrupted: bool = False
    _rows: Sequence[Row] = field(default_factory=list, repr=False)
    _drive: str | Mapping[str, Any] = field(default="", repr=False)
    _sets: Sequence[str] = field(default_factory=list, repr=False)
    _config: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __getitem__(self, key: str) -> Fitted:
        """A fitted number by its key.

        Raises:
            KeyError: it was not fitted.
        """
        for one in self.fitted:
            if one.key == key:
                return one
        raise KeyError(key)

    @property
    def data(self) -> str:
        """The measured files by their names, or how many there are."""
        names = [Path(one).name for one in self.facts["measured"]]
        if len(names) <= 2:
            return ", ".join(names)
        return f"{len(names)} files of {Path(self.facts['measured'][0]).resolve().parent.name}"

    @property
    def set(self) -> dict[str, Any]:
        """The fitted numbers by their paths, as `nandlab.run(..., set=)` takes them."""
        from nandlab.calibrate.drive_file import values_by_path

        return values_by_path(self.fitted, self._config)

    def summary(self, use: str, metric: str = "") -> Summary:
        """Errors of the values that were ``fitted``, or ``held out``; of one metric or of all."""
        chosen = [one for one in self.residuals if one.use == use and metric in ("", one.metric)]
        found = [one.log_ratio for one in chosen if one.log_ratio is not None]
        rows = len({one.place for one in chosen})
        missing = len(chosen) - len(found)
        if not found:
            return Summary(use, metric, rows, len(chosen), missing, None, None, None)
        mean = math.fsum(found) / len(found)
        rms = math.sqrt(math.fsum(one * one for one in found) / len(found))
        worst = max(found, key=abs)
        percents = [100 * math.expm1(one) for one in (mean, rms, worst)]
        return Summary(use, metric, rows, len(chosen), missing, *percents)

    def summaries(self) -> list[Summary]:
        """Errors by use: of all values, and of each metric."""
        metrics = list(dict.fromkeys(one.metric for one in self.residuals))
        found = [
            self.summary(use, metric) for use in (FITTED, HELD_OUT) for metric in ("", *metrics)
        ]
        return [one for one in found if one.values]

    def to_dict(self) -> dict[str, Any]:
        """All of it."""
        return {
            **self.facts,
            "interrupted": self.is_interrupted,
            "notes": self.notes,
            "keys": [one._asdict() for one in self.fitted],
            "summary": [one._asdict() for one in self.summaries()],
            "residuals": [one._asdict() | {"percent": one.percent} for one in self.residuals],
        }

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """All of it as JSON, also written to `path`."""
        text = json.dumps(self.to_dict(), indent=2) + "\n"
        if path is not None:
            write_text(path_of("json", path), text)
        return text

    def to_arrow(self) -> pa.Table:
        """A row for each measured value, with the facts as metadata."""
        import pyarrow as pa

        numbers = ("measured", "simulated", "log_ratio", "weight", "percent")
        rows = [one._asdict() | {"percent": one.percent} for one in self.residuals]
        names = [*Residual._fields, "percent"]
        fields = [pa.field(n, pa.float64() if n in numbers else pa.string()) for n in names]
        metadata = {key: _text(value) for key, value in self.facts.items()}
        return pa.Table.from_pylist(rows, schema=pa.schema(fields, metadata=metadata))

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """A row for each measured value, in a file: .parquet or .csv.

        Raises:
            NandlabError: another kind of file.
            OSError: it cannot be written.
        """
        from nandlab.board.rows import KINDS, write

        file = path_of("table", path)
        check_kind("table", file, KINDS)
        write(self.to_arrow(), file)

    def to_pandas(self) -> Any:
        """All residuals as a ``pandas.DataFrame``; ``pip install 'nandlab[pandas]'``."""
        from nandlab.display.frames import data_frame

        return data_frame(self.to_arrow())

    def to_toml(self, path: str | PathLike[str] | None = None) -> str:
        """The drive with the fitted numbers, each marked ``calibrated``; also written to `path`.

        Raises:
            NandlabError: the drive cannot be written as one file.
            OSError: the file cannot be written.
        """
        from nandlab.calibrate.drive_file import drive_toml

        file = path_or_none("out", path)
        folder = Path() if file is None else file.parent
        text = drive_toml(self, self._drive, self._sets, folder)
        if file is not None:
            write_text(file, text)
        return text

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Measured and simulated values, a panel for each metric; marks say the use."""
        from nandlab.calibrate.plot import plot_calibration

        return plot_calibration(self, self._rows, path_or_none("plot", path))

    def __repr__(self) -> str:
        names = ", ".join(f"{one.key}={one.said(one.value)}" for one in self.fitted)
        return f"<calibration of {self.facts['drive']}: {names}>"

    def __str__(self) -> str:
        """A table for people."""
        from nandlab.calibrate.table import text_of

        return text_of(self)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def residuals_of(rows: Sequence[Row], values: Sequence[Sequence[float | None]]) -> list[Residual]:
    """Measured values beside those of a point."""
    found = []
    for row, simulated in zip(rows, values, strict=True):
        for index, (metric, measured) in enumerate(row.measured.items()):
            value = simulated[index] if index < len(simulated) else None
            found.append(
                Residual(
                    row.name,
                    row.place,
                    metric,
                    HELD_OUT if row.is_held_out else FITTED,
                    measured,
                    value,
                    None if value is None else math.log(value / measured),
                    row.weight,
                )
            )
    return found

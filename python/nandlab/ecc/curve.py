"""Error-rate curves of codes: share of failed codewords by raw bit error rate and soft reads.

>>> import nandlab
>>> found = nandlab.ecc_curve("bch_512_t40", channel="bsc", rber=[0.006, 0.008])
>>> [row["frame_errors"] for row in found.table().to_pylist()]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike, cpu_count
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.board.rows import SAVE_S, SAVE_SHARE, read, write
from nandlab.catalogue import roster
from nandlab.display.progress import Meter, Progress
from nandlab.ecc.codec import Codec, bch_failure, distinct_codecs, sorted_sets
from nandlab.ecc.soft_read import said
from nandlab.given.arguments import (
    as_text,
    called,
    named,
    numbers,
    path_or_none,
    seeded,
    several,
    whole,
)
from nandlab.given.names import names_checked
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import Unwritten
from nandlab.process.interrupt import Stop

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

CONFIDENCE = 0.95
"""Of every interval."""

BATCH_FRAMES = 100
"""Codewords of a batch."""


@dataclass(frozen=True)
class Curve:
    """What was measured of codes."""

    codecs: list[Codec]
    """The codes, with their decoders; no two have the same name."""
    channel: dict[str, Any]
    """The channel's ``name`` and parameters, complete."""
    seed: int
    limits: dict[tuple[str, int], float] = field(repr=False)
    """The raw bit error rate beyond which no code of that rate works, by the code's name and soft
    levels."""
    points_left: int
    """Points that have neither the errors nor the codewords that were asked for."""
    _rows: list[dict[str, Any]] = field(repr=False)

    def __repr__(self) -> str:
        names = ", ".join(codec.name for codec in self.codecs)
        short = f", {self.points_left} short of the goal" if self.interrupted else ""
        return f"<curve of {names} over {self.channel['name']}: points: {len(self._rows)}{short}>"

    @property
    def interrupted(self) -> bool:
        """Whether points are missing or short of the goal."""
        return self.points_left > 0

    def table(self) -> pa.Table:
        """One row for each point; the columns are described in docs/formats/curve.md."""
        return _table(self._rows, _facts(self.codecs, self.channel))

    def to_pandas(self) -> Any:
        """All points as a ``pandas.DataFrame``; NandlabError where pandas is not installed."""
        from nandlab.display.frames import data_frame

        return data_frame(self.table())

    def rows(self) -> list[dict[str, Any]]:
        """The same as dictionaries, by code, levels and rate."""
        return [dict(row) for row in self._rows]

    def plot(self, path: str | PathLike[str] | None = None, *, quantity: str = "fer") -> Figure:
        """Draws ``fer`` or ``ber`` against the raw bit error rate, also to `path`.

        Raises:
            NandlabError: another quantity, or a path of a kind that cannot be drawn.
            OSError: `path` cannot be written.
        """
        from nandlab.ecc.curve_plot import plot_curve

        return plot_curve(self, as_text("quantity", quantity), path_or_none("plot", path))


class CurveUnfinished(KeyboardInterrupt):
    """Ctrl-C ended a curve early. What was counted until then is in `result`."""

    def __init__(self, result: Curve, failures: Sequence[OSError] = ()) -> None:
        super().__init__("interrupted")
        self.result = result
        self.failures = list(failures)


@names_checked
def ecc_curve(
    code: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    rber: ArrayLike,
    channel: str = "awgn",
    levels: ArrayLike = 0,
    errors: int = 100,
    max_frames: int = 1_000_000,
    threads: int | None = None,
    seed: int = 1,
    decoder: str | None = None,
    set: Mapping[str, object] | Sequence[str] = (),
    out: str | PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Curve:
    """Measures how often codewords fail: random data, encoded, sent through a channel, decoded.

    The same counts come of the same seed, whatever the threads, and whether it is done at once or
    gone on with: a point ends after the first batch of 100 codewords with enough of either.

    Args:
        code: code preset or file, or several. One that comes twice counts once; files that are
            called alike go by their paths.
        rber: raw bit error rates of a hard read.
        channel: ``bsc`` (hard bits only), ``awgn`` (two levels) or ``mlc`` (four).
        levels: extra references of soft reads: 0 is a hard read, 2 one soft read. The
            decoder `berlekamp` takes only the hard decisions of a soft read: it fails as often
            whatever the levels, and counts differ because their errors are drawn anew.
        errors: failed codewords that are enough for a point.
        max_frames: codewords that are enough.
        threads: default: one for each processor.
        seed: of data and errors.
        decoder: another than that of the code's file.
        set: ``decoder.…``, ``code.…`` or ``channel.…`` by their path.
        out: .parquet file of the rows, also after Ctrl-C, and every ten seconds. What it holds
            already of the same points is gone on with; its other rows stay, also those that
            another run adds meanwhile. Points that another version of nandlab counted are refused.
        progress: called about ten times a second and at the end.

    Raises:
        NandlabError: an input is refused; the message says where, why and what is expected.
            Also a point that `out` holds of another version alone: no counts are mixed.
        CurveUnfinished: Ctrl-C; its ``result`` has the counts so far.
        OSError: `out` cannot be read; as `Unwritten`, with the `result`: it cannot be written.
    """
    codes = [named("code", one) for one in several("code", code)]
    rates = numbers("rber", rber)
    every_level = soft_levels(levels)
    sets = sorted_sets(set, ("decoder", "code", "channel"))
    goal = Goal(errors, max_frames, threads)
    seed, channel = seeded(seed), channel_name(channel)
    called("progress", progress)
    path = path_or_none("out", out)
    if path is not None:
        check_kind("out", path, [".parquet"])
    check_outputs({"out": path}, codes)
    codecs = distinct_codecs(codes, decoder=decoder, set=sets["code"] + sets["decoder"])
    points = list(_points(codecs, channel, sets["channel"], every_level, rates, seed))
    about = json.loads(points[0].text)["channel"]
    kept = _Kept(path, _facts(codecs, about))
    kept.check_versions(points)
    first = {(point.codec.name, point.levels): point for point in reversed(points)}
    limits = {key: point.codec.native.limit(point.text) for key, point in sorted(first.items())}
    stopped, failures = False, list[OSError]()
    meter = Meter("curve", progress)
    try:
        with Stop() as stop:
            for index, point in enumerate(points):
                goal.measure(point, kept, meter, stop, (index, len(points)))
                if stop.asked:
                    stopped = True
                    break
    except KeyboardInterrupt:
        stopped = True
    finally:
        try:
            kept.write()
        except OSError as error:
            failures.append(error)
        counts = [kept.counts(point) for point in points]
        rows = [_row(point, own) for point, own in zip(points, counts, strict=True) if own]
        short = sum(not goal.is_reached(own) for own in counts)
        result = Curve(codecs, about, seed, limits, short, rows)
    if stopped and result.interrupted:
        raise CurveUnfinished(result, failures)
    if failures:
        raise Unwritten(result, failures)
    return result


@dataclass(frozen=True)
class _Point:
    """Where on a curve."""

    codec: Codec
    levels: int
    rber: float
    text: str
    """JSON of the point, complete."""
    hash: str
    """Of all that its counts depend on."""


def _points(
    codecs: Sequence[Codec],
    channel: str,
    params: list[str],
    levels: Sequence[int],
    rates: Sequence[float],
    seed: int,
) -> Iterator[_Point]:
    for one in codecs:
        for level in sorted({*levels}):
            for rber in sorted({*rates}):
                text = _core.ecc_point(channel, params, rber, level, seed)
                yield _Point(one, level, rber, text, one.native.point_hash(text))


def soft_levels(given: object) -> list[int]:
    """The extra references of soft reads that an argument holds, one or several.

    Raises:
        NandlabError: levels that no point has.
    """
    found = [whole("levels", one, 0, 6, ": 0, 2, 4, 6") for one in several("levels", given)]
    for level in found:
        if level % 2:
            raise refusal("levels", level, "0, 2, 4, 6")
    return found


def channel_name(given: object) -> str:
    """The name in an argument; the core checks whether the channel exists.

    Raises:
        NandlabError: it is no name.
    """
    return as_text("channel", given, ", ".join(member.name for member in roster("channel")))


class Goal:
    """When points are done, and how many threads get there."""

    def __init__(self, errors: int, max_frames: int, threads: int | None) -> None:
        threads = threads if threads is not None else cpu_count() or 1
        self.errors = whole("errors", errors, 1, 2**53)
        self.max_frames = whole("max_frames", max_frames, 1, 2**53)
        self.threads = whole("threads", threads, 1, 4096)

    def is_reached(self, counts: Mapping[str, Any]) -> bool:
        """Whether these counts reach the goal."""
        return self._share(counts.get("frames", 0), counts.get("frame_errors", 0)) >= 1

    def _share(self, frames: int, errors: int) -> float:
        return max(frames / self.max_frames, errors / self.errors)

    def measure(
        self, point: _Point, kept: _Kept, meter: Meter, stop: Stop, place: tuple[int, int]
    ) -> None:
        """Measures the missing part of a point, and saves it at intervals."""
        index, of = place
        known = kept.counts(point)
        # Batches under way are lost when measuring stops to save: about one of each thread.
        worth = self.threads * BATCH_FRAMES / SAVE_SHARE

        def watch(frames: int, errors: int) -> bool:
            share = min(self._share(frames, errors), 1.0)
            meter.tell(int(1000 * (index + share)), 1000 * of)
            is_time = kept.is_due and frames - known.get("frames", 0) >= worth
            return not (stop.asked or is_time)

        while True:
            found = point.codec.native.measure(
                point.text, json.dumps(known), self.errors, self.max_frames, self.threads, watch
            )
            kept.put(point, json.loads(found))
            if kept.is_due:
                # What fails now may not fail at the end, which tells of it.
                with suppress(OSError):
                    kept.write()
            known = kept.counts(point)
            if stop.asked or self.is_reached(known):
                break
        meter.tell(1000 * (index + 1), 1000 * of, last=index + 1 == of)


_COUNTS = ("frames", "frame_errors", "undetected", "bit_errors", "raw_bit_errors", "iterations")


class _Kept:
    """Rows by point and version that counted: those of a file, and those measured since."""

    def __init__(self, path: Path | None, facts: dict[str, str]) -> None:
        self._path = path
        self._facts = facts
        # By the hash of the point and the version.
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}
        self._is_new = False
        self._due = monotonic() + SAVE_S
        if path is not None and path.exists():
            self._take(path)

    @property
    def is_due(self) -> bool:
        """Whether the next write is due."""
        return self._path is not None and monotonic() >= self._due

    def check_versions(self, points: Sequence[_Point]) -> None:
        """Refuses points that the file has of another version alone."""
        own = _core.version()
        others = {hash_: version for hash_, version in self._rows if version != own}
        for point in points:
            version = others.get(point.hash)
            if version is not None and (point.hash, own) not in self._rows:
                what = f"{point.codec.name} at {point.rber:g}, {said(point.levels)}"
                counted = f"counted by nandlab {version}, which is not this one, {own}"
                raise refusal(
                    self._path,
                    f"cannot be resumed: {what}: {counted}",
                    hint=f"use another --out, or nandlab {version}",
                )

    def counts(self, point: _Point) -> dict[str, Any]:
        """What this version knows of a point."""
        row = self._rows.get((point.hash, _core.version()))
        return {} if row is None else {name: row[name] for name in _COUNTS}

    def put(self, point: _Point, counts: dict[str, Any]) -> None:
        """Keeps the counts of a point, if there are any."""
        if counts["frames"]:
            self._rows[point.hash, _core.version()] = _row(point, counts)
            self._is_new = True

    def write(self) -> None:
        """Writes all rows if there is anything new, with what another run has written since."""
        self._due = monotonic() + SAVE_S
        if self._path is not None and self._is_new:
            if self._path.exists():
                self._take(self._path)
            write(_table(list(self._rows.values()), self._facts), self._path)
            self._is_new = False
        self._due = monotonic() + SAVE_S

    def _take(self, path: Path) -> None:
        """Takes over the rows of a file. Of two rows of a point, the one with more frames stays."""
        for row in _rows_of(path):
            key = row["point_hash"], row["nandlab_version"]
            mine = self._rows.get(key)
            if mine is None or row["frames"] > mine["frames"]:
                self._rows[key] = row


def _rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, checked."""
    import pyarrow as pa

    table = _with_versions(read(path))
    schema = _schema()
    expected = "rows of `nandlab ecc curve`"
    columns = []
    for field_ in schema:
        name = field_.name
        if (count := table.column_names.count(name)) != 1:
            raise refusal(
                path, f"not the rows of a curve: {count or 'no'} columns {name}", expected
            )
        try:
            columns.append(table[name].cast(field_.type))
        except pa.ArrowException as error:
            raise refusal(path, f"column {name}: {table[name].type}", str(field_.type)) from error
    rows: list[dict[str, Any]] = pa.table(columns, schema=schema).to_pylist()
    for at, row in enumerate(rows, 1):
        if (wrong := _problem(row)) is not None:
            raise refusal(path, f"row {at}: {wrong}", expected)
    return rows


def _with_versions(table: pa.Table) -> pa.Table:
    """An older table without a version in each row: all rows have the version of the file."""
    import pyarrow as pa

    version = (table.schema.metadata or {}).get(b"nandlab_version")
    if version is None or "nandlab_version" in table.column_names:
        return table
    versions = [version.decode(errors="replace")] * table.num_rows
    return table.append_column("nandlab_version", pa.array(versions, pa.string()))


def _problem(row: Mapping[str, Any]) -> str | None:
    """What is wrong with a row of a file."""
    for name, value in row.items():
        if value is None and name != "uber_extrapolated":
            return f"no {name}"
    for name in _COUNTS:
        for count in row[name] if name == "iterations" else [row[name]]:
            if count is None or count < 0:
                return f"{name}: {count}"
    frames, failed = row["frames"], row["frame_errors"]
    is_whole = frames == sum(row["iterations"]) and frames % BATCH_FRAMES == 0
    if not (is_whole and frames > 0 and row["undetected"] <= failed <= frames):
        return "counts do not add up"
    return None


def _row(point: _Point, counts: dict[str, Any]) -> dict[str, Any]:
    """A row of the table: counts and what follows from them."""
    one, frames, failed = point.codec, counts["frames"], counts["frame_errors"]
    low, high = _core.clopper_pearson(failed, frames, CONFIDENCE)
    fer = failed / frames
    # Wrong data bits of a codeword that failed; all of them where none was seen.
    wrong = counts["bit_errors"] / failed / one.dimension if failed else 1.0
    extrapolated = None
    if one.certain_errors is not None and one.bch is not None:
        extrapolated = bch_failure(point.rber, one.bch) / one.dimension
    steps = sum(i * count for i, count in enumerate(counts["iterations"]))
    about = json.loads(point.text)
    return {
        "point_hash": point.hash,
        "nandlab_version": _core.version(),
        "code": one.name,
        "decoder": one.decoder["name"],
        "channel": about["channel"]["name"],
        "levels": point.levels,
        "rber": point.rber,
        "seed": about["seed"],
        **{name: counts[name] for name in _COUNTS},
        "fer": fer,
        "fer_low": low,
        "fer_high": high,
        "ber": fer * wrong,
        "ber_low": low * wrong,
        "ber_high": high * wrong,
        "mean_iterations": steps / frames,
        "uber": fer / one.dimension,
        "uber_low": low / one.dimension,
        "uber_high": high / one.dimension,
        "uber_extrapolated": extrapolated,
    }


def _facts(codecs: Sequence[Codec], channel: dict[str, Any]) -> dict[str, str]:
    """The metadata of a file."""
    about = {
        codec.name: {
            "length": codec.length,
            "dimension": codec.dimension,
            "certain_errors": codec.certain_errors,
            "decoder": codec.decoder,
            "hash": codec.hash,
        }
        for codec in codecs
    }
    return {
        "nandlab_version": _core.version(),
        "codes": json.dumps(about),
        "channel": json.dumps(channel),
    }


def _schema() -> pa.Schema:
    import pyarrow as pa

    text, whole, real = pa.string(), pa.int64(), pa.float64()
    kinds = {
        **dict.fromkeys(("point_hash", "nandlab_version", "code", "decoder", "channel"), text),
        "levels": pa.int32(),
        "rber": real,
        "seed": pa.uint64(),
        **dict.fromkeys(_COUNTS[:-1], whole),
        "iterations": pa.list_(whole),
        **dict.fromkeys(("fer", "fer_low", "fer_high", "ber", "ber_low", "ber_high"), real),
        "mean_iterations": real,
        **dict.fromkeys(("uber", "uber_low", "uber_high", "uber_extrapolated"), real),
    }
    return pa.schema(list(kinds.items()))


def _table(rows: Sequence[Mapping[str, Any]], facts: dict[str, str]) -> pa.Table:
    import pyarrow as pa

    by = ("code", "decoder", "levels", "rber", "nandlab_version")
    order = sorted(rows, key=lambda row: [row[name] for name in by])
    return pa.Table.from_pylist(order, schema=_schema()).replace_schema_metadata(facts)

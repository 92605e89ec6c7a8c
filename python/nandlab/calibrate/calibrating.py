"""Calibrating a drive: reads measurements, fits the knobs, and says what that is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from nandlab import _core
from nandlab.calibrate.descent import Best, Descent
from nandlab.calibrate.evidence import Finding, evidence, without
from nandlab.calibrate.knob import check_items, knobs_of, own_value
from nandlab.calibrate.measured import read_measured
from nandlab.calibrate.points import Enough, Points, workers_for
from nandlab.calibrate.result import Calibration, Fitted, residuals_of
from nandlab.calibrate.row import STATES, Measured
from nandlab.display.progress import Meter, Progress
from nandlab.drive.simulate import Source
from nandlab.given.arguments import called, number, seeded, whole
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal
from nandlab.process.interrupt import Stop
from nandlab.process.processors import processors

TRIALS = 400
"""Points that are tried where nothing is said."""

REQUESTS = 20_000
"""Requests that are measured of a row where nothing is said."""


class CalibrationUnfinished(KeyboardInterrupt):
    """Ctrl-C ended a calibration early. Its best point until then is in `result`."""

    def __init__(self, result: Calibration) -> None:
        super().__init__("interrupted")
        self.result = result


@names_checked
def calibrate(
    drive: str | PathLike[str] | Mapping[str, Any],
    measured: str | PathLike[str] | Sequence[str | PathLike[str]],
    fit: str | Iterable[str] | Mapping[str, Sequence[float]],
    *,
    metrics: Iterable[str] | None = None,
    rows: str | None = None,
    holdout: float | None = None,
    holdout_rows: str | None = None,
    rename: Mapping[str, str] | None = None,
    columns: Mapping[str, object] | None = None,
    set: Mapping[str, object] | Sequence[str] = (),
    precondition: str = "fill",
    requests: int = REQUESTS,
    trials: int = TRIALS,
    level: float = 0.95,
    seed: int = 1,
    workers: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Calibration:
    """Fits numbers of a drive to measurements of a real one, by running the simulator.

    Args:
        drive: as for `nandlab.run`.
        measured: files with measured rows, or folders of them: CSV (docs/formats/measured.md), or
            fio's JSON.
        fit: keys with ranges: ``{"controller.command_us": (0.5, 5)}``, or as the command line has
            them: ``"controller.command_us=0.5:5"``. An item of a list is ``KEY[0]``.
        metrics: those that are compared: all of a CSV file, the usual ones of fio's JSON.
        rows: an expression over columns, true of the rows that are used: ``"depth <= 64"``.
        holdout: share of the rows that is drawn and not fitted.
        holdout_rows: an expression, true of rows that are not fitted.
        rename: names of columns in CSV files, and their names here.
        columns: values for all rows of columns that CSV files do not have.
        set: parameters of the drive to change before, as for `nandlab.run`.
        precondition: state of the drive before each row that names none.
        requests: measured of each row that names no number.
        trials: points that the fit may try.
        level: of the intervals.
        seed: of the points that are tried first, of what is held out, and of the intervals.
        workers: points at the same time; by default one for each processor. In a script, begin
            below ``if __name__ == "__main__":`` or use 1.
        progress: called about ten times a second with the points that were run.

    Raises:
        NandlabError: an input is refused, or no point can run.
        CalibrationUnfinished: Ctrl-C; its ``result`` has the best point, without intervals.
    """
    called("progress", progress)
    knobs = knobs_of(fit)
    trials = whole("trials", trials, 1, 10**6)
    requests = whole("requests", requests, 100, 10**9)
    level = number("level", level)
    if not 0 < level < 1:
        raise refusal("level", f"{level:g} is out of range", "above 0, below 1")
    seed = whole("seed", seeded(seed), 0, 2**31 - 1)
    count = processors() if workers is None else whole("workers", workers, 1, 4096)
    if precondition not in STATES:
        raise refusal("precondition", f"`{precondition}`", STATES, given=precondition)
    source = Source.of(drive, set, None)
    config = source.loaded.config
    check_items(knobs, config)
    data = read_measured(measured, rename=rename, columns=columns)
    data.only(rows)
    data.select(metrics)
    data.hold_out(None if holdout is None else number("holdout", holdout), holdout_rows, seed)
    _check_counts(data, len(knobs))
    given: str | Mapping[str, Any] = drive if isinstance(drive, Mapping) else source.name
    own = [own_value(knob, config) for knob in knobs]
    with Stop() as stop, workers_for(count, stop) as (pool, folder):
        points = Points(
            drive=given,
            sets=tuple(source.sets),
            config=config,
            knobs=knobs,
            rows=data.rows,
            state=precondition,
            requests=requests,
            workers=pool,
            stop=stop,
            meter=Meter("calibrate", progress),
            folder=folder,
        )
        descent = Descent(points, trials)
        starts = [
            [k.share(one) for k, one in zip(knobs, own, strict=True)]  # type: ignore[arg-type]
            for _ in range(1)
            if all(one is not None for one in own)
        ]
        descent.run(starts, seed)
        best = descent.best
        if best is None:
            raise KeyboardInterrupt
        findings, final, is_whole = _known(descent, best, own, level, seed, int(config["seed"]))
    notes = [*data.notes, *_notes(descent, data, len(knobs))]
    result = Calibration(
        fitted=[
            Fitted(
                knob.name,
                value,
                finding.low,
                finding.high,
                finding.status,
                finding.why,
                knob.span.low,
                knob.span.high,
                "log" if knob.span.is_log else "linear",
                knob.span.is_whole,
                before,
            )
            for knob, value, finding, before in zip(knobs, final.values, findings, own, strict=True)
        ],
        residuals=residuals_of(data.rows, final.point.values),
        facts={
            "nandlab_version": _core.version(),
            "drive": source.name,
            "measured": data.names,
            "set": source.sets,
            "seed": seed,
            "level": level,
            "requests": requests,
            "precondition": precondition,
            "points": descent.tried,
            "points_failed": descent.failed,
            "runs_at_best": points.done - descent.tried,
            "loss": final.loss,
            "is_settled": descent.is_over,
            "rows_fitted": sum(not row.is_held_out for row in data.rows),
            "rows_held_out": sum(row.is_held_out for row in data.rows),
        },
        notes=notes,
        is_interrupted=not is_whole,
        _rows=data.rows,
        _drive=given,
        _sets=source.sets,
        _config=config,
    )
    if not is_whole:
        raise CalibrationUnfinished(result)
    return result


def _check_counts(data: Measured, knobs: int) -> None:
    fitted = sum(len(row.measured) for row in data.rows if not row.is_held_out)
    if fitted < knobs:
        problem = f"{knobs} keys for {fitted} measured values"
        raise refusal("fit", problem, "no more keys than values", hint="measure more rows")


def _known(
    descent: Descent,
    best: Best,
    own: Sequence[float | None],
    level: float,
    seed: int,
    drive_seed: int,
) -> tuple[list[Finding], Best, bool]:
    """What is known of the knobs, the point that is taken, and whether all was done."""
    try:
        if descent.points.stop.asked:
            raise Enough
        findings = evidence(descent, best, level, seed, drive_seed).findings
        # What changes nothing keeps its value.
        values = [
            before if finding.status == "no effect" and before is not None else value
            for value, before, finding in zip(best.values, own, findings, strict=True)
        ]
        if values == best.values:
            return findings, best, True
        [point] = descent.points.at([values])
        if point.error:
            return findings, best, True
        return findings, Best(best.shares, values, point, descent.loss(point)), True
    except Enough:
        return without(descent.knobs), best, False


def _notes(descent: Descent, data: Measured, knobs: int) -> list[str]:
    notes = []
    if not descent.is_over and not descent.points.stop.asked:
        notes.append(f"the fit still improved after {descent.tried} points: use more trials")
    rows = sum(not row.is_held_out for row in data.rows)
    if rows <= knobs:
        notes.append(
            f"fitted rows: {rows}, keys: {knobs}; only with more rows than keys the intervals "
            "include errors of the model"
        )
    if not any(row.is_held_out for row in data.rows):
        notes.append("no row is held out: nothing is validated")
    if descent.failed:
        notes.append(f"refused points: {descent.failed}; the first: {descent.first_error}")
    return notes

"""Table of a calibration, for the terminal and for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.calibrate.result import HELD_OUT

if TYPE_CHECKING:
    from nandlab.calibrate.result import Calibration, Residual, Summary


def text_of(found: Calibration) -> str:
    """Facts, fitted numbers, errors by use, a line for each measured value, and notes."""
    facts = found.facts
    level = f"{facts['level'] * 100:g} % interval"
    width = max(len("key"), *(len(one.key) for one in found.fitted))
    lines = [
        f"calibration of {facts['drive']} on {found.data}",
        f"points      {facts['points']:,} of {len(found.fitted)} keys"
        + (f", {facts['points_failed']:,} refused" if facts["points_failed"] else ""),
        "",
        f"{'key':{width}} {'value':>10}  {level:>22}  {'range':>20}  {'before':>10}",
    ]
    for one in found.fitted:
        span = f"{one.said(one.range_low)} to {one.said(one.range_high)}"
        said = "" if one.status == "fitted" else f"  {one.status}: {one.why}"
        lines.append(
            f"{one.key:{width}} {one.said(one.value):>10}  {one.interval:>22}  {span:>20}"
            f"  {one.said(one.own):>10}{said}"
        )
    lines += ["", f"{'use':9} {'metric':22} {'rows':>5} {'values':>6} {'bias':>8} {'rms':>8} worst"]
    lines += [_summary(one) for one in found.summaries()]
    if not any(one.use == HELD_OUT for one in found.residuals):
        lines.append("held out  none: nothing here is validated")
    width = max(len("row"), *(len(one.row) for one in found.residuals))
    lines += ["", f"{'row':{width}} {'metric':22} {'measured':>12} {'simulated':>12} {'':>8} use"]
    lines += [_residual(one, width) for one in found.residuals]
    return "\n".join([*lines, *(f"\nnote: {note}" for note in found.notes)])


def summary_line(found: Calibration, use: str) -> str:
    """The errors of one use, in a sentence."""
    one = found.summary(use)
    if not one.values:
        return f"{use}: none"
    if one.rms_percent is None:
        return f"{use}: {one.values} values of {one.rows} rows, none simulated"
    return (
        f"{use}: {one.values} values of {one.rows} rows, rms {one.rms_percent:.2g} %, "
        f"worst {one.worst_percent:+.2g} %"
    )


def _summary(one: Summary) -> str:
    return (
        f"{one.use:9} {one.metric or 'all':22} {one.rows:>5} {one.values:>6} "
        f"{_percent(one.bias_percent):>8} {_percent(one.rms_percent, sign=''):>8} "
        f"{_percent(one.worst_percent)}" + (f", {one.missing} missing" if one.missing else "")
    )


def _residual(one: Residual, width: int) -> str:
    simulated = "-" if one.simulated is None else _number(one.simulated)
    return (
        f"{one.row:{width}} {one.metric:22} {_number(one.measured):>12} {simulated:>12} "
        f"{_percent(one.percent):>8} {one.use}"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _percent(value: float | None, sign: str = "+") -> str:
    return "-" if value is None else f"{value:{sign}.1f} %"

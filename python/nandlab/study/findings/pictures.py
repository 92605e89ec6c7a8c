"""Pictures of a study: lines over an axis, heat maps, scatter, Pareto fronts, sensitivity.

What is drawn are means over replicates; intervals are Student's, of 95 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.display import quantity
from nandlab.display.picture import (
    COLOURS,
    GREY,
    check_kind,
    finish,
    headline,
    new_figure,
    panels_of,
    save,
)
from nandlab.display.style import letters
from nandlab.drive.trust.figures import is_number
from nandlab.given.refusal import refusal
from nandlab.study.axis import Axis
from nandlab.study.findings.frame import check_column
from nandlab.study.findings.paper import value_text
from nandlab.study.points import BLOCKED, DRAWN, LISTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.study.definition import Study
    from nandlab.study.given import Given

KINDS = ("lines", "heatmap", "scatter", "pareto", "sensitivity")

Rows = Sequence[Mapping[str, Any]]

_PALETTE = (*COLOURS.values(), "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's."""

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_DOUBTFUL = "checks failed, or not settled"
"""Of points with doubts, in the legend."""

MOST_LINES = len(_PALETTE)
"""Lines of a panel; an axis with more values makes a heat map."""

MOST_PANELS = 24
MOST_WRITTEN = 80
"""Fields of a heat map that show their values."""

MOST_LETTERS = 18
"""Letters of the marks below a heat map; more are turned."""

MOST_MARKS = 30
"""The same below lines, whose panels are wider."""

_MOST_OWN_MARKS = 10
"""Values of a logarithmic axis that have a mark each."""

_PANEL = (4.4, 3.6)
"""Inches of a panel where there are several."""

_ALONE = (8.0, 5.2)
"""The same of one alone."""

_ACROSS = 3
"""Panels side by side."""


def plot_study(
    study: Study, path: Path | None, kind: str | None, columns: Sequence[str] | None
) -> Figure:
    """A picture of a study, also written to `path`.

    Raises:
        NandlabError: no such kind or column, or no points that it could show.
        OSError: the file cannot be written.
    """
    if path is not None:
        check_kind(path)
    given = study.given
    chosen = check_picture(given, "plot", kind, columns)
    rows = study.means()
    if not rows:
        raise refusal("plot", "no point has a result", "a study that has run")
    drawn = [columns] if isinstance(columns, str) else list(columns or [given.columns[0].name])
    figure = _DRAWING[chosen](study, rows, drawn)
    headline(figure, given.summary or _title(given))
    if path is not None:
        save(figure, path)
    return figure


def check_picture(given: Given, place: str, kind: str | None, columns: Sequence[str] | None) -> str:
    """The kind of a picture, which is known before the study runs.

    Raises:
        NandlabError: no such kind or column, or a kind that the study has no data for.
    """
    for name in [columns] if isinstance(columns, str) else columns or []:
        check_column(given, name, place)
    if not given.axes:
        raise refusal(place, "a study without axes", "one axis or more")
    chosen = kind or _usual(given)
    if chosen not in KINDS:
        raise refusal(place, f"unknown picture `{chosen}`", KINDS, given=chosen)
    if chosen == "heatmap" and len(given.axes) < 2:
        raise refusal(place, "a heat map of one axis", "two or more, or the picture `lines`")
    if chosen == "sensitivity" and given.design.kind not in BLOCKED:
        raise refusal(place, f"sensitivity with design `{given.design.kind}`", BLOCKED)
    if chosen == "pareto":
        from nandlab.study.findings.pareto import objectives

        objectives(given)
    return chosen


def _usual(given: Given) -> str:
    """The picture that suits a design."""
    if given.design.kind in BLOCKED:
        return "sensitivity"
    if given.design.kind in (*DRAWN, LISTED):
        return "pareto" if len(given.objectives) > 1 else "scatter"
    _, by, _ = _roles(given)
    return "heatmap" if by is not None and len(by.values) > MOST_LINES else "lines"


def _title(given: Given) -> str:
    drive = given.drive if isinstance(given.drive, str) else "drive"
    return f"{Path(drive).stem} · {Path(given.place).stem}"


def _roles(given: Given) -> tuple[Axis, Axis | None, list[Axis]]:
    """The axis to draw along, the one to draw by, and those that make panels.

    Along is the numeric axis with the most values. Of the others, that with the most values makes
    the lines: panels are few.
    """
    axes = sorted(given.axes, key=lambda one: (not one.is_numeric, -len(one.values)))
    along, *others = axes
    others.sort(key=lambda one: (len(one.values), list(given.axes).index(one)))
    if not others:
        return along, None, []
    *panels, by = others
    return along, by, panels


def _panels(
    given: Given, rows: Rows, axes: Sequence[Axis], columns: Sequence[str]
) -> list[tuple[str, str, Rows]]:
    """Title, column and rows of each panel.

    Raises:
        NandlabError: too many.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        title = ", ".join(
            f"{given.label(axis.path).text} = {value_text(row[axis.path])}" for axis in axes
        )
        groups.setdefault(title, []).append(row)
    if len(groups) * len(columns) > MOST_PANELS:
        problem = f"{len(groups) * len(columns)} panels"
        hint = "choose fewer columns, or draw a part of the study"
        raise refusal("plot", problem, f"at most {MOST_PANELS}", hint=hint)
    return [(title, column, group) for column in columns for title, group in groups.items()]


def _grid_of(
    count: int, groups: int = 1, size: tuple[float, float] = _ALONE
) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side: where columns have several, a line for each column."""
    if count == 1:
        return panels_of(1, size, 1)
    across = min(count, 2 if count == 4 else _ACROSS)
    if groups < count and 1 < groups <= _ACROSS:
        across = groups
    return panels_of(count, _PANEL, across, 0.6)


def _lines(study: Study, rows: Rows, columns: Sequence[str]) -> Figure:
    """Lines over one axis, one for each value of another, with intervals."""
    given = study.given
    along, by, rest = _roles(given)
    panels = _panels(given, rows, rest, columns)
    figure, every = _grid_of(len(panels), len(panels) // len(columns))
    for axes, (title, column, group) in zip(every, panels, strict=True):
        lines: dict[str, list[Mapping[str, Any]]] = {}
        for row in group:
            lines.setdefault("" if by is None else value_text(row[by.path]), []).append(row)
        if len(lines) > MOST_LINES:
            raise refusal(
                "plot", f"{len(lines)} lines", f"at most {MOST_LINES}", hint="draw a heatmap"
            )
        for index, (label, own) in enumerate(lines.items()):
            _line(axes, along, column, own, index, label)
        _scale(axes, along)
        axes.set_xlabel(_beside(given, along))
        axes.set_ylabel(str(given.label(column)), labelpad=8)
        # A line has no label where no row of it could be drawn.
        if axes.get_legend_handles_labels()[1]:
            title_of = None if by is None else str(given.label(by.path))
            axes.legend(title=title_of, frameon=False, title_fontsize=11)
        finish(axes, "")
        axes.set_title(title, loc="left", fontsize=11)
    for column in columns:
        _same_scale([one for one, panel in zip(every, panels, strict=True) if panel[1] == column])
    return figure


def _same_scale(every: Sequence[Axes]) -> None:
    """Panels of one column can be compared."""
    ends = [axes.get_ylim() for axes in every]
    for axes in every:
        axes.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))


def _line(axes: Axes, along: Axis, column: str, rows: Rows, index: int, label: str) -> None:
    seen = [row for row in rows if is_number(row[column])]
    if along.is_numeric:
        seen = sorted(seen, key=lambda row: row[along.path])
        x = [row[along.path] for row in seen]
    else:
        x = [along.values.index(row[along.path]) for row in seen]
    y = [row[column] for row in seen]
    low, high = ([row[f"{column}_{end}"] for row in seen] for end in ("low", "high"))
    below = [0.0 if one is None else value - one for value, one in zip(y, low, strict=True)]
    above = [0.0 if one is None else one - value for value, one in zip(y, high, strict=True)]
    has_intervals = any(one is not None for one in low)
    _cross_out(axes, [(at, row[column]) for at, row in zip(x, seen, strict=True) if row["doubts"]])
    axes.errorbar(
        x,
        y,
        [below, above] if has_intervals else None,
        color=_PALETTE[index % len(_PALETTE)],
        marker=_MARKERS[index % len(_MARKERS)],
        markersize=5,
        linewidth=1.6,
        linestyle="-" if along.is_numeric else "none",
        elinewidth=1.2,
        capsize=3,
        label=label,
    )


def _cross_out(axes: Axes, points: Sequence[tuple[Any, Any]]) -> None:
    """Marks points with doubts; the legend says so once."""
    if points:
        is_new = _DOUBTFUL not in axes.get_legend_handles_labels()[1]
        x, y = zip(*points, strict=True)
        axes.scatter(
            x,
            y,
            marker="x",
            s=70,
            color="black",
            linewidth=1.4,
            zorder=5,
            label=_DOUBTFUL if is_new else None,
        )


def _scale(axes: Axes, along: Axis) -> None:
    if not along.is_numeric:
        axes.set_xticks(range(len(along.values)), [value_text(value) for value in along.values])
        axes.margins(x=0.1)
    elif along.is_log:
        axes.set_xscale("log")
        if _has_marks(along):
            texts = [_mark(along, value) for value in along.values]
            rotation = 45 if sum(map(len, texts)) > MOST_MARKS else 0
            axes.set_xticks(along.values, texts, rotation=rotation)
            axes.minorticks_off()


def _heatmap(study: Study, rows: Rows, columns: Sequence[str]) -> Figure:
    """A heat map of two axes, with the values in its fields where they have room."""
    import numpy as np

    given = study.given
    along, by, rest = _roles(given)
    if by is None:
        raise refusal("plot", "a heat map of one axis", "two or more")
    panels = _panels(given, rows, rest, columns)
    figure, every = _grid_of(len(panels), len(panels) // len(columns), (8.0, 5.6))
    for axes, (title, column, group) in zip(every, panels, strict=True):
        across, up = (_values(axis, group) for axis in (along, by))
        field = np.full((len(up), len(across)), np.nan)
        doubtful = []
        for row in group:
            if is_number(row[column]):
                at = (up.index(row[by.path]), across.index(row[along.path]))
                field[at] = row[column]
                if row["doubts"]:
                    # In a corner of the field: its value is in the middle.
                    doubtful.append((at[1] + 0.38, at[0] + 0.36))
        _cross_out(axes, doubtful)
        if doubtful:
            axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
        ends = [row[column] for row in rows if is_number(row[column])]
        colours: dict[str, Any] = {"vmin": min(ends), "vmax": max(ends)} if ends else {}
        image = axes.imshow(field, aspect="auto", origin="lower", cmap="viridis", **colours)
        figure.colorbar(image, ax=axes, label=str(given.label(column)))
        _ticks(axes.set_xticks, across)
        _ticks(axes.set_yticks, up)
        finish(axes, "")
        if field.size <= MOST_WRITTEN:
            _write_values(
                axes, field, letters(11 if len(panels) == 1 else 8), sum(image.get_clim()) / 2
            )
        axes.grid(False)
        axes.set_xlabel(str(given.label(along.path)))
        axes.set_ylabel(str(given.label(by.path)))
        axes.set_title(title, loc="left", fontsize=11)
    return figure


def _values(axis: Axis, rows: Rows) -> list[Any]:
    """Values of an axis, those of a range as they were drawn."""
    if axis.values:
        return list(axis.values)
    return sorted({row[axis.path] for row in rows})


def _ticks(set_ticks: Callable[..., Any], values: Sequence[Any]) -> None:
    step = max(1, -(-len(values) // 16))
    places = range(0, len(values), step)
    texts = [value_text(values[place]) for place in places]
    is_crowded = sum(map(len, texts)) > MOST_LETTERS
    is_across = set_ticks.__name__ == "set_xticks"
    set_ticks(places, texts, rotation=45 if is_crowded and is_across else 0)


def _write_values(axes: Axes, field: Any, size: float, middle: float) -> None:
    import numpy as np

    for (row, column), value in np.ndenumerate(field):
        if np.isfinite(value):
            colour = "white" if value < middle else "black"
            text = axes.text(column, row, f"{value:.3g}", ha="center", va="center", color=colour)
            text.set_fontsize(size)


def _scatter(study: Study, rows: Rows, columns: Sequence[str]) -> Figure:
    """A column over each axis: for designs that fill the space."""
    given = study.given
    axes_of = list(given.axes)
    panels = [(column, axis) for column in columns for axis in axes_of]
    if len(panels) > MOST_PANELS:
        raise refusal("plot", f"{len(panels)} panels", f"at most {MOST_PANELS}")
    figure, every = _grid_of(len(panels), len(axes_of))
    for axes, (column, axis) in zip(every, panels, strict=True):
        seen = [row for row in rows if is_number(row[column])]
        x = [
            row[axis.path] if axis.is_numeric else axis.values.index(row[axis.path]) for row in seen
        ]
        axes.scatter(x, [row[column] for row in seen], s=16, color=_PALETTE[0], alpha=0.7)
        points = [(at, row[column]) for at, row in zip(x, seen, strict=True) if row["doubts"]]
        _cross_out(axes, points)
        if points:
            axes.legend(frameon=False)
        _scale(axes, axis)
        axes.set_xlabel(_beside(given, axis))
        axes.set_ylabel(str(given.label(column)))
        finish(axes, "")
    return figure


def _pareto(study: Study, rows: Rows, _columns: Sequence[str]) -> Figure:
    """All points in the first two objectives, the front among them as a line.

    Those beyond a limit are hollow.
    """
    from nandlab.study.findings.limits import is_within
    from nandlab.study.findings.pareto import objectives

    given = study.given
    first, second, *others = objectives(given)
    x, y = first.column.name, second.column.name
    shown = study.pareto()
    best = [row for row in shown if row.get("is_on_front", True)]
    figure = new_figure(8.0, 5.6)
    axes = figure.subplots()
    seen = [row for row in rows if is_number(row[x]) and is_number(row[y])]
    beyond = [row for row in seen if not is_within(given, row)]
    within = [row for row in seen if is_within(given, row)]
    for part, fill, said in (
        (within, GREY, "within the limits" if given.limits else "all points"),
        (beyond, "none", f"beyond a limit ({len(beyond)})"),
    ):
        if part:
            at = ([row[x] for row in part], [row[y] for row in part])
            axes.scatter(*at, s=18, facecolors=fill, edgecolors=GREY, label=said)
    _cross_out(axes, [(row[x], row[y]) for row in seen if row["doubts"]])
    line = "none" if others else "-"
    if study.given.design.replicates > 1:
        _crosses(axes, best, x, y)
    if len(best) < len(shown):
        near = [row for row in shown if not row["is_on_front"]]
        said = f"not surely beaten ({len(near)})"
        _crosses(axes, near, x, y, marker="o", markerfacecolor="white", label=said)
    axes.plot(
        [row[x] for row in best],
        [row[y] for row in best],
        color=_PALETTE[1],
        marker="o",
        linestyle=line,
        label=f"Pareto front ({len(best)})",
    )
    if len(best) <= 12:
        for row in best:
            text = ", ".join(value_text(row[axis.path]) for axis in given.axes)
            axes.annotate(text, (row[x], row[y]), (6, 6), textcoords="offset points")
    for objective, name in ((first, axes.set_xlabel), (second, axes.set_ylabel)):
        way = "more is better" if objective.is_max else "less is better"
        name(f"{given.label(objective.column.name)}, {way}")
    axes.legend(frameon=False)
    finish(axes, "")
    for label in axes.texts:
        label.set_fontsize(letters(9))
    every = ", ".join(str(given.label(axis.path)) for axis in given.axes)
    axes.set_title(f"labels: {every}", loc="left", fontsize=11)
    return figure


def _crosses(axes: Axes, rows: Rows, x: str, y: str, **more: Any) -> None:
    """Points in two columns with their intervals."""

    def halves(name: str) -> list[float]:
        lows = [row[f"{name}_low"] for row in rows]
        return [
            0.0 if low is None else row[name] - low for row, low in zip(rows, lows, strict=True)
        ]

    axes.errorbar(
        [row[x] for row in rows],
        [row[y] for row in rows],
        yerr=halves(y),
        xerr=halves(x),
        color=_PALETTE[1],
        linestyle="none",
        elinewidth=1.0,
        capsize=2,
        **more,
    )


def _sensitivity(study: Study, _rows: Rows, columns: Sequence[str]) -> Figure:
    """Bars for each axis, the one that matters most on top."""
    given = study.given
    figure, every = _grid_of(len(columns), size=(8.0, 1.8 + 0.5 * len(given.axes)))
    for axes, column in zip(every, columns, strict=True):
        found = study.sensitivity(column)[::-1]
        names = [str(given.label(row["axis"])) for row in found]
        places = range(len(found))
        if "mu_star" in found[0]:
            _bars(axes, places, found, "mu_star", 0.6, 0.0, _PALETTE[0], "")
            axes.set_xlabel(f"mean absolute effect (µ*) on {given.label(column)}")
        else:
            _bars(axes, places, found, "total", 0.38, 0.2, _PALETTE[0], "with interactions (total)")
            _bars(axes, places, found, "first", 0.38, -0.2, _PALETTE[5], "alone (first order)")
            axes.set_xlabel(f"share of the variance of {given.label(column).text}")
            axes.legend(frameon=False)
        axes.set_yticks(places, names)
        finish(axes, "")
        axes.grid(False, axis="y")
    return figure


def _bars(
    axes: Axes,
    places: Sequence[int] | range,
    found: Rows,
    key: str,
    height: float,
    shift: float,
    colour: str,
    label: str,
) -> None:
    axes.barh(
        [place + shift for place in places],
        [row[key] for row in found],
        height,
        xerr=[row[f"{key}_interval"] for row in found],
        color=colour,
        ecolor="#444444",
        capsize=3,
        label=label,
    )


def _has_marks(axis: Axis) -> bool:
    """Whether a logarithmic axis has a mark for each of its values."""
    return axis.is_numeric and axis.is_log and 0 < len(axis.values) <= _MOST_OWN_MARKS


def _beside(given: Given, axis: Axis) -> str:
    """The label beside an axis; marks in units of their own need no other."""
    label = given.label(axis.path)
    return label.text if _is_size(axis) and _has_marks(axis) else str(label)


def _is_size(axis: Axis) -> bool:
    return axis.path.endswith("bytes")


def _mark(axis: Axis, value: Any) -> str:
    """A value below an axis: bytes in units that are short."""
    is_size = _is_size(axis) and is_number(value)
    return quantity.size(value) if is_size else value_text(value)


_DRAWING: dict[str, Callable[[Study, Rows, Sequence[str]], Figure]] = {
    "lines": _lines,
    "heatmap": _heatmap,
    "scatter": _scatter,
    "pareto": _pareto,
    "sensitivity": _sensitivity,
}

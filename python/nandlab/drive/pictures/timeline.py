"""Picture of a short timeline: dies above their bus, decoders below."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.display.picture import finish, legend_below, new_figure, save
from nandlab.drive.timeline import TRACKS, Timeline
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "read": "#56B4E9",
    "data out": "#0072B2",
    "decode": "#8C8C8C",
    "soft read": "#E69F00",
    "soft data out": "#D55E00",
    "soft decode": "#000000",
    "gc read": "#B3D9F2",
    "program": "#009E73",
    "gc program": "#7FCEB9",
    "data in": "#006B4F",
    "erase": "#CC79A7",
    "suspend": "#F0E442",
    "encode": "#BFBFBF",
    "map read": "#9467BD",
    "map program": "#5C3A7E",
    "merge read": "#C5B0D5",
    "merge program": "#8C564B",
    "refresh read": "#DBDB8D",
    "refresh program": "#BCBD22",
    "patrol read": "#9EDAE5",
}
"""From the palette of Okabe and Ito: what is read blue, what is read softly orange."""

MOST_SPANS = 2000
"""More than that is no picture."""


def plot_timelines(timelines: Mapping[str, Timeline], path: Path | None = None) -> Figure:
    """Timelines below one another on one axis of time, each under its title.

    Raises:
        NandlabError: no spans of dies, buses or decoders, or more than a picture shows.
        OSError: `path` cannot be written.
    """
    rows = [len(_parts(timeline)) for timeline in timelines.values()]
    if not all(rows):
        raise refusal(
            "plot_timeline",
            "the timeline is empty: no die, channel or decoder was busy",
            hint="precondition the drive so that reads find data (precondition='fill')",
        )
    figure = new_figure(10.0, 1.1 + 0.42 * sum(rows) + 0.75 * len(rows))
    axes = figure.subplots(len(rows), 1, sharex=True, squeeze=False, height_ratios=rows)[:, 0]
    seen: dict[str, None] = {}
    for own, (title, timeline) in zip(axes, timelines.items(), strict=True):
        _draw(own, timeline, seen)
        finish(own, title)
        own.grid(False, axis="y")
    axes[-1].set_xlabel("time in µs")
    axes[-1].xaxis.label.set_fontsize(13)
    _legend(figure, list(seen))
    if path is not None:
        save(figure, path)
    return figure


def _parts(timeline: Timeline) -> list[tuple[int, int]]:
    """Track and number of every part of the drive that did something, in the order of rows."""
    order = {
        TRACKS.index(name): place for place, name in enumerate(("Dies", "Channels", "Decoders"))
    }
    tracks, indices = timeline.spans["track"].tolist(), timeline.spans["index"].tolist()
    if len(tracks) > MOST_SPANS:
        raise refusal("", f"{len(tracks)} spans", f"at most {MOST_SPANS} in a picture")
    found = {(track, index) for track, index in zip(tracks, indices, strict=True) if track in order}
    return sorted(found, key=lambda part: (order[part[0]], part[1]))


def _draw(axes: Axes, timeline: Timeline, seen: dict[str, None]) -> None:
    parts = _parts(timeline)
    rows = {part: len(parts) - 1 - place for place, part in enumerate(parts)}
    spans = timeline.spans
    columns = [spans[name].tolist() for name in ("start_ns", "end_ns", "track", "index", "kind")]
    begin = min(columns[0], default=0)
    for start, end, track, index, kind in zip(*columns, strict=True):
        row = rows.get((track, index))
        if row is None:
            continue
        name = timeline.kinds[kind]
        seen[name] = None
        left, width = (start - begin) / 1e3, (end - start) / 1e3
        colour = COLOURS.get(name, "#8C8C8C")
        axes.broken_barh([(left, width)], (row - 0.36, 0.72), color=colour, edgecolor="white")
    names = {"Dies": "die", "Channels": "bus", "Decoders": "decoder"}
    labels = [f"{names[TRACKS[track]]} {index}" for track, index in parts]
    axes.set_yticks([rows[part] for part in parts], labels)
    axes.set_ylim(-0.6, len(parts) - 0.4)


def _legend(figure: Figure, names: list[str]) -> None:
    from matplotlib.patches import Patch

    names.sort(key=list(COLOURS).index)
    patches = [Patch(color=COLOURS[name], label=name) for name in names]
    legend_below(figure, patches)

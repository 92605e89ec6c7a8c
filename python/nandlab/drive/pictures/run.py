"""Picture of a run, of one kind: latency and throughput, one of the two, or a heat map."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from nandlab.display.picture import new_figure, save
from nandlab.drive.pictures.heat_map import plot_heat_map
from nandlab.drive.pictures.latency import plot_latency
from nandlab.drive.pictures.throughput import plot_throughput
from nandlab.given.arguments import as_text, path_or_none
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nandlab.drive.result import Result

KINDS = ("summary", "latency", "throughput", "heatmap")
"""``summary`` is latency above throughput."""


def check_kind(place: str, kind: object) -> str:
    """The kind of a picture.

    Raises:
        NandlabError: there is no such kind.
    """
    name = as_text(place, kind, ", ".join(KINDS))
    if name not in KINDS:
        raise refusal(place, f"unknown kind of picture `{name}`", KINDS, given=name)
    return name


def plot_run(
    result: Result, path: str | PathLike[str] | None = None, *, kind: str = "summary"
) -> Figure:
    """A picture of one of the `KINDS`, also written to `path`.

    Raises:
        NandlabError: nothing was run, there is no such kind, a heat map of a run that did not keep
            its requests, or `path` is of a kind that cannot be drawn.
        OSError: `path` cannot be written.
    """
    kind = check_kind("kind", kind)
    if not result.has_begun:
        raise refusal(
            "plot",
            "the run was interrupted during preconditioning, so it has no results",
            hint="run it again",
        )
    to = path_or_none("plot", path)
    match kind:
        case "latency":
            figure = plot_latency(result)
        case "throughput":
            figure = plot_throughput(result)
        case "heatmap":
            figure = plot_heat_map(result)
        case _:
            figure = _summary(result)
    if to is not None:
        save(figure, to)
    return figure


def _summary(result: Result) -> Figure:
    figure = new_figure(8.0, 8.0)
    above, below = figure.subplots(2, 1, gridspec_kw={"height_ratios": [1.35, 1.0]})
    plot_latency(result, above)
    plot_throughput(result, below)
    below.set_title("", loc="left")
    return figure

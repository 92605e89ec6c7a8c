"""Fit of a chip's whole cell: from tables of measurements and a chip to a `CellFit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

from nandlab._core import NandlabError
from nandlab.catalogue import chip_text
from nandlab.cell.source import find
from nandlab.fit.data import Data, Measurements
from nandlab.fit.fitting import fit, terms_of
from nandlab.fit.parameters import Confidence
from nandlab.fit.whole_cell.descent import Descent
from nandlab.fit.whole_cell.found import CellFit
from nandlab.fit.whole_cell.keys import (
    EVERY_NAME,
    LEVEL_MEAN,
    LEVEL_WIDTH,
    PAGE_SPREAD,
    free_keys,
)
from nandlab.fit.whole_cell.model import Model, state_of
from nandlab.fit.whole_cell.observed import STRESSES, Observed, observed
from nandlab.fit.whole_cell.pages import PageSpread
from nandlab.given.arguments import flag, named, number
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal
from nandlab.given.toml import parse_toml


@names_checked
def fit_cell(
    data: Data | Sequence[Data],
    chip: str | PathLike[str],
    *,
    level: float = 0.95,
    each: bool = False,
    without: str | Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
) -> CellFit:
    """Fits the cell of a chip to error counts and histograms of threshold voltage together.

    The model is the closed form of the engine, by which drives and `nandlab.cell` know their error
    rates. Keys that the data do not tell stay as the chip has them, and notes say so.

    Args:
        data: one table or several, each as of `nandlab.fit`: error counts (``bit_errors`` and
            ``bits_read``) or histograms (``vth_v`` and ``cells``), with what was done to the block
            before: ``pe_cycles``, ``retention_hours``, ``temperature_c``, ``reads``; of counts
            ``page_type`` too.
        chip: the most similar chip with a cell, preset or file: what the fit starts from.
        level: how often the intervals hold the truth, all of them at once.
        each: one by one instead, which makes them narrower.
        without: keys that stay as the chip has them, as ``retention.spread``.
        rename: names of columns in the data, and their names here: ``{"PE": "pe_cycles"}``.

    Raises:
        NandlabError: no such chip or one without a cell, an unknown key or column, data of cells
            with other levels, or data that determine no key.
    """
    level = number("fit: level", level)
    if not 0.5 <= level < 1:
        raise refusal("fit", f"level = {level:g}: out of range", "0.5 to below 1")
    each = flag("fit: each", each)
    kept = terms_of(without)
    for one in kept:
        if one not in EVERY_NAME:
            raise refusal("fit", f"without {one}: not a key of a fit", EVERY_NAME, given=one)
    name = named("chip", chip)
    source = find(name if name.endswith(".toml") else f"chip/{name}")
    if not isinstance(parse_toml(*chip_text(name)).get("cell"), Mapping):
        raise refusal(name, "no chip with a table [cell]", "a chip with a cell, preset or file")
    tables = source.effective
    measured = observed(data, source.cell_bits, rename)
    if not measured.histograms and measured.counts.errors.sum() == 0:
        raise refusal(
            measured.name, "the column bit_errors has no errors", hint="use data with errors"
        )
    free, notes = free_keys(tables, measured, kept)
    if not free:
        raise refusal("fit", "no key is left to fit", hint="name fewer keys in `without`")
    model = Model(source, tables, measured)
    notes += [
        f"no effect of {stress} is fitted: it does not vary"
        for stress in STRESSES
        if stress != "temperature_c" and not measured.varies(stress)
    ]
    pages = _pages(model, kept)
    descent = Descent(model, free, pages)
    u = descent.run(_start(model, kept))
    count = len(descent.free) + (pages is not None)
    confidence = Confidence(level, 1 if each else count)
    return CellFit(name, source, descent, u, confidence, notes)


def _pages(model: Model, kept: Sequence[str]) -> PageSpread | None:
    """The spread of pages, where the rows are of single pages and the cell has one."""
    start = float(model.tables.get("variation", {}).get("page_spread", 0.0))
    if model.data.counts.pages < 3 or start <= 0 or PAGE_SPREAD in kept:
        return None
    return PageSpread(model, start)


def _start(model: Model, kept: Sequence[str]) -> dict[str, float]:
    """Levels as the histogram of the least stress shows them: from there the descent begins."""
    data: Observed = model.data
    if not data.histograms:
        return {}
    place, bins = min(data.histograms, key=lambda one: one[0])
    levels = model.tables["levels"]
    means, widths = levels["vth_mean_v"], levels["vth_sigma_v"]
    columns = {"vth_v": bins.centres_v, "cells": bins.cells}
    table = Measurements(data.name, columns, {}, range(1, 1 + len(bins.cells)))
    try:
        seen = fit(table, "gaussian", states=len(means))
    except NandlabError:
        # Too few bins, or levels that no peak shows: the descent begins at the chip's own.
        return {}
    cell = model.cell({})
    moments = cell.moments_v(state_of(cell, data.stresses[place]))
    start = {}
    for i, ((mean, sigma), own, width) in enumerate(zip(moments, means, widths, strict=True)):
        start[f"{LEVEL_MEAN}[{i}]"] = own + seen[f"mu_{i}_v"].value - mean
        square = width**2 + seen[f"sigma_{i}_v"].value ** 2 - sigma**2
        start[f"{LEVEL_WIDTH}[{i}]"] = max(square, 0.04 * width**2) ** 0.5
    return {key: value for key, value in start.items() if key.partition("[")[0] not in kept}

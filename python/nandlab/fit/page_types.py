"""Fits by page type: one law for each, because error rates of page types differ by factors."""

from __future__ import annotations

from typing import Any

from nandlab.fit.data import Data, read_measurements
from nandlab.fit.fitting import Fit, fit, of_page_type
from nandlab.given.refusal import refusal


def fit_page_types(data: Data, law: str, **given: Any) -> dict[str, Fit]:
    """Fits a law to the rows of each page type by themselves.

    Args:
        data: as of `nandlab.fit`, with a column ``page_type``.
        law: a law of rates.
        given: as of `nandlab.fit`, but for ``page_type``.

    Returns:
        The fits by page type, in the order of the rows.

    Raises:
        NandlabError: as of `nandlab.fit`; or no page types.
    """
    measured = read_measurements(data, given.pop("reference_v", None), given.pop("rename", None))
    types = list(dict.fromkeys(measured.labels.get("page_type", [])))
    if not types:
        raise refusal(
            measured.name, "no column page_type", "a column page_type with a page type in each row"
        )
    return {name: fit(of_page_type(measured, name), law, **given) for name in types}

"""Tables as data frames of pandas, where it is installed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import pyarrow as pa


def data_frame(table: pa.Table) -> Any:
    """The rows of an Arrow table as a ``pandas.DataFrame``.

    Raises:
        NandlabError: pandas is not installed; says how to get it.
    """
    try:
        import_module("pandas")
    except ImportError as error:
        raise refusal(
            "to_pandas", "pandas is not installed", "after `pip install 'nandlab[pandas]'`"
        ) from error
    return table.to_pandas()

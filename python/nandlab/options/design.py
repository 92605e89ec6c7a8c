"""Options of a design: where its rows lie, and who runs them."""

from concurrent.futures import Executor
from os import PathLike
from pathlib import Path
from typing import Annotated, TypedDict

from nandlab.options.option import Option
from nandlab.options.run import ProgressOptions


class RowsOptions(TypedDict, total=False):
    """Rows of a design, and the workers that make them."""

    out: Annotated[
        str | PathLike[str] | None,
        Option(line=Path, form="DIR", unset="TARGET.design beside the file"),
    ]
    """Folder of rows and lives, with which the design goes on."""
    workers: Annotated[int | None, Option(unset="one for each processor")]
    """Number of runs at the same time."""
    executor: Annotated[
        str | Executor, Option(default="local", form="local|dask=ADDRESS|MODULE:FACTORY")
    ]
    """Executor of the runs.

    As for `nandlab.Study.run`.
    """


class DesignOptions(RowsOptions, ProgressOptions, total=False):
    """Options of `nandlab.design`."""

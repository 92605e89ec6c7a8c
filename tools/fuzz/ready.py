"""Readiness: everything that commands import, once, in the process that they are forked from."""

import contextlib
import importlib
import io
import pkgutil

import nandlab
from nandlab.cli import app

for _name in (
    *("matplotlib.backends.backend_agg", "matplotlib.figure", "numpy", "pyarrow.csv"),
    *("pyarrow.parquet", "rich.table", "scipy.optimize", "scipy.stats"),
    *(module.name for module in pkgutil.walk_packages(nandlab.__path__, "nandlab.")),
):
    if not _name.endswith("__main__"):
        importlib.import_module(_name)
# The first command makes the table of options, with what that imports.
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    app(["show", "tiny"], standalone_mode=False)

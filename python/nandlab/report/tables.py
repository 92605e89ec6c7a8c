"""Types of the tables of a report, for annotations: at run time each is a `Table`."""

from nandlab.report.view import Table


def __getattr__(name: str) -> type[Table]:
    """The type of a table, whose keys stand in `tables.pyi`."""
    if name.startswith("_"):
        raise AttributeError(name)
    return Table

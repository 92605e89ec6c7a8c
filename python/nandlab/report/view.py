"""A table of the report at run time: a dictionary whose keys are attributes too."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typing_extensions import Self

    from nandlab.report.tables import Report


class Table(dict[str, Any]):
    """A table of the report: ``table.key`` is ``table["key"]``.

    >>> report = nandlab.run("tiny", "reads.fio").report
    >>> report.host.latency_us.p99 == report["host"]["latency_us"]["p99"]
    True
    """

    __slots__ = ()

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Self:
        """A table from a mapping, with all tables in it."""
        return cls({key: _viewed(value) for key, value in table.items()})

    if not TYPE_CHECKING:
        # Type checkers know the keys of each table from `tables.pyi`.
        def __getattr__(self, key: str) -> Any:
            try:
                return self[key]
            except KeyError:
                problem = f"no key `{key}` in this table of the report"
                raise AttributeError(problem, name=key, obj=self) from None

        def __setattr__(self, key: str, value: Any) -> None:
            self[key] = value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def _viewed(value: Any) -> Any:
    """A value with all tables in it."""
    if isinstance(value, Mapping):
        return Table.of(value)
    return [*map(_viewed, value)] if isinstance(value, list | tuple) else value


class _Keys:
    """A report whose keys are their paths."""

    def __init__(self, path: str = "") -> None:
        self._path = path

    def __getattr__(self, key: str) -> _Keys:
        return _Keys(f"{self._path}.{key}" if self._path else key)

    __getitem__ = __getattr__


def key_path(key: Callable[[Report], object]) -> str:
    """The path of the key that a function reads, which type checkers know.

    >>> key_path(lambda report: report.host.read.iops)
    'host.read.iops'
    """
    found: Any = key(cast("Report", _Keys()))
    return str(found._path)


def read(text: str | bytes) -> Report:
    """The report that a JSON text holds."""
    return cast("Report", json.loads(text, object_pairs_hook=Table))

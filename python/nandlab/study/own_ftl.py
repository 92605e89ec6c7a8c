"""An FTL in Python as a study has it: in a file that workers read, or a class that they are sent.

What is sent goes by pickle, or by cloudpickle where that is installed, which also sends classes of
a notebook. It is unpacked where a point runs, so that an error there is one of the study.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from pathlib import Path
from typing import Any

from nandlab.ftl.bases import Ftl, PageHooks
from nandlab.ftl.given import GivenFtl, given_ftl, source_hash
from nandlab.ftl.source import ftl_in
from nandlab.given.refusal import plain, refusal

PATH = "ftl.name"
"""The path of an axis whose values may be FTLs in Python, beside members of the roster."""

HINT = "put it into a file, and give FILE.py:CLASS"
"""What helps where a class cannot be sent."""


class Unsent(Exception):
    """A class that cannot be sent to a worker, or that is another one there."""


class StudyFtl:
    """An FTL in Python, of a whole study or one value of an axis. It can be pickled."""

    name: str
    """Of its class."""

    def __init__(self, name: str, file: str, given: GivenFtl | None, sent: bytes = b"") -> None:
        """Of a file (``FILE.py`` or ``FILE.py:CLASS``), a class that is given, or one was sent."""
        self.name, self._file, self._given, self._sent = name, file, given, sent

    @classmethod
    def of(cls, place: str, given: object, folder: Path) -> StudyFtl:
        """Of a path (with ``:CLASS``), of a class, or of an object of one.

        Raises:
            NandlabError: it is no FTL; a file is run to see which it has.
        """
        if isinstance(given, str):
            file = str((folder / given).resolve())
            return cls(given_ftl(ftl_in(place, file)).name, file, None)
        own = given_ftl(given)
        return cls(own.name, "", own)

    def __repr__(self) -> str:
        return self._file or self.name

    def load(self) -> GivenFtl:
        """The FTL: of a file as it is now.

        Raises:
            NandlabError: the file or the class is refused.
            Unsent: the class is not here, or it is another one.
        """
        if self._file:
            return given_ftl(ftl_in("ftl", self._file))
        if self._given is None:
            try:
                self._given = _same(pickle.loads(self._sent))
            except Exception as error:
                raise Unsent(f"`{self.name}`: {_said(error)}") from None
        return self._given

    def __reduce__(self) -> tuple[Any, ...]:
        if not self._file and not self._sent:
            try:
                self._sent = _pickle().dumps(self._given)
            except Exception as error:
                raise Unsent(f"`{self.name}`: {_said(error)}") from None
        return StudyFtl, (self.name, self._file, None, self._sent)


def is_own(given: object) -> bool:
    """Whether a value of `PATH` is an FTL in Python, or meant as one: no name of the roster."""
    if isinstance(given, str):
        return given.endswith(".py") or ".py:" in given
    return isinstance(given, type | Ftl | PageHooks)


def check_sent(error: BaseException | None) -> None:
    """Refuses a study whose class does not reach its workers, where an error says so.

    Raises:
        NandlabError: so; executors may have wrapped the error.
    """
    while error is not None:
        if isinstance(error, Unsent):
            raise refusal("ftl", f"cannot be sent to the workers: {error}", hint=HINT) from None
        error = error.__cause__ or error.__context__


def _same(own: GivenFtl) -> GivenFtl:
    """Refuses a class of a module that has changed, or that a worker has kept, since it was given.

    Raises:
        ValueError: so.
    """
    kind = type(own.made)
    module = sys.modules.get(kind.__module__)
    is_imported = getattr(module, kind.__qualname__, None) is kind
    if is_imported and kind.__module__ != "__main__" and source_hash(kind) != own.facts["source"]:
        raise ValueError(f"module `{kind.__module__}` has another text on the worker")
    return own


def _pickle() -> Any:
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        return pickle


def _said(error: Exception) -> str:
    return plain(f"{type(error).__name__}: {error}")

"""An FTL in a Python file, as the command line names it: ``FILE.py`` or ``FILE.py:CLASS``."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path

from nandlab._core import NandlabError
from nandlab.ftl.bases import Ftl, PageHooks
from nandlab.given.refusal import refusal


def ftl_in(place: str, given: str) -> type[Ftl | PageHooks]:
    """The class that is named, or the only FTL of the file; the file is run for that.

    Raises:
        NandlabError: no such file or class; what the file raises is the cause.
    """
    name, _, chosen = given.rpartition(":") if ".py:" in given else (given, "", "")
    path = Path(name)
    if path.suffix != ".py" or not path.is_file():
        raise refusal(place, f"`{given}`", "a Python file, as my.py or my.py:MyFtl")
    loader = SourceFileLoader(path.stem, str(path))
    module = module_from_spec(ModuleSpec(path.stem, loader, origin=str(path)))
    module.__file__ = str(path)
    # Its neighbours can be imported, and the text of its classes is found.
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    try:
        # As it is now: a loader by itself would keep and use bytecode in a folder of the user.
        exec(loader.source_to_code(path.read_bytes(), path), vars(module))
    except Exception as error:
        raise refusal(place, f"`{name}`: {type(error).__name__}: {error}") from error
    found = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, Ftl | PageHooks)
        and value.__module__ == module.__name__
    }
    if chosen and chosen not in found:
        raise refusal(place, f"`{name}` has no FTL `{chosen}`", sorted(found), given=chosen)
    if not chosen and len(found) != 1:
        raise refusal(place, f"`{name}` has {len(found)} FTLs", f"one of them, as {name}:MyFtl")
    return found[chosen or next(iter(found))]


@contextmanager
def shown_causes() -> Iterator[None]:
    """Prints the traceback of what a user's own code has raised before the error ends a command."""
    try:
        yield
    except NandlabError as error:
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        raise

"""Summary of a trace: counts, bytes, times, footprint, locality."""

import json
from os import PathLike
from typing import Any

from nandlab import _core
from nandlab.given.arguments import named
from nandlab.given.names import names_checked
from nandlab.options.trace import TraceOptions
from nandlab.trace.options import native_options
from nandlab.trace.recording import readable


@names_checked
def trace_info(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    options: TraceOptions | None = None,
) -> dict[str, Any]:
    """Reads a trace once and says what it holds: counts, bytes, times, footprint, locality.

    Args:
        path: the trace; ``.gz`` and ``.zst`` are opened by themselves.
        format: a name of the format; left out, it is told from the first line where that is
            certain.
        options: how to read it. The policies for times and addresses do not apply here.

    Raises:
        NandlabError: a bad line (file, line, field, value, what is expected), or no such file.
    """
    path = named("trace", path, "a path")
    loaded: dict[str, Any] = json.loads(
        _core.trace_info(readable(path), native_options(format, options))
    )
    return loaded

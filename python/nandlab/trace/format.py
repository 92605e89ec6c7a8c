"""Format of a trace: told from its first line, or named, before anything that takes time."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.trace.options import native_options


def check_format(path: str, format: str | None, options: Mapping[str, Any] | None) -> None:
    """Refuses a trace that is not there, or whose format is unknown or not certain.

    Only the first line is read.

    Raises:
        NandlabError: so; names the formats that it may have.
    """
    asked = json.loads(native_options(format, options))
    # The engine refuses 0 passes right after it knows the format, and reads no further.
    probe = {**asked, "loops": 0} if Path(path).exists() else asked
    try:
        _core.trace_info(path, json.dumps(probe))
    except NandlabError as error:
        if probe == asked or not str(error).startswith("trace.loops:"):
            raise

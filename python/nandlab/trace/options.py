"""Options of a trace: from the form of users to the form of the engine."""

import json
from collections.abc import Mapping
from typing import Any

from nandlab.given.arguments import as_text, to_json
from nandlab.given.refusal import refusal
from nandlab.options.trace import TraceOptions


def native_options(format: str | None, options: Mapping[str, Any] | None) -> str:
    """Reader options as the JSON that the engine checks; keys that are None stay away.

    Raises:
        NandlabError: no mapping, or a number that is none.
    """
    chosen = given_options(options)
    if format is not None:
        chosen["format"] = as_text("format", format, "a format's name")
    return json.dumps(chosen)


def given_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options that were given: those that are None stay away.

    Raises:
        NandlabError: no mapping, or a value that is no JSON.
    """
    if options is not None and not isinstance(options, Mapping):
        raise refusal("trace options", f"{options!r}: not a mapping", TraceOptions.__annotations__)
    every: dict[str, Any] = json.loads(to_json("trace", dict(options or {})))
    return {key: value for key, value in every.items() if value is not None}

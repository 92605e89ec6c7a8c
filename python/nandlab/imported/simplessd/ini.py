"""Files with sections, as SimpleSSD reads them with inih: `[section]`, `key = value`, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from nandlab.given.inputs import input_text
from nandlab.given.refusal import plain, refusal
from nandlab.imported.given import Found

_COMMENT = re.compile(r"(^|\s)[;#].*$")


def read_ini(path: str | PathLike[str], expected: str) -> Iterator[Found]:
    """The keys of a file, each with its section: `pal.Channel`.

    Raises:
        NandlabError: it cannot be read, or a line is neither a section, a key nor a comment.
    """
    name, section = Path(path).name, ""
    text = input_text(path, expected)
    for number, line in enumerate(text.split("\n"), 1):
        told = _COMMENT.sub("", line).strip()
        if not told:
            continue
        if header := re.fullmatch(r"\[\s*([^\]]*?)\s*\]", told):
            section = header[1]
            continue
        key, is_key, value = told.partition("=")
        if not is_key:
            hint = ""
            if told.startswith("<"):
                hint = "the XML files of SimpleSSD 2.1 are not read; those of 2.0 are"
            raise refusal(
                f"{name}:{number}",
                f"`{plain(told)}`",
                "[section], key = value or a comment",
                hint=hint,
            )
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        where = f"{section}.{key.strip()}" if section else key.strip()
        yield Found(where, value, name, number)

"""`docs/formats/requests.md`: columns of the time series that are counts of the FTL."""

from __future__ import annotations

import re

import nandlab
from derived import ROOT
from derived.markdown import code, table
from derived.report import meaning
from nandlab.explained.report import properties, report_schema, target

PAGE = "docs/formats/requests.md"


def series_page() -> str:
    """The page, with the table made anew: the columns of a run that have the name of a key."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    columns = nandlab.run("tiny", "[a]\nrw=write\nnumber_ios=1\n").series().column_names
    described = re.sub(r"<!-- counts: python.*<!-- counts: end", "", text, flags=re.S)
    rows = [
        [code(path.replace(".", "_")), said]
        for path, said in _counts()
        if path.replace(".", "_") in columns and code(path.replace(".", "_")) not in described
    ]
    begin, end = (f"<!-- counts: {what} -->\n" for what in ("python tools/regen.py series", "end"))
    made = "\n".join([begin, *table(["count of `ftl`", "meaning"], rows)]) + end
    return re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: made, text, flags=re.S)


def _counts() -> list[tuple[str, str]]:
    """Keys of the report's `ftl`, with those one table below."""
    found = []
    for key, value in properties(target(properties(report_schema())["ftl"])).items():
        below = properties(target(value))
        found += [(f"{key}.{name}", meaning(inner)) for name, inner in below.items()]
        found += [] if below else [(key, meaning(value))]
    return found

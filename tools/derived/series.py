"""`docs/formats/requests.md`: columns of the time series that are counts of the report."""

from __future__ import annotations

import re

import nandlab
from derived import ROOT
from derived.markdown import code, table
from nandlab.explained.report import report_key, report_paths

PAGE = "docs/formats/requests.md"


def series_page() -> str:
    """The page, with the table made anew: the columns of a run that have the name of a key."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    columns = nandlab.run("tiny", "[a]\nrw=write\nnumber_ios=1\n").series().column_names
    paths = {path.removeprefix("ftl.").replace(".", "_"): path for path in report_paths()}
    rows = [
        [code(name), code(paths[name]), key.meaning]
        for name in paths
        if name in columns and name != "write_amplification"
        if (key := report_key(paths[name])) is not None
    ]
    begin, end = (f"<!-- counts: {what} -->\n" for what in ("python tools/regen.py series", "end"))
    made = "\n".join([begin, *table(["column", "key of the report", "meaning"], rows)]) + end
    return re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: made, text, flags=re.S)

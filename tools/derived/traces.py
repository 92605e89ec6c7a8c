"""`docs/formats/traces.md`: its table of options, from their declaration."""

import re

from derived import ROOT
from derived.markdown import code, table
from derived.signatures import meaning
from nandlab.options.option import Declared, options_of
from nandlab.options.run import WorkloadOptions
from nandlab.options.trace import FormatOptions, ReaderOptions, TraceOptions

PAGE = "docs/formats/traces.md"


def traces_page() -> str:
    """The page, with the table made anew."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    of_summary = {one.name for of in (FormatOptions, ReaderOptions) for one in options_of(of)}
    declared = [one for of in (FormatOptions, TraceOptions) for one in options_of(of)]
    declared += [one for one in options_of(WorkloadOptions) if one.name == "iodepth"]
    lines = table(["option", "default", "meaning"], [row(one, of_summary) for one in declared])
    begin, end = (f"<!-- options: {what} -->\n" for what in ("python tools/regen.py traces", "end"))
    made = "\n".join([begin, *lines]) + end
    return re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: made, text, flags=re.S)


def row(one: Declared, of_summary: set[str]) -> list[str]:
    """An option; a star marks those of `nandlab trace info`."""
    star = " *" if one.name in of_summary else ""
    return [code(one.name) + star, one.option.unset, meaning(one).replace("``", "`")]

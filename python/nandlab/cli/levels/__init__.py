"""Commands on the levels of a chip: `tvr`, `content`.

In come a chip, what data must survive, or the data; out come tables and chip files.
"""

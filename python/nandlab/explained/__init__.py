"""Words explained: keys of a drive file, members of families, keys of the report, presets.

In comes a word; out come its meanings, as facts to print.
"""

"""Options of run, serve, life, design and traces: each declared once, with type, default and text.

In comes the field of a typed dictionary with its `Option`. Out come the option of a command
(`cli/options.py`), the argument of a function with its line in the docstring, the key of a
``[run]`` table, the axis of a study, and the row of a table in docs/: `python tools/regen.py
signatures` writes what of these is text.
"""

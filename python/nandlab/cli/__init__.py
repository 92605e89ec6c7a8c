"""The command line: one file for each command or group of commands, joined in `commands`.

In come arguments of a shell; out come a table, files and an exit code.
"""

from nandlab.cli.commands import app, main

__all__ = ["app", "main"]

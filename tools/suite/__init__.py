"""Suite of checks behind `./lab test` and `./lab check`: steps, their seconds, slowest tests.

In comes which of the two was asked for; out come what the steps print, a table of their seconds,
and an exit code. `steps` runs and times them, `rust` builds and runs the Rust tests, `changes`
tells what the working tree has changed.
"""

"""Fuzzing: random and damaged inputs for every command, and the laws that each answer must keep.

In come a seed and a number of cases or minutes; out come counts and a folder for each failure.

- `inputs/`: what is drawn; `inputs/kinds.py` is the roster of cases.
- `case`: a case, its files and its steps; `running`, `child`: it is run, in processes with limits.
- `laws/`: the laws of a command, a file, a report, a table.
- `campaign`: all cases, on all cores; `keeper`: the folder of a failure.

`./lab fuzz` runs it, and `tests/fuzz/` a minute of it.
"""

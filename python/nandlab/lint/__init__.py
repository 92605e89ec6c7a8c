"""The assumption linter: what files assume about flash that misleads, as named checks.

In come drive files, job files, studies and reports; out come findings with a place, what is
assumed and what to set instead, and pairs of runs that show the difference. A check is one object
in a file by its theme (`flash`, `controller`, `writes`, `measurement`); `roster` lists them.
"""

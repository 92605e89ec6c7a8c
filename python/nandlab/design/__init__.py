"""Design of a drive: the cheapest of a space that keeps to a target.

In comes a target (limits, prices, a study's tables); out comes an answer with the cheapest drive,
its margins and the drives that miss. `target` holds the input, `price` the cost of a drive, `space`
the drives with what closed forms say of them (`bounds`, `amplification`, `workload`), `race` the
verdicts with their `confidence`, `life` the simulated lives, `designing` the walk, `tail` what
bears on its slowest requests, `assumed` what the linter finds, `answer` the result, which `page`
tells and `plot` draws.
"""

"""Design of a drive: the cheapest of a space that keeps to a target.

In comes a target (limits, prices, a study's tables); out comes an answer with the cheapest drive,
its margins and the drives that miss. `target` holds the input, `price` the cost of a drive, `race`
the verdicts, `life` the simulated lives, `designing` the walk, `tail`
what bears on its slowest requests, `answer` the result.
"""

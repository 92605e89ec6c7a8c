"""The run of a drive: its plan, its steps, its result, and the tables, files and pictures of it.

In come a drive and a workload (`simulate.run`); out comes a `result.Result`.
"""

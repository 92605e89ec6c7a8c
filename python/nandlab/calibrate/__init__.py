"""Calibration: keys of a drive fitted to measured rows, by running the simulator.

In come a drive, measurements (CSV, or fio's JSON) and ranges of keys; out come fitted numbers with
intervals, residuals of fitted and of held-out rows, and a drive file that marks what was fitted.
`measured`, `fio_json` and `row` read measurements; `knob` holds the keys; `points` runs the
simulator; `descent` fits; `evidence` says what the fit knows; `result` is what comes out.
"""

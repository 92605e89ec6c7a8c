"""Studies: one drive model at many points, their rows, tables and pictures.

In comes a study (axes, constraints, columns); out come rows in a folder, one for each point.
A point is identified by all that affects it, so that a study goes on where it stopped. `definition`
holds the study, `points` and `task` its points; `work` runs one, `sweep` all; `rows` keeps them.
"""

"""Findings of a study: tables, means with intervals, Pareto fronts, sensitivities, pictures.

In come the rows of points; out come Arrow tables, rankings and figures.
"""

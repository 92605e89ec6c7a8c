"""Reports side by side: what differs in them, ratios with intervals, overlaid pictures.

In come reports of runs; out come a table of ratios to the first ones, and figures.
"""

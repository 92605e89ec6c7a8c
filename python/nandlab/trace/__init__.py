"""Traces: options of reading, their format, and a summary with its table.

In comes the path of a trace; out come facts about it.
"""

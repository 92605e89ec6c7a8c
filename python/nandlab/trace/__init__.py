"""Traces: the options by which one is read, what one holds, and that as a table.

In comes the path of a trace; out come facts about it.
"""

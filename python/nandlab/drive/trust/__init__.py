"""Trust in a report: its doubts, and which of its figures exist.

In come reports; out come names of doubts, and values with what stands behind them.
"""

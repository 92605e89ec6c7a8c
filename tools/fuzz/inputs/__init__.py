"""Inputs: what a case may draw, one file for each kind of input.

In come dice; out come texts, tables, command lines and, from `kinds`, whole cases.
"""

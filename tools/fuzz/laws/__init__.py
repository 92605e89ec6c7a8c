"""Laws: what must hold of every answer, whatever the question.

In comes what a command has printed and written; out comes a line for each law that is broken.
"""

"""Display: the terminal, progress, notebooks, numbers with units, the style of pictures.

In come values and figures; out come text and pictures.
"""

"""Laws fitted to measurements of a real chip.

In come a table of measurements and the name of a law; out come parameters with intervals, a picture
and a chip file.
"""

from nandlab.fit.fitting import EVERY_LAW, Confidence, Fit, Parameter, fit

__all__ = ["EVERY_LAW", "Confidence", "Fit", "Parameter", "fit"]

"""Drives of other simulators: their configuration files become a drive file and its runs.

In come files of MQSim, SimpleSSD or FEMU; out come the texts of files that `nandlab run` takes,
with the name that each number had, and a list of what has no counterpart.
"""

from nandlab.imported.importing import import_drive
from nandlab.imported.result import Imported, Moved, Unmatched

__all__ = ["Imported", "Moved", "Unmatched", "import_drive"]

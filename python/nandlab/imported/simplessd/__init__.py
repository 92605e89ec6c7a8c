"""Files of SimpleSSD 2.0: the configuration of the SSD, and that of SimpleSSD-Standalone.

In come .cfg files with sections; out come a drive file and, with those of Standalone, a job or a
trace.
"""

from nandlab.imported.simplessd.drive import import_simplessd
from nandlab.imported.simplessd.keys import ROSTER

__all__ = ["ROSTER", "import_simplessd"]

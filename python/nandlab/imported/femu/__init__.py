"""Parameters of FEMU: the options of its device in a script that starts QEMU.

In comes a script such as run-blackbox.sh; out comes a drive file. The guest has the workload.
"""

from nandlab.imported.femu.drive import import_femu
from nandlab.imported.femu.keys import ROSTER

__all__ = ["ROSTER", "import_femu"]

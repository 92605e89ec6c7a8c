"""Files of MQSim: the configuration of its drive, and scenarios of workloads.

In come two XML files; out come a drive file, and for each scenario jobs or a trace.
"""

from nandlab.imported.mqsim.drive import import_mqsim
from nandlab.imported.mqsim.keys import ROSTERS

__all__ = ["ROSTERS", "import_mqsim"]

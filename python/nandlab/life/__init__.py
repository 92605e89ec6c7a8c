"""A life of a drive under a workload: what it writes until it ends, and its figures by age.

In come a drive, a workload and an end; out come windows along the life. `whole` asks the engine for
it, `living` advances it, `limit` says how many cycles its code bears, `pace` how fast calendar time
goes, `result` has the windows, `replicates` the intervals over several lives.
"""

from nandlab.life.result import Life, Window
from nandlab.life.whole import LifeUnfinished, life

__all__ = ["Life", "LifeUnfinished", "Window", "life"]

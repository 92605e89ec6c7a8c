"""The report of a run as tables whose keys are attributes: ``report.host.latency_us.p99``.

The engine's JSON comes in, a `Report` goes out. `tables.pyi` lists the keys of every table, with
their types and meanings; it is generated from the structs of the engine.
"""

from nandlab.report.tables import Report
from nandlab.report.view import Table, key_path, read

__all__ = ["Report", "Table", "key_path", "read"]

"""Faults that are made on purpose while a trial measures, and what each did; no I/O.

What a campaign asks for is a `Fault`. The table of all kinds is `FaultKind`; what a kind is, `procedure` says.
"""

from tidegauge.model.faults.extent import BOTH, CLIENTS, EVERYBODY, INTO, OUT_OF, PEERS, SERVERS, WAYS, FaultExtent
from tidegauge.model.faults.fault import ALL, LEADER, RANDOM, TARGETS, Fault
from tidegauge.model.faults.kinds import FaultKind
from tidegauge.model.faults.result import FaultResult

__all__ = [
    "ALL",
    "BOTH",
    "CLIENTS",
    "EVERYBODY",
    "INTO",
    "LEADER",
    "OUT_OF",
    "PEERS",
    "RANDOM",
    "SERVERS",
    "TARGETS",
    "WAYS",
    "Fault",
    "FaultExtent",
    "FaultKind",
    "FaultResult",
]

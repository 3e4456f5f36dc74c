"""Faults and what they did to a trial."""

from __future__ import annotations

from dataclasses import replace

from run_samples import result, spec

from tidegauge.model.faults import Fault, FaultKind, FaultResult
from tidegauge.model.trial import LoadResult

PAUSE = Fault(FaultKind.PAUSE, 2.0, "leader", 1.5)
KILL = Fault(FaultKind.KILL, 6.0, "random", 2.0)
PAUSED = FaultResult(PAUSE, (2,), 2.01, 3.52, 1.0, 2.0, 4.2, 1530.0, 3.98, 0, 5, 1, 0, 0)


def faulted(system: str, number: int, *found: FaultResult) -> LoadResult:
    trial = replace(spec(system, "latency", number, 0), faults=tuple(fault.fault for fault in found))
    return replace(result(trial, 1.0), faults=found)

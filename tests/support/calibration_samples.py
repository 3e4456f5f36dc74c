"""What load generators were found to make, and trials that ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from run_samples import spec

from tidegauge.campaign.run.ceilings import run_calibrations
from tidegauge.model.ceilings import Calibration, Pace
from tidegauge.model.events import Event, Note
from tidegauge.model.trial import LoadSpec
from tidegauge.model.workload import Payload, Workload
from tidegauge.worker.calibration import CalibrationSubject

KIB = 1024
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
HERE = CalibrationSubject("boot/2", "java 25 and jars", 2)


def calibration(**changes: Any) -> Calibration:
    """Of a host with 2 CPUs, of which one load generator uses 1.6."""
    made = Calibration(NOW.isoformat(), HERE.machine, HERE.code, KIB, Pace(1, 600_000.0, 1.6), None, HERE.cpus)
    return replace(made, **changes)


def trial(rate: float | None, message_bytes: int = KIB, **workload: Any) -> LoadSpec:
    workload = {"payload": Payload(message_bytes), **workload}
    return replace(spec(), trial_id="0001-latency-kafka", msgs_per_s=rate, workload=Workload(**workload))


class Case:
    """A run's calibrations; what was measured, and what the user was shown."""

    def __init__(self) -> None:
        self.measured: list[list[int]] = []
        self.events: list[Event] = []
        self.fails: Exception | None = None

    def measure(self, _host: object, sizes: Sequence[int], load_average: float) -> list[Calibration]:
        self.measured.append(list(sizes))
        if self.fails is not None:
            raise self.fails
        now = datetime.now(UTC).isoformat()
        return [calibration(measured_at=now, message_bytes=size, load_average=load_average) for size in sizes]

    def known(self, *trials: LoadSpec) -> tuple[Calibration, ...]:
        host: Any = None
        return run_calibrations(trials, 1, host, self.events.append, 0.2)

    @property
    def notes(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Note)]

"""A short calibration: how many messages a second one load generator of this host makes and checks.

One worker carries out closed loops on the null system: first with one producer and one consumer, then, where the host
has the CPUs, with as many of each as half of them. Its code is compiled while the first of them warms up. What is found
is kept from one command to the next, so that a calibration of a host and message size serves for many runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from tidegauge.agent.api import Host
from tidegauge.distribution.java import find_java
from tidegauge.errors import RunFailedError, UserError
from tidegauge.hosts.ceilings_measure import machine_id
from tidegauge.hosts.kept import is_fresh, read_kept_of, write_kept
from tidegauge.hosts.memory import this_machine
from tidegauge.model.ceilings import Calibration, Pace
from tidegauge.model.load import TotalFigures
from tidegauge.model.workload import Arrival, Payload, Workload
from tidegauge.worker.api import LoadOrder, LoadWorker
from tidegauge.worker.archive import JAVA_MAJOR_MIN, code_key, worker_class_path
from tidegauge.worker.brief_worker import open_brief_worker

DRIVER = "null"
"""Of the null system, which the worker carries itself."""
_NAME = "calibrations"


@dataclass(frozen=True)
class CalibrationSubject:
    """What a calibration is of, apart from the message size: with another machine or other code it is another one."""

    machine: str
    code: str
    cpus: int


def calibration_subject() -> CalibrationSubject:
    """This machine with the Java and the jars that workers start with now. Raises `UserError` if it has none."""
    java = find_java("The load generator", JAVA_MAJOR_MIN)
    return CalibrationSubject(machine_id(), code_key(java, worker_class_path(DRIVER)), this_machine().cpus)


def keep_calibrations(calibrations: Sequence[Calibration]) -> None:
    """Add to what is kept, the newest first. Raises `OSError`."""
    sizes = {calibration.message_bytes for calibration in calibrations}
    earlier = [calibration for calibration in read_kept() if calibration.message_bytes not in sizes]
    write_kept(_NAME, [*calibrations, *earlier])


def read_kept() -> list[Calibration]:
    """Everything kept, the newest first; nothing if the file is damaged or of another schema."""
    return read_kept_of(_NAME, Calibration)


def fresh_calibrations(
    kept: Sequence[Calibration], subject: CalibrationSubject, sizes: Collection[int], now: datetime, load_average: float
) -> list[Calibration]:
    """The kept calibrations of these message sizes that hold for a subject now. Pure.

    Doubtful ones count only while the machine is as busy as it was then (`load_average`: now): measuring again would
    show no more.
    """
    return [
        calibration
        for calibration in kept
        if calibration.message_bytes in sizes
        and CalibrationSubject(calibration.machine, calibration.code, calibration.cpus) == subject
        and is_fresh(calibration.measured_at, now)
        and (not calibration.doubtful or calibration.load_average <= load_average)
    ]


def known_calibrations(sizes: Collection[int]) -> list[Calibration]:
    """What is kept of these message sizes and holds here now; nothing is measured. Never raises for what is missing."""
    try:
        kept = read_kept() if sizes else []
        return (
            fresh_calibrations(kept, calibration_subject(), sizes, datetime.now(UTC), os.getloadavg()[0])
            if kept
            else []
        )
    except (OSError, UserError):
        return []


WARM_UP_S = 4.0
"""By then its compiler took 0.03 of a CPU, and 0.4 in the first second (1 KiB, on a machine busy with other work)."""
NEXT_WARM_UP_S = 1.0
MEASURED_S = 2.0
_START_S = 1.5
_LEAD_S = 0.2
_DRAIN_S_MAX = 10.0
_CLIENTS_MAX = 16
_HEAP_MB = 512
_BACKLOG_BYTES_MAX = 4 << 20
"""Of each producer's messages that wait for their consumer: a closed loop then goes as fast as both of them do."""


def seconds_expected(sizes: int, subject: CalibrationSubject) -> float:
    """How long a calibration with so many message sizes takes about."""
    steps = sizes * len(_client_counts(subject))
    return _START_S + (WARM_UP_S - NEXT_WARM_UP_S) + steps * (NEXT_WARM_UP_S + MEASURED_S + 2 * _LEAD_S)


def calibrate(
    host: Host, sizes: Sequence[int], load_average: float, measured_s: float = MEASURED_S
) -> list[Calibration]:
    """Measure with messages of each of these sizes (bytes). `load_average`: before anything else was measured.

    Raises `UserError` if there is no Java or no worker, `RunFailedError` if it fails or messages are missing.
    """
    from tidegauge.worker.launch import WorkerOptions, start_worker  # Plans need not wait for gRPC.

    this_subject, measured_at = calibration_subject(), datetime.now(UTC).isoformat()
    with open_brief_worker(host, DRIVER, partial(start_worker, options=WorkerOptions(_HEAP_MB))) as worker:
        calibrations = []
        warm_up_s = WARM_UP_S
        for message_bytes in sizes:
            paces = []
            for clients in _client_counts(this_subject):
                paces.append(_measure_pace(worker, clients, message_bytes, (warm_up_s, measured_s)))
                warm_up_s = NEXT_WARM_UP_S
            many = paces[1] if len(paces) > 1 else None
            calibrations.append(
                Calibration(
                    measured_at,
                    this_subject.machine,
                    this_subject.code,
                    message_bytes,
                    paces[0],
                    many,
                    this_subject.cpus,
                    load_average,
                )
            )
    return calibrations


def _client_counts(subject: CalibrationSubject) -> list[int]:
    """The numbers of producers, and of consumers, that are tried one after the other."""
    return sorted({1, max(1, min(_CLIENTS_MAX, subject.cpus // 2))})


def _measure_pace(worker: LoadWorker, clients: int, message_bytes: int, length_s: tuple[float, float]) -> Pace:
    """Measure one closed loop. `length_s`: of its warm-up, and of what is measured. Raises `RunFailedError`."""
    worker.prepare(_closed_loop_order(clients, message_bytes))
    from_ns = worker.start(_LEAD_S) + round(length_s[0] * 1e9)
    until_ns = from_ns + round(length_s[1] * 1e9)
    worker.set_window(from_ns, until_ns)
    time.sleep(max(0.0, (until_ns - time.monotonic_ns()) / 1e9 + _LEAD_S))
    worker.stop_producers(_DRAIN_S_MAX)
    totals = _totals_once_drained(worker)
    worker.finish(delete_topics=True)
    _check_totals(totals)
    window, measured_ns = totals.window, until_ns - from_ns
    return Pace(
        clients=clients,
        msgs_per_s=window.acked_within / measured_ns * 1e9,
        cpus=window.worker_cpu_ns / measured_ns,
        cpu_wait_share=window.cpu_wait_ns / measured_ns / clients,
    )


def _closed_loop_order(clients: int, message_bytes: int) -> LoadOrder:
    """The order for as many independent topics as clients, each with a producer and a consumer."""
    workload = Workload(topics=clients, payload=Payload(message_bytes), arrival=Arrival.CLOSED_LOOP)
    return LoadOrder(
        connection={"backlog_bytes_max": str(_BACKLOG_BYTES_MAX)},
        driver=DRIVER,
        system=DRIVER,
        topic_names=tuple(f"calibration-{number}" for number in range(clients)),
        replication_factor=1,
        topic_settings={},
        acks="one",
        workload=workload,
        msgs_per_s=0.0,
        trial_number=1,
        seed=1,
        own_lag_tolerance_ms=5.0,
    )


def _totals_once_drained(worker: LoadWorker) -> TotalFigures:
    """The totals once everything was received, or there is no more hope of it."""
    deadline_s = time.monotonic() + _DRAIN_S_MAX
    while True:
        totals = worker.totals()
        if time.monotonic() > deadline_s or not any(sub.backlog for sub in totals.subscriptions):
            return totals
        time.sleep(_LEAD_S / 4)


def _check_totals(totals: TotalFigures) -> None:
    """Raise `RunFailedError` unless every message arrived once: a rate at which some are missing is none."""
    wrong = totals.sent - totals.acked
    wrong += sum(sub.lost + sub.duplicated + sub.corrupt for sub in totals.subscriptions)
    if wrong or not totals.window.acked_within:
        raise RunFailedError(
            f"{wrong:,} of {totals.sent:,} messages to the null system are not accounted for.",
            "The machine may be starved of CPU.",
        )

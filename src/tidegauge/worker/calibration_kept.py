"""Calibrations kept from one command to the next, so that one of a host and message size serves for many runs."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tidegauge.distribution.java import find_java
from tidegauge.errors import UserError
from tidegauge.hosts.ceilings import Calibration
from tidegauge.hosts.ceilings_measure import machine_id
from tidegauge.hosts.kept import is_fresh, read_kept_of, write_kept
from tidegauge.hosts.memory import machine
from tidegauge.worker.archive import JAVA_MAJOR_MIN, code_key, worker_class_path

DRIVER = "null"
"""Of the null system, which the worker carries itself."""
_NAME = "calibrations"


@dataclass(frozen=True)
class Subject:
    """What a calibration is of, apart from the message size: with another machine or other code it is another one."""

    machine: str
    code: str
    cpus: int


def subject() -> Subject:
    """This machine with the Java and the jars that workers start with now. Raises `UserError` if it has none."""
    java = find_java("The load generator", JAVA_MAJOR_MIN)
    return Subject(machine_id(), code_key(java, worker_class_path(DRIVER)), machine().cpus)


def keep(found: Sequence[Calibration]) -> None:
    """Add to what is kept, the newest first. Raises `OSError`."""
    sizes = {calibration.message_bytes for calibration in found}
    earlier = [calibration for calibration in read_kept() if calibration.message_bytes not in sizes]
    write_kept(_NAME, [*found, *earlier])


def read_kept() -> list[Calibration]:
    """Everything kept, the newest first; nothing if the file is damaged or of another schema."""
    return read_kept_of(_NAME, Calibration)


def fresh(
    kept: Sequence[Calibration], of: Subject, sizes: Collection[int], now: datetime, load_average: float
) -> list[Calibration]:
    """Those of these message sizes that hold for `of` now. Pure.

    Doubtful ones count only while the machine is as busy as it was then (`load_average`: now): measuring again would
    show no more.
    """
    return [
        calibration
        for calibration in kept
        if calibration.message_bytes in sizes
        and Subject(calibration.machine, calibration.code, calibration.cpus) == of
        and is_fresh(calibration.measured_at, now)
        and (not calibration.doubtful or calibration.load_average <= load_average)
    ]


def known(sizes: Collection[int]) -> list[Calibration]:
    """What is kept of these message sizes and holds here now; nothing is measured. Never raises for what is missing."""
    try:
        kept = read_kept() if sizes else []
        return fresh(kept, subject(), sizes, datetime.now(UTC), os.getloadavg()[0]) if kept else []
    except (OSError, UserError):
        return []

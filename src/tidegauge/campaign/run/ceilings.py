"""What the machine and a load generator on it can do at most, known before a run's first trial.

Measured now, or taken from shortly before; load generators only where the plan may ask for too much of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.generators import sizes_to_know, sizing_warnings
from tidegauge.errors import RunFailedError, TidegaugeError, UserError
from tidegauge.experiments.attest import NAME as ATTEST
from tidegauge.fleet.api import Host
from tidegauge.hosts.ceilings import Calibration, Ceilings, DiskCeiling, RunCeilings, size_class
from tidegauge.hosts.ceilings_measure import BRIEF, machine_id, measure, place_for
from tidegauge.hosts.kept import fresh_ceilings, keep_ceilings, kept_ceilings, seconds_since
from tidegauge.model.events import Note, Observer, PhaseStarted
from tidegauge.model.trial import TrialSpec
from tidegauge.model.use import of_host
from tidegauge.worker.calibration import (
    calibrate,
    keep_calibrations,
    known_calibrations,
    seconds_expected,
    subject,
)

SWITCH = "TIDEGAUGE_CEILINGS"
"""Environment variable: "off" = runs don't measure the machine (many short runs in a script)."""


def run_ceilings(
    campaign: Campaign, data: Sequence[Path], journals: Sequence[Path], host: Host, observer: Observer
) -> RunCeilings | None:
    """Those of this machine and the disks of a run; None if no result of it is compared with them, or it can't be done.

    Never raises but for interruptions: results are worth having without.

    Args:
        data, journals: the directories that nodes take by turns; they need not exist yet.
        host: removes what was written if we are killed.
    """
    if not _wanted(campaign):
        return None
    try:
        return ceilings_here(data, journals, host, lambda devices: observer(_begins(devices)))
    except UserError as error:
        observer(Note(f"What the machine can do at most is not known: {error.message}"))
        return None
    except OSError as error:
        observer(Note(f"What the machine can do at most could not be measured ({error.strerror or error})."))
    return None


def _begins(devices: int, where: str = "what disk and loopback can do at most") -> PhaseStarted:
    return PhaseStarted("", "ceilings", where, BRIEF.seconds(devices))


def ceilings_here(
    data: Sequence[Path],
    journals: Sequence[Path],
    host: Host,
    begins: Callable[[int], None] = lambda _devices: None,
) -> RunCeilings:
    """Measured, or taken from shortly before. `begins`: told how many disks are measured. Else see `run_ceilings`.

    Raises `UserError`, `OSError`.
    """
    data_devices, journal_devices = (tuple(place_for(place)[1] for place in places) for places in (data, journals))
    devices = list(dict.fromkeys((*data_devices, *journal_devices)))
    now = datetime.now(UTC)
    known = fresh_ceilings(kept_ceilings(), machine_id(), devices, now, os.getloadavg()[0])
    if known is None:
        begins(len(devices))
    ceilings = known or _measured([*data, *journals], host)
    return RunCeilings(
        ceilings=ceilings,
        age_s=seconds_since(known.measured_at, now) if known else 0.0,
        reused=known is not None,
        data_devices=data_devices,
        journal_devices=journal_devices,
    )


def fleet_ceilings(
    campaign: Campaign,
    on_hosts: Callable[[], Mapping[str, RunCeilings]],
    observer: Observer,
) -> RunCeilings | None:
    """Those of the disks of a fleet's hosts of servers, by address, in the order of the nodes. See `run_ceilings`."""
    if not _wanted(campaign):
        return None
    observer(_begins(1, "what the disks of the hosts can do at most, all at once"))
    try:
        found = on_hosts()
    except (UserError, RunFailedError) as error:
        observer(Note(f"What the disks of the hosts can do at most is not known: {error.message}"))
        return None
    first = next(iter(found.values()))
    return RunCeilings(
        ceilings=replace(
            first.ceilings,
            disks=tuple(_of_host(address, disk) for address, of in found.items() for disk in of.ceilings.disks),
            loopback=None,
            memory=None,
            load_average=max(of.ceilings.load_average for of in found.values()),
        ),
        age_s=max(of.age_s for of in found.values()),
        reused=any(of.reused for of in found.values()),
        data_devices=tuple(of_host(address, device) for address, of in found.items() for device in of.data_devices),
        journal_devices=tuple(
            of_host(address, device) for address, of in found.items() for device in of.journal_devices
        ),
    )


def _of_host(address: str, disk: DiskCeiling) -> DiskCeiling:
    """As what was used of it is named (`fleet.remote.ManyHosts.samples`)."""
    return replace(disk, device=of_host(address, disk.device), name=f"{disk.name} of {address}")


def _wanted(campaign: Campaign) -> bool:
    """Not where others run all servers, nor for attestations: these measure no throughput."""
    starts_any = any(system.attach is None for _, system in campaign.choices)
    chosen = [choice.name for point in campaign.each for choice in point.campaign.experiments]
    of_use = starts_any and any(name != ATTEST for name in chosen)
    return of_use and os.environ.get(SWITCH, "").lower() != "off"


def _measured(disks: Sequence[Path], host: Host) -> Ceilings:
    """Measure briefly, and keep it for the next run. Raises `UserError`, `OSError`."""
    ceilings = measure(disks, BRIEF, host.track_directory, lambda _what, _left_s: None)
    with contextlib.suppress(OSError):
        keep_ceilings(ceilings)
    return ceilings


def run_calibrations(
    trials: Sequence[TrialSpec], workers: int, host: Host, observer: Observer, load_average: float
) -> tuple[Calibration, ...]:
    """Those of the plan's message sizes: what is kept, and what fixed rates ask for and is not, measured now.

    Says what it is, and where it is too little for so many load generators. Never raises but for interruptions.
    """
    kept = known_calibrations({size_class(trial.workload.payload.message_bytes) for trial in trials})
    wanted = sizes_to_know(trials, workers)
    missing = sorted({*wanted} - {calibration.message_bytes for calibration in kept})
    off = os.environ.get(SWITCH, "").lower() == "off"
    found = (*kept, *([] if off or not missing else _calibrated(missing, host, observer, load_average)))
    for calibration in found:
        if calibration.message_bytes in wanted:
            why = "it lacked CPU" if calibration.starved else "other work ran"
            doubt = f": DOUBTFUL, {why} when that was measured" if calibration.doubtful else ""
            observer(Note(f"On this host {calibration.sentence()}{doubt}."))
    for warning in sizing_warnings(trials, workers, found):
        observer(Note(warning))
    return found


def _calibrated(sizes: Sequence[int], host: Host, observer: Observer, load_average: float) -> list[Calibration]:
    """Measure, and keep it for the next run. Nothing, and a note of why, if that fails."""
    try:
        expected_s = seconds_expected(len(sizes), subject())
        observer(PhaseStarted("", "calibrate", "what one load generator can make and check", expected_s))
        found = calibrate(host, sizes, load_average)
    except (TidegaugeError, OSError) as error:
        why = error.message if isinstance(error, TidegaugeError) else f"{error.strerror or error}."
        observer(Note(f"What one load generator can make and check is not known: {why}"))
        return []
    with contextlib.suppress(OSError):
        keep_calibrations(found)
    return found

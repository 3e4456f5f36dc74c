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

from tidegauge.agent.api import Host
from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.generators import sizes_to_know, sizing_warnings
from tidegauge.errors import RunFailedError, TidegaugeError, UserError
from tidegauge.experiments.attest import NAME as ATTEST
from tidegauge.hosts.ceilings_measure import BRIEF, machine_id, measure_ceilings, place_for
from tidegauge.hosts.kept import fresh_ceilings, keep_ceilings, kept_ceilings, seconds_since
from tidegauge.model.ceilings import Calibration, RunCeilings, size_class
from tidegauge.model.events import Note, Observer, PhaseStarted
from tidegauge.model.trial import TrialSpec
from tidegauge.model.use import of_host
from tidegauge.worker.calibration import (
    calibrate,
    calibration_subject,
    keep_calibrations,
    known_calibrations,
    seconds_expected,
)

SWITCH = "TIDEGAUGE_CEILINGS"
"""Environment variable: "off" = runs don't measure the machine (many short runs in a script)."""


def run_ceilings(
    campaign: Campaign, data: Sequence[Path], journals: Sequence[Path], host: Host, observer: Observer
) -> RunCeilings | None:
    """The ceilings of this machine and a run's disks; None if no result is compared with them, or they are not known.

    Never raises but for interruptions: results are worth having without.

    Args:
        data, journals: the directories that nodes take by turns; they need not exist yet.
        host: removes what was written if we are killed.
    """
    if not _has_use_for_ceilings(campaign):
        return None
    try:
        return ceilings_here(data, journals, host, lambda devices: observer(_ceilings_phase(devices)))
    except UserError as error:
        observer(Note(f"What the machine can do at most is not known: {error.message}"))
        return None
    except OSError as error:
        observer(Note(f"What the machine can do at most could not be measured ({error.strerror or error})."))
    return None


def _ceilings_phase(devices: int, where: str = "what disk and loopback can do at most") -> PhaseStarted:
    return PhaseStarted("", "ceilings", where, BRIEF.seconds(devices))


def ceilings_here(
    data: Sequence[Path],
    journals: Sequence[Path],
    host: Host,
    begins: Callable[[int], None] = lambda _devices: None,
) -> RunCeilings:
    """This host's ceilings, measured or from shortly before. `begins` is told how many disks are measured.

    Else see `run_ceilings`.

    Raises `UserError`, `OSError`.
    """
    data_devices, journal_devices = (tuple(place_for(place)[1] for place in places) for places in (data, journals))
    devices = list(dict.fromkeys((*data_devices, *journal_devices)))
    now = datetime.now(UTC)
    recent_ceilings = fresh_ceilings(kept_ceilings(), machine_id(), devices, now, os.getloadavg()[0])
    ceilings = recent_ceilings
    if ceilings is None:
        begins(len(devices))
        ceilings = measure_ceilings([*data, *journals], BRIEF, host.track_directory, lambda _what, _left_s: None)
        with contextlib.suppress(OSError):
            keep_ceilings(ceilings)
    return RunCeilings(
        ceilings=ceilings,
        age_s=seconds_since(recent_ceilings.measured_at, now) if recent_ceilings else 0.0,
        reused=recent_ceilings is not None,
        data_devices=data_devices,
        journal_devices=journal_devices,
    )


def fleet_ceilings(
    campaign: Campaign,
    on_hosts: Callable[[], Mapping[str, RunCeilings]],
    observer: Observer,
) -> RunCeilings | None:
    """The ceilings of the disks of a fleet's server hosts, in the order of the nodes. See `run_ceilings`."""
    if not _has_use_for_ceilings(campaign):
        return None
    observer(_ceilings_phase(1, "what the disks of the hosts can do at most, all at once"))
    try:
        ceilings_by_address = on_hosts()
    except (UserError, RunFailedError) as error:
        observer(Note(f"What the disks of the hosts can do at most is not known: {error.message}"))
        return None
    first = next(iter(ceilings_by_address.values()))
    return RunCeilings(
        ceilings=replace(
            first.ceilings,
            disks=tuple(
                replace(disk, device=of_host(address, disk.device), name=f"{disk.name} of {address}")
                for address, host_ceilings in ceilings_by_address.items()
                for disk in host_ceilings.ceilings.disks
            ),
            loopback=None,
            memory=None,
            load_average=max(host_ceilings.ceilings.load_average for host_ceilings in ceilings_by_address.values()),
        ),
        age_s=max(host_ceilings.age_s for host_ceilings in ceilings_by_address.values()),
        reused=any(host_ceilings.reused for host_ceilings in ceilings_by_address.values()),
        data_devices=tuple(
            of_host(address, device)
            for address, host_ceilings in ceilings_by_address.items()
            for device in host_ceilings.data_devices
        ),
        journal_devices=tuple(
            of_host(address, device)
            for address, host_ceilings in ceilings_by_address.items()
            for device in host_ceilings.journal_devices
        ),
    )


def _has_use_for_ceilings(campaign: Campaign) -> bool:
    """Whether results are compared with ceilings: not if others run all servers, nor of attestations alone."""
    starts_any = any(system.attach is None for _, system in campaign.systems_at_points)
    chosen = [choice.name for point in campaign.all_points for choice in point.campaign.experiments]
    of_use = starts_any and any(name != ATTEST for name in chosen)
    return of_use and os.environ.get(SWITCH, "").lower() != "off"


def run_calibrations(
    trials: Sequence[TrialSpec], workers: int, host: Host, observer: Observer, load_average: float
) -> tuple[Calibration, ...]:
    """Calibrations for the plan's message sizes: those kept, and those that fixed rates ask for besides, measured now.

    Says what it is, and where it is too little for so many load generators. Never raises but for interruptions.
    """
    calibrations_kept = known_calibrations({size_class(trial.workload.payload.message_bytes) for trial in trials})
    sizes_wanted = sizes_to_know(trials, workers)
    missing = sorted({*sizes_wanted} - {calibration.message_bytes for calibration in calibrations_kept})
    off = os.environ.get(SWITCH, "").lower() == "off"
    calibrations = (
        *calibrations_kept,
        *([] if off or not missing else _calibrate_and_keep(missing, host, observer, load_average)),
    )
    for calibration in calibrations:
        if calibration.message_bytes in sizes_wanted:
            why = "it lacked CPU" if calibration.starved else "other work ran"
            doubt = f": DOUBTFUL, {why} when that was measured" if calibration.doubtful else ""
            observer(Note(f"On this host {calibration.sentence()}{doubt}."))
    for warning in sizing_warnings(trials, workers, calibrations):
        observer(Note(warning))
    return calibrations


def _calibrate_and_keep(sizes: Sequence[int], host: Host, observer: Observer, load_average: float) -> list[Calibration]:
    """Measure, and keep it for the next run. Nothing, and a note of why, if that fails."""
    try:
        expected_s = seconds_expected(len(sizes), calibration_subject())
        observer(PhaseStarted("", "calibrate", "what one load generator can make and check", expected_s))
        calibrations = calibrate(host, sizes, load_average)
    except (TidegaugeError, OSError) as error:
        why = error.message if isinstance(error, TidegaugeError) else f"{error.strerror or error}."
        observer(Note(f"What one load generator can make and check is not known: {why}"))
        return []
    with contextlib.suppress(OSError):
        keep_calibrations(calibrations)
    return calibrations

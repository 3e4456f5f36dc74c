"""What the machine can do at most, known before a run's first trial: measured now, or taken from shortly before."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tidegauge.campaign.events import Note, Observer, PhaseStarted
from tidegauge.campaign.model import Campaign
from tidegauge.errors import UserError
from tidegauge.experiments.attest import NAME as ATTEST
from tidegauge.fleet.api import Host
from tidegauge.hosts.ceilings import SUSTAINED_S, Ceilings, RunCeilings
from tidegauge.hosts.ceilings_kept import age_s, fresh, keep, read_kept
from tidegauge.hosts.ceilings_measure import BRIEF, Effort, machine_id, measure, place_for

SWITCH = "TIDEGAUGE_CEILINGS"
"""Environment variable: "off" = runs don't measure the machine (many short runs in a script)."""

LONG_S = 1200.0
"""A run that is planned to take as long measures sustained writes too: the minute is small beside it."""


def run_ceilings(
    campaign: Campaign,
    data: Sequence[Path],
    journals: Sequence[Path],
    host: Host,
    observer: Observer,
    *,
    seconds_planned: float = 0.0,
) -> RunCeilings | None:
    """Those of this machine and the disks of a run; None if no result of it is held against them, or it can't be done.

    Never raises but for interruptions: results are worth having without.

    Args:
        data, journals: the directories that nodes take by turns; they need not exist yet.
        host: removes what was written if we are killed.
        seconds_planned: of the run; from `LONG_S` on sustained writes are measured too.
    """
    if not _of_use(campaign) or os.environ.get(SWITCH, "").lower() == "off":
        return None
    try:
        data_devices, journal_devices = (tuple(place_for(one)[1] for one in places) for places in (data, journals))
        disks = [*data, *journals]
        devices = list(dict.fromkeys((*data_devices, *journal_devices)))
        now = datetime.now(UTC)
        effort = replace(BRIEF, sustain_s=SUSTAINED_S) if seconds_planned >= LONG_S else BRIEF
        sustained = bool(effort.sustain_s)
        known = fresh(read_kept(), machine_id(), devices, now, os.getloadavg()[0], sustained=sustained)
        found = known or _measured(disks, effort, len(devices), host, observer)
    except UserError as error:
        observer(Note(f"What the machine can do at most is not known: {error.message}"))
        return None
    except OSError as error:
        observer(Note(f"What the machine can do at most could not be measured ({error.strerror or error})."))
        return None
    return RunCeilings(
        ceilings=found,
        age_s=age_s(known, now) if known else 0.0,
        reused=known is not None,
        data_devices=data_devices,
        journal_devices=journal_devices,
    )


def _of_use(campaign: Campaign) -> bool:
    """Not where others run all servers, nor for attestations: these measure no throughput."""
    points = [point.campaign for point in campaign.each]
    ours = any(system.attach is None for point in points for system in point.systems)
    return ours and any(choice.name != ATTEST for point in points for choice in point.experiments)


def _measured(disks: Sequence[Path], effort: Effort, devices: int, host: Host, observer: Observer) -> Ceilings:
    """Measure briefly, and keep it for the next run. Raises `UserError`, `OSError`."""

    def tell(what: str, left_s: float) -> None:
        if effort.sustain_s:
            observer(PhaseStarted("", "ceilings", what, left_s))

    observer(PhaseStarted("", "ceilings", "what disk and loopback can do at most", effort.seconds(devices)))
    found = measure(disks, effort, host.track_directory, tell)
    with contextlib.suppress(OSError):
        keep(found)
    return found

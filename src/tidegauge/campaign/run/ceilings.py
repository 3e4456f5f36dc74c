"""What the machine can do at most, known before a run's first trial: measured now, or taken from shortly before."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tidegauge.campaign.model import Campaign
from tidegauge.errors import UserError
from tidegauge.experiments.attest import NAME as ATTEST
from tidegauge.fleet.api import Host
from tidegauge.hosts.ceilings import Ceilings, RunCeilings
from tidegauge.hosts.ceilings_kept import age_s, fresh, keep, read_kept
from tidegauge.hosts.ceilings_measure import BRIEF, machine_id, measure, place_for
from tidegauge.model.events import Note, Observer, PhaseStarted

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
    if not _of_use(campaign) or os.environ.get(SWITCH, "").lower() == "off":
        return None
    try:
        data_devices, journal_devices = (tuple(place_for(place)[1] for place in places) for places in (data, journals))
        disks = [*data, *journals]
        devices = list(dict.fromkeys((*data_devices, *journal_devices)))
        now = datetime.now(UTC)
        known = fresh(read_kept(), machine_id(), devices, now, os.getloadavg()[0])
        ceilings = known or _measured(disks, len(devices), host, observer)
    except UserError as error:
        observer(Note(f"What the machine can do at most is not known: {error.message}"))
        return None
    except OSError as error:
        observer(Note(f"What the machine can do at most could not be measured ({error.strerror or error})."))
        return None
    return RunCeilings(
        ceilings=ceilings,
        age_s=age_s(known, now) if known else 0.0,
        reused=known is not None,
        data_devices=data_devices,
        journal_devices=journal_devices,
    )


def _of_use(campaign: Campaign) -> bool:
    """Not where others run all servers, nor for attestations: these measure no throughput."""
    chosen = [choice.name for point in campaign.each for choice in point.campaign.experiments]
    return campaign.starts_servers and any(name != ATTEST for name in chosen)


def _measured(disks: Sequence[Path], devices: int, host: Host, observer: Observer) -> Ceilings:
    """Measure briefly, and keep it for the next run. Raises `UserError`, `OSError`."""
    observer(PhaseStarted("", "ceilings", "what disk and loopback can do at most", BRIEF.seconds(devices)))
    ceilings = measure(disks, BRIEF, host.track_directory, lambda _what, _left_s: None)
    with contextlib.suppress(OSError):
        keep(ceilings)
    return ceilings

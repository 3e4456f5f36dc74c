"""Ceilings that are measured before a run, on a host of a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from report_samples import ceilings as sample

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.ceilings import run_ceilings
from tidegauge.hosts.ceilings_measure import machine_id, place_for
from tidegauge.model.ceilings import Ceilings
from tidegauge.model.events import Event


class Case:
    """A campaign with a data directory; what was measured, and what the user was shown."""

    def __init__(self, root: Path, systems: str = "[kafka]") -> None:
        self.disk = root / "disk"
        self.disk.mkdir()
        self.measured: list[Sequence[Path]] = []
        self.events: list[Event] = []
        self.fails: OSError | None = None
        path = root / "campaign.yaml"
        path.write_text(f"name: one\nsystems: {systems}\nexperiments: [peak]\n")
        self.campaign: Campaign = parse_campaign(path, {}, ["kafka"])

    def measure(self, disks: Sequence[Path], *_: object, **__: object) -> Ceilings:
        self.measured.append(disks)
        if self.fails is not None:
            raise self.fails
        found = sample().ceilings
        disk = replace(found.disks[0], device=place_for(self.disk)[1])
        now = datetime.now(UTC).isoformat()
        return replace(found, measured_at=now, machine=machine_id(), disks=(disk,))

    def known(self) -> Any:
        host: Any = _Host()
        return run_ceilings(self.campaign, [self.disk], (), host, self.events.append)


class _Host:
    def track_directory(self, path: Path) -> None:
        raise AssertionError(f"nothing is measured here, so nothing is to be tracked: {path}")

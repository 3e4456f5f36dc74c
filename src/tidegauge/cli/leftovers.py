"""What earlier runs left behind, removed with the real tools."""

from __future__ import annotations

from pathlib import Path

from tidegauge.campaign.leftover_topics import Cleaned, Tools, delete_leftover_topics
from tidegauge.fleet.local import LocalHost
from tidegauge.systems import registry
from tidegauge.worker.launch import start_worker


def leftover_topics(run: Path | None = None, forget: bool = False) -> Cleaned:
    """Delete topics that crashed runs left on attached clusters; of one run only, if it is given. Never raises.

    `forget`: those that can't be deleted are told for the last time.
    """
    return delete_leftover_topics(Tools(registry.all_systems(), LocalHost.open, start_worker), run, forget)

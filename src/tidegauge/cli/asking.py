"""Asking attached clusters before anything is planned or run: each once in a command."""

from __future__ import annotations

from functools import cache

from tidegauge.agent.local import LocalHost
from tidegauge.campaign.run.asking import ClusterBook
from tidegauge.worker.brief_worker import BriefWorkers
from tidegauge.worker.launch import start_worker


@cache
def cluster_book() -> ClusterBook:
    """The clusters of this command."""
    return ClusterBook(BriefWorkers(LocalHost.open, start_worker))

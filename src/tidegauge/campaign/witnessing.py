"""Calling the second witness of a durability level, between a trial's preparation and its warm-up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from tidegauge.durability.witness import judge, not_watched, told
from tidegauge.errors import RunFailedError
from tidegauge.fleet.api import Host
from tidegauge.hosts.syscalls import SyncWatch
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.model.level import LevelFinding, SyncFinding
from tidegauge.store.api import TrialStore
from tidegauge.systems.api import Deployment
from tidegauge.worker.api import LoadOrder, LoadWorker

MESSAGES = 20
PAUSE_S = 0.02
ACK_S_MAX = 10.0

WatchSyncs = Callable[[Mapping[str, int]], AbstractContextManager[SyncWatch]]
"""Records the sync calls of processes (numbers by node name). Raises `NoTraceError`."""


def watch_nothing(processes: Mapping[str, int]) -> AbstractContextManager[SyncWatch]:
    """For trials in which nobody is to look."""
    raise NoTraceError("nobody was asked to")


@dataclass(frozen=True)
class Scene:
    """Everything needed to look at servers at work. `order` is the trial's own."""

    host: Host
    deployment: Deployment
    worker: LoadWorker
    order: LoadOrder
    watch_syncs: WatchSyncs


def with_witness(level: LevelFinding, scene: Scene, store: TrialStore) -> LevelFinding:
    """The finding with what the servers were seen to do; the evidence is stored.

    Never a failure of its own: where nobody can look, the finding says why. Costs about a second where somebody can.
    """
    if level.level is None:
        return level
    nodes = scene.deployment.storage_processes
    if not nodes:
        return replace(level, syncs=not_watched("no server of this run keeps messages on a disk of this host"))
    try:
        finding, evidence = _look(level.level, nodes, scene)
    except NoTraceError as error:
        finding, evidence = not_watched(str(error)), {}
    except RunFailedError as error:
        # Whatever it means for the trial shows in the trial.
        finding, evidence = not_watched(f"no message could be sent meanwhile: {error.message}"), {}
    store.witness(finding, evidence)
    return replace(level, syncs=finding)


def _look(level: int, nodes: tuple[str, ...], scene: Scene) -> tuple[SyncFinding, Mapping[str, object]]:
    processes = {name: scene.host.status(name).pid for name in nodes}
    with scene.watch_syncs(processes) as watch:
        messages = scene.worker.witness(_order(scene.order, len(nodes)), MESSAGES, PAUSE_S, ACK_S_MAX)
        seen = watch.finish()
    return judge(level, nodes, messages, seen), told(seen, messages)


def _order(order: LoadOrder, nodes: int) -> LoadOrder:
    """The trial's order for one topic of its own, on which every node can have its turn."""
    partitions = min(order.workload.partitions, nodes)
    workload = replace(order.workload, topics=1, partitions=partitions, producers=1, subscriptions=1, consumers=1)
    return replace(order, topic_names=(f"{order.topic_names[0]}-witness",), workload=workload)

"""Is there memory for a campaign? Planned before anything is started: a system that swaps is not measured, the disk is.

Trials follow one another, so one deployment at a time counts, with the load generator beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidegauge.campaign.contenders import label
from tidegauge.campaign.model import Campaign, Point, SystemChoice
from tidegauge.campaign.worker_memory import WorkerMemory, Workers
from tidegauge.errors import UserError
from tidegauge.experiments.api import point_words
from tidegauge.hosts.memory import MemoryAvailable
from tidegauge.systems.api import System

WORKER_OUTSIDE_HEAP_MB = 200
"""Class data, threads and buffers of the load generator, MiB."""
RESERVE_MB = 512
"""For Tidegauge itself (about 150 MiB) and for the page cache that servers write through."""


@dataclass(frozen=True)
class MemoryNeed:
    """What the trials of one system need at most, MiB. `nodes` is 0 where others run them."""

    system: str
    nodes: int
    servers_mb: int
    worker: WorkerMemory
    reserve_mb: int = RESERVE_MB

    @property
    def worker_mb(self) -> int:
        """All of the load generator."""
        return self.worker.heap_mb + self.worker.direct_memory_mb + WORKER_OUTSIDE_HEAP_MB

    @property
    def total_mb(self) -> int:
        """Everything together."""
        return self.servers_mb + self.worker_mb + self.reserve_mb

    def __str__(self) -> str:
        nodes = "one node" if self.nodes == 1 else f"{self.nodes} nodes"
        servers = f"{self.servers_mb:,} for {nodes}, " if self.nodes else "its servers are others', "
        return (
            f"{self.system} needs {self.total_mb:,} MiB: {servers}"
            f"{self.worker_mb:,} for the load generator, {self.reserve_mb:,} in reserve"
        )


def memory_needs(campaign: Campaign, find_system: Callable[[str], System], workers: Workers) -> tuple[MemoryNeed, ...]:
    """What each system of a campaign needs, in the campaign's order; of a sweep the most that any point needs."""
    largest: dict[str, MemoryNeed] = {}
    for point in campaign.each:
        for choice in point.campaign.systems:
            need = _need(point, choice, find_system(choice.name), workers)
            known = largest.get(need.system)
            if known is None or need.total_mb > known.total_mb:
                largest[need.system] = need
    return tuple(largest.values())


def _need(point: Point, choice: SystemChoice, system: System, workers: Workers) -> MemoryNeed:
    campaign, name = point.campaign, label(choice, system)
    worker = workers.most(name, point.values)
    if choice.attach is not None:
        return MemoryNeed(name, 0, 0, worker)
    servers_mb = system.memory_mb(
        choice.version or system.default_version,
        campaign.nodes,
        choice.heap_mb,
        choice.direct_memory_mb,
        choice.shape,
    )
    return MemoryNeed(name, campaign.nodes, servers_mb, worker)


def too_large(need: MemoryNeed, available: MemoryAvailable | None) -> str:
    """Why a system would make this machine swap; "" if it would not, or if nobody can tell."""
    if available is None or need.total_mb <= available.available_mb:
        return ""
    return f"{need}; {available.available_mb:,} MiB are available {available.bound}"


def fitting(
    campaign: Campaign,
    find_system: Callable[[str], System],
    available: MemoryAvailable | None,
    workers: Workers,
) -> tuple[Campaign, dict[str, str]]:
    """The campaign without what would make this machine swap and may be left out, and why each was.

    That may an optional system, and at a point of a sweep with `skip-impossible` any. Raises `UserError` with the
    figures of every other system that would.
    """
    left_out: dict[str, str] = {}
    refused: list[str] = []
    needs: list[MemoryNeed] = []
    points = []
    for point in campaign.each:
        kept = []
        for choice in point.campaign.systems:
            need = _need(point, choice, find_system(choice.name), workers)
            reason = too_large(need, available)
            needs += [need] if reason else []
            if not reason:
                kept.append(choice)
            elif choice.optional or (campaign.skip_impossible and point.values):
                left_out[_where(need, point)] = reason
            else:
                refused.append(reason)
        if kept:
            points.append(replace(point, campaign=replace(point.campaign, systems=tuple(kept))))
    if refused or not points:
        raise UserError(
            f"There is too little memory. {'. '.join(dict.fromkeys(refused or left_out.values()))}.",
            _advice(needs),
        )
    if not left_out:
        return campaign, {}
    if not campaign.points:
        return points[0].campaign, left_out
    return replace(points[0].campaign, points=tuple(points)), left_out


def _advice(needs: Sequence[MemoryNeed]) -> str:
    """What to give less, by what takes most of the memory that there isn't."""
    largest = max(needs, key=lambda need: need.total_mb)
    if largest.worker_mb > largest.servers_mb:
        return (
            "Give the load generator less ('worker' in the campaign, --worker-heap of `tidegauge omb`), take fewer "
            "topics, subscriptions or consumers, or end other programs."
        )
    return "Give each node less ('heap' and 'direct-memory' of the system), take fewer nodes, or end other programs."


def _where(need: MemoryNeed, point: Point) -> str:
    return f"{need.system} at {point_words(point.values)}" if point.values else need.system


@dataclass(frozen=True)
class MemoryPlan:
    """What each system of a plan needs, and what there is (None if this machine doesn't tell)."""

    needs: tuple[MemoryNeed, ...]
    available: MemoryAvailable | None

    def sentences(self) -> list[str]:
        """For a reader of the plan."""
        there = f"{self.available.available_mb:,} MiB are available {self.available.bound}" if self.available else ""
        told = dict.fromkeys(need.worker for need in self.needs)
        workers = [f"The load generator gets at most: {worker}" for worker in told]
        return [*(str(need) for need in self.needs), *workers, *([there] if there else [])]

"""Is there memory for a campaign? Planned before anything is started: a system that swaps is not measured, the disk is.

Trials follow one another, so one deployment at a time counts, with the load generator beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.campaign.plan import label
from tidegauge.errors import UserError
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
    worker_mb: int
    reserve_mb: int = RESERVE_MB

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


def memory_needs(campaign: Campaign, find_system: Callable[[str], System]) -> tuple[MemoryNeed, ...]:
    """What each system of a campaign needs, in the campaign's order."""
    worker_mb = campaign.worker.heap_mb + campaign.worker.direct_memory_mb + WORKER_OUTSIDE_HEAP_MB
    return tuple(_need(campaign, choice, find_system(choice.name), worker_mb) for choice in campaign.systems)


def _need(campaign: Campaign, choice: SystemChoice, system: System, worker_mb: int) -> MemoryNeed:
    if choice.attach is not None:
        return MemoryNeed(label(choice, system), 0, 0, worker_mb)
    servers_mb = system.memory_mb(campaign.nodes, choice.heap_mb, choice.direct_memory_mb, choice.shape)
    return MemoryNeed(label(choice, system), campaign.nodes, servers_mb, worker_mb)


def too_large(need: MemoryNeed, available: MemoryAvailable | None) -> str:
    """Why a system would make this machine swap; "" if it would not, or if nobody can tell."""
    if available is None or need.total_mb <= available.available_mb:
        return ""
    return f"{need}; {available.available_mb:,} MiB are available {available.bound}"


def fitting(
    campaign: Campaign, needs: Sequence[MemoryNeed], available: MemoryAvailable | None
) -> tuple[Campaign, dict[str, str]]:
    """The campaign without the optional systems that would make this machine swap, and why each was left out.

    Raises `UserError` with the figures of every other system that would.
    """
    reasons = {need.system: reason for need in needs if (reason := too_large(need, available))}
    optional = {need.system for choice, need in zip(campaign.systems, needs, strict=True) if choice.optional}
    refused = [reason for system, reason in reasons.items() if system not in optional]
    kept = [choice for choice, need in zip(campaign.systems, needs, strict=True) if need.system not in reasons]
    if refused or not kept:
        raise UserError(
            f"There is too little memory. {'. '.join(refused or reasons.values())}.",
            "Give each node less ('heap' and 'direct-memory' of the system), take fewer nodes, or end other programs.",
        )
    return replace(campaign, systems=tuple(kept)), reasons


@dataclass(frozen=True)
class MemoryPlan:
    """What each system of a plan needs, and what there is (None if this machine doesn't tell)."""

    needs: tuple[MemoryNeed, ...]
    available: MemoryAvailable | None

    def sentences(self) -> list[str]:
        """For a reader of the plan."""
        there = f"{self.available.available_mb:,} MiB are available {self.available.bound}" if self.available else ""
        return [*(str(need) for need in self.needs), *([there] if there else [])]

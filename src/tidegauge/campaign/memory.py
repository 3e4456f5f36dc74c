"""Is there memory for a campaign? Planned before anything is started: a system that swaps is not measured, the disk is.

Trials follow one another, so one deployment at a time counts, with the load generator beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tidegauge.campaign.contenders import label
from tidegauge.campaign.model import Campaign, Point, SystemChoice
from tidegauge.campaign.worker_memory import Workers
from tidegauge.errors import UserError
from tidegauge.model.memory import MemoryAvailable, MemoryNeed
from tidegauge.model.trial import point_words
from tidegauge.systems.api import System


def memory_needs(campaign: Campaign, find_system: Callable[[str], System], workers: Workers) -> tuple[MemoryNeed, ...]:
    """What each system of a campaign needs, in the campaign's order; of a sweep the most that any point needs."""
    each = ((point, choice) for point in campaign.each for choice in point.campaign.systems)
    return tuple(_largest([_need(point, choice, find_system(choice.name), workers) for point, choice in each]))


def _need(point: Point, choice: SystemChoice, system: System, workers: Workers) -> MemoryNeed:
    campaign, name = point.campaign, label(choice, system)
    worker = workers.most(name, point.values)
    if choice.attach is not None:
        return MemoryNeed(name, (), worker)
    servers = system.processes(
        choice.version or system.default_version,
        campaign.nodes,
        choice.heap_mb,
        choice.direct_memory_mb,
        choice.shape,
    )
    return MemoryNeed(name, tuple(servers), worker, nodes=campaign.nodes)


def too_large(need: MemoryNeed, available: MemoryAvailable | None) -> str:
    """Why a system would make this machine swap; "" if it would not, or if nobody can tell."""
    return f"{need}; {available}" if available is not None and need.total_mb > available.available_mb else ""


def fitting(
    campaign: Campaign,
    find_system: Callable[[str], System],
    available: MemoryAvailable | None,
    workers: Workers,
) -> tuple[Campaign, dict[str, str]]:
    """The campaign without what would make this machine swap and may be left out, and why each was.

    That may an optional system, and at a point of a sweep with `skip-impossible` any. Raises `TooLittleMemoryError`
    with the figures of every other system that would, of a sweep at the point that needs most.
    """
    left_out: dict[str, str] = {}
    refused: list[MemoryNeed] = []
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
                refused.append(need)
        if kept:
            points.append(replace(point, campaign=replace(point.campaign, systems=tuple(kept))))
    if available is not None and (refused or not points):
        raise TooLittleMemoryError(_largest(refused or needs), available, _advice(needs))
    if not left_out:
        return campaign, {}
    if not campaign.points:
        return points[0].campaign, left_out
    return replace(points[0].campaign, points=tuple(points)), left_out


class TooLittleMemoryError(UserError):
    """Systems need more memory than there is. `shortage`: the sums alone, where the parts of each stand beside."""

    def __init__(self, needs: Sequence[MemoryNeed], available: MemoryAvailable, advice: str) -> None:
        super().__init__(f"There is too little memory. {'. '.join(map(str, needs))}. {available}.", advice)
        self.shortage = f"There is too little memory: {', '.join(need.whole for need in needs)}; {available}."


def _largest(needs: Sequence[MemoryNeed]) -> list[MemoryNeed]:
    """The most that each system needs."""
    largest: dict[str, MemoryNeed] = {}
    for need in sorted(needs, key=lambda need: need.total_mb):
        largest[need.system] = need
    return [largest[name] for name in dict.fromkeys(need.system for need in needs)]


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

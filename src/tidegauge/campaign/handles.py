"""May servers open as many files and maps as a campaign's partitions need? Asked before anything is started. Pure."""

from __future__ import annotations

from collections.abc import Callable

from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.errors import UserError
from tidegauge.model.server import Handles
from tidegauge.systems.api import System

COPIES_MAX = 3


def check_handles(campaign: Campaign, find_system: Callable[[str], System], available: Handles) -> None:
    """Raise `UserError` with the figures where a server would need more than a process may have here."""
    for point in campaign.each:
        for choice in point.campaign.systems:
            if choice.attach is None:
                _check(point.campaign, choice, find_system(choice.name), available)


def _check(campaign: Campaign, choice: SystemChoice, system: System, available: Handles) -> None:
    partitions = campaign.workload.topics * campaign.workload.partitions
    copies = min(choice.copies or COPIES_MAX, campaign.nodes)
    on_one_node = -(-partitions * copies // campaign.nodes)
    needed = system.handles(on_one_node)
    told = (
        f"{campaign.source_path}: workload.partitions: with {partitions:,} partitions a server of {system.title} needs"
    )
    if needed.files > available.files:
        raise UserError(
            f"{told} about {needed.files:,} open files, and a process may have {available.files:,} here.",
            f"Raise the hard limit (`ulimit -Hn {needed.files}` as root, or LimitNOFILE), or take fewer partitions.",
        )
    if needed.maps > available.maps:
        raise UserError(
            f"{told} about {needed.maps:,} memory maps, and a process may have {available.maps:,} here.",
            f"Raise it (`sysctl vm.max_map_count={2 * needed.maps}` as root), or take fewer partitions.",
        )

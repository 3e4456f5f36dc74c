"""Which campaigns of a published report are run, how often, and in what order. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MINUTE_S = 60.0


@dataclass(frozen=True)
class CampaignOfReport:
    """A campaign of a report as it would be run.

    Attributes:
        claims, decidable: names of the claims that it examines, and of those that it decides at best.
        seconds_expected: of the whole of it, once everything is fetched.
        memory_mb, disk_bytes: what the largest of its systems, and of its trials, needs.
        needs_more_disk: whether that is the least, since rates are found on the way.
        left_out: what this machine leaves out of it and why, in sentences.
        problem: why it can't be run at all; "" if it can.
    """

    name: str
    repeat: int
    claims: tuple[str, ...] = ()
    decidable: tuple[str, ...] = ()
    trials: int = 0
    seconds_expected: float = 0.0
    memory_mb: int = 0
    disk_bytes: int = 0
    needs_more_disk: bool = False
    left_out: tuple[str, ...] = ()
    problem: str = ""


def order_campaigns(campaigns: Iterable[CampaignOfReport]) -> list[CampaignOfReport]:
    """First those that decide a claim in the shortest time; last those that decide none."""

    def seconds_per_claim(campaign: CampaignOfReport) -> float:
        return campaign.seconds_expected / len(campaign.decidable) if campaign.decidable else math.inf

    return sorted(campaigns, key=lambda campaign: (seconds_per_claim(campaign), campaign.name))


def count_claims(campaigns: Iterable[CampaignOfReport]) -> int:
    """How many claims are decided at best; one of several campaigns counts once."""
    return len({claim for campaign in campaigns for claim in campaign.decidable})


def choose_within(choices: Mapping[str, Sequence[CampaignOfReport]], seconds: float) -> list[CampaignOfReport]:
    """Of each campaign one choice or none, so that most claims are decided at best in a time, by the minute.

    The shortest of several that decide as many. A claim of two campaigns counts twice here.
    """
    minutes = int(seconds / MINUTE_S)
    # What was chosen so far for each number of minutes that it may take: claims decided, seconds left over, choices.
    best: list[tuple[int, float, tuple[CampaignOfReport, ...]]] = [(0, 0.0, ())] * (minutes + 1)
    for choices_of_campaign in choices.values():
        longer = list(best)
        for choice in choices_of_campaign:
            took = math.ceil(choice.seconds_expected / MINUTE_S)
            if choice.problem or not choice.decidable or took > minutes:
                continue
            for budget in range(took, minutes + 1):
                decided, spared_s, chosen = best[budget - took]
                candidate = (decided + len(choice.decidable), spared_s - choice.seconds_expected, (*chosen, choice))
                if candidate[:2] > longer[budget][:2]:
                    longer[budget] = candidate
        best = longer
    return order_campaigns(best[-1][2])

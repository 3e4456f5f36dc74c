"""Where each condition on a published claim holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidegauge.campaign.model import Campaign
from tidegauge.model.trial import LoadSpec
from tidegauge.published.examine import report_named
from tidegauge.published.model import FIGURES

Holds = Callable[[Campaign, Sequence[LoadSpec]], bool]


def measures(system: str, **choice: object) -> Holds:
    """A trial of the system with such a level or form."""

    def holds(_: Campaign, trials: Sequence[LoadSpec]) -> bool:
        own = [trial.choice for trial in trials if trial.system.startswith(f"{system}@")]
        return any(all(getattr(one, name) == value for name, value in choice.items()) for one in own)

    return holds


def searched(campaign: Campaign, trials: Sequence[LoadSpec]) -> bool:
    """A search's own figure is what a claim speaks of."""
    return speaks_of_maximum(campaign) and not peaks_stand_in(campaign, trials)


def peaks_stand_in(campaign: Campaign, trials: Sequence[LoadSpec]) -> bool:
    """A claim speaks of a search's own figure, and nothing is searched for."""
    experiments = {trial.experiment for trial in trials}
    return speaks_of_maximum(campaign) and "max-throughput" not in experiments and "peak" in experiments


def speaks_of_maximum(campaign: Campaign) -> bool:
    assert campaign.published is not None
    named = campaign.published.claims
    claims = [claim for claim in report_named(campaign.published.report).claims if claim.id in named]
    return any(FIGURES[claim.figure].experiment == "max-throughput" for claim in claims)


def two_disks(campaign: Campaign) -> bool:
    """Of each node: on a host of its own it uses all that are named."""
    return len(campaign.data_directories) >= (2 if campaign.fleet else 2 * campaign.nodes)


WHERE: dict[str, Holds] = {
    "Kafka that waits for one copy": measures("kafka", level=3),
    "at levels 2 and 4 Kafka leaves": lambda campaign, trials: (
        measures("kafka", level=2)(campaign, trials) or measures("kafka", level=4)(campaign, trials)
    ),
    "Kafka's servers are their own controllers": lambda campaign, trials: (
        bool(campaign.fleet) and measures("kafka")(campaign, trials)
    ),
    "Kafka's servers have one log directory": lambda campaign, trials: (
        measures("kafka")(campaign, trials) and not two_disks(campaign)
    ),
    "Pulsar's journal is on the disk of its data": lambda campaign, trials: (
        any(trial.system.startswith("pulsar@") and trial.choice.form != "bypass" for trial in trials)
        and not two_disks(campaign)
        and not campaign.journal_directories
    ),
    "Pulsar's bookies have one journal": lambda campaign, trials: any(
        trial.system.startswith("pulsar@") and trial.choice.form != "bypass" for trial in trials
    ),
    "Pulsar's bookies without a journal": lambda campaign, trials: (
        measures("pulsar", form="bypass")(campaign, trials) and not two_disks(campaign)
    ),
    "the operating system is as it was found": lambda *_: True,
    "a sustainable rate is searched for": searched,
    "the maximum is the peak of a closed loop": peaks_stand_in,
    "the load generator's garbage collector is G1": lambda *_: True,
    "the servers' garbage collector is G1": lambda *_: True,
    "power is cut": lambda campaign, _: any(one.name == "attest" for one in campaign.experiments),
    "tiered adds nodes": lambda campaign, trials: (
        not campaign.fleet and any("tiered" in trial.point.values() for trial in trials)
    ),
}
"""For which plans each sentence that is written by hand is true, by how it begins."""

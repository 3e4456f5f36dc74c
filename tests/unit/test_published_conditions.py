"""Sentences on what differs that are written by hand: each is shown for the plans that it holds for, and no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_samples import spec
from test_published_campaigns import NAMES, PATHS, SCALES, parsed

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.published import with_differences
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import LoadSpec
from tidegauge.published.examine import report, report_names
from tidegauge.published.model import FIGURES, Condition, Planned, Servers

Holds = Callable[[Campaign, Sequence[LoadSpec]], bool]


def measures(system: str, **choice: object) -> Holds:
    """A trial of the system with such a level or form."""

    def holds(_: Campaign, trials: Sequence[LoadSpec]) -> bool:
        own = [trial.choice for trial in trials if trial.system.startswith(f"{system}@")]
        return any(all(getattr(one, name) == value for name, value in choice.items()) for one in own)

    return holds


def searched(campaign: Campaign, _: Sequence[LoadSpec]) -> bool:
    """A search's own figure is what a claim speaks of."""
    assert campaign.published is not None
    named = campaign.published.claims
    claims = [claim for claim in report(campaign.published.report).claims if claim.id in named]
    return any(FIGURES[claim.figure].experiment == "max-throughput" for claim in claims)


def two_disks(campaign: Campaign) -> bool:
    return len(campaign.data_directories) >= 2 * campaign.nodes


WHERE: dict[str, Holds] = {
    "Kafka that waits for one copy": measures("kafka", level=3),
    "at levels 2 and 4 Kafka leaves": lambda campaign, trials: (
        measures("kafka", level=2)(campaign, trials) or measures("kafka", level=4)(campaign, trials)
    ),
    "Kafka's servers have one log directory": lambda campaign, trials: (
        measures("kafka")(campaign, trials) and not two_disks(campaign)
    ),
    "Pulsar's journal is on the disk of its data": lambda campaign, trials: (
        any(trial.system.startswith("pulsar@") and trial.choice.form != "bypass" for trial in trials)
        and not two_disks(campaign)
        and not campaign.journal_directories
    ),
    "Pulsar's bookies have one journal": lambda campaign, trials: (
        campaign.starts_servers
        and any(trial.system.startswith("pulsar@") and trial.choice.form != "bypass" for trial in trials)
    ),
    "Pulsar's bookies without a journal": lambda campaign, trials: (
        measures("pulsar", form="bypass")(campaign, trials) and not two_disks(campaign)
    ),
    "the operating system is as it was found": lambda campaign, _: campaign.starts_servers,
    "a sustainable rate is searched for": searched,
    "the load generator's garbage collector is G1": lambda *_: True,
    "the servers' garbage collector is G1": lambda campaign, _: campaign.starts_servers,
    "tiered adds nodes": lambda _, trials: any("tiered" in trial.point.values() for trial in trials),
}
"""For which plans each sentence that is written by hand is true, by how it begins."""
SIX = [f"/tmp/{letter}" for letter in "abcdef"]
SETUPS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "Kafka": {"systems": "kafka"},
    "Pulsar": {"systems": "pulsar"},
    "six disks": {"data_directories": SIX},
    "disks for journals": {"journal_directories": SIX[:3]},
}


def of_setup(path: Path, scale: str, setup: str) -> Campaign | None:
    """None where the campaign has no such system."""
    changes = dict(SETUPS[setup])
    systems = changes.pop("systems", "")
    campaign = parsed(path, scale=scale)
    if systems and systems not in [system.name for system in campaign.systems]:
        return None
    if systems:
        campaign = parsed(path, scale=scale, systems=[systems])
    disks = {name: tuple(paths) for name, paths in changes.items()}
    points = tuple(replace(point, campaign=replace(point.campaign, **disks)) for point in campaign.points)
    return replace(campaign, points=points, **disks)


def shown_for(campaign: Campaign) -> tuple[tuple[str, ...], Sequence[LoadSpec]]:
    trials = plan_campaign(campaign).trials
    choice = with_differences(campaign, trials).published
    assert choice is not None
    return choice.differs, trials


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_sentence_is_shown_only_where_it_holds(path: Path, scale: str, setup: str) -> None:
    campaign = of_setup(path, scale, setup)
    if campaign is None:
        return
    shown, trials = shown_for(campaign)
    assert campaign.published is not None
    for difference in report(campaign.published.report).differs:
        (holds,) = [holds for begin, holds in WHERE.items() if difference.text.startswith(begin)]
        assert (difference.text in shown) is holds(campaign, trials), difference.text


@pytest.mark.parametrize("setup", SETUPS)
def test_a_disk_is_shared_unless_every_node_has_its_own(setup: str) -> None:
    campaign = of_setup(PATHS[NAMES.index("confluent-2020-latency")], "original", setup)
    assert campaign is not None
    (hosts,) = [sentence for sentence in shown_for(campaign)[0] if sentence.startswith("servers (")]
    assert ("CPUs, memory and disk of one machine" in hosts) is (setup != "six disks")
    assert ("CPUs and memory of one machine" in hosts) is (setup == "six disks")


def test_an_attached_cluster_has_a_garbage_collector_of_its_own() -> None:
    """Nothing is known of it, but of the load generator's."""
    attached = Planned([spec("kafka@attached")], {}, starts_servers=False)
    held = [one.text for one in report("streamnative-2022").differs if one.where.holds(attached)]
    assert [sentence for sentence in held if "garbage" in sentence] == [
        "the load generator's garbage collector is G1; the report's clients had ZGC"
    ]


@pytest.mark.parametrize("name", report_names())
def test_every_sentence_is_known_here(name: str) -> None:
    sentences = [difference.text for difference in report(name).differs]
    assert [sentence for sentence in sentences if not sentence.startswith(tuple(WHERE))] == []


def test_a_condition_asks_for_one_trial_that_has_everything() -> None:
    """Not for a system somewhere and its level with another one."""
    kafka = replace(spec("kafka@4.3.1"), choice=LevelChoice(1))
    pulsar = replace(spec("pulsar@4.2.4"), choice=LevelChoice(3, "journal"))
    planned = Planned([kafka, pulsar], {"kafka": [Servers()]}, starts_servers=True)
    assert Condition(system="pulsar", level=[3]).holds(planned)
    assert not Condition(system="kafka", level=[3]).holds(planned)
    assert not Condition(system="pulsar", without_form=["journal"]).holds(planned)
    assert Condition(system="kafka", started=True, data_disks_max=1).holds(planned)
    assert not Condition(system="pulsar", started=True).holds(planned)
    assert not Condition(system="kafka", journal_apart=True).holds(planned)
    assert not Condition(system="rabbitmq").holds(planned)

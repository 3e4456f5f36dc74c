"""Sentences on what differs that are written by hand: each is shown for the plans that it holds for, and no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from published_campaigns import NAMES, PATHS, SCALES, read_published
from published_conditions import WHERE, measures
from run_samples import spec

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.published import with_differences
from tidegauge.errors import UserError
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import LoadSpec
from tidegauge.published.examine import report_named, report_names
from tidegauge.published.model import Condition, Placement, Planned, ServerSetup

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
    campaign = read_published(path, scale=scale)
    if systems and systems not in [system.name for system in campaign.systems]:
        return None
    if systems:
        campaign = read_published(path, scale=scale, systems=(systems,))
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
    for difference in report_named(campaign.published.report).differs:
        (holds,) = [holds for begin, holds in WHERE.items() if difference.text.startswith(begin)]
        assert (difference.text in shown) is holds(campaign, trials), difference.text


FLEETS = {
    "3+4": "roles: {s: {label: {role: server}, count: 3}, l: {label: {role: load}, count: 4}}",
    "3+2": "roles: {s: {label: {role: server}, count: 3}, l: {label: {role: load}, count: 2}}",
    "6+4": "roles: {s: {label: {role: server}, count: 6}, l: {label: {role: load}, count: 4}}",
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of fleet files: a campaign is read once on each of them."""
    return tmp_path_factory.mktemp("fleets")


def on_fleet(path: Path, directory: Path, roles: str, disks: int) -> Campaign:
    file = directory / f"{abs(hash(roles))}.yaml"
    file.write_text(f"launcher: ray\n{roles}\n")
    campaign = read_published(path, scale="original", fleet=str(file))
    named = {"data_directories": tuple(SIX[:disks])}
    points = tuple(replace(point, campaign=replace(point.campaign, **named)) for point in campaign.points)
    return replace(campaign, points=points, **named)


@pytest.mark.parametrize("disks", [1, 2])
@pytest.mark.parametrize("fleet", FLEETS)
@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_on_a_fleet_a_sentence_is_shown_only_where_it_holds(
    path: Path, fleet: str, disks: int, directory: Path
) -> None:
    """Every node has a host and all the disks that are named, as in the reports."""
    try:
        campaign = on_fleet(path, directory, FLEETS[fleet], disks)
        shown, trials = shown_for(campaign)
    except UserError as error:
        # One load generator a client, and no more.
        assert "clients" in path.stem and "load generator" in str(error)
        return
    assert campaign.published is not None
    whole = report_named(campaign.published.report)
    for difference in whole.differs:
        (holds,) = [holds for begin, holds in WHERE.items() if difference.text.startswith(begin)]
        assert (difference.text in shown) is holds(campaign, trials), difference.text
    text = " ".join(shown)
    assert "one machine" not in text and "comes from one host" not in text and "share a host" not in text
    assert ("the load comes from 2 hosts; the report's came from 4" in shown) is (
        fleet == "3+2" and whole.load_hosts == 4
    )
    assert ("ZooKeeper shares the host of node 1" in text) is measures("pulsar")(campaign, trials)


@pytest.mark.parametrize(
    ("roles", "wanted", "absent"),
    [
        (
            "{s: {label: {role: server}, count: 3}}",
            "the load comes from one host; the report's came from 4",
            "one machine",
        ),
        ("{s: {label: {role: server}, count: 2, nodes-per-host: 2}}", "up to 2 nodes share a host", "one machine"),
        (
            "{s: {label: {role: server}, count: 3}, k: {label: {role: keeper}, count: 1}}",
            "the load",
            "ZooKeeper shares",
        ),
    ],
)
def test_what_shares_a_host_of_a_fleet_is_said(directory: Path, roles: str, wanted: str, absent: str) -> None:
    path = PATHS[NAMES.index("confluent-2020-latency")]
    text = " ".join(shown_for(on_fleet(path, directory, f"roles: {roles}", 2))[0])
    assert wanted in text and absent not in text


def test_nodes_that_share_hosts_share_their_disks(directory: Path) -> None:
    roles = "roles: {s: {label: {role: server}, count: 2, nodes-per-host: 2}}"
    shown, _ = shown_for(on_fleet(PATHS[NAMES.index("confluent-2020-latency")], directory, roles, 2))
    assert [one for one in shown if one.startswith("Kafka's servers have one log directory each")]


@pytest.mark.parametrize("setup", SETUPS)
def test_a_disk_is_shared_unless_every_node_has_its_own(setup: str) -> None:
    campaign = of_setup(PATHS[NAMES.index("confluent-2020-latency")], "original", setup)
    assert campaign is not None
    (hosts,) = [sentence for sentence in shown_for(campaign)[0] if sentence.startswith("servers ")]
    assert ("CPUs, memory and disk of one machine" in hosts) is (setup != "six disks")
    assert ("CPUs and memory of one machine" in hosts) is (setup == "six disks")


def test_an_attached_cluster_has_a_garbage_collector_of_its_own() -> None:
    """Nothing is known of it, but of the load generator's."""
    attached = Planned([spec("kafka@attached")], {}, Placement(one_machine=False))
    held = [one.text for one in report_named("streamnative-2022").differs if one.where.holds(attached)]
    assert [sentence for sentence in held if "garbage" in sentence] == [
        "the load generator's garbage collector is G1; the report's clients had ZGC"
    ]


@pytest.mark.parametrize("name", report_names())
def test_every_sentence_is_known_here(name: str) -> None:
    sentences = [difference.text for difference in report_named(name).differs]
    assert [sentence for sentence in sentences if not sentence.startswith(tuple(WHERE))] == []


def test_a_condition_asks_for_one_trial_that_has_everything() -> None:
    """Not for a system somewhere and its level with another one."""
    kafka = replace(spec("kafka@4.3.1"), choice=LevelChoice(1))
    pulsar = replace(spec("pulsar@4.2.4"), choice=LevelChoice(3, "journal"))
    planned = Planned([kafka, pulsar], {"kafka": [ServerSetup()]})
    assert Condition(system="pulsar", level=[3]).holds(planned)
    assert not Condition(system="kafka", level=[3]).holds(planned)
    assert not Condition(system="pulsar", without_form=["journal"]).holds(planned)
    assert Condition(system="kafka", started=True, data_disks_max=1).holds(planned)
    assert not Condition(system="pulsar", started=True).holds(planned)
    assert not Condition(system="kafka", journal_apart=True).holds(planned)
    assert not Condition(system="rabbitmq").holds(planned)


def test_kafka_that_has_a_zookeeper_is_not_said_to_have_none() -> None:
    apart = Placement(one_machine=False)
    for has_keeper in (False, True):
        planned = Planned([spec("kafka@3.9.2")], {"kafka": [ServerSetup(has_keeper=has_keeper)]}, apart)
        held = [one.text for one in report_named("confluent-2020").differs if one.where.holds(planned)]
        assert any("their own controllers" in sentence for sentence in held) is not has_keeper

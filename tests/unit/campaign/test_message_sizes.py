"""Messages of 1 B to 20 MiB: which systems take them, and what is checked of those without room for a header."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_samples import spec

from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.campaign.plan.fairness import contender_of_trial, wanted_tilts
from tidegauge.campaign.plan.load_remarks import hazards_of_load
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.errors import UserError
from tidegauge.fairness import Case, Property
from tidegauge.model.level import LevelChoice
from tidegauge.model.processing import Processing, ProcessingKind
from tidegauge.model.tilt import Severity
from tidegauge.model.workload import Workload
from tidegauge.systems import registry

NAMES = ("kafka", "pulsar", "rabbitmq", "null")


def campaign(directory: Path, workload: str, systems: str = "[kafka]", rate: str = "100") -> Campaign:
    file = directory / "campaign.yaml"
    file.write_text(
        f"name: sizes\ndurability: 3\nsystems: {systems}\nworkload: {{{workload}}}\n"
        f"experiments: [{{name: latency, rate: {rate}}}]\n"
    )
    return parse_campaign(file, {}, NAMES)


def remarks(of: Campaign) -> dict[str, str]:
    tilts = wanted_tilts(plan_campaign(of))
    assert all(tilt.severity is Severity.ADVICE for tilt in tilts)
    return {tilt.rule: tilt.paragraph() for tilt in tilts}


@pytest.mark.parametrize("message_size", ["1B", "7B", "8B", "10B", "47B", "48B", "1MiB", "5MiB", "20MiB"])
def test_kafka_takes_every_size(tmp_path: Path, message_size: str) -> None:
    plan_campaign(campaign(tmp_path, f"message-size: {message_size}"))


@pytest.mark.parametrize("message_size", ["0B", "21MiB"])
def test_what_no_system_takes_is_refused(tmp_path: Path, message_size: str) -> None:
    with pytest.raises(UserError, match="must be from 1B to 20MiB"):
        campaign(tmp_path, f"message-size: {message_size}")


@pytest.mark.parametrize(
    ("systems", "fits", "limit", "setting"),
    [
        ("[pulsar]", "4MiB", 5 * 2**20 - 10 * 2**10, "maxMessageSize=5242880, its default"),
        ("[rabbitmq]", "16MiB", 16 * 2**20, "max_message_size=16777216, its default"),
        ("[{name: rabbitmq, durability: {level: 4, form: stream}}]", "1000KiB", 2**20 - 256, "stream.frame_max"),
        ("[{name: rabbitmq, settings: {max_message_size: 100}}]", "100B", 100, "max_message_size=100)"),
        ("[{name: kafka, topic-settings: {max.message.bytes: 2000}}]", "1800B", 1872, "max.message.bytes=2000"),
    ],
)
def test_a_systems_own_limit_is_named(tmp_path: Path, systems: str, fits: str, limit: int, setting: str) -> None:
    plan_campaign(campaign(tmp_path, f"message-size: {fits}", systems))
    with pytest.raises(UserError) as caught:
        plan_campaign(campaign(tmp_path, f"message-size: {limit + 1}B", systems))
    assert f"takes messages of at most {limit}B here" in caught.value.message
    assert setting in caught.value.message
    assert "workload.message-size" in caught.value.message


def test_an_attestation_needs_the_whole_header(tmp_path: Path) -> None:
    file = tmp_path / "campaign.yaml"
    for message_size, complaint in (("48B", ""), ("47B", "'47B': must be 48B or more for attest")):
        file.write_text(
            "name: sizes\ndurability: 3\nsystems: [kafka]\nexperiments: [attest]\n"
            f"workload: {{message-size: {message_size}}}\n"
        )
        if not complaint:
            plan_campaign(parse_campaign(file, {}, NAMES))
            continue
        with pytest.raises(UserError) as caught:
            plan_campaign(parse_campaign(file, {}, NAMES))
        assert complaint in caught.value.message


def test_a_limit_that_is_raised_is_enough(tmp_path: Path) -> None:
    raised = "[{name: pulsar, settings: {maxMessageSize: 33554432, nettyMaxFrameSizeBytes: 34603008}}]"
    plan_campaign(campaign(tmp_path, "message-size: 20MiB", raised))


@pytest.mark.parametrize(
    ("workload", "complaint"),
    [
        ("message-size: 7B, producers: 2", "must be 8B or more with several producers or consumers"),
        ("message-size: 1B, consumers: 2", "must be 8B or more with several producers or consumers"),
        ("message-size: 15B, existing-topics: [a]", "must be 16B or more, else they can't be told from others'"),
    ],
)
def test_messages_that_can_not_be_told_apart_are_refused(tmp_path: Path, workload: str, complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        campaign(tmp_path, workload)
    assert complaint in caught.value.message


def test_what_is_not_checked_of_short_messages_is_said(tmp_path: Path) -> None:
    assert "short-messages" not in remarks(campaign(tmp_path, "message-size: 16B"))
    said = remarks(campaign(tmp_path, "message-size: 10B"))["short-messages"]
    assert "loss, repeats and order are checked, damage is not, and end-to-end times are not known" in said
    assert "every 256th message looks alike" in remarks(campaign(tmp_path, "message-size: 1B"))["short-messages"]


def test_batches_below_a_message_are_remarked_on(tmp_path: Path) -> None:
    large = "message-size: 20KiB"
    assert "batch-below-message" not in remarks(campaign(tmp_path, large))
    assert "batch-below-message" not in remarks(campaign(tmp_path, f"{large}, batch-size: 1B"))
    said = remarks(campaign(tmp_path, f"{large}, batch-size: 16KiB"))["batch-below-message"]
    assert "batches of 16 KiB, messages of 20 KiB" in said
    mixed = "message-size: {100B: 50%, 40KiB: 50%}"
    assert "batch-below-message" not in remarks(campaign(tmp_path, f"{mixed}, batch-size: 16KiB")), "half of them fit"
    own = "[{name: kafka, producer: {batch.size: 16384}}]"
    assert "batch-below-message" in remarks(campaign(tmp_path, large, own))


def test_waiting_for_batches_is_remarked_on(tmp_path: Path) -> None:
    slow = "batch-delay: 20ms"
    assert "waits-for-batches" not in remarks(campaign(tmp_path, "partitions: 1", rate="10"))
    assert "waits-for-batches" not in remarks(campaign(tmp_path, slow, rate="1M"))
    alone = remarks(campaign(tmp_path, slow, rate="10"))["waits-for-batches"]
    assert "on average a message comes every 100 ms to a producer, so batches wait for all of their delay" in alone
    # By chance others come within the delay, and of a batch that would take 21 ms to fill most is there after 20.
    by_chance = remarks(campaign(tmp_path, f"{slow}, arrival: poisson", rate="48"))["waits-for-batches"]
    nearly_full = remarks(campaign(tmp_path, f"{slow}, batch-size: 21KiB", rate="1000"))["waits-for-batches"]
    for said in (by_chance, nearly_full):
        assert "does not come" not in said and "far from full" not in said
    some = remarks(campaign(tmp_path, slow, rate="1000"))["waits-for-batches"]
    assert "a message comes every 1.00 ms to a producer, so batches wait for all of their delay" in some


def test_batches_of_messages_without_keys_fill_whatever_the_number_of_partitions(tmp_path: Path) -> None:
    """128 KiB of 1 KiB messages at 2,000 msg/s are full after 64 ms: clients fill one partition's batch at a time."""
    slow = "batch-delay: 400ms, partitions: 100"
    assert "waits-for-batches" not in remarks(campaign(tmp_path, slow, rate="2000"))
    assert "waits-for-batches" not in remarks(
        campaign(tmp_path, f"{slow}, keys: random, distinct-keys: 1", rate="2000")
    )
    spread = remarks(campaign(tmp_path, f"{slow}, keys: random", rate="2000"))["waits-for-batches"]
    assert "a message comes every 50.0 ms to a partition of a producer" in spread


def test_consumers_without_a_partition_are_remarked_on(tmp_path: Path) -> None:
    assert "idle-consumers" not in remarks(campaign(tmp_path, "partitions: 4, consumers: 4"))
    said = remarks(campaign(tmp_path, "consumers: 4"))["idle-consumers"]
    assert "so 3 of 4 receive nothing" in said
    # How many partitions topics of others have nobody knows before the run, and a trial does not ask.
    existing = Workload(consumers=4, existing_topics=("orders",), processing=Processing(ProcessingKind.CONSTANT, 0.01))
    case = Case("4.3.1", 1, LevelChoice(3), existing, msgs_per_s=300.0)
    assert hazards_of_load(case, {}) == []
    alone = replace(case, workload=replace(existing, existing_topics=()))
    assert [one.rule for one in hazards_of_load(alone, {})] == ["idle-consumers", "consumers-too-slow"]


def test_what_clients_do_that_are_not_there_puts_no_system_on_unequal_terms() -> None:
    names = {
        Property.BATCH_SIZE,
        Property.BATCH_DELAY,
        Property.COMPRESSION,
        Property.IN_FLIGHT,
        Property.RECEIVE_QUEUE,
    }

    def named(**changes: Any) -> set[Property]:
        trial = replace(spec(), workload=Workload(**changes))
        compared = contender_of_trial(trial, SystemChoice("rabbitmq"), registry.system_named("rabbitmq"))
        return names & compared.facts.keys()

    assert named() == names
    assert named(producers=0, existing_topics=("t",)) == {Property.RECEIVE_QUEUE}
    assert named(subscriptions=0) == names - {Property.RECEIVE_QUEUE}


def test_a_fetch_that_waits_for_more_than_comes_is_remarked_on(tmp_path: Path) -> None:
    waiting = "[{name: kafka, consumer: {fetch.min.bytes: 100000}}]"
    assert "fetch-waits" not in remarks(campaign(tmp_path, "message-size: 1KiB"))
    assert "fetch-waits" not in remarks(campaign(tmp_path, "message-size: 1KiB", waiting, rate="10k"))
    assert "fetch.max.wait.ms=500" in remarks(campaign(tmp_path, "message-size: 1KiB", waiting))["fetch-waits"]

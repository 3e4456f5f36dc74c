"""Workloads with one side only, types of subscription, and topics of others, as plans take or refuse them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tidegauge.campaign.model import Campaign, ExperimentChoice, SystemChoice
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.errors import UserError
from tidegauge.experiments.procedure import experiments
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import ReadSpec
from tidegauge.model.workload import Arrival, Keys, SubscriptionType, Workload
from tidegauge.systems.attach import AttachChoice


def choice(name: str, **options: object) -> ExperimentChoice:
    return ExperimentChoice(name, experiments()[name].options.model_validate(options))


def campaign(systems: tuple[SystemChoice, ...], workload: Workload, *chosen: ExperimentChoice) -> Campaign:
    return Campaign(
        name="roles",
        description="",
        systems=systems,
        durability=LevelChoice(4),
        nodes=1,
        workload=workload,
        experiments=chosen or (choice("peak"),),
        repeat=1,
        seed=1,
        data_directory="",
        source_path=Path("c.yaml"),
    )


KAFKA, PULSAR, RABBITMQ = (SystemChoice(name) for name in ("kafka", "pulsar", "rabbitmq"))
ATTACHED = replace(KAFKA, attach=AttachChoice({"bootstrap-servers": "h:1"}))
READING = Workload(producers=0, existing_topics=("orders",))


def refusal(candidate: Campaign) -> str:
    with pytest.raises(UserError) as caught:
        plan_campaign(candidate)
    return f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("systems", "kind", "expected"),
    [
        ((KAFKA,), SubscriptionType.EXCLUSIVE, "Apache Kafka has no 'exclusive': any consumer may join"),
        (
            (PULSAR, KAFKA),
            SubscriptionType.KEY_SHARED,
            "Apache Kafka has no 'key-shared': a group shares out partitions",
        ),
        ((RABBITMQ,), SubscriptionType.KEY_SHARED, "a queue knows no keys"),
        ((replace(KAFKA, version="3.9.2"),), SubscriptionType.SHARED, "from 4.2 on, and this is 3.9.2"),
    ],
)
def test_a_type_that_a_system_lacks_is_refused_by_name(
    systems: tuple[SystemChoice, ...], kind: SubscriptionType, expected: str
) -> None:
    assert expected in refusal(campaign(systems, Workload(subscription_type=kind, keys=Keys.RANDOM)))


def test_streams_are_no_queues() -> None:
    streams = replace(RABBITMQ, durability=LevelChoice(4, "stream"))
    assert "every consumer reads all of a stream" in refusal(
        campaign((streams,), Workload(subscription_type=SubscriptionType.SHARED))
    )
    plan_campaign(campaign((streams,), Workload(subscription_type=SubscriptionType.FAILOVER)))


@pytest.mark.parametrize("kind", [SubscriptionType.SHARED, SubscriptionType.FAILOVER])
def test_what_all_three_have_is_planned(kind: SubscriptionType) -> None:
    plan = plan_campaign(campaign((KAFKA, PULSAR, RABBITMQ), Workload(subscription_type=kind)))
    assert {trial.workload.subscription_type for trial in plan.trials} == {kind}


def test_topics_of_others_are_on_clusters_of_others() -> None:
    assert "'attach'" in refusal(campaign((KAFKA,), READING, choice("read")))
    (trial,) = plan_campaign(campaign((ATTACHED,), READING, choice("read", measure="2d", idle="30s"))).trials
    assert isinstance(trial, ReadSpec) and trial.choice.as_found
    assert (trial.measure_s, trial.drain_s_max, trial.workload.arrival) == (172_800, 30, Arrival.CLOSED_LOOP)


def test_failover_is_not_asked_of_a_queue_that_others_made() -> None:
    attached = replace(RABBITMQ, attach=AttachChoice({"uris": "amqp://h:1"}))
    failover = replace(READING, subscription_type=SubscriptionType.FAILOVER)
    words = refusal(campaign((attached,), failover, choice("read")))
    assert "RabbitMQ has no 'failover'" in words
    assert "a queue not made with a single active consumer shares its messages out" in words
    for system, workload in ((attached, READING), (ATTACHED, failover)):
        assert plan_campaign(campaign((system,), workload, choice("read"))).trials


def test_an_experiment_needs_the_side_that_it_measures() -> None:
    assert "nothing is sent" in refusal(campaign((ATTACHED,), READING, choice("peak")))
    assert "this workload sends" in refusal(campaign((KAFKA,), Workload(), choice("read")))
    nobody = Workload(subscriptions=0)
    assert "nobody reads" in refusal(campaign((KAFKA,), nobody, choice("catch-up", rate="1k", backlog="1GiB")))
    assert plan_campaign(campaign((KAFKA,), nobody)).trials


def test_a_schedule_decides_how_long_is_measured() -> None:
    steps = {"steps": [{"rate": "10k", "for": "30s"}, {"rate": "50k", "for": "10s"}]}
    (trial,) = plan_campaign(campaign((KAFKA,), Workload(), choice("latency", rate=steps))).trials
    assert (trial.measure_s, trial.msgs_per_s, trial.most_msgs_per_s) == (40, 10_000, 50_000)
    burst = {"base": "10k", "burst": "50k", "every": "30s", "for": "2s"}
    chosen = choice("latency", rate=burst, measure="1d")
    (trial,) = plan_campaign(campaign((KAFKA,), Workload(), chosen)).trials
    assert (trial.measure_s, trial.msgs_per_s) == (86_400, 10_000)

"""What else a workload can be, on real servers: types of subscription, fan-out, one side only, changing rates."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from deployments import Ready, ready
from loads import SMALL, fill, order_for, read_all, run_load
from patience import Patience

from tidegauge.errors import RunFailedError
from tidegauge.model.level import LevelChoice
from tidegauge.model.load import TotalFigures
from tidegauge.model.processing import Processing, ProcessingKind
from tidegauge.model.workload import Keys, RatePhase, RateSchedule, SubscriptionType

SYSTEMS = ["kafka", "pulsar", "rabbitmq"]
HAVE = {
    SubscriptionType.EXCLUSIVE: ["pulsar", "rabbitmq"],
    SubscriptionType.FAILOVER: SYSTEMS,
    SubscriptionType.SHARED: SYSTEMS,
    SubscriptionType.KEY_SHARED: ["pulsar"],
}


on_each = pytest.mark.parametrize(
    "system",
    # In `make test`: test_main_job.py has Pulsar.
    ["kafka", pytest.param("pulsar", marks=[pytest.mark.slow, pytest.mark.often]), "rabbitmq"],
    indirect=True,
    scope="module",
)
"""For what systems do differently."""
on_kafka_first = pytest.mark.parametrize(
    "system",
    ["kafka", *(pytest.param(name, marks=pytest.mark.slow) for name in ("pulsar", "rabbitmq"))],
    indirect=True,
    scope="module",
)
"""For what differs in the driver only."""


@pytest.fixture(scope="module")
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    with ready(request.param, LevelChoice(4), tmp_path_factory.mktemp(request.param)) as started:
        yield started


def exact(totals: TotalFigures) -> int:
    """Every message sent was acknowledged and came to each subscription once; returns how many."""
    assert totals.sent == totals.acked > 0
    for sub in totals.subscriptions:
        assert (sub.unique, sub.lost, sub.duplicated, sub.corrupt, sub.foreign) == (totals.acked, 0, 0, 0, 0)
    return totals.acked


@on_each
@pytest.mark.parametrize("kind", list(HAVE))
def test_two_consumers_of_each_type_account_for_every_message(system: Ready, kind: SubscriptionType) -> None:
    keyed = kind is SubscriptionType.KEY_SHARED
    consumers = 1 if kind is SubscriptionType.EXCLUSIVE else 2
    workload = replace(
        SMALL,
        partitions=2,
        consumers=consumers,
        subscription_type=kind,
        keys=Keys.ROUND_ROBIN if keyed else Keys.NONE,
        distinct_keys=50,
    )
    order = order_for(system, f"type-{kind}", workload)
    if system.system.name not in HAVE[kind]:
        assert system.system.subscription_problem(kind, system.system.default_version, system.choice, False)
        with pytest.raises(RunFailedError, match="has no subscription-type"):
            system.worker.prepare(order)
        return
    assert system.system.subscription_problem(kind, system.system.default_version, system.choice, False) == ""
    totals = run_load(system, order)
    exact(totals)
    assert [sub.reordered for sub in totals.subscriptions] == [0]


@on_kafka_first
def test_shared_consumers_take_from_one_partition(system: Ready) -> None:
    """What the other types can't: more consumers than partitions, all of them receiving, and no order to check."""
    workload = replace(SMALL, consumers=3, subscription_type=SubscriptionType.SHARED)
    exact(run_load(system, order_for(system, "shared", workload)))


@pytest.mark.slow
@pytest.mark.parametrize("system", ["kafka"], indirect=True, scope="module")
def test_a_share_group_of_four_processes_one_partition_four_times_as_fast_as_one_consumer(system: Ready) -> None:
    """At 20 ms a message, with more on offer than four can process. A busy machine wakes all of them late alike."""
    rates = {}
    for consumers in (1, 4):
        workload = replace(
            SMALL,
            consumers=consumers,
            subscription_type=SubscriptionType.SHARED,
            processing=Processing(ProcessingKind.CONSTANT, 0.02),
            # One that takes many at once leaves the others without.
            consumer_overrides={"kafka": {"max.poll.records": "20"}},
        )
        system.worker.prepare(order_for(system, f"processed-by-{consumers}", workload, 400.0))
        try:
            system.worker.start()
            time.sleep(4.0)
            began_ns, before = time.monotonic_ns(), system.worker.totals().subscriptions[0]
            time.sleep(10.0)
            ended_ns, after = time.monotonic_ns(), system.worker.totals().subscriptions[0]
            system.worker.stop_producers(10.0)
        finally:
            system.worker.finish(delete_topics=True)
        assert (after.duplicated, after.corrupt, after.foreign) == (0, 0, 0)
        rates[consumers] = (after.received - before.received) / (ended_ns - began_ns) * 1e9
    # Each of them takes a message every 20 ms at most.
    assert rates[1] < 52
    assert rates[4] / rates[1] == pytest.approx(4, rel=0.25), rates


@on_kafka_first
def test_several_topics_fan_out_to_several_subscriptions(system: Ready) -> None:
    workload = replace(SMALL, topics=3, partitions=2, producers=2, subscriptions=3, consumers=2)
    totals = run_load(system, order_for(system, "fan-out", workload))
    exact(totals)
    assert len(totals.subscriptions) == 3
    assert [sub.reordered for sub in totals.subscriptions] == [0, 0, 0]


@on_kafka_first
def test_producers_alone_then_readers_alone_of_the_same_topic(system: Ready) -> None:
    """Without subscriptions nobody reads; then a reader finds what is there, verifies it, and leaves nothing behind."""
    topics, sent = fill(system, "filled")
    existing = replace(SMALL, producers=0, existing_topics=topics)
    totals = read_all(system, existing, sent)
    (sub,) = totals.subscriptions
    assert totals.sent == 0
    assert (sub.received, sub.verified, sub.foreign, sub.corrupt) == (sent, sent, 0, 0)
    assert sub.last_received_mono_ns > sub.first_received_mono_ns > 0
    # The topic is still there: producers may use it too, and what was there before is not taken for theirs.
    if system.system.name != "rabbitmq":
        totals = run_load(system, order_for(system, "", replace(SMALL, existing_topics=topics)), 0.5)
        assert exact(totals) > 0
    system.worker.delete_topics(system.system.driver, system.deployment.connection, list(topics))


@on_kafka_first
def test_a_topic_that_does_not_exist_is_no_existing_one(system: Ready) -> None:
    workload = replace(SMALL, producers=0, existing_topics=("never-made",))
    with pytest.raises(RunFailedError, match="never-made"):
        system.worker.prepare(order_for(system, "", workload))


@on_kafka_first
def test_a_schedule_keeps_the_latency_of_each_step(system: Ready) -> None:
    steps = RateSchedule((RatePhase(500, 500, 1.0, 0), RatePhase(500, 1500, 1.0, 1)), ("low", "rising"))
    totals = run_load(system, order_for(system, "steps", SMALL, 0.0, steps), seconds=2.0)
    assert [record.intended for record in totals.window.records] == [500, 1000]
    assert [record.acked for record in totals.window.records] == [500, 1000]
    assert all(record.response for record in totals.window.records)
    assert all(sub.record_end_to_end[0] and sub.record_end_to_end[1] for sub in totals.subscriptions)


# In `make test`: partitions are made above, and tests/unit/worker/test_group.py has the progress.
@pytest.mark.slow
@pytest.mark.often
@on_kafka_first
def test_hundreds_of_partitions_are_created_with_progress(system: Ready) -> None:
    if system.system.name == "rabbitmq":
        pytest.skip("a queue for each of hundreds of partitions is no way to use RabbitMQ")
    reports: list[tuple[str, int, int]] = []
    order = order_for(system, "hundreds", replace(SMALL, partitions=300))
    system.worker.prepare(order, lambda *progress: reports.append(progress))
    system.worker.start()
    time.sleep(1.0)
    system.worker.stop_producers(10.0)
    patience = Patience(20)
    while any(s.backlog for s in system.worker.totals().subscriptions) and not patience.is_over():
        time.sleep(0.05)
    totals = system.worker.totals()
    system.worker.finish(delete_topics=True)
    exact(totals)
    assert all(0 <= done <= total for _, done, total in reports)


# In `make test`: streams carry messages in test_rabbitmq_deployment.py; one active consumer is above, on queues.
@pytest.mark.slow
def test_streams_have_one_active_consumer_and_are_read_by_anybody(tmp_path: Path) -> None:
    with ready("rabbitmq", LevelChoice(4, "stream"), tmp_path) as streams:
        failover = replace(SMALL, partitions=2, consumers=2, subscription_type=SubscriptionType.FAILOVER)
        exact(run_load(streams, order_for(streams, "failover", failover)))
        with pytest.raises(RunFailedError, match="every consumer reads all of a stream"):
            shared = replace(SMALL, subscription_type=SubscriptionType.SHARED)
            streams.worker.prepare(order_for(streams, "shared", shared))
        order = order_for(streams, "filled", replace(SMALL, partitions=2, subscriptions=0))
        sent = run_load(streams, order, 0.5, keep=True).acked
        existing = replace(SMALL, producers=0, subscriptions=2, existing_topics=order.topic_names)
        totals = read_all(streams, existing, sent)
        assert [(sub.received, sub.verified, sub.corrupt) for sub in totals.subscriptions] == [(sent, sent, 0)] * 2

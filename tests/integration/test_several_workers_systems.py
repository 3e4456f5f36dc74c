"""Three workers on real servers count what one worker counts for the same seed, whoever received which message."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from deployments import Ready, ready
from live import SECOND_NS
from loads import DRAIN_S_MAX, SMALL, order_for
from patience import Patience, sleep_until

from tidegauge.model.level import LevelChoice
from tidegauge.model.load import TotalFigures
from tidegauge.model.workload import Arrival, SubscriptionType
from tidegauge.worker.api import LoadOrder, LoadWorker
from tidegauge.worker.launch import start_workers

# In `make test`: several workers on the null system in test_several_workers.py, one on each system in many.
pytestmark = [pytest.mark.integration, pytest.mark.slow]
WORKERS = 3
MSGS_PER_S = 1_000.0
LOAD_S = 6
LEAD_S = 2.0
"""Before the load begins: three JVMs that are still cold must have heard of its end by then."""
LOADED = replace(SMALL, partitions=3, producers=4, arrival=Arrival.POISSON)
LOADS = {
    "one-shared": replace(LOADED, consumers=3, subscription_type=SubscriptionType.SHARED),
    "one-usual": replace(LOADED, consumers=3),
    "two-exclusive": replace(LOADED, subscriptions=2, subscription_type=SubscriptionType.EXCLUSIVE),
}
"""By their subscriptions. Of each the consumers sit in different workers."""


@pytest.fixture(scope="module", params=["kafka", "pulsar", "rabbitmq"])
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    with ready(request.param, LevelChoice(4), tmp_path_factory.mktemp(request.param)) as started:
        yield started


@pytest.fixture(scope="module")
def workers(system: Ready, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadWorker]:
    found = start_workers(system.host, system.system.driver, tmp_path_factory.mktemp("logs"), count=WORKERS)
    yield found
    found.close()


def load_of(worker: LoadWorker, order: LoadOrder) -> TotalFigures:
    """A load that ends by its schedule: how many messages it has follows from the seed, not from when it is stopped."""
    worker.prepare(order)
    try:
        begin_ns = worker.start(LEAD_S)
        until_ns = begin_ns + LOAD_S * SECOND_NS
        worker.set_window(begin_ns, until_ns)
        worker.set_rate(0.0, until_ns)
        sleep_until(until_ns + SECOND_NS // 5)
        assert worker.stop_producers(30.0) == 0
        patience = Patience(DRAIN_S_MAX)
        while any(sub.backlog for sub in worker.counts().subscriptions) and not patience.is_over():
            time.sleep(0.1)
        # What is delivered again comes a little later.
        time.sleep(0.5)
        return worker.totals()
    finally:
        worker.finish(delete_topics=True)


def counts_of(totals: TotalFigures) -> dict[str, object]:
    """Everything that is a count and no time."""
    return {
        "sent": totals.sent,
        "acked": totals.acked,
        "failed": totals.failed,
        "intended in the window": totals.window.intended,
        "acked in the window": totals.window.acked,
        "subscriptions": [
            (
                *(sub.name, sub.received, sub.unique, sub.window_received, sub.received_bytes),
                *(sub.backlog, sub.lost, sub.duplicated, sub.reordered, sub.corrupt, sub.foreign),
            )
            for sub in totals.subscriptions
        ],
    }


@pytest.mark.parametrize("name", list(LOADS))
def test_three_workers_count_what_one_counts(system: Ready, workers: LoadWorker, name: str) -> None:
    workload = LOADS[name]
    kind = workload.subscription_type
    if system.system.subscription_problem(kind, system.system.default_version, system.choice, False):
        # Kafka: its one consumer has all partitions to itself all the same.
        workload = replace(workload, subscription_type=SubscriptionType.BY_PARTITION)
    alone = load_of(system.worker, order_for(system, f"{name}-alone", workload, MSGS_PER_S))
    together = load_of(workers, order_for(system, f"{name}-together", workload, MSGS_PER_S))
    counts = counts_of(alone)
    assert counts_of(together) == counts
    assert alone.sent == alone.acked == alone.window.intended == pytest.approx(MSGS_PER_S * LOAD_S, rel=0.1)
    for sub in together.subscriptions:
        assert sub.received == sub.unique == together.acked
        assert (sub.lost, sub.duplicated, sub.reordered, sub.corrupt, sub.foreign) == (0, 0, 0, 0, 0)
    assert len(together.workers) == WORKERS
    # Nobody did it all, and with three consumers of a subscription each received some.
    for part in together.workers:
        assert 0 < part.totals.sent < together.sent
        if workload.consumers == WORKERS:
            assert 0 < part.totals.subscriptions[0].unique < together.subscriptions[0].unique

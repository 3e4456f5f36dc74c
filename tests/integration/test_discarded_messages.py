"""Messages that a consumer's client throws away, since they come damaged: nobody knows whether they are lost."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.request import Request, urlopen

import kafka_proxy
import pulsar_proxy
import pytest
import stream_proxy
from command import Place
from deployments import MSGS_PER_S, Ready, ready
from kafka_names import delete_records
from live import order_on
from patience import Patience
from proxies import MESSAGE, flipped

from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import Payload, SubscriptionType, Workload
from tidegauge.worker.api import LoadOrder
from tidegauge.worker.sequences import account_for_missing

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CAMPAIGN = """
name: flipped
systems: [{{name: pulsar, attach: {{service-url: "{service}", admin-url: "{admin}"}}}}]
durability: {{level: 4, form: journal}}
workload: {{message-size: 1KiB}}
experiments:
  - {{name: latency, rate: 200, warm-up-min: 2s, warm-up-max: 2s, measure: 6s, drain-max: 20s}}
"""
SHORT_LEDGERS = {"managedLedgerMaxEntriesPerLedger": "50", "managedLedgerMinLedgerRolloverTimeMinutes": "0"}
"""What consumers have done with is soon gone."""
KAFKA, PULSAR, STREAM = (
    ("kafka", LevelChoice(4)),
    ("pulsar", LevelChoice(4, "journal")),
    ("rabbitmq", LevelChoice(4, "stream")),
)


class Flips:
    """Flips a bit of one delivery of messages, once it is asked to."""

    def __init__(self) -> None:
        self.wanted = 0
        self.made = 0

    def __call__(self, frame: bytes) -> bytes:
        if self.made >= self.wanted or MESSAGE not in frame:
            return frame
        self.made += 1
        return flipped(frame)

    async def of_kafka(self, answer: kafka_proxy.Answer) -> bytes:
        """The same of an answer of Kafka's."""
        return self(answer.frame) if answer.carries_messages else answer.frame


@contextmanager
def proxied(servers: Ready, flips: Flips) -> Iterator[dict[str, str]]:
    """What a client is to know of servers behind a proxy."""
    known = dict(servers.deployment.connection)
    key, through = {
        "kafka": ("bootstrap.servers", lambda at: kafka_proxy.proxied(at, flips.of_kafka)),
        "pulsar": ("serviceUrl", lambda at: pulsar_proxy.proxied(at, flips)),
        "rabbitmq": ("streamUri", lambda at: stream_proxy.proxied(at, flips)),
    }[servers.system.name]
    with through(known[key]) as address:
        yield {**known, key: address}


def order_through(servers: Ready, connection: dict[str, str], kind: SubscriptionType) -> LoadOrder:
    """A small load through a proxy."""
    workload = Workload(payload=Payload(message_bytes=200), subscription_type=kind)
    return order_on(
        servers.deployment, servers.system, servers.choice, connection=connection, topic_names=("flipped",),
        workload=workload, msgs_per_s=MSGS_PER_S, trial_number=7,
    )  # fmt: skip


def test_what_pulsar_has_deleted_since_its_client_threw_it_away_is_not_known(tmp_path: Path) -> None:
    flips = Flips()

    def flip(frame: bytes) -> bytes:
        nonlocal deliveries
        deliveries += MESSAGE in frame
        flips.wanted = 3 if deliveries > 300 else 0
        return flips(frame)

    deliveries = 0
    with ready("pulsar", PULSAR[1], tmp_path / "servers", SHORT_LEDGERS) as pulsar:
        known = pulsar.deployment.connection
        place = Place(tmp_path)
        with pulsar_proxy.proxied(known["serviceUrl"], flip) as service:
            campaign = CAMPAIGN.format(service=service, admin=known["adminUrl"])
            done = place.run("run", str(place.write(campaign)))
    (path,) = place.only_run().glob("trials/*/result.json")
    result = json.loads(path.read_text())["result"]
    (sub,) = result["subscriptions"]
    printed = " ".join(done.stdout.split())
    assert flips.made == 3
    assert result["status"] == "ok", done.printed
    assert (sub["lost"], sub["late"], sub["corrupt"], sub["duplicated"]) == (0, 0, 0, 0)
    # At 200 msg/s a batch has one message, or where the machine is slow a few.
    assert 3 <= sub["untraced"] == sub["backlog"] == result["acked"] - sub["received"] < 100
    error = "IOException: Pulsar's client discarded an entry that came damaged"
    assert result["errors"] == [["receive", error, 3]]
    assert "LOST" not in printed
    assert f"{sub['untraced']} not traced" in printed
    (reason,) = [text for text in result["reasons"] if "not delivered in time" in text]
    assert reason.endswith(
        "and whether they are lost is not known: consumers' clients discarded deliveries that may have held up to "
        f"384 messages; its consumers met 3 errors: {error}"
    )


def delete_kafka_records(servers: Ready) -> None:
    assert delete_records(servers.deployment.connection["bootstrap.servers"], "flipped") > 0


def delete_stream(servers: Ready) -> None:
    servers.worker.delete_topics(servers.system.driver, servers.deployment.connection, ["flipped"])


@pytest.mark.parametrize(
    ("system", "kind", "delete"),
    [(KAFKA, SubscriptionType.SHARED, delete_kafka_records), (STREAM, SubscriptionType.BY_PARTITION, delete_stream)],
)
def test_what_a_client_threw_away_is_late_until_the_topic_has_it_no_more_and_then_not_known(
    system: tuple[str, LevelChoice], kind: SubscriptionType, delete: Callable[[Ready], None], tmp_path: Path
) -> None:
    flips = Flips()
    with ready(*system, tmp_path) as servers, proxied(servers, flips) as connection:
        worker, order = servers.worker, order_through(servers, connection, kind)
        worker.prepare(order)
        worker.start()
        time.sleep(1.5)
        flips.wanted = 1
        time.sleep(1.5)
        assert worker.stop_producers(20.0) == 0
        patience = Patience(20.0)
        while not worker.totals().errors and not patience.is_over():
            time.sleep(0.2)
        time.sleep(3.0)
        worker.close_consumers(["sub-0"])
        totals = worker.totals()
        (sub,) = totals.subscriptions
        assert flips.made == 1
        ((where, _, errors),) = totals.errors
        assert (where, errors) == ("receive", 1)
        missing = worker.missing(["sub-0"])["sub-0"]
        assert 0 < sub.lost <= sub.discarded_max < 2_000
        for present in (True, False):
            trace = worker.trace(order, "sub-0", 60.0, whole=True)
            result = account_for_missing(
                missing, trace.present, unattributed=0, why=trace.why_incomplete, gone=trace.gone,
                discarded_max=sub.discarded_max,
            )  # fmt: skip
            assert (result.lost, result.late, result.untraced) == (0, *((sub.lost, 0) if present else (0, sub.lost)))
            if present:
                delete(servers)
        worker.finish(delete_topics=True)


@pytest.mark.parametrize("partitions", [1, 2])
def test_a_topic_that_is_partitioned_into_one_is_found_read_and_watched_too(partitions: int, tmp_path: Path) -> None:
    """It is no topic without partitions: its only partition has a name of its own."""
    flips = Flips()
    with ready(*PULSAR, tmp_path) as servers, proxied(servers, flips) as connection:
        rest = f"{connection['adminUrl']}/admin/v2/persistent/public/default/mine/partitions"
        body, kind = str(partitions).encode(), {"Content-Type": "application/json"}
        urlopen(Request(rest, data=body, method="PUT", headers=kind)).close()
        order = replace(order_through(servers, connection, SubscriptionType.BY_PARTITION), topic_names=("mine",))
        order = replace(order, workload=replace(order.workload, existing_topics=("mine",)))
        worker = servers.worker
        worker.prepare(order)
        worker.start()
        time.sleep(1.0)
        flips.wanted = 1
        time.sleep(1.0)
        worker.pause_consumers([])
        time.sleep(1.0)
        assert worker.stop_producers(20.0) == 0
        worker.close_consumers(["sub-0"])
        totals = worker.totals()
        (sub,) = totals.subscriptions
        ((where, _, errors),) = totals.errors
        assert (where, errors, flips.made) == ("receive", 1, 1)
        assert sub.discarded_max > 0
        missing = worker.missing(["sub-0"])["sub-0"]
        trace = worker.trace(order, "sub-0", 60.0, whole=True)
        result = account_for_missing(missing, trace.present, unattributed=0, why=trace.why_incomplete, gone=trace.gone)
        assert (result.lost, result.late, trace.gone) == (0, sub.lost, "")
        assert sub.lost > 50
        worker.finish(delete_topics=False)


@pytest.mark.parametrize("system", [PULSAR, STREAM])
def test_a_reader_that_threw_something_away_has_not_read_the_topic(
    system: tuple[str, LevelChoice], tmp_path: Path
) -> None:
    flips = Flips()
    with ready(*system, tmp_path) as servers, proxied(servers, flips) as connection:
        worker, order = servers.worker, order_through(servers, connection, SubscriptionType.BY_PARTITION)
        worker.prepare(order)
        worker.pause_consumers([])
        worker.start()
        time.sleep(1.5)
        assert worker.stop_producers(20.0) == 0
        worker.close_consumers(["sub-0"])
        (sub,) = worker.totals().subscriptions
        missing = worker.missing(["sub-0"])["sub-0"]
        for flips.wanted in (1, 0):
            trace = worker.trace(order, "sub-0", 60.0, whole=True)
            result = account_for_missing(missing, trace.present, unattributed=0, why=trace.why_incomplete)
            assert result.lost == 0
            assert result.late + result.untraced == sub.lost > 100
            assert (result.untraced > 0) == (flips.wanted == 1)
            if flips.wanted:
                assert re.fullmatch(
                    r"Pulsar's client discarded ledger \d+ entry \d+, which came damaged"
                    r"|RabbitMQ's stream client discarded \d+ messages that came damaged",
                    result.why,
                )
        assert flips.made == 1
        worker.finish(delete_topics=True)

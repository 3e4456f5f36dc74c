"""Real messages that do not reach a consumer: lost only where the servers have them no more."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import struct
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import Place
from deployments import MSGS_PER_S, Ready, ready
from kafka_names import delete_records
from kafka_proxy import Answer, Change, proxied
from live import order_on
from patience import Patience
from proxies import MESSAGE

from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import ClientSettings, Payload, Workload
from tidegauge.worker.api import LoadOrder
from tidegauge.worker.sequences import account_for_missing

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CAMPAIGN = """
name: held-back
systems:
  - name: {system}
    attach: {{{attach}}}
durability: {level}
workload: {{message-size: 1KiB, subscription-type: {kind}}}
experiments:
  - {{name: latency, rate: 200, warm-up-min: 2s, warm-up-max: 2s, measure: 6s, drain-max: {drain}}}
thresholds: [lost == 0]
"""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    with ready("kafka", LevelChoice(3), tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka


def measured(
    kafka: Ready, root: Path, change: Change, drain: str, kind: str = "by-partition"
) -> tuple[dict[str, Any], str, int]:
    """The result, what was printed, and the exit code of a run through a proxy."""
    place = Place(root)
    with proxied(kafka.deployment.connection["bootstrap.servers"], change) as servers:
        attach = f'bootstrap-servers: "{servers}"'
        return nothing_lost(place, CAMPAIGN.format(system="kafka", level=3, attach=attach, drain=drain, kind=kind))


def nothing_lost(place: Place, campaign: str) -> tuple[dict[str, Any], str, int]:
    """The same of a campaign of one trial, whatever is between its clients and servers."""
    done = place.run("run", str(place.write(campaign)))
    assert place.runs.exists(), done.printed
    (path,) = place.only_run().glob("trials/*/result.json")
    result: dict[str, Any] = json.loads(path.read_text())["result"]
    printed = " ".join(done.stdout.split())
    assert result["status"] == "ok", done.printed
    assert result["subscriptions"][0]["lost"] == 0, done.printed
    assert "got lost" not in printed
    assert "LOST" not in printed
    return result, printed, done.returncode


def test_deliveries_that_are_held_back_are_no_loss(kafka: Ready, tmp_path: Path) -> None:
    async def late(answer: Answer) -> bytes:
        if answer.carries_messages:
            await asyncio.sleep(6.5)
        return answer.frame

    result, _, _ = measured(kafka, tmp_path, late, drain="60s")
    # After a silence of 6.5 s nobody gives up after 5 s: all of it comes.
    assert result["subscriptions"][0]["backlog"] == 0


def test_a_consumer_that_gets_nothing_more_is_late_and_the_topic_has_the_rest(kafka: Ready, tmp_path: Path) -> None:
    delivered = 0

    async def held(answer: Answer) -> bytes:
        nonlocal delivered
        if answer.carries_messages:
            delivered += 1
            if delivered > 20:
                await asyncio.Event().wait()
        return answer.frame

    result, printed, code = measured(kafka, tmp_path, held, drain="30s")
    sub = result["subscriptions"][0]
    assert sub["late"] == sub["backlog"] == result["acked"] - sub["received"] > 0
    assert sub["untraced"] == 0
    assert f"{sub['late']:,} acknowledged messages not delivered in time (sub-0), but are in the topic" in printed
    assert code in (0, 3), "the threshold is met, and no check failed"


@pytest.mark.parametrize("kind", ["by-partition", "shared"])
def test_a_bit_that_is_flipped_on_the_way_to_a_consumer_is_no_loss(kafka: Ready, tmp_path: Path, kind: str) -> None:
    fetches = 0

    async def flip(answer: Answer) -> bytes:
        nonlocal fetches
        fetches += answer.carries_messages
        return answer.flipped() if answer.carries_messages and fetches == 30 else answer.frame

    result, _, _ = measured(kafka, tmp_path, flip, "60s", kind)
    sub = result["subscriptions"][0]
    assert fetches >= 30
    assert [error for error in result["errors"] if error[0] == "receive"], "the client refused it"
    assert (sub["corrupt"], sub["duplicated"]) == (0, 0)
    # The client of a share group rejects such a batch by itself: the group has done with it, and the topic has it.
    assert sub["late"] == sub["backlog"]
    assert (sub["backlog"] > 0) == (kind == "shared")


def window_of(place: Place) -> dict[str, int]:
    """What a trial that is being measured has stored of its window; {} before and after."""
    for path in place.runs.glob("*/trials/*/measuring.json"):
        with contextlib.suppress(OSError, ValueError):
            measuring: dict[str, int] = json.loads(path.read_text())["measuring"]
            return measuring
    return {}


@pytest.mark.parametrize("measure", ["6s", "6500ms"])
def test_what_waits_when_the_window_ends_is_not_what_waits_a_moment_later(
    kafka: Ready, tmp_path: Path, measure: str
) -> None:
    """Of deliveries that are held back from 50 ms after it on, by when the proxy passed them on."""
    place = Place(tmp_path)
    window: dict[str, int] = {}
    delivered_ns: list[int] = []

    async def held(answer: Answer) -> bytes:
        if answer.carries_messages:
            if not window:
                window.update(window_of(place))
            since_end_s = (time.monotonic_ns() - window["until_mono_ns"]) / 1e9 if window else -1.0
            if 0.05 <= since_end_s < 2.5:
                await asyncio.sleep(2.5 - since_end_s)
            delivered_ns.extend([time.monotonic_ns()] * answer.frame.count(MESSAGE))
        return answer.frame

    with proxied(kafka.deployment.connection["bootstrap.servers"], held) as servers:
        attach = f'bootstrap-servers: "{servers}"'
        campaign = CAMPAIGN.format(system="kafka", level=3, attach=attach, drain="60s", kind="by-partition")
        result, _, _ = nothing_lost(place, campaign.replace("measure: 6s", f"measure: {measure}"))
    begin_ns, end_ns = window["begin_mono_ns"], window["until_mono_ns"]
    due = 200 * (end_ns - begin_ns) / 1e9
    passed_on = sum(begin_ns <= at_ns <= end_ns for at_ns in delivered_ns)
    # A message or two may come while it is asked for.
    assert result["subscriptions"][0]["window_end_backlog"] <= due - passed_on + 10
    assert sum(end_ns <= at_ns < end_ns + 10**9 for at_ns in delivered_ns) < 100, "they were held back"


@pytest.mark.parametrize(
    ("name", "choice", "queue"),
    [
        ("kafka", LevelChoice(4), ""),
        ("pulsar", LevelChoice(4, "journal"), ""),
        ("rabbitmq", LevelChoice(3), "quorum"),
        ("rabbitmq", LevelChoice(3), "stream"),
    ],
)
def test_a_fresh_reader_finds_what_consumers_left(name: str, choice: LevelChoice, queue: str, tmp_path: Path) -> None:
    """Of each system, also from where it says that the subscription has come."""
    with ready(name, choice, tmp_path) as here:
        worker, settings = here.worker, {"queue.type": queue} if queue else here.system.topic_settings(choice)
        order = here.order(f"left-{queue or name}", settings)
        worker.prepare(order)
        worker.start()
        time.sleep(1.5)
        worker.pause_consumers([])
        time.sleep(1.5)
        worker.stop_producers(20.0)
        worker.close_consumers(["sub-0"])
        (sub,) = worker.totals().subscriptions
        missing = worker.missing(["sub-0"])["sub-0"]
        assert sub.received > 0
        assert len(missing[0]) == sub.lost > 100
        # A queue takes back what was under way in its own time.
        patience = Patience(60.0)
        late = 0
        while late < sub.lost and not patience.is_over():
            trace = worker.trace(order, "sub-0", 60.0, whole=False)
            whole = worker.trace(order, "sub-0", 60.0, whole=True)
            assert trace.why_incomplete == whole.why_incomplete == ""
            late = account_for_missing(missing, whole.present, unattributed=0, why="").late
        assert late == sub.lost
        # A stream's reader that is closed may have stored a position behind a few that it had not handed over.
        assert len(missing[0] & trace.present[0]) > 0.9 * sub.lost
        assert queue == "quorum" or len(trace.present[0]) < len(whole.present[0])
        worker.finish(delete_topics=True)


def flip_on_disk(bookie: Path, trial_id: int, after: int) -> int:
    """Flip a bit of the first message after a sequence in the files of a bookie. Returns that message's sequence."""
    patience = Patience(60.0)
    while not patience.is_over():
        for path in sorted(bookie.rglob("current/*.log")):
            data = path.read_bytes()
            for header in re.finditer(re.escape(b"TDG1"), data):
                trial, sequence = struct.unpack_from("<8xQ8xQ", data, header.start())
                if trial == trial_id and sequence > after:
                    place = header.start() + 100
                    with path.open("r+b") as file:
                        file.seek(place)
                        file.write(bytes([data[place] ^ 1]))
                    return int(sequence)
        time.sleep(0.5)
    raise AssertionError("the bookie wrote no such message to its entry logs")


def test_an_entry_that_a_bookie_can_not_read_any_more_is_not_known_and_what_follows_it_is_late(tmp_path: Path) -> None:
    # What is in the memory of bookie or broker is read from there: neither keeps it for long.
    settings = {"flushInterval": "500", "dbStorage_readAheadCacheMaxSizeMb": "1", "managedLedgerCacheSizeMB": "0"}
    with ready("pulsar", LevelChoice(4, "journal"), tmp_path, settings) as servers:
        worker = servers.worker
        client = ClientSettings(receive_queue_messages=10)
        order = order_on(
            servers.deployment, servers.system, servers.choice, topic_names=("flipped",), topic_settings={},
            workload=Workload(payload=Payload(message_bytes=200), client=client), msgs_per_s=MSGS_PER_S, trial_number=7,
        )  # fmt: skip
        worker.prepare(order)
        worker.start()
        time.sleep(1.5)
        worker.pause_consumers([])
        time.sleep(3.0)
        assert worker.stop_producers(20.0) == 0
        (sub,) = worker.totals().subscriptions
        flipped = flip_on_disk(tmp_path / "data", 7, after=sub.unique + 500)
        worker.resume_consumers([])
        patience = Patience(30.0)
        while sub.unique < flipped - 100 and not patience.is_over():
            time.sleep(0.3)
            (sub,) = worker.totals().subscriptions
        worker.close_consumers(["sub-0"])
        missing = worker.missing(["sub-0"])["sub-0"]
        assert flipped in missing[0]
        for whole in (False, True):
            trace = worker.trace(order, "sub-0", 60.0, whole=whole)
            result = account_for_missing(
                missing, trace.present, unattributed=0, why=trace.why_incomplete, gone=trace.gone
            )
            unread = missing[0] - trace.present[0]
            assert result.lost == 0
            # With it all of its batch, which is one entry.
            assert flipped in unread
            assert len(unread) == result.untraced == unread.max() - unread.min() + 1 < 100
            assert result.late == len(missing[0]) - result.untraced > 100
            assert re.fullmatch(
                r"Pulsar could not read ledger \d+ entry \d+: Entry digest does not match.*", result.why
            )
        worker.finish(delete_topics=True)


def management(here: Ready, method: str, path: str, body: object = None, of: str = "queues") -> Any:
    """What RabbitMQ's management API answers."""
    connection = here.deployment.connection
    user, _, password = connection["uri"].split("//")[1].partition("@")[0].partition(":")
    data = None if body is None else json.dumps(body).encode()
    url = f"{connection['managementUrl']}/api/{of}/%2F{path}"
    request = urllib.request.Request(url, data=data, method=method)
    request.add_header("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request) as reply:
        text = reply.read()
    return json.loads(text) if text else None


def purge(here: Ready, topic: str, what: str = "/contents") -> None:
    """Empty the one queue of a topic, but for what a consumer holds; with "" for `what` delete it."""
    (name,) = [queue["name"] for queue in management(here, "GET", "") if topic in queue["name"]]
    management(here, "DELETE", f"/{name}{what}")


def delete_queue(servers: Ready, topic: str) -> None:
    purge(servers, topic, "")


def delete_kafka_topic(servers: Ready, topic: str) -> None:
    assert delete_records(servers.deployment.connection["bootstrap.servers"], topic, "whole") > 0


def delete_pulsar_topic(servers: Ready, topic: str) -> None:
    url = f"{servers.deployment.connection['adminUrl']}/admin/v2/persistent/public/default/{topic}?force=true"
    with urllib.request.urlopen(urllib.request.Request(url, method="DELETE")):
        pass


def delete_all(here: Ready, topic: str) -> None:
    assert delete_records(here.deployment.connection["bootstrap.servers"], topic) > 0


def delete_under_late_consumer(
    servers: Ready, choice: LevelChoice, queue: str, delete: Callable[[Ready, str], None]
) -> LoadOrder:
    """The order of a load that goes on, of whose topic something was deleted while its consumer paused."""
    worker, settings = servers.worker, {"queue.type": queue} if queue else servers.system.topic_settings(choice)
    # So few at hand that most of what is due while it pauses stays with the servers.
    client = ClientSettings(receive_queue_messages=10)
    order = order_on(
        servers.deployment, servers.system, servers.choice, topic_names=("deleted",), topic_settings=settings,
        workload=Workload(payload=Payload(message_bytes=200), client=client), msgs_per_s=MSGS_PER_S, trial_number=7,
    )  # fmt: skip
    worker.prepare(order)
    worker.start()
    time.sleep(1.5)
    worker.pause_consumers([])
    time.sleep(1.5)
    delete(servers, "deleted")
    return order


@pytest.mark.parametrize(
    ("name", "choice", "queue", "delete"),
    [("kafka", LevelChoice(4), "", delete_all), ("rabbitmq", LevelChoice(3), "quorum", purge)],
)
def test_what_is_deleted_under_a_late_consumer_is_lost_to_the_message(
    name: str, choice: LevelChoice, queue: str, delete: Callable[[Ready, str], None], tmp_path: Path
) -> None:
    """How many, by another count: what was acknowledged but what came, once consumers have caught up."""
    with ready(name, choice, tmp_path) as here:
        worker = here.worker
        order = delete_under_late_consumer(here, choice, queue, delete)
        worker.resume_consumers([])
        time.sleep(1.5)
        unresolved = worker.stop_producers(20.0)
        patience = Patience(30.0)
        received, since = -1, 0
        while since < 10 and not patience.is_over():
            (sub,) = worker.totals().subscriptions
            received, since = (sub.received, 0) if sub.received > received else (received, since + 1)
            time.sleep(0.3)
        totals = worker.totals()
        (sub,) = totals.subscriptions
        missing = worker.missing(["sub-0"])["sub-0"]
        whole = worker.trace(order, "sub-0", 60.0, whole=True)
        result = account_for_missing(missing, whole.present, unattributed=0, why=whole.why_incomplete)
        assert (unresolved, totals.failed, sub.duplicated) == (0, 0, 0)
        assert (result.late, result.untraced) == (0, 0)
        assert result.lost == totals.acked - sub.received > 100
        worker.finish(delete_topics=True)


DELETED = {
    "kafka": (delete_kafka_topic, "Kafka has no topic deleted any more"),
    "pulsar": (delete_pulsar_topic, "Pulsar has no topic deleted any more"),
    "rabbitmq": (delete_queue, "RabbitMQ has no queue deleted.0 any more"),
}
"""By system, how somebody deletes a topic, and how its servers say that it is gone."""


@pytest.mark.parametrize(
    ("name", "choice", "queue"),
    [
        ("kafka", LevelChoice(4), ""),
        ("pulsar", LevelChoice(4, "journal"), ""),
        ("rabbitmq", LevelChoice(3), "quorum"),
        ("rabbitmq", LevelChoice(3), "stream"),
    ],
)
def test_what_was_in_a_topic_that_somebody_deleted_is_lost(
    name: str, choice: LevelChoice, queue: str, tmp_path: Path
) -> None:
    delete, words = DELETED[name]
    with ready(name, choice, tmp_path) as servers:
        worker = servers.worker
        order = delete_under_late_consumer(servers, choice, queue, delete)
        worker.stop_producers(2.0)
        worker.close_consumers(["sub-0"])
        totals = worker.totals()
        (sub,) = totals.subscriptions
        missing = worker.missing(["sub-0"])["sub-0"]
        began_s = time.monotonic()
        for whole in (False, True):
            trace = worker.trace(order, "sub-0", 60.0, whole=whole)
            result = account_for_missing(
                missing, trace.present, unattributed=0, why=trace.why_incomplete, gone=trace.gone
            )
            assert (result.late, result.untraced, result.gone) == (0, 0, words)
            assert result.lost == totals.acked - sub.unique > 100
        assert time.monotonic() - began_s < 30.0, "nobody waits for what is not there"
        worker.finish(delete_topics=True)


def make_topic_of_others(servers: Ready, queue: str) -> None:
    """A topic as others have it; `queue`: of RabbitMQ its type, "" for what an earlier run of Tidegauge left."""
    if queue:
        management(servers, "PUT", "/deleted", {"durable": True, "arguments": {"x-queue-type": queue}})
        return
    servers.worker.prepare(servers.order("deleted", servers.system.topic_settings(servers.choice)))
    servers.worker.finish(delete_topics=False)


@pytest.mark.parametrize(
    ("name", "choice", "queue"),
    [
        ("kafka", LevelChoice(4), ""),
        ("pulsar", LevelChoice(4, "journal"), ""),
        ("rabbitmq", LevelChoice(3), ""),
        ("rabbitmq", LevelChoice(3), "quorum"),
        ("rabbitmq", LevelChoice(3), "stream"),
    ],
)
def test_of_a_topic_of_others_it_is_known_what_is_late_and_once_they_deleted_it_what_is_lost(
    name: str, choice: LevelChoice, queue: str, tmp_path: Path
) -> None:
    delete, words = DELETED[name]
    if name == "rabbitmq":
        words = "RabbitMQ has no queue deleted, nor a queue deleted.0 any more"
    with ready(name, choice, tmp_path) as servers:
        worker = servers.worker
        make_topic_of_others(servers, queue)
        client = ClientSettings(receive_queue_messages=10)
        order = order_on(
            servers.deployment, servers.system, servers.choice, topic_names=("deleted",), topic_settings={},
            workload=Workload(payload=Payload(message_bytes=200), client=client, existing_topics=("deleted",)),
            msgs_per_s=MSGS_PER_S, trial_number=8,
        )  # fmt: skip
        worker.prepare(order)
        worker.start()
        time.sleep(1.5)
        worker.pause_consumers([])
        time.sleep(1.5)
        assert worker.stop_producers(20.0) == 0
        worker.close_consumers(["sub-0"])
        (sub,) = worker.totals().subscriptions
        missing = worker.missing(["sub-0"])["sub-0"]
        assert sub.lost == len(missing[0]) > 100
        patience = Patience(60.0)
        late = 0
        while late < sub.lost and not patience.is_over():
            trace = worker.trace(order, "sub-0", 60.0, whole=True)
            assert trace.why_incomplete == trace.gone == ""
            late = account_for_missing(missing, trace.present, unattributed=0, why="").late
        assert late == sub.lost
        delete(servers, "deleted")
        for whole in (False, True):
            trace = worker.trace(order, "sub-0", 60.0, whole=whole)
            result = account_for_missing(
                missing, trace.present, unattributed=0, why=trace.why_incomplete, gone=trace.gone
            )
            assert (result.lost, result.late, result.untraced, result.gone) == (sub.lost, 0, 0, words)
        worker.finish(delete_topics=True)


def delete_queue_number(servers: Ready, number: int) -> str:
    """Delete one of the queues of topic "deleted"; returns its name."""
    name = sorted(queue["name"] for queue in management(servers, "GET", "") if "deleted" in queue["name"])[number]
    management(servers, "DELETE", f"/{name}")
    return str(name)


def order_of_three_queues(servers: Ready, settings: dict[str, str], *, existing: bool = False) -> LoadOrder:
    """A load on topic "deleted" of three queues, its own or as an earlier run left it."""
    workload = Workload(payload=Payload(message_bytes=200), partitions=3)
    order = order_on(
        servers.deployment, servers.system, servers.choice, topic_names=("deleted",), topic_settings=settings,
        workload=workload, msgs_per_s=MSGS_PER_S, trial_number=7,
    )  # fmt: skip
    if not existing:
        return order
    servers.worker.prepare(order)
    servers.worker.finish(delete_topics=False)
    return replace(order, workload=replace(workload, existing_topics=("deleted",), partitions=1), trial_number=8)


@pytest.mark.parametrize(
    ("queue", "existing"), [("quorum", False), ("quorum", True), ("stream", False), ("stream", True)]
)
def test_of_several_queues_only_what_was_in_the_deleted_one_is_lost(queue: str, existing: bool, tmp_path: Path) -> None:
    with ready("rabbitmq", LevelChoice(3), tmp_path) as servers:
        worker = servers.worker
        order = order_of_three_queues(servers, {"queue.type": queue}, existing=existing)
        worker.prepare(order)
        worker.pause_consumers([])
        worker.start()
        time.sleep(1.5)
        assert worker.stop_producers(20.0) == 0
        worker.close_consumers(["sub-0"])
        (sub,) = worker.totals().subscriptions
        missing = worker.missing(["sub-0"])["sub-0"]
        before = worker.trace(order, "sub-0", 60.0, whole=True)
        messages = [partition.messages for partition in before.partitions]
        assert sum(messages) == sub.lost > 300, "none was received"
        name = delete_queue_number(servers, 1)
        began_s = time.monotonic()
        for whole in (False, True):
            trace = worker.trace(order, "sub-0", 60.0, whole=whole)
            result = account_for_missing(
                missing, trace.present, unattributed=0, why=trace.why_incomplete, gone=trace.gone
            )
            assert (result.lost, result.late, result.untraced) == (messages[1], messages[0] + messages[2], 0)
            assert re.fullmatch(
                rf"RabbitMQ has no queue (deleted, nor a queue )?{re.escape(name)} any more", result.gone
            )
        assert time.monotonic() - began_s < 45.0, "nobody waits for what is not there"
        worker.finish(delete_topics=True)


def test_consumers_read_on_when_one_of_their_queues_is_deleted_and_read_it_when_it_is_there_again(
    tmp_path: Path,
) -> None:
    with ready("rabbitmq", LevelChoice(3), tmp_path) as servers:
        worker = servers.worker
        worker.prepare(order_of_three_queues(servers, {"queue.type": "quorum"}))
        worker.start()
        time.sleep(1.5)
        before = worker.totals().acked
        name = delete_queue_number(servers, 1)
        after = worker.totals().acked
        time.sleep(4.0)
        management(servers, "PUT", f"/{name}", {"durable": True, "arguments": {"x-queue-type": "quorum"}})
        management(servers, "POST", f"/e/deleted/q/{name}", {"routing_key": "1"}, of="bindings")
        anew = worker.totals().acked
        time.sleep(4.0)
        assert worker.stop_producers(20.0) == 0
        patience = Patience(20.0)
        received, since = -1, 0
        while since < 10 and not patience.is_over():
            (sub,) = worker.totals().subscriptions
            received, since = (sub.received, 0) if sub.received > received else (received, since + 1)
            time.sleep(0.1)
        totals = worker.totals()
        (sub,) = totals.subscriptions
        # What is published to a queue that is not there is acknowledged, too, and of three messages it is one.
        assert (anew - after) / 3 - 100 < sub.lost < (anew - before) / 3 + 100 < (totals.acked - before) / 3
        assert (totals.failed, sub.duplicated, sub.reordered) == (0, 0, 0)
        assert totals.errors == (("receive", f"IOException: RabbitMQ cancelled the consumer of {name}", 1),)
        worker.finish(delete_topics=True)

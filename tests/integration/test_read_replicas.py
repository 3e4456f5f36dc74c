"""Each node's own copy is read where clients can choose, on real clusters of three.

That a read "from node 2" is one of node 2's files is proven by altering two messages in these alone: no other read may
miss them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from clusters import NODES, Cluster, cluster
from live import order_on

from tidegauge.attestation.classification import find_anomalies
from tidegauge.attestation.data_files import Message, find_copies
from tidegauge.attestation.evidence import History, Read, last_positions, load_read, read_history
from tidegauge.model.level import LevelChoice
from tidegauge.model.message import Fate
from tidegauge.model.workload import ClientSettings, Payload, Workload
from tidegauge.systems.api import node_of
from tidegauge.worker.api import NOWHERE, LoadOrder, Positions

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

LOAD = Workload(
    partitions=2,
    producers=2,
    subscriptions=2,
    payload=Payload(message_bytes=200),
    client=ClientSettings(in_flight_messages_max=200),
)
KEEPER = "sub-1"
READ_S = 60.0
ODD = 2
"""The node whose files are altered."""
HEADER_SEQUENCE, BODY = 24, 60
"""Bytes from the beginning of a message: in its header, which then is no one's, and behind it."""


def loaded(running: Cluster, directory: Path) -> LoadOrder:
    """A topic with messages, all acknowledged, that nobody reads any more."""
    order = order_on(
        running.deployment,
        running.system,
        running.choice,
        NODES,
        topic_names=("copied",),
        workload=LOAD,
        msgs_per_s=800.0,
        trial_number=4712,
        subscriptions_start_paused=1,
        history_directory=str(directory),
        outcome_timeout_s=20.0,
    )
    running.worker.prepare(order)
    running.await_missing("", order.topic_names)
    running.worker.start()
    time.sleep(2.0)
    running.worker.stop_producers(30.0)
    running.worker.finish(delete_topics=False)
    return order


def of_each_node(running: Cluster, order: LoadOrder, directory: Path, known: Read) -> list[Read]:
    """What the copy of each node holds."""
    directory.mkdir()
    last = last_positions([known])
    reads = [
        read_once(running, order, directory / f"read from node {node}", node, last) for node in range(1, NODES + 1)
    ]
    assert [p.why for read in reads for p in read.partitions if not p.complete] == []
    return reads


def read_once(running: Cluster, order: LoadOrder, file: Path, node: int = 0, last: Positions = NOWHERE) -> Read:
    answer = running.worker.read_back(order, KEEPER, file, READ_S, node=node, last=last)
    return load_read(file.name, answer, order.trial_number)


def lacking(reads: Sequence[Read], message: Message) -> set[str]:
    """Which reads do not have a message undamaged."""
    return {
        read.name
        for read in reads
        if not ((read.producer == message[0]) & (read.sequence == message[1]) & read.intact).any()
    }


def alter(directories: Sequence[Path], order: LoadOrder, messages: Sequence[Message]) -> None:
    """Turn a byte of the first message's header, and one of the second's body."""
    copies = find_copies(directories, order.trial_number, messages)
    for message, place in zip(messages, (HEADER_SEQUENCE, BODY), strict=True):
        for copy in copies[message]:
            with copy.file.open("r+b") as stream:
                stream.seek(copy.offset + place)
                (old,) = stream.read(1)
                stream.seek(copy.offset + place)
                stream.write(bytes([old ^ 0xFF]))


def chosen(history: History) -> list[Message]:
    """Two messages in the midst of what was acknowledged, of each producer one."""
    assert history.acknowledged.all()
    ours = [[row for row in range(len(history)) if history.producer[row] == producer] for producer in (0, 1)]
    return [(producer, int(history.sequence[rows[len(rows) // 2]])) for producer, rows in enumerate(ours)]


def none_but_one_node_lacks_what_was_altered_there(running: Cluster, directory: Path) -> LoadOrder:
    directory.mkdir()
    order = loaded(running, directory)
    history = read_history(directory, order.trial_number)
    known = read_once(running, order, directory / "first read")
    before = of_each_node(running, order, directory / "before", known)
    found = find_anomalies(history, [known, *before])
    assert found.is_clean, found.figures()
    assert found.counts[Fate.KEPT] > 800
    messages = chosen(history)
    running.deployment.stop_node(ODD)
    alter(node_of(running.deployment.nodes, ODD).directories, order, messages)
    running.deployment.start_node(ODD)
    running.await_missing("", order.topic_names)
    after = of_each_node(running, order, directory / "after", known)
    assert [lacking(after, message) for message in messages] == [{f"read from node {ODD}"}] * 2
    found = find_anomalies(history, [known, *after])
    assert found.counts[Fate.DIFFERENT] == found.broken == 2, found.figures()
    assert found.lost == 0
    assert found.witness is not None
    assert found.witness.read == f"read from node {ODD}"
    return order


def a_message_that_does_not_show_is_waited_for(running: Cluster, order: LoadOrder) -> None:
    """What a leader has acknowledged alone can't be read before its followers have it."""
    file = Path(order.history_directory) / "waiting"
    answer = running.worker.read_back(order, KEEPER, file, 5.0, last={(0, 1): 1_000_000_000})
    assert {p.why for p in answer.partitions} == {"its end did not show in time"}


def a_copy_of_a_node_that_is_down_is_reported_as_unread(running: Cluster, order: LoadOrder) -> None:
    """The last of a cluster."""
    running.deployment.stop_node(ODD)
    answer = running.worker.read_back(order, KEEPER, Path(order.history_directory) / "down", 6.0, node=ODD)
    assert [(p.complete, p.messages) for p in answer.partitions] == [(False, 0)] * LOAD.partitions
    assert all(p.why for p in answer.partitions)


def test_kafkas_copies_are_read_by_letting_each_broker_lead(tmp_path: Path) -> None:
    with cluster("kafka", LevelChoice(2), tmp_path) as running:
        order = none_but_one_node_lacks_what_was_altered_there(running, tmp_path / "histories")
        # The one that was read from last leads yet.
        assert set(running.deployment.leaders(running.read_back(order.topic_names)).values()) == {NODES}
        a_message_that_does_not_show_is_waited_for(running, order)
        a_copy_of_a_node_that_is_down_is_reported_as_unread(running, order)


def test_each_rabbitmq_node_hands_out_its_own_copy_of_a_stream(tmp_path: Path) -> None:
    with cluster("rabbitmq", LevelChoice(2, "stream"), tmp_path) as running:
        order = none_but_one_node_lacks_what_was_altered_there(running, tmp_path / "histories")
        a_copy_of_a_node_that_is_down_is_reported_as_unread(running, order)

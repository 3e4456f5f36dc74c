"""A real RabbitMQ cluster of three: replicated levels, spread leaders, a node that is missing."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from deployments import LOAD_S, Ready
from live import order_on
from patience import Patience
from rabbitmq_servers import LOOPBACK, OLD_VERSION, distribution_of, listening, processes_of, rabbitmq

from tidegauge.agent.local import LocalHost
from tidegauge.errors import StartFailedError
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.load import TotalFigures
from tidegauge.model.workload import Payload, Workload
from tidegauge.systems import registry
from tidegauge.systems.api import DeployRequest
from tidegauge.systems.rabbitmq.provision import DEFAULT_VERSION
from tidegauge.worker.api import LoadOrder

pytestmark = [pytest.mark.integration, pytest.mark.slow]

NODES = 3
PARTITIONS = 6


def order_for(rabbit: Ready, topic: str, choice: LevelChoice) -> LoadOrder:
    workload = Workload(partitions=PARTITIONS, producers=2, subscriptions=2, consumers=2, payload=Payload(1024))
    own = {"topic_names": (topic,), "acks": "all", "trial_number": len(topic)}
    return order_on(rabbit.deployment, rabbit.system, choice, NODES, workload=workload, **own)


def drained(rabbit: Ready) -> TotalFigures:
    rabbit.worker.stop_producers(30.0)
    patience = Patience(30)
    while any(s.backlog for s in rabbit.worker.totals().subscriptions) and not patience.is_over():
        time.sleep(0.05)
    return rabbit.worker.totals()


def found(rabbit: Ready, topic: str, choice: LevelChoice) -> LevelFinding:
    return rabbit.system.derive_level(rabbit.read_back(topic), choice, NODES)


@pytest.mark.parametrize("version", [DEFAULT_VERSION, pytest.param(OLD_VERSION, marks=pytest.mark.slow)])
def test_replicated_levels_hold_and_leaders_are_spread(tmp_path: Path, version: str) -> None:
    with rabbitmq(version, LevelChoice(1, "quorum"), tmp_path, nodes=NODES) as rabbit:
        offered = rabbit.system.possible_levels(version, NODES)
        for choice in [choice for choice in offered if choice.level in (1, 2)]:
            topic = f"level-{choice.level}-{choice.form}"
            rabbit.worker.prepare(order_for(rabbit, topic, choice))
            finding = found(rabbit, topic, choice)
            assert (finding.level, finding.problems) == (choice.level, ()), choice
            leaders = next(s.value for s in rabbit.read_back(topic) if s.name == "queue.leaders")
            assert leaders.count("tidegauge") == NODES
            rabbit.worker.start()
            time.sleep(LOAD_S)
            totals = drained(rabbit)
            assert totals.acked > 0
            assert (totals.failed, totals.unresolved, totals.errors) == (0, 0, ())
            for sub in totals.subscriptions:
                assert sub.unique == totals.acked
                assert (sub.lost, sub.duplicated, sub.reordered, sub.corrupt) == (0, 0, 0, 0)
            rabbit.worker.finish(delete_topics=True)
            assert [s.value for s in rabbit.read_back(topic) if s.name == "queues"] == ["0"]
        single = LevelChoice(3, "quorum")
        rabbit.worker.prepare(order_for(rabbit, "single", single))
        assert found(rabbit, "single", single).level == 3
        wrong = found(rabbit, "single", LevelChoice(1, "quorum"))
        assert "queue.members=1" in wrong.problems[0]
        rabbit.worker.finish(delete_topics=True)
        assert listening(processes_of(rabbit)) <= LOOPBACK


def test_nothing_acknowledged_is_lost_when_a_node_dies(tmp_path: Path) -> None:
    choice = LevelChoice(1, "quorum")
    with rabbitmq(DEFAULT_VERSION, choice, tmp_path, nodes=NODES) as rabbit:
        # One consumer on the first node: what the broker has handed to a node that died comes back only after a minute.
        order = order_for(rabbit, "survivor", choice)
        order = replace(order, workload=replace(order.workload, consumers=1, subscriptions=1, producers=3))
        rabbit.worker.prepare(order)
        rabbit.worker.start()
        time.sleep(LOAD_S)
        os.kill(rabbit.host.status("rabbitmq-3").pid, signal.SIGKILL)
        time.sleep(3 * LOAD_S)
        acked_after_death = rabbit.worker.totals().acked
        time.sleep(LOAD_S)
        totals = drained(rabbit)
        assert totals.acked > acked_after_death
        assert [s.lost for s in totals.subscriptions] == [0]
        assert any("RabbitMQ" in message for _, message, _ in totals.errors)
        finding = found(rabbit, "survivor", choice)
        assert any("2 of 3 members are online" in problem for problem in finding.problems)
        assert any("tidegauge3@localhost is not running" in problem for problem in finding.problems)
        with pytest.raises(StartFailedError, match=r"rabbitmq-3\) was killed by signal 9"):
            rabbit.deployment.check_alive()
        rabbit.worker.finish(delete_topics=False)


def test_a_node_killed_while_starting_is_reported(tmp_path: Path) -> None:
    system = registry.system_named("rabbitmq")
    distribution = distribution_of(DEFAULT_VERSION)
    with LocalHost.open() as host:
        request = DeployRequest(
            distribution, NODES, LevelChoice(1, "quorum"), tmp_path / "data", tmp_path / "logs", 512, 512
        )
        deployment = system.deploy(request, host)
        try:
            time.sleep(0.5)
            os.kill(host.status("rabbitmq-2").pid, signal.SIGKILL)
            patience = Patience(20)
            with pytest.raises(StartFailedError, match=r"rabbitmq-2\) was killed by signal 9"):
                while not patience.is_over():
                    deployment.check_alive()
                    time.sleep(0.05)
        finally:
            deployment.stop()

"""Real servers and workers for tests: started for one test, ended with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from patience import Patience

from tidegauge.agent.local import LocalHost
from tidegauge.errors import RunFailedError
from tidegauge.model.level import LevelChoice
from tidegauge.model.load import TotalFigures
from tidegauge.model.workload import Workload
from tidegauge.systems import registry
from tidegauge.systems.api import Deployment, DeployRequest, System
from tidegauge.worker.api import LoadOrder, LoadWorker
from tidegauge.worker.launch import start_worker

SECOND_NS = 1_000_000_000


@dataclass
class Live:
    """A running system with a worker in front of it."""

    host: LocalHost
    deployment: Deployment
    worker: LoadWorker
    order: LoadOrder


@contextmanager
def live_system(name: str, directory: Path, level: int, workload: Workload, msgs_per_s: float) -> Iterator[Live]:
    """Start one node at its default version and a worker; nothing is prepared yet."""
    system = registry.system_named(name)
    choice = LevelChoice(level, "journal" if (name, level) == ("pulsar", 4) else "")
    distribution = system.provision(system.default_version, lambda text: None)
    logs = directory / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with LocalHost.open() as host:
        request = DeployRequest(distribution, 1, choice, directory / "data", logs, 512, 512)
        deployment = system.deploy(request, host)
        try:
            worker = start_worker(host, system.driver, logs)
            await_ready(deployment, worker, system.driver)
            known = {"topic_names": ("known-answers",), "trial_number": 4711}
            order = order_on(deployment, system, choice, workload=workload, msgs_per_s=msgs_per_s, **known)
            yield Live(host, deployment, worker, order)
            worker.close()
        finally:
            deployment.stop()


def order_on(deployment: Deployment, system: System, choice: LevelChoice, copies: int = 1, **fields: Any) -> LoadOrder:
    """A load on a test's servers at a level, with so many copies of each message; `fields` win over what is usual."""
    usual = {
        "connection": deployment.connection,
        "driver": system.driver,
        "system": system.name,
        "replication_factor": copies,
        "topic_settings": system.topic_settings(choice),
        "acks": system.client_acks(choice, copies),
        "workload": Workload(),
        "msgs_per_s": 1000.0,
        "seed": 1,
        "own_lag_tolerance_ms": 1.0,
    }
    return LoadOrder(**{**usual, **fields})


def await_ready(deployment: Deployment, worker: LoadWorker, driver: str) -> None:
    """Until a message goes there and back."""
    patience = Patience(120)
    while True:
        deployment.check_alive()
        try:
            worker.probe(driver, deployment.connection, 5.0)
            return
        except RunFailedError:
            if patience.is_over():
                raise
            time.sleep(0.2)


def drained(worker: LoadWorker, seconds_max: float = 20.0) -> TotalFigures:
    """Stop producing and wait until every subscription has everything."""
    worker.stop_producers(10.0)
    patience = Patience(seconds_max)
    while True:
        totals = worker.totals()
        if all(sub.backlog == 0 for sub in totals.subscriptions) or patience.is_over():
            return totals
        time.sleep(0.1)


def with_trial_id(order: LoadOrder, trial_id: int) -> LoadOrder:
    """The same order for another trial on another topic."""
    return replace(order, trial_number=trial_id, topic_names=(f"known-answers-{trial_id}",))

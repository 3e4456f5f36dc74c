"""Deployments for tests: one node, any settings, with everything needed to look at it from outside."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from live import await_ready, order_on
from patience import Patience

from tidegauge.agent.local import LocalHost
from tidegauge.attestation.evidence import Read, load_read
from tidegauge.errors import StartFailedError
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Setting
from tidegauge.model.workload import Payload, Workload
from tidegauge.systems import registry
from tidegauge.systems.api import Deployment, DeployRequest, System
from tidegauge.worker.api import LoadOrder
from tidegauge.worker.client import GrpcWorker
from tidegauge.worker.launch import start_worker

MSGS_PER_S = 500.0
LOAD_S = 1.0
END_S_MAX = 90.0
COPY_S = 60.0


@dataclass
class Ready:
    """A system that a client can produce to and consume from."""

    system: System
    choice: LevelChoice
    host: LocalHost
    deployment: Deployment
    worker: GrpcWorker
    pid: int

    def order(self, topic: str, topic_settings: Mapping[str, str]) -> LoadOrder:
        """A small load on a topic of its own."""
        return order_on(
            self.deployment,
            self.system,
            self.choice,
            topic_names=(topic,),
            topic_settings=topic_settings,
            workload=Workload(payload=Payload(message_bytes=200)),
            msgs_per_s=MSGS_PER_S,
            trial_number=len(topic),
        )

    def load(self, topic: str, topic_settings: Mapping[str, str]) -> int:
        """Send and receive for about a second on a topic of its own; returns how many messages came back, each once."""
        self.worker.prepare(self.order(topic, topic_settings))
        self.worker.start()
        time.sleep(LOAD_S)
        self.worker.stop_producers(10.0)
        patience = Patience(20)
        while any(s.backlog for s in self.worker.totals().subscriptions) and not patience.is_over():
            time.sleep(0.05)
        totals = self.worker.totals()
        self.worker.finish(delete_topics=False)
        assert totals.unresolved == totals.failed == 0
        (subscription,) = totals.subscriptions
        assert (subscription.lost, subscription.duplicated, subscription.corrupt) == (0, 0, 0)
        return subscription.unique

    def copy_of(self, node: int, topic: str, messages: int, file: Path) -> Read:
        """What a node's own copy of a topic holds to which so many messages were sent."""
        order = self.order(topic, self.system.topic_settings(self.choice))
        answer = self.worker.read_back(order, "sub-0", file, COPY_S, node=node, last={(0, 0): messages - 1})
        return load_read(f"read from node {node}", answer, order.trial_number)

    def read_back(self, *topics: str) -> list[Setting]:
        """What the servers say is in force."""

        def describe(names: list[str]) -> list[Setting]:
            return self.worker.describe(self.system.driver, self.deployment.connection, names)

        return self.deployment.read_back(describe, list(topics))

    def level(self, *topics: str) -> LevelFinding:
        """The level that is in force for these topics."""
        return self.system.derive_level(self.read_back(*topics), self.choice, 1)


def request_for(
    system: System,
    choice: LevelChoice,
    directory: Path,
    settings: Mapping[str, str],
    heap_mb: int = 512,
    *,
    version: str = "",
) -> DeployRequest:
    """One node of a version, "" = the default one, with data and logs below `directory`."""
    distribution = system.provision(version or system.default_version, lambda _: None)
    return DeployRequest(distribution, 1, choice, directory / "data", directory / "logs", heap_mb, 512, settings)


@contextmanager
def ready(
    name: str, choice: LevelChoice, directory: Path, settings: Mapping[str, str] | None = None, version: str = ""
) -> Iterator[Ready]:
    """Start one node and a worker, and wait until a message goes there and back."""
    system = registry.system_named(name)
    with LocalHost.open() as host:
        deployment = system.deploy(request_for(system, choice, directory, settings or {}, version=version), host)
        try:
            worker = start_worker(host, system.driver, directory / "logs")
            await_ready(deployment, worker, system.driver)
            pid = host.status(deployment.processes[0]).pid
            yield Ready(system, choice, host, deployment, worker, pid)
            worker.close()
        finally:
            deployment.stop()


def failure_of(name: str, directory: Path, settings: Mapping[str, str], heap_mb: int = 512) -> StartFailedError:
    """Start a node that can't come up and return what the user would be shown."""
    system = registry.system_named(name)
    with LocalHost.open() as host:
        deployment: Deployment | None = None
        try:
            deployment = system.deploy(request_for(system, LevelChoice(3), directory, settings, heap_mb), host)
            patience = Patience(END_S_MAX)
            while not patience.is_over():
                deployment.check_alive()
                time.sleep(0.1)
        except StartFailedError as error:
            return error
        finally:
            if deployment is not None:
                deployment.stop()
    raise AssertionError(f"{name} did not fail: {settings}")


def listening_addresses(pid: int) -> set[str]:
    """Addresses of all TCP sockets on which a process or its children listen."""
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    connections = [c for process in processes for c in process.net_connections("tcp")]
    return {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}


@contextmanager
def taken_port() -> Iterator[int]:
    """A port on loopback that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]

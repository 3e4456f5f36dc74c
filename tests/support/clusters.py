"""Clusters of three for tests, each node on a disk of its own, with a worker in front."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from live import await_ready, order_on
from patience import Patience

from tidegauge.agent.local import LocalHost
from tidegauge.errors import RunFailedError, UserError
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.workload import Workload
from tidegauge.systems import registry
from tidegauge.systems.api import Deployment, DeployRequest, System
from tidegauge.worker.client import GrpcWorker
from tidegauge.worker.launch import start_worker

NODES = 3
COMPLETE_S_MAX = 60.0


@dataclass
class Cluster:
    """Three nodes that are ready, and complete."""

    system: System
    distribution: Distribution
    choice: LevelChoice
    host: LocalHost
    deployment: Deployment
    worker: GrpcWorker
    disks: tuple[Path, ...]

    def prepare(self, topics: Sequence[str], partitions: int, settings: Mapping[str, str] | None = None) -> None:
        """Create topics, with a producer and a consumer each for a moment, and wait until they are complete."""
        order = order_on(
            self.deployment,
            self.system,
            self.choice,
            NODES,
            topic_names=tuple(topics),
            workload=Workload(topics=len(topics), partitions=partitions),
            msgs_per_s=100.0,
            trial_number=len(topics[0]),
            **({} if settings is None else {"topic_settings": settings}),
        )
        self.worker.prepare(order)
        self.await_missing("", topics)
        self.worker.finish(delete_topics=False)

    def read_back(self, topics: Sequence[str]) -> list[Setting]:
        """What the servers say is in force."""

        def describe(names: list[str]) -> list[Setting]:
            return self.worker.describe(self.system.driver, self.deployment.connection, names)

        return self.deployment.read_back(describe, list(topics))

    def level(self, *topics: str) -> LevelFinding:
        """The level that is in force for these topics."""
        return self.system.derive_level(self.read_back(topics), self.choice, NODES)

    def await_missing(self, missing: str, topics: Sequence[str] = ()) -> None:
        """Wait until exactly this is missing."""
        patience = Patience(COMPLETE_S_MAX)
        while (found := self._missing(topics)) != missing:
            assert not patience.is_over(), found
            time.sleep(0.2)

    def _missing(self, topics: Sequence[str]) -> str:
        try:
            return self.system.incomplete(self.read_back(topics), NODES)
        except RunFailedError as error:
            # A broker that was just killed is still listed, and asked in vain.
            return error.message

    def values(self, name: str, topics: Sequence[str]) -> list[str]:
        """A setting of each topic, as read back."""
        found = {s.scope: s.value for s in self.read_back(topics) if s.name == name}
        return [found[f"topic {topic}"] for topic in topics]


def distribution_of(system: System) -> Distribution:
    """The default version's files; skips the test where Debian's packages are not available."""
    try:
        return system.provision(system.default_version, lambda _: None)
    except UserError as error:
        pytest.skip(f"{system.title} is not available here: {error.message}")


def request_for(system: System, choice: LevelChoice, directory: Path) -> DeployRequest:
    """Three small nodes, each on a disk of its own below `directory`."""
    disks = tuple(directory / f"disk-{number}" for number in range(1, NODES + 1))
    places = (directory / "data", directory / "logs")
    return DeployRequest(distribution_of(system), NODES, choice, *places, 384, 256, disks=disks)


@contextmanager
def cluster(name: str, choice: LevelChoice, directory: Path) -> Iterator[Cluster]:
    """Start three nodes and a worker, and wait until a message goes there and back."""
    system = registry.system_named(name)
    request = request_for(system, choice, directory)
    with LocalHost.open() as host:
        deployment = system.deploy(request, host)
        try:
            worker = start_worker(host, system.driver, directory / "logs")
            await_ready(deployment, worker, system.driver)
            yield Cluster(system, request.distribution, choice, host, deployment, worker, request.disks)
            worker.close()
        finally:
            deployment.stop()

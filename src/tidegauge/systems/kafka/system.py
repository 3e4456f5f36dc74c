"""Kafka as a `System`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tidegauge.distribution.local import provision_directory
from tidegauge.distribution.resolve import provision
from tidegauge.durability.levels import levels_for_nodes
from tidegauge.fairness.case import Case, ClientFacts, Hazard
from tidegauge.fleet.api import Host
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.memory import ProcessMemory
from tidegauge.model.server import Distribution, Handles, Setting
from tidegauge.model.workload import SubscriptionType, Workload
from tidegauge.systems.api import Deployment, DeployRequest
from tidegauge.systems.attach import AttachRules
from tidegauge.systems.attached import AttachedCluster, AttachRequest
from tidegauge.systems.kafka import attach, fairness, level, zookeeper
from tidegauge.systems.kafka.deployment import deploy
from tidegauge.systems.kafka.jmx import fetch_agent
from tidegauge.systems.kafka.metrics import METRICS
from tidegauge.systems.kafka.recipe import DEFAULT_VERSION, JAR_PATTERN, JAVA_MIN, recipe
from tidegauge.systems.kafka.replicas import incomplete
from tidegauge.systems.kafka.subscriptions import subscription_problem
from tidegauge.systems.levels import refuse_impossible
from tidegauge.systems.metrics import Metric

OUTSIDE_HEAP_MB = 380
"""Class data, threads and buffers of a loaded node, MiB (measured: 620 to 850 MB resident with a 512 MB heap)."""


class KafkaSystem:
    """Apache Kafka, KRaft mode, each node broker and controller."""

    name = "kafka"
    title = "Apache Kafka"
    driver = "kafka"
    default_version = DEFAULT_VERSION
    attach_rules: AttachRules | None = attach.RULES
    metrics: tuple[Metric, ...] = METRICS
    server_defaults: Mapping[str, str] = MappingProxyType({})
    spaces_in_paths = True

    def provision(self, version: str, report: Callable[[str], None]) -> Distribution:
        """See `System.provision`."""
        fetch_agent(report)
        if "/" in version:
            return provision_directory(self.name, Path(version).expanduser(), JAR_PATTERN, JAVA_MIN)
        return provision(recipe(version), report)

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        """See `System.possible_levels`."""
        return [LevelChoice(number) for number in levels_for_nodes(nodes)]

    def shape_problem(self, shape: Mapping[str, str], nodes: int) -> str:
        """See `System.shape_problem`."""
        return "Kafka has no options of layout" if shape else ""

    def machines(self, nodes: int, shape: Mapping[str, str]) -> int:
        """See `System.machines`."""
        return nodes

    def network_problem(self, version: str) -> str:
        """See `System.network_problem`."""
        return ""

    def subscription_problem(self, kind: SubscriptionType, version: str, choice: LevelChoice, existing: bool) -> str:
        """See `System.subscription_problem`."""
        return subscription_problem(kind, version)

    def serves_replicas(self, choice: LevelChoice, workload: Workload) -> bool:
        """See `System.serves_replicas`. Consumers are given what leaders have, and any copy in sync can lead."""
        return True

    def processes(
        self, version: str, nodes: int, heap_mb: int, direct_memory_mb: int, shape: Mapping[str, str]
    ) -> Sequence[ProcessMemory]:
        """See `System.processes`. A node's buffers are few, and are counted outside of its heap."""
        keeper = ProcessMemory("ZooKeeper", 1, zookeeper.HEAP_MB, 0, zookeeper.OUTSIDE_HEAP_MB, of_nodes=False)
        beside = (keeper,) if zookeeper.needs_zookeeper(version) else ()
        return (ProcessMemory("node", nodes, heap_mb, 0, OUTSIDE_HEAP_MB), *beside)

    def handles(self, partitions: int) -> Handles:
        """See `System.handles`. A log is one open file and two mapped indexes (4.3.1: 10,106 files, 20,422 maps)."""
        return Handles(partitions + 300, 2 * partitions + 1000)

    def topic_settings(self, choice: LevelChoice) -> Mapping[str, str]:
        """See `System.topic_settings`."""
        return level.topic_settings(choice)

    def client_acks(self, choice: LevelChoice, nodes: int) -> str:
        """See `System.client_acks`."""
        return level.client_acks(choice, nodes)

    def deploy(self, request: DeployRequest, host: Host) -> Deployment:
        """See `System.deploy`. Raises `UserError` if the level is impossible in this shape."""
        refuse_impossible(self, request.choice, request.distribution.version, request.nodes)
        return deploy(request, host)

    def attach(self, request: AttachRequest) -> AttachedCluster:
        """See `System.attach`."""
        return attach.attach(request)

    def incomplete(self, settings: list[Setting], nodes: int) -> str:
        """See `System.incomplete`."""
        return incomplete(settings, nodes)

    def derive_level(self, settings: list[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
        """See `System.derive_level`."""
        return level.derive_level(settings, choice, nodes)

    def client_facts(self, case: Case) -> ClientFacts:
        """See `System.client_facts`."""
        return fairness.client_facts(case)

    def hazards(self, case: Case) -> list[Hazard]:
        """See `System.hazards`."""
        return fairness.hazards(case)

"""Pulsar as a `System`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

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
from tidegauge.systems.levels import refuse_impossible
from tidegauge.systems.metrics import Metric
from tidegauge.systems.pulsar import attach, fairness, level, replication
from tidegauge.systems.pulsar.cluster import deploy_cluster
from tidegauge.systems.pulsar.config import BROKER_DEFAULTS
from tidegauge.systems.pulsar.deployment import deploy_standalone
from tidegauge.systems.pulsar.metrics import METRICS
from tidegauge.systems.pulsar.recipe import DEFAULT_VERSION, JAR_PATTERN, JAVA_MIN, recipe
from tidegauge.systems.pulsar.shape import Memory, shape_of, shape_problem


class PulsarSystem:
    """Apache Pulsar with BookKeeper: one process on one node, a cluster on several."""

    name = "pulsar"
    title = "Apache Pulsar"
    driver = "pulsar"
    default_version = DEFAULT_VERSION
    attach_rules: AttachRules | None = attach.RULES
    metrics: tuple[Metric, ...] = METRICS
    server_defaults: Mapping[str, str] = BROKER_DEFAULTS
    spaces_in_paths = False

    def provision(self, version: str, report: Callable[[str], None]) -> Distribution:
        """See `System.provision`."""
        if "/" in version:
            return provision_directory(self.name, Path(version).expanduser(), JAR_PATTERN, JAVA_MIN)
        return provision(recipe(version), report)

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        """See `System.possible_levels`. Local async has two forms."""
        choices: list[LevelChoice] = []
        for number in levels_for_nodes(nodes):
            forms = ("",) if number in (1, 3) else (level.JOURNAL, level.BYPASS)
            choices.extend(LevelChoice(number, form) for form in forms)
        return choices

    def shape_problem(self, shape: Mapping[str, str], nodes: int) -> str:
        """See `System.shape_problem`."""
        return shape_problem(shape, nodes)

    def machines(self, nodes: int, shape: Mapping[str, str]) -> int:
        """See `System.machines`: tiered brokers are nodes of their own."""
        return shape_of(shape, nodes).machines

    def network_problem(self, version: str) -> str:
        """See `System.network_problem`."""
        return ""

    def subscription_problem(self, kind: SubscriptionType, version: str, choice: LevelChoice, existing: bool) -> str:
        """See `System.subscription_problem`: it has all of them."""
        return ""

    def serves_replicas(self, choice: LevelChoice, workload: Workload) -> bool:
        """See `System.serves_replicas`. A broker reads an entry from whichever bookie it likes; one may lack it."""
        return False

    def processes(
        self, version: str, nodes: int, heap_mb: int, direct_memory_mb: int, shape: Mapping[str, str]
    ) -> Sequence[ProcessMemory]:
        """See `System.processes`."""
        return shape_of(shape, nodes).processes(Memory(heap_mb, direct_memory_mb))

    def handles(self, partitions: int) -> Handles:
        """See `System.handles`. Bookies keep ledgers in common files (4.2.4: 370, whatever the partitions)."""
        return Handles(600, 1500)

    def topic_settings(self, choice: LevelChoice) -> Mapping[str, str]:
        """See `System.topic_settings`. In Pulsar the level is the bookies' and the namespace's matter."""
        return {}

    def client_acks(self, choice: LevelChoice, nodes: int) -> str:
        """See `System.client_acks`. A Pulsar producer can't choose: the ack quorum decides."""
        return "all"

    def deploy(self, request: DeployRequest, host: Host) -> Deployment:
        """See `System.deploy`. Raises `UserError` if the level or the shape is impossible."""
        refuse_impossible(self, request.choice, request.distribution.version, request.nodes)
        shape_of(request.shape, request.nodes)
        return deploy_standalone(request, host) if request.nodes == 1 else deploy_cluster(request, host)

    def attach(self, request: AttachRequest) -> AttachedCluster:
        """See `System.attach`."""
        return attach.attach(request)

    def incomplete(self, settings: list[Setting], nodes: int) -> str:
        """See `System.incomplete`."""
        return replication.incomplete(settings, nodes)

    def derive_level(self, settings: list[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
        """See `System.derive_level`."""
        return level.derive_level(settings, choice, nodes)

    def client_facts(self, case: Case) -> ClientFacts:
        """See `System.client_facts`."""
        return fairness.client_facts(case)

    def hazards(self, case: Case) -> list[Hazard]:
        """See `System.hazards`."""
        return fairness.hazards(case)

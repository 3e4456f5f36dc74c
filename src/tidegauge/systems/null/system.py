"""The null system: no server, no files, no durability."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tidegauge.errors import UserError
from tidegauge.fairness.case import Case, ClientFacts, Hazard, neutral_facts
from tidegauge.fleet.api import Host
from tidegauge.model.host import ProcessMemory
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Distribution, Handles, Setting
from tidegauge.model.workload import SubscriptionType, Workload
from tidegauge.systems.api import Deployment, DeployRequest, Describe, Node, node_of, refuse_impossible
from tidegauge.systems.attach import AttachRules
from tidegauge.systems.attached import AttachedCluster, AttachRequest
from tidegauge.systems.metrics import Endpoint, Metric

VERSION = "1"


@dataclass(frozen=True)
class NullDeployment:
    """Nothing runs; `connection` carries the driver's settings (delay, stalls, faults to inject)."""

    connection: Mapping[str, str]
    processes: tuple[str, ...] = ()
    storage_processes: tuple[str, ...] = ()
    jvm_flags: tuple[str, ...] = ()
    metrics_endpoints: tuple[Endpoint, ...] = ()
    nodes: tuple[Node, ...] = ()

    def set_down(self, number: int) -> None:
        """There is no node. Raises `RunFailedError`."""
        node_of(self.nodes, number)

    kill_node = stop_node = start_node = set_down

    def leaders(self, settings: Sequence[Setting]) -> Mapping[str, int]:
        """Nobody leads."""
        return {}

    def check_alive(self) -> None:
        """Always alive."""

    def last_words(self) -> str:
        """Has no log."""
        return ""

    def read_back(self, describe: Describe, topics: list[str]) -> list[Setting]:
        """What the driver says of itself."""
        return describe(topics)

    def stop(self) -> None:
        """Nothing to stop."""


class NullSystem:
    """The null driver as a system."""

    name = "null"
    title = "Null (no system)"
    driver = "null"
    default_version = VERSION
    attach_rules: AttachRules | None = None
    metrics: tuple[Metric, ...] = ()
    server_defaults: Mapping[str, str] = MappingProxyType({})
    spaces_in_paths = True

    def provision(self, version: str, report: Callable[[str], None]) -> Distribution:
        """No files."""
        return Distribution(
            system=self.name,
            version=version,
            directory=Path("/"),
            java_home=None,
            java_version="",
            digest="",
            source="none: built into the worker",
        )

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        """Level 4 only: a message in memory is all there is."""
        return [LevelChoice(4)]

    def shape_problem(self, shape: Mapping[str, str], nodes: int) -> str:
        """It has none."""
        return "null has no options of layout" if shape else ""

    def machines(self, nodes: int, shape: Mapping[str, str]) -> int:
        """See `System.machines`."""
        return nodes

    def network_problem(self, version: str) -> str:
        """See `System.network_problem`."""
        return "it has no nodes"

    def subscription_problem(self, kind: SubscriptionType, version: str, choice: LevelChoice, existing: bool) -> str:
        """It gives each consumer partitions of its own, whatever is asked for: enough where nothing is shared."""
        return ""

    def serves_replicas(self, choice: LevelChoice, workload: Workload) -> bool:
        """There are none."""
        return False

    def processes(
        self, version: str, nodes: int, heap_mb: int, direct_memory_mb: int, shape: Mapping[str, str]
    ) -> Sequence[ProcessMemory]:
        """There are none."""
        return ()

    def handles(self, partitions: int) -> Handles:
        """No process, no files."""
        return Handles(0, 0)

    def topic_settings(self, choice: LevelChoice) -> Mapping[str, str]:
        """None."""
        return {}

    def client_acks(self, choice: LevelChoice, nodes: int) -> str:
        """One copy, one acknowledgement."""
        return "one"

    def deploy(self, request: DeployRequest, host: Host) -> Deployment:
        """Starts nothing. Raises `UserError` for any level but 4."""
        refuse_impossible(self, request.choice, request.distribution.version, request.nodes)
        return NullDeployment(dict(request.settings))

    def attach(self, request: AttachRequest) -> AttachedCluster:
        """There is nothing to attach to. Raises `UserError`."""
        raise UserError("The null system is no cluster that could be attached to.")

    def incomplete(self, settings: list[Setting], nodes: int) -> str:
        """Never."""
        return ""

    def derive_level(self, settings: list[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
        """Always level 4."""
        return LevelFinding(4, ("messages are kept in the worker's memory only",))

    def client_facts(self, case: Case) -> ClientFacts:
        """It follows the neutral block by doing nothing."""
        return ClientFacts(neutral_facts(case.workload), frozenset())

    def hazards(self, case: Case) -> list[Hazard]:
        """None: it is a yardstick, no contender."""
        return []

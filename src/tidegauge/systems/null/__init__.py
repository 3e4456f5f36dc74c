"""The system that is none: the worker's null driver acknowledges and delivers in memory. A yardstick."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tidegauge.agent.api import Host
from tidegauge.model.host import ProcessMemory
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.workload import SubscriptionType
from tidegauge.systems.api import Deployment, DeployRequest, System, refuse_impossible
from tidegauge.systems.servers import Serverless

VERSION = "1"


class NullSystem(System):
    """The null driver as a system. Server settings of a campaign are the driver's: delay, stalls, faults to inject."""

    name = "null"
    is_listed = False
    has_servers = False
    title = "Null (no system)"
    short_title = "Null"
    driver = "null"
    default_version = VERSION
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

    def deploy(self, request: DeployRequest, host: Host) -> Deployment:
        """Starts nothing. Raises `UserError` for any level but 4."""
        refuse_impossible(self, request.choice, request.distribution.version, request.nodes)
        return Serverless(dict(request.settings))

    def processes(
        self, version: str, nodes: int, heap_mb: int, direct_memory_mb: int, shape: Mapping[str, str]
    ) -> Sequence[ProcessMemory]:
        """There are none."""
        return ()

    def network_problem(self, version: str) -> str:
        """See `System.network_problem`."""
        return "it has no nodes"

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        """Level 4 only: a message in memory is all there is."""
        return [LevelChoice(4)]

    def derive_level(self, settings: list[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
        """Always level 4."""
        return LevelFinding(4, ("messages are kept in the worker's memory only",))

    def client_acks(self, choice: LevelChoice, nodes: int) -> str:
        """One copy, one acknowledgement."""
        return "one"

    def subscription_problem(self, kind: SubscriptionType, version: str, choice: LevelChoice, existing: bool) -> str:
        """It gives each consumer partitions of its own, whatever is asked for: enough where nothing is shared."""
        return ""


SYSTEM: System = NullSystem()

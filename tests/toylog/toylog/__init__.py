"""Toylog as a `System` of Tidegauge: one node, with an fsync of each batch (level 3) or without (level 4)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tidegauge.agent.api import Host, ProcessSpec
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Distribution, Setting
from tidegauge.systems.api import Deployment, DeployRequest, Node, System, refuse_impossible
from tidegauge.systems.servers import Servers

VERSION = "1.0"
PROCESS = "toylog-1"
SERVER = Path(__file__).with_name("server.py")


class ToylogSystem(System):
    """What has to be said of it; all else has a default."""

    name = "toylog"
    title = "Toylog"
    driver = "toylog"
    default_version = VERSION

    def provision(self, version: str, report: Callable[[str], None]) -> Distribution:
        """Its files are in this package."""
        return Distribution(
            system=self.name,
            version=version,
            directory=SERVER.parent,
            java_home=None,
            java_version="",
            digest="",
            source="installed package",
        )

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        """Nothing is replicated."""
        return [LevelChoice(3), LevelChoice(4)] if nodes == 1 else []

    def derive_level(self, settings: list[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
        """By what the running server says of itself."""
        fsync = any(setting.name == "fsync" and setting.value == "true" for setting in settings)
        return LevelFinding(3 if fsync else 4, (f"the server {'syncs' if fsync else 'does not sync'} each batch",))

    def deploy(self, request: DeployRequest, host: Host) -> Deployment:
        """See `System.deploy`."""
        refuse_impossible(self, request.choice, request.distribution.version, request.nodes)
        (port,) = host.free_ports(1)
        directory = request.node_directory(1, PROCESS)
        directory.mkdir(parents=True)
        deployment = Servers(
            title=self.title,
            host=host,
            connection={"port": str(port)},
            processes=(PROCESS,),
            jvm_flags=(),
            ports=(port,),
            nodes=(Node(1, (PROCESS,), (directory,)),),
        )
        fsync = ("--fsync",) if request.choice.level == 3 else ()
        deployment.start_process(
            ProcessSpec(
                name=PROCESS,
                argv=(sys.executable, str(SERVER), str(port), str(directory), *fsync),
                env={},
                cwd=str(directory),
                log_path=str(request.log_path(PROCESS)),
            )
        )
        return deployment


SYSTEM: System = ToylogSystem()

"""Runs a Kafka of one node at an address until its standard input ends; says where clients and its own figures are.

A program of its own, so that it can be started in a network namespace: `python serving.py ADDRESS DIRECTORY`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tidegauge.agent.local import LocalHost
from tidegauge.model.level import LevelChoice
from tidegauge.systems import registry
from tidegauge.systems.api import DeployRequest, Seat


def main(address: str, directory: Path) -> None:
    """Serve."""
    system = registry.system_named("kafka")
    files = system.provision(system.default_version, lambda _text: None)
    logs = directory / "logs"
    logs.mkdir()
    request = DeployRequest(files, 1, LevelChoice(3), directory, logs, 512, 256, seats={1: Seat(address, "")})
    with LocalHost.open() as host:
        deployment = system.deploy(request, host)
        endpoints = [endpoint.url for endpoint in deployment.metrics_endpoints]
        print(deployment.connection["bootstrap.servers"], *endpoints, flush=True)
        sys.stdin.read()
        deployment.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

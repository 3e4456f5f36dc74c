"""Real RabbitMQ nodes, their processes, and their management API."""

from __future__ import annotations

import base64
import json
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from deployments import Ready
from live import await_ready

from tidegauge.agent.local import LocalHost
from tidegauge.errors import UserError
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution
from tidegauge.systems import registry
from tidegauge.systems.api import Deployment, DeployRequest
from tidegauge.worker.launch import start_worker

OLD_VERSION = "3.10.8"
LOOPBACK = {"127.0.0.1", "::1"}


def distribution_of(version: str) -> Distribution:
    """The version's files; skips the test where Debian's packages are not available."""
    try:
        return registry.system_named("rabbitmq").provision(version, lambda _: None)
    except UserError as error:
        pytest.skip(f"RabbitMQ {version} is not available here: {error.message}")


@contextmanager
def rabbitmq(version: str, choice: LevelChoice, directory: Path, nodes: int = 1) -> Iterator[Ready]:
    """Start nodes and a worker, and wait until a message goes there and back."""
    system = registry.system_named("rabbitmq")
    distribution = distribution_of(version)
    with LocalHost.open() as host:
        request = DeployRequest(distribution, nodes, choice, directory / "data", directory / "logs", 512, 512)
        deployment = system.deploy(request, host)
        try:
            worker = start_worker(host, system.driver, directory / "logs")
            await_ready(deployment, worker, system.driver)
            pid = host.status(deployment.processes[0]).pid
            yield Ready(system, choice, host, deployment, worker, pid)
            worker.close()
        finally:
            deployment.stop()


def processes_of(rabbit: Ready) -> list[psutil.Process]:
    """Every process of the deployment, children included."""
    mains = [psutil.Process(rabbit.host.status(name).pid) for name in rabbit.deployment.processes]
    return [process for main in mains for process in (main, *main.children(recursive=True))]


def listening(processes: list[psutil.Process]) -> set[str]:
    connections = [c for process in processes for c in process.net_connections("tcp")]
    return {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}


def manage(deployment: Deployment, method: str, path: str, body: Mapping[str, object] | None = None) -> None:
    """Call the management API behind Tidegauge's back."""
    request = urllib.request.Request(deployment.connection["managementUrl"].split(",")[0] + path, method=method)
    request.add_header("Authorization", "Basic " + base64.b64encode(b"guest:guest").decode())
    request.add_header("Content-Type", "application/json")
    data = None if body is None else json.dumps(body).encode()
    urllib.request.urlopen(request, data).close()

"""What the tests of secured servers share: a worker before a server, its connections, and what must never be shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from deployments import Ready, request_for
from patience import Patience

from tidegauge.agent.api import ProcessSpec
from tidegauge.agent.local import LocalHost
from tidegauge.errors import AccessRefusedError, RunFailedError
from tidegauge.model.level import LevelChoice
from tidegauge.systems import registry
from tidegauge.systems.api import Deployment
from tidegauge.worker.client import GrpcWorker
from tidegauge.worker.launch import start_worker

READY_S_MAX = 90.0


@dataclass
class Secured:
    """A server with TLS and authentication on, and a worker that is to reach it."""

    name: str
    choice: LevelChoice
    host: LocalHost
    deployment: Deployment
    worker: GrpcWorker
    authority: Authority
    worker_log: Path
    secrets: tuple[str, ...]

    def probe(self, connection: Mapping[str, str]) -> float:
        """Seconds for one message there and back."""
        return self.worker.probe(registry.system_named(self.name).driver, connection, 10.0)

    def refusal(self, connection: Mapping[str, str]) -> str:
        """The message with which the worker is kept out, at once; it must hold none of the secrets."""
        began_s = time.monotonic()
        with pytest.raises(AccessRefusedError) as caught:
            self.probe(connection)
        assert time.monotonic() - began_s < 12.0
        assert "\n" not in caught.value.message
        self.assert_no_secret(caught.value.message)
        return caught.value.message

    def failure(self, connection: Mapping[str, str]) -> str:
        """The message of a failure that might pass by itself."""
        with pytest.raises(RunFailedError) as caught:
            self.probe(connection)
        assert not isinstance(caught.value, AccessRefusedError)
        self.assert_no_secret(caught.value.message)
        return caught.value.message

    def ready(self, connection: Mapping[str, str]) -> Ready:
        """The server as somebody with this connection sees it."""
        seen: Any = self.deployment
        pid = self.host.status(self.deployment.processes[0]).pid
        reached = replace(seen, connection=dict(connection))
        return Ready(registry.system_named(self.name), self.choice, self.host, reached, self.worker, pid)

    def assert_no_secret(self, text: str) -> None:
        """None of the secrets is in a text that users see."""
        for secret in (*self.secrets, "PRIVATE KEY"):
            assert secret not in text


@dataclass(frozen=True)
class Start:
    """What to start, and what must not be shown of it."""

    name: str
    choice: LevelChoice
    directory: Path
    authority: Authority
    secrets: tuple[str, ...]


class _HostWithFlags:
    """A host that starts Java with some flags more."""

    def __init__(self, host: LocalHost, flags: Sequence[str]) -> None:
        self._host, self._flags = host, flags

    def start(self, spec: ProcessSpec) -> None:
        """As the host does."""
        self._host.start(replace(spec, argv=(spec.argv[0], *self._flags, *spec.argv[1:])))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)


@contextmanager
def secured(
    start: Start, ports: int, settings: Callable[[list[int]], Mapping[str, str]], flags: Sequence[str] = ()
) -> Iterator[tuple[Secured, list[int]]]:
    """Start one node with `settings`, made from so many free ports, and a worker. The node may not be up yet.

    `flags`: of the node's JVM.
    """
    name, choice, directory = start.name, start.choice, start.directory
    system = registry.system_named(name)
    with LocalHost.open() as host:
        free = host.free_ports(ports)
        host_of_node: Any = _HostWithFlags(host, flags) if flags else host
        deployment = system.deploy(request_for(system, choice, directory, settings(free)), host_of_node)
        try:
            worker = start_worker(host, system.driver, directory / "logs")
            log = directory / "logs/worker.log"
            yield Secured(name, choice, host, deployment, worker, start.authority, log, start.secrets), free
            worker.close()
        finally:
            deployment.stop()


def eventually(what: Callable[[], object]) -> None:
    """Do it again until it works."""
    patience = Patience(READY_S_MAX)
    while True:
        try:
            what()
            return
        except (RunFailedError, OSError):
            if patience.is_over():
                raise
            time.sleep(0.2)

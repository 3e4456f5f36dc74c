"""A fleet whose hosts are addresses of loopback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidegauge.fleet.probes import Prober
from tidegauge.model.host import FleetHost


class InProcess:
    """A host's object that is here. `fails`: what it raises, by method."""

    def __init__(self, kind: Callable[[], object], fails: dict[str, Exception]) -> None:
        self._object = kind()
        self._fails = fails

    def call(self, method: str, *arguments: object, timeout_s: float) -> Any:
        assert timeout_s > 0
        if method in self._fails:
            raise self._fails[method]
        return getattr(self._object, method)(*arguments)

    def end(self) -> None:
        assert isinstance(self._object, Prober)
        self._object.stop()


class Loopback:
    """`Launcher` whose hosts are addresses of this one."""

    def __init__(self, hosts: Sequence[FleetHost], fails: dict[str, dict[str, Exception]] | None = None) -> None:
        self._hosts = hosts
        self._fails = fails or {}

    def hosts(self) -> Sequence[FleetHost]:
        return self._hosts

    def start(self, host: FleetHost, kind: Callable[[], object]) -> InProcess:
        if "start" in self._fails.get(host.address, {}):
            raise self._fails[host.address]["start"]
        return InProcess(kind, self._fails.get(host.address, {}))

    def close(self) -> None:
        pass

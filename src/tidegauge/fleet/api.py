"""What starts objects on the hosts of a fleet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tidegauge.model.host import FleetHost


class Remote(Protocol):
    """An object that lives in a process of its own on a host."""

    def call(self, method: str, *arguments: object, timeout_s: float) -> Any:
        """Call a method and wait for its answer: plain data.

        Raises `RunFailedError`, which names host and method, if the host or the process is gone or does not answer in
        time, and what the method itself raised if that is a `TidegaugeError` or an `OSError`.
        """

    def end(self) -> None:
        """End its process. Never raises."""


class Launcher(Protocol):
    """The hosts of a fleet. All methods may be called from any thread."""

    def hosts(self) -> Sequence[FleetHost]:
        """Every host that is in the fleet, or was and is lost, by address."""

    def start(self, host: FleetHost, kind: Callable[[], object]) -> Remote:
        """Make an object of a class that the host's own installation has. Does not wait: the first call does."""

    def close(self) -> None:
        """End what was started. Never raises."""

"""A host on which every process that is started gets a memory limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tidegauge.fleet.api import Host, ProcessSpec, ProcessStatus
from tidegauge.fleet.rig_api import Rig
from tidegauge.model.use import Sample


class LimitedHost:
    """`Host` that passes everything on, and starts each process with at most `memory_bytes` of its own."""

    def __init__(self, host: Host, memory_bytes: int) -> None:
        self.name = host.name
        self._host = host
        self._memory_bytes = memory_bytes

    @property
    def rig(self) -> Rig:
        """See `Host.rig`."""
        return self._host.rig

    def start(self, spec: ProcessSpec) -> ProcessStatus:
        """See `Host.start`."""
        return self._host.start(replace(spec, memory_bytes_max=self._memory_bytes))

    def status(self, name: str) -> ProcessStatus:
        """See `Host.status`."""
        return self._host.status(name)

    def stop(self, name: str) -> ProcessStatus:
        """See `Host.stop`."""
        return self._host.stop(name)

    def signal(self, name: str, signal_number: int) -> None:
        """See `Host.signal`."""
        self._host.signal(name, signal_number)

    def free_ports(self, count: int) -> list[int]:
        """See `Host.free_ports`."""
        return self._host.free_ports(count)

    def release_ports(self, ports: Sequence[int]) -> None:
        """See `Host.release_ports`."""
        self._host.release_ports(ports)

    def track_directory(self, path: Path) -> None:
        """See `Host.track_directory`."""
        self._host.track_directory(path)

    def agent_cpu_s(self) -> float:
        """See `Host.agent_cpu_s`."""
        return self._host.agent_cpu_s()

    def samples(self, after: int) -> list[Sample]:
        """See `Host.samples`."""
        return self._host.samples(after)

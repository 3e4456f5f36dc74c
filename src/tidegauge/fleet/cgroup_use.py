"""How the cgroups of a process limit it: its CPU quota with the time it was held back, and its memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidegauge.hosts.cgroups import Hierarchy, hierarchies, left_in

_PLACES_MAX = 63
"""Processes' places that are remembered."""


@dataclass(frozen=True)
class CpuQuota:
    """The tightest quota, in CPUs; None without one. `throttled_s`: held back by it so far."""

    cpus: float
    throttled_s: float


@dataclass(frozen=True)
class WriteLimit:
    """Most bytes and requests a second; None = no limit."""

    bytes_per_s: int | None = None
    requests_per_s: int | None = None

    def tightest(self, other: WriteLimit | None) -> WriteLimit:
        """The lower ones of both."""
        if other is None:
            return self
        return WriteLimit(
            _lower(self.bytes_per_s, other.bytes_per_s), _lower(self.requests_per_s, other.requests_per_s)
        )


def _lower(one: int | None, other: int | None) -> int | None:
    return min((number for number in (one, other) if number is not None), default=None)


class CgroupWatch:
    """Looks at processes' cgroups; where each one's are is found again only when it was moved."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._found: dict[str, tuple[Hierarchy, ...]] = {}

    def of(self, pid: int) -> tuple[CpuQuota | None, tuple[int, int] | None]:
        """CPU quota, and memory limit with what it leaves (bytes), of a process; None where there is no such limit."""
        groups = self._groups(pid)
        memory = left_in(groups)
        return _quota(groups), None if memory is None else (memory.limit_bytes, memory.left_bytes)

    def write_limits(self, pid: int) -> dict[str, WriteLimit]:
        """What a process may write at most, by the device's "major:minor"; only devices with a limit."""
        found: dict[str, WriteLimit] = {}
        for group in self._groups(pid):
            if group.version == 1 and "blkio" not in group.controllers:
                continue
            for level in group.levels:
                for device, limit in (_writes_v1(level) if group.version == 1 else _writes_v2(level)).items():
                    found[device] = limit.tightest(found.get(device))
        return found

    def _groups(self, pid: int) -> tuple[Hierarchy, ...]:
        try:
            text = (self._root / f"proc/{pid}/cgroup").read_text()
            if text not in self._found:
                self._found = {
                    text: tuple(hierarchies(self._root, pid)),
                    **dict(list(self._found.items())[:_PLACES_MAX]),
                }
        except OSError:
            return ()
        return self._found[text]


def _quota(groups: tuple[Hierarchy, ...]) -> CpuQuota | None:
    found = []
    for group in groups:
        if group.version == 1 and "cpu" not in group.controllers:
            continue
        for level in group.levels:
            cpus = _cpus_v1(level) if group.version == 1 else _cpus_v2(level)
            if cpus is not None:
                found.append((cpus, level))
    if not found:
        return None
    cpus, level = min(found)
    return CpuQuota(cpus, _throttled_s(level))


def _cpus_v1(level: Path) -> float | None:
    quota, period = _text(level / "cpu.cfs_quota_us"), _text(level / "cpu.cfs_period_us")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _cpus_v2(level: Path) -> float | None:
    quota, _, period = _text(level / "cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _throttled_s(level: Path) -> float:
    """v1 tells ns, v2 us."""
    found = dict(line.split(" ", 1) for line in _text(level / "cpu.stat").splitlines() if " " in line)
    return int(found.get("throttled_time", 0)) / 1e9 + int(found.get("throttled_usec", 0)) / 1e6


def _writes_v1(level: Path) -> dict[str, WriteLimit]:
    bytes_max, requests_max = (
        {device: int(number) for device, number in (line.split() for line in _text(level / file).splitlines())}
        for file in ("blkio.throttle.write_bps_device", "blkio.throttle.write_iops_device")
    )
    devices = {*bytes_max, *requests_max}
    return {device: WriteLimit(bytes_max.get(device), requests_max.get(device)) for device in devices}


def _writes_v2(level: Path) -> dict[str, WriteLimit]:
    found = {}
    for line in _text(level / "io.max").splitlines():
        device, *pairs = line.split()
        told = dict(pair.split("=", 1) for pair in pairs)
        numbers = [int(told[key]) if told.get(key, "max") != "max" else None for key in ("wbps", "wiops")]
        found[device] = WriteLimit(*numbers)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""

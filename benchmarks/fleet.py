"""What a fleet costs one of its hosts: CPU and memory of Ray's processes and of Tidegauge's agent there.

    .venv/bin/python benchmarks/fleet.py 60        # on that host, while nothing runs, or while a campaign does

Of processes that end meanwhile nothing is counted.
"""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

RAY, AGENT = "TIDEGAUGE_FLEET", "TIDEGAUGE_AGENT"
"""In the environment of all of Ray's processes, and of the agent and what it started."""


@dataclass
class Group:
    """Processes of one kind, and what they had used when they were first seen."""

    name: str
    processes: list[tuple[psutil.Process, float]] = field(default_factory=list)

    def line(self, seconds: float) -> str:
        """What they used since, and have in memory."""
        cpu_s = memory_bytes = 0.0
        for process, before_s in self.processes:
            with contextlib.suppress(psutil.Error):
                cpu_s += _cpu_s(process) - before_s
                memory_bytes += process.memory_full_info().pss
        return (
            f"{self.name}: {len(self.processes)} processes, {cpu_s / seconds * 100:.2f} % of a CPU, "
            f"{memory_bytes / 1e6:.0f} MB (pages shared between processes divided among them)"
        )


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _seen() -> list[Group]:
    ray, agent = Group("Ray"), Group("agent")
    own = Path("/proc/self/ns/net").readlink()
    for process in psutil.process_iter():
        # Hosts may be network namespaces of one machine.
        with contextlib.suppress(psutil.Error, OSError):
            if Path(f"/proc/{process.pid}/ns/net").readlink() != own:
                continue
            environment, command = process.environ(), process.cmdline()
            if "tidegauge.agent.main" in command:
                agent.processes.append((process, _cpu_s(process)))
            elif RAY in environment and AGENT not in environment:
                ray.processes.append((process, _cpu_s(process)))
    return [ray, agent]


def main(seconds: float) -> None:
    """Print a line for each kind."""
    groups = _seen()
    begun_s = time.monotonic()
    time.sleep(seconds)
    passed_s = time.monotonic() - begun_s
    for group in groups:
        print(group.line(passed_s))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)

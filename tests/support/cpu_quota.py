"""Takes CPUs away from processes, by a group of cgroup v1."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

_CPU = Path("/sys/fs/cgroup/cpu")


def can_limit_cpu() -> bool:
    return os.geteuid() == 0 and (_CPU / "cpu.cfs_quota_us").exists()


needs_cpu_limit = pytest.mark.skipif(not can_limit_cpu(), reason="needs root and the cpu controller of cgroup v1")


@contextlib.contextmanager
def quota(name: str, cpus: float) -> Iterator[Path]:
    """A group whose members together may use so many CPUs. Its members go back when it ends."""
    group = _CPU / name
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text("50000")
        (group / "cpu.cfs_quota_us").write_text(str(round(cpus * 50_000)))
        yield group
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (_CPU / "cgroup.procs").write_text(pid)
        group.rmdir()

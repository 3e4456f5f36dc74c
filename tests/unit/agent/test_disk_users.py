"""Who uses a disk that is to be cut off: what belongs to the servers named, and what is a stranger there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tidegauge.agent import rig as agent_rig
from tidegauge.agent.rig import AgentDisks
from tidegauge.errors import RunFailedError
from tidegauge.hosts import procfs
from tidegauge.hosts.procfs import Stat
from tidegauge.hosts.storage import open_descriptor

FORKED = os.getppid()
"""A process that lives, and is not this one."""


class Trees:
    """Process trees of servers, as they are seen time after time."""

    def __init__(self, *seen: list[int]) -> None:
        self._seen: Iterator[list[int]] = iter(seen)
        self.stopped = False

    def stop(self, processes: Sequence[str]) -> int:
        self.stopped = True
        return len(processes)

    def resume(self, processes: Sequence[str]) -> None:
        self.stopped = False

    def members(self, processes: Sequence[str]) -> list[Stat]:
        assert processes == ["rabbitmq-1"]
        return [stat for pid in next(self._seen) if (stat := procfs.read_stat(pid)) is not None]


def check(monkeypatch: pytest.MonkeyPatch, trees: Any, using: dict[int, str]) -> None:
    monkeypatch.setattr(agent_rig.procfs, "users_of", lambda _device: using)
    ledger: Any = None
    descriptor = os.open("/", os.O_RDONLY)
    try:
        AgentDisks(trees, ledger)._check_users(["rabbitmq-1"], {Path("/disk-1"): descriptor})
    finally:
        os.close(descriptor)


def test_who_is_none_of_the_servers_keeps_the_power_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunFailedError, match=rf"/disk-1 can't be cut: vi \(process {FORKED}\) has files open there"):
        check(monkeypatch, Trees([], []), {FORKED: "vi"})


def test_a_child_that_a_starting_server_forked_meanwhile_is_no_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch, Trees([], [FORKED]), {FORKED: "inet_gethost"})


def test_one_that_is_gone_by_now_is_none_either(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch, Trees([], []), {(1 << 22) + 1: "inet_gethost", os.getpid(): "agent"})


def test_servers_go_on_where_a_disk_can_not_be_cut_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trees: Any = Trees([], [])
    stood: list[bool] = []

    def refuse(_descriptor: int) -> None:
        stood.append(trees.stopped)
        raise OSError(1, "Operation not permitted")

    ledger: Any = None
    monkeypatch.setattr(agent_rig.procfs, "users_of", lambda _device: {})
    monkeypatch.setattr(agent_rig.loop_disk, "cut_off", refuse)
    monkeypatch.setattr(AgentDisks, "_device", lambda _, place: open_descriptor(place))
    with pytest.raises(OSError, match="not permitted"):
        AgentDisks(trees, ledger).cut(["rabbitmq-1"], [tmp_path])
    assert stood == [True]
    assert not trees.stopped

"""Where a memory limit is set, on machines with either version of cgroups, and what prevents it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegauge.hosts import cgroups


def machine(root: Path, mounts: str, places: str) -> Path:
    """A root directory whose /proc says this of mounts and this process's cgroups."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(mounts)
    (root / "proc/self/cgroup").write_text(places)
    return root


@pytest.fixture
def v1(tmp_path: Path) -> Path:
    (tmp_path / "cg/memory/own").mkdir(parents=True)
    return machine(tmp_path, "1 2 0:3 / /cg/memory rw - cgroup cgroup rw,memory\n", "4:memory:/own\n0::/\n")


@pytest.fixture
def v2(tmp_path: Path) -> Path:
    (tmp_path / "cg/slice/own").mkdir(parents=True)
    (tmp_path / "cg/slice/cgroup.subtree_control").write_text("cpu memory\n")
    (tmp_path / "cg/slice/own/cgroup.subtree_control").write_text("\n")
    return machine(tmp_path, "1 2 0:3 / /cg rw - cgroup2 cgroup2 rw\n", "0::/slice/own\n")


def test_version_1_limits_below_the_own_group(v1: Path) -> None:
    assert cgroups.memory_refusal(v1) == ""
    group = cgroups.make_group("a-kafka-1", 5 << 20, v1)
    assert group == v1 / "cg/memory/own/tidegauge-a-kafka-1"
    assert (group / "memory.limit_in_bytes").read_text() == str(5 << 20)


def test_version_2_limits_where_the_controller_is_handed_on(v2: Path) -> None:
    assert cgroups.memory_refusal(v2) == ""
    group = cgroups.make_group("a-kafka-1", 5 << 20, v2)
    assert group == v2 / "cg/slice/tidegauge-a-kafka-1"
    assert (group / "memory.max").read_text() == str(5 << 20)
    assert cgroups.make_group("a-kafka-1", 6 << 20, v2) == group


def test_a_machine_without_a_controller_says_so(v2: Path) -> None:
    (v2 / "cg/slice/cgroup.subtree_control").write_text("cpu\n")
    assert "no cgroup" in cgroups.memory_refusal(v2)
    with pytest.raises(OSError, match="no cgroup"):
        cgroups.make_group("a", 1, v2)


def test_missing_rights_are_reported(v1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "needs root" in cgroups.memory_refusal(v1)


def test_only_our_groups_are_removed_as_groups(tmp_path: Path) -> None:
    ours, others = tmp_path / "tidegauge-a", tmp_path / "system.slice"
    for directory in (ours, others):
        directory.mkdir()
        (directory / "cgroup.procs").write_text("")
    assert cgroups.is_group(ours)
    assert not cgroups.is_group(others)
    (tmp_path / "tidegauge-b").mkdir()
    assert not cgroups.is_group(tmp_path / "tidegauge-b")

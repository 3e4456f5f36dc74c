"""Where a disk's limits are written, on machines with either version of cgroups, and what prevents it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegauge.hosts import cgroups, commands


def machine(root: Path, mounts: str, places: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(mounts)
    (root / "proc/self/cgroup").write_text(places)
    return root


@pytest.fixture(autouse=True)
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "capability_refusal", lambda *_: "")


@pytest.fixture
def v1(tmp_path: Path) -> Path:
    top = tmp_path / "cg/blkio"
    (top / "own").mkdir(parents=True)
    for way in ("read", "write"):
        for kind in ("bps", "iops"):
            (top / f"blkio.throttle.{way}_{kind}_device").touch()
    return machine(tmp_path, "1 2 0:3 / /cg/blkio rw - cgroup cgroup rw,blkio\n", "4:blkio:/own\n")


@pytest.fixture
def v2(tmp_path: Path) -> Path:
    for group in ("system.slice", "user.slice/deeper"):
        (tmp_path / "cg" / group).mkdir(parents=True)
    for group in ("system.slice", "user.slice"):
        (tmp_path / "cg" / group / "io.max").touch()
    return machine(tmp_path, "1 2 0:3 / /cg rw - cgroup2 cgroup2 rw\n", "0::/system.slice\n")


def written(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text() for path in sorted((root / "cg").rglob("*")) if path.is_file()
    }


def test_version_1_limits_everybody_at_the_root(v1: Path) -> None:
    cgroups.limit_disk("7:3", 1000, None, v1)
    assert written(v1) == {
        "cg/blkio/blkio.throttle.read_bps_device": "7:3 1000",
        "cg/blkio/blkio.throttle.read_iops_device": "7:3 0",
        "cg/blkio/blkio.throttle.write_bps_device": "7:3 1000",
        "cg/blkio/blkio.throttle.write_iops_device": "7:3 0",
    }
    cgroups.limit_disk("7:3", None, None, v1)
    assert set(written(v1).values()) == {"7:3 0"}


def test_version_2_limits_every_group_below_the_root(v2: Path) -> None:
    cgroups.limit_disk("7:3", None, 50, v2)
    line = "7:3 rbps=max wbps=max riops=50 wiops=50"
    assert written(v2) == {"cg/system.slice/io.max": line, "cg/user.slice/io.max": line}


def test_a_container_limits_its_own_top(v2: Path) -> None:
    (v2 / "cg/io.max").touch()
    cgroups.limit_disk("7:3", 5, None, v2)
    assert written(v2)["cg/io.max"] == "7:3 rbps=5 wbps=5 riops=max wiops=max"
    assert written(v2)["cg/system.slice/io.max"] == ""


def test_a_machine_that_limits_no_disks_says_so(v2: Path) -> None:
    for group in ("system.slice", "user.slice"):
        (v2 / "cg" / group / "io.max").unlink()
    assert "no cgroup of this machine limits disks" in cgroups.disk_refusal(v2)
    with pytest.raises(OSError, match="limits disks"):
        cgroups.limit_disk("7:3", 1, None, v2)


class TestPrivileges:
    """Root in a container often lacks what root elsewhere has."""

    @pytest.fixture(autouse=True)
    def real(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()
        monkeypatch.setattr(os, "geteuid", lambda: 0)

    def test_a_capability_that_is_missing(self, tmp_path: Path) -> None:
        root = machine(tmp_path, "", "")
        (root / "proc/self/status").write_text("Name:\tx\nCapEff:\t00000000a80425fb\n")
        assert commands.capability_refusal("CAP_SYS_ADMIN", root=root).startswith("needs CAP_SYS_ADMIN, which")
        (root / "proc/self/status").write_text("CapEff:\t000001ffffffffff\n")
        assert commands.capability_refusal("CAP_SYS_ADMIN", root=root) == ""
        assert commands.capability_refusal("CAP_NET_ADMIN", ["no-such-tool"], root) == "no-such-tool can't be found"

    def test_an_ordinary_user(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        assert commands.capability_refusal("CAP_SYS_ADMIN") == "needs root"
        assert cgroups.disk_refusal() == "needs root"

"""A disk of its own for servers' data: what prevents it, and that nothing of it is left, after a crash neither."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import wait_for

from tidegauge.agent.api import ProcessSpec
from tidegauge.agent.local import LocalHost
from tidegauge.agent.reap import image_of, remove_disk
from tidegauge.campaign.run.node_limits import LimitedHost
from tidegauge.hosts import cgroups, commands, loop_disk

SIZE_BYTES = 64 << 20
MIB = 1 << 20
needs_disks = pytest.mark.skipif(bool(loop_disk.refusal()), reason="needs root and loop devices")
READS_TWICE = """
import os, time
fd = os.open("big", os.O_CREAT | os.O_RDWR)
for _ in range(40):
    os.write(fd, os.urandom(1 << 20))
os.fsync(fd)
for _ in range(2):
    os.lseek(fd, 0, 0)
    while os.read(fd, 1 << 20):
        pass
print("ready", flush=True)
time.sleep(60)
"""


def mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()


def test_missing_tools_and_rights_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert loop_disk.refusal() == "needs root"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(commands, "read_stripped_text", lambda _path: "CapEff:\t000001ffffffffff")
    monkeypatch.setattr("shutil.which", lambda tool: None if tool == "mkfs.ext4" else "/bin/x")
    assert loop_disk.refusal() == "mkfs.ext4 can't be found (package e2fsprogs)"


@pytest.mark.root
@needs_disks
def test_a_disk_is_empty_reads_directly_and_goes_with_its_directory(tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    loop_disk.mount_disk(place, image_of(place), SIZE_BYTES)
    assert list(place.iterdir()) == []
    device = next(line.split()[-2] for line in mounts().splitlines() if str(place) in line)
    assert (Path("/sys/block") / Path(device).name / "loop/dio").read_text().strip() == "1"
    (place / "segment").write_text("data")
    assert remove_disk(place)
    assert not place.exists()
    assert str(place) not in mounts()
    assert Path(device).name not in subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout


@pytest.mark.root
@needs_disks
def test_a_disk_below_a_symbolic_link_is_unmounted(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    place = tmp_path / "link/data"
    place.mkdir()
    loop_disk.mount_disk(place, tmp_path / "image", SIZE_BYTES)
    assert str(tmp_path) in mounts()
    loop_disk.release(place)
    assert str(tmp_path) not in mounts()
    # A device stays attached until its file is released, too.
    loop_disk.release(tmp_path / "image")
    assert str(tmp_path) not in subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout


@pytest.mark.root
@needs_disks
def test_a_disk_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="mount"):
        loop_disk.mount_disk(tmp_path / "nowhere", tmp_path / "image", SIZE_BYTES)
    assert not (tmp_path / "image").exists()
    assert str(tmp_path) not in subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout


@pytest.mark.root
@needs_disks
@pytest.mark.skipif(bool(cgroups.memory_refusal()), reason="needs a memory controller")
@pytest.mark.parametrize("limited", [True, False])
def test_only_a_process_with_too_little_memory_reads_from_the_device(tmp_path: Path, limited: bool) -> None:
    log = tmp_path / "log"
    with LocalHost.open() as host:
        chosen = LimitedHost(host, 24 * MIB) if limited else host
        chosen.start(ProcessSpec("reader", (sys.executable, "-c", READS_TWICE), {}, str(tmp_path), str(log)))
        wait_for(lambda: log.exists() and "ready" in log.read_text(), 60, "reading")
        read_bytes = host.status("reader").read_bytes
        agent = host.agent_id
        groups = list(Path("/sys/fs/cgroup").rglob(f"tidegauge-{agent}-*"))
        assert len(groups) == (1 if limited else 0)
    assert read_bytes is not None
    # 40 MiB twice: with less memory than that all of it comes from the device each time.
    assert read_bytes >= 70 * MIB if limited else read_bytes < 20 * MIB
    assert list(Path("/sys/fs/cgroup").rglob(f"tidegauge-{agent}-*")) == []

"""A power cut on real file systems: what was synced stays, what was not is gone, and nobody is cut off unasked."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import wait_for
from power_cuts import DEADLINE_S, cut_again_and_again, wait_for_records, what_was_not_synced_is_gone
from rigs import MIB, SIZE_BYTES, acknowledged, leftovers, readable, writer

from tidegauge.agent.api import ProcessSpec
from tidegauge.agent.local import LocalHost
from tidegauge.errors import RunFailedError
from tidegauge.hosts import cgroups, loop_disk
from tidegauge.model.host import DeviceFileSystem, FileSystem

pytestmark = [pytest.mark.root, pytest.mark.integration]


def needs(file_system: DeviceFileSystem) -> pytest.MarkDecorator:
    reason = loop_disk.refusal(file_system)
    return pytest.mark.skipif(bool(reason), reason=f"{file_system}: {reason}")


BOTH = [pytest.param(name, marks=needs(name)) for name in ("ext4", "xfs")]
XFS_SLOW = [pytest.param("ext4", marks=needs("ext4")), pytest.param("xfs", marks=[needs("xfs"), pytest.mark.slow])]
"""In `make test` XFS is cut with synced records; what differs beyond that is the disk below, which both have."""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHost]:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    with LocalHost.open() as opened:
        yield opened
    assert leftovers(tmp_path, opened.agent_id) == []


@pytest.mark.parametrize("file_system", BOTH)
def test_what_was_synced_survives_every_cut(host: LocalHost, tmp_path: Path, file_system: FileSystem) -> None:
    host.rig.make_disk(tmp_path / "disk", SIZE_BYTES[file_system], file_system)
    cut_again_and_again(host, tmp_path, tmp_path / "disk", file_system, 3)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("file_system", BOTH)
def test_what_was_synced_survives_forty_cuts(host: LocalHost, tmp_path: Path, file_system: FileSystem) -> None:
    host.rig.make_disk(tmp_path / "disk", SIZE_BYTES[file_system], file_system)
    cut_again_and_again(host, tmp_path, tmp_path / "disk", file_system, 40)


@pytest.mark.parametrize("file_system", XFS_SLOW)
def test_what_was_not_synced_is_gone(host: LocalHost, tmp_path: Path, file_system: FileSystem) -> None:
    host.rig.make_disk(tmp_path / "disk", SIZE_BYTES[file_system], file_system)
    what_was_not_synced_is_gone(host, tmp_path, tmp_path / "disk")


@needs("ext4")
def test_all_nodes_stand_before_the_first_is_cut(host: LocalHost, tmp_path: Path) -> None:
    places = [tmp_path / f"disk-{number}" for number in range(3)]
    names = [f"writer-{number}" for number in range(3)]
    for name, place in zip(names, places, strict=True):
        host.rig.make_disk(place, SIZE_BYTES["ext4"])
        host.start(writer(tmp_path, place, name=name))
    for name in names:
        wait_for_records(tmp_path, 20, name)
    report = host.rig.cut_power(names, places)
    assert report.processes == 3
    for name, place in zip(names, places, strict=True):
        promised, there = acknowledged(tmp_path, name), readable(place)
        assert all(promised[thread] <= there[thread] for thread in promised)
    # A second cut, of nodes that are down already, finds the same.
    again = host.rig.cut_power(names, places)
    assert again.processes == 0
    assert all(disk.is_clean for disk in again.disks)


@needs("ext4")
def test_who_is_not_stopped_keeps_a_disk_from_being_cut(host: LocalHost, tmp_path: Path) -> None:
    place = tmp_path / "disk"
    host.rig.make_disk(place, SIZE_BYTES["ext4"])
    host.start(writer(tmp_path, place))
    host.start(writer(tmp_path, place, name="other"))
    wait_for_records(tmp_path, 5)
    wait_for_records(tmp_path, 5, "other")
    with pytest.raises(RunFailedError, match=r"can't be cut: python\S* \(process \d+\) has files open there"):
        host.rig.cut_power(["writer"], [place])
    # Nothing was stopped or cut.
    wait_for_records(tmp_path, max(acknowledged(tmp_path).values()) + 5)
    with pytest.raises(RunFailedError, match="nobody was never started here"):
        host.rig.cut_power(["nobody"], [place])
    with pytest.raises(RunFailedError, match="no disk that was made here"):
        host.rig.cut_power([], [tmp_path])
    host.rig.cut_power(["writer", "other"], [place])


@needs("ext4")
def test_children_are_stopped_and_killed_too(host: LocalHost, tmp_path: Path) -> None:
    place = tmp_path / "disk"
    host.rig.make_disk(place, SIZE_BYTES["ext4"])
    script = (
        "i=0; while [ $i -lt 3 ]; do (setsid sh -c 'while :; do echo x >> more; done' &); i=$((i+1)); done; sleep 99"
    )
    host.start(ProcessSpec("p", ("/bin/sh", "-c", script), {"PATH": os.defpath}, str(place), str(tmp_path / "log")))
    wait_for(lambda: (place / "more").exists() and (place / "more").stat().st_size > 300, DEADLINE_S, "children write")
    report = host.rig.cut_power(["p"], [place])
    assert report.processes >= 4
    assert not (place / "more").exists() or (place / "more").stat().st_size == 0


@needs("ext4")
@pytest.mark.skipif(bool(cgroups.disk_refusal()), reason=cgroups.disk_refusal())
def test_a_disk_that_is_slow_or_hangs_can_be_cut(host: LocalHost, tmp_path: Path) -> None:
    place = tmp_path / "disk"
    host.rig.make_disk(place, SIZE_BYTES["ext4"])
    host.rig.throttle_disk(place, 256 << 10)
    host.start(writer(tmp_path, place))
    wait_for_records(tmp_path, 3)
    host.rig.hang_disk(place)
    host.rig.cut_power(["writer"], [place])
    promised, there = acknowledged(tmp_path), readable(place)
    assert all(promised[thread] <= there[thread] for thread in promised)
    # It does not hang any more, and is still slow.
    before_s = time.monotonic()
    write_synced(place / "new", MIB)
    assert time.monotonic() - before_s > 2.0


def write_synced(path: Path, size_bytes: int) -> None:
    with path.open("wb") as file:
        file.write(os.urandom(size_bytes))
        os.fsync(file.fileno())


def test_a_missing_tool_is_reported_and_nothing_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("losetup", "mount", "umount", "mkfs.ext4"):
        (tools / tool).write_text("#!/bin/sh\n")
        (tools / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    if os.geteuid() != 0:
        pytest.skip("needs root")
    with LocalHost.open() as host:
        refused = host.rig.refusals()
        assert refused["xfs"] == "mkfs.xfs, xfs_repair can't be found (package xfsprogs)"
        assert refused["power_cut"] == "e2fsck can't be found (package e2fsprogs)"
        assert refused["packet_loss"] == "ip, nft can't be found (package nftables)"
        with pytest.raises(RunFailedError, match=r"No xfs disk can be made .*package xfsprogs"):
            host.rig.make_disk(tmp_path / "disk", SIZE_BYTES["xfs"], "xfs")
        assert not (tmp_path / "disk").exists()


def test_without_root_everything_that_needs_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    from tidegauge.agent.rig import refusals_of_this_host

    assert {reason for ability, reason in refusals_of_this_host().items() if ability != "fuse"} == {"needs root"}
    assert len(refusals_of_this_host().keys() - {"fuse"}) == 9


@pytest.mark.parametrize("file_system", XFS_SLOW)
def test_a_copy_of_the_mount_elsewhere_is_unmounted_too(
    host: LocalHost, tmp_path: Path, file_system: FileSystem
) -> None:
    place = tmp_path / "disk"
    host.rig.make_disk(place, SIZE_BYTES[file_system], file_system)
    host.start(writer(tmp_path, place))
    wait_for_records(tmp_path, 3)
    # A mount namespace of its own, as containers and services get, and as our own tracer does.
    copy = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", "echo ready; exec sleep 1000"],
        stdout=subprocess.PIPE,
    )
    assert copy.stdout is not None
    assert copy.stdout.readline() == b"ready\n"
    try:
        report = host.rig.cut_power(["writer"], [place])
        assert copy.poll() is None, "it need not end"
    finally:
        copy.kill()
        copy.wait()
        copy.stdout.close()
    assert report.disks[0].is_clean, report.disks[0].report
    promised, there = acknowledged(tmp_path), readable(place)
    assert all(promised[thread] <= there[thread] for thread in promised)


@needs("ext4")
def test_a_disk_is_not_made_over_something(host: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    with pytest.raises(RunFailedError, match="something is there"):
        host.rig.make_disk(tmp_path / "full", SIZE_BYTES["ext4"])
    with pytest.raises(RunFailedError, match=r"No ext4 disk can be made .*mkfs\.ext4"):
        host.rig.make_disk(tmp_path / "tiny", 4096)
    assert (tmp_path / "full/file").read_text() == "mine"
    assert not (tmp_path / "tiny").exists()


@needs("ext4")
def test_a_disk_in_use_is_not_removed_and_its_user_reported(host: LocalHost, tmp_path: Path) -> None:
    place = tmp_path / "disk"
    host.rig.make_disk(place, SIZE_BYTES["ext4"])
    script = f"open({str(place / 'file')!r}, 'w'); import time; f = open({str(place / 'file')!r}); time.sleep(99)"
    host.start(ProcessSpec("user", (sys.executable, "-c", script), {}, str(tmp_path), str(tmp_path / "log")))
    wait_for((place / "file").exists, DEADLINE_S, "the file is there")
    with pytest.raises(RunFailedError, match=r"can't be removed: .*busy; in use by \S+ \(process \d+\)"):
        host.rig.remove_disk(place)
    host.rig.kill(["user"])
    host.rig.remove_disk(place)
    host.rig.remove_disk(place)
    assert not place.exists()

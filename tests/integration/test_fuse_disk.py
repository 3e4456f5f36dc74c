"""Disks of libfuse, which need no root: what was synced stays, what was not is gone, and nothing is left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from libfuse import provide
from patience import wait_for
from power_cuts import DEADLINE_S, cut_again_and_again, wait_for_records, what_was_not_synced_is_gone
from rigs import acknowledged, leftovers, readable, writer

from tidegauge.agent.local import LocalHost
from tidegauge.agent.reap import clean_leftovers
from tidegauge.errors import RunFailedError
from tidegauge.hosts import fuse_disk

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", autouse=True)
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        provide(tmp_path_factory.mktemp("libfuse"), patch)
        reason = fuse_disk.refusal()
        if reason:
            pytest.skip(reason)
        yield


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHost]:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    with LocalHost.open() as opened:
        assert "fuse" not in opened.rig.refusals()
        yield opened
    assert leftovers(tmp_path, opened.agent_id) == []


def daemons(tmp_path: Path) -> list[str]:
    """Command lines of the daemons of disks below a directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if words[0].endswith("passthrough_ll") and any(str(tmp_path) in word for word in words):
            found.append(" ".join(words))
    return found


@pytest.fixture
def place(host: LocalHost, tmp_path: Path) -> Path:
    """A disk, with the files of the writer, which opens them for appending."""
    host.rig.make_disk(tmp_path / "disk", 0, "fuse")
    for name in ("a", "b"):
        (tmp_path / "disk" / name).touch()
    return tmp_path / "disk"


@pytest.mark.parametrize("cuts", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_what_was_synced_survives_every_cut(host: LocalHost, place: Path, tmp_path: Path, cuts: int) -> None:
    cut_again_and_again(host, tmp_path, place, "fuse", cuts)


def test_what_was_not_synced_is_gone(host: LocalHost, place: Path, tmp_path: Path) -> None:
    what_was_not_synced_is_gone(host, tmp_path, place)


def test_what_the_daemon_writes_wrongly_is_not_taken_for_lost(host: LocalHost, tmp_path: Path) -> None:
    place = tmp_path / "disk"
    host.rig.make_disk(place, 0, "fuse")
    host.start(writer(tmp_path, place))
    wait_for_records(tmp_path, 5)
    with pytest.raises(
        RunFailedError, match="was created for appending, and libfuse's passthrough_ll has written it wrongly"
    ):
        host.rig.cut_power(["writer"], [place])
    # Nothing was stopped or cut.
    wait_for_records(tmp_path, max(acknowledged(tmp_path).values()) + 5)


def test_a_file_that_was_spoilt_and_closed_is_found(host: LocalHost, tmp_path: Path) -> None:
    place = tmp_path / "disk"
    host.rig.make_disk(place, 0, "fuse")
    with (place / "log").open("ab") as file:
        for _ in range(3):
            file.write(b"x" * 100)
            file.flush()
            os.fsync(file.fileno())
    assert (place / "log").read_bytes() == b"x" * 300
    with pytest.raises(RunFailedError, match="log was created for appending"):
        host.rig.cut_power([], [place])


def test_room_is_looked_for(host: LocalHost, tmp_path: Path) -> None:
    with pytest.raises(
        RunFailedError, match=r"No fuse disk can be made at .*: it needs [\d,]+ bytes, and [\d,]+ are free"
    ):
        host.rig.make_disk(tmp_path / "disk", 1 << 60, "fuse")
    assert not (tmp_path / "disk").exists()


def test_nodes_are_cut_together(host: LocalHost, tmp_path: Path) -> None:
    places = [tmp_path / f"disk-{number}" for number in range(3)]
    names = [f"writer-{number}" for number in range(3)]
    for name, place in zip(names, places, strict=True):
        host.rig.make_disk(place, 0, "fuse")
        (place / "a").touch()
        (place / "b").touch()
        host.start(writer(tmp_path, place, name=name))
    for name in names:
        wait_for_records(tmp_path, 20, name)
    assert host.rig.cut_power(names, places).processes == 3
    for name, place in zip(names, places, strict=True):
        promised, there = acknowledged(tmp_path, name), readable(place)
        assert all(promised[thread] <= there[thread] for thread in promised), (name, promised, there)


def test_it_can_neither_be_slow_nor_hang(host: LocalHost, tmp_path: Path) -> None:
    # What separates the options of a mount is an ordinary character in a path.
    place = tmp_path / "disk, one"
    host.rig.make_disk(place, 0, "fuse")
    (place / "file").write_text("there")
    with pytest.raises(RunFailedError, match="can neither be slowed down nor hang"):
        host.rig.throttle_disk(place, 1_000_000)
    with pytest.raises(RunFailedError, match="can neither be slowed down nor hang"):
        host.rig.hang_disk(place)
    host.rig.lift_all()
    assert (place / "file").read_text() == "there"
    host.rig.remove_disk(place)
    assert not place.exists()
    wait_for(lambda: not daemons(tmp_path), DEADLINE_S, "the daemon has ended")


def test_a_mount_that_is_refused_is_reported_and_leaves_nothing(
    host: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "bin"
    bad.mkdir()
    (bad / "passthrough_ll").write_text("#!/bin/sh\necho no such thing here >&2\nexit 1\n")
    (bad / "passthrough_ll").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bad}:{os.environ['PATH']}")
    with LocalHost.open() as other:
        with pytest.raises(RunFailedError, match="passthrough_ll does not mount it: no such thing here"):
            other.rig.make_disk(tmp_path / "disk", 0, "fuse")
        assert not (tmp_path / "disk").exists()
    assert leftovers(tmp_path, other.agent_id) == []


def test_nothing_is_left_when_the_agent_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    place = tmp_path / "disk"
    with LocalHost.open() as host:
        host.rig.make_disk(place, 0, "fuse")
        host.start(writer(tmp_path, place))
        wait_for_records(tmp_path, 5)
        assert daemons(tmp_path)
        os.kill(host.agent_pid, signal.SIGKILL)
    clean_leftovers()
    assert leftovers(tmp_path, host.agent_id) == []
    assert not place.exists()
    wait_for(lambda: not daemons(tmp_path), DEADLINE_S, "the daemon has ended")

"""Cuts of the power under a process that writes: what must be there afterwards, and what must not."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from patience import wait_for
from rigs import MIB, acknowledged, readable, writer

from tidegauge.agent.local import LocalHost
from tidegauge.model.host import FileSystem

DEADLINE_S = 120.0


def wait_for_records(tmp_path: Path, more_than: int, name: str = "writer") -> None:
    log = tmp_path / f"{name}.log"

    def check_log() -> None:
        if log.exists() and (text := log.read_text(errors="replace")):
            raise AssertionError(f"{name} failed after {acknowledged(tmp_path, name)} records: {text}")

    try:
        wait_for(
            lambda: min(acknowledged(tmp_path, name).values()) > more_than,
            DEADLINE_S,
            f"{name} acknowledged {more_than} records",
            check_log,
        )
    except AssertionError as error:
        error.add_note(f"{name} is at {acknowledged(tmp_path, name)}; {_threads_of_users(str(tmp_path))}")
        raise


def _threads_of_users(place: str) -> str:
    """What each thread of the processes that name a place in their command lines does, for a failure's message."""
    lines = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if place in command.read_text(errors="replace"):
                for task in (command.parent / "task").iterdir():
                    state = (task / "stat").read_text(errors="replace").rpartition(") ")[2][0]
                    lines.append(f"{task}: {state}, in {(task / 'wchan').read_text() or '?'}")
    return "; ".join(lines)


def cut_again_and_again(host: LocalHost, tmp_path: Path, place: Path, file_system: FileSystem, cuts: int) -> None:
    for _ in range(cuts):
        before = max(acknowledged(tmp_path).values())
        host.start(writer(tmp_path, place))
        wait_for_records(tmp_path, before + 20)
        report = host.rig.cut_power(["writer"], [place])
        promised, there = acknowledged(tmp_path), readable(place)
        # Each thread may have synced one record more than it had recorded.
        assert all(promised[thread] <= there[thread] <= promised[thread] + 1 for thread in promised), (promised, there)
        assert report.asked_ns <= report.frozen_ns <= report.cut_ns <= report.killed_ns <= report.mounted_ns
        checked = [] if file_system == "fuse" else [(str(place), file_system, True)]
        assert [(disk.place, disk.file_system, disk.is_clean) for disk in report.disks] == checked, report.disks
        assert report.processes == 1
        assert not host.status("writer").running
        # The record may be there though it was not reported: what is reported next must count from it.
        for thread, count in there.items():
            os.truncate(place / thread, count * 512)
            (tmp_path / f"writer-{thread}").write_bytes(bytes(8 * count))


def what_was_not_synced_is_gone(host: LocalHost, tmp_path: Path, place: Path) -> None:
    # Never by sync(2), which makes durable what other tests' writers have not synced.
    with (place / "old").open("wb") as file:
        file.write(b"x" * MIB)
        os.fsync(file.fileno())
    host.start(writer(tmp_path, place, synced=False))
    wait_for_records(tmp_path, 50)
    report = host.rig.cut_power(["writer"], [place])
    lost = {thread: promised - readable(place)[thread] for thread, promised in acknowledged(tmp_path).items()}
    assert min(lost.values()) > 0
    assert (place / "old").read_bytes() == b"x" * MIB
    # Remains of it in the kernel's cache of the device would contradict what the journal brings back.
    assert all(disk.is_clean for disk in report.disks), report.disks

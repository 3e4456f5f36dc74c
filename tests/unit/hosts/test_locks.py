"""Locks that end with their holder, and records under them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tidegauge.atomic import new_path_beside
from tidegauge.hosts.locks import LockedRecord, locked, try_lock

HOLDER = """
import sys
from pathlib import Path
from tidegauge.hosts.locks import LockedRecord, try_lock
record = LockedRecord(Path(sys.argv[1]), "a")
assert try_lock(record.lock_path) is not None
record.write(1, {"what": "things"})
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def record(tmp_path: Path) -> LockedRecord:
    return LockedRecord(tmp_path, "a")


def test_a_record_is_left_once_its_writer_is_dead_and_not_before(record: LockedRecord) -> None:
    command = [sys.executable, "-c", HOLDER, record.directory]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert record.take_left() is None
        holder.kill()
    lock = record.take_left()
    assert lock is not None
    assert record.path.read_text() == '{"schema": 1, "what": "things"}'
    assert record.take_left() is None, "somebody works on it"
    os.close(lock)


def test_a_lock_without_a_record_is_removed(record: LockedRecord) -> None:
    record.lock_path.touch()
    assert record.take_left() is None
    assert list(record.directory.iterdir()) == []


def test_removing_a_record_leaves_nothing_also_of_a_write_that_was_killed(record: LockedRecord) -> None:
    lock = try_lock(record.lock_path)
    assert lock is not None
    record.write(1, {})
    new_path_beside(record.path).write_text("half of it")
    record.remove()
    assert list(record.directory.iterdir()) == []
    os.close(lock)


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "guard.lock"
    order = []

    def second() -> None:
        with locked(path):
            order.append("second")

    with locked(path):
        assert try_lock(path) is None
        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(0.2)
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]

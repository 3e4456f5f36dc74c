"""A file is replaced whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tidegauge.atomic import new_path_beside, replace_file, replacing

KILLED_MIDWAY = """
import os, signal, sys
from pathlib import Path
from tidegauge.atomic import replacing
with replacing(Path(sys.argv[1])) as new:
    new.write_text("the new one, half of")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that holds "old"."""
    file = tmp_path / "file.json"
    file.write_text("old")
    return file


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_the_new_content_takes_the_place_of_the_old(path: Path, durable: bool, shared: bool) -> None:
    replace_file(path, b"new", durable, shared)
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_a_kill_in_the_midst_leaves_the_old_file_whole(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED_MIDWAY, path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    assert new_path_beside(path).exists(), "the kill came too early to show anything"
    replace_file(path, b"new")
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path], "what the kill left is gone"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_an_error_leaves_the_old_file_and_nothing_beside_it(path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)), replacing(path) as new:
        new.write_text("half of it")
        raise error
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_what_must_survive_a_power_cut_is_on_disk_before_it_has_the_name_and_so_is_the_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []

    def fsync(handle: int) -> None:
        synced.append((os.path.realpath(f"/proc/self/fd/{handle}"), path.read_text()))

    monkeypatch.setattr(os, "fsync", fsync)
    replace_file(path, b"once")
    assert synced == []
    replace_file(path, b"durably", durable=True)
    assert synced == [(str(new_path_beside(path)), "once"), (str(path.parent), "durably")]


def test_a_file_that_cannot_be_synced_does_not_replace_the_old_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_handle: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="Input/output error"):
        replace_file(path, b"new", durable=True)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_writers_of_a_shared_file_do_not_write_to_the_same_place(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = new_path_beside(path, shared=True)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert new_path_beside(path, shared=True) != ours


@pytest.mark.parametrize("made", ["link", "FIFO"])
def test_nothing_is_written_through_what_a_stranger_left_beside(path: Path, tmp_path: Path, made: str) -> None:
    """A directory from others may hold the name that is written first: a link to a file that this user values."""
    valued = tmp_path / "valued"
    valued.write_text("mine")
    new = new_path_beside(path)
    new.symlink_to(valued) if made == "link" else os.mkfifo(new)
    replace_file(path, b"new")
    assert (path.read_text(), valued.read_text()) == ("new", "mine")
    assert sorted(tmp_path.iterdir()) == [path, valued]

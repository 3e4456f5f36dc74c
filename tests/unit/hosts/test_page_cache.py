from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegauge.hosts import memory
from tidegauge.hosts.memory import drop_page_cache


def test_page_cache_refusals_have_a_reason(tmp_path: Path) -> None:
    assert "No such file" in drop_page_cache([tmp_path], tmp_path / "none" / "drop_caches")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may")
def test_page_cache_needs_root(tmp_path: Path) -> None:
    assert drop_page_cache([tmp_path]) == "needs root"


def test_page_cache_writes_what_the_kernel_wants(tmp_path: Path) -> None:
    control = tmp_path / "drop_caches"
    assert drop_page_cache([tmp_path, tmp_path / "not-yet"], control) == ""
    assert control.read_text() == "1"


def put_in_the_way(directory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `sync` that is found before the real one."""
    tool = directory / "bin" / "sync"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")


def test_each_file_system_is_written_back_once_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    put_in_the_way(tmp_path, f'echo "$@" > {asked}', monkeypatch)
    (tmp_path / "one").mkdir()
    assert drop_page_cache([tmp_path / "one", tmp_path], tmp_path / "control") == ""
    assert asked.read_text() == f"--file-system -- {tmp_path}\n"


def test_a_disk_that_does_not_answer_hangs_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_the_way(tmp_path, "exec sleep 600", monkeypatch)
    monkeypatch.setattr(memory, "WRITE_BACK_S_MAX", 0.2)
    control = tmp_path / "control"
    why = drop_page_cache([tmp_path], control)
    assert why == f"not all was on the disk of {tmp_path} within 0 s"
    assert not control.exists()


def test_what_sync_says_when_it_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_the_way(tmp_path, "echo sync: input/output error >&2; exit 1", monkeypatch)
    assert drop_page_cache([tmp_path], tmp_path / "control") == "sync failed: sync: input/output error"


def test_a_machine_without_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "sync can't be run" in drop_page_cache([tmp_path], tmp_path / "control")

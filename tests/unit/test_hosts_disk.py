from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegauge.errors import RunFailedError
from tidegauge.hosts.disk import check_space, free_bytes
from tidegauge.hosts.page_cache import drop_page_cache


def test_space_is_asked_of_the_nearest_existing_parent(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "not" / "yet") == pytest.approx(free_bytes(tmp_path), rel=0.05)


def test_enough_space(tmp_path: Path) -> None:
    check_space(tmp_path, 1)


def test_too_little_space_says_how_much_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RunFailedError, match=r"free; the Kafka data needs about 1000000\.0 GB") as caught:
        check_space(tmp_path / "new", 10**15, "the Kafka data")
    assert "another disk" in caught.value.hint


def test_no_inodes_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs(tmp_path)
    full = os.statvfs_result((*real[:5], max(real.f_files, 1), 0, 0, *real[8:]))
    monkeypatch.setattr(os, "statvfs", lambda _path: full)
    with pytest.raises(RunFailedError, match="no free inodes"):
        check_space(tmp_path, 1)


def test_page_cache_refusals_have_a_reason(tmp_path: Path) -> None:
    drop = drop_page_cache(tmp_path / "none" / "drop_caches")
    assert not drop.done
    assert "No such file" in drop.reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may")
def test_page_cache_needs_root() -> None:
    assert drop_page_cache().reason == "needs root"


def test_page_cache_writes_what_the_kernel_wants(tmp_path: Path) -> None:
    control = tmp_path / "drop_caches"
    assert drop_page_cache(control).done
    assert control.read_text() == "1"

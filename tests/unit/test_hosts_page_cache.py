from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegauge.hosts.page_cache import drop_page_cache


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

"""A short attestation on disks of libfuse, which needs no root, labelled as less than a power cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from attestations import keeps_level_3
from libfuse import provide

from tidegauge.hosts import fuse_disk

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(autouse=True)
def daemon(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    provide(tmp_path_factory.mktemp("libfuse"), monkeypatch)
    if fuse_disk.refusal():
        pytest.skip(fuse_disk.refusal())
    yield


@pytest.mark.parametrize("system", ["rabbitmq", "kafka"])
def test_one_node_keeps_level_3(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = "Not modelled either: the drive's own volatile write cache"
    summary = keeps_level_3(system, tmp_path, monkeypatch, "--file-system", "fuse", not_modelled=limits)
    assert "less than a power cut" in summary

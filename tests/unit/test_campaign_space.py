"""The room on disks, looked at during a trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegauge.campaign import space
from tidegauge.campaign.space import DiskFullError, check_during
from tidegauge.errors import RunFailedError


def test_a_disk_that_is_gone_fails_the_trial_with_its_name(tmp_path: Path) -> None:
    check_during([tmp_path])
    with pytest.raises(
        RunFailedError, match=r"The disk of .*/gone can't be looked at any more: No such file"
    ) as caught:
        check_during([tmp_path, tmp_path / "gone"])
    assert not isinstance(caught.value, DiskFullError)


def test_an_almost_full_disk_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "FREE_BYTES_DURING", 1 << 60)
    with pytest.raises(DiskFullError, match="is almost full"):
        check_during([tmp_path])

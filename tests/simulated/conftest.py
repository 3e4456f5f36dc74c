"""What all simulated tests share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine is measured: that takes seconds, and means nothing for a simulation."""
    monkeypatch.setenv("TIDEGAUGE_CEILINGS", "off")

"""What all simulated tests share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# Samples and scenes that the unit tests have, too.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit"))


@pytest.fixture(autouse=True)
def no_ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine is measured: that takes seconds, and means nothing for a simulation."""
    monkeypatch.setenv("TIDEGAUGE_CEILINGS", "off")

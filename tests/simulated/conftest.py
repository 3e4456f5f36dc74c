"""What all simulated tests share."""

from __future__ import annotations

import pytest

from tidegauge.campaign.run import figures
from tidegauge.worker import group


@pytest.fixture(autouse=True)
def no_ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine is measured: that takes seconds, and means nothing for a simulation."""
    monkeypatch.setenv("TIDEGAUGE_CEILINGS", "off")


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulated worker's seconds are short: no trial waits for the end of a whole one."""
    from campaign_doubles import SECOND_S  # Once it is known that its assertions are to be rewritten.

    monkeypatch.setattr(figures, "SECOND_NS", round(SECOND_S * 1e9))
    monkeypatch.setattr(group, "_LEAD_S", 0.05)

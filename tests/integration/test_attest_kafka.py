"""A short attestation of Kafka: without syncs, a cut of the power loses what was acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest
from attestations import CUTS_POWER, loses_at_level_4

pytestmark = list(CUTS_POWER)


@pytest.mark.slow
def test_one_node_at_level_4_loses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loses_at_level_4("kafka", tmp_path, monkeypatch)

"""Attestations and faulted runs, interrupted at random moments: after the next start nothing is left of them.

`TIDEGAUGE_INTERRUPTIONS` says how many; many more than the default are made with `interruptions.py` by hand.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from interruptions import interrupt
from rigs import refused

COUNT = int(os.environ.get("TIDEGAUGE_INTERRUPTIONS", "8"))
REFUSED = refused(
    "ext4", "xfs", "power_cut", "slow_disk", "hung_disk", "network", "packet_loss", "rate_limit", "partition"
)
pytestmark = [
    pytest.mark.integration,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.timeout(120 + 120 * COUNT),
    pytest.mark.skipif(bool(REFUSED), reason=f"can't be done here: {REFUSED}"),
]


def test_interruptions_at_random_moments(tmp_path: Path) -> None:
    seed = int(time.time())
    made = [interrupt(tmp_path / str(number), number, seed) for number in range(COUNT)]
    assert [f"seed {seed}: {one.line()}" for one in made if one.left] == []

"""Ten thousand partitions on one node with default memory, as `tidegauge run` starts it. Minutes each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Place, valid_unless_starved

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CAMPAIGN = """
name: many
systems: [{system}]
durability: 4
workload: {{message-size: 1KiB, partitions: 10000}}
experiments:
  - {{name: latency, rate: 2000, warm-up-min: 8s, warm-up-max: 20s, measure: 10s, drain-max: 60s}}
"""


@pytest.mark.parametrize("system", ["kafka", "pulsar"])
def test_ten_thousand_partitions_account_for_every_message(system: str, tmp_path: Path) -> None:
    place = Place(tmp_path)
    done = place.run("run", str(place.write(CAMPAIGN.format(system=system))), timeout_s=800)
    valid_unless_starved(done, place)
    (result,) = (json.loads(path.read_text())["result"] for path in place.only_run().glob("trials/*/result.json"))
    (subscription,) = result["subscriptions"]
    assert (subscription["lost"], subscription["corrupt"], subscription["foreign"]) == (0, 0, 0)
    assert subscription["received"] >= result["acked"] > 0
    # A minute of creation must not look like a hang.
    assert "of 10,000" in done.stdout + done.stderr
    assert place.left_behind() == []

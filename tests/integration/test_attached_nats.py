"""A NATS that somebody else started, measured by campaign: what is read back, and what is left."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
from command import Place, valid_unless_starved
from deployments import ready

from tidegauge.model.level import LevelChoice

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(300)]

CAMPAIGN = """
name: borrowed
systems: [{{name: nats, attach: {{servers: "{servers}", monitoring-url: "{monitoring}"}}}}]
durability: 4
experiments: [{{name: latency, rate: 500, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 8s}}]
"""


def streams_at(monitoring: str) -> int:
    with urllib.request.urlopen(f"{monitoring}/jsz") as reply:
        return int(json.load(reply)["streams"])


def test_its_level_is_read_back_and_nothing_is_left(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with ready("nats", LevelChoice(4, "file"), tmp_path / "server") as nats:
        known = nats.deployment.connection
        monitoring = known["monitoringUrl"]
        before = streams_at(monitoring)
        text = CAMPAIGN.format(servers=known["servers"], monitoring=monitoring)
        valid_unless_starved(place.run("run", str(place.write(text))), place)
        assert "level 4 for nats@attached (file), as asked" in " ".join(place.run("show", "last").stdout.split())
        # Without its monitoring endpoint nobody knows how often it syncs.
        done = place.run("run", str(place.write(text.replace(monitoring, "http://127.0.0.1:1"))))
        assert done.returncode != 2, done.printed
        said = " ".join(place.run("show", "last").stdout.split())
        assert "Durability is UNKNOWN (nats@attached, declared" in said
        assert streams_at(monitoring) == before
    assert list((place.state / "attached").glob("*")) == []

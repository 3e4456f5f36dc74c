"""A system that a campaign calls optional and is not available here: one line says why, the others are measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import NULL_CAMPAIGN, Place, valid_unless_starved

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

CAMPAIGN = NULL_CAMPAIGN.replace('["null"]', '["null", {name: rabbitmq, OPTIONAL}]')


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Nothing in the cache, and a proxy that nobody listens on."""
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    if Path("/usr/lib/rabbitmq").exists():
        pytest.skip("RabbitMQ is installed here, so it is available without the network")
    return Place(tmp_path, cache=tmp_path / "cache")


@pytest.mark.slow
def test_an_optional_system_that_cant_be_had_is_left_out_with_the_reason(place: Place) -> None:
    done = place.run("run", str(place.write(CAMPAIGN.replace("OPTIONAL", "optional: true"))))
    valid_unless_starved(done, place)
    run = place.only_run()
    notes = json.loads((run / "run.json").read_text())["notes"]
    (note,) = [note for note in notes if "left out" in note]
    assert note.startswith("rabbitmq@4.3.6 is left out: rabbitmq 4.3.6 is not in the cache. Debian's archive can't be")
    assert "\n" not in note
    assert "is left out" in done.stdout
    (trial,) = (run / "trials").iterdir()
    assert trial.name.endswith("-latency-null")
    assert place.left_behind() == []


def test_without_being_optional_it_ends_the_run(place: Place) -> None:
    done = place.run("run", str(place.write(CAMPAIGN.replace("OPTIONAL", "optional: false"))))
    assert done.returncode == 2
    assert "rabbitmq 4.3.6 is not in the cache" in " ".join(done.stderr.split())
    assert place.left_behind() == []

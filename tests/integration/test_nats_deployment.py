"""A real NATS server: every level it offers, read back and seen; tampering; how it ends and why it does not start."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from command import Place, valid_unless_starved
from deployments import failure_of, listening_addresses, ready
from patience import Patience

from tidegauge.errors import StartFailedError
from tidegauge.model.level import LevelChoice
from tidegauge.systems import registry

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

LEVEL_3, LEVEL_4 = LevelChoice(3, "file"), LevelChoice(4, "file")
CAMPAIGN = """
name: short
systems: [nats]
durability: LEVEL
workload: {message-size: 1KiB, partitions: 4, producers: 2, consumers: 2, subscriptions: 2}
experiments:
  - {name: latency, rate: 200, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 30s}
"""


@pytest.mark.parametrize("synced", [True, False])
def test_every_level_it_offers_holds_and_nothing_is_left(tmp_path: Path, synced: bool) -> None:
    """Levels with local sync need servers of their own: how often they sync is a setting of servers."""
    with ready("nats", LEVEL_3 if synced else LEVEL_4, tmp_path) as nats:
        version = nats.system.default_version
        for choice in nats.system.possible_levels(version, 1):
            if (choice.level == 3) is not synced:
                continue
            topic = f"level-{choice.level}-{choice.form}"
            assert nats.load(topic, nats.system.topic_settings(choice)) > 0
            finding = nats.system.derive_level(nats.read_back(topic), choice, 1)
            assert (finding.level, finding.problems) == (choice.level, ())
        values = {(s.scope, s.name): s.value for s in nats.read_back()}
        assert values["cluster", "version"] == version
        assert values["cluster", "nodes"] == "1"
        assert values["server nats-1", "sync_interval"] == ("always" if synced else "120s")
        # What the servers have wins over what is asked for.
        asked = LEVEL_4 if synced else LEVEL_3
        (problem,) = nats.system.derive_level(
            nats.read_back("level-3-file" if synced else "level-4-file"), asked, 1
        ).problems
        assert "sync_interval" in problem
        assert listening_addresses(nats.pid) == {"127.0.0.1"}
        nats.deployment.check_alive()
        nats.deployment.stop()
        assert not psutil.pid_exists(nats.pid)


def test_settings_of_the_users_own_win_and_are_read_back(tmp_path: Path) -> None:
    with ready("nats", LEVEL_3, tmp_path, {"jetstream.sync_interval": "10s", "max_payload": "2MB"}) as nats:
        assert nats.load("topic", {}) > 0
        values = {(s.scope, s.name): s.value for s in nats.read_back("topic")}
        assert values["server nats-1", "sync_interval"] == "10s"
        assert values["server nats-1", "max_payload"] == str(2 << 20)
        finding = nats.level("topic")
        assert finding.level == 4
        assert finding.problems[0].startswith("level 3 was asked for")


def test_a_killed_server_is_reported(tmp_path: Path) -> None:
    with ready("nats", LEVEL_4, tmp_path) as nats:
        os.kill(nats.pid, signal.SIGKILL)
        patience = Patience(20)
        with pytest.raises(StartFailedError, match="killed by signal 9"):
            while not patience.is_over():
                nats.deployment.check_alive()
                time.sleep(0.02)


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    error = failure_of("nats", tmp_path / "a", {"no_such_key": "1"})
    assert "there is no such setting" in error.message
    assert "no_such_key" in error.message
    assert "sync_interval" in failure_of("nats", tmp_path / "b", {"jetstream.sync_interval": "often"}).message


def test_a_directory_with_its_program_runs_as_well(tmp_path: Path) -> None:
    nats = registry.system_named("nats")
    directory = nats.provision(nats.default_version, lambda _: None).directory
    with ready("nats", LEVEL_4, tmp_path, version=str(directory)) as running:
        assert running.load("topic", {}) > 0


@pytest.mark.parametrize("level", ["3", "{level: 4, form: memory}"])
def test_it_is_measured_every_message_checked(tmp_path: Path, level: str) -> None:
    place = Place(tmp_path)
    done = place.run("run", str(place.write(CAMPAIGN.replace("LEVEL", level))), timeout_s=250)
    valid_unless_starved(done, place)
    assert f"level {'3' if level == '3' else '4'}" in done.stdout
    assert place.left_behind() == []

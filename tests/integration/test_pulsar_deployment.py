"""A real Pulsar node: the level read back from its bookie, where it listens, what it says when it can't start."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from deployments import failure_of, listening_addresses, ready, taken_port

from tidegauge.model.level import LevelChoice
from tidegauge.systems.pulsar.level import JOURNAL_ENTRIES, JOURNAL_SYNCS

pytestmark = pytest.mark.integration


# In `make test`: test_main_job.py has level 3 read back and witnessed in its trial on Pulsar, and
# tests/unit/systems/test_config.py the addresses at which it listens.
@pytest.mark.slow
def test_level_3_holds_and_is_witnessed_by_the_journal(tmp_path: Path) -> None:
    with ready("pulsar", LevelChoice(3), tmp_path) as pulsar:
        assert pulsar.load("synced", {}) > 0
        settings = pulsar.read_back("synced")
        finding = pulsar.system.derive_level(settings, pulsar.choice, 1)
        assert (finding.level, finding.problems) == (3, ())
        bookie = {s.name: s.value for s in settings if s.scope == "bookie 1"}
        assert bookie["journalSyncData"] == "true"
        assert int(bookie[JOURNAL_ENTRIES]) > 0
        assert int(bookie[JOURNAL_SYNCS]) > 0
        broker = {s.name: s.value for s in settings if s.scope.startswith("broker")}
        assert broker["managedLedgerNewEntriesCheckDelayInMillis"] == "0"
        assert broker["managedLedgerDefaultAckQuorum"] == "1"
        assert listening_addresses(pulsar.pid) == {"127.0.0.1"}
        assert pulsar.deployment.last_words() == ""
        pulsar.deployment.stop()
        assert not psutil.pid_exists(pulsar.pid)


# In `make test`: tests/unit/systems/test_levels.py, from the settings of a bookie.
@pytest.mark.slow
def test_a_bookie_that_skips_fsync_is_caught(tmp_path: Path) -> None:
    with ready("pulsar", LevelChoice(3), tmp_path, {"journalSyncData": "false"}) as pulsar:
        finding = pulsar.level()
        assert finding.level == 4
        assert "bookie 1: journalSyncData=false" in finding.problems[0]


@pytest.mark.slow
def test_the_bypass_form_carries_messages(tmp_path: Path) -> None:
    with ready("pulsar", LevelChoice(4, "bypass"), tmp_path) as pulsar:
        assert pulsar.load("bypassed", {}) > 0
        finding = pulsar.level("bypassed")
        assert (finding.level, finding.problems) == (4, ())
        counted = {s.name: s.value for s in pulsar.read_back("bypassed") if s.scope == "bookie 1"}
        assert counted["journalWriteData"] == "false"


@pytest.mark.slow
def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with taken_port() as port:
        error = failure_of("pulsar", tmp_path, {"brokerServicePort": str(port)})
        assert "a port that it needs is taken" in error.message
        assert str(port) in error.message


@pytest.mark.slow
def test_a_wrong_value_names_the_setting(tmp_path: Path) -> None:
    error = failure_of("pulsar", tmp_path, {"managedLedgerDefaultEnsembleSize": "many"})
    assert "managedLedgerDefaultEnsembleSize" in error.message

"""What real servers report of their settings stays the same while a trial runs, so that no trial is accused wrongly."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from deployments import ready
from patience import Patience

from tidegauge.durability import setting_changes
from tidegauge.model.level import LevelChoice

pytestmark = [pytest.mark.integration, pytest.mark.slow]

STATISTICS_S = 6.0
"""RabbitMQ reports some facts with its statistics, every 5 s."""


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("kafka", LevelChoice(3)),
        ("rabbitmq", LevelChoice(3, "quorum")),
        ("rabbitmq", LevelChoice(4, "classic")),
        ("rabbitmq", LevelChoice(4, "stream")),
        ("pulsar", LevelChoice(3)),
    ],
)
def test_settings_stay_while_a_topic_is_used(tmp_path: Path, name: str, choice: LevelChoice) -> None:
    with ready(name, choice, tmp_path) as system:
        system.worker.prepare(system.order("used", system.system.topic_settings(choice)))
        before = system.read_back("used")
        system.worker.start()
        time.sleep(STATISTICS_S)
        system.worker.stop_producers(10.0)
        patience = Patience(20)
        while any(sub.backlog for sub in system.worker.totals().subscriptions) and not patience.is_over():
            time.sleep(0.05)
        after = system.read_back("used")
        system.worker.finish(delete_topics=False)
        assert len(before) > 10
        assert setting_changes(before, after) == ()
        assert system.system.derive_level(after, choice, 1).level == choice.level

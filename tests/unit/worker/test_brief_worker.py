"""A load generator for one question: what it leaves, and what remains known if the command is killed."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidegauge.worker.brief_worker import BriefWorkers


def test_its_directory_is_tracked_before_it_starts_and_gone_after_a_failure() -> None:
    events: list[tuple[str, Path]] = []

    def start(_host: Any, driver: str, logs: Path) -> Any:
        assert logs.is_dir()
        events.append((driver, logs))
        return SimpleNamespace(close=lambda: events.append(("closed", logs)))

    host: Any = SimpleNamespace(track_directory=lambda path: events.append(("tracked", path)))
    workers = BriefWorkers(lambda: nullcontext(host), start)
    with pytest.raises(ValueError, match="no answer"), workers.open_worker("kafka"):
        raise ValueError("no answer")
    assert [event for event, _ in events] == ["tracked", "kafka", "closed"]
    (logs,) = {path for _, path in events}
    assert not logs.exists()

"""A trial whose window ends with a number of messages."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from campaign_doubles import totals_of, window
from trial_scenes import SPEC, Scene

from tidegauge.campaign.run import tracing
from tidegauge.campaign.run.trial import load as trial
from tidegauge.model.events import Note
from tidegauge.model.load import TotalFigures

COUNTED = replace(SPEC, messages=1000, measure_s=1.0, measure_s_max=30.0)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(trial, "_IDLE_S", 0.2)
    monkeypatch.setattr(tracing, "SETTLE_S", 0.0)
    return Scene(tmp_path)


def outcomes(acked: int, failed: int, last_ns: int) -> TotalFigures:
    return totals_of(replace(window(0, 10**9, 1000), acked=acked, failed=failed, last_outcome_mono_ns=last_ns))


def test_the_last_outcome_ends_the_window(scene: Scene) -> None:
    last_ns = time.monotonic_ns() + 3 * 10**9
    scene.worker.totals_script = [outcomes(400, 0, 1), outcomes(998, 1, 2), outcomes(998, 2, last_ns)]
    result = scene.run(COUNTED)
    assert scene.worker.order is not None
    assert scene.worker.order.window_messages == 1000
    assert scene.worker.window[1] == last_ns + 1
    assert [entry for entry in scene.journal.entries if entry == "window"] == ["window", "window"]
    assert result.aborted == ""
    assert scene.undone()


def test_time_ends_it_where_outcomes_are_missing(scene: Scene) -> None:
    scene.worker.totals_script = [outcomes(999, 0, 1)]
    scene.run(replace(COUNTED, measure_s_max=1.0))
    (note,) = [event.text for event in scene.events if isinstance(event, Note) and "outcome" in event.text]
    assert "the longest time that it may take is over: 999 of 1,000 messages have an outcome" in note
    from_ns, until_ns = scene.worker.window
    assert until_ns - from_ns >= 10**9

"""A trial that a rule of `abort-on` ends before its time, from its seconds to what the run says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from compared_runs import BEFORE, blocks_of, made
from shown_runs import rendered, stored
from trial_scenes import SPEC, Scene

from tidegauge.campaign.run import tracing
from tidegauge.campaign.run.trial import load as trial
from tidegauge.cli.main import run_command
from tidegauge.model.events import Note
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.report.ending import End, ending
from tidegauge.report.terminal import run_report
from tidegauge.report.thresholds import rulings
from tidegauge.thresholds import ThresholdOutcome

LONG = replace(SPEC, measure_s=30.0)
RULE = "msgs_per_s > 10 for 2s"
"""It holds from the first second on: the scene's load generator makes 1,000."""


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(trial, "_IDLE_S", 0.2)
    monkeypatch.setattr(tracing, "SETTLE_S", 0.0)
    return Scene(tmp_path)


def test_a_broken_rule_ends_the_window(scene: Scene) -> None:
    scene.abort_on = (RULE,)
    result = scene.run(LONG)
    planned_ns = round(LONG.measure_s * 1e9)
    from_ns, until_ns = scene.worker.window
    assert 0 < until_ns - from_ns < planned_ns / 4
    assert [entry for entry in scene.journal.entries if entry == "window"] == ["window", "window"]
    assert scene.undone()
    assert result.aborted == RULE
    assert result.validity is Validity.INVALID
    (reason, *_) = result.reasons
    assert reason.kind is ReasonKind.ABORTED
    assert f"aborted by '{RULE}' after " in reason.text
    assert "of 30 s: msgs_per_s was 1,000, 1,000 in the last 2 seconds" in reason.text
    assert any("aborted, since" in event.text for event in scene.events if isinstance(event, Note))


def test_a_rule_that_does_not_hold_changes_nothing(scene: Scene) -> None:
    scene.abort_on = ("msgs_per_s > 1000000", "msgs_per_s > 10 in another")
    result = scene.run()
    assert result.aborted == ""
    assert ReasonKind.ABORTED not in {reason.kind for reason in result.reasons}
    assert scene.journal.entries.count("window") == 1


def test_a_step_of_a_search_is_not_aborted(scene: Scene) -> None:
    scene.abort_on = (RULE,)
    assert scene.run(replace(SPEC, exploratory=True)).aborted == ""


def aborted_result(scale: float = 1.0) -> LoadResult:
    (result,) = blocks_of("kafka@4.3.1", scale)
    return replace(result, aborted="response_ms_p99 > 100", validity=Validity.INVALID, measured_s=12.0)


def test_an_aborted_trial_counts_as_a_missed_threshold(tmp_path: Path) -> None:
    run = stored(tmp_path, aborted_result())
    (ruling,) = rulings(run)
    assert ruling.outcome is ThresholdOutcome.MISSED
    assert ruling.threshold == "abort-on: response_ms_p99 > 100"
    assert ending(run).end is End.THRESHOLD
    shown = " ".join(rendered(run_report(run)).split())
    assert (
        "abort-on: response_ms_p99 > 100: MISSED: kafka@4.3.1, latency: 0001-latency-kafka was aborted after" in shown
    )
    both = rulings(replace(run, thresholds=("response_ms_p99 < 1000",)))
    assert [each.outcome for each in both] == [ThresholdOutcome.MISSED, ThresholdOutcome.NOT_DECIDED]


def test_an_aborted_trial_is_no_evidence_for_a_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = made(tmp_path, blocks_of("kafka@4.3.1", *BEFORE))
    after = made(tmp_path, [aborted_result(9.0), *blocks_of("kafka@4.3.1", *BEFORE)[1:]])
    assert run_command(["compare", before, after, "--regression", "5%", "--json", "--runs-dir", str(tmp_path)]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["regressions"]["outcome"] != "regressed"
    assert all(len(ratio["values"]) == 4 for ratio in content["comparisons"][0]["ratios"])

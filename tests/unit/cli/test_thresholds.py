"""`--threshold`: what is asked on the command line, checked like the campaign's and shown in plans."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.report.thresholds import rulings
from tidegauge.thresholds import ThresholdOutcome


def test_thresholds_of_the_command_line_are_checked_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--threshold", "lost == 0", "--threshold", "response_ms_p99 < 50")
    assert run_command(["quick", "--dry-run", *asked]) == 0
    shown = capsys.readouterr().out
    assert "Thresholds for the results" in shown
    assert "  - lost == 0\n  - response_ms_p99 < 50\n" in shown
    assert run_command(["quick", "--dry-run", "--json", *asked]) == 0
    assert json.loads(capsys.readouterr().out)["thresholds"] == ["lost == 0", "response_ms_p99 < 50"]
    assert run_command(["quick", "--dry-run", "--threshold", "lots == 0"]) == 2
    message = capsys.readouterr().err
    assert "--threshold: thresholds[0]: unknown figure 'lots' (did you mean 'lost'?)" in " ".join(message.split())


def test_a_stored_threshold_that_nobody_understands_any_more_stays_open(tmp_path: Path) -> None:
    run = store.load_run(store.create_run(tmp_path, "q", "").path)
    found = rulings(replace(run, thresholds=("figure_of_tomorrow < 1",)))
    assert [(ruling.threshold, ruling.outcome) for ruling in found] == [
        ("figure_of_tomorrow < 1", ThresholdOutcome.NOT_DECIDED)
    ]
    assert "unknown figure 'figure_of_tomorrow'" in found[0].why

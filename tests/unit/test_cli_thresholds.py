"""`--threshold`: what is asked on the command line, checked like the campaign's and shown in plans."""

from __future__ import annotations

import json

import pytest

from tidegauge.cli.main import run_command


def test_thresholds_of_the_command_line_are_checked_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--threshold", "lost == 0", "--threshold", "response_ms_p99 < 50")
    assert run_command(["quick", "--dry-run", *asked]) == 0
    shown = capsys.readouterr().out
    assert "Asked of what is found" in shown
    assert "  - lost == 0\n  - response_ms_p99 < 50\n" in shown
    assert run_command(["quick", "--dry-run", "--json", *asked]) == 0
    assert json.loads(capsys.readouterr().out)["thresholds"] == ["lost == 0", "response_ms_p99 < 50"]
    assert run_command(["quick", "--dry-run", "--threshold", "lots == 0"]) == 2
    told = capsys.readouterr().err
    assert "--threshold: thresholds[0]: unknown figure 'lots' (did you mean 'lost'?)" in " ".join(told.split())

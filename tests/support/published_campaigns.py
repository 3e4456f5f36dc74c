"""The campaigns of the published reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.cli.main import run_command
from tidegauge.published.examine import Question
from tidegauge.published.model import Place
from tidegauge.systems import registry

FOLDER = Path(__file__).resolve().parents[2] / "campaigns/published"
PATHS = sorted(FOLDER.glob("*.yaml"))
NAMES = [path.stem for path in PATHS]
SCALES = ("shares", "original", "brief")


def parsed(path: Path, **overrides: Any) -> Campaign:
    return parse_campaign(path, overrides, sorted(registry.all_systems()))


def places(question: Question) -> list[tuple[str, Place]]:
    below = [(question.below_figure, question.below)] if question.below else []
    return [(question.figure, question.above), *((question.figure, place) for place in question.shown), *below]


def dry_run(capsys: pytest.CaptureFixture[str], name: str, *more: str) -> str:
    assert run_command(["run", name, "--dry-run", *more]) == 0
    return capsys.readouterr().out

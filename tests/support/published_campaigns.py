"""The campaigns of the published reports. Each is read and planned once at each scale, whoever asks."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.plan import Plan, plan_campaign
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


@cache
def read_published(path: Path, **overrides: Hashable) -> Campaign:
    """One of ours: nothing can change it, so that whoever asks may have the same."""
    assert path.parent == FOLDER
    return parsed(path, **overrides)


@cache
def plan_published(path: Path, **overrides: Hashable) -> Plan:
    return plan_campaign(read_published(path, **overrides))


def places(question: Question) -> list[tuple[str, Place]]:
    below = [(question.below_figure, question.below)] if question.below else []
    return [(question.figure, question.above), *((question.figure, place) for place in question.shown), *below]


def dry_run(capsys: pytest.CaptureFixture[str], name: str, *more: str) -> str:
    assert run_command(["run", name, "--dry-run", *more]) == 0
    return capsys.readouterr().out

"""Holding a trial to the durability level that was asked for, before any load."""

from __future__ import annotations

from dataclasses import replace

from tidegauge.durability.witness import disagreement
from tidegauge.errors import RunFailedError
from tidegauge.model.level import LevelFinding
from tidegauge.model.server import Setting
from tidegauge.model.trial import TrialSpec
from tidegauge.systems.api import Deployment, System
from tidegauge.systems.attached import AttachedCluster, with_rights_given


class LevelMismatchError(RunFailedError):
    """The running system is not at the durability level that was asked for, so nothing about it can be compared."""


def checked_level(spec: TrialSpec, system: System, settings: list[Setting], deployment: Deployment) -> LevelFinding:
    """The level that the settings in force give, or that it is unknown where an attached cluster does not tell them.

    Raises `LevelMismatchError` if it is known and not the one asked for.
    """
    finding = system.derive_level(settings, spec.choice, spec.nodes)
    if isinstance(deployment, AttachedCluster) and deployment.unread(settings):
        return with_rights_given(finding, deployment.unread(settings))
    if spec.choice.as_found:
        return replace(finding, problems=())
    if finding.level == spec.choice.level and not finding.problems:
        return finding
    found = f"level {finding.level}" if finding.level else "no level that is known"
    problems = "; ".join(finding.problems) or f"the settings in force give {found} ({'; '.join(finding.reasoning)})"
    raise LevelMismatchError(
        f"{spec.system} is not at durability level {spec.choice.level}: {problems}.",
        "Remove the setting that changes it from the campaign, or ask for the level that it gives.",
    )


def check_witnesses(spec: TrialSpec, finding: LevelFinding) -> None:
    """Raise `LevelMismatchError` if what the servers were seen to do contradicts what their settings say."""
    problem = disagreement(finding)
    if problem:
        raise LevelMismatchError(
            f"{spec.system} is not at durability level {spec.choice.level}: {problem}.",
            "This version or its configuration does not do what its settings say; ask for a level without local sync.",
        )

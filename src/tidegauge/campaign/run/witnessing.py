"""Whether the running servers are at the level that was asked: settings read back, and system calls seen."""

from __future__ import annotations

from dataclasses import replace

from tidegauge.campaign.run.session import Session
from tidegauge.durability import disagreement, evidence_of, judge, not_watched
from tidegauge.errors import RunFailedError
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.model.level import LevelFinding
from tidegauge.model.server import Setting
from tidegauge.model.trial import TrialSpec
from tidegauge.systems.attached import AttachedCluster, with_rights_given
from tidegauge.worker.api import LoadOrder

MESSAGES = 20
PAUSE_S = 0.02
ACK_S_MAX = 10.0


def with_witness(session: Session, order: LoadOrder, level: LevelFinding) -> LevelFinding:
    """The finding with what the servers were seen to do; the evidence is stored. `order` is the trial's own.

    Never a failure of its own: where nobody can look, the finding says why. Costs about a second where somebody can.
    """
    if level.level is None:
        return level
    nodes = session.deployment.storage_processes
    if not nodes:
        return replace(level, syncs=not_watched("no server of this run keeps messages on a disk of this host"))
    try:
        with session.resources.host.watch_syncs(nodes) as finish:
            messages = session.worker.witness(_order(order, len(nodes)), MESSAGES, PAUSE_S, ACK_S_MAX)
            seen = finish()
        finding, evidence = judge(level.level, nodes, messages, seen), evidence_of(seen, messages)
    except NoTraceError as error:
        finding, evidence = not_watched(str(error)), {}
    except RunFailedError as error:
        # Whatever it means for the trial shows in the trial.
        finding, evidence = not_watched(f"no message could be sent while servers were watched: {error.message}"), {}
    session.store.witness(finding, evidence)
    return replace(level, syncs=finding)


def _order(order: LoadOrder, nodes: int) -> LoadOrder:
    """The trial's order for one topic of its own, on which every node can have its turn."""
    partitions = min(order.workload.partitions, nodes)
    workload = replace(order.workload, topics=1, partitions=partitions, producers=1, subscriptions=1, consumers=1)
    return replace(order, topic_names=(f"{order.topic_names[0]}-witness",), workload=workload)


class LevelMismatchError(RunFailedError):
    """The running system is not at the durability level that was asked for, so nothing about it can be compared."""


def checked_level(session: Session, settings: list[Setting]) -> LevelFinding:
    """The level that the settings in force give, or that it is unknown where an attached cluster does not report them.

    Raises `LevelMismatchError` if it is known and not the one asked for.
    """
    spec, deployment = session.spec, session.deployment
    finding = session.subject.system.derive_level(settings, spec.choice, spec.nodes)
    if isinstance(deployment, AttachedCluster) and deployment.unread(settings):
        return with_rights_given(finding, deployment.unread(settings))
    if spec.choice.as_found:
        return replace(finding, problems=())
    if finding.level == spec.choice.level and not finding.problems:
        return finding
    level_words = f"level {finding.level}" if finding.level else "no level that is known"
    problems = (
        "; ".join(finding.problems) or f"the settings in force give {level_words} ({'; '.join(finding.reasoning)})"
    )
    raise LevelMismatchError(
        f"{spec.system} is not at durability level {spec.choice.level}: {problems}.",
        "Remove the setting that changes it from the campaign, or ask for the level that it gives.",
    )


def check_witnesses(spec: TrialSpec, finding: LevelFinding) -> None:
    """Raise `LevelMismatchError` if what the servers were seen to do contradicts what their settings say."""
    if problem := disagreement(finding):
        raise LevelMismatchError(
            f"{spec.system} is not at durability level {spec.choice.level}: {problem}.",
            "This version or its configuration does not do what its settings say; ask for a level without local sync.",
        )

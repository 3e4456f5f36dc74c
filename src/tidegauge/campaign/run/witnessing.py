"""Whether the running servers are at the level that was asked: settings read back, and system calls seen."""

from __future__ import annotations

from dataclasses import replace

from tidegauge.campaign.run.running_trial import RunningTrial, read_again
from tidegauge.durability import (
    changed_level,
    disagreement,
    evidence_of,
    judge_syncs,
    not_watched,
    server_moves,
    setting_changes,
)
from tidegauge.errors import RunFailedError
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.model.level import LevelFinding
from tidegauge.model.server import Setting
from tidegauge.model.trial import TrialSpec
from tidegauge.numbers import whole_number
from tidegauge.systems.attached import AttachedCluster, with_rights_given
from tidegauge.worker.api import LoadOrder

MESSAGES = 20
PAUSE_S = 0.02
ACK_S_MAX = 10.0
COPIES_USUAL = 3


def with_witness(trial: RunningTrial, order: LoadOrder, level: LevelFinding) -> LevelFinding:
    """The finding with what the servers were seen to do; the evidence is stored. `order` is the trial's own.

    Never a failure of its own: where nobody can look, the finding says why. Costs about a second where somebody can.
    """
    if level.level is None:
        return level
    nodes = trial.deployment.storage_processes
    if not nodes:
        return replace(
            level, syncs=not_watched("others run the servers" if trial.spec.attached else "there are no servers")
        )
    try:
        with trial.resources.host.watch_syncs(nodes) as finish:
            # The trial's order for one topic of its own, on which every node can have its turn.
            partitions = min(order.workload.partitions, len(nodes))
            workload = replace(
                order.workload, topics=1, partitions=partitions, producers=1, subscriptions=1, consumers=1
            )
            witness_order = replace(order, topic_names=(f"{order.topic_names[0]}-witness",), workload=workload)
            messages = trial.worker.witness(witness_order, MESSAGES, PAUSE_S, ACK_S_MAX)
            seen = finish()
        copies = _copies_reported(trial) or min(COPIES_USUAL, len(nodes))
        finding, evidence = judge_syncs(level.level, nodes, copies, messages, seen), evidence_of(seen, messages)
    except NoTraceError as error:
        finding, evidence = not_watched(str(error)), {}
    except RunFailedError as error:
        # Whatever it means for the trial shows in the trial.
        finding, evidence = not_watched(f"not all messages to watch the servers by went through: {error.message}"), {}
    trial.store.write_witness(finding, evidence)
    return replace(level, syncs=finding)


def _copies_reported(trial: RunningTrial) -> int:
    """How many copies of a message the servers say that they keep; 0 where they don't."""
    settings = trial.began_with.server_settings if trial.began_with else ()
    name = trial.subject.system.copies_setting
    return max((whole_number(s.value.rpartition("-")[2]) or 0 for s in settings if s.name == name), default=0)


class LevelMismatchError(RunFailedError):
    """The running system is not at the durability level that was asked for, so nothing about it can be compared."""


def checked_level(trial: RunningTrial, settings: list[Setting]) -> LevelFinding:
    """The level that the settings in force give, or that it is unknown where an attached cluster does not report them.

    Servers of our own must report what decides it. Raises `LevelMismatchError` if they don't, or if the level is known
    and not the one asked for.
    """
    spec, finding = trial.spec, derived_level(trial, settings)
    if spec.choice.as_found:
        return replace(finding, problems=())
    if finding.level == spec.choice.level and not finding.problems:
        return finding
    if finding.undecided and not finding.problems:
        if spec.attached:
            return finding
        raise LevelMismatchError(
            f"{spec.system} does not report what decides whether it is at durability level {spec.choice.level}: "
            f"{'; '.join(finding.undecided)}.",
            "Servers that Tidegauge starts are measured at a level that they confirm: choose a version that reports "
            "it, or attach to a cluster, whose level may stay unknown.",
        )
    level_words = f"level {finding.level}" if finding.level else "no level that is known"
    problems = (
        "; ".join(finding.problems) or f"the settings in force give {level_words} ({'; '.join(finding.reasoning)})"
    )
    hint = (
        "Ask for the level that the cluster gives (`durability`), or change the setting there: others decide it."
        if spec.attached
        else "Remove the setting that changes it from the campaign, or ask for the level that it gives."
    )
    raise LevelMismatchError(f"{spec.system} is not at durability level {spec.choice.level}: {problems}.", hint)


def derived_level(trial: RunningTrial, settings: list[Setting]) -> LevelFinding:
    """What follows from settings as they were read back; nothing where an attached cluster refuses to show them."""
    spec, deployment = trial.spec, trial.deployment
    finding = trial.subject.system.derive_level(settings, spec.choice, spec.nodes)
    if isinstance(deployment, AttachedCluster) and deployment.unread(settings):
        return with_rights_given(finding, deployment.unread(settings))
    return finding


def level_at_end(trial: RunningTrial, level: LevelFinding) -> LevelFinding:
    """The finding with what was changed since the load began; where that changed the level, it is unknown.

    Asks the servers once more. Never a failure of its own: where they can't be asked, the finding says why.
    """
    began_with = trial.began_with
    if began_with is None:
        return level
    try:
        settings = read_again(trial, began_with.topics)
    except RunFailedError as error:
        return replace(level, end_problem=error.message.rstrip("."))
    changes = setting_changes(began_with.server_settings, settings)
    level = replace(level, moves=server_moves(began_with.server_settings, settings))
    if not changes:
        return level
    return changed_level(level, derived_level(trial, [*settings, *began_with.client_settings]), changes)


def check_witnesses(spec: TrialSpec, finding: LevelFinding) -> None:
    """Raise `LevelMismatchError` if what the servers were seen to do contradicts what their settings say."""
    if problem := disagreement(finding):
        raise LevelMismatchError(
            f"{spec.system} is not at durability level {spec.choice.level}: {problem}.",
            "This version or its configuration does not do what its settings say; ask for a level without local sync.",
        )

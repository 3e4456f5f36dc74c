"""Before the load: topics and clients are made, and what is in force is read back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from tidegauge.attestation.record import earlier_cuts, settings_digest
from tidegauge.campaign.plan.contenders import case_of
from tidegauge.campaign.plan.fairness import contender_of_trial, facts_of_surroundings
from tidegauge.campaign.run.running_trial import TOPIC_REFUSED_HINT, BeganWith, RunningTrial, await_complete
from tidegauge.campaign.run.trial.order import load_order
from tidegauge.campaign.run.witnessing import checked_level
from tidegauge.errors import RunFailedError
from tidegauge.fairness import sending_of
from tidegauge.model.events import Observer, PhaseProgress
from tidegauge.model.level import LevelFinding
from tidegauge.model.trial import Spec
from tidegauge.worker.api import LoadOrder

_TELLING_S = 2.0
"""Before that long the pace of the first few says nothing."""


class TrialProgress:
    """Turns counts into events. Each kind ("partitions", "consumers") has a pace of its own."""

    def __init__(self, observer: Observer, trial_id: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._observer = observer
        self._trial_id = trial_id
        self._clock = clock
        self._what = ""
        self._begun = 0
        self._since_s = 0.0

    def report(self, what: str, done: int, total: int) -> None:
        """Report that so many of so many are ready."""
        now_s = self._clock()
        if what != self._what or done < self._begun:
            self._what, self._begun, self._since_s = what, done, now_s
        if what:
            self._observer(PhaseProgress(self._trial_id, what, done, total, self._left_s(now_s, done, total)))

    def _left_s(self, now_s: float, done: int, total: int) -> float | None:
        done_meanwhile, took_s = done - self._begun, now_s - self._since_s
        return (total - done) * took_s / done_meanwhile if done_meanwhile > 0 and took_s >= _TELLING_S else None


def prepare_load(trial: RunningTrial[Spec]) -> tuple[RunningTrial[Spec], LoadOrder, LevelFinding]:
    """Make topics and clients, then read settings and level back. Raises `StartFailedError`, `LevelMismatchError`."""
    spec, system, worker = trial.spec, trial.subject.system, trial.worker
    topics = spec.workload.existing_topics or trial.topics.names(spec.workload.topics)
    topic_settings = trial.subject.choice.topic
    order = load_order(spec, system, trial.deployment, topics, trial.store.directory, topic_settings=topic_settings)
    if spec.workload.existing_topics:
        trial.topics.keep(order.trial_number, *topics)
    try:
        client_settings = worker.prepare(order, TrialProgress(trial.resources.observer, spec.trial_id).report)
    except RunFailedError as error:
        trial.check()  # A server that has ended is the cause, and says more than the client that could not reach it.
        if error.topic_refused and spec.attached:
            error.hint = TOPIC_REFUSED_HINT
        raise
    server_settings = await_complete(trial, topics)
    attachment = trial.subject.attachment
    if attachment is not None:
        server_settings = attachment.without_secrets(server_settings)
        client_settings = attachment.without_secrets(client_settings)
    trial.store.write_settings(server_settings, client_settings, trial.deployment.jvm_flags, worker.facts)
    # Clients too: a producer that was told to wait for no acknowledgement has no level, whatever the servers do.
    settings = [*server_settings, *client_settings]
    level = checked_level(trial, settings)
    if trial.fairness is not None:
        subject, host = trial.subject, trial.resources.host
        around = facts_of_surroundings(
            subject.distribution.java_version, trial.cache_dropped, host.name, trial.worker.facts
        )
        in_force = contender_of_trial(
            trial.spec, subject.choice, subject.system, tuple(settings), around, level=level.level
        )
        trial.fairness.compare_trial(spec, in_force)
    began_with = BeganWith(tuple(topics), tuple(server_settings), tuple(client_settings))
    # Producers send by their own settings as they were read back.
    case = case_of(spec, trial.subject.choice, system, tuple(settings))
    library = worker.facts.drivers.get(system.driver, "") if worker.facts else ""
    sending = sending_of(case, system.client_facts(case).facts, library)
    trial = replace(trial, sending=sending, began_with=began_with)
    if level.level is None:
        return trial, order, level
    attestations = trial.resources.attestations_of(spec.system, spec.choice, settings_digest(server_settings))
    return trial, order, replace(level, attested=earlier_cuts(attestations))

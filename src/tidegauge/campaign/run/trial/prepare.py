"""Before the load: topics and clients are made, and what is in force is read back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tidegauge.attestation.record import earlier_cuts, settings_digest
from tidegauge.campaign.plan.contenders import case_of
from tidegauge.campaign.plan.fairness import contender_of_trial, facts_of_surroundings
from tidegauge.campaign.run.running_trial import (
    TOPIC_REFUSED_HINT,
    BeganWith,
    RunningTrial,
    await_complete,
    read_again,
)
from tidegauge.campaign.run.trial.order import load_order
from tidegauge.campaign.run.witnessing import LevelMismatchError, checked_level
from tidegauge.errors import AccessRefusedError, RunFailedError
from tidegauge.fairness import sending_of
from tidegauge.model.events import Note, Observer, PhaseProgress
from tidegauge.model.level import LevelFinding
from tidegauge.model.server import Setting
from tidegauge.model.trial import Spec
from tidegauge.numbers import as_sentence
from tidegauge.systems.api import TopicTerms
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
    cluster = read_again(trial, ()) if spec.attached else None
    wanted = system.topic_terms(case_of(spec, trial.subject.choice, system), cluster)
    if spec.workload.existing_topics:
        wanted = replace(wanted, settings={}, left_out={}, why=())
    order, terms, client_settings = _make_topics_and_clients(trial, topics, wanted)
    server_settings = await_complete(trial, topics)
    attachment = trial.subject.attachment
    if attachment is not None:
        server_settings = attachment.without_secrets(server_settings)
        client_settings = attachment.without_secrets(client_settings)
    trial.store.write_settings(server_settings, client_settings, trial.deployment.jvm_flags, worker.facts)
    # Clients too: a producer that was told to wait for no acknowledgement has no level, whatever the servers do.
    settings = [*server_settings, *client_settings]
    level = _check_level(trial, settings, terms)
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


def _make_topics_and_clients(
    trial: RunningTrial[Spec], topics: Sequence[str], terms: TopicTerms
) -> tuple[LoadOrder, TopicTerms, list[Setting]]:
    """Make topics and clients; of settings that a cluster of others refuses topics get none that may be left out.

    Returns the order, the terms on which topics were made, and what clients report. Raises `RunFailedError`.
    """
    spec, worker = trial.spec, trial.worker
    while True:
        order = load_order(spec, trial.subject.system, trial.deployment, topics, trial.store.directory, terms=terms)
        if spec.workload.existing_topics:
            trial.topics.keep(order.trial_number, *topics)
        try:
            report = TrialProgress(trial.resources.observer, spec.trial_id).report
            client_settings = worker.prepare(order, report)
        except RunFailedError as error:
            # A server that has ended is the cause, and says more than the client that could not reach it.
            trial.check()
            if not (error.topic_refused and spec.attached):
                raise
            # Whoever may make no topic may make none without settings either.
            fewer = None if isinstance(error, AccessRefusedError) else terms.without_refused(error.message)
            if fewer is None:
                error.hint = TOPIC_REFUSED_HINT
                raise
            terms = fewer
            continue
        for why in terms.why:
            trial.resources.observer(Note(f"{spec.system}: {why}."))
        return order, terms, client_settings


def _check_level(trial: RunningTrial, settings: list[Setting], terms: TopicTerms) -> LevelFinding:
    """The level in force. Raises `LevelMismatchError`, and `RunFailedError` where a limit is too low for the load.

    Both say what could not be set on topics.
    """
    left_out = "".join(f" {as_sentence(why)}" for why in terms.why)
    if missed := terms.limits_missed(settings):
        raise RunFailedError(
            f"{trial.spec.system}: {missed}.{left_out}",
            "Make messages or batches smaller, or name topics that exist with 'existing-topics'.",
        )
    try:
        return checked_level(trial, settings)
    except LevelMismatchError as error:
        error.message += left_out
        raise

"""Which remarks of a run are worth acting on: those about which its user can do something, each kind once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegauge.model.events import LEFT_OUT
from tidegauge.model.limiting import Resource
from tidegauge.model.trial import TrialResult, Validity
from tidegauge.report.levels import Standing, standing
from tidegauge.report.names import SystemNames, names_of
from tidegauge.statistics.classify import (
    BUSY_CONSUMER_REMEDY,
    CPU_WAIT,
    DISK_BUSY,
    GENERATOR_FIRST,
    NOT_KEPT_UP,
    OWN_LAG_REMEDY,
    UNSTEADY,
    UNSTEADY_WARMUP,
)
from tidegauge.store.read import StoredRun


@dataclass(frozen=True)
class Advice:
    """One thing to act on. `bad`: figures must not be used as they are; `remedy`: what to do, "" where `text` says."""

    text: str
    remedy: str
    bad: bool = False


@dataclass(frozen=True)
class Worth:
    """What is worth acting on, the worst first; `more`: how many remarks and notes a full report has beside."""

    advice: tuple[Advice, ...]
    more: int


_LONGER = "measure longer (campaigns/careful.yaml does)"
_KINDS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    ((CPU_WAIT,), "the clients waited for a CPU", "close other programs, or use a machine with more CPUs"),
    ((DISK_BUSY,), "something else was writing to the disk", "end it, or choose another disk (data-directory)"),
    ((NOT_KEPT_UP,), "the rate was more than the system takes", "give a lower rate: these times grow with the trial"),
    ((GENERATOR_FIRST,), "the generator was at its limit first", "add producers, or CPUs: the system may do more"),
    ((UNSTEADY_WARMUP, UNSTEADY), "figures still moved while measured, or just before", _LONGER),
)
"""Beginnings of warnings of a kind, the kind in words, and what to do."""


def worth_acting_on(run: StoredRun) -> Worth:
    """Everything in order: durability, trials that failed or may not be used, systems left out, then warnings."""
    names = names_of(run)
    results = [one for one in run.results if not one.spec.exploratory]
    found = [*_durability(run), *_failed(run, names), *_not_valid(results, names)]
    left_out = [note for note in run.notes if LEFT_OUT in note]
    found += [Advice(note, "") for note in left_out]
    covered = len(left_out)
    for beginnings, what, remedy in _KINDS:
        met = _begins(beginnings)
        own = [one for one in results if any(map(met, one.warnings))]
        covered += sum(sum(map(met, one.warnings)) for one in own)
        if own:
            busy = f"{what} ({busy_words(own)})" if CPU_WAIT in beginnings else what
            found.append(Advice(f"{where_words(own, len(results), names)} {busy}", remedy))
    reasons = sum(bool(one.reasons) for one in results)
    remarks = sum(len(one.reasons) + len(one.warnings) + len(one.errors) for one in results)
    return Worth(tuple(found), remarks - reasons + len(run.notes) + len(run.terms.advice) - covered)


def _begins(beginnings: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda warning: warning.startswith(beginnings)


def where_words(own: Sequence[TrialResult], trials: int, names: SystemNames) -> str:
    """ "In 3 of 6 trials (peak: Kafka, Pulsar; latency: Kafka)", or "In all 6 trials"."""
    by_experiment: dict[str, dict[str, None]] = {}
    for one in own:
        by_experiment.setdefault(one.spec.experiment, {})[names.of(one.spec.system)] = None
    told = "; ".join(f"{experiment}: {', '.join(sorted(systems))}" for experiment, systems in by_experiment.items())
    if len(own) == trials:
        return f"In all {trials} trials" if trials > 1 else "In the only trial"
    return f"In {len(own)} of {trials} trials ({told})"


def busy_words(results: Sequence[TrialResult]) -> str:
    """How busy the machine was in the first of these trials that says so, "" for none."""
    for one in results:
        if one.limiting is not None and one.limiting.resource is Resource.HOST_CPU:
            used, _, by = one.limiting.words.partition(";")[0].partition(" (")
            return f"{used}: {by.rstrip(')')}"
    waited = next((said for one in results for said in one.warnings if said.startswith(CPU_WAIT)), "")
    return waited.partition(":")[0]


def reason_words(result: TrialResult) -> str:
    """The first reason why a trial is not VALID, without what to do about it."""
    return result.reasons[0].removesuffix(_remedy(result.reasons[0])) if result.reasons else "no reason is recorded"


def _remedy(reason: str) -> str:
    """What a reason ends with, where it says what to do about it; "" where it doesn't."""
    return next((one for one in (OWN_LAG_REMEDY, BUSY_CONSUMER_REMEDY) if reason.endswith(one)), "")


def _durability(run: StoredRun) -> list[Advice]:
    stands = standing(run.results)
    if not run.results or stands is Standing.KEPT:
        return []
    return [Advice(f"Durability: {stands.value}", "`tidegauge show` names the settings that decide it", bad=True)]


def _failed(run: StoredRun, names: SystemNames) -> list[Advice]:
    failed = [trial for trial in run.trials if trial.result is None and trial.status != "running"]
    told = [
        (f"{names.of(trial.spec.system)}'s {trial.spec.experiment}" if trial.spec else trial.trial_id, trial)
        for trial in failed
    ]
    return [Advice(f"{who} {trial.status_words}", "", bad=True) for who, trial in told]


def _not_valid(results: Sequence[TrialResult], names: SystemNames) -> list[Advice]:
    """Trials that are INVALID or DOUBTFUL, by their first reason: of several that share one the plainest is told."""
    found = []
    for validity in (Validity.INVALID, Validity.DOUBTFUL):
        own = [one for one in results if one.validity is validity]
        if own:
            words = f"{where_words(own, len(results), names)}: {validity.value.upper()}, {reason_words(own[0])}"
            remedy = next(filter(None, map(_remedy, own[0].reasons)), "").strip(" ()")
            found.append(Advice(words, remedy, bad=validity is Validity.INVALID))
    return found

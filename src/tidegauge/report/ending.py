"""How a run ended: why, which remarks are worth acting on, and the commands to go on with."""

from __future__ import annotations

import ast
import contextlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tidegauge.config.fields import DATA_KEYS, option_of
from tidegauge.model.attest import Means
from tidegauge.model.events import LEFT_OUT
from tidegauge.model.trial import MeasuredResult, TrialResult, Validity
from tidegauge.model.use import Resource
from tidegauge.numbers import plural
from tidegauge.plain import grouped
from tidegauge.report import thresholds
from tidegauge.report.compare import REPEATS_FIRST
from tidegauge.report.layout import shown_path
from tidegauge.report.levels import Standing, standing
from tidegauge.report.names import SystemNames, names_of
from tidegauge.statistics.classify import (
    BUSY_CONSUMER_REMEDY,
    CATCHING_UP_REMEDY,
    CPU_WAIT,
    DISK_BUSY,
    GENERATOR_FIRST,
    NEAR_GENERATOR,
    NOT_KEPT_UP,
    OWN_LAG_REMEDY,
    UNSTEADY,
    UNSTEADY_WARMUP,
)
from tidegauge.store.read import StoredRun
from tidegauge.thresholds import Outcome


def command_words(run: StoredRun, verb: Sequence[str], repeat: int | None = None) -> list[str]:
    """What follows `tidegauge`: `verb` (["quick"], ["run", FILE]) with its options; `attest` for an attestation.

    `repeat`: the repeats to ask for instead of those that the run had.
    """
    given = dict(run.overrides or _overrides_as_text(run.environment))
    attestation = given.get("experiments")
    if isinstance(attestation, list):
        return ["attest", *_attest_words(given, attestation[0])]
    if repeat is not None:
        given["repeat"] = repeat
    words = [word for key, value in given.items() for word in _option_words(key, value)]
    return [*verb, *words, *(["--allow-unequal"] if run.terms.allowed else [])]


def _option_words(key: str, value: object) -> list[str]:
    """An option, once for each of several values."""
    values = value if isinstance(value, list) else [value]
    return [word for item in values for word in (option_of(key), str(item))]


def _attest_words(given: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    """System and options of the verb `attest`, whose campaign is made from these alone."""
    level = given.get("durability")
    form = {"durability": level["level"], "form": level["form"]} if isinstance(level, dict) else {}
    named = {**given, **form, "cuts": options.get("cuts"), "scenario": options.get("scenarios")}
    named["file-system"] = options.get("file-system") if options.get("means") == Means.POWER else None
    keys = ("durability", "form", "nodes", "cuts", "scenario", "file-system", "seed", *DATA_KEYS)
    words = [word for key in keys if named.get(key) is not None for word in _option_words(key, named[key])]
    words += ["--second-cut"] if options.get("second-cut") else []
    words += ["--crash"] if options.get("means") == Means.CRASH else []
    return [*map(str, given.get("systems", [])), *words]


def _overrides_as_text(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run made before they were kept as they are: each value as Python writes it."""
    campaign = environment.get("campaign")
    overrides = campaign.get("overrides") if isinstance(campaign, Mapping) else None
    found: dict[str, Any] = dict(overrides) if isinstance(overrides, Mapping) else {}
    for key, text in found.items():
        if str(text).startswith("["):
            with contextlib.suppress(ValueError, SyntaxError):
                found[key] = ast.literal_eval(text)
    return found


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
    ((NEAR_GENERATOR,), "the load generator was near its limit", "use more of them (--workers), or more CPUs"),
    ((UNSTEADY_WARMUP, UNSTEADY), "figures still moved while measured, or just before", _LONGER),
)
"""Beginnings of warnings of a kind, the kind in words, and what to do."""


def worth_acting_on(run: StoredRun) -> Worth:
    """Everything in order: durability, trials that failed or may not be used, systems left out, then warnings."""
    names = names_of(run)
    results = [result for result in run.measured if not result.spec.exploratory]
    found = [*_durability(run), *_failed(run, names), *_not_valid(results, names)]
    left_out = [note for note in run.notes if LEFT_OUT in note]
    found += [Advice(note, "") for note in left_out]
    covered = len(left_out)
    for beginnings, what, remedy in _KINDS:
        affected = [result for result in results if any(said.startswith(beginnings) for said in result.warnings)]
        covered += sum(said.startswith(beginnings) for result in affected for said in result.warnings)
        if affected:
            busy = f"{what} ({busy_words(affected)})" if CPU_WAIT in beginnings else what
            found.append(Advice(f"{where_words(affected, len(results), names)} {busy}", remedy))
    reasons = sum(bool(result.reasons) for result in results)
    remarks = sum(len(result.reasons) + len(result.warnings) + len(result.errors) for result in results)
    return Worth(tuple(found), remarks - reasons + len(run.notes) + len(run.terms.advice) - covered)


def where_words(own: Sequence[TrialResult], trials: int, names: SystemNames) -> str:
    """ "In 3 of 6 trials (peak: Kafka, Pulsar; latency: Kafka)", or "In all 6 trials"."""
    by_experiment = grouped((result.spec.experiment, names.of(result.spec.system)) for result in own)
    places = "; ".join(f"{name}: {', '.join(sorted(set(systems)))}" for name, systems in by_experiment.items())
    if len(own) == trials:
        return f"In all {trials} trials" if trials > 1 else "In the only trial"
    return f"In {len(own)} of {trials} trials ({places})"


def busy_words(results: Sequence[MeasuredResult]) -> str:
    """How busy the machine was in the first of these trials that says so, "" for none."""
    for result in results:
        if result.limiting is not None and result.limiting.resource is Resource.HOST_CPU:
            used, _, by = result.limiting.words.partition(";")[0].partition(" (")
            return f"{used}: {by.rstrip(')')}"
    waited = next((said for result in results for said in result.warnings if said.startswith(CPU_WAIT)), "")
    return waited.partition(":")[0]


def reason_words(result: TrialResult) -> str:
    """The first reason why a trial is not VALID, without what to do about it."""
    return result.reasons[0].removesuffix(_remedy(result.reasons[0])) if result.reasons else "no reason is recorded"


def _remedy(reason: str) -> str:
    """What a reason ends with, where it says what to do about it; "" where it doesn't."""
    remedies = (OWN_LAG_REMEDY, BUSY_CONSUMER_REMEDY, CATCHING_UP_REMEDY)
    return next((remedy for remedy in remedies if reason.endswith(remedy)), "")


def _durability(run: StoredRun) -> list[Advice]:
    stands = standing(run.results)
    if not run.results or stands is Standing.KEPT:
        return []
    return [Advice(f"Durability: {stands.value}", "`tidegauge show` names the settings that decide it", bad=True)]


def _failed(run: StoredRun, names: SystemNames) -> list[Advice]:
    failed = [trial for trial in run.trials if trial.result is None and trial.status != "running"]
    whose = [
        (f"{names.of(trial.spec.system)}'s {trial.spec.experiment}" if trial.spec else trial.trial_id, trial)
        for trial in failed
    ]
    return [Advice(f"{who} {trial.status_words}", "", bad=True) for who, trial in whose]


def _not_valid(results: Sequence[TrialResult], names: SystemNames) -> list[Advice]:
    """Trials that are INVALID or DOUBTFUL, by their first reason: of several that share one the plainest is shown."""
    found = []
    for validity in (Validity.INVALID, Validity.DOUBTFUL):
        affected = [result for result in results if result.validity is validity]
        if affected:
            words = f"{where_words(affected, len(results), names)}: {validity.shown}, {reason_words(affected[0])}"
            remedy = next(filter(None, map(_remedy, affected[0].reasons)), "").strip(" ()")
            found.append(Advice(words, remedy, bad=validity is Validity.INVALID))
    return found


class End(StrEnum):
    """The outcome of a run, by the order in which one hides the next."""

    INTERRUPTED = "interrupted"
    FAILED = "failed"
    THRESHOLD = "a threshold was missed"
    REFUTED = "durability was refuted"
    BROKEN = "messages were lost or damaged"
    INVALID = "a question stays open"
    GOOD = "good"


@dataclass(frozen=True)
class Ending:
    """`why`: what happened; `what`: what to do, with the command. Both are complete sentences, "" for a GOOD end."""

    end: End
    why: str = ""
    what: str = ""


def ending(run: StoredRun, program: str = "tidegauge") -> Ending:
    """The first of `End` that is so. `program`: how the user calls Tidegauge."""
    if run.status != "finished":
        return _unfinished(run, program)
    ruled = thresholds.rulings(run)
    results = [result for result in run.measured if not result.spec.exploratory]
    missed = [ruling for ruling in ruled if ruling.outcome is Outcome.MISSED]
    if missed:
        why = f"{len(missed)} of {plural(len(ruled), 'threshold')} missed, first {thresholds.sentence(missed[0])}"
        return Ending(End.THRESHOLD, _stop(why), f"All of them: {program} show {shown_path(run.path)}")
    refuted = [finding for finding in run.findings if finding.refuted]
    if refuted:
        why = f"what {names_of(run).of(refuted[0].system)} acknowledged was lost in a power cut: durability is refuted"
        return Ending(End.REFUTED, _stop(why), f"The witness: {program} show {shown_path(run.path)}")
    broken = [result for result in results if result.lost or result.corrupt]
    if broken:
        why = f"{where_words(broken, len(results), names_of(run))} acknowledged messages were lost or damaged"
        return Ending(End.BROKEN, _stop(why), f"Which, and the servers' logs: {program} show {shown_path(run.path)}")
    return _open(run, results, program)


def _open(run: StoredRun, results: Sequence[MeasuredResult], program: str) -> Ending:
    """INVALID where something asked has no answer, else GOOD."""
    invalid = [result for result in results if result.validity is Validity.INVALID]
    again = again_words(run, program)
    if invalid:
        where = where_words(invalid, len(results), names_of(run))
        busy = busy_words([*invalid, *results])
        machine = f" The machine was busy ({busy})." if busy else ""
        why = f"{_stop(f'{where} figures may not be used, {reason_words(invalid[0])}')}{machine}"
        return Ending(End.INVALID, why, f"Close other programs and run it again: {again}")
    undecided = [finding for finding in run.findings if not finding.decided]
    if undecided:
        first = undecided[0]
        why = f"{first.experiment} has no answer for {names_of(run).of(first.system)}: {first.summary[0]}"
        return Ending(End.INVALID, _stop(why), f"Once its cause is fixed, run it again: {again}")
    ruled = [ruling for ruling in thresholds.rulings(run) if ruling.outcome is Outcome.INCONCLUSIVE]
    if ruled:
        why = f"a threshold could not be decided, {thresholds.sentence(ruled[0])}"
        return Ending(End.INVALID, _stop(why), f"With more repeats: {again_words(run, program, REPEATS_FIRST)}")
    return Ending(End.GOOD)


def _unfinished(run: StoredRun, program: str) -> Ending:
    kept = f"{len(run.results)} of {run.trials_expected} trials are kept"
    resume = f"To go on with it: {program} run --resume {shown_path(run.path)}"
    start = f"Start it again: {again_words(run, program)}"
    what = resume if run.meaning is not None else start
    if run.status == "interrupted":
        return Ending(End.INTERRUPTED, f"Interrupted; {kept}.", what)
    failed = [trial for trial in run.trials if trial.result is None]
    reason = f"{failed[0].trial_id} ({failed[0].why or failed[0].status})" if failed else run.reason or run.status
    many = f"{plural(len(failed), 'trial')} failed, first {reason}" if failed else reason
    return Ending(End.FAILED, _stop(f"{many}; {kept}"), what)


def again_words(run: StoredRun, program: str, repeat: int | None = None) -> str:
    """The command that makes the run's campaign again with its options, repeated so often if given."""
    path = Path(run.campaign_path)
    ready = run.name == path.stem == "quick"
    verb = ["quick"] if ready else ["run", shown_path(path) if path.name else "CAMPAIGN"]
    return f"{program} {shlex.join(command_words(run, verb, repeat))}"


def _stop(words: str) -> str:
    """With a capital and one full stop."""
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."

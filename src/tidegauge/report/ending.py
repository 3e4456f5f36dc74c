"""How a run ended, as one outcome: what decides the exit code, why, and what its user can do next."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tidegauge.model.trial import TrialResult, Validity
from tidegauge.numbers import plural
from tidegauge.report import thresholds
from tidegauge.report.again import command_words
from tidegauge.report.layout import shown_path
from tidegauge.report.names import names_of
from tidegauge.report.worth import busy_words, reason_words, where_words
from tidegauge.store.read import StoredRun, StoredTrial
from tidegauge.thresholds.model import Outcome

REPEATS = 5
"""What is suggested first (see `compare.REPEATS_FIRST`)."""


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
    results = [one for one in run.results if not one.spec.exploratory]
    missed = [one for one in ruled if one.outcome is Outcome.MISSED]
    if missed:
        why = f"{len(missed)} of {plural(len(ruled), 'threshold')} missed, first {thresholds.sentence(missed[0])}"
        return Ending(End.THRESHOLD, _stop(why), f"All of them: {program} show {run_words(run)}")
    refuted = [one for one in run.findings if one.refuted]
    if refuted:
        why = f"what {names_of(run).of(refuted[0].system)} acknowledged was lost in a power cut: durability is refuted"
        return Ending(End.REFUTED, _stop(why), f"The witness: {program} show {run_words(run)}")
    broken = [one for one in results if any(sub.lost or sub.corrupt for sub in one.subscriptions)]
    if broken:
        why = f"{where_words(broken, len(results), names_of(run))} acknowledged messages were lost or damaged"
        return Ending(End.BROKEN, _stop(why), f"Which, and the servers' logs: {program} show {run_words(run)}")
    return _open(run, results, program)


def _open(run: StoredRun, results: list[TrialResult], program: str) -> Ending:
    """INVALID where something asked has no answer, else GOOD."""
    invalid = [one for one in results if one.validity is Validity.INVALID]
    again = again_words(run, program)
    if invalid:
        where = where_words(invalid, len(results), names_of(run))
        busy = busy_words([*invalid, *results])
        machine = f" The machine was busy ({busy})." if busy else ""
        why = f"{_stop(f'{where} figures may not be used, {reason_words(invalid[0])}')}{machine}"
        return Ending(End.INVALID, why, f"Close other programs and run it again: {again}")
    undecided = [one for one in run.findings if not one.decided]
    if undecided:
        first = undecided[0]
        why = f"{first.experiment} has no answer for {names_of(run).of(first.system)}: {first.summary[0]}"
        return Ending(End.INVALID, _stop(why), f"Once its cause is mended, run it again: {again}")
    ruled = [one for one in thresholds.rulings(run) if one.outcome is Outcome.INCONCLUSIVE]
    if ruled:
        why = f"a threshold could not be decided, {thresholds.sentence(ruled[0])}"
        return Ending(End.INVALID, _stop(why), f"With more repeats: {again_words(run, program, REPEATS)}")
    return Ending(End.GOOD)


def _unfinished(run: StoredRun, program: str) -> Ending:
    kept = f"{len(run.results)} of {max(len(run.planned), len(run.trials))} trials are kept"
    resume = f"To go on with it: {program} run --resume {run_words(run)}"
    start = f"Start it again: {again_words(run, program)}"
    what = resume if run.meaning is not None else start
    if run.status == "interrupted":
        return Ending(End.INTERRUPTED, f"Interrupted; {kept}.", what)
    failed = [trial for trial in run.trials if trial.result is None]
    reason = _failure(failed[0]) if failed else run.reason or run.status
    many = f"{plural(len(failed), 'trial')} failed, first {reason}" if failed else reason
    return Ending(End.FAILED, _stop(f"{many}; {kept}"), what)


def _failure(trial: StoredTrial) -> str:
    return f"{trial.trial_id} ({trial.why or trial.status})"


def run_words(run: StoredRun) -> str:
    """How a command names the run: its path."""
    return shown_path(run.path)


def again_words(run: StoredRun, program: str, repeat: int | None = None) -> str:
    """The command that makes the run's campaign again with its options, repeated so often if given."""
    path = Path(run.campaign_path)
    ready = run.name == path.stem == "quick"
    verb = ["quick"] if ready else ["run", shown_path(path) if path.name else "CAMPAIGN"]
    return f"{program} {shlex.join(command_words(run, verb, repeat))}"


def _stop(words: str) -> str:
    """With a capital and one full stop."""
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."

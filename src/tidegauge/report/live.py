"""A run while it goes: events folded into a state, and the state shown, as a live panel or as plain lines.

Nothing here prints or reads a clock: the caller gives the time, in seconds of any steady clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge.attestation.words import attest_outcome
from tidegauge.experiments import procedure
from tidegauge.model.events import (
    Decided,
    Event,
    FetchProgress,
    FindingReached,
    Note,
    PhaseProgress,
    PhaseStarted,
    RunStarted,
    SecondSeen,
    TrialEnded,
    TrialKept,
    UnequalFound,
    UseNow,
    WorkerSeen,
)
from tidegauge.model.tilt import Tilt
from tidegauge.model.trial import AttestResult, LoadResult, LoadSpec, TrialSpec
from tidegauge.numbers import count, duration, ms, plural, short
from tidegauge.report.fairness import MARK
from tidegauge.report.layout import Paragraph, indented
from tidegauge.report.lists import brief_time_words

LINE_EVERY_S = 10.0
"""Without a terminal (a log, CI), how often figures become a line within a phase."""

FETCH_LINE_EVERY_S = 30.0
"""Without a terminal, how often a download that goes on becomes a line."""

ENDED_SHOWN_MAX = 8
WORKERS_SHOWN_MAX = 8

PHASES = {
    "ceilings": "measuring",
    "calibrate": "measuring",
    "fetch": "fetching",
    "settle": "waiting for calm",
    "start": "starting",
    "ready": "waiting",
    "prepare": "creating",
    "warm-up": "warming up",
    "measure": "measuring",
    "build": "building",
    "catch up": "catching up",
    "after": "measuring on:",
    "read": "reading",
    "attest": "cutting:",
    "collect": "collecting",
    "drain": "draining",
    "stop": "stopping",
}
"""Words for the phases, which a phase's detail goes on from: "waiting" "until kafka accepts and delivers a message"."""


@dataclass(frozen=True)
class LiveState:
    """What is known of a run that goes on. `_s` are readings of the caller's clock."""

    trials: tuple[TrialSpec, ...] = ()
    trial_id: str = ""
    trial_since_s: float = 0.0
    phase: str = ""
    detail: str = ""
    phase_since_s: float = 0.0
    phase_s_max: float | None = None
    second: SecondSeen | None = None
    ended: tuple[TrialEnded, ...] = ()
    unequal: tuple[Tilt, ...] = ()
    said_s: float = 0.0
    fetching: FetchProgress | None = None
    """How far a download was last heard to be; None without one."""


def advance(state: LiveState, event: Event, now_s: float) -> LiveState:
    """The state after an event."""
    if isinstance(event, PhaseProgress | SecondSeen | FetchProgress) and _is_line_due(state, event, now_s):
        state = replace(state, said_s=now_s)
    match event:
        case PhaseProgress():
            return replace(state, detail=progress_words(event))
        case FetchProgress() | SecondSeen():
            return replace(state, fetching=event) if isinstance(event, FetchProgress) else replace(state, second=event)
        case RunStarted() | Decided():
            return replace(state, trials=event.trials)
        case PhaseStarted():
            since_s = state.trial_since_s if event.trial_id == state.trial_id and state.phase != "fetch" else now_s
            return replace(
                state,
                trial_id=event.trial_id,
                trial_since_s=since_s,
                phase=event.phase,
                detail=event.detail,
                phase_since_s=now_s,
                phase_s_max=event.seconds_max,
                fetching=None,
                second=state.second if event.phase in ("measure", "drain") else None,
                said_s=now_s,
            )
        case TrialEnded() | TrialKept():
            ended = event if isinstance(event, TrialEnded) else TrialEnded(event.spec, event.result, "")
            return replace(state, ended=(*state.ended, ended), phase="", second=None, said_s=now_s)
        case FindingReached() | Note() | UnequalFound():
            return replace(state, unequal=(*state.unequal, event.tilt)) if isinstance(event, UnequalFound) else state


def _is_line_due(state: LiveState, event: PhaseProgress | SecondSeen | FetchProgress, now_s: float) -> bool:
    """Whether a log gets a line: now and then, and for each new download at once."""
    if not isinstance(event, FetchProgress):
        return now_s - state.said_s >= LINE_EVERY_S
    another = state.fetching is None or event.what != state.fetching.what
    return another or now_s - state.said_s >= FETCH_LINE_EVERY_S


def plain_lines(before: LiveState, event: Event, now_s: float) -> list[str]:
    """What to add to a log for an event: each phase, each trial's end, and figures every `LINE_EVERY_S`."""
    match event:
        case RunStarted():
            expected = brief_time_words(event.trials, event.seconds_expected)
            return [
                f"Run directory: {event.run_path}",
                f"{plural(len(event.trials), 'trial')}, {expected} once all is fetched.",
            ]
        case PhaseStarted():
            limit = f", at most {duration(event.seconds_max)}" if event.seconds_max else ""
            name = f"{event.trial_id}: " if event.trial_id else ""
            return [f"{name}{_phase_words(event.phase, event.detail)}{limit}"]
        case PhaseProgress() | SecondSeen() | FetchProgress():
            return [_within_line(before, event)] if _is_line_due(before, event, now_s) else []
        case TrialEnded() | TrialKept():
            return [outcome_line(event, before)] if isinstance(event, TrialEnded) else []
        case Decided() | FindingReached() | Note() | UnequalFound():
            return _lasting_lines(event)


def _within_line(before: LiveState, event: PhaseProgress | SecondSeen | FetchProgress) -> str:
    match event:
        case FetchProgress():
            return event.text
        case PhaseProgress():
            return f"{event.trial_id}: {_phase_words(before.phase, progress_words(event))}"
        case SecondSeen():
            return f"{event.trial_id}: {second_words(event)}"


def progress_words(event: PhaseProgress) -> str:
    """How far a slow phase has come, and how long it may take yet."""
    left = "" if event.seconds_left is None else f", about {duration(event.seconds_left)} left"
    return f"{event.what}: {count(event.done)} of {count(event.total)}{left}"


def is_lasting(event: Event) -> bool:
    """Whether an event's lines stay on the screen above the live view: what was decided, found, or should be known."""
    return isinstance(event, Decided | FindingReached | Note | UnequalFound)


def _lasting_lines(event: Decided | FindingReached | Note | UnequalFound) -> list[str]:
    match event:
        case Decided():
            left = f" About {plural(event.trials_left, 'more trial')}, {duration(float(round(event.seconds_left)))}."
            return [f"{event.text}{left if event.trials_left else ''}"]
        case FindingReached():
            return [f"{event.finding.finding_id}: {sentence}" for sentence in event.finding.summary]
        case UnequalFound():
            return [f"{MARK}: {event.tilt.paragraph()}"]
        case Note():
            return [f"Note: {event.text}"]


def live_view(state: LiveState, now_s: float) -> RenderableType:
    """The state as a few lines that are drawn anew: trial, phase, time left, figures, trials so far."""
    parts: list[RenderableType] = []
    if state.unequal:
        rules = ", ".join(dict.fromkeys(tilt.rule for tilt in state.unequal))
        parts.append(Paragraph(f"{MARK} comparison: {rules}", "bold red", "", "  "))
    left_out = len(state.ended) - ENDED_SHOWN_MAX
    if left_out > 0:
        parts.append(Text(f"... {left_out} earlier trials", style="dim"))
    for place, ended in list(enumerate(state.ended))[-ENDED_SHOWN_MAX:]:
        before = replace(state, ended=state.ended[:place])
        parts.append(Paragraph(outcome_line(ended, before), "red" if ended.result is None else "", "", "  "))
    if state.phase:
        parts.append(Text(_trial_title(state), style="bold"))
        parts.append(indented(f"{_phase_words(state.phase, state.detail)}{_left_words(state, now_s)}"))
        if state.fetching:
            parts.append(Text(f"  {state.fetching.text}", no_wrap=True, overflow="ellipsis"))
        if state.second is not None:
            parts.append(indented(second_words(state.second)))
            if state.second.workers:
                parts.append(indented(worker_words(state.second.workers)))
    return Group(*parts)


def second_words(second: SecondSeen) -> str:
    """One second's figures in words."""
    return (
        f"{count(second.msgs_per_s)} msg/s, {short(second.mb_per_s)} MB/s, "
        f"response p99 {ms(second.response_p99_ms)} ms, "
        f"end-to-end p99 {ms(second.end_to_end_p99_ms)} ms, backlog {count(second.backlog)}"
        f"{use_words(second.use)}"
    )


def worker_words(workers: Sequence[WorkerSeen]) -> str:
    """What each of several load generators achieved; of very many those that are furthest behind what they offered."""
    behind = sorted(workers, key=lambda worker: worker.msgs_per_s - (worker.offered_msgs_per_s or 0.0))
    shown = sorted(behind[:WORKERS_SHOWN_MAX], key=lambda worker: worker.worker)
    offered = " of offered" if all(worker.offered_msgs_per_s is not None for worker in workers) else ""
    each = ", ".join(
        f"{worker.worker}: {count(worker.msgs_per_s)}"
        + ("" if worker.offered_msgs_per_s is None else f" of {count(worker.offered_msgs_per_s)}")
        for worker in shown
    )
    more = len(workers) - len(shown)
    return f"load generators, msg/s{offered}: {each}" + (f", and {more} more" if more else "")


def use_words(use: UseNow | None) -> str:
    """What is being used, to go on with; "" where nobody looks."""
    if use is None:
        return ""
    return (
        f"; CPU: host {use.host_cpu_share:.0%}, servers {short(use.server_cpus)}, client {short(use.worker_cpus)}; "
        f"disk busy {use.disk_busy_share:.0%}, {short(use.disk_written_bytes_per_s / 1e6)} MB/s written"
    )


def outcome_line(ended: TrialEnded, before: LiveState) -> str:
    """One finished trial in one line."""
    if ended.result is None:
        # Why a trial failed, as a phrase to append; "" if it is the only one: the run's error, which follows, says it.
        if len(before.trials) == 1:
            failure_words = ""
        else:
            same = next((earlier for earlier in before.ended if earlier.failure == ended.failure), None)
            failure_words = f" for the same reason as {same.spec.trial_id}" if same else f": {ended.failure}"
        return f"{ended.spec.trial_id}: failed{failure_words}"
    result = ended.result
    if isinstance(result, AttestResult):
        return f"{ended.spec.trial_id}: {attest_outcome(result.spec.attest, result.attest)}"
    figures = f"{count(result.msgs_per_s)} msg/s"
    if isinstance(result, LoadResult):
        figures += f", response p50 {ms(result.response.p50_ms)}, p99 {ms(result.response.p99_ms)} ms"
    return f"{ended.spec.trial_id}: {figures}: {result.validity.shown}"


def seconds_left(state: LiveState, now_s: float) -> float | None:
    """An estimate for the whole run: the plan's, less the trials done and the time spent in this one.

    None where nobody knows.
    """
    if not state.trials:
        return None
    ended = {event.spec.trial_id for event in state.ended}
    spent_s = 0.0 if state.phase == "fetch" else now_s - state.trial_since_s
    return procedure.seconds_left(state.trials, ended, state.trial_id, spent_s)


def _trial_title(state: LiveState) -> str:
    number = min(len(state.ended) + 1, max(1, len(state.trials)))
    if not state.trial_id:
        if state.ended:
            return f"Before trial {number} of {len(state.trials)}"
        return f"Before the first of {len(state.trials)} trials" if state.trials else "Before the first trial"
    spec = next((trial for trial in state.trials if trial.trial_id == state.trial_id), None)
    name = f"{spec.experiment} on {spec.system}" if spec else state.trial_id
    return f"Trial {number} of {len(state.trials)}: {name}"


def _phase_words(phase: str, detail: str) -> str:
    words = PHASES.get(phase, phase)
    if phase == "measure" and detail:
        return f"{words} ({detail})"
    return f"{words} {detail}" if detail else words


def _left_words(state: LiveState, now_s: float) -> str:
    parts = [f"{duration(float(max(0, int(now_s - state.phase_since_s))))} so far"]
    spec = next((trial for trial in state.trials if trial.trial_id == state.trial_id), None)
    # What a number of messages is expected to take is no time that it ends after.
    is_counted = state.phase == "measure" and isinstance(spec, LoadSpec) and spec.messages > 0
    if state.phase_s_max and not is_counted:
        left_s = max(0.0, state.phase_since_s + state.phase_s_max - now_s)
        at_most = "" if state.phase == "measure" else "at most "
        parts = [f"{at_most}{duration(float(round(left_s)))} left"]
    whole_s = seconds_left(state, now_s)
    if whole_s is not None:
        parts.append(f"about {duration(float(round(whole_s)))} left in all")
    return f": {', '.join(parts)}"

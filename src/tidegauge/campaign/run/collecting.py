"""A trial that was measured when its controller ended: its result, from what its load generators left.

They write what they have once the measured window is over and their controller is gone; what only the controller knew
was stored as the window began (`Measuring`). Both together are a result, by the same code as any other, which merges
figures of several that are still there, too. It counts if producers had stopped, every message had its outcome, and
every acknowledged one was received: DOUBTFUL at best, since nobody saw what servers and machine did until the end. Else
it is INVALID, kept aside, and the trial made again. One that is INVALID for what its load generators did stands, as any
result does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from tidegauge.campaign.run.figures import DRAIN, MEASURE, Follower
from tidegauge.campaign.run.resources import RunResources
from tidegauge.campaign.run.trial.result import Measuring, Observed, make_result
from tidegauge.errors import RunFailedError
from tidegauge.model.events import Note, PhaseStarted
from tidegauge.model.load import SecondFigures, TotalFigures, WorkerFacts, worker_name
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import LoadResult, LoadSpec, Validity
from tidegauge.model.workload import Workload
from tidegauge.numbers import join_with_and, plural
from tidegauge.plain import typed_value
from tidegauge.statistics.steady import jit_cpus
from tidegauge.store.run import RunStore
from tidegauge.worker.api import LeftResults
from tidegauge.worker.group import GroupMember, Put, WorkerGroup, pump_in_thread
from tidegauge.worker.sequences import SequencesPart


def is_collectable(spec: LoadSpec) -> bool:
    """Whether its result follows from figures alone.

    Of faults and late readers the controller sees more, and of a number of messages it decides where the window ends.
    """
    return spec.late is None and not spec.faults and not spec.messages


def observe_trial(
    spec: LoadSpec, measuring: Measuring, follower: Follower, steady_until_ns: int, drain_end: str
) -> Observed:
    """What is known of a trial by its controller and by its seconds, which are asked to be steady until an instant."""
    return Observed(
        known=measuring,
        jit_cpus=jit_cpus(follower.points_between(measuring.from_mono_ns, measuring.until_mono_ns)),
        # Under a schedule rates and latencies change as they were meant to: no drift of the system's.
        seconds=() if spec.schedule else tuple(follower.points_between(measuring.from_mono_ns, steady_until_ns)),
        drain_end=drain_end,
        busy_consumers=follower.receiving.busy_consumers(),
        window_end_backlogs=follower.receiving.window_end,
    )


def collect_result(
    spec: LoadSpec, record: Mapping[str, Any], driver: str, resources: RunResources, store: RunStore
) -> LoadResult | None:
    """The result of a trial of which `record` is the stored `Measuring`; None if it must be made again, which is noted.

    Changes nothing of what the load generators left until it is stored, so it can be tried again.
    """
    resources.observer(PhaseStarted(spec.trial_id, "collect", "what its load generators left", None))
    try:
        return _collect_result(spec, typed_value(Measuring, record), driver, resources, store)
    except (RunFailedError, ValueError) as error:
        why = error.message if isinstance(error, RunFailedError) else f"its record can't be read: {error}"
        resources.observer(Note(f"{spec.trial_id} is made again: it had been measured, but {why}"))
        return None


def _collect_result(
    spec: LoadSpec, measuring: Measuring, driver: str, resources: RunResources, store: RunStore
) -> LoadResult | None:
    logs = store.path / "trials" / spec.trial_id / "logs"
    # On the hosts that carried it out, each by itself: nobody else sees their disks.
    worker = resources.start_worker(driver, logs, spec)
    try:
        left_results = worker.left_results(measuring.trial_id)
        _check_left_results(left_results, measuring)
        figures = left_figures(left_results, spec.workload, measuring.processes, logs, worker.facts)
        totals = figures.totals()
        trial = store.reopen_trial(spec)
        follower = Follower(spec, figures, trial, lambda _: None, lambda: None)
        follower.begin_phase(MEASURE, measuring.from_mono_ns)
        follower.begin_phase(DRAIN, measuring.until_mono_ns)
        follower.follow_to_end()
        # Whether what is missing was lost, or on its way, nobody knows.
        drain_end = "limit" if _count_gaps(totals)[0] else "drained"
        observed = observe_trial(spec, measuring, follower, measuring.until_mono_ns, drain_end)
        result_of_left = make_result(
            spec, totals, replace(observed, warm_up=follower.points_between(0, measuring.from_mono_ns))
        )
        result = _with_reason_of_collecting(result_of_left, totals, left_results[0].reason)
        trial.finish(result, totals)
        worker.remove_left_results(measuring.trial_id)
    finally:
        worker.close()
    if not any(_count_gaps(totals)):
        return result
    place_aside = store.set_trial_aside(spec.trial_id)
    resources.observer(
        Note(f"{spec.trial_id} is made again: {result.reasons[0]}. What it had measured is in {place_aside}.")
    )
    return None


def _check_left_results(left: Sequence[LeftResults], measuring: Measuring) -> None:
    """Raise `RunFailedError` unless these are the whole figures of this very trial."""
    if not left or len(left) != len(measuring.processes):
        raise RunFailedError("its load generators left no figures.")
    for process, left_of_process in zip(measuring.processes, left, strict=True):
        window = left_of_process.totals.window
        if (window.from_mono_ns, window.until_mono_ns) != (measuring.from_mono_ns, measuring.until_mono_ns):
            raise RunFailedError(f"what {process} left is of another attempt.")
        if not left_of_process.seconds or left_of_process.seconds[0].second:
            raise RunFailedError(f"the first seconds of {process} were not kept for so long.")


def _count_gaps(totals: TotalFigures) -> tuple[int, int]:
    """Count acknowledged messages that a subscription had not received, and messages without an outcome.

    Of several subscriptions the one furthest behind counts: most messages that one lacks, others lack as well.
    """
    window = totals.window
    missing = max((sub.backlog for sub in totals.subscriptions), default=0)
    return missing, max(totals.unresolved, window.intended - window.acked - window.failed)


def _with_reason_of_collecting(result: LoadResult, totals: TotalFigures, reason: str) -> LoadResult:
    """The result with what is to be said of a trial that nobody saw end."""
    collected = (
        "its controller ended before the trial did, and its figures are what its load generators had written by then "
        f"({reason})"
    )
    missing, without = _count_gaps(totals)
    if missing or without:
        who = " by the subscription furthest behind" if len(totals.subscriptions) > 1 else ""
        gaps = (
            f"{plural(missing, 'acknowledged message')} had not been received{who}" if missing else "",
            f"{plural(without, 'message')} had no outcome" if without else "",
        )
        text = f"{collected}: {join_with_and([*filter(None, gaps)])}"
        reasons = (Reason(ReasonKind.COLLECTED, text), *result.reasons)
        return replace(result, validity=Validity.INVALID, reasons=reasons)
    text = f"{collected}; what servers and machine used is not known until its end"
    validity = Validity.DOUBTFUL if result.validity is Validity.VALID else result.validity
    return replace(result, validity=validity, reasons=(*result.reasons, Reason(ReasonKind.COLLECTED, text)))


@dataclass(frozen=True)
class _LeftMember:
    """The part of a `GroupMember` that knows what was measured."""

    left: LeftResults
    processes: tuple[str]
    words: str
    log_path: Path
    facts: WorkerFacts
    pids = ()

    def watch(self, _from_second: int = 0) -> Iterator[SecondFigures]:
        yield from self.left.seconds

    def follow(self, put: Put[SecondFigures]) -> None:
        pump_in_thread(self.watch, put)

    def totals(self) -> TotalFigures:
        return self.left.totals

    def sequences(self) -> Iterator[SequencesPart]:
        yield from self.left.sequences


def left_figures(
    left: Sequence[LeftResults],
    workload: Workload,
    processes: Sequence[str],
    log_directory: Path,
    facts: WorkerFacts,
) -> WorkerGroup | _LeftMember:
    """What all workers of a trial measured together, to be asked for its seconds and totals only."""
    members = [
        _LeftMember(each, (process,), worker_name(number, len(left)), log_directory / f"{process}.log", facts)
        for number, (each, process) in enumerate(zip(left, processes, strict=True))
    ]
    if len(members) == 1:
        return members[0]
    # Nothing else of them is asked for.
    several = cast("list[GroupMember]", members)
    return WorkerGroup.of_left(several, workload, [each.started_mono_ns for each in left])

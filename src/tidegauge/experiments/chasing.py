"""What `catch-up` and `mixed` have in common: keys, the plan of a trial with late readers, and sentences. Pure.

The rate is the same the whole time: what is acknowledged while readers catch up is part of the question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

from tidegauge.config.fields import (
    BacklogSize,
    Duration,
    OfferedRate,
    Share,
    Size,
    duration_between,
    member_of,
    share_between,
    size_between,
)
from tidegauge.experiments.latency import rate_objection, resolve_rate, rule_of_rate
from tidegauge.experiments.procedure import Experiment, Lab, ShortTrialOptions
from tidegauge.model.finding import Cell, Finding
from tidegauge.model.trial import CatchUp, Latency, LoadResult, LoadSpec, ServerReuse, TrialSpec, Validity
from tidegauge.model.workload import FROM_DEVICE_SHARE_MIN, PHASES, DeviceReads, LateReaders, ServerLimits
from tidegauge.numbers import rounded, size
from tidegauge.statistics.figures import FINDING_FIGURES

_MORE_THAN_ONCE = 1.1
_AS_GOOD_AS_ALL = 0.99
"""A backlog of which this share was read counts as gone; of less it is said how much."""


def reads_sentence(reads: DeviceReads) -> str:
    """Whether the backlog came from the device, by what the servers were counted to read; and that it is DOUBTFUL."""
    doubtful = reads.share is not None and not reads.from_device
    return f"{'DOUBTFUL: ' if doubtful else ''}{reads_words(reads)}"


def reads_words(reads: DeviceReads) -> str:
    """What the servers were counted to read from the device, and what that says of the backlog."""
    if reads.share is None:
        return f"device reads are not known ({reads.unknown or 'there was no backlog'}): reads may have come from cache"
    read = size(reads.share * reads.backlog_bytes, 3)
    if reads.from_device:
        more = ": newer messages too, or some again" if reads.share > _MORE_THAN_ONCE else ""
        return f"device reads: {read} of {size(reads.backlog_bytes, 3)} backlog ({reads.share:.0%}{more})"
    if reads.share >= FROM_DEVICE_SHARE_MIN:
        return (
            f"the servers read {read} from the device, which may be their own program code; only a larger "
            "backlog shows where it came from"
        )
    return (
        f"{reads.share:.0%} of the backlog was read from the device, the rest from cache; only a backlog "
        "larger than the servers' memory shows how fast it comes from disk"
    )


def chase_sentence(chase: CatchUp, drained_share: float) -> str:
    """How long the late readers took for this share of a backlog, and how fast; or that they never got there."""
    backlog = f"a backlog of {chase.backlog_msgs:,} messages ({size(chase.backlog_bytes, 3)})"
    part = "" if drained_share >= _AS_GOOD_AS_ALL else f"{drained_share:.0%} of "
    if chase.chase_s is None:
        # New messages were sent meanwhile, so what is left need be no part of it, and may be more.
        return (
            f"never drained{f' by {drained_share:.0%}' if part else ''} in {rounded(chase.watched_s)} s: {backlog} was "
            f"one of {chase.left_msgs:,} by then, {_slope_words(chase)}"
        )
    if chase.chase_s == 0:
        return f"{backlog} is no more than readers that keep up have before them: there was nothing to catch up with"
    return (
        f"{part}{backlog} was gone {rounded(chase.chase_s)} s after its readers began, shrinking by "
        f"{chase.drain_msgs_per_s:,.0f} msg/s ({rounded(chase.drain_bytes_per_s / 1e6)} MB/s); at most "
        f"{chase.peak_read_msgs_per_s:,.0f} msg/s were read"
    )


def _slope_words(chase: CatchUp) -> str:
    slope = chase.slope
    if slope is None and chase.drain_msgs_per_s:
        return f"{'growing' if chase.drain_msgs_per_s < 0 else 'shrinking'} by {abs(chase.drain_msgs_per_s):,.0f} msg/s"
    if slope is None or slope.low_per_s == slope.high_per_s == 0:
        return "as many as before"
    doing = "growing" if slope.per_s > 0 else "shrinking"
    low, high = sorted((abs(slope.low_per_s), abs(slope.high_per_s)))
    if slope.low_per_s <= 0 <= slope.high_per_s:
        return f"changing by {slope.per_s:,.0f} msg/s (95%: {slope.low_per_s:,.0f} to {slope.high_per_s:,.0f})"
    return f"{doing} by {abs(slope.per_s):,.0f} msg/s (95%: {low:,.0f} to {high:,.0f})"


def phases_sentence(subject: str, chase: CatchUp, latencies: Sequence[Latency | None]) -> str:
    """A latency before, during and after; the p50 where samples do not suffice for the p99. "" with nothing at all."""
    seen = [(name, latency) for name, latency in zip(PHASES, latencies, strict=True) if chase.phase(name).seconds > 0]
    with_p50 = [(name, latency) for name, latency in seen if latency is not None and latency.p50_ms is not None]
    if not with_p50:
        return ""
    percentile = "p99" if all(latency.p99_ms is not None for _, latency in with_p50) else "p50"
    values = [
        f"{rounded((latency.p99_ms if percentile == 'p99' else latency.p50_ms) or 0.0)} ms {name}"
        for name, latency in with_p50
    ]
    return f"{subject} {percentile}: {', '.join(values)}"


def publish_sentence(chase: CatchUp) -> str:
    """The publish response in each phase."""
    return phases_sentence("publish response", chase, [chase.phase(name).response for name in PHASES])


def tailing_sentence(chase: CatchUp) -> str:
    """The end-to-end latency of those that read from the start in each phase; "" without any. They may fall behind."""
    tailing = [chase.phase(name).tailing_end_to_end for name in PHASES]
    return phases_sentence("end-to-end of readers from the start", chase, tailing)


class Disk(StrEnum):
    """What disk servers get: one of their own whose file is not cached a second time by this machine."""

    DIRECT_IO = "direct-io"


class ChaseOptions(ShortTrialOptions):
    """Keys of experiments with late readers.

    `measure` is the least time before they begin, and the time after; `drain_max` bounds how long they may take.
    """

    rate: OfferedRate
    backlog: BacklogSize
    drain_max: Annotated[Duration, duration_between("6s", "24h")] = 300.0
    drained: Annotated[Share, share_between("1%", "100%")] = 0.99
    server_memory: Annotated[Size, size_between("128MiB", "1024GiB")] | None = None
    disk: Annotated[Disk, member_of(Disk)] | None = None

    def trial(self, base: TrialSpec, late: int) -> LoadSpec:
        """The trial in which the last `late` subscriptions of each topic read late."""
        limits = ServerLimits(self.server_memory, self.disk is Disk.DIRECT_IO)
        return replace(
            self.load(base, self.rate.msgs_per_s, rule_of_rate(self.rate)),
            late=LateReaders(
                subscriptions=late,
                backlog_msgs=self.backlog.messages(base.workload.payload.message_bytes, self.server_memory),
                rule=str(self.backlog),
                drained_share=self.drained,
                chase_s_max=self.drain_max,
            ),
            limits=None if limits == ServerLimits() else limits,
            # What runs already can't be limited any more.
            servers=base.servers if limits == ServerLimits() else ServerReuse.FRESH,
        )


def _objection_to_options(options: ChaseOptions, earlier: Sequence[str]) -> str:
    """ "" or what these options need and don't have."""
    if options.backlog.share_of_server_memory is not None and options.server_memory is None:
        return (
            f"'{options.backlog}' needs 'server-memory', such as 768MiB; or give the backlog as 2GiB or 500k messages"
        )
    return rate_objection(options.rate, earlier)


def _chase_finding(result: LoadResult, chase: CatchUp, sentences: Sequence[str], row: dict[str, Cell]) -> Finding:
    """What a trial found. That a backlog never drains is an answer; only an INVALID trial gives none."""
    invalid = result.validity is Validity.INVALID
    if invalid:
        sentences = [f"INVALID, and no answer of the system: {result.reasons[0]}"]
    share = chase.reads.share
    return Finding(
        finding_id=result.spec.trial_id,
        experiment=result.spec.experiment,
        system=result.spec.system,
        block=result.spec.block,
        decided=not invalid,
        summary=(*filter(None, sentences), reads_sentence(chase.reads), *chase.limits),
        rows=(
            {**row, "from device": None if share is None else f"{share:.0%}", "state": _drained_state(result, chase)},
        ),
        figures={} if invalid else _finding_figures(result),
        details={
            "trial_id": result.spec.trial_id,
            "offered_msgs_per_s": result.offered_msgs_per_s,
            "backlog_msgs": chase.backlog_msgs,
            "backlog_bytes": chase.backlog_bytes,
            "drained": chase.chase_s is not None,
            "chase_s": chase.chase_s,
            "drain_msgs_per_s": chase.drain_msgs_per_s,
            "drain_bytes_per_s": chase.drain_bytes_per_s,
            "peak_read_msgs_per_s": chase.peak_read_msgs_per_s,
            "left_msgs": chase.left_msgs,
            "device_read_share": share,
            "phases": {
                phase.phase: {
                    "seconds": phase.seconds,
                    "msgs_per_s": phase.msgs_per_s,
                    "response_p50_ms": phase.response.p50_ms,
                    "response_p99_ms": phase.response.p99_ms,
                    "tailing_end_to_end_p50_ms": phase.tailing_end_to_end and phase.tailing_end_to_end.p50_ms,
                    "tailing_end_to_end_p99_ms": phase.tailing_end_to_end and phase.tailing_end_to_end.p99_ms,
                    "late_msgs_per_s": phase.late_msgs_per_s,
                }
                for phase in chase.phases
            },
            "validity": result.validity.value,
        },
    )


def _finding_figures(result: LoadResult) -> dict[str, float]:
    """What thresholds and comparisons may name; a figure that there is none of is left out."""
    figures = {name: figure.value_in_trial(result) for name, figure in FINDING_FIGURES.items() if figure.value_in_trial}
    return {name: value for name, value in figures.items() if value is not None}


def _drained_state(result: LoadResult, chase: CatchUp) -> str:
    if result.validity is Validity.INVALID:
        return "INVALID"
    return "drained" if chase.chase_s is not None else "NEVER DRAINED"


def chase_experiment(
    name: str,
    summary: str,
    plan: Callable[[ChaseOptions, TrialSpec], tuple[LoadSpec, ...]],
    answer: Callable[[CatchUp, LateReaders], tuple[Sequence[str], dict[str, Cell]]],
) -> Experiment[ChaseOptions, LoadSpec, LoadResult]:
    """An experiment with late readers. `answer` gives sentences and a row of what a trial found of them."""

    def run(options: ChaseOptions, trials: tuple[LoadSpec, ...], lab: Lab) -> None:
        for trial in trials:
            rate = resolve_rate(options.rate, trial.system, lab.results, lab.findings)
            result = lab.run_trial(replace(trial, msgs_per_s=rate))
            chase = result.catch_up
            if chase is None or trial.late is None:
                raise ValueError(f"{trial.trial_id} was asked for late readers and reports none")
            lab.record_finding(_chase_finding(result, chase, *answer(chase, trial.late)))

    return Experiment(name, summary, ChaseOptions, plan, run, _objection_to_options)

"""What `catch-up` and `mixed` have in common: keys, the plan of a trial with late readers, when a rate is missing.

The rate is the same the whole time: what is acknowledged while readers catch up is part of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from tidegauge.config.fields import (
    BacklogSize,
    Duration,
    MeasureTime,
    OfferedRate,
    Share,
    Size,
    duration_between,
    member_of,
    size_between,
)
from tidegauge.experiments.catch_up_words import reads_sentence
from tidegauge.experiments.latency import rate_objection, resolve_rate
from tidegauge.experiments.procedure import Lab, TrialOptions
from tidegauge.model.finding import Cell, Finding
from tidegauge.model.late_readers import DURING, LateReaders, ServerLimits
from tidegauge.model.trial import CatchUp, Servers, TrialResult, TrialSpec, Validity


class Disk(StrEnum):
    """What disk servers get: one of their own whose file is not cached a second time by this machine."""

    DIRECT_IO = "direct-io"


def _drained(share: float) -> float:
    if not 0.01 <= share <= 1:
        raise ValueError("must be from 1% to 100%")
    return share


class ChaseOptions(TrialOptions):
    """Keys of experiments with late readers.

    `measure` is the least time before they begin, and the time after; `drain_max` bounds how long they may take.
    """

    rate: OfferedRate
    backlog: BacklogSize
    warm_up_min: Annotated[Duration, AfterValidator(duration_between("1s", "1h"))] = 7.0
    warm_up_max: Annotated[Duration, AfterValidator(duration_between("1s", "2h"))] = 20.0
    measure: MeasureTime = 20.0
    drain_max: Annotated[Duration, AfterValidator(duration_between("6s", "24h"))] = 300.0
    drained: Annotated[Share, AfterValidator(_drained)] = 0.99
    server_memory: Annotated[Size, AfterValidator(size_between("128MiB", "1024GiB"))] | None = None
    disk: Annotated[Disk, BeforeValidator(member_of(Disk))] | None = None

    def trial(self, base: TrialSpec, late: int) -> TrialSpec:
        """The trial in which the last `late` subscriptions of each topic read late."""
        limits = ServerLimits(self.server_memory, self.disk is Disk.DIRECT_IO)
        return replace(
            self.timed(base),
            msgs_per_s=self.rate.msgs_per_s,
            rate_rule=str(self.rate),
            late=LateReaders(
                subscriptions=late,
                backlog_msgs=self.backlog.messages(base.workload.payload.message_bytes, self.server_memory),
                rule=str(self.backlog),
                drained_share=self.drained,
                chase_s_max=self.drain_max,
            ),
            limits=None if limits == ServerLimits() else limits,
            # What runs already can't be limited any more.
            servers=base.servers if limits == ServerLimits() else Servers.FRESH,
        )


def objection(options: ChaseOptions, earlier: Sequence[str]) -> str:
    """ "" or what these options need and don't have."""
    if options.backlog.share_of_server_memory is not None and options.server_memory is None:
        return (
            f"'{options.backlog}' needs 'server-memory', such as 768MiB; or give the backlog as 2GiB or 500k messages"
        )
    return rate_objection(options.rate, earlier)


def measured(options: ChaseOptions, trial: TrialSpec, lab: Lab) -> tuple[TrialResult, CatchUp]:
    """The trial at its rate. Raises `PreconditionError` if the rate can't be known, and what `Lab.measure` does."""
    rate = resolve_rate(options.rate, trial.system, lab.results, lab.findings)
    result = lab.measure(replace(trial, msgs_per_s=rate))
    if result.catch_up is None:
        raise ValueError(f"{trial.trial_id} was asked for late readers and tells nothing of them")
    return result, result.catch_up


def finding(result: TrialResult, found: CatchUp, sentences: Sequence[str], row: dict[str, Cell]) -> Finding:
    """What a trial found. That a backlog never drains is an answer; only an INVALID trial gives none."""
    invalid = result.validity is Validity.INVALID
    summary = (
        [f"INVALID, and no answer of the system: {result.reasons[0]}"]
        if invalid
        else [sentence for sentence in sentences if sentence]
    )
    share = found.reads.share
    return Finding(
        finding_id=result.spec.trial_id,
        experiment=result.spec.experiment,
        system=result.spec.system,
        block=result.spec.block,
        decided=not invalid,
        summary=(*summary, reads_sentence(found.reads), *found.limits),
        rows=({**row, "from device": None if share is None else f"{share:.0%}", "state": _state(result, found)},),
        figures={} if invalid else _figures(found),
        details={
            "trial_id": result.spec.trial_id,
            "offered_msgs_per_s": result.offered_msgs_per_s,
            "backlog_msgs": found.backlog_msgs,
            "backlog_bytes": found.backlog_bytes,
            "drained": found.chase_s is not None,
            "chase_s": found.chase_s,
            "drain_msgs_per_s": found.drain_msgs_per_s,
            "drain_bytes_per_s": found.drain_bytes_per_s,
            "peak_read_msgs_per_s": found.peak_read_msgs_per_s,
            "left_msgs": found.left_msgs,
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
                for phase in found.phases
            },
            "validity": result.validity.value,
        },
    )


def _figures(found: CatchUp) -> dict[str, float]:
    """What thresholds and comparisons may name; a figure that there is none of is left out."""
    during = found.phase(DURING)
    tailing = during.tailing_end_to_end
    figures = {
        "drain_msgs_per_s": found.drain_msgs_per_s,
        "peak_read_msgs_per_s": found.peak_read_msgs_per_s,
        "chase_s": found.chase_s,
        "response_ms_p99_during": during.response.p99_ms,
        "tailing_ms_p99_during": tailing.p99_ms if tailing else None,
    }
    return {name: value for name, value in figures.items() if value is not None}


def _state(result: TrialResult, found: CatchUp) -> str:
    if result.validity is Validity.INVALID:
        return "INVALID"
    return "drained" if found.chase_s is not None else "NEVER DRAINED"

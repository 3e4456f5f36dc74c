"""May a trial's figures be used, and what must a reader know? Pure rules; docs/methodology.md gives the reasons.

VALID figures stand for themselves. DOUBTFUL ones are shown with the doubt. INVALID ones are neither a pass nor a fail:
the generator, not the system, decided them, or there are none.

Beside the validity a trial has a status: "ok", or "failed check" when messages were lost or damaged. Lost is what was
looked for in vain: what a reader found, and what nobody could look for, is a doubt about the figures and no more.
Figures of a trial that failed its check are DOUBTFUL: a system that drops messages may be fast because it drops them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tidegauge.model.load import worker_name
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import (
    NO_LATENCY,
    BusyConsumer,
    Latency,
    SubscriptionResult,
    Validity,
    WorkerResult,
)
from tidegauge.model.workload import GENERATOR_SHARE_MAX, GENERATOR_SHARE_WRONG
from tidegauge.numbers import count, join_with_and, plural, rounded

OK = "ok"
FAILED_CHECK = "failed check"

OWN_LAG_INVALID_SHARE = 0.5
OWN_LAG_DOUBTFUL_SHARE = 0.2
OWN_LAG_FLOOR_MS = 1.0
OWN_LAG_SMALL_MS = 0.2
"""Below the floor nothing is INVALID, but a lag above this that makes up half of the response is a doubt."""
BUSY_SECONDS_SHARE = 0.20
BUSY_SECONDS_MIN = 2
"""In fewer seconds a consumer without time left is a burst, or what follows a pause, and never makes a trial INVALID.

A fifth is four times what lies beyond p95: end-to-end p95 and p99 are decided in those seconds, wherever they are."""
WAITING_SHARE = 0.5
WAITING_FLOOR_MS = 1.0
RATE_SHORTFALL = 0.02
WORKER_SHORTFALL = 0.10
"""Less than so much of a load generator's own rate is missing by chance, as while the system takes turns."""
FAR_AWAY_TIMES, FAR_AWAY_MS = 3.0, 1.0
"""So many times, and by so much longer than the quickest, one waits whose way to the servers is another."""
NO_OUTCOME_SHARE = 0.001
CPU_WAIT_SHARE = 0.20
GC_SHARE = 0.05
JIT_CPUS = 0.10
BLOCKED_SHARE_MIN = 0.10
FAR_BEHIND_BLOCKED_SHARE_MIN = 0.5
"""Producers that the system held back for at least half of the window were not late for reasons of their own."""


@dataclass(frozen=True)
class Evidence:
    """What a trial showed.

    Attributes:
        closed_loop: there is no schedule, so own lag has no meaning.
        offered_msgs_per_s: None in a closed loop.
        achieved_msgs_per_s: acknowledgements that arrived inside the window, a second.
        window_intended: messages of the window by intended time.
        failed: of these, sent in vain.
        unresolved: messages without an outcome, those never sent among them: a system that is far behind at the end
            leaves them owed, and their response times, the longest of all, are in no percentile.
        never_sent: of these, known to be never sent.
        unsteady: "" or why the warm-up ended without being steady.
        too_short: "" or that the warm-up was not allowed to last long enough for the steady test.
        drain_end: "drained", "idle" (consumers received nothing more although they were behind) or "limit" (they were
            still receiving when the time for it ended).
        receive_errors: what consumers met, the first few kinds, each with how often.
        cpu_wait_share: time that load threads were runnable without a CPU, summed over them, over the window's length.
        blocked_share: share of the window for which a producer was held back by the system, on average over producers.
            A closed loop that is never held back has found the generator's limit.
        gc_share: share of the window in garbage-collection pauses of the worker.
        cold: "" or why the load generator itself was not warm when the warm-up ended.
        jit_cpus: CPUs that its JIT compiler took in the window.
        backlog_grew, drift, catching_up: what the measured window itself showed.
        faults: how many were made on purpose while it was measured. What they did to rate and latency is no doubt about
            the figures but what was asked for, and is reported fault by fault; loss and damage always are.
        level_doubts: sentences on a durability level that is unknown, or whose settings changed meanwhile.
        busy_consumers: of the load generator, that had no time left in some seconds.
        workers: where several carried out the trial, each by itself: one that is late makes all figures late. Shares of
            waiting and of collecting garbage are then those of the worker that has most of it.
        worker_hosts: of a fleet, where each of them was, in their order; () = all on one host.
        workers_share_topics: whether each of them sends to every topic, so that servers treat all alike.
        generators_msgs_per_s: what all of them make and check of such a load without a system; None if not known.
    """

    closed_loop: bool
    offered_msgs_per_s: float | None
    achieved_msgs_per_s: float
    window_intended: int
    failed: int
    unresolved: int
    own_lag: Latency
    response: Latency
    subscriptions: Sequence[SubscriptionResult]
    unsteady: str
    drain_end: str
    cpu_wait_share: float
    blocked_share: float
    gc_share: float
    backlog_grew: bool
    drift: str
    too_short: str = ""
    level_doubts: tuple[str, ...] = ()
    faults: int = 0
    delay: Latency = NO_LATENCY
    busy_consumers: Sequence[BusyConsumer] = ()
    cold: str = ""
    jit_cpus: float = 0.0
    catching_up: str = ""
    never_sent: int = 0
    workers: Sequence[WorkerResult] = ()
    worker_hosts: Sequence[str] = ()
    workers_share_topics: bool = True
    generators_msgs_per_s: float | None = None
    receive_errors: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True)
class TrialVerdict:
    """Status, validity, why it is not VALID, and what a reader should know though it is."""

    status: str
    validity: Validity
    reasons: tuple[Reason, ...]
    warnings: tuple[Reason, ...]


def judge_evidence(evidence: Evidence) -> TrialVerdict:
    """Apply all rules."""
    invalid = _reasons_for_invalid(evidence)
    # What got lost and what was damaged, by subscription.
    integrity = []
    for sub in evidence.subscriptions:
        if sub.lost:
            why = f"; {sub.lost_why}" if sub.lost_why else ""
            text = f"{plural(sub.lost, 'acknowledged message')} got lost ({sub.name}){why}"
            integrity.append(Reason(ReasonKind.LOST, text))
        if sub.corrupt:
            integrity.append(damage_reason(sub.name, sub.corrupt))
    doubtful = [*integrity, *_reasons_for_doubt(evidence)]
    validity = Validity.INVALID if invalid else Validity.DOUBTFUL if doubtful else Validity.VALID
    status = FAILED_CHECK if integrity else OK
    warnings = (*_load_warnings(evidence), *_message_warnings(evidence), *_machine_warnings(evidence))
    return TrialVerdict(status, validity, (*invalid, *doubtful), warnings)


def _reasons_for_invalid(evidence: Evidence) -> list[Reason]:
    if evidence.response.count == 0 and not _far_behind(evidence):
        return [Reason(ReasonKind.NO_MESSAGE, "no message of the measured window was acknowledged")]
    reasons = []
    lag = _own_lag(evidence)
    if lag and lag.share >= OWN_LAG_INVALID_SHARE:
        reasons.append(_own_lag_reason(lag))
    if evidence.workers_share_topics:
        reasons += _held_back_reasons(evidence)
    # After a fault consumers work off what waited: that they are busy then says nothing about the rest.
    waited_for = _consumers_waited_for(evidence)
    if _were_busy_for_long(waited_for) and not evidence.faults:
        consumer, proof = waited_for[0]
        text = (
            "the load generator's own consumers were too slow, so end-to-end times and backlog are not the system's: "
            f"{consumer.name} had no time left in {consumer.busy_seconds} of {consumer.seconds} s, and {proof}"
        )
        # A consumer without a partition receives nothing.
        remedy = (
            "give it more consumers per subscription (each with a partition, unless they share them), less work per "
            "message, or more CPU"
        )
        if not evidence.closed_loop:
            remedy = f"{remedy}; or offer a lower rate"
        reasons.append(Reason(ReasonKind.BUSY_CONSUMER, text, remedy))
    return reasons


def workers_held_back(evidence: Evidence) -> list[WorkerResult]:
    """Load generators that sent less than they were to beside others that sent all of theirs; [] without such others.

    After a fault it may be that what it hit concerns some more than others, as it is meant to.
    """
    if evidence.closed_loop or evidence.faults:
        return []
    whole = sum(worker.offered_msgs_per_s or 0.0 for worker in evidence.workers)
    held_back, kept_up = [], []
    for worker in evidence.workers:
        offered = worker.offered_msgs_per_s
        if offered:
            missing = 1 - worker.msgs_per_s / offered
            by_chance = max(RATE_SHORTFALL, 3 / math.sqrt(max(1.0, evidence.window_intended * offered / whole)))
            held_back += [worker] if missing > max(WORKER_SHORTFALL, by_chance) else []
            kept_up += [worker] if missing <= by_chance else []
    return held_back if kept_up else []


def _held_back_reasons(evidence: Evidence) -> list[Reason]:
    held_back = workers_held_back(evidence)
    if not held_back:
        return []
    each = join_with_and(
        [
            f"{_name_of_worker(evidence, worker)} got through {count(worker.msgs_per_s)} of its "
            f"{count(worker.offered_msgs_per_s or 0.0)} msg/s"
            for worker in held_back
        ]
    )
    slow = "its host or link was" if len(held_back) == 1 else "their hosts or links were"
    culprit = f"{slow} slow, and not the system"
    if not evidence.workers_share_topics:
        culprit = f"{slow} slow, or the servers of topics that others do not send to"
    text = f"{each} while others got through all of theirs: {culprit}"
    remedy = "look at the links and CPUs of these hosts (tidegauge fleet check; the table of load generators)"
    return [Reason(ReasonKind.HELD_BACK, text, remedy)]


def _far_away_warnings(evidence: Evidence) -> list[Reason]:
    """Says which load generators waited much longer for acknowledgements than others of the same topics."""
    waits = [(worker, p50) for worker in evidence.workers if (p50 := worker.response.percentile_ms("p50")) is not None]
    if len(waits) < 2 or not evidence.workers_share_topics or workers_held_back(evidence):
        return []
    least = min(p50 for _, p50 in waits)
    far = [(worker, p50) for worker, p50 in waits if p50 >= max(FAR_AWAY_TIMES * least, least + FAR_AWAY_MS)]
    if not far:
        return []
    each = join_with_and([f"{_name_of_worker(evidence, worker)} {rounded(p50)} ms" for worker, p50 in far])
    text = (
        f"half of the acknowledgements took {each}, where the quickest load generator had them in {rounded(least)} ms"
    )
    return [Reason(ReasonKind.FAR_AWAY, text, conclusion="response times of all together are a mixture of both")]


def _were_busy_for_long(waited_for: Sequence[tuple[BusyConsumer, str]]) -> bool:
    """Whether consumers had no time left for long enough to decide the window's end-to-end times.

    Of each second one consumer is known, the one furthest behind: where several take turns, their seconds add up.
    """
    busy_s = sum(consumer.busy_seconds for consumer, _ in waited_for)
    seconds = max((consumer.seconds for consumer, _ in waited_for), default=0)
    return bool(waited_for) and busy_s >= max(min(BUSY_SECONDS_MIN, seconds), BUSY_SECONDS_SHARE * seconds)


def _consumers_waited_for(evidence: Evidence) -> list[tuple[BusyConsumer, str]]:
    """Consumers without time left that messages waited for, for half of the end-to-end time or more; how, in words."""
    by_name = {sub.name: sub for sub in evidence.subscriptions}
    consumers = []
    for busy_consumer in evidence.busy_consumers:
        if busy_consumer.subscription in by_name and busy_consumer.waiting_ms >= WAITING_FLOOR_MS:
            end_to_end = by_name[busy_consumer.subscription].end_to_end
            proof = _beyond_response(evidence, end_to_end) or _beyond_sending(evidence, end_to_end, busy_consumer)
            consumers += [(busy_consumer, proof)] if proof else []
    return consumers


def _beyond_response(evidence: Evidence, end_to_end: Latency) -> str:
    """Says which percentile of end-to-end is twice the response's or more; "" if none.

    The system had the message long before.
    """
    for name in ("p50", "p95", "p99"):
        all_ms, response_ms = end_to_end.percentile_ms(name), evidence.response.percentile_ms(name)
        if all_ms is None or response_ms is None:
            continue
        beyond_ms = all_ms - response_ms
        if beyond_ms >= WAITING_FLOOR_MS and beyond_ms >= WAITING_SHARE * all_ms:
            return f"end-to-end {name} is {rounded(all_ms)} ms where the response is {rounded(response_ms)} ms"
    return ""


def _beyond_sending(evidence: Evidence, end_to_end: Latency, consumer: BusyConsumer) -> str:
    """Says how long messages waited for a consumer, if that was half of the time from sending to receipt; else "".

    Where a system with a bounded queue holds producers back, slow consumers show in the response, as delay.

    So what messages waited for the consumer, by Little's law, is compared with the time from their sending to their
    receipt. Means may be subtracted, percentiles may not.
    """
    sent_ms = end_to_end.mean_ms - evidence.delay.mean_ms
    # Messages that were sent and not received by the end of the drain are in the one mean only.
    if not end_to_end.count or sent_ms <= 0 or consumer.waiting_ms < WAITING_SHARE * sent_ms:
        return ""
    # The wait is that of the seconds in which it was busy, and may be longer than the mean of the window.
    waited = f"messages waited {rounded(consumer.waiting_ms)} ms for it in those seconds"
    return f"{waited}, where sending to receipt took {rounded(sent_ms)} ms on average"


def _far_behind(evidence: Evidence) -> bool:
    """Whether the system still acknowledged what was due before the window, and held producers back meanwhile.

    Then it was the system that decided, by being behind for longer than the window lasts: no latencies, but a rate.
    """
    owed = evidence.achieved_msgs_per_s > 0 and evidence.unresolved > 0 and not evidence.failed
    return not evidence.closed_loop and owed and evidence.blocked_share >= FAR_BEHIND_BLOCKED_SHARE_MIN


class _Lag(NamedTuple):
    """Own lag at the percentile at which it weighs most against the response; `worker` is "" if it is that of all.

    `likewise` are other workers whose own lag deserves the same verdict.
    """

    percentile: str
    share: float
    lag_ms: float
    response_ms: float
    worker: str
    likewise: tuple[str, ...] = ()


def _own_lag(
    evidence: Evidence, floor_ms: float = OWN_LAG_FLOOR_MS, percentiles: Sequence[str] = ("p50", "p99", "p95")
) -> _Lag | None:
    """Finds where own lag weighs most against the response, of all workers together or one; None if it never matters.

    Own lag is part of the response as reported. Where it makes up half of a percentile, that percentile is the
    generator's. The comparison is relative because on a busy machine every thread is late now and then: a lag of
    2 ms spoils a p99 of 3 ms and does nothing to one of 50 ms. Below the floor it is the resolution of scheduling,
    which no host does without: that can be a doubt, never a verdict.

    Workers that deserve the verdict by themselves are named, though all together may look a little worse: first the
    one that is latest, since the one that lacks CPU makes others on its host late, too.
    """
    if evidence.closed_loop:
        return None
    judged = [("", evidence.own_lag, evidence.response)]
    judged += [(_name_of_worker(evidence, worker), worker.own_lag, worker.response) for worker in evidence.workers]
    lags = []
    for worker, own_lag, response in judged:
        lags_of_worker = []
        for name in percentiles:
            lag_ms, response_ms = own_lag.percentile_ms(name), response.percentile_ms(name)
            if lag_ms is not None and response_ms and lag_ms >= floor_ms:
                lags_of_worker.append(_Lag(name, lag_ms / response_ms, lag_ms, response_ms, worker))
        lags += [max(lags_of_worker, key=lambda lag: lag.share)] if lags_of_worker else []
    most = max(lags, key=lambda lag: (_bounds_reached(lag), bool(lag.worker), lag.lag_ms), default=None)
    if most is None or not most.worker:
        return most
    same = [lag.worker for lag in lags if lag.worker and _bounds_reached(lag) == _bounds_reached(most)]
    return most._replace(likewise=tuple(worker for worker in same if worker != most.worker))


def _bounds_reached(lag: _Lag) -> int:
    return sum(lag.share >= bound for bound in (OWN_LAG_DOUBTFUL_SHARE, OWN_LAG_INVALID_SHARE))


def _own_lag_reason(lag: _Lag) -> Reason:
    own_lag = f"the own lag of {lag.worker}" if lag.worker else "its own lag"
    likewise = f"; likewise {', '.join(lag.likewise)}" if lag.likewise else ""
    # Of less than half the system has the larger part.
    alone = ", not the system" if lag.share >= OWN_LAG_INVALID_SHARE else ""
    text = (
        f"the load generator itself was late{alone}: {own_lag} at {lag.percentile} is {rounded(lag.lag_ms)} ms "
        f"of a response of {rounded(lag.response_ms)} ms{likewise}"
    )
    return Reason(ReasonKind.OWN_LAG, text, "give it more CPU, or offer a lower rate")


def _is_generators(evidence: Evidence) -> bool:
    """Whether own lag decided the figures, so that whatever was late need not have been the system."""
    lag = _own_lag(evidence)
    return lag is not None and lag.share >= OWN_LAG_INVALID_SHARE


def damage_reason(subscription: str, messages: int) -> Reason:
    """Says how many messages of a subscription arrived damaged."""
    return Reason(ReasonKind.DAMAGED, f"{plural(messages, 'message')} arrived damaged ({subscription})")


def _reasons_for_doubt(evidence: Evidence) -> list[Reason]:
    reasons = []
    lag = _own_lag(evidence)
    if lag and OWN_LAG_DOUBTFUL_SHARE <= lag.share < OWN_LAG_INVALID_SHARE:
        reasons.append(_own_lag_reason(lag))
    elif not lag or lag.share < OWN_LAG_DOUBTFUL_SHARE:
        small = _own_lag(evidence, OWN_LAG_SMALL_MS)
        if small and small.share >= OWN_LAG_INVALID_SHARE:
            reasons.append(_own_lag_reason(small))
    # After a fault what waited for it is worked off, as it is meant to be.
    debt = evidence.catching_up or _worked_off(evidence)
    if debt and not (evidence.closed_loop or evidence.faults or _is_generators(evidence)):
        text = (
            f"the system was still catching up with what was queued before the window: {debt}, "
            "so latencies are in part those of the start"
        )
        remedy = "allow it a longer warm-up, or offer a lower rate"
        reasons.append(Reason(ReasonKind.CATCHING_UP, text, remedy))
    if not evidence.workers_share_topics:
        reasons += _held_back_reasons(evidence)
    if evidence.drain_end == "limit":
        behind = max((sub.backlog for sub in evidence.subscriptions), default=0)
        text = f"consumers were still {behind:,} messages behind when the time to drain ended, so loss can't be judged"
        reasons.append(Reason(ReasonKind.DRAIN_CUT_OFF, text))
    reasons += [reason for sub in evidence.subscriptions for reason in _doubts_of_undelivered(evidence, sub)]
    without_outcome = evidence.failed + evidence.unresolved
    if (
        without_outcome
        and not evidence.faults
        and without_outcome >= NO_OUTCOME_SHARE * max(1, evidence.window_intended)
    ):
        consequence = "latencies are those of the others" if evidence.response.count else "so there are no latencies"
        reasons.append(Reason(ReasonKind.NO_OUTCOME, f"{_without_words(evidence)}; {consequence}"))
    return [*reasons, *(Reason(ReasonKind.LEVEL, doubt) for doubt in evidence.level_doubts)]


def _doubts_of_undelivered(evidence: Evidence, sub: SubscriptionResult) -> list[Reason]:
    """What a subscription did not receive, and nobody can call lost; with what its consumers met."""
    errors = sum(count for _, count in evidence.receive_errors)
    # Errors are of all consumers, whatever they subscribe to.
    consumers = "its consumers" if len(evidence.subscriptions) == 1 else "consumers of any subscription"
    caveat = f"; {consumers} met {plural(errors, 'error')}: {evidence.receive_errors[0][0]}" if errors else ""
    not_delivered = f"not delivered in time ({sub.name})"
    texts = []
    if sub.late:
        are = "is" if sub.late == 1 else "are"
        texts.append(f"{plural(sub.late, 'acknowledged message')} {not_delivered}, but {are} in the topic{caveat}")
    if sub.untraced:
        messages = plural(sub.untraced, "acknowledged message")
        they = "it is" if sub.untraced == 1 else "they are"
        texts.append(f"{messages} {not_delivered}, and whether {they} lost is not known: {sub.untraced_why}{caveat}")
    return [Reason(ReasonKind.NOT_DELIVERED, text) for text in texts]


def _warm_up_warnings(evidence: Evidence) -> list[Reason]:
    if not evidence.unsteady:
        return []
    if evidence.too_short:
        return [Reason(ReasonKind.WARM_UP_TOO_SHORT, evidence.too_short)]
    return [Reason(ReasonKind.WARM_UP_UNSTEADY, f"the warm-up never became steady: {evidence.unsteady}")]


def _load_warnings(evidence: Evidence) -> list[Reason]:
    """Says how the load went; after faults what they explain, instead of what a system does not keep up with itself."""
    if evidence.faults:
        faults_were = "a fault was" if evidence.faults == 1 else f"{evidence.faults} faults were"
        them = "it" if evidence.faults == 1 else "them"
        text = f"{faults_were} made while it was measured, and the figures of the whole window are those with {them}"
        return [Reason(ReasonKind.FAULTS_MADE, text), *_warm_up_warnings(evidence)]
    warnings = [*_shortfall_warnings(evidence), *_warm_up_warnings(evidence)]
    if evidence.backlog_grew:
        text = "consumers fell ever further behind, so end-to-end latency depends on the length of the trial"
        warnings.append(Reason(ReasonKind.BACKLOG_GREW, text))
    if evidence.drift:
        warnings.append(Reason(ReasonKind.UNSTEADY, f"not steady while measured: {evidence.drift}"))
    return warnings


def _shortfall_warnings(evidence: Evidence) -> list[Reason]:
    """Says that less came through than was offered, and who decided it; nothing if it did not."""
    offered, achieved = evidence.offered_msgs_per_s, evidence.achieved_msgs_per_s
    least = (1 - _rate_tolerance(evidence)) * (offered or 0.0)
    if evidence.closed_loop or not offered or achieved >= least:
        return []
    failed_msgs_per_s = offered * evidence.failed / max(1, evidence.window_intended)
    # What failed is owed to nobody, so it lengthens no queue.
    if _is_generators(evidence) or workers_held_back(evidence) or achieved + failed_msgs_per_s >= least:
        return [rate_not_reached(achieved, offered)]
    grows = "while that lasts its latency grows, so it depends on the length of the trial"
    reached = _reached_words(achieved, offered)
    return [Reason(ReasonKind.NOT_KEPT_UP, f"the system did not keep up: {reached}; {grows}")]


def rate_not_reached(achieved_msgs_per_s: float, offered_msgs_per_s: float) -> Reason:
    """Says that less came through than was offered, and nothing of whose fault that is."""
    reached = _reached_words(achieved_msgs_per_s, offered_msgs_per_s)
    return Reason(ReasonKind.RATE_NOT_REACHED, f"the offered rate was not reached: {reached}")


def _reached_words(achieved: float, offered: float) -> str:
    return f"{count(achieved)} of {count(offered)} msg/s ({achieved / offered:.0%})"


def _rate_tolerance(evidence: Evidence) -> float:
    """By what share the rate may differ from its schedule.

    With few messages it does by chance, or by the one on the window's edge.
    """
    return max(RATE_SHORTFALL, 3 / math.sqrt(max(1, evidence.window_intended)))


def _worked_off(evidence: Evidence) -> str:
    """Says that more was acknowledged in the window than was due in it: what the warm-up had left; "" if not."""
    offered, achieved = evidence.offered_msgs_per_s, evidence.achieved_msgs_per_s
    if not offered or achieved <= (1 + _rate_tolerance(evidence)) * offered:
        return ""
    return f"{count(achieved)} msg/s were acknowledged though {count(offered)} were due"


def _without_words(evidence: Evidence) -> str:
    counts = (
        (evidence.failed, "failed"),
        (evidence.never_sent, "were due and never sent"),
        (evidence.unresolved - evidence.never_sent, "never had an outcome"),
    )
    (first, how), *more = [(number, how) for number, how in counts if number]
    return join_with_and([f"{plural(first, 'message')} {how}", *(f"{number:,} {how}" for number, how in more)])


def _message_warnings(evidence: Evidence) -> list[Reason]:
    warnings = []
    without_outcome = evidence.failed + evidence.unresolved
    if without_outcome and (evidence.faults or without_outcome < NO_OUTCOME_SHARE * max(1, evidence.window_intended)):
        warnings.append(Reason(ReasonKind.NO_OUTCOME, _without_words(evidence)))
    for sub in evidence.subscriptions:
        counts = (
            (sub.duplicated, "arrived more than once"),
            (sub.reordered, "arrived out of order"),
            (sub.foreign, "did not belong to this trial"),
            (sub.negative_latency, "arrived before the intended time: the clock is in doubt"),
        )
        warnings += [
            Reason(ReasonKind.DELIVERY, f"{plural(count, 'message')} {text} ({sub.name})")
            for count, text in counts
            if count
        ]
    return warnings


def _machine_warnings(evidence: Evidence) -> list[Reason]:
    warnings = []
    lag = _own_lag(evidence)
    tail = _own_lag(evidence, percentiles=("p99.9",))
    late_tail = tail is not None and tail.share >= OWN_LAG_INVALID_SHARE
    if tail is not None and late_tail and (lag is None or lag.share < OWN_LAG_DOUBTFUL_SHARE):
        longest = evidence.own_lag.max_ms >= OWN_LAG_INVALID_SHARE * evidence.response.max_ms
        tail_figures = "p99.9 and the maximum are" if longest else "p99.9 is"
        late = _own_lag_reason(tail)
        text = f"{tail_figures} not the system's: {late.text}"
        warnings.append(replace(late, kind=ReasonKind.OWN_LAG_OF_TAIL, text=text))
    waited_for = _consumers_waited_for(evidence)
    if evidence.faults or not _were_busy_for_long(waited_for):
        texts = [
            f"{consumer.name}{'' if evidence.workers else ' of the load generator'} had no time left in "
            f"{consumer.busy_seconds} of {consumer.seconds} s, and {proof}: the longest end-to-end times may be its own"
            for consumer, proof in waited_for
        ]
        warnings += [Reason(ReasonKind.CONSUMER_BUSY_AT_TIMES, text) for text in texts]
    if evidence.closed_loop and evidence.blocked_share < BLOCKED_SHARE_MIN:
        text = (
            f"producers waited for the system {evidence.blocked_share:.0%} of the time only: this rate is what the "
            "generator and its client manage, and the system may do more"
        )
        warnings.append(Reason(ReasonKind.GENERATOR_FIRST, text))
    elif GENERATOR_SHARE_MAX < _generator_share(evidence) <= GENERATOR_SHARE_WRONG:
        warnings.append(_near_generator_warning(evidence))
    warnings += _far_away_warnings(evidence)
    if evidence.cpu_wait_share > CPU_WAIT_SHARE:
        waiting_worker = _worker_with_most(evidence, lambda worker: worker.cpu_wait_s)
        of_it = f" ({waiting_worker})" if waiting_worker else ""
        # A quota makes them wait beside free CPUs, so nothing is said of the host.
        waited = rounded(evidence.cpu_wait_share, 2)
        text = f"load threads waited for a CPU for {waited} s in each second, summed over them{of_it}"
        warnings.append(Reason(ReasonKind.CPU_WAIT, text, conclusion="they were short of CPU"))
    if evidence.gc_share > GC_SHARE:
        collecting_worker = _worker_with_most(evidence, lambda worker: worker.gc_pause_s) or "the worker"
        text = f"{collecting_worker} spent {evidence.gc_share:.0%} of the window in garbage collection"
        warnings.append(Reason(ReasonKind.GARBAGE_COLLECTION, text))
    if evidence.jit_cpus > JIT_CPUS:
        text = (
            "the load generator was still being compiled while measured: its JIT compiler took "
            f"{rounded(evidence.jit_cpus, 2)} of a CPU, which can slow it down; a longer warm-up leaves less of it"
        )
        warnings.append(Reason(ReasonKind.COMPILING, text))
    elif evidence.cold:
        warnings.append(Reason(ReasonKind.COLD, f"the load generator never became warm: {evidence.cold}"))
    return warnings


def _generator_share(evidence: Evidence) -> float:
    most = evidence.generators_msgs_per_s
    return evidence.achieved_msgs_per_s / most if most else 0.0


def _near_generator_warning(evidence: Evidence) -> Reason:
    share, most = _generator_share(evidence), evidence.generators_msgs_per_s
    conclusion = "the system may do more" if evidence.closed_loop else "delays may be the generator's"
    if share <= 1:
        rate_text = f"{share:.0%} of the {most:,.0f} msg/s that can be made and checked here"
    else:
        rate_text = f"more than the {most:,.0f} msg/s that were made and checked here without a system"
    text = f"the rate was near the load generator's own limit: {rate_text}, so {conclusion}"
    return Reason(ReasonKind.NEAR_GENERATOR, text)


def _worker_with_most(evidence: Evidence, spent_s: Callable[[WorkerResult], float]) -> str:
    """The worker that has most of something; "" where there is one only."""
    return _name_of_worker(evidence, max(evidence.workers, key=spent_s)) if evidence.workers else ""


def _name_of_worker(evidence: Evidence, worker: WorkerResult) -> str:
    where = f" on {evidence.worker_hosts[worker.worker - 1]}" if evidence.worker_hosts else ""
    return worker_name(worker.worker - 1, len(evidence.workers)) + where

"""What was sent by whom to whom, and how fast, in words."""

from __future__ import annotations

from collections.abc import Iterable

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.model.trial import CONFIRMATION, AttestSpec, LoadSpec, MeasuredResult, ReadResult, TrialResult, TrialSpec
from tidegauge.model.workload import Arrival, Keys, SubscriptionType, Workload
from tidegauge.numbers import capitalized, count, duration, join_first, percent, plural, trimmed
from tidegauge.report.sending import reported_words

_DIFFERING_MAX = 3
"""Of a part of the load that differs between trials, as many as are named on one screen."""


def compared_words(compared: ComparedTrials) -> str:
    """What was sent by whom to whom in these trials, and how."""
    return f"{workload_words(compared.results[0].spec.workload)} {reported_words(compared.results)}".rstrip()


def load_words(result: MeasuredResult) -> str:
    """The load of a trial: rate, arrival, length."""
    spec = result.spec
    if not isinstance(spec, LoadSpec):
        return f"consumers alone, as fast as it goes, {duration(result.measured_s)} from the first to the last message"
    if spec.schedule is not None:
        load = f"{spec.rate_rule}; {count(result.offered_msgs_per_s)} msg/s on average, open loop"
    elif result.offered_msgs_per_s is None:
        load = "as fast as it goes (closed loop)"
    else:
        rule = f" ({spec.rate_rule})" if spec.rate_rule.is_share else ""
        load = f"at {count(result.offered_msgs_per_s)} msg/s{rule}, open loop, {spec.workload.arrival.value} arrivals"
    if spec.late is not None:
        return f"{load}, a backlog of {spec.late.rule}"
    faults = f", with {plural(len(spec.faults), 'fault')}" if spec.faults else ""
    return f"{load}, {measured_words(spec)} measured{faults}"


def measured_words(spec: TrialSpec) -> str:
    """How long a window is planned, or how many messages it has."""
    if isinstance(spec, LoadSpec) and spec.messages:
        cut_short = spec.msgs_per_s is not None and 0 < spec.measure_s_max < spec.messages / spec.msgs_per_s
        return plural(spec.messages, "message") + (f" or {duration(spec.measure_s_max)}" if cut_short else "")
    return duration(spec.measure_s)


def workload_words(workload: Workload) -> str:
    """What is sent by whom to whom; `report.sending` says how."""
    several = len(workload.existing_topics) > 1
    if workload.existing_topics:
        topics = f"existing topic{'s' if several else ''} {', '.join(workload.existing_topics)}"
    else:
        topics = f"{plural(workload.topics, 'topic')} of {plural(workload.partitions, 'partition')}"
    kind = "" if workload.subscription_type is SubscriptionType.BY_PARTITION else f"{workload.subscription_type} "
    readers = f"{plural(workload.subscriptions, f'{kind}subscription')} of {plural(workload.consumers, 'consumer')}"
    if workload.consumer_msgs_per_s_max:
        readers = f"{readers}, each of {count(workload.consumer_msgs_per_s_max)} msg/s at most"
    if workload.processing is not None:
        readers = f"{readers}, who process each message for {workload.processing}"
    if not workload.producers:
        return f"{capitalized(topics)}, filled by others, {'each ' if several else ''}with {readers}."
    if not workload.subscriptions:
        readers = "nobody who reads"
    payload = f"{capitalized(str(workload.payload))}{_key_words(workload)}"
    shape = f"{payload}; {topics}, each topic with {plural(workload.producers, 'producer')} and {readers}"
    return f"{shape}."


def _key_words(workload: Workload) -> str:
    """How messages get their keys; "" where they have none."""
    if workload.keys is Keys.NONE:
        return ""
    drawn = "in turn" if workload.keys is Keys.ROUND_ROBIN else "at random"
    commonest = percent(workload.most_frequent_key_share())
    if workload.key_file is not None:
        keys = f"{plural(workload.key_file.lines, 'line')}, {plural(workload.distinct_keys, 'key')}"
        return f", with keys from the lines of a file in turn ({keys}; {commonest} have the commonest)"
    if workload.keys is Keys.ZIPF:
        drawn = f"by Zipf's law (exponent {trimmed(workload.zipf_exponent)}; {commonest} have the commonest)"
    return f", each with one of {plural(workload.distinct_keys, 'key')}, drawn {drawn}"


def brief_workloads(workloads: Iterable[Workload]) -> str:
    """What decides a rate at first sight, with what of it differs; the full report has the rest."""
    several = list(dict.fromkeys(_brief_parts(workload) for workload in sorted(workloads, key=_smallest_first)))
    if len({len(parts) for parts in several}) > 1:
        return "; or ".join(", ".join(parts) for parts in several)
    together = [join_first(list(dict.fromkeys(parts)), _DIFFERING_MAX, " or ") for parts in zip(*several, strict=True)]
    return ", ".join(together)


def _smallest_first(workload: Workload) -> tuple[int, ...]:
    clients = (workload.producers, workload.subscriptions, workload.consumers)
    return (workload.payload.message_bytes, workload.topics, workload.partitions, *clients)


def _brief_parts(workload: Workload) -> tuple[str, ...]:
    """What is sent, through which topics, by whom to whom, and how much in flight."""
    if workload.existing_topics:
        return (f"topics that exist: {', '.join(workload.existing_topics)}",)
    several = f"{plural(workload.subscriptions, 'subscription')} x " if workload.subscriptions != 1 else ""
    readers = f"{several}{plural(workload.consumers, 'consumer')}" if workload.subscriptions else "nobody who reads"
    processing = () if workload.processing is None else (f"{workload.processing} of processing",)
    most = workload.consumer_msgs_per_s_max
    limit = (f"{count(most)} msg/s for a consumer at most",) if most else ()
    each = "each with " if workload.topics > 1 else ""
    return (
        str(workload.payload),
        f"{plural(workload.topics, 'topic')} x {plural(workload.partitions, 'partition')}",
        f"{each}{plural(workload.producers, 'producer')} and {readers}",
        *processing,
        *limit,
        f"{workload.in_flight_messages():,} in flight at most",
    )


def planned_load(trial: TrialSpec) -> str:
    """The load of a planned trial; a rate that depends on an earlier trial as the campaign words it."""
    if trial.workload.arrival is Arrival.CLOSED_LOOP:
        return "closed loop"
    if isinstance(trial, LoadSpec) and trial.schedule is not None:
        lowest, highest = trial.schedule.least_msgs_per_s, trial.schedule.most_msgs_per_s
        return f"{count(lowest)} to {count(highest)} msg/s" if lowest < highest else f"{count(highest)} msg/s"
    rate = trial.msgs_per_s if isinstance(trial, LoadSpec | AttestSpec) else None
    rule = trial.rate_rule
    if rate is None:
        return rule.words or "set by an earlier trial"
    return f"{count(rate)} msg/s ({rule})" if rule == CONFIRMATION else f"{count(rate)} msg/s"


def brief_load(result: TrialResult) -> str:
    """The load of a trial where a word must do: its rate, or how it went without one."""
    if isinstance(result, ReadResult):
        return "reading alone"
    offered = result.offered_msgs_per_s if isinstance(result, MeasuredResult) else result.spec.most_msgs_per_s
    return "closed loop" if offered is None else f"{count(offered)} msg/s"

"""Figures of several workers as those of one, and what each of them showed by itself. Pure.

All instants are on one timeline, the controller's. Counts are added up, histograms merged bin by bin. What belongs to
one process (own lag of a second, pauses of its collector, its JIT compiler, its wait for a CPU) is that of the worker
which has most of it: workers pause apart, and one that is late makes the trial's figures late however calm the others
are. CPU time and memory are added up. `_rules_of_fields` says it field by field.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from operator import itemgetter
from statistics import median_low
from typing import Any, TypeVar, get_type_hints

from tidegauge.model.load import (
    RecordFigures,
    SecondFigures,
    SubscriptionSecond,
    SubscriptionTotals,
    TotalFigures,
    WindowFigures,
    WorkerSecond,
    WorkerTotals,
    worker_name,
)
from tidegauge.model.trial import WorkerResult
from tidegauge.plain import grouped
from tidegauge.statistics.histograms import merged_encodings, summarise_histogram
from tidegauge.worker.sequences import EXAMPLES_MAX, FiguresError, Received, SequenceCounts

_SECOND_NS = 1_000_000_000


class SecondMerger:
    """Makes one series of seconds of those of several workers, as they come.

    A worker's seconds end on whole seconds from the common start, unless it was short of CPU: then one is longer, and
    the edges within it are missing. So a merged second ends where every worker has an edge, and holds what each had
    since the one before; of a worker that was stopped for 3 s it is that long. No figure is in two of them, or in none.
    """

    def __init__(self, workers: int) -> None:
        self._waiting: list[deque[tuple[int, SecondFigures]]] = [deque() for _ in range(workers)]
        self._ended = [False] * workers
        self._missing = workers
        """Of whom nothing waits, and who have not ended: known at each of thousands of additions a second."""
        self._begin_ns: int | None = None
        self._edges = [0] * workers
        self._sent = [0] * workers
        self._acked = 0
        self._unique: dict[str, int] = {}
        self._count = 0
        self._until_ns: int | None = None

    def add(self, worker: int, figures: SecondFigures) -> list[SecondFigures]:
        """A worker's next second; returns the merged ones that are complete now."""
        if self._begin_ns is None:
            self._begin_ns = figures.from_mono_ns
        edge = round((figures.until_mono_ns - self._begin_ns) / _SECOND_NS)
        # The last one is a part of a second.
        self._edges[worker] = max(self._edges[worker] + 1, edge)
        self._missing -= not self._waiting[worker]
        self._waiting[worker].append((self._edges[worker], figures))
        self._sent[worker] += figures.sent
        return self._complete_seconds()

    def end(self, worker: int) -> list[SecondFigures]:
        """A worker has no more."""
        self._ended[worker] = True
        self._missing -= not self._waiting[worker]
        return self._complete_seconds()

    def check_sent(self, totals: Sequence[TotalFigures]) -> None:
        """Raise `FiguresError` if a worker's seconds, of which all have been added, are not what it sent altogether."""
        for worker, (totals_of_worker, sent) in enumerate(zip(totals, self._sent, strict=True)):
            if totals_of_worker.sent != sent:
                name = worker_name(worker, len(totals))
                raise FiguresError(
                    f"{name}: its seconds have {sent:,} messages sent, its totals {totals_of_worker.sent:,}"
                )

    def _complete_seconds(self) -> list[SecondFigures]:
        merged_seconds = []
        while (edge := self._common_edge()) is not None:
            parts = []
            for worker, waiting in enumerate(self._waiting):
                taken = []
                while waiting and waiting[0][0] <= edge:
                    taken.append(waiting.popleft()[1])
                if taken:
                    parts.append((worker, taken))
                    self._missing += not waiting and not self._ended[worker]
            merged_seconds.append(self._merge_second(parts))
        return merged_seconds

    def _common_edge(self) -> int | None:
        """The next edge that all workers have which have not ended; None if it is not known yet."""
        if self._missing or not any(self._waiting):
            return None
        edge = max(waiting[0][0] for waiting in self._waiting if waiting)
        while True:
            later = edge
            for waiting, ended in zip(self._waiting, self._ended, strict=True):
                next_edge = next((each for each, _ in waiting if each >= edge), None)
                if next_edge is None and not ended:
                    return None
                later = max(later, next_edge or 0)
            if later == edge:
                return edge
            edge = later

    def _merge_second(self, parts: Sequence[tuple[int, Sequence[SecondFigures]]]) -> SecondFigures:
        """One second of what each worker had since the last."""
        count = len(self._waiting)
        every = [_seconds_in_a_row(seconds) for _, seconds in parts]
        workers = [_worker_second(worker, count, figures) for (worker, _), figures in zip(parts, every, strict=True)]
        busiest = max(workers, key=lambda worker: worker.busiest_consumer_busy_ns)
        from_ns = min(figures.from_mono_ns for figures in every) if self._until_ns is None else self._until_ns
        self._until_ns = max(from_ns + 1, median_low(figures.until_mono_ns for figures in every))
        self._acked += sum(figures.acked for figures in every)
        by_name = grouped((sub.name, sub) for figures in every for sub in figures.subscriptions)
        second = _combine_parts(
            _SECOND_OF_ALL,
            every,
            second=self._count,
            from_mono_ns=from_ns,
            until_mono_ns=self._until_ns,
            subscriptions=tuple(
                self._merge_one_subscription(name, by_name[name]) for name in sorted(by_name, key=_rank_of_subscription)
            ),
            busiest_consumer=busiest.busiest_consumer,
            busiest_consumer_busy_ns=busiest.busiest_consumer_busy_ns,
            workers=tuple(workers),
        )
        self._count += 1
        return second

    def _merge_one_subscription(self, name: str, seconds: Sequence[SubscriptionSecond]) -> SubscriptionSecond:
        """Its backlog: what was acknowledged to any producer so far, less what any worker received for the first time.

        By counts, so it is a little too small while messages arrive that failed, or that another worker had received.
        """
        unique = sum(sub.unique for sub in seconds)
        self._unique[name] = self._unique.get(name, 0) + unique
        backlog = max(0, self._acked - self._unique[name])
        return _combine_parts(_SUBSCRIPTION_SECOND, seconds, name=name, backlog=backlog, unique=unique)


def _rank_of_subscription(name: str) -> tuple[int, str]:
    """The sort key that puts "sub-10" behind "sub-9"."""
    return len(name), name


def _seconds_in_a_row(seconds: Sequence[SecondFigures]) -> SecondFigures:
    """Seconds of one worker as one that is as long as all; a subscription is in it as often as it was in them."""
    if len(seconds) == 1:
        return seconds[0]
    lengths = [max(1, figures.until_mono_ns - figures.from_mono_ns) for figures in seconds]
    msgs = sum(figures.scheduled_msgs_per_s * length for figures, length in zip(seconds, lengths, strict=True))
    # Of each second one consumer is known. Where those of a subscription take turns, each second had one without time.
    busy_of_subscriptions: dict[str, Counter[str]] = {}
    for figures in seconds:
        busy_of_consumers = busy_of_subscriptions.setdefault(figures.busiest_consumer.partition(" ")[0], Counter())
        busy_of_consumers[figures.busiest_consumer] += figures.busiest_consumer_busy_ns
    most = max(busy_of_subscriptions.values(), key=Counter.total)
    consumer, busy_ns = most.most_common(1)[0][0], most.total()
    return _combine_parts(
        _SECONDS_OF_ONE,
        seconds,
        scheduled_msgs_per_s=msgs / sum(lengths),
        busiest_consumer=consumer,
        busiest_consumer_busy_ns=busy_ns,
    )


_OF_EACH = {field.name for field in fields(WorkerSecond)} & {field.name for field in fields(SecondFigures)}


def _worker_second(worker: int, workers: int, figures: SecondFigures) -> WorkerSecond:
    values = {name: getattr(figures, name) for name in _OF_EACH}
    if figures.busiest_consumer:
        values["busiest_consumer"] += f" ({worker_name(worker, workers)})"
    return WorkerSecond(worker=worker + 1, received=sum(sub.received for sub in figures.subscriptions), **values)


def merged_totals(workers: Sequence[WorkerTotals], counts: SequenceCounts | None = None) -> TotalFigures:
    """The totals of all together.

    Without `counts` of sequences a subscription's `backlog`, and so `lost`, is a difference of counts, and `unique`
    a sum: enough to see how a drain goes on.
    """
    parts = [worker.totals for worker in workers]
    acked = sum(part.acked for part in parts)
    by_name = grouped((sub.name, sub) for part in parts for sub in part.subscriptions)
    counted = counts.subscriptions if counts else {}
    subscriptions = tuple(
        _totals_of_subscription(by_name[name], acked, counted.get(name))
        for name in sorted(by_name, key=_rank_of_subscription)
    )
    counts_by_error = grouped(((where, message), count) for part in parts for where, message, count in part.errors)
    return _combine_parts(
        _TOTALS,
        parts,
        subscriptions=subscriptions,
        errors=tuple((where, message, sum(counts)) for (where, message), counts in counts_by_error.items()),
        workers=tuple(workers),
    )


def _common_window(windows: Sequence[WindowFigures]) -> WindowFigures:
    first = windows[0]
    for worker, window in enumerate(windows):
        if (window.from_mono_ns, window.until_mono_ns) != (first.from_mono_ns, first.until_mono_ns):
            raise FiguresError(f"the measured window of {worker_name(worker, len(windows))} is not that of the first")
    return _combine_parts(_WINDOW, windows)


def _combined_records(of_workers: Sequence[Sequence[RecordFigures]]) -> tuple[RecordFigures, ...]:
    return tuple(_combine_parts(_RECORD, records) for records in zip(*of_workers, strict=True))


def _totals_of_subscription(
    totals: Sequence[SubscriptionTotals], acked: int, counted: Received | None
) -> SubscriptionTotals:
    together = _combine_parts(_SUBSCRIPTION, totals)
    unique = counted.unique if counted else together.unique
    missing = counted.missing if counted else acked - unique
    # A message with a damaged header arrived, but nobody can say which one it was.
    lost = max(0, missing - together.corrupt_unattributed)
    return replace(
        together,
        unique=unique,
        backlog=lost,
        lost=lost,
        duplicated=together.duplicated + (counted.repeated if counted else 0),
        lost_examples=counted.examples[:lost] if counted else (),
        duplicated_examples=_first_examples(
            [together.duplicated_examples, counted.repeated_examples if counted else ()]
        ),
    )


Rule = Callable[[Any], Any]
T = TypeVar("T")


def _rules_of_fields(kind: type, **others: Rule) -> Mapping[str, Rule]:
    """How each field of several becomes one: counts are summed, histograms merged, `others` as they say."""
    by_type: Mapping[object, Rule] = {int: sum, float: sum, bytes: merged_encodings}
    rules = {name: others.get(name, by_type.get(hint)) for name, hint in get_type_hints(kind).items()}
    return {name: rule for name, rule in rules.items() if rule is not None}


def _combine_parts(rules: Mapping[str, Rule], parts: Sequence[T], **given: Any) -> T:
    """Combine several into one: each field by its rule, but for those that are given."""
    values = {name: rule([getattr(part, name) for part in parts]) for name, rule in rules.items() if name not in given}
    return type(parts[0])(**values, **given)


_first, _last = itemgetter(0), itemgetter(-1)


def _first_examples(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(chain.from_iterable(lists))[:EXAMPLES_MAX]


_SECONDS_OF_ONE = _rules_of_fields(
    SecondFigures,
    second=_first,
    from_mono_ns=_first,
    until_mono_ns=_last,
    in_flight=_last,
    own_lag_ns_max=max,
    heap_used_bytes=_last,
    subscriptions=lambda found: tuple(chain.from_iterable(found)),
)
_SECOND_OF_ALL = _rules_of_fields(SecondFigures, own_lag_ns_max=max, gc_pause_ns=max, jit_ns=max)
_SUBSCRIPTION_SECOND = _rules_of_fields(SubscriptionSecond)
_RECORD = _rules_of_fields(RecordFigures)
_WINDOW = _rules_of_fields(
    WindowFigures,
    from_mono_ns=_first,
    until_mono_ns=_first,
    gc_pause_ns=max,
    cpu_wait_ns=max,
    records=_combined_records,
    last_outcome_mono_ns=max,
)
_SUBSCRIPTION = _rules_of_fields(
    SubscriptionTotals,
    name=_first,
    lost_examples=_first,
    record_end_to_end=lambda found: tuple(map(merged_encodings, zip(*found, strict=True))),
    first_received_mono_ns=lambda instants: min(filter(None, instants), default=0),
    last_received_mono_ns=max,
    duplicated_examples=_first_examples,
    reordered_examples=_first_examples,
    corrupt_examples=_first_examples,
    # Whose they are is only known of one worker's (`worker.across`).
    apart=lambda _found: (),
)
_TOTALS = _rules_of_fields(TotalFigures, window=_common_window, gc_pause_ns=max, clocks=lambda _found: ())


def check_counts(before: Sequence[TotalFigures], counts: SequenceCounts, after: Sequence[TotalFigures]) -> None:
    """Raise `FiguresError` if a worker's sets are not what it counted, naming the worker and the figure.

    Totals were asked for before and after the sets, and counts only grow: the sets lie between them, and are equal to
    them when all is quiet.
    """
    for worker, (first, last) in enumerate(zip(before, after, strict=True)):
        name = worker_name(worker, len(before))
        for totals in (first, last):
            outcomes = totals.acked + totals.failed + totals.unresolved
            if outcomes != totals.sent:
                raise FiguresError(f"{name}: {totals.sent:,} messages sent, but {outcomes:,} outcomes")
        _check_between(f"{name}: messages sent", first.sent, counts.sent[worker], last.sent)
        if first.sent == last.sent:
            least, most = last.sent - last.acked, first.sent - first.acked
            _check_between(f"{name}: messages not acknowledged", least, counts.unknown[worker], most)
        uniques = {sub.name: sub.unique for sub in first.subscriptions}
        for sub in last.subscriptions:
            received = counts.received[worker].get(sub.name, 0)
            _check_between(f"{name}: messages that {sub.name} received", uniques.get(sub.name, 0), received, sub.unique)


def _check_between(figure: str, least: int, count: int, most: int) -> None:
    if not least <= count <= most:
        counted = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        raise FiguresError(f"{figure}: {counted} by its counts, {count:,} by its sets of sequences")


def worker_results(totals: TotalFigures, measured_s: float, *, scheduled: bool) -> tuple[WorkerResult, ...]:
    """The result of each worker; () of a trial that one carried out. `scheduled`: whether a rate is offered."""
    workers = totals.workers
    started_ms = _after_the_first_ms([worker.started_mono_ns for worker in workers])
    stopped_ms = _after_the_first_ms([worker.stopped_mono_ns for worker in workers])
    return tuple(
        WorkerResult(
            worker=number + 1,
            process=worker.name,
            offered_msgs_per_s=window.intended / measured_s if scheduled else None,
            msgs_per_s=window.acked_within / measured_s,
            received_msgs_per_s=sum(sub.window_received for sub in worker.totals.subscriptions) / measured_s,
            response=summarise_histogram(window.response),
            own_lag=summarise_histogram(window.own_lag),
            cpu_s=window.worker_cpu_ns / 1e9,
            cpu_wait_s=window.cpu_wait_ns / 1e9,
            gc_pause_s=window.gc_pause_ns / 1e9,
            started_ms=started_ms[number],
            stopped_ms=stopped_ms[number],
        )
        for number, (worker, window) in enumerate((worker, worker.totals.window) for worker in workers)
    )


def _after_the_first_ms(instants_ns: Sequence[int]) -> list[float | None]:
    """0 is an instant that is not known."""
    first_ns = min(filter(None, instants_ns), default=0)
    return [(instant_ns - first_ns) / 1e6 if instant_ns else None for instant_ns in instants_ns]

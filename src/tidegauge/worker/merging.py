"""Figures of several workers as those of one. Pure.

All instants are on one timeline, the controller's. Counts are added up, histograms merged bin by bin. What belongs to
one process (own lag of a second, pauses of its collector, its JIT compiler, its wait for a CPU) is that of the worker
which has most of it: workers pause apart, and one that is late makes the trial's figures late however calm the others
are. CPU time and memory are added up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from statistics import median_low

from tidegauge.model.load import (
    RecordFigures,
    SecondFigures,
    SubscriptionSecond,
    SubscriptionTotals,
    TotalFigures,
    WindowFigures,
    WorkerTotals,
)
from tidegauge.statistics.histograms import merged
from tidegauge.worker.sequences import FiguresError, Received, SequenceCounts, worker_name

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
        self._waiting[worker].append((self._edges[worker], figures))
        self._sent[worker] += figures.sent
        return self._complete()

    def end(self, worker: int) -> list[SecondFigures]:
        """A worker has no more."""
        self._ended[worker] = True
        return self._complete()

    def check_sent(self, totals: Sequence[TotalFigures]) -> None:
        """Raise `FiguresError` if a worker's seconds, of which all have been added, are not what it sent altogether."""
        for worker, (own, sent) in enumerate(zip(totals, self._sent, strict=True)):
            if own.sent != sent:
                name = worker_name(worker, len(totals))
                raise FiguresError(f"{name}: its seconds have {sent:,} messages sent, its totals {own.sent:,}")

    def _complete(self) -> list[SecondFigures]:
        found = []
        while (edge := self._common_edge()) is not None:
            own = []
            for worker, waiting in enumerate(self._waiting):
                taken = []
                while waiting and waiting[0][0] <= edge:
                    taken.append(waiting.popleft()[1])
                if taken:
                    own.append((worker, taken))
            found.append(self._merge(own))
        return found

    def _common_edge(self) -> int | None:
        """The next edge that all workers have which have not ended; None if it is not known yet."""
        if not any(self._waiting) or any(not waiting and not ended for waiting, ended in self._each()):
            return None
        edge = max(waiting[0][0] for waiting in self._waiting if waiting)
        while True:
            later = edge
            for waiting, ended in self._each():
                own = next((each for each, _ in waiting if each >= edge), None)
                if own is None and not ended:
                    return None
                later = max(later, own or 0)
            if later == edge:
                return edge
            edge = later

    def _each(self) -> Iterable[tuple[deque[tuple[int, SecondFigures]], bool]]:
        return zip(self._waiting, self._ended, strict=True)

    def _merge(self, own: Sequence[tuple[int, Sequence[SecondFigures]]]) -> SecondFigures:
        """One second of what each worker had since the last."""
        every = [figures for _, seconds in own for figures in seconds]
        last = [seconds[-1] for _, seconds in own]
        busiest_worker, busiest = max(
            ((worker, figures) for worker, seconds in own for figures in seconds),
            key=lambda item: item[1].busiest_consumer_busy_ns,
        )
        from_ns = min(figures.from_mono_ns for figures in every) if self._until_ns is None else self._until_ns
        self._until_ns = max(from_ns + 1, median_low(figures.until_mono_ns for figures in last))
        self._acked += sum(figures.acked for figures in every)
        second = SecondFigures(
            second=self._count,
            from_mono_ns=from_ns,
            until_mono_ns=self._until_ns,
            scheduled_msgs_per_s=sum(_scheduled(seconds) for _, seconds in own),
            sent=sum(figures.sent for figures in every),
            acked=sum(figures.acked for figures in every),
            failed=sum(figures.failed for figures in every),
            acked_bytes=sum(figures.acked_bytes for figures in every),
            in_flight=sum(figures.in_flight for figures in last),
            blocked_ns=sum(figures.blocked_ns for figures in every),
            own_lag_ns_max=max(figures.own_lag_ns_max for figures in every),
            response=merged([figures.response for figures in every]),
            service=merged([figures.service for figures in every]),
            delay=merged([figures.delay for figures in every]),
            subscriptions=self._subscriptions(every),
            worker_cpu_ns=sum(figures.worker_cpu_ns for figures in every),
            gc_pause_ns=max(sum(figures.gc_pause_ns for figures in seconds) for _, seconds in own),
            heap_used_bytes=sum(figures.heap_used_bytes for figures in last),
            busiest_consumer=_consumer(busiest, busiest_worker),
            busiest_consumer_busy_ns=busiest.busiest_consumer_busy_ns,
            jit_ns=max(sum(figures.jit_ns for figures in seconds) for _, seconds in own),
        )
        self._count += 1
        return second

    def _subscriptions(self, every: Sequence[SecondFigures]) -> tuple[SubscriptionSecond, ...]:
        by_name: dict[str, list[SubscriptionSecond]] = {}
        for figures in every:
            for sub in figures.subscriptions:
                by_name.setdefault(sub.name, []).append(sub)
        return tuple(self._subscription(name, by_name[name]) for name in sorted(by_name, key=_number))

    def _subscription(self, name: str, own: Sequence[SubscriptionSecond]) -> SubscriptionSecond:
        """Its backlog: what was acknowledged to any producer so far, less what any worker received for the first time.

        By counts, so it is a little too small while messages arrive that failed, or that another worker had received.
        """
        unique = sum(sub.unique for sub in own)
        self._unique[name] = self._unique.get(name, 0) + unique
        return SubscriptionSecond(
            name=name,
            received=sum(sub.received for sub in own),
            received_bytes=sum(sub.received_bytes for sub in own),
            backlog=max(0, self._acked - self._unique[name]),
            duplicated=sum(sub.duplicated for sub in own),
            reordered=sum(sub.reordered for sub in own),
            corrupt=sum(sub.corrupt for sub in own),
            end_to_end=merged([sub.end_to_end for sub in own]),
            unique=unique,
        )


def _number(name: str) -> tuple[int, str]:
    """Puts "sub-10" behind "sub-9"."""
    return len(name), name


def _scheduled(seconds: Sequence[SecondFigures]) -> float:
    """A worker's rate over some of its seconds, by their lengths."""
    if len(seconds) == 1:
        return seconds[0].scheduled_msgs_per_s
    lengths = [max(1, figures.until_mono_ns - figures.from_mono_ns) for figures in seconds]
    msgs = sum(figures.scheduled_msgs_per_s * length for figures, length in zip(seconds, lengths, strict=True))
    return msgs / sum(lengths)


def _consumer(figures: SecondFigures, worker: int) -> str:
    return f"{figures.busiest_consumer}, worker {worker + 1}" if figures.busiest_consumer else ""


def merged_totals(workers: Sequence[WorkerTotals], counts: SequenceCounts | None = None) -> TotalFigures:
    """The totals of all together.

    Without `counts` of sequences a subscription's `backlog`, and so `lost`, is a difference of counts, and `unique`
    a sum: enough to see how a drain goes on.
    """
    parts = [worker.totals for worker in workers]
    acked = sum(part.acked for part in parts)
    names = {sub.name for part in parts for sub in part.subscriptions}
    return TotalFigures(
        sent=sum(part.sent for part in parts),
        acked=acked,
        failed=sum(part.failed for part in parts),
        unresolved=sum(part.unresolved for part in parts),
        window=_window([part.window for part in parts]),
        subscriptions=tuple(
            _totals_of_subscription(
                [sub for part in parts for sub in part.subscriptions if sub.name == name],
                acked,
                counts.subscriptions.get(name) if counts else None,
            )
            for name in sorted(names, key=_number)
        ),
        errors=_errors(parts),
        worker_cpu_ns=sum(part.worker_cpu_ns for part in parts),
        gc_pause_ns=max(part.gc_pause_ns for part in parts),
        resident_bytes=sum(part.resident_bytes for part in parts),
        workers=tuple(workers),
    )


def _window(windows: Sequence[WindowFigures]) -> WindowFigures:
    first = windows[0]
    for worker, window in enumerate(windows):
        if (window.from_mono_ns, window.until_mono_ns) != (first.from_mono_ns, first.until_mono_ns):
            raise FiguresError(f"the measured window of {worker_name(worker, len(windows))} is not that of the first")
    return WindowFigures(
        from_mono_ns=first.from_mono_ns,
        until_mono_ns=first.until_mono_ns,
        intended=sum(window.intended for window in windows),
        acked=sum(window.acked for window in windows),
        failed=sum(window.failed for window in windows),
        acked_bytes=sum(window.acked_bytes for window in windows),
        acked_within=sum(window.acked_within for window in windows),
        response=merged([window.response for window in windows]),
        service=merged([window.service for window in windows]),
        delay=merged([window.delay for window in windows]),
        own_lag=merged([window.own_lag for window in windows]),
        own_lag_over_tolerance=sum(window.own_lag_over_tolerance for window in windows),
        blocked_ns=sum(window.blocked_ns for window in windows),
        worker_cpu_ns=sum(window.worker_cpu_ns for window in windows),
        gc_pause_ns=max(window.gc_pause_ns for window in windows),
        cpu_wait_ns=max(window.cpu_wait_ns for window in windows),
        records=tuple(map(_record, zip(*(window.records for window in windows), strict=True))),
    )


def _record(records: Sequence[RecordFigures]) -> RecordFigures:
    return RecordFigures(
        intended=sum(record.intended for record in records),
        acked=sum(record.acked for record in records),
        failed=sum(record.failed for record in records),
        acked_within=sum(record.acked_within for record in records),
        response=merged([record.response for record in records]),
        service=merged([record.service for record in records]),
        delay=merged([record.delay for record in records]),
    )


def _totals_of_subscription(
    own: Sequence[SubscriptionTotals], acked: int, counted: Received | None
) -> SubscriptionTotals:
    unattributed = sum(sub.corrupt_unattributed for sub in own)
    unique = counted.unique if counted else sum(sub.unique for sub in own)
    missing = counted.missing if counted else acked - unique
    # A message with a damaged header arrived, but nobody can say which one it was.
    lost = max(0, missing - unattributed)
    return SubscriptionTotals(
        name=own[0].name,
        received=sum(sub.received for sub in own),
        unique=unique,
        backlog=lost,
        lost=lost,
        duplicated=sum(sub.duplicated for sub in own) + (counted.repeated if counted else 0),
        reordered=sum(sub.reordered for sub in own),
        corrupt=sum(sub.corrupt for sub in own),
        corrupt_unattributed=unattributed,
        foreign=sum(sub.foreign for sub in own),
        negative_latency=sum(sub.negative_latency for sub in own),
        end_to_end=merged([sub.end_to_end for sub in own]),
        window_received=sum(sub.window_received for sub in own),
        lost_examples=counted.examples[:lost] if counted else (),
        record_end_to_end=tuple(map(merged, zip(*(sub.record_end_to_end for sub in own), strict=True))),
        first_received_mono_ns=min(
            (sub.first_received_mono_ns for sub in own if sub.first_received_mono_ns), default=0
        ),
        last_received_mono_ns=max(sub.last_received_mono_ns for sub in own),
        verified=sum(sub.verified for sub in own),
        received_bytes=sum(sub.received_bytes for sub in own),
    )


def _errors(parts: Sequence[TotalFigures]) -> tuple[tuple[str, str, int], ...]:
    found: dict[tuple[str, str], int] = {}
    for part in parts:
        for where, message, count in part.errors:
            found[where, message] = found.get((where, message), 0) + count
    return tuple((where, message, count) for (where, message), count in found.items())


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


def _check_between(what: str, least: int, found: int, most: int) -> None:
    if not least <= found <= most:
        counted = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        raise FiguresError(f"{what}: {counted} by its counts, {found:,} by its sets of sequences")

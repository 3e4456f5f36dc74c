"""Several workers that carry out each trial together, seen as one `LoadWorker`.

Each gets the whole order and its share (`worker.proto`). All are asked at once, in threads; each wait has a deadline:
whoever misses it, or is gone, is named, and the trial is over. Work is never dealt out anew.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tidegauge.errors import GeneratorFailedError, RunFailedError
from tidegauge.model.load import SecondFigures, TotalFigures, WorkerFacts, WorkerTotals
from tidegauge.model.server import Setting
from tidegauge.model.workload import Workload, share_sizes
from tidegauge.statistics.clocks import Offset
from tidegauge.worker.across import across_clocks
from tidegauge.worker.api import (
    LeftResults,
    LoadOrder,
    LoadWorker,
    NoAnswerError,
    OnProgress,
    Share,
    WorkerLostError,
    ignore_progress,
    no_answer_error,
)
from tidegauge.worker.merging import SecondMerger, check_counts, merged_totals
from tidegauge.worker.sequences import Missing, SequencesPart, count_sequences, missing_sequences

ANSWER_S_MAX = 12.0
"""Each member has a deadline of its own for what takes no time, 10 s; this is for what even that does not end."""
SILENCE_S_MAX = 10.0
"""How long a worker may give no second."""
_LEAD_S = 1.0
"""Calls reach all workers of a host within milliseconds; a machine with too few CPUs for them took half a second."""
_LEAD_S_EACH = 0.02
_START_LATE_NS_MAX = 100_000_000
_PREPARE_S_MAX = 3700.0
"""A member gives up by itself, when it comes no further."""
_FINISH_S_MAX = 190.0
_PHASES = ("topics", "partitions", "consumers", "producers")
_LOOK_S = 0.25
_STALL_S = 1.0
"""If this process stood still for longer, what came meanwhile is not read yet: nobody was silent for all of it."""
_AHEAD = 4
"""Parts of a stream that are read before they are wanted."""

T = TypeVar("T")
Put = Callable[[T | BaseException | None], bool]


class MemberClocks(Protocol):
    """The clocks of a group whose members are on several hosts. Calls raise `RunFailedError`, which names a bad clock.

    Members are given by their numbers, from 0.
    """

    def ahead_ns(self) -> Sequence[int]:
        """By how much each member's clock is ahead of the controller's now, as far as that is known."""

    def have_same_clock(self, one: int, other: int) -> bool:
        """Whether two members have the same clock."""

    def offsets_between(self, from_ns: int, until_ns: int) -> Mapping[tuple[int, int], Offset]:
        """The second's clock minus the first's, of each two that differ, in all of a span of the controller's."""


class GroupMember(LoadWorker, Protocol):
    """What a group needs of each worker. All instants are of the controller's clock."""

    clock_ahead_ns: int
    """By how much its own is ahead of that, as its group says for each trial."""
    subject: str
    """ "Load generator 2 of 3 on HOST": what messages call it, at the beginning of a sentence."""
    log_path: Path

    def create_topics(self, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> None:
        """Create the topics of the order's share; of those of others, say where subscriptions begin."""

    def start_at(self, at_mono_ns: int) -> int:
        """Begin the schedule at an instant; returns when it really begins: later, if the instant had passed."""

    def stop(self, grace_s: float) -> tuple[int, int]:
        """Do as `stop_producers` does; returns also after which instant no message was intended."""

    def ended(self, call: str) -> NoAnswerError | None:
        """How its process ended, as seen during `call`; None while it runs."""

    def follow(self, put: Put[SecondFigures]) -> None:
        """Hand over the seconds of `watch` as they come, not in the calling thread; last comes None, or an error.

        `put` returns False when nobody wants more.
        """

    def sequences(self) -> Iterator[SequencesPart]:
        """What its producers sent and its consumers received, in the order of subscriptions and producers."""


def lead_s(workers: int) -> float:
    """How long it takes until so many workers have heard of something that is to begin for all at once."""
    return _LEAD_S + _LEAD_S_EACH * workers


def _of_first(call: str) -> Any:
    """A call of the first member, passed on as it is."""
    return property(lambda group: getattr(group._first, call))


class WorkerGroup:
    """See `LoadWorker`. What concerns the system and not the load is asked of the first member; `facts` are its own.

    Whoever has ended or did not answer is remembered and not asked again when a trial is cleaned up: the others do it.
    """

    def __init__(self, members: Sequence[GroupMember], clocks: MemberClocks | None = None) -> None:
        """`clocks`: theirs, if they are on other hosts than this one."""
        self._members = tuple(members)
        self._clocks = clocks
        self._first = members[0]
        self.facts: WorkerFacts = members[0].facts
        self.processes = tuple(name for member in members for name in member.processes)
        self.pids = tuple(pid for member in members for pid in member.pids)
        self._gone: dict[int, NoAnswerError] = {}
        self._workload: Workload | None = None
        self._begin_ns = 0
        self._window_from_ns = 0
        self._started = self._stopped = [0] * len(members)
        self._final: Sequence[TotalFigures] | None = None

    @staticmethod
    def of_left(members: Sequence[GroupMember], workload: Workload, started: Sequence[int]) -> WorkerGroup:
        """What can be asked once a trial is over, of members that know what was left of it and when each started."""
        group = WorkerGroup(members)
        group._workload, group._started = workload, list(started)
        return group

    # Of the system

    probe = _of_first("probe")
    witness = _of_first("witness")
    describe = _of_first("describe")
    read_back = _of_first("read_back")
    trace = _of_first("trace")
    committed_positions = _of_first("committed_positions")

    def delete_topics(self, driver: str, connection: Mapping[str, str], topics: list[str]) -> None:
        """See `LoadWorker.delete_topics`."""
        self._living_members("DeleteTopics")[0][1].delete_topics(driver, connection, topics)

    def remove_subscriptions(
        self, driver: str, connection: Mapping[str, str], topics: list[str], trial_id: int
    ) -> None:
        """See `LoadWorker.remove_subscriptions`."""
        self._living_members("DeleteTopics")[0][1].remove_subscriptions(driver, connection, topics, trial_id)

    # Of the load

    def prepare(self, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> list[Setting]:
        """See `LoadWorker.prepare`: all topics first, then all clients. Settings of the same name are the first's."""
        count = len(self._members)
        self._workload, self._final = order.workload, None
        self._started = self._stopped = [0] * count
        self._begin_ns = self._window_from_ns = 0
        if self._clocks is not None:
            for member, ahead_ns in zip(self._members, self._clocks.ahead_ns(), strict=True):
                member.clock_ahead_ns = ahead_ns
        orders = [replace(order, share=self._share_of_member(number)) for number in range(count)]
        progress = _Progress(count, on_progress)
        have_topics = [size.topics > 0 for size in share_sizes(order.workload, count)]
        self._on_all(
            "CreateTopics",
            lambda number, member: (
                member.create_topics(orders[number], progress.progress_of_member(number))
                if have_topics[number]
                else None
            ),
            _PREPARE_S_MAX,
        )
        settings_of_members = self._on_all(
            "Prepare",
            lambda number, member: member.prepare(orders[number], progress.progress_of_member(number)),
            _PREPARE_S_MAX,
        )
        return list(
            {
                (setting.scope, setting.name): setting
                for settings in reversed(settings_of_members)
                for setting in settings
            }.values()
        )

    def _share_of_member(self, number: int) -> Share:
        count, clocks = len(self._members), self._clocks
        if clocks is None:
            return Share(number, count)
        own_ns = self._members[number].clock_ahead_ns
        return Share(
            number,
            count,
            # 0 says that it is the same clock.
            tuple(
                0 if clocks.have_same_clock(number, other) else member.clock_ahead_ns - own_ns or 1
                for other, member in enumerate(self._members)
            ),
        )

    def start(self, in_s: float = 0.1) -> int:
        """See `LoadWorker.start`: all at one instant, far enough ahead for all to have been asked before it.

        Raises `RunFailedError` if one began later all the same: its load would be missing at first.
        """
        at_mono_ns = time.monotonic_ns() + round(max(in_s, lead_s(len(self._members))) * 1e9)
        self._begin_ns = at_mono_ns
        self._started = self._on_all("Start", lambda _, member: member.start_at(at_mono_ns))
        late_ns, member = self._latest_member(self._started, at_mono_ns)
        if late_ns > _START_LATE_NS_MAX:
            raise _starved_error(member, f"began {late_ns / 1e6:,.0f} ms after the instant common to all")
        return at_mono_ns

    def set_rate(self, msgs_per_s: float, at_mono_ns: int = 0) -> None:
        """See `LoadWorker.set_rate`: what is due now, or sooner than all can be asked, begins shortly, for all at once.

        Raises `RunFailedError` if one knew of it too late: its load would not be what the others' is.
        """
        at_mono_ns = max(at_mono_ns, time.monotonic_ns() + round(lead_s(len(self._members)) * 1e9))

        def ask(_: int, member: GroupMember) -> int:
            member.set_rate(msgs_per_s, at_mono_ns)
            return time.monotonic_ns()

        self._check_known("of the new rate", self._on_all("SetRate", ask), at_mono_ns)

    def set_window(self, from_mono_ns: int, until_mono_ns: int) -> None:
        """See `LoadWorker.set_window`. Raises `RunFailedError` if one knew too late where the window begins."""

        def ask(_: int, member: GroupMember) -> int:
            member.set_window(from_mono_ns, until_mono_ns)
            return time.monotonic_ns()

        known_ns = self._on_all("SetWindow", ask)
        # A window that is given an end may have begun long ago.
        if from_mono_ns != self._window_from_ns:
            self._check_known("of the measured window", known_ns, from_mono_ns)
            self._window_from_ns = from_mono_ns

    def _check_known(self, subject: str, known_mono_ns: Sequence[int], begins_mono_ns: int) -> None:
        """Raise `RunFailedError` if a member knew of something after its beginning."""
        late_ns, member = self._latest_member(known_mono_ns, begins_mono_ns)
        if late_ns > 0:
            raise _starved_error(member, f"knew {subject} only {late_ns / 1e6:,.0f} ms after its beginning")

    def _latest_member(self, instants: Sequence[int], due_ns: int) -> tuple[int, GroupMember]:
        """By how much the member with the latest of these instants was late, and which it is."""
        instant_ns, member = max(zip(instants, self._members, strict=True), key=itemgetter(0))
        return instant_ns - due_ns, member

    def pause_consumers(self, subscriptions: list[str]) -> None:
        """See `LoadWorker.pause_consumers`."""
        self._on_all("PauseConsumers", lambda _, member: member.pause_consumers(subscriptions))

    def resume_consumers(self, subscriptions: list[str]) -> None:
        """See `LoadWorker.resume_consumers`."""
        self._on_all("ResumeConsumers", lambda _, member: member.resume_consumers(subscriptions))

    def close_consumers(self, subscriptions: list[str]) -> None:
        """See `LoadWorker.close_consumers`."""
        self._on_all("CloseConsumers", lambda _, member: member.close_consumers(subscriptions), _FINISH_S_MAX)

    def missing(self, subscriptions: Sequence[str]) -> Mapping[str, Missing]:
        """See `LoadWorker.missing`: what no worker received."""
        still_wanted = threading.Event()
        still_wanted.set()
        try:
            streams = [self._stream_parts(number, still_wanted) for number in range(len(self._members))]
            return missing_sequences(streams, subscriptions)
        finally:
            still_wanted.clear()

    def stop_producers(self, grace_s: float) -> int:
        """See `LoadWorker.stop_producers`."""
        answers = self._on_all("StopProducers", lambda _, member: member.stop(grace_s), grace_s + ANSWER_S_MAX)
        self._stopped = [stopped_mono_ns for _, stopped_mono_ns in answers]
        return sum(unresolved for unresolved, _ in answers)

    def watch(self, from_second: int = 0) -> Iterator[SecondFigures]:
        """See `LoadWorker.watch`. Raises `RunFailedError` if one worker is silent, or if its seconds don't add up."""
        merger = SecondMerger(len(self._members))
        arrivals: queue.SimpleQueue[tuple[int, SecondFigures | BaseException | None]] = queue.SimpleQueue()
        still_wanted = threading.Event()
        still_wanted.set()

        def put(number: int, item: SecondFigures | BaseException | None) -> bool:
            arrivals.put((number, item))
            return still_wanted.is_set()

        for number, member in enumerate(self._members):
            member.follow(partial(put, number))
        try:
            for figures in self._merged_seconds(merger, arrivals):
                if figures.second >= from_second:
                    yield figures
        finally:
            still_wanted.clear()
        if self._final is not None:
            merger.check_sent(self._final)

    def _merged_seconds(
        self, merger: SecondMerger, arrivals: queue.SimpleQueue[tuple[int, SecondFigures | BaseException | None]]
    ) -> Iterator[SecondFigures]:
        silent_s = dict.fromkeys(range(len(self._members)), 0.0)
        looked_s = time.monotonic()
        while silent_s:
            with contextlib.suppress(queue.Empty):
                number, item = arrivals.get(timeout=_LOOK_S)
                if isinstance(item, BaseException):
                    self._remember_if_gone(number, item)
                    yield from merger.end(number)
                    raise item
                if item is None:
                    del silent_s[number]
                    yield from merger.end(number)
                else:
                    silent_s[number] = 0.0
                    yield from merger.add(number, item)
            passed_s = time.monotonic() - looked_s
            # Not for each of a thousand workers whenever one of them has a second.
            if passed_s >= _LOOK_S:
                looked_s += passed_s
                silent = self._silent_for_too_long(silent_s, passed_s, all_read=arrivals.empty())
                if silent is not None:
                    error = self._silence_error(silent)
                    yield from merger.end(silent)
                    raise error

    def _silent_for_too_long(self, silent_s: dict[int, float], passed_s: float, *, all_read: bool) -> int | None:
        """Add what has passed since the last look to how long each was silent. Who was so for too long; None = nobody.

        What the others had meanwhile waits for it, and is handed over before the error.
        """
        if not silent_s or time.monotonic_ns() < self._begin_ns:
            return None
        for number, before_s in silent_s.items():
            silent_s[number] = before_s + min(passed_s, _STALL_S)
        # Where the machine is so busy that several are, it is the one that was so for longest.
        longest = max(silent_s, key=silent_s.__getitem__)
        return longest if all_read and silent_s[longest] > SILENCE_S_MAX else None

    def totals(self) -> TotalFigures:
        """See `LoadWorker.totals`. What was lost or repeated comes from the workers' sets of sequences."""
        before = self._totals_of_each()
        workload = self._workload
        if workload is None:
            raise RunFailedError("No trial was prepared.")
        producers = workload.topics * workload.producers
        if not producers:
            self._final = before
            return merged_totals(self._totals_by_worker(before))
        window, clocks = before[0].window, self._clocks
        bounds = (
            clocks.offsets_between(window.from_mono_ns, window.until_mono_ns) if clocks and window.until_mono_ns else {}
        )
        names = [f"sub-{number}" for number in range(workload.subscriptions)]
        still_wanted = threading.Event()
        still_wanted.set()
        try:
            parts = [self._stream_parts(number, still_wanted) for number in range(len(self._members))]
            counts = count_sequences(parts, names, producers)
        finally:
            still_wanted.clear()
        after = self._totals_of_each()
        check_counts(before, counts, after)
        self._final = after
        merged = merged_totals(self._totals_by_worker(after), counts)
        if not bounds:
            return merged
        return across_clocks(merged, after, bounds, [member.clock_ahead_ns for member in self._members])

    def counts(self) -> TotalFigures:
        """See `LoadWorker.counts`."""
        return merged_totals(self._totals_by_worker(self._totals_of_each()))

    def finish(self, delete_topics: bool) -> None:
        """See `LoadWorker.finish`: by the first what is left of the trial, once the others' clients are closed.

        The first is the first that lives. Raises what went wrong once all have been asked.
        """
        others_topics = self._workload is not None and bool(self._workload.existing_topics)
        living = self._living_members("Finish")

        def ask(number: int, member: GroupMember) -> None:
            # Of topics of others only the subscriptions, which one worker alone removes unasked.
            member.finish(number == living[0][0] and (delete_topics or others_topics))

        answers = list(self._ask_members("Finish", ask, living[1:], _FINISH_S_MAX))
        self._end_gone()
        answers += self._ask_members("Finish", ask, living[:1], _FINISH_S_MAX)
        for _, answer in answers:
            if answer is not None:
                raise answer

    def left_results(self, trial_id: int, share: Share | None = None) -> list[LeftResults]:
        """See `LoadWorker.left_results`."""
        count = len(self._members)
        results_of_members = self._on_all(
            "LeftResults", lambda number, member: member.left_results(trial_id, Share(number, count)), _FINISH_S_MAX
        )
        return [left for results in results_of_members for left in results] if all(results_of_members) else []

    def remove_left_results(self, trial_id: int, share: Share | None = None) -> None:
        """See `LoadWorker.remove_left_results`."""
        count = len(self._members)
        self._on_all(
            "RemoveLeftResults", lambda number, member: member.remove_left_results(trial_id, Share(number, count))
        )

    def _living_members(self, call: str) -> list[tuple[int, GroupMember]]:
        """Who can still be asked; the others are ended. Raises `NoAnswerError` if nobody lives."""
        for number, member in enumerate(self._members):
            if number not in self._gone and (error := member.ended(call)):
                self._gone[number] = error
        self._end_gone()
        living = [(number, member) for number, member in enumerate(self._members) if number not in self._gone]
        if not living:
            raise self._gone[0]
        return living

    def _remember_if_gone(self, number: int, answer: object) -> None:
        if isinstance(answer, NoAnswerError):
            self._gone.setdefault(number, answer)

    def _end_gone(self) -> None:
        """Close members that are gone: one that is only stopped would send again later, and make its topics anew."""
        self._close_members([self._members[number] for number in list(self._gone)])

    def close(self) -> None:
        """See `LoadWorker.close`."""
        self._close_members(self._members)

    def _close_members(self, members: Sequence[GroupMember]) -> None:
        threads = [threading.Thread(target=member.close, name="close", daemon=True) for member in members]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _totals_of_each(self) -> list[TotalFigures]:
        return self._on_all("Totals", lambda _, member: member.totals())

    def _totals_by_worker(self, totals: Sequence[TotalFigures]) -> list[WorkerTotals]:
        figures_of_workers = zip(self.processes, self._started, totals, self._stopped, strict=True)
        return [WorkerTotals(*each) for each in figures_of_workers]

    def _stream_parts(self, number: int, still_wanted: threading.Event) -> Iterator[SequencesPart]:
        """A worker's sequences as they come, a few ahead. Raises `RunFailedError` if they stop coming."""
        arrivals: queue.Queue[SequencesPart | BaseException | None] = queue.Queue(_AHEAD)

        def put(item: SequencesPart | BaseException | None) -> bool:
            while still_wanted.is_set():
                with contextlib.suppress(queue.Full):
                    arrivals.put(item, timeout=_LOOK_S)
                    return True
            return False

        pump_in_thread(self._members[number].sequences, put)
        while True:
            try:
                item = arrivals.get(timeout=SILENCE_S_MAX)
            except queue.Empty:
                raise self._late_error(number, "Sequences", SILENCE_S_MAX) from None
            if isinstance(item, BaseException):
                self._remember_if_gone(number, item)
                raise item
            if item is None:
                return
            yield item

    def _on_all(self, step: str, ask: Callable[[int, GroupMember], T], seconds_max: float | None = None) -> list[T]:
        """What all members answer, asked at once. Raises the first error, or one that names who has not answered."""
        for number in range(len(self._members)):
            # Another thread has found it: asking again would only take as long again.
            if number in self._gone:
                raise self._gone[number]
        seconds_max = ANSWER_S_MAX if seconds_max is None else seconds_max
        answers_by_member: dict[int, T] = {}
        for number, answer in self._ask_members(step, ask, list(enumerate(self._members)), seconds_max):
            if isinstance(answer, BaseException):
                raise answer
            answers_by_member[number] = answer
        return [answers_by_member[number] for number in range(len(self._members))]

    def _ask_members(
        self,
        step: str,
        ask: Callable[[int, GroupMember], T],
        members: Sequence[tuple[int, GroupMember]],
        seconds_max: float,
    ) -> Iterator[tuple[int, T | BaseException]]:
        """Each member's answer or error as it comes, asked at once; last those that have not answered in time."""
        answers: queue.SimpleQueue[tuple[int, T | BaseException]] = queue.SimpleQueue()

        def call(number: int, member: GroupMember) -> None:
            try:
                answers.put((number, ask(number, member)))
            except BaseException as error:  # Handed to whoever asked.
                answers.put((number, error))

        for number, member in members:
            threading.Thread(target=call, args=(number, member), name=f"{step} {number}", daemon=True).start()
        missing = [number for number, _ in members]
        deadline_s = time.monotonic() + seconds_max
        while missing:
            try:
                number, answer = answers.get(timeout=max(0.001, deadline_s - time.monotonic()))
            except queue.Empty:
                yield from [(number, self._late_error(number, step, seconds_max)) for number in missing]
                return
            missing.remove(number)
            self._remember_if_gone(number, answer)
            yield number, answer

    def _late_error(self, number: int, step: str, seconds_max: float) -> NoAnswerError:
        member = self._members[number]
        error = member.ended(step) or no_answer_error(member.subject, step, seconds_max, member.log_path)
        self._remember_if_gone(number, error)
        return error

    def _silence_error(self, number: int) -> NoAnswerError:
        member = self._members[number]
        error = member.ended("Watch") or WorkerLostError(
            f"{member.subject} gave no figures for {SILENCE_S_MAX:.0f} s.",
            "It may be stopped, or the machine starved of CPU or memory; see its log.",
            member.log_path,
        )
        self._remember_if_gone(number, error)
        return error


def _starved_error(member: GroupMember, problem: str) -> GeneratorFailedError:
    return GeneratorFailedError(f"{member.subject} {problem}.", "The machine may be starved of CPU.", member.log_path)


class _Progress:
    """Adds up how far the members' preparations have come."""

    def __init__(self, workers: int, on_progress: OnProgress) -> None:
        self._lock = threading.Lock()
        self._seen: list[dict[str, tuple[int, int]]] = [{} for _ in range(workers)]
        self._on_progress = on_progress

    def progress_of_member(self, number: int) -> OnProgress:
        """Where one member reports to."""

        def report(what: str, done: int, total: int) -> None:
            with self._lock:
                phases = self._seen[number]
                for earlier, (_, all_of_them) in phases.items():
                    if earlier != what:
                        phases[earlier] = (all_of_them, all_of_them)
                phases[what] = (done, total)
                self._report_phase()

        return report

    def _report_phase(self) -> None:
        """The first phase that is not done everywhere, as far as its extent is known."""
        for phase in _PHASES:
            extents = [phases[phase] for phases in self._seen if phase in phases]
            done, total = sum(done for done, _ in extents), sum(total for _, total in extents)
            if done < total:
                self._on_progress(phase, done, total)
                return


def pump_in_thread(call: Callable[[], Iterator[T]], put: Put[T]) -> None:
    """Read what a call yields in a thread of its own, so that waiting for it can end; last comes None, or an error.

    `put` returns False when nobody wants more.
    """

    def read() -> None:
        try:
            items = call()
            with contextlib.closing(items):  # type: ignore[type-var]
                if all(put(item) for item in items):
                    put(None)
        except BaseException as error:  # Handed to whoever takes.
            put(error)

    threading.Thread(target=read, name="stream", daemon=True).start()

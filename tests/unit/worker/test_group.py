"""A group of workers as one: what it asks of whom and when, what it adds up, and whom it names when one fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from doubles_compared import differences
from merging_samples import second, sub_totals, totals, window
from pyroaring import BitMap64

from tidegauge.errors import AccessRefusedError, RunFailedError
from tidegauge.model.load import ReceivedSequences, SecondFigures, SentSequences, TotalFigures
from tidegauge.model.server import Setting
from tidegauge.model.workload import ShareSize, Workload, share_sizes
from tidegauge.worker import group
from tidegauge.worker.api import LoadOrder, NoAnswerError, OnProgress, Share, ignore_progress
from tidegauge.worker.group import GroupMember, WorkerGroup
from tidegauge.worker.sequences import FiguresError, SequencesPart

ORDER = LoadOrder(
    connection={},
    driver="null",
    system="null",
    topic_names=("a", "b"),
    replication_factor=1,
    topic_settings={},
    acks="all",
    workload=Workload(topics=2, producers=1, subscriptions=1, consumers=1),
    msgs_per_s=100.0,
    trial_number=1,
    seed=1,
    own_lag_tolerance_ms=1.0,
)


@dataclass
class Member:
    """A worker that does nothing but note what it was asked; `fails` and `hangs` are steps in which it does that."""

    number: int
    calls: list[str] = field(default_factory=list)
    fails: dict[str, Exception] = field(default_factory=dict)
    hangs: set[str] = field(default_factory=set)
    seconds: list[SecondFigures] = field(default_factory=list)
    parts: list[SequencesPart] = field(default_factory=list)
    found: TotalFigures = field(default_factory=lambda: totals(sent=0, subscriptions=(sub_totals(unique=0),)))
    begins: Callable[[int], int] = lambda at_ns: at_ns
    death: NoAnswerError | None = None
    order: LoadOrder | None = None

    def __post_init__(self) -> None:
        self.processes = (f"worker-{self.number + 1}",)
        self.pids = (100 + self.number,)
        self.subject = f"Load generator {self.number + 1} of 3"
        self.log_path = Path(f"/logs/worker-{self.number + 1}.log")
        self.facts = f"facts {self.number}"
        self.closed = threading.Event()

    def _note(self, step: str, words: str = "") -> None:
        self.calls.append(f"{step} {words}".strip())
        if step in self.hangs:
            self.closed.wait(30)
        if step in self.fails:
            raise self.fails[step]

    def create_topics(self, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> None:
        self._note("create topics")
        self.order = order
        on_progress("partitions", 1, 2)
        on_progress("partitions", 2, 2)

    def prepare(self, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> list[Setting]:
        self._note("prepare")
        self.order = order
        on_progress("consumers", 5, 5)
        own = [Setting("producer", "client.id", f"{self.number}")] if self.number != 1 else []
        return [*own, Setting("consumer", "group", "g")]

    def start_at(self, at_mono_ns: int) -> int:
        self._note("start")
        self.at_ns = at_mono_ns
        return self.begins(at_mono_ns)

    def set_rate(self, msgs_per_s: float, at_mono_ns: int = 0) -> None:
        self._note("rate", f"{msgs_per_s:g}")
        self.at_ns = at_mono_ns

    def set_window(self, from_mono_ns: int, until_mono_ns: int) -> None:
        self._note("window", f"{from_mono_ns} {until_mono_ns}")

    def pause_consumers(self, subscriptions: list[str]) -> None:
        self._note("pause", " ".join(subscriptions))

    def resume_consumers(self, subscriptions: list[str]) -> None:
        self._note("resume", " ".join(subscriptions))

    def stop(self, grace_s: float) -> tuple[int, int]:
        self._note("stop")
        return self.number, 1000 + self.number

    def totals(self) -> TotalFigures:
        self._note("totals")
        return self.found

    def sequences(self) -> Iterator[SequencesPart]:
        self._note("sequences")
        yield from self.parts

    def watch(self, from_second: int = 0) -> Iterator[SecondFigures]:
        yield from self.seconds
        self._note("watch")

    def follow(self, put: group.Put[SecondFigures]) -> None:
        group.pump_in_thread(self.watch, put)

    def probe(
        self, driver: str, connection: Any, timeout_s: float, topic: str = "", *, copies_of_cluster: bool = False
    ) -> float:
        self._note("probe")
        return 0.5

    def ended(self, call: str) -> NoAnswerError | None:
        return self.death

    def finish(self, delete_topics: bool) -> None:
        self._note("finish", str(delete_topics))

    def delete_topics(self, driver: str, connection: Any, topics: list[str]) -> None:
        self._note("delete", " ".join(topics))

    def remove_subscriptions(self, driver: str, connection: Any, topics: list[str], trial_id: int) -> None:
        self._note("remove", " ".join(topics))

    def close(self) -> None:
        self._note("close")
        self.closed.set()


def members(count: int = 3, **changes: Any) -> tuple[list[Member], WorkerGroup]:
    found = [Member(number, **{name: value[number] for name, value in changes.items()}) for number in range(count)]
    return found, WorkerGroup(cast(list[GroupMember], found))


@pytest.fixture(autouse=True)
def _in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "ANSWER_S_MAX", 0.3)
    monkeypatch.setattr(group, "SILENCE_S_MAX", 0.3)


def test_all_topics_are_made_before_any_client_and_each_gets_its_share() -> None:
    own, workers = members()
    seen: list[tuple[str, int, int]] = []
    given = workers.prepare(ORDER, lambda *progress: seen.append(progress))
    # The third has none of the two topics.
    assert [member.calls for member in own] == [["create topics", "prepare"]] * 2 + [["prepare"]]
    assert [member.order and member.order.share for member in own] == [Share(0, 3), Share(1, 3), Share(2, 3)]
    assert all(member.order == replace(ORDER, share=Share(member.number, 3)) for member in own)
    assert {(setting.scope, setting.name): setting.value for setting in given} == {
        ("producer", "client.id"): "0",
        ("consumer", "group"): "g",
    }
    assert all(what == "partitions" and done < total <= 4 for what, done, total in seen)
    assert seen


def test_progress_is_the_sum_of_a_phase_that_is_not_done_everywhere() -> None:
    seen: list[tuple[str, int, int]] = []
    progress = group._Progress(2, lambda *reported: seen.append(reported))
    first, other = progress.progress_of_member(0), progress.progress_of_member(1)
    first("partitions", 1, 10)
    other("partitions", 2, 10)
    first("consumers", 1, 5)
    other("consumers", 0, 5)
    first("", 0, 0)
    assert seen == [("partitions", 1, 10), ("partitions", 3, 20), ("partitions", 12, 20), ("consumers", 1, 10),
                    ("consumers", 5, 10)]  # fmt: skip


def test_all_begin_at_one_instant_that_is_far_enough_ahead() -> None:
    own, workers = members(begins=[lambda at: at, lambda at: at + 7, lambda at: at])
    began_ns = time.monotonic_ns()
    at_ns = workers.start(0.1)
    assert {member.at_ns for member in own} == {at_ns}
    assert at_ns - began_ns >= 1e9
    assert [each.started_mono_ns - at_ns for each in workers.counts().workers] == [0, 7, 0]


def test_changes_of_the_load_are_the_same_for_all() -> None:
    own, workers = members()
    workers.set_rate(50.0)
    assert len({member.at_ns for member in own}) == 1
    assert own[0].at_ns > time.monotonic_ns()
    workers.set_rate(60.0, 77)
    assert len({member.at_ns for member in own}) == 1
    assert own[0].at_ns > time.monotonic_ns(), "what has passed can't be the same instant for all"
    later_ns = time.monotonic_ns() + 60 * 10**9
    workers.set_rate(70.0, later_ns)
    assert {member.at_ns for member in own} == {later_ns}
    from_ns = time.monotonic_ns() + 60 * 10**9
    workers.set_window(from_ns, 4)
    workers.pause_consumers(["sub-0"])
    workers.resume_consumers([])
    assert [each.stopped_mono_ns for each in workers.counts().workers] == [0, 0, 0]
    assert workers.stop_producers(0.1) == 0 + 1 + 2
    assert [each.stopped_mono_ns for each in workers.counts().workers] == [1000, 1001, 1002]
    workers.finish(delete_topics=True)
    common = [
        "rate 50",
        "rate 60",
        "rate 70",
        f"window {from_ns} 4",
        "pause sub-0",
        "resume",
        "totals",
        "stop",
        "totals",
    ]
    assert [member.calls for member in own] == [[*common, f"finish {member.number == 0}"] for member in own]


def test_what_concerns_the_system_is_asked_of_the_first() -> None:
    own, workers = members()
    assert workers.probe("null", {}, 1.0) == 0.5
    assert [member.calls for member in own] == [["probe"], [], []]
    assert workers.facts == "facts 0"
    assert workers.processes == ("worker-1", "worker-2", "worker-3")
    assert workers.pids == (100, 101, 102)


def test_topics_are_deleted_once_the_others_have_let_go() -> None:
    own, workers = members()
    order: list[str] = []
    for member in own:
        member.finish = lambda delete_topics, number=member.number: order.append(f"{number} {delete_topics}")  # type: ignore[method-assign,misc]
    workers.finish(delete_topics=True)
    assert order[-1] == "0 True"
    assert sorted(order[:-1]) == ["1 False", "2 False"]


def killed(number: int) -> NoAnswerError:
    return NoAnswerError(f"Load generator {number + 1} of 3 was killed by signal 9.")


def clean_up(workers: WorkerGroup) -> None:
    workers.finish(delete_topics=False)
    workers.delete_topics("null", {}, ["a"])
    workers.remove_subscriptions("null", {}, ["b"], 1)


def test_who_has_ended_is_not_asked_and_the_first_that_lives_cleans_up() -> None:
    own, workers = members()
    own[0].death = killed(0)
    workers.finish(delete_topics=True)
    clean_up(workers)
    assert set(own[0].calls) == {"close"}
    assert own[1].calls == ["finish True", "finish False", "delete a", "remove b"]
    assert own[2].calls == ["finish False", "finish False"]


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("found", ["by the group", "by itself"])
def test_who_did_not_answer_is_ended_before_the_others_finish(number: int, found: str) -> None:
    own, workers = members()
    if found == "by itself":
        own[number].fails = {"totals": NoAnswerError("Load generator did not answer Totals within 10 s.")}
    own[number].hangs = {"finish"} if found == "by itself" else {"finish", "totals"}
    with pytest.raises(RunFailedError, match="did not answer Totals"):
        workers.counts()
    clean_up(workers)
    assert set(own[number].calls) == {"totals", "close"}
    first = own[1 if number == 0 else 0]
    assert first.calls == ["totals", "finish False", "delete a", "remove b"]


def test_who_was_silent_is_ended_before_the_others_finish() -> None:
    own, workers = members(seconds=[[], [second(0, 1)], [second(0, 1)]], hangs=[{"watch", "finish"}, set(), set()])
    with pytest.raises(RunFailedError, match="1 of 3 gave no figures"):
        list(workers.watch())
    clean_up(workers)
    assert "finish False" not in own[0].calls
    assert own[1].calls == ["watch", "finish False", "delete a", "remove b"]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_who_dies_while_finishing_keeps_nobody_from_it(number: int) -> None:
    own, workers = members(fails=[{"finish": killed(number)} if number == each else {} for each in range(3)])
    with pytest.raises(RunFailedError, match=f"{number + 1} of 3 was killed"):
        workers.finish(delete_topics=True)
    assert [member.calls[0] for member in own] == ["finish True", "finish False", "finish False"]
    clean_up(workers)
    assert sum("delete a" in member.calls for member in own) == 1
    assert own[number].calls[1] == "close"


def test_an_error_of_one_that_lives_ends_it_for_nobody() -> None:
    own, workers = members(fails=[{}, {"finish": RunFailedError("could not close")}, {}])
    with pytest.raises(RunFailedError, match="could not close"):
        workers.finish(delete_topics=True)
    assert [member.calls for member in own] == [["finish True"], ["finish False"], ["finish False"]]


@pytest.mark.parametrize("ask", [clean_up, lambda workers: workers.delete_topics("null", {}, ["a"])])
def test_nobody_alive_is_an_error(ask: Callable[[WorkerGroup], None]) -> None:
    own, workers = members()
    for member in own:
        member.death = killed(member.number)
    with pytest.raises(RunFailedError, match="1 of 3 was killed"):
        ask(workers)


def test_one_that_begins_late_is_named_with_its_log() -> None:
    _, workers = members(begins=[lambda at: at, lambda at: at + 99_000_000, lambda at: at + 1_500_000_000])
    with pytest.raises(RunFailedError, match=r"^Load generator 3 of 3 began 1,500 ms after") as caught:
        workers.start()
    assert "starved of CPU" in caught.value.hint
    assert caught.value.log_path == Path("/logs/worker-3.log")


def test_one_that_knows_too_late_where_the_window_begins_is_named() -> None:
    own, workers = members()
    own[1].set_window = lambda *_: time.sleep(0.2)  # type: ignore[method-assign]
    with pytest.raises(RunFailedError, match=r"^Load generator 2 of 3 knew of the measured window only \d+ ms after"):
        workers.set_window(time.monotonic_ns() + 10**8, 0)


def test_one_that_knows_too_late_of_a_new_rate_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "_LEAD_S", 0.05)
    own, workers = members()
    own[2].set_rate = lambda *_: time.sleep(0.2)  # type: ignore[method-assign]
    with pytest.raises(
        RunFailedError, match=r"^Load generator 3 of 3 knew of the new rate only \d+ ms after"
    ) as caught:
        workers.set_rate(50.0)
    assert caught.value.log_path == Path("/logs/worker-3.log")


def test_a_window_may_be_given_its_end_after_its_beginning() -> None:
    own, workers = members()
    from_ns = time.monotonic_ns() + 10**8
    workers.set_window(from_ns, 0)
    time.sleep(0.11)
    workers.set_window(from_ns, from_ns + 1)
    assert len(own[0].calls) == 2


def test_nobody_is_silent_before_the_beginning() -> None:
    own, workers = members()
    at_ns = workers.start()

    def late() -> Iterator[SecondFigures]:
        time.sleep((at_ns - time.monotonic_ns()) / 1e9)
        yield second(0, 1)

    for member in own:
        member.watch = late  # type: ignore[method-assign,assignment]
    assert [figures.sent for figures in workers.watch()] == [30]


@pytest.mark.parametrize("step", ["totals", "start", "window", "stop", "finish"])
def test_a_worker_that_does_not_answer_is_named_with_its_log(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "_FINISH_S_MAX", 0.3)
    _, workers = members(hangs=[set(), {step}, set()])
    ask: dict[str, Callable[[], object]] = {
        "totals": workers.counts,
        "start": workers.start,
        "window": lambda: workers.set_window(1, 2),
        "stop": lambda: workers.stop_producers(0.0),
        "finish": lambda: workers.finish(True),
    }
    with pytest.raises(RunFailedError, match=r"^Load generator 2 of 3 did not answer \w+ within 0 s\.$") as caught:
        ask[step]()
    assert caught.value.log_path == Path("/logs/worker-2.log")
    workers.close()


def test_the_error_of_one_is_that_of_all_at_once() -> None:
    refused = AccessRefusedError("Load generator 3 of 3 may not read.")
    _, workers = members(fails=[{}, {}, {"prepare": refused}], hangs=[{"prepare"}, set(), set()])
    began_s = time.monotonic()
    with pytest.raises(AccessRefusedError, match="may not read"):
        workers.prepare(ORDER)
    assert time.monotonic() - began_s < 5
    workers.close()


def test_closing_closes_all() -> None:
    own, workers = members()
    workers.close()
    assert [member.calls for member in own] == [["close"]] * 3


def test_seconds_are_those_of_all_together() -> None:
    _, workers = members(seconds=[[second(n, n + 1, n) for n in range(3)]] * 3)
    assert [figures.sent for figures in workers.watch()] == [30, 30, 30]
    assert [figures.second for figures in workers.watch(from_second=1)] == [1, 2]


def test_a_worker_without_figures_is_named() -> None:
    _, workers = members(seconds=[[second(0, 1)], [second(0, 1)], []], hangs=[{"watch"}, {"watch"}, {"watch"}])
    with pytest.raises(RunFailedError, match=r"^Load generator . of 3 gave no figures for 0 s\.$"):
        list(workers.watch())
    workers.close()


def test_nobody_is_silent_while_this_process_stands_still() -> None:
    """What came meanwhile waits to be read."""
    seconds = [second(number, number + 1) for number in range(3)]
    _, workers = members(seconds=[seconds] * 3)
    seen = []
    for figures in workers.watch():
        seen.append(figures.sent)
        time.sleep(2 * group.SILENCE_S_MAX)
    assert seen == [30, 30, 30]


def test_one_silent_worker_is_found_while_others_are_not() -> None:
    def chatter() -> Iterator[SecondFigures]:
        for number in range(1_000):
            time.sleep(0.01)
            yield second(number, number + 1)

    own, workers = members(hangs=[set(), {"watch"}, set()])
    for member in own[::2]:
        member.watch = chatter  # type: ignore[method-assign,assignment]
    began_s = time.monotonic()
    with pytest.raises(RunFailedError, match=r"^Load generator 2 of 3 gave no figures"):
        list(workers.watch())
    assert time.monotonic() - began_s < 5.0
    workers.close()


def test_a_worker_that_dies_ends_the_watching_with_its_own_error() -> None:
    _, workers = members(
        seconds=[[second(0, 1)]] * 3,
        hangs=[{"watch"}, set(), {"watch"}],
        fails=[{}, {"watch": RunFailedError("Load generator 2 of 3 was killed by signal 9.")}, {}],
    )
    with pytest.raises(RunFailedError, match="2 of 3 was killed"):
        list(workers.watch())
    workers.close()


@pytest.mark.parametrize("how", ["silent", "killed"])
def test_what_the_others_had_when_one_was_lost_is_handed_over_before_its_error(how: str) -> None:
    three = [second(number, number + 1, number) for number in range(3)]
    own, workers = members(seconds=[three, [], three])

    def lost() -> Iterator[SecondFigures]:
        yield three[0]
        if how == "silent":
            own[1].closed.wait(30)
        time.sleep(0.2)
        raise killed(1)

    own[1].watch = lost  # type: ignore[method-assign,assignment]
    seen = []
    with pytest.raises(RunFailedError, match=r"2 of 3 (gave no figures|was killed)"):
        for figures in workers.watch():
            seen.append([worker.worker for worker in figures.workers])
    assert seen[0] == [1, 2, 3]
    assert seen[1:] == [[1, 3], [1, 3]]
    workers.close()


def test_once_one_is_lost_nobody_is_asked_for_anything_but_to_finish() -> None:
    own, workers = members(fails=[{}, {"watch": killed(1)}, {}])
    with pytest.raises(NoAnswerError):
        list(workers.watch())
    with pytest.raises(NoAnswerError, match="2 of 3 was killed"):
        workers.set_window(1, 2)
    assert not any(call.startswith("window") for member in own for call in member.calls)
    workers.close()


def sent(producer: int, count: int) -> SentSequences:
    return SentSequences(producer, count, b"")


def received(producer: int, *sequences: int) -> ReceivedSequences:
    return ReceivedSequences("sub-0", producer, BitMap64(sequences).serialize())


def together() -> tuple[list[Member], WorkerGroup]:
    """Two producers, of the first and the second; sequence 3 of the first is lost, 0 of the second came to two."""
    own, workers = members(
        found=[
            totals(sent=4, subscriptions=(sub_totals(received=1, unique=1),)),
            totals(sent=2, subscriptions=(sub_totals(received=2, unique=2),)),
            totals(sent=0, subscriptions=(sub_totals(received=4, unique=3, duplicated=1),)),
        ],
        parts=[
            [sent(0, 4), received(1, 0)],
            [sent(1, 2), received(1, 0, 1)],
            [received(0, 0, 1, 2)],
        ],
    )
    workers.prepare(ORDER)
    return own, workers


def test_totals_know_what_no_worker_does() -> None:
    _, workers = together()
    found = workers.totals()
    (sub,) = found.subscriptions
    assert (found.sent, sub.received, sub.unique, sub.lost, sub.duplicated) == (6, 7, 5, 1, 2)
    assert sub.lost_examples == ("producer 0 sequence 3",)
    # By counts alone it seems that nothing is missing.
    assert workers.counts().subscriptions[0].backlog == 0


def test_totals_that_do_not_add_up_name_worker_and_figure() -> None:
    own, workers = together()
    own[1].parts = [sent(1, 2), received(1, 1)]
    with pytest.raises(FiguresError, match="generator 2 of 3: messages that sub-0 received: 2 by its counts, 1 by its"):
        workers.totals()


def test_seconds_that_miss_something_are_an_error_once_all_are_known() -> None:
    own, workers = together()
    for member, count in zip(own, (4, 2, 0), strict=True):
        member.seconds = [second(0, 1, sent=count)]
    workers.totals()
    list(workers.watch())
    own[0].seconds = [second(0, 1, sent=3)]
    with pytest.raises(FiguresError, match="generator 1 of 3: its seconds have 3 messages sent, its totals 4"):
        list(workers.watch())


def test_sequences_that_stop_coming_are_an_error() -> None:
    _, workers = together()
    workers._members[2].hangs.add("sequences")  # type: ignore[attr-defined]
    with pytest.raises(RunFailedError, match="Load generator 3 of 3 did not answer Sequences"):
        workers.totals()
    workers.close()


def test_a_trial_that_sends_nothing_has_no_sequences() -> None:
    own, workers = members(found=[totals(sent=0, window=window(), subscriptions=(sub_totals(verified=3),))] * 3)
    workers.prepare(replace(ORDER, workload=replace(ORDER.workload, producers=0)))
    assert workers.totals().subscriptions[0].verified == 9
    assert not any("sequences" in member.calls for member in own)


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_shares_add_up_and_differ_by_at_most_one(workers: int) -> None:
    workload = Workload(topics=5, producers=1, subscriptions=2, consumers=3)
    sizes = share_sizes(workload, workers)
    assert sum(size.producers for size in sizes) == 5
    assert sum(size.consumers for size in sizes) == 30
    assert sum(size.topics for size in sizes) == 5
    both = [size.producers + size.consumers for size in sizes]
    assert max(both) - min(both) <= 1
    # Dealt out one by one: producers 0 to 4, then consumers 5 to 34.
    for worker, size in enumerate(sizes):
        places = range(worker, 35, workers)
        assert size == ShareSize(
            sum(place < 5 for place in places), sum(place >= 5 for place in places), len(range(worker, 5, workers))
        )


def test_the_double_is_no_wider_than_a_member() -> None:
    assert differences(Member, GroupMember) == []

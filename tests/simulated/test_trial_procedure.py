"""The order of one trial, and that it is undone in reverse whatever ends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from campaign_doubles import (
    SECOND_S,
    FakeWorker,
    subscription,
    totals_of,
    window,
)
from reasons import texts_of
from trial_scenes import SPEC, Scene

from tidegauge.campaign.run import figures as run_figures
from tidegauge.campaign.run import running_trial, tracing
from tidegauge.campaign.run.figures import SECOND_NS, SecondHistory, TimedPoint
from tidegauge.campaign.run.trial import load as trial
from tidegauge.campaign.run.witnessing import LevelMismatchError
from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.hosts import space
from tidegauge.hosts.fsync import Calm, FsyncLatency
from tidegauge.model import disk_needs
from tidegauge.model.events import PhaseStarted, SecondSeen
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import SecondFigures
from tidegauge.model.reason import ReasonKind
from tidegauge.model.server import Setting
from tidegauge.model.trial import LoadResult, LoadSpec, Validity
from tidegauge.model.workload import Arrival
from tidegauge.statistics.figures import FIGURES
from tidegauge.statistics.steady import SecondPoint, too_short_to_judge
from tidegauge.worker.api import WorkerLostError
from tidegauge.worker.sequences import FiguresError


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(trial, "_IDLE_S", 0.2)
    monkeypatch.setattr(tracing, "SETTLE_S", 0.0)
    return Scene(tmp_path)


def test_the_steps_come_in_order_and_are_undone_in_reverse(scene: Scene) -> None:
    scene.run()
    seen = [entry for entry in scene.journal.entries if not entry.startswith(("provision", "totals", "counts"))]
    assert seen == [
        "tracked",
        "page cache dropped",
        "deploy",
        "worker started",
        "probe",
        "prepare",
        "read back",
        "settings stored",
        "load",
        "window",
        "stop producers",
        "read back",
        "finish",
        "result stored",
        "left results removed",
        "worker closed",
        "deployment stopped",
    ]
    assert scene.undone()


def test_the_page_cache_and_the_cost_of_control_are_recorded(scene: Scene) -> None:
    result = scene.run()
    assert scene.store.page_cache_dropped == (False, "needs root")
    assert result.control_cpu_s == pytest.approx(0.5), "asked twice: as the window begins and as it ends"


def test_every_phase_and_every_second_is_reported(scene: Scene) -> None:
    scene.run()
    phases = [event.phase for event in scene.events if isinstance(event, PhaseStarted)]
    assert phases == ["settle", "start", "ready", "prepare", "warm-up", "measure", "drain", "stop"]
    seconds = [event for event in scene.events if isinstance(event, SecondSeen)]
    assert seconds
    assert (seconds[-1].msgs_per_s, seconds[-1].mb_per_s) == (pytest.approx(1000), pytest.approx(1.0))
    assert seconds[-1].response_p99_ms == pytest.approx(4.0, rel=0.01)
    assert seconds[-1].end_to_end_p99_ms == pytest.approx(5.0, rel=0.01)
    assert scene.store.seconds >= len(seconds)


def test_the_window_lies_ahead_and_is_as_long_as_asked(scene: Scene) -> None:
    scene.run()
    from_ns, until_ns = scene.worker.window
    assert from_ns > scene.worker.window_set_at
    assert until_ns - from_ns == round(SPEC.measure_s * 1e9)


def test_the_result_holds_what_the_worker_and_the_host_said(scene: Scene) -> None:
    result = scene.run()
    assert scene.store.result is result
    assert result.validity is Validity.VALID
    assert result.msgs_per_s == pytest.approx(1000, rel=0.01)
    assert result.mb_per_s == pytest.approx(1.0, rel=0.01)
    assert result.response.p99_ms == pytest.approx(4.0, rel=0.01)
    assert result.server_cpu_s == pytest.approx(1.5)
    assert result.worker_cpu_s == pytest.approx(1.0)
    assert result.level.level == 3


def test_the_load_is_ordered_as_the_spec_says(scene: Scene) -> None:
    scene.run(replace(SPEC, workload=replace(SPEC.workload, topics=3)))
    order = scene.worker.order
    assert order is not None
    assert order.topic_names == ("tidegauge-0", "tidegauge-1", "tidegauge-2")
    assert (order.acks, order.msgs_per_s, order.seed) == ("all", 1000.0, 7)
    assert order.topic_settings == {"flush.messages": "1"}


def test_another_level_than_asked_for_ends_the_trial_before_any_load(scene: Scene) -> None:
    scene.system.finding = LevelFinding(4, ("no fsync",), ("flush.messages is 100, must be 1",))
    with pytest.raises(LevelMismatchError, match=r"flush\.messages is 100, must be 1"):
        scene.run()
    assert "load" not in scene.journal.entries
    assert "settings stored" in scene.journal.entries
    assert scene.undone()


def test_what_keeps_the_right_settings_from_their_effect_ends_the_trial_too(scene: Scene) -> None:
    scene.system.finding = LevelFinding(3, ("flush.messages=1",), ("2 of 3 members are online",))
    with pytest.raises(LevelMismatchError, match="2 of 3 members are online"):
        scene.run()
    assert "load" not in scene.journal.entries


def test_servers_of_our_own_must_report_what_decides_the_level(scene: Scene) -> None:
    scene.system.finding = LevelFinding(None, (), undecided=("topic t: flush.messages is not reported",))
    with pytest.raises(
        LevelMismatchError, match=r"does not report .* level 3: topic t: flush\.messages is not"
    ) as caught:
        scene.run()
    assert "choose a version that reports it" in caught.value.hint
    assert "load" not in scene.journal.entries


def test_an_unknown_level_ends_the_trial_too(scene: Scene) -> None:
    scene.system.finding = LevelFinding(None, ("the server does not say",))
    with pytest.raises(LevelMismatchError, match="the server does not say"):
        scene.run()


@pytest.mark.parametrize("moment", ["deploy", "prepare", "load", "window", "stop producers"])
def test_a_server_that_dies_ends_the_trial_with_its_cause(scene: Scene, moment: str) -> None:
    scene.system.dies_at = moment
    if moment == "stop producers":
        scene.worker.totals_script = [totals_of(window(0, 10**9, 1000), subscription(backlog=5))]
    with pytest.raises(StartFailedError, match="killed by signal 9"):
        scene.run()
    assert scene.store.result is None
    assert scene.undone()


def test_a_server_that_has_ended_is_named_where_a_client_could_not_reach_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: Any) -> None:
        scene.journal.note("prepare")
        raise RunFailedError("Kafka could not open a topic: no answer within 60000 ms.")

    scene.system.dies_at = "prepare"
    monkeypatch.setattr(scene.worker, "prepare", fail)
    with pytest.raises(StartFailedError, match="killed by signal 9"):
        scene.run()


def test_a_worker_that_dies_ends_the_trial_and_keeps_its_seconds(scene: Scene) -> None:
    scene.worker.dies_after_seconds = 3
    with pytest.raises(RunFailedError, match="worker was killed"):
        scene.run()
    assert scene.store.seconds == 3
    assert scene.undone()


def test_an_interruption_unwinds_everything(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scene.worker, "set_window", interrupt)
    with pytest.raises(KeyboardInterrupt):
        scene.run()
    assert scene.undone()


def test_a_server_that_does_not_start_leaves_no_data(scene: Scene) -> None:
    scene.system.deploy_fails = True
    with pytest.raises(StartFailedError, match="port taken"):
        scene.run()
    assert not scene.store.data_directory.exists()


def test_a_server_that_never_answers_is_given_up_with_the_cause(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: Any, **_keywords: Any) -> float:
        raise RunFailedError("connection refused")

    monkeypatch.setattr(running_trial, "READY_S_MAX", 0.3)
    monkeypatch.setattr(scene.worker, "probe", refuse)
    with pytest.raises(StartFailedError, match=r"not ready within .*connection refused"):
        scene.run()
    assert scene.undone()


def test_a_disk_without_room_is_refused_before_anything_starts(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_needs, "FREE_BYTES_BEFORE", 1 << 60)
    with pytest.raises(RunFailedError, match="Not enough room"):
        scene.run()
    assert "deploy" not in scene.journal.entries


def test_a_disk_that_fills_up_ends_the_trial(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_needs, "FREE_BYTES_BEFORE", 0)
    monkeypatch.setattr(space, "FREE_BYTES_DURING", 1 << 60)
    with pytest.raises(RunFailedError, match="almost full"):
        scene.run()
    assert scene.undone()


def test_draining_waits_while_consumers_catch_up(scene: Scene) -> None:
    figures = window(0, 10**9, 1000)
    behind = [totals_of(figures, subscription(received=500 + n, backlog=500 - n)) for n in range(2)]
    scene.worker.totals_script = [*behind, totals_of(figures, subscription())]
    result = scene.run()
    assert result.validity is Validity.VALID
    # Asked by counts while it drains, which is cheap, and once for all.
    assert [scene.journal.entries.count(asked) for asked in ("counts", "totals")] == [3, 1]


def test_what_never_arrives_is_lost(scene: Scene) -> None:
    figures = window(0, 10**9, 1000)
    scene.worker.totals_script = [totals_of(figures, subscription(backlog=3, lost=3))]
    result = scene.run()
    assert result.status == "failed check"
    assert result.validity is Validity.DOUBTFUL
    assert texts_of(result.reasons) == ("3 acknowledged messages got lost (sub-0)",)
    assert result.subscriptions[0].lost_examples == tuple(f"producer 0 sequence {n}" for n in range(3))
    searched = [entry for entry in scene.journal.entries if entry.startswith(("close consumers", "trace", "finish"))]
    assert searched == [
        "close consumers of sub-0",
        "trace sub-0 from its position",
        "trace sub-0 from the beginning",
        "trace sub-0 from its position",
        "finish",
    ], "looked for everywhere, while the topics are there, before it is called lost"


def missing(scene: Scene, count: int, discarded_max: int = 0, **changes: Any) -> LoadResult:
    """A trial of which so many messages are missing when consumers receive nothing more."""
    sub = subscription(backlog=count, lost=count, discarded_max=discarded_max)
    totals = totals_of(window(0, 10**9, 1000), sub)
    scene.worker.totals_script = [replace(totals, **changes)]
    return scene.run()


def test_what_a_fresh_reader_finds_is_late_and_nobody_is_accused(scene: Scene) -> None:
    scene.worker.present = [range(595)]
    result = missing(scene, 595, errors=(("receive", "Record is corrupt", 112), ("send", "no", 1)))
    sub = result.subscriptions[0]
    assert (sub.lost, sub.late, sub.untraced, sub.backlog) == (0, 595, 0, 595)
    assert (result.status, result.validity) == ("ok", Validity.DOUBTFUL)
    assert texts_of(result.reasons) == (
        "595 acknowledged messages not delivered in time (sub-0), but are in the topic; its consumers met 112 errors: "
        "Record is corrupt",
    )
    assert FIGURES["lost"].value_in(result) == 0
    traces = [entry for entry in scene.journal.entries if entry.startswith("trace")]
    assert traces == ["trace sub-0 from its position"], "all is found: nothing else is read"


def test_what_is_partly_found_is_partly_lost(scene: Scene) -> None:
    scene.worker.present = [range(2), range(1, 3), range(2, 4)]
    sub = missing(scene, 6).subscriptions[0]
    assert (sub.lost, sub.late, sub.untraced) == (2, 4, 0), "what shows only later is there"
    assert sub.lost_examples == ("producer 0 sequence 4", "producer 0 sequence 5")
    assert sub.late_examples == tuple(f"producer 0 sequence {n}" for n in range(4))


@pytest.mark.parametrize(
    ("unread", "untraceable"), [("not read to its end in time", ""), ("", "this driver can't read topics back")]
)
def test_where_nobody_could_look_loss_is_not_known(scene: Scene, unread: str, untraceable: str) -> None:
    scene.worker.unread, scene.worker.untraceable = unread, untraceable
    scene.worker.present = [range(1), range(1)]
    result = missing(scene, 3)
    sub = result.subscriptions[0]
    late = 0 if untraceable else 1
    assert (sub.lost, sub.late, sub.untraced) == (0, late, 3 - late)
    assert (result.status, result.validity) == ("ok", Validity.DOUBTFUL)
    assert str(result.reasons[-1]).endswith(f"whether they are lost is not known: {unread or untraceable}")
    assert FIGURES["lost"].value_in(result) is None, "a threshold can't be met by what nobody knows"


def test_what_clients_threw_away_is_looked_for_everywhere_and_then_not_known(scene: Scene) -> None:
    scene.worker.present = [range(0), range(2), range(2)]
    errors = (("receive", "it came damaged", 1),)
    result = missing(scene, 6, discarded_max=4, errors=errors)
    sub = result.subscriptions[0]
    assert (sub.lost, sub.late, sub.untraced) == (0, 2, 4)
    assert (result.status, result.validity) == ("ok", Validity.DOUBTFUL)
    assert str(result.reasons[-1]) == (
        "4 acknowledged messages not delivered in time (sub-0), and whether they are lost is not known: consumers' "
        "clients discarded deliveries that may have held up to 4 messages; its consumers met 1 error: it came damaged"
    )
    assert len([entry for entry in scene.journal.entries if entry.startswith("trace")]) == 3


def test_what_is_more_than_clients_threw_away_is_lost(scene: Scene) -> None:
    result = missing(scene, 6, discarded_max=4)
    sub = result.subscriptions[0]
    assert (result.status, sub.lost, sub.untraced, sub.lost_examples) == ("failed check", 2, 4, ())


def test_what_was_in_a_topic_that_the_servers_have_no_more_is_lost_and_the_reason_says_so(scene: Scene) -> None:
    scene.worker.gone = "Kafka has no topic t any more"
    result = missing(scene, 3)
    assert (result.status, result.subscriptions[0].lost) == ("failed check", 3)
    assert texts_of(result.reasons) == ("3 acknowledged messages got lost (sub-0); Kafka has no topic t any more",)
    traces = [entry for entry in scene.journal.entries if entry.startswith("trace")]
    assert len(traces) == 3, "and asked again when servers had time to settle"


def test_what_arrives_while_consumers_are_closed_is_not_missing(scene: Scene) -> None:
    behind = totals_of(window(0, 10**9, 1000), subscription(backlog=3, lost=3))
    closing: list[str] = []
    scene.worker.close_consumers = closing.extend  # type: ignore[method-assign]
    scene.worker._figures = lambda: totals_of(behind.window) if closing else behind  # type: ignore[method-assign]
    result = scene.run()
    assert (result.validity, result.subscriptions[0].lost, result.subscriptions[0].backlog) == (Validity.VALID, 0, 0)
    assert not [entry for entry in scene.journal.entries if entry.startswith("trace")]


def test_what_is_missing_though_counts_do_not_show_it_is_lost(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """By counts, what came twice makes up for what never came; sets of sequences know better, and cost more."""
    figures = window(0, 10**9, 1000)
    monkeypatch.setattr(scene.worker, "counts", lambda: totals_of(figures, subscription()))
    scene.worker.totals_script = [totals_of(figures, subscription(backlog=2, lost=2, duplicated=2))]
    result = scene.run()
    assert texts_of(result.reasons) == ("2 acknowledged messages got lost (sub-0)",)
    # Once when counts say that all is there, for the end, since nothing came in between, and with consumers closed.
    assert scene.journal.entries.count("totals") == 3


def test_seconds_that_do_not_add_up_fail_the_trial_at_its_end(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = scene.worker.watch

    def watched() -> Iterator[SecondFigures]:
        yield from watch()
        raise FiguresError("load generator 2 of 3: its seconds have 3 messages sent, its totals 4")

    monkeypatch.setattr(scene.worker, "watch", watched)
    with pytest.raises(RunFailedError, match="do not add up: load generator 2 of 3"):
        scene.run()
    assert scene.undone()


@pytest.mark.parametrize(("lost", "kept"), [(WorkerLostError, True), (RunFailedError, False)])
def test_what_came_before_a_load_generator_was_lost_in_another_call_is_kept(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, lost: type[RunFailedError], kept: bool
) -> None:
    """Nobody takes in seconds while producers are stopped; those of the others end with the same loss."""
    watch, stopping, given = scene.worker.watch, threading.Event(), []

    def watched() -> Iterator[SecondFigures]:
        for second in watch():
            given.append(second)
            yield second
            if stopping.is_set() and len(given) >= least:
                raise lost("Load generator 2 of 3 gave no figures for 10 s.")

    def stop(_grace_s: float) -> int:
        nonlocal least
        least = len(given) + 3
        stopping.set()
        raise lost("Load generator 2 of 3 did not answer for 10 s (seen during StopProducers).")

    least = 0
    monkeypatch.setattr(run_figures, "_LAST_S", 30.0)
    monkeypatch.setattr(scene.worker, "watch", watched)
    monkeypatch.setattr(scene.worker, "stop_producers", stop)
    with pytest.raises(lost, match="seen during StopProducers"):
        scene.run()
    assert (scene.store.seconds == len(given) == least) is kept
    assert scene.undone()


def test_sums_are_waited_for(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several workers they are known once the last has ended its figures."""
    watch = scene.worker.watch

    def watched() -> Iterator[SecondFigures]:
        yield from watch()
        time.sleep(4.0)
        raise FiguresError("load generator 2 of 3: its seconds have 3 messages sent, its totals 4")

    monkeypatch.setattr(scene.worker, "watch", watched)
    with pytest.raises(RunFailedError, match="do not add up: load generator 2 of 3"):
        scene.run()


def test_figures_without_an_end_fail_the_trial(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_figures, "_END_S_MAX", 0.1)
    watch, over = scene.worker.watch, threading.Event()

    def watched() -> Iterator[SecondFigures]:
        yield from watch()
        over.wait(30)

    monkeypatch.setattr(scene.worker, "watch", watched)
    with pytest.raises(RunFailedError, match="figures did not end within"):
        scene.run()
    over.set()


def test_consumers_still_receiving_at_the_end_of_the_drain_have_lost_nothing_yet(scene: Scene) -> None:
    figures = window(0, 10**9, 1000)
    scene.worker.totals_script = [
        totals_of(figures, subscription(received=n, backlog=90 - n, lost=90 - n)) for n in range(40)
    ]
    result = scene.run(replace(SPEC, drain_s_max=0.3))
    assert result.status == "ok"
    assert "loss can't be judged" in str(result.reasons[0])
    assert [(sub.lost, sub.backlog) for sub in result.subscriptions] == [(0, result.subscriptions[0].backlog)]
    assert result.subscriptions[0].backlog > 0


def test_messages_that_were_never_sent_are_missing_from_the_percentiles(scene: Scene) -> None:
    scene.worker.totals_script = [totals_of(replace(window(0, 10**9, 1000), intended=1500))]
    result = scene.run()
    assert result.validity is Validity.DOUBTFUL
    assert "500 messages were due and never sent" in str(result.reasons[0])


def test_the_level_is_derived_from_the_clients_too(scene: Scene) -> None:
    seen: list[str] = []

    def derive(settings: list[Setting], _choice: object, _nodes: int) -> LevelFinding:
        seen.extend(f"{setting.scope} {setting.name}={setting.value}" for setting in settings)
        return scene.system.finding

    scene.system.derive_level = derive  # type: ignore[method-assign]
    scene.run()
    assert {"producer acks=all", "topic flush.messages=1"} <= set(seen)


def test_a_closed_loop_has_no_offered_rate(scene: Scene) -> None:
    closed = replace(SPEC, msgs_per_s=None, workload=replace(SPEC.workload, arrival=Arrival.CLOSED_LOOP))
    result = scene.run(closed)
    assert result.offered_msgs_per_s is None


def test_producers_are_held_back_on_average_over_all_topics(scene: Scene) -> None:
    workload = replace(SPEC.workload, arrival=Arrival.CLOSED_LOOP, topics=4, producers=2)
    scene.worker.totals_script = [totals_of(replace(window(0, 10**9, 1000), blocked_ns=4 * 10**8))]
    result = scene.run(replace(SPEC, msgs_per_s=None, workload=workload))
    assert any(
        "producers waited for the system 5% of the time only" in warning for warning in texts_of(result.warnings)
    )


def test_what_trickles_in_does_not_put_off_the_end_of_the_drain(scene: Scene) -> None:
    """Every look finds one more message received, for as long as anybody looks."""
    figures = window(0, 10**9, 1000)
    scene.worker.totals_script = [
        totals_of(figures, subscription(received=n, backlog=10_000 - n)) for n in range(10_000)
    ]
    result = scene.run(replace(SPEC, drain_s_max=0.6))
    assert "when the time to drain ended" in str(result.reasons[0])
    assert scene.journal.entries.count("totals") < 10


@dataclass
class DriftingWorker(FakeWorker):
    """Its seconds end a moment before the edges of the window; consumers fall behind when the window is over."""

    def _second(self, second: int) -> SecondFigures:
        figures = super()._second(second)
        if not self.window[1]:
            return figures
        length_ns = figures.until_mono_ns - figures.from_mono_ns
        number = (figures.until_mono_ns - self.window[1]) // length_ns
        until_ns = self.window[1] + number * length_ns - 50_000
        backlog = 472 if number > 0 else 3
        behind = tuple(replace(sub, backlog=backlog) for sub in figures.subscriptions)
        return replace(figures, from_mono_ns=until_ns - length_ns, until_mono_ns=until_ns, subscriptions=behind)


def test_the_backlog_at_the_windows_end_is_not_that_of_a_second_later(scene: Scene) -> None:
    scene.worker = DriftingWorker(scene.journal)
    result = scene.run(replace(SPEC, measure_s=0.6))
    assert result.subscriptions[0].window_end_backlog == 3
    assert scene.store.phases.count("measure") <= round(0.6 / SECOND_S), "no second of what follows is of the window"


def test_the_backlog_at_the_end_of_a_window_that_ends_within_a_second_is_not_that_of_another_time(scene: Scene) -> None:
    scene.worker = DriftingWorker(scene.journal)
    scene.worker.totals_script = [totals_of(window(0, 10**9, 1000), subscription(backlog=42))] * 2
    scene.worker.totals_script += [totals_of(window(0, 10**9, 1000), subscription(backlog=0))]
    result = scene.run(replace(SPEC, measure_s=0.61))
    assert result.subscriptions[0].window_end_backlog == 42


def _timed(until_ns: int) -> TimedPoint:
    return TimedPoint(until_ns, SecondPoint(1000.0, 4.0, 0))


@pytest.mark.parametrize("drift_ns", [-6_000_000, -1_000, 0, 1_000, 6_000_000])
def test_a_second_is_of_the_window_whose_edges_drift_against_its_own(drift_ns: int) -> None:
    history = SecondHistory()
    for second in range(1, 21):
        history.append(_timed(second * SECOND_NS + drift_ns))
    assert len(history.points_between(5 * SECOND_NS, 13 * SECOND_NS)) == 8


class Reader:
    """A follower whose seconds' figures arrive 0.1 s after their end, on a clock of its own."""

    def __init__(self, compiles_s: int = 0) -> None:
        self.points = SecondHistory()
        self._compiles_s = compiles_s

    def follow_until(self, mono_ns: int) -> None:
        while self.follow_until_next_second(mono_ns):
            pass

    def follow_until_next_second(self, deadline_mono_ns: int) -> bool:
        ends_ns = (len(self.points) + 1) * 1_000_000_000
        if ends_ns + 100_000_000 > deadline_mono_ns:
            return False
        jit_cpus = 0.3 if len(self.points) < self._compiles_s else 0.0
        self.points.append(TimedPoint(ends_ns, SecondPoint(1000.0, 4.0, 0, jit_cpus=jit_cpus)))
        return True


@pytest.mark.parametrize(("warmup_s_max", "steady"), [(6.0, False), (7.0, True)])
def test_seven_seconds_of_warm_up_are_enough_to_judge_it(warmup_s_max: float, steady: bool) -> None:
    reader = Reader()
    waiting: Any = SimpleNamespace(spec=replace(SPEC, warmup_s_min=1.0, warmup_s_max=warmup_s_max))
    unsteady, _ = trial._warm_up(waiting, reader, 0)  # type: ignore[arg-type]
    assert (unsteady == "") == steady
    assert len(reader.points) == warmup_s_max, "not a second more than allowed"
    assert (too_short_to_judge(warmup_s_max) == "") == steady, "the rule that is stated is the one that is used"


@pytest.mark.parametrize(
    ("compiles_s", "warmup_s", "lasts_s", "cold"),
    [
        (0, (1.0, 30.0), 7, ""),
        (12, (1.0, 30.0), 14, ""),
        (100, (1.0, 30.0), 30, "its JIT compiler took 0.3 of a CPU in its last 3 s"),
        (100, (9.0, 9.0), 8, ""),
    ],
    ids=["never compiled", "quiet after 12 s", "never quiet", "of fixed length"],
)
def test_a_warm_up_also_waits_for_the_compiler(
    compiles_s: int, warmup_s: tuple[float, float], lasts_s: int, cold: str
) -> None:
    reader = Reader(compiles_s)
    waiting: Any = SimpleNamespace(spec=replace(SPEC, warmup_s_min=warmup_s[0], warmup_s_max=warmup_s[1]))
    assert trial._warm_up(waiting, reader, 0) == ("", cold)  # type: ignore[arg-type]
    assert len(reader.points) == lasts_s


def test_a_warm_up_at_another_rate_than_offered_is_never_steady() -> None:
    waiting: Any = SimpleNamespace(spec=replace(SPEC, msgs_per_s=2000.0, warmup_s_min=1.0, warmup_s_max=9.0))
    unsteady, _ = trial._warm_up(waiting, Reader(), 0)  # type: ignore[arg-type]
    assert unsteady.startswith("the load is behind its schedule: 1,000 instead of 2,000 msg/s")


def test_a_result_is_judged_by_the_seconds_before_the_window_too(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = trial.make_result, []

    def kept(spec: LoadSpec, totals: Any, observed: Any) -> LoadResult:
        seen.append(observed)
        return real(spec, totals, observed)

    monkeypatch.setattr(trial, "make_result", kept)
    scene.run()
    (observed,) = seen
    assert observed.warm_up
    assert observed.seconds


def test_a_disk_that_is_still_slow_is_reported_with_the_result(scene: Scene) -> None:
    result = scene.run()
    assert result.disk_fsync_ms is None
    assert not any("disk was slow" in warning for warning in texts_of(result.warnings))

    def slow(directory: Path) -> Calm:
        return Calm(FsyncLatency(10, 12.0, 60.0), 0.06, 5.0, False)

    again = Scene(scene.path / "again")
    again.host.calm_disk = slow  # type: ignore[method-assign]
    result = again.run()
    assert result.disk_fsync_ms == 12.0
    (warning,) = [warning.text for warning in result.warnings if warning.kind is ReasonKind.DISK_SLOW]
    assert "12 ms" in warning
    assert "0.06 ms" in warning


def test_no_disk_is_waited_for_or_watched_where_there_are_no_servers(scene: Scene) -> None:
    scene.host.calm_disk = lambda _: pytest.fail("no servers write anywhere")  # type: ignore[method-assign]
    assert scene.run(replace(SPEC, serverless=True)).disk_fsync_ms is None
    started = {event.phase: event.detail for event in scene.events if isinstance(event, PhaseStarted)}
    assert "settle" not in started
    assert started["start"].startswith("the load generator for ")


def test_what_is_waited_for_before_a_trial_is_what_is_said(scene: Scene) -> None:
    scene.run()
    (settling,) = [
        event.detail for event in scene.events if isinstance(event, PhaseStarted) and event.phase == "settle"
    ]
    assert settling == "disks", "nothing decides by what others do to CPUs in this scene"

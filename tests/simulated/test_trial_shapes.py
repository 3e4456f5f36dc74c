"""Results of trials that only read, and of those whose rate changes; progress of what is slow; topics that stay."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from campaign_doubles import histogram, subscription, totals_of, window
from reader_scenes import LEVEL, NOTHING, READING, reader
from reasons import texts_of
from trial_scenes import SPEC

from tidegauge.campaign.run.figures import Follower
from tidegauge.campaign.run.topics import TopicLedger, delete_recorded, topics_remaining
from tidegauge.campaign.run.trial.order import load_order
from tidegauge.campaign.run.trial.prepare import TrialProgress
from tidegauge.campaign.run.trial.result import Measuring, Observed, make_result, read_result
from tidegauge.comparison.compared_trials import sort_compared_trials
from tidegauge.model.events import PhaseProgress, PhaseStarted
from tidegauge.model.level import LevelChoice, LevelFinding, SettingChange
from tidegauge.model.load import RecordFigures, SecondFigures, SubscriptionSecond
from tidegauge.model.trial import LoadSpec, RateRule, ReadSpec, ReadSubscription, Validity
from tidegauge.model.workload import RatePhase, RateSchedule, SubscriptionType
from tidegauge.report.live import LiveState, advance, plain_lines, progress_words, second_words
from tidegauge.report.tables import footnotes, records_table
from tidegauge.statistics.classify import FAILED_CHECK, OK
from tidegauge.statistics.steady import SecondPoint
from tidegauge.systems.api import TopicTerms
from tidegauge.systems.attach import AttachChoice

KNOWN = Measuring(1, ("worker",), "", 0, 10**9, 2 * 10**9, "", "", LEVEL, None)


def test_reading_while_settings_change_is_doubtful() -> None:
    changed = replace(LEVEL, changes=(SettingChange("topic orders", "retention.ms", "1000", "60000"),))
    result = read_result(READING, totals_of(NOTHING, reader(4000)), "", changed)
    assert result.validity is Validity.DOUBTFUL
    assert "settings changed while it was measured" in str(result.reasons[0])
    # What an acknowledgement means is nothing that a reader asks.
    assert read_result(READING, totals_of(NOTHING, reader(4000)), "", LevelFinding(None, ())).validity is Validity.VALID


def test_the_rate_of_reading_is_that_between_first_and_last_receipt() -> None:
    result = read_result(READING, totals_of(NOTHING, reader(4000, foreign=4000), reader(4000, name="sub-1")), "", LEVEL)
    assert (result.msgs_per_s, result.mb_per_s) == pytest.approx((4000, 2.0))
    assert (result.measured_s, result.validity, result.status) == (2.0, Validity.VALID, OK)
    assert result.subscriptions == (
        ReadSubscription(name="sub-0", received=4000, corrupt=0, foreign=4000, verified=0),
        ReadSubscription(name="sub-1", received=4000, corrupt=0, foreign=0, verified=0),
    )


def test_nothing_read_is_no_figure_and_damage_is_a_failed_check() -> None:
    empty = reader(0, first_received_mono_ns=0, last_received_mono_ns=0)
    result = read_result(READING, totals_of(NOTHING, empty), "", LEVEL)
    assert (result.validity, result.msgs_per_s) == (Validity.INVALID, 0)
    assert "no message was received" in str(result.reasons[0])
    damaged = read_result(READING, totals_of(NOTHING, reader(10, verified=10, corrupt=1)), "", LEVEL)
    assert (damaged.status, damaged.validity) == (FAILED_CHECK, Validity.DOUBTFUL)


def test_a_moment_of_reading_is_reported_to_be_one() -> None:
    brief = reader(1000, last_received_mono_ns=10**9 + 50_000_000)
    (warning,) = texts_of(read_result(READING, totals_of(NOTHING, brief), "", LEVEL).warnings)
    assert "within 50 ms" in warning


def test_readers_start_paused_so_that_nothing_is_read_before_the_clock_starts() -> None:
    terms = TopicTerms({}, 1)
    system = SimpleNamespace(driver="kafka", name="kafka", topic_terms=lambda _: terms, client_acks=lambda *_: "all")
    deployment: Any = SimpleNamespace(connection={})
    order = load_order(READING, system, deployment, ("orders",), Path("/x"))  # type: ignore[arg-type]
    assert order.consumers_start_paused
    assert not load_order(SPEC, system, deployment, ("t",), Path("/x")).consumers_start_paused  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "phase", "rate", "backlog", "workers"),
    [(SPEC, "warm-up", 900.0, 7, (600.0, 300.0)), (READING, "read", 700.0, None, (500.0, 200.0))],
)
def test_seconds_of_reading_have_a_phase_and_rates_of_their_own_and_no_backlog(
    spec: LoadSpec | ReadSpec, phase: str, rate: float, backlog: int | None, workers: tuple[float, ...]
) -> None:
    """900 messages are acknowledged and 700 received in a second, by two load generators."""
    each = tuple(
        SimpleNamespace(worker=number, scheduled_msgs_per_s=1.0, acked=acked, received=received, own_lag_ns_max=0)
        for number, acked, received in ((1, 600, 500), (2, 300, 200))
    )
    read = SubscriptionSecond("sub-0", 700, 700, 7, 0, 0, 0, b"")
    second = SecondFigures(
        second=0, from_mono_ns=0, until_mono_ns=10**9, scheduled_msgs_per_s=0.0, sent=900, acked=900, failed=0,
        acked_bytes=900, in_flight=0, blocked_ns=0, own_lag_ns_max=0, response=b"", service=b"", delay=b"",
        subscriptions=(read,), worker_cpu_ns=0, gc_pause_ns=0, heap_used_bytes=0,
    )  # fmt: skip
    phases: list[str] = []
    events: list[Any] = []
    store: Any = SimpleNamespace(append_second=lambda _, phase: phases.append(phase))
    worker: Any = SimpleNamespace(watch=lambda _=0: iter([replace(second, workers=each)]))  # type: ignore[arg-type]
    follower = Follower(spec, worker, store, events.append, lambda: None)
    assert follower.follow_until_next_second(time.monotonic_ns() + 60 * 10**9)
    (seen,) = events
    assert (phases, seen.msgs_per_s, seen.backlog) == ([phase], rate, backlog)
    assert tuple(own.msgs_per_s for own in seen.workers) == workers
    assert f"backlog {'-' if backlog is None else backlog}" in second_words(seen)


def test_a_window_that_works_off_the_backlog_of_the_warm_up_is_doubtful() -> None:
    """6 s of load wait for the consumers when the window begins, and 0.2 s fewer each second."""
    falling = [SecondPoint(1000.0, 8.0, 10_000 - 200 * s, p50_ms=4.0) for s in range(40)]
    level = [SecondPoint(1000.0, 8.0, 6000, p50_ms=4.0)] * 40

    def reasons(points: list[SecondPoint]) -> tuple[str, ...]:
        observed = Observed(KNOWN, tuple(points[20:]), "drained", warm_up=points[:20])
        return texts_of(make_result(SPEC, totals_of(window(0, 20 * 10**9, 1000.0), subscription()), observed).reasons)

    assert reasons(level) == ()
    (reason,) = reasons(falling)
    assert "consumers about 5.8 s behind when it began and 2.5 s at its end" in reason


def scheduled() -> Any:
    steps = RateSchedule((RatePhase(100, 100, 10, 0), RatePhase(300, 300, 10, 1)), ("low", "high"))
    spec = replace(SPEC, schedule=steps, msgs_per_s=100.0, measure_s=20.0, rate_rule=RateRule("steps"))
    records = tuple(
        RecordFigures(count, count, 0, within, histogram([ms], count), histogram([ms], count), b"")
        for count, within, ms in ((1000, 990, 2.0), (3000, 2500, 40.0))
    )
    figures = window(0, 20 * 10**9, 200.0, records=records)
    sub = subscription(record_end_to_end=(histogram([3.0], 1000), histogram([50.0], 3000)))
    observed = Observed(KNOWN, (), "drained")
    return make_result(spec, totals_of(figures, sub), observed)


def test_each_step_has_its_own_rate_and_latency() -> None:
    result = scheduled()
    low, high = result.records
    assert (low.name, low.offered_msgs_per_s, low.msgs_per_s, low.intended) == ("low", 100, 99, 1000)
    assert (high.offered_msgs_per_s, high.msgs_per_s) == (300, 250)
    assert low.response.p50_ms == pytest.approx(2.0, rel=0.01)
    assert high.end_to_end.p50_ms == pytest.approx(50.0, rel=0.01)
    assert result.offered_msgs_per_s == pytest.approx(200)


def test_the_table_of_steps_has_a_row_for_each() -> None:
    (block,) = sort_compared_trials([scheduled()])
    table = records_table(block)
    assert table is not None
    assert [label.split()[-1] for label in table.labels] == ["low", "high"]


def test_reports_say_what_a_type_of_subscription_leaves_unchecked() -> None:
    shared = replace(SPEC.workload, subscription_type=SubscriptionType.SHARED)
    one = replace(scheduled(), spec=replace(SPEC, workload=shared))
    (block,) = sort_compared_trials([one])
    assert any("promise no order" in note for note in footnotes(block))
    alone = replace(one, spec=replace(SPEC, workload=replace(SPEC.workload, subscriptions=0)), subscriptions=())
    (block,) = sort_compared_trials([alone])
    assert any("Nobody read" in note for note in footnotes(block))


def test_progress_says_how_long_it_may_take_yet() -> None:
    seen: list[Any] = []
    times: Iterator[float] = iter([0.0, 1.0, 10.0, 10.0])
    progress = TrialProgress(seen.append, "0001", lambda: next(times))
    progress.report("partitions", 0, 1000)
    progress.report("partitions", 100, 1000)
    progress.report("partitions", 500, 1000)
    progress.report("consumers", 1, 2)
    assert [event.seconds_left for event in seen] == [None, None, 10.0, None]
    assert progress_words(seen[2]) == "partitions: 500 of 1,000, about 10 s left"
    assert isinstance(seen[0], PhaseProgress)


def test_topics_that_stay_are_recorded_apart_from_those_to_delete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path))
    choice = AttachChoice({"bootstrap-servers": "h:1"})
    ledger = TopicLedger.open("kafka", "kafka@attached", choice, LevelChoice(4), "run-1")
    ledger.keep(77, "orders", "payments")
    done: list[Any] = []
    worker: Any = SimpleNamespace(
        delete_topics=lambda *call: done.append(("delete", *call)),
        remove_subscriptions=lambda *call: done.append(("leave", *call)),
    )
    delete_recorded(ledger.record, worker, "kafka", {})
    assert done == [("leave", "kafka", {}, ["orders", "payments"], 77)]
    words = topics_remaining(ledger, "no answer")
    assert "groups or subscriptions of ours may remain" in words
    ledger.close()
    (left,) = (tmp_path / "attached").glob("*.json")
    assert "payments" in left.read_text()


def test_a_log_says_how_far_a_slow_phase_has_come_every_ten_seconds() -> None:
    state = advance(LiveState(), PhaseStarted("0001", "prepare", "topics", None), 0.0)
    lines: list[str] = []
    for second in range(1, 31):
        event = PhaseProgress("0001", "partitions", second * 300, 10_000, 60.0)
        lines += plain_lines(state, event, float(second))
        state = advance(state, event, float(second))
    assert lines[0] == "0001: creating partitions: 3,000 of 10,000, about 1 min left"
    assert len(lines) == 3
    assert state.detail == "partitions: 9,000 of 10,000, about 1 min left"

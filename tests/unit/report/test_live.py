"""The live view and the plain lines of a run that goes on."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console
from run_samples import result, spec
from worker_samples import worker_seen

from tidegauge.experiments.procedure import seconds_expected
from tidegauge.model.events import (
    Event,
    FetchProgress,
    Note,
    PhaseStarted,
    RunStarted,
    SecondSeen,
    TrialEnded,
    UnequalFound,
)
from tidegauge.model.tilt import Severity, Stage, Tilt
from tidegauge.model.trial import LoadSpec
from tidegauge.model.workload import LateReaders
from tidegauge.numbers import duration
from tidegauge.report.live import LiveState, advance, is_lasting, live_view, plain_lines, seconds_left

TRIALS = (spec(), spec("pulsar@4.2.4", number=2))
EACH_S = seconds_expected(spec())
BEGIN = RunStarted("runs/x", TRIALS, 2 * EACH_S)


def seen(rate: float = 20_000.0) -> SecondSeen:
    return SecondSeen(TRIALS[0].trial_id, rate, 20.5, 7.8, None, 1_234)


def phase(name: str, trial: int = 0, limit: float | None = None) -> PhaseStarted:
    return PhaseStarted(TRIALS[trial].trial_id, name, "", limit)


def after(*events: tuple[float, Event]) -> LiveState:
    state = LiveState()
    for now_s, event in events:
        state = advance(state, event, now_s)
    return state


def shown(state: LiveState, now_s: float) -> str:
    stream = io.StringIO()
    Console(file=stream, width=100).print(live_view(state, now_s))
    return stream.getvalue()


def test_phase_time_left_and_figures_are_shown() -> None:
    state = after((0, BEGIN), (1, phase("start")), (5, phase("measure", limit=30)), (10, seen()))
    text = shown(state, 15)
    assert "Trial 1 of 2: latency on kafka@4.3.1" in text
    left = duration(float(round(2 * EACH_S - 14)))
    assert f"measuring: 20 s left, about {left} left in all" in text
    assert "20,000 msg/s, 20.5 MB/s, response p99 7.80 ms, end-to-end p99 - ms, backlog 1,234" in text


def test_time_left_never_goes_below_zero_and_fetching_does_not_count() -> None:
    assert seconds_left(LiveState(), 5) is None
    assert "Before the first trial" in shown(after((0, PhaseStarted("", "fetch", "Apache Kafka 4.3.1", None))), 5)
    fetching = after((0, BEGIN), (0, PhaseStarted("", "fetch", "Apache Kafka 4.3.1", None)))
    assert seconds_left(fetching, 500) == 2 * EACH_S
    assert "Before the first of 2 trials" in shown(fetching, 500)
    late = after((0, BEGIN), (0, phase("start")), (900, phase("measure", limit=30)))
    assert seconds_left(late, 1000) == EACH_S
    assert "0 s left" in shown(late, 1000)


def test_a_long_trial_counts_with_its_own_length() -> None:
    long = replace(TRIALS[1], measure_s=3600.0)
    state = after((0, RunStarted("runs/x", (TRIALS[0], long), 0.0)), (0, phase("start")))
    ended = advance(state, TrialEnded(TRIALS[0], result(), ""), 60)
    assert (seconds_left(ended, 60) or 0.0) > 3600


def test_trials_so_far_and_failures_stay_in_view() -> None:
    state = after(
        (0, BEGIN),
        (1, phase("start")),
        (50, TrialEnded(TRIALS[0], result(TRIALS[0]), "")),
        (51, phase("start", 1)),
        (60, TrialEnded(TRIALS[1], None, "pulsar-1 ended with exit code 1")),
    )
    text = shown(state, 61)
    assert "0001-latency-kafka: 20,000 msg/s, response p50 1.20, p99 7.80 ms: valid" in text
    assert "0002-latency-pulsar: failed: pulsar-1 ended with exit code 1" in text


def test_an_error_is_said_once() -> None:
    why = "no broker reachable at localhost:1 (connection refused)"
    failed = [(float(n), TrialEnded(trial, None, why)) for n, trial in enumerate(TRIALS[:2], 1)]
    text = shown(after((0, BEGIN), *failed), 3)
    assert f"0001-latency-kafka: failed: {why}" in text
    assert "0002-latency-pulsar: failed for the same reason as 0001-latency-kafka" in text
    assert text.count(why) == 1
    # Of a run of one trial the error of the run says it, which follows.
    only = after((0, RunStarted("runs/x", TRIALS[:1], 10.0)))
    assert plain_lines(only, failed[0][1], 1.0) == ["0001-latency-kafka: failed"]


def test_a_long_run_shows_the_latest_trials_only() -> None:
    ends = [(float(n), TrialEnded(TRIALS[0], result(TRIALS[0]), "")) for n in range(20)]
    text = shown(after((0, BEGIN), *ends), 21)
    assert "12 earlier trials" in text
    assert len(text.splitlines()) < 12


def test_plain_lines_for_each_phase_and_every_ten_seconds() -> None:
    events: list[tuple[float, Event]] = [
        (0, BEGIN),
        (0, Note("Ended processes left by an earlier run: kafka-1.")),
        (1, phase("warm-up", limit=15)),
        *[(1.5 + n, seen()) for n in range(25)],
        (30, TrialEnded(TRIALS[0], None, "the disk is full")),
    ]
    state, lines = LiveState(), []
    for now_s, event in events:
        lines += plain_lines(state, event, now_s)
        state = advance(state, event, now_s)
    assert lines[0] == "Run directory: runs/x"
    assert lines[2] == "Note: Ended processes left by an earlier run: kafka-1."
    assert lines[3] == "0001-latency-kafka: warming up, at most 15 s"
    assert [line for line in lines if "msg/s" in line and "backlog" in line].__len__() == 2
    assert lines[-1] == "0001-latency-kafka: failed: the disk is full"


def test_an_unequal_comparison_is_marked_all_the_while() -> None:
    tilt = Tilt("batch-delay", Severity.UNEQUAL, Stage.WANTED, ("a",), "what", "why", "amount", "source", "remedy")
    event = UnequalFound(tilt)
    state = after((0, BEGIN), (1, event), (2, phase("start")), (5, phase("measure", limit=30)), (10, seen()))
    assert "UNEQUAL comparison: batch-delay" in shown(state, 15)
    assert plain_lines(LiveState(), event, 0) == [f"UNEQUAL: {tilt.paragraph()}"]
    assert "UNEQUAL" not in shown(after((0, BEGIN), (2, phase("start"))), 15)


def test_a_download_is_one_line_that_moves() -> None:
    fetching = after((0, BEGIN), (0, PhaseStarted("", "fetch", "Apache Kafka 4.3.1", None)))
    state = advance(fetching, FetchProgress("Fetching kafka 4.3.1: 22 files so far."), 5)
    state = advance(state, FetchProgress("Fetching kafka 4.3.1: 35 files so far."), 10)
    assert shown(state, 11).count("files so far") == 1
    assert "35 files so far" in shown(state, 11)
    assert not is_lasting(FetchProgress("x"))
    assert "files" not in shown(advance(state, phase("start"), 12), 12), "over"


def test_a_log_gets_a_line_for_each_download_and_for_a_long_one_now_and_then() -> None:
    state, lines = after((0, PhaseStarted("", "fetch", "Apache Kafka 4.3.1", None))), []
    for now_s in range(1, 100, 5):
        what = f"Fetching {'kafka' if now_s < 80 else 'pulsar'}"
        event = FetchProgress(f"{what}: {now_s} files so far.", what)
        lines += plain_lines(state, event, now_s)
        state = advance(state, event, now_s)
    assert lines == [
        "Fetching kafka: 1 files so far.",
        "Fetching kafka: 31 files so far.",
        "Fetching kafka: 61 files so far.",
        "Fetching pulsar: 81 files so far.",
    ]


def test_several_load_generators_are_shown_with_what_each_achieved() -> None:
    event = replace(seen(), workers=tuple(worker_seen(number) for number in (1, 2, 3)))
    text = shown(after((0, BEGIN), (1, phase("measure", limit=30)), (2, event)), 3)
    assert "load generators, msg/s of offered: 1: 6,660 of 6,667, 2: 6,660 of 6,667, 3: 6,660 of 6,667" in text
    closed = replace(seen(), workers=tuple(worker_seen(number, offered_msgs_per_s=None) for number in (1, 2)))
    text = shown(after((0, BEGIN), (1, phase("measure", limit=30)), (2, closed)), 3)
    assert "load generators, msg/s: 1: 6,660, 2: 6,660\n" in text
    assert "load generators" not in shown(after((0, BEGIN), (1, phase("measure", limit=30)), (2, seen())), 3)


def test_of_very_many_load_generators_those_furthest_behind_are_shown() -> None:
    many = tuple(worker_seen(number, 6_667.0 - (number == 77)) for number in range(1, 101))
    text = " ".join(shown(after((0, BEGIN), (1, phase("measure")), (2, replace(seen(), workers=many))), 3).split())
    assert "77: 6,666 of 6,667, and 92 more" in text


def test_what_a_number_of_messages_is_expected_to_take_is_no_time_that_is_left() -> None:
    counted = replace(TRIALS[0], messages=10**6)
    begin = RunStarted("runs/x", (counted, TRIALS[1]), 0.0)
    text = shown(after((0, begin), (1, phase("start")), (5, phase("measure", limit=30)), (10, seen())), 65)
    assert "measuring: 1 min so far, about" in text
    assert "0 s left" not in text


@pytest.mark.parametrize(
    "unknown",
    [
        replace(TRIALS[1], late=LateReaders(1, 1000, "1k messages", 0.99, 300.0), msgs_per_s=None),
        replace(TRIALS[1], messages=10**6, msgs_per_s=None, measure_s=30.0, measure_s_max=3600.0),
    ],
)
def test_no_time_is_left_in_all_where_a_trial_to_come_is_of_unknown_length(unknown: LoadSpec) -> None:
    state = after((0, RunStarted("runs/x", (TRIALS[0], unknown), 0.0)), (1, phase("start")))
    assert "left in all" not in shown(state, 10)
    ended = advance(state, TrialEnded(unknown, result(), ""), 60)
    assert "left in all" in shown(advance(ended, phase("start"), 61), 62)


def test_a_log_says_of_backlogs_written_at_an_unknown_rate_what_they_take_at_most() -> None:
    late = replace(TRIALS[0], msgs_per_s=None, late=LateReaders(1, 1000, "1k messages", 0.99, 300.0))
    for trials, amount in (((late, TRIALS[1]), "up to 1 min"), (TRIALS, "about 1 min")):
        assert f"2 trials, {amount} once all" in plain_lines(LiveState(), RunStarted("x", trials, 60.0), 0.0)[1]

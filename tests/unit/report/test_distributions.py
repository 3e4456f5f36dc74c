"""What whole distributions add: repeated trials merged, and single ones by their seconds."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from distribution_samples import blocks_of, stored
from rich.console import Console, Group
from run_samples import result, spec

from tidegauge import store
from tidegauge.model.workload import Arrival
from tidegauge.report.distributions import intervals_within_trials, merge_trials, parts
from tidegauge.report.plots.overview import overview
from tidegauge.report.summary import run_summary
from tidegauge.statistics.intervals import Method
from tidegauge.store import details
from tidegauge.store.details import read_details, response_by_stretch, window_rows


def shown(run: store.StoredRun) -> str:
    stream = io.StringIO()
    shown_parts = parts(run, intervals_within_trials(run))
    Console(file=stream, width=100, markup=False, highlight=False).print(Group(*shown_parts))
    assert max(map(len, stream.getvalue().splitlines()), default=0) <= 100
    return " ".join(stream.getvalue().split())


def test_percentiles_of_repeats_come_from_all_their_messages(tmp_path: Path) -> None:
    """The p99s of the trials are 1, 2 and 3 ms; that of all messages is 2 ms, which no average had to give."""
    run = stored(tmp_path, blocks_of(3), seconds=2)
    (found,) = merge_trials(run)
    assert (found.trials, found.response.count) == (3, 3 * 1030)
    assert found.response.p50_ms == pytest.approx(1.0, rel=0.002)
    assert found.response.p99_ms == pytest.approx(2.0, rel=0.002)
    assert (
        "All usable trials merged - latency, kafka@4.3.1: response p50 1.00, p99 2.00 ms of 3,090 messages in 3"
        in shown(run)
    )
    assert run_summary(run)["merged"][0]["trials"] == 3
    assert intervals_within_trials(run) == []


def test_a_part_of_the_trials_is_not_passed_off_as_all(tmp_path: Path) -> None:
    run = stored(tmp_path, blocks_of(3), seconds=2)
    (run.trials[1].directory / "window.hlog").write_text("damaged")
    assert merge_trials(run) == []


def test_a_single_trial_is_reported_by_its_seconds_and_labelled(tmp_path: Path) -> None:
    run = stored(tmp_path, blocks_of(1))
    assert merge_trials(run) == []
    p50, p99 = intervals_within_trials(run)
    assert (p50.figure, p99.figure) == ("response p50", "response p99")
    assert p99.interval.method is Method.WITHIN_TRIAL
    assert p99.interval.low < p99.interval.estimate <= p99.interval.high
    assert "it does not predict other trials" in shown(run)
    assert "latency, kafka@4.3.1: response p99 -" in shown(run)
    assert run_summary(run)["within_trial"][1]["interval"]["method"] == Method.WITHIN_TRIAL.value


def test_a_closed_loop_is_reported_by_its_rate(tmp_path: Path) -> None:
    trial = spec(experiment="peak")
    closed = replace(trial, workload=replace(trial.workload, arrival=Arrival.CLOSED_LOOP))
    (found,) = intervals_within_trials(stored(tmp_path, [result(closed)]))
    assert (found.figure, found.unit) == ("rate", "msg/s")
    assert found.interval.estimate == pytest.approx(19_990)


def test_only_the_windows_seconds_count(tmp_path: Path) -> None:
    """The window lasts from 5 s to 35 s of the clock, the seconds until 45 s."""
    (trial,) = stored(tmp_path, blocks_of(1)).trials
    details = read_details(trial)
    assert [row["second"] for row in window_rows(details)] == list(range(30))
    by_second = response_by_stretch(details)
    assert len(by_second) == 30
    assert by_second[7].max_ns() == pytest.approx(2_700_000, rel=0.002)
    # A second that is partly warm-up, or partly drain, is no second of the window.
    inside = replace(details, window_ns=(5_500_000_000, 34_500_000_000))
    assert [row["second"] for row in window_rows(inside)] == list(range(1, 29))


def test_long_windows_are_read_by_stretches_and_very_long_ones_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (trial,) = stored(tmp_path, blocks_of(1)).trials
    monkeypatch.setattr(details, "STRETCHES_MAX", 12)
    stretches = response_by_stretch(read_details(trial))
    assert [stretch.count for stretch in stretches] == [3 * 51] * 10
    monkeypatch.setattr(details, "WINDOW_SECONDS_MAX", 29)
    assert response_by_stretch(read_details(trial)) == []


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    run = stored(tmp_path, blocks_of(1))
    (run.trials[0].directory / "response.hlog").write_text("damaged")
    assert intervals_within_trials(run) == []
    assert list(parts(run, intervals_within_trials(run))) == []
    (run.trials[0].directory / "result.json").unlink()
    assert window_rows(read_details(run.trials[0])) == []


def test_a_trial_has_its_own_interval_where_an_experiment_is_listed_at_two_rates(tmp_path: Path) -> None:
    run = stored(tmp_path, [result(spec(number=1)), result(replace(spec(number=2), msgs_per_s=90_000.0))])
    slow, fast = (spread for spread in intervals_within_trials(run) if spread.figure == "response p99")
    far = replace(slow, interval=replace(slow.interval, low=0.001, high=5000.0))
    picture = overview(run, [far, fast])
    assert picture is not None
    assert [(series.x[0], series.high[0]) for series in picture.series] == [
        (20_000.0, 5000.0),
        (90_000.0, max(fast.interval.high, 7.8)),
    ]
    assert run_summary(run)["within_trial"][0]["trial_id"] == "0001-latency-kafka"

"""OMB's JSON from hand-written histograms: every field, its unit, its meaning."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from omb_samples import ENDS, FIELDS, LATENCY
from run_samples import encoded, result, second, spec, totals

from tidegauge import store
from tidegauge.model.workload import Workload
from tidegauge.statistics.histograms import EMPTY, decode_histogram
from tidegauge.store import omb
from tidegauge.store.hlog import LogInterval
from tidegauge.store.omb import omb_result, periods_of, quantiles

MS, US, SECOND = 1_000_000, 1_000, 1_000_000_000
WORKLOAD = Workload(topics=2, partitions=3, producers=4, consumers=5)


BEGIN = 5 * SECOND


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Any]:
    """A trial of 27 seconds of which the first two are warm-up: periods of 10, 10 and 5 seconds."""
    return of_window(tmp_path, BEGIN + 2 * SECOND, BEGIN + 27 * SECOND)


def of_window(tmp_path: Path, from_ns: int, until_ns: int) -> dict[str, Any]:
    """The result of 27 seconds of which so much was measured."""
    begin = BEGIN
    trial = store.create_run(tmp_path, "q", "").open_trial(spec())
    for number in range(27):
        sample = second(number)
        one = replace(
            sample.subscriptions[0], received=500, backlog=number, end_to_end=encoded(3 * MS) if number > 2 else b""
        )
        trial.append_second(
            replace(
                sample,
                from_mono_ns=begin + number * SECOND,
                until_mono_ns=begin + (number + 1) * SECOND,
                acked=100 if number < 12 else 200,
                failed=1,
                service=encoded(*[2 * MS] * 3) if number < 12 else encoded(8 * MS),
                delay=encoded(50 * US) if number else b"",
                subscriptions=(one, replace(one, name="sub-1", end_to_end=encoded(6 * MS) if number > 2 else b"")),
            )
        )
    whole = totals()
    window = replace(
        whole.window,
        from_mono_ns=from_ns,
        until_mono_ns=until_ns,
        service=encoded(*[MS] * 90, *[5 * MS] * 10),
        delay=encoded(*[10 * US] * 99, 700 * US),
    )
    subscription = replace(whole.subscriptions[0], end_to_end=encoded(4 * MS))
    both = (subscription, replace(subscription, name="sub-1", end_to_end=encoded(*[9 * MS] * 3)))
    trial.finish(result(), replace(whole, window=window, subscriptions=both))
    return omb_result(trial.directory, ("a workload", "a driver"), WORKLOAD)


def test_it_has_all_fields_of_ombs_result_and_no_others(written: dict[str, Any]) -> None:
    assert set(written) == FIELDS
    assert [written[name] for name in ("workload", "driver", "messageSize", "topics")] == [
        "a workload",
        "a driver",
        1024,
        2,
    ]
    assert [written[name] for name in ("partitions", "producersPerTopic", "consumersPerTopic")] == [3, 4, 5]


def test_periods_are_ten_seconds(written: dict[str, Any]) -> None:
    assert written["publishRate"] == [100, 200, 200]
    assert written["publishErrorRate"] == [1, 1, 1]
    assert written["consumeRate"] == [1000, 1000, 1000]
    assert written["backlog"] == [22, 42, 52]
    assert all(len(written[f"{name}{end}"]) == 3 for name in LATENCY for end in ENDS)


def test_a_window_without_a_whole_second_has_one_period(tmp_path: Path) -> None:
    """Of the two seconds that it touches, the one that has more of it: OMB's chart script takes a list's maximum."""
    found = of_window(tmp_path, BEGIN + 11 * SECOND + 600_000_000, BEGIN + 12 * SECOND + 450_000_000)
    assert found["publishRate"] == [200]
    assert found["publishLatency50pct"] == pytest.approx([8], rel=0.001)
    assert all(len(found[f"{name}{end}"]) == 1 for name in LATENCY for end in ENDS)


def test_a_long_trial_takes_no_longer_than_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """By CPU time, which no other load changes: seconds times seconds of a trial of a day would take hours."""
    seconds = range(10_000)
    intervals = [
        LogInterval(float(at), "", decode_histogram(encoded(2 * MS)) if at == seconds[-1] else EMPTY) for at in seconds
    ]
    monkeypatch.setattr(omb, "each_interval", lambda _: intervals)
    rows = [{"from_mono_ns": BEGIN + at * SECOND, "service_max_ms": 2.0} for at in seconds]
    before_s = time.process_time()
    found = omb._by_second(Path(), "service", rows)
    assert time.process_time() - before_s < 2
    assert list(found) == [row["from_mono_ns"] for row in rows]
    assert found[BEGIN + seconds[-1] * SECOND].count == 1


def test_ombs_charts_can_be_drawn(written: dict[str, Any]) -> None:
    """What its script bin/create_charts.py does with a result must not fail: maxima, and logarithms of shares."""
    for name in ("publishLatency99pct", "publishDelayLatency99pct", "publishRate", "publishErrorRate", "consumeRate"):
        assert max(written[name]) * 1.2 >= 0
    for name in ("endToEndLatency95pct", "endToEndLatencyAvg"):
        assert max(written[name]) > 0
    for name in LATENCY:
        shares = sorted(float(at) for at in written[f"aggregated{name[0].upper()}{name[1:]}Quantiles"])
        assert shares[-1] == 100
        assert all(math.log10(100 / (100 - share)) >= 0 for share in shares if share <= 99.999)


def test_a_short_rest_joins_the_period_before() -> None:
    rows = [{"from_mono_ns": n * SECOND, "until_mono_ns": (n + 1) * SECOND} for n in range(24)]
    assert [len(period) for period in periods_of(rows, 0)] == [10, 14]
    longer = [*rows, {"from_mono_ns": 24 * SECOND, "until_mono_ns": 25 * SECOND}]
    assert [len(period) for period in periods_of(longer, 0)] == [10, 10, 5]
    assert [len(period) for period in periods_of(rows[:3], 0)] == [3]


def test_publish_latency_is_from_the_send_in_ms_and_the_delay_in_us(written: dict[str, Any]) -> None:
    assert written["publishLatency50pct"] == pytest.approx([2, 8, 8], rel=0.001)
    assert written["publishDelayLatency50pct"] == [50, 50, 50]
    assert all(isinstance(value, int) for value in written["publishDelayLatencyMax"])
    assert written["aggregatedPublishLatencyAvg"] == pytest.approx(1.4, rel=0.001)
    assert written["aggregatedPublishLatency75pct"] == pytest.approx(1, rel=0.001)
    assert written["aggregatedPublishLatency95pct"] == pytest.approx(5, rel=0.001)
    assert (written["aggregatedPublishDelayLatency50pct"], written["aggregatedPublishDelayLatencyMax"]) == (10, 700)


def test_end_to_end_latency_is_that_of_all_subscriptions(written: dict[str, Any]) -> None:
    # The log of a series begins with its first sample, which is not the first second here.
    assert written["endToEndLatencyMax"] == pytest.approx([6, 6, 6], rel=0.001)
    assert written["endToEndLatency50pct"] == pytest.approx([3, 3, 3], rel=0.001)
    assert written["aggregatedEndToEndLatency50pct"] == pytest.approx(9, rel=0.001)
    assert written["aggregatedEndToEndLatencyAvg"] == pytest.approx(7.75, rel=0.001)


def test_quantiles_rise_to_the_maximum(written: dict[str, Any]) -> None:
    found = written["aggregatedPublishLatencyQuantiles"]
    assert found["90.0"] == pytest.approx(1, rel=0.001)
    assert found["100.0"] == written["aggregatedPublishLatencyMax"]
    values = [value for _, value in sorted((float(at), value) for at, value in found.items())]
    assert values == sorted(values)
    assert json.loads(json.dumps(written, allow_nan=False)) == written


def test_quantiles_can_be_drawn_as_ombs_charts_do() -> None:
    histogram = decode_histogram(encoded(*[number * MS for number in range(1, 1001)]))
    found = quantiles(histogram, MS)
    points = [(math.log10(100 / (100 - float(at))), value) for at, value in found.items() if float(at) <= 99.999]
    assert len(points) > 100
    assert found["50.0"] == pytest.approx(500, rel=0.001)
    assert found["99.9"] == pytest.approx(999, rel=0.001)


def test_nothing_recorded_is_zero_and_no_quantiles() -> None:
    assert quantiles(EMPTY, MS) == {}


def test_periods_are_as_long_as_a_fork_says() -> None:
    seconds = [{"from_mono_ns": n * 10**9, "until_mono_ns": (n + 1) * 10**9} for n in range(7)]
    assert [len(period) for period in periods_of(seconds, 0, 2.0)] == [2, 2, 2, 1]
    assert [len(period) for period in periods_of(seconds, 0, 1.0)] == [1] * 7

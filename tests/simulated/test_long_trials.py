"""A day of seconds through what control keeps and writes: memory stays, the files grow as documented."""

from __future__ import annotations

import base64
import json
import pickle
import random
import re
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hdrh.histogram import HdrHistogram

from tidegauge.campaign.run.figures import KEPT_MAX, Follower, SecondHistory, TimedPoint, _merge_points
from tidegauge.model.load import SecondFigures, SubscriptionSecond
from tidegauge.statistics.steady import SecondPoint, backlog_grows, drift_of_window, unsteady_because
from tidegauge.store.files import LineFile
from tidegauge.store.hlog import IntervalLog
from tidegauge.store.seconds import columns, row_of_second
from tidegauge.store.tables import write_parquet

DAY_S = 86_400
SECOND_NS = 10**9
ROOT = Path(__file__).parents[2]


def point(second: int, rate: float = 1000.0, backlog: int = 0) -> TimedPoint:
    return TimedPoint((second + 1) * SECOND_NS, SecondPoint(rate, 5.0 + second % 3, backlog, {"sub-0": backlog}))


def test_days_of_seconds_keeps_a_bounded_number_of_points() -> None:
    seen = SecondHistory()
    for second in range(DAY_S):
        seen.append(point(second))
    after_a_day = len(pickle.dumps(seen))
    for second in range(DAY_S, 4 * DAY_S):
        seen.append(point(second))
    assert len(seen) == 4 * DAY_S
    assert after_a_day < 2 << 20
    assert len(pickle.dumps(seen)) < 1.5 * after_a_day
    assert seen.last.until_mono_ns == 4 * DAY_S * SECOND_NS
    assert unsteady_because(seen.recent, 1000.0) == ""


def test_what_a_long_window_shows_is_what_it_did() -> None:
    """The same tests on merged seconds: a steady day is steady, one that drifts or falls behind is reported."""
    steady, drifting, behind = SecondHistory(), SecondHistory(), SecondHistory()
    for second in range(6 * 3600):
        steady.append(point(second))
        drifting.append(point(second, rate=1000.0 + second / 20))
        behind.append(point(second, backlog=second * 100))
    span = (3600 * SECOND_NS, 6 * 3600 * SECOND_NS)
    assert len(steady.points_between(*span)) == 5 * 3600
    assert (drift_of_window(steady.points_between(*span)), backlog_grows(steady.points_between(*span))) == ("", False)
    assert "rate was rising" in drift_of_window(drifting.points_between(*span))
    assert backlog_grows(behind.points_between(*span))


def test_a_short_trial_keeps_every_second_as_it_was() -> None:
    seen = SecondHistory()
    for second in range(KEPT_MAX - 1):
        seen.append(point(second, rate=float(second)))
    kept = seen.points_between(0, KEPT_MAX * SECOND_NS)
    assert [one.msgs_per_s for one in kept] == [float(second) for second in range(KEPT_MAX - 1)]


def figures(second: int, encoded: bytes) -> SecondFigures:
    subscription = SubscriptionSecond("sub-0", 50_000, 51_200_000, 12, 0, 0, 0, encoded)
    return SecondFigures(
        second=second,
        from_mono_ns=second * SECOND_NS,
        until_mono_ns=(second + 1) * SECOND_NS,
        scheduled_msgs_per_s=50_000.0,
        sent=50_000,
        acked=50_000,
        failed=0,
        acked_bytes=51_200_000,
        in_flight=100,
        blocked_ns=0,
        own_lag_ns_max=20_000,
        response=encoded,
        service=encoded,
        delay=encoded,
        subscriptions=(subscription,),
        worker_cpu_ns=SECOND_NS // 2,
        gc_pause_ns=0,
        heap_used_bytes=100 << 20,
    )


def test_the_steady_test_is_given_what_was_acknowledged_and_how_late() -> None:
    histogram = HdrHistogram(1, 2**42, 3)
    for value in range(1_000_000, 101_000_000, 1_000_000):
        histogram.record_value(value)
    one = figures(0, base64.b64decode(histogram.encode()))
    worker: Any = SimpleNamespace(watch=lambda: iter([one]))
    spec: Any = SimpleNamespace(
        workload=SimpleNamespace(subscriptions=1),
        faults=(),
        trial_id="001-x",
        most_msgs_per_s=0.0,
    )
    store: Any = SimpleNamespace(append_second=lambda *_: None)
    follower = Follower(spec, worker, store, lambda _event: None, lambda: None)
    assert follower.follow_until_next_second(time.monotonic_ns() + 60 * SECOND_NS)
    seen = follower.points.last.point
    assert (seen.msgs_per_s, seen.backlog) == (50_000.0, 12)
    assert seen.p50_ms == pytest.approx(50, rel=0.02)
    assert seen.p99_ms == pytest.approx(99, rel=0.02)


def test_hours_of_rows_become_parquet_one_at_a_time(tmp_path: Path) -> None:
    one = row_of_second(figures(0, b""))
    write_parquet(({**one, "second": second} for second in range(3600)), tmp_path / "hour.parquet", columns())
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    write_parquet(({**one, "second": second} for second in range(5 * 3600)), tmp_path / "hours.parquet", columns())
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024
    # All rows at once would take more than 60 MiB.
    assert grown_mib < 32


def test_an_hour_on_disk_is_as_documented(tmp_path: Path) -> None:

    histogram = HdrHistogram(1, 2**42, 3)
    for value in random.Random(1).choices(range(200_000, 9_000_000), k=5_000):
        histogram.record_value(value)
    encoded = base64.b64decode(histogram.encode())
    log = IntervalLog(tmp_path / "response.hlog")
    for second in range(10):
        log.append(encoded, second * SECOND_NS, (second + 1) * SECOND_NS)
    log.close()
    a_second = (
        len(json.dumps(row_of_second(figures(0, encoded)))) + 4 * (tmp_path / "response.hlog").stat().st_size / 10
    )
    stated = re.search(r"an hour takes about (\d+) to (\d+) MiB", (ROOT / "docs/reference.md").read_text())
    assert stated, "the reference says what an hour takes"
    assert int(stated[1]) * 0.5 <= 3600 * a_second / (1 << 20) <= int(stated[2])


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_day_through_store_and_statistics(tmp_path: Path) -> None:
    """What a whole day costs in memory, with real histograms decoded and appended each second.

    In a process of its own: what other tests left in this one's memory comes and goes.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as own_process:
        after_an_hour, after_a_day = own_process.submit(resident_after_an_hour_and_a_day, tmp_path).result()
    assert after_a_day - after_an_hour < 16 << 20


def resident_after_an_hour_and_a_day(directory: Path) -> tuple[int, int]:
    """Bytes of this process."""
    histogram = HdrHistogram(1, 2**42, 3)
    for value in range(200_000, 2_000_000, 10_000):
        histogram.record_value(value)
    encoded = base64.b64decode(histogram.encode())
    log, lines, seen = IntervalLog(directory / "response.hlog"), LineFile(directory / "seconds.jsonl"), SecondHistory()

    def seconds(first: int, until: int) -> int:
        for second in range(first, until):
            log.append(encoded, second * SECOND_NS, (second + 1) * SECOND_NS)
            lines.append(json.dumps(row_of_second(figures(second, encoded))))
            seen.append(point(second))
        return int(psutil.Process().memory_info().rss)

    after = seconds(0, 3600), seconds(3600, DAY_S)
    log.close()
    lines.close()
    return after


def test_merged_seconds_keep_the_larger_p99_and_the_later_backlog() -> None:
    merged = _merge_points([TimedPoint(1, SecondPoint(1.0, 9.0, 7)), TimedPoint(2, SecondPoint(3.0, 4.0, 5))])
    middles = [TimedPoint(at, SecondPoint(1.0, 9.0, 0, p50_ms=p50)) for at, p50 in enumerate((2.0, None, 8.0, 4.0), 1)]
    assert _merge_points(middles).point.p50_ms == 4.0
    assert (merged.point.msgs_per_s, merged.point.p99_ms, merged.point.backlog) == (2.0, 9.0, 5)

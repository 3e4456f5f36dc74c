"""What each of several load generators showed of a trial, and that one bad one among them is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from reasons import texts_of
from run_samples import encoded, spec, totals

from tidegauge.campaign.run.trial.result import Measuring, Observed, make_result, read_result
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import TotalFigures, WorkerTotals
from tidegauge.model.trial import LoadResult, ReadSpec, Validity
from tidegauge.model.workload import Arrival
from tidegauge.worker.merging import merged_totals, worker_results

MS = 1_000_000
S = 1000 * MS
AT = 5 * S


def of_one(**window: Any) -> TotalFigures:
    """30 s with 200,000 messages, of which each took 3 ms."""
    base = totals()
    calm: dict[str, Any] = {
        "intended": 200_000, "acked": 200_000, "acked_within": 199_500, "response": encoded(*[3 * MS] * 2000),
        "own_lag": encoded(*[MS // 100] * 2000), "worker_cpu_ns": 12 * S,
    }  # fmt: skip
    (sub,) = base.subscriptions
    return replace(
        base,
        sent=200_000,
        acked=200_000,
        window=replace(base.window, **{**calm, **window}),
        subscriptions=(replace(sub, received=200_000, unique=200_000, window_received=150_000),),
    )


def together(*parts: TotalFigures, late_ns: int = 3 * MS) -> TotalFigures:
    """The second begins later than the others and stops before them."""
    return merged_totals(
        [
            WorkerTotals(
                f"worker-{number + 1}", AT + late_ns * (number == 1), part, AT + 40 * S + late_ns * (number != 1)
            )
            for number, part in enumerate(parts)
        ]
    )


def made(*parts: TotalFigures, closed_loop: bool = False) -> LoadResult:
    trial = spec()
    if closed_loop:
        workload = replace(trial.workload, arrival=Arrival.CLOSED_LOOP)
        trial = replace(trial, msgs_per_s=None, workload=workload)
    level = LevelFinding(3, ("as asked",))
    known = Measuring(1, ("worker-1",), "2026-11-21T03:24:36+00:00", 0, 6 * S, 36 * S, "", "", level, None)
    return make_result(trial, together(*parts), Observed(known, (), "drained", 1.0))


def test_each_has_its_share_offered_and_achieved() -> None:
    result = made(of_one(), of_one(intended=100_000, acked_within=90_000), of_one())
    assert [each.worker for each in result.workers] == [1, 2, 3]
    assert [each.process for each in result.workers] == ["worker-1", "worker-2", "worker-3"]
    assert [round(each.offered_msgs_per_s or 0) for each in result.workers] == [6667, 3333, 6667]
    assert [each.msgs_per_s for each in result.workers] == [6_650.0, 3_000.0, 6_650.0]
    assert result.msgs_per_s == sum(each.msgs_per_s for each in result.workers)
    assert {each.received_msgs_per_s for each in result.workers} == {5_000.0}
    assert [each.started_ms for each in result.workers] == [0.0, 3.0, 0.0]
    assert [each.stopped_ms for each in result.workers] == [3.0, 0.0, 3.0]
    first = result.workers[0]
    assert (first.response.count, first.cpu_s) == (2000, 12.0)
    assert first.response.p99_ms == pytest.approx(3.0, rel=1e-3)
    assert first.own_lag.max_ms == pytest.approx(0.01, rel=1e-2)


def test_a_closed_loop_offers_nothing_and_instants_may_be_unknown() -> None:
    assert {each.offered_msgs_per_s for each in made(of_one(), of_one(), closed_loop=True).workers} == {None}
    unknown = [replace(each, started_mono_ns=0, stopped_mono_ns=0) for each in together(of_one(), of_one()).workers]
    found = worker_results(replace(of_one(), workers=tuple(unknown)), 30.0, scheduled=True)
    assert {(each.started_ms, each.stopped_ms) for each in found} == {(None, None)}


def test_one_alone_has_no_shares() -> None:
    assert worker_results(of_one(), 30.0, scheduled=True) == ()


def test_reading_has_shares_too() -> None:
    trial = ReadSpec(**spec().shared, drain_s_max=5.0)
    found = read_result(trial, together(of_one(), of_one()), "", LevelFinding(3, ()))
    assert [each.offered_msgs_per_s for each in found.workers] == [None, None]
    assert sum(each.received_msgs_per_s for each in found.workers) == pytest.approx(found.msgs_per_s)


def test_three_calm_ones_are_valid() -> None:
    result = made(of_one(), of_one(), of_one())
    assert (result.validity, result.reasons, result.warnings) == (Validity.VALID, (), ())


def test_one_of_three_that_is_late_makes_the_trial_invalid_and_is_named() -> None:
    """Of all messages together its lag is in the tail: p99 alone would let it pass."""
    late = of_one(own_lag=encoded(*[MS // 100] * 1975, *[2 * MS] * 25))
    result = made(of_one(), of_one(), late)
    assert result.own_lag.p99_ms == pytest.approx(0.01, rel=1e-2)
    assert result.validity is Validity.INVALID
    (reason,) = texts_of(result.reasons)
    assert "the own lag of load generator 3 of 3 at p99 is 2 ms of a response of 3 ms" in reason


def test_one_of_three_that_waits_for_a_cpu_is_named() -> None:
    result = made(of_one(), of_one(cpu_wait_ns=9 * S), of_one(cpu_wait_ns=S))
    (warning,) = texts_of(result.warnings)
    assert "waited for a CPU for 0.3 s in each second, summed over them (load generator 2 of 3)" in warning


def test_one_of_three_that_collects_garbage_is_named() -> None:
    result = made(of_one(gc_pause_ns=2 * S), of_one(), of_one(gc_pause_ns=S))
    assert texts_of(result.warnings) == ("load generator 1 of 3 spent 7% of the window in garbage collection",)

"""Experiments on simulated systems with known answers: what measures is a function."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from campaign_doubles import FakeLab, result_of, spec_of

import tidegauge.experiments
from tidegauge.config.units import Rate
from tidegauge.experiments.latency import EXPERIMENT as LATENCY
from tidegauge.experiments.latency import first_peaks, resolve_rate
from tidegauge.experiments.peak import EXPERIMENT as PEAK
from tidegauge.experiments.procedure import PreconditionError, experiments
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import LoadResult, LoadSpec, Validity
from tidegauge.model.workload import Arrival

HALF = Rate(share_of_lowest_peak=0.5)


def peak_of(system: str, msgs_per_s: float, **changes: Any) -> LoadResult:
    return result_of(replace(spec_of("peak", system), msgs_per_s=None), msgs_per_s=msgs_per_s, **changes)


class Simulated:
    """Acknowledges what is offered up to its capacity."""

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity
        self.seen: list[LoadSpec] = []

    def __call__(self, spec: LoadSpec) -> LoadResult:
        self.seen.append(spec)
        return result_of(spec, msgs_per_s=min(self.capacity, spec.msgs_per_s or self.capacity))


def run(experiment: Any, options: dict[str, str], system: str, so_far: list[LoadResult], measure: Any) -> list[Any]:
    parsed = experiment.options.model_validate(options)
    trials = experiment.plan(parsed, spec_of(experiment.name, system))
    lab = FakeLab(measure, list(so_far))
    experiment.run(parsed, trials, lab)
    return lab.results[len(so_far) :]


def test_peak_asks_for_a_closed_loop_and_finds_the_capacity() -> None:
    system = Simulated(61_234)
    (found,) = run(PEAK, {}, "kafka@1", [], system)
    assert found.msgs_per_s == 61_234
    assert system.seen[0].workload.arrival is Arrival.CLOSED_LOOP
    assert system.seen[0].msgs_per_s is None


def test_latency_at_a_fixed_rate() -> None:
    system = Simulated(50_000)
    run(LATENCY, {"rate": "20k"}, "kafka@1", [], system)
    assert system.seen[0].msgs_per_s == 20_000


def test_latency_at_half_the_lowest_peak_is_the_same_for_all_and_round() -> None:
    so_far = [peak_of("kafka@1", 61_234), peak_of("pulsar@1", 180_000)]
    rates = []
    for name in ("pulsar@1", "kafka@1"):
        system = Simulated(50_000)
        so_far += run(LATENCY, {"rate": "50% of lowest peak"}, name, so_far, system)
        rates.append(system.seen[0].msgs_per_s)
    assert rates == [31_000, 31_000]


def test_the_rate_stays_the_same_in_later_blocks_though_peaks_differ() -> None:
    so_far = [peak_of("kafka@1", 60_000), peak_of("pulsar@1", 90_000)]
    so_far += run(LATENCY, {"rate": "50% of lowest peak"}, "kafka@1", so_far, Simulated(1e6))
    so_far += [peak_of("pulsar@1", 10_000), peak_of("kafka@1", 20_000)]
    system = Simulated(1e6)
    run(LATENCY, {"rate": "50% of lowest peak"}, "pulsar@1", so_far, system)
    assert system.seen[0].msgs_per_s == 30_000


def test_a_schedule_of_shares_stays_the_same_in_later_blocks_too() -> None:
    steps: Any = {"rate": {"steps": [{"rate": "50% of lowest peak", "for": "5s"}, {"rate": "80k", "for": "5s"}]}}
    so_far = [peak_of("pulsar@1", 90_000)]
    so_far += run(LATENCY, steps, "pulsar@1", so_far, Simulated(1e6))
    # In the first block it had failed.
    so_far.append(peak_of("kafka@1", 20_000))
    system = Simulated(1e6)
    run(LATENCY, steps, "kafka@1", so_far, system)
    assert system.seen[0].schedule == so_far[1].spec.schedule
    assert system.seen[0].msgs_per_s == 45_000


def test_two_shares_are_two_rates() -> None:
    so_far = [peak_of("kafka@1", 60_000)]
    so_far += run(LATENCY, {"rate": "50% of lowest peak"}, "kafka@1", so_far, Simulated(1e6))
    assert resolve_rate(Rate(share_of_lowest_peak=0.8), "kafka@1", so_far) == 48_000


def test_a_system_without_a_peak_is_left_out_and_the_others_go_on() -> None:
    so_far = [peak_of("pulsar@1", 90_000)]
    with pytest.raises(PreconditionError, match="kafka@1 has no measured peak in this run"):
        run(LATENCY, {"rate": "50% of lowest peak"}, "kafka@1", so_far, Simulated(1e6))
    assert resolve_rate(HALF, "pulsar@1", so_far) == 45_000


def test_peaks_that_are_invalid_or_empty_are_not_used() -> None:
    so_far = [
        peak_of("kafka@1", 1000, validity=Validity.INVALID),
        peak_of("kafka@1", 0.0),
        peak_of("kafka@1", 70_000, validity=Validity.DOUBTFUL),
        peak_of("kafka@1", 5),
    ]
    assert first_peaks(so_far) == {"kafka@1": 70_000}


def test_a_peak_that_only_consumers_spoilt_keeps_its_rate() -> None:
    reason = Reason(ReasonKind.BUSY_CONSUMER, "sub-0 consumer 0 had no time left in 9 of 10 s")
    slow = replace(peak_of("kafka@1", 1000, validity=Validity.INVALID), reasons=(reason,))
    assert first_peaks([slow, peak_of("kafka@1", 5)]) == {"kafka@1": 1000}
    late = replace(slow, reasons=(reason, Reason(ReasonKind.OWN_LAG, "the load generator itself was late")))
    assert first_peaks([late, peak_of("kafka@1", 5)]) == {"kafka@1": 5}


def test_latency_objects_to_a_share_without_a_peak_before_it() -> None:
    share = LATENCY.options.model_validate({"rate": "50% of lowest peak"})
    fixed = LATENCY.options.model_validate({"rate": "20k"})
    assert "needs a peak experiment" in LATENCY.objection(share, ["latency"])
    assert LATENCY.objection(share, ["peak"]) == ""
    assert LATENCY.objection(fixed, []) == ""
    assert PEAK.objection(PEAK.options(), []) == ""


def test_an_experiment_is_added_by_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "soak_for_test.py").write_text(
        "from dataclasses import replace\n"
        "from tidegauge.experiments.peak import EXPERIMENT as PEAK\n"
        "EXPERIMENT = replace(PEAK, name='soak-for-test')\n"
    )
    monkeypatch.setattr(tidegauge.experiments, "__path__", [*tidegauge.experiments.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    experiments.cache_clear()
    try:
        assert "soak-for-test" in experiments()
    finally:
        experiments.cache_clear()


def test_two_experiments_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "peak_again_for_test.py").write_text("from tidegauge.experiments.peak import EXPERIMENT\n")
    monkeypatch.setattr(tidegauge.experiments, "__path__", [*tidegauge.experiments.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    experiments.cache_clear()
    try:
        with pytest.raises(ValueError, match="two experiments are called 'peak'"):
            experiments()
    finally:
        experiments.cache_clear()

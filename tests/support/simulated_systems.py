"""Systems with known answers, as functions from a trial's spec to its result. Each is drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from campaign_doubles import FakeLab, result_of, spec_of
from reasons import reasons_of

from tidegauge.experiments.max_throughput import EXPERIMENT, MaxThroughputOptions
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import Latency, LoadResult, LoadSpec, Slope, Validity
from tidegauge.model.workload import Arrival

SYSTEM = "kafka@1"


@cache
def _clean() -> LoadResult:
    return result_of(spec_of("max-throughput", SYSTEM))


def latency(p50_ms: float, p99_ms: float) -> Latency:
    return Latency(100_000, p50_ms, p50_ms, (p50_ms + p99_ms) / 2, p99_ms, p99_ms * 2, p99_ms * 3)


def trial(spec: LoadSpec, achieved: float, growth: float = 0.0, **changes: Any) -> LoadResult:
    """A trial that achieved a rate, with a backlog that grew so fast."""
    base = _clean()
    slope = Slope(growth, growth * 0.9, growth * 1.1) if growth else Slope(0.0, -5.0, 5.0)
    offered = None if spec.workload.arrival is Arrival.CLOSED_LOOP else spec.msgs_per_s
    result = replace(
        base,
        spec=spec,
        offered_msgs_per_s=offered,
        msgs_per_s=achieved,
        sent=int(achieved * 30),
        measured_s=spec.measure_s,
        response=latency(1.0, 3.0),
        subscriptions=(replace(base.subscriptions[0], backlog_growth=slope),),
    )
    return replace(result, **changes)


def invalid(spec: LoadSpec, achieved: float) -> LoadResult:
    reasons = reasons_of("the load generator itself was late, not the system", kind=ReasonKind.OWN_LAG)
    return trial(spec, achieved, validity=Validity.INVALID, reasons=reasons, own_lag=latency(500.0, 2_000.0))


@dataclass
class System:
    """A cliff: what is offered up to `capacity` is done, and no more. `by_consumers`: it is they who don't keep up."""

    capacity: float
    rng: random.Random
    by_consumers: bool = False
    seen: list[LoadSpec] = field(default_factory=list)

    def __call__(self, spec: LoadSpec) -> LoadResult:
        self.seen.append(spec)
        if spec.workload.arrival is Arrival.CLOSED_LOOP:
            return trial(spec, self.capacity * self.rng.uniform(0.9, 1.25))
        assert spec.msgs_per_s is not None
        return self.open_loop(spec, spec.msgs_per_s * self.rng.uniform(0.999, 1.001))

    def open_loop(self, spec: LoadSpec, rate: float) -> LoadResult:
        """A trial at a rate."""
        excess = max(0.0, rate - self.capacity)
        return trial(spec, rate, excess) if self.by_consumers else trial(spec, rate - excess)


@dataclass
class Queue(System):
    """M/M/1, simulated message by message: exponential gaps and services, first come first served."""

    def open_loop(self, spec: LoadSpec, rate: float) -> LoadResult:
        draw = np.random.default_rng(self.rng.getrandbits(60))
        warmup_s = spec.warmup_s_min
        length_s = warmup_s + spec.measure_s
        arrivals = np.cumsum(draw.exponential(1 / rate, int(rate * length_s)))
        services = draw.exponential(1 / self.capacity, arrivals.size)
        worked = np.cumsum(services)
        departures = worked + np.maximum.accumulate(arrivals - (worked - services))
        window = arrivals > warmup_s
        response_ms = 1000 * (departures - arrivals)[window]
        p50, p95, p99 = np.percentile(response_ms, [50, 95, 99])
        achieved = np.count_nonzero((departures > warmup_s) & (departures <= length_s)) / spec.measure_s
        summary = Latency(response_ms.size, float(response_ms.mean()), p50, p95, p99, None, float(response_ms.max()))
        return trial(spec, float(achieved), response=summary)

    def rate_for(self, p99_ms: float) -> float:
        """The rate at which the response time's p99 is this: it is exponential with rate mu - lambda."""
        return self.capacity - np.log(100) / (p99_ms / 1000)


@dataclass
class Stalls(System):
    """A cliff, and now and then a trial in which it stood still for a moment."""

    chance: float = 0.05

    def open_loop(self, spec: LoadSpec, rate: float) -> LoadResult:
        result = super().open_loop(spec, rate)
        if self.rng.random() >= self.chance:
            return result
        return replace(result, msgs_per_s=result.msgs_per_s * 0.95, response=latency(1.0, 900.0))


@dataclass
class Inversion(System):
    """Fails in a band below the rate at which it finally fails."""

    band: tuple[float, float] = (0.0, 0.0)

    def open_loop(self, spec: LoadSpec, rate: float) -> LoadResult:
        if self.band[0] <= rate <= self.band[1]:
            return trial(spec, rate * 0.8, rate * 0.2)
        return super().open_loop(spec, rate)

    def sustains(self, rate: float) -> bool:
        """Whether this very rate is one that it does."""
        return rate <= self.capacity and not self.band[0] <= rate <= self.band[1]


@dataclass
class Drift(System):
    """A capacity that changes by a share from trial to trial."""

    change: float = 0.0

    def open_loop(self, spec: LoadSpec, rate: float) -> LoadResult:
        self.capacity *= 1 + self.change
        return super().open_loop(spec, rate)


@dataclass
class WeakGenerator(System):
    """The generator gives out below the system's capacity: above its limit every trial is INVALID."""

    limit: float = 0.0

    def __call__(self, spec: LoadSpec) -> LoadResult:
        if spec.workload.arrival is Arrival.CLOSED_LOOP:
            self.seen.append(spec)
            return trial(spec, self.limit * self.rng.uniform(0.95, 1.05))
        return super().__call__(spec)

    def open_loop(self, spec: LoadSpec, rate: float) -> LoadResult:
        return invalid(spec, self.limit) if rate > self.limit else super().open_loop(spec, rate)


@dataclass
class Answer:
    """What the experiment came to, and what it cost."""

    lab: FakeLab
    goals: list[dict[str, Any]]
    decided: bool
    searched: int
    confirmations: int

    @property
    def goal(self) -> dict[str, Any]:
        """The first goal's answer."""
        return self.goals[0]

    @property
    def summary(self) -> str:
        """All sentences."""
        return " ".join(self.lab.findings[-1].summary)


def search(system: Callable[[LoadSpec], LoadResult], so_far: list[LoadResult] | None = None, **options: Any) -> Answer:
    """Run `max-throughput` on a simulated system."""
    keys = {name.replace("_", "-"): value for name, value in options.items()}
    parsed = MaxThroughputOptions.model_validate(keys)
    base = replace(spec_of("max-throughput", SYSTEM), trial_id="0001-max-throughput-kafka")
    lab = FakeLab(system, list(so_far or ()))
    EXPERIMENT.run(parsed, EXPERIMENT.plan(parsed, base), lab)
    ids = [result.spec.trial_id for result in lab.results[len(so_far or ()) :]]
    confirmations = sum(name.endswith("-confirm") for name in ids)
    finding = lab.findings[-1]
    return Answer(lab, finding.details["goals"], finding.decided, len(ids) - confirmations, confirmations)

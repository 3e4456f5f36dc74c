"""`max-throughput` on simulated systems whose answer is known: the right bracket, within 5 %, in at most 15 trials."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from campaign_doubles import FakeLab, spec_of
from reasons import reasons_of
from simulated_systems import (
    SYSTEM,
    Answer,
    Drift,
    Inversion,
    Queue,
    Stalls,
    System,
    WeakGenerator,
    invalid,
    latency,
    search,
    trial,
)

from tidegauge.errors import RunFailedError
from tidegauge.experiments.max_throughput import EXPERIMENT, MaxThroughputOptions, first_sustainable
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import LoadResult, LoadSpec, ServerReuse, Validity
from tidegauge.model.workload import Arrival
from tidegauge.statistics.classify import RATE_SHORTFALL

WIDTH = 0.05
TRIALS_MAX = 15
SEEDS = range(40)
NOISE = 0.0015
RESOLUTION = (1 + RATE_SHORTFALL) / (1 - RATE_SHORTFALL * RATE_SHORTFALL) + NOISE
"""A rate that is missed by less than 2 % counts as achieved, so an answer may be too high by as much."""


def capacity_of(rng: random.Random) -> float:
    """Slow and fast systems alike; below some 1,200 msg/s a trial of 20 s is too short to tell 2 % from chance."""
    return float(10 ** rng.uniform(3.1, 6.2))


def assert_right(answer: Answer, truth: float, goal: int = 0) -> None:
    """The bracket holds the truth and is narrow, the published rate is its lower end, and it cost no more than said."""
    found = answer.goals[goal]
    assert answer.decided, answer.summary
    assert found["lower_msgs_per_s"] <= truth * RESOLUTION
    assert found["upper_msgs_per_s"] >= truth * 0.999
    assert 1 - found["lower_msgs_per_s"] / found["upper_msgs_per_s"] <= WIDTH + 1e-9
    assert found["sustainable_msgs_per_s"] == found["lower_msgs_per_s"]
    assert found["sustainable_msgs_per_s"] >= truth * (1 - WIDTH) * 0.999
    assert answer.searched <= TRIALS_MAX * len(answer.goals)


@pytest.mark.parametrize("seed", SEEDS)
def test_hard_cliff(seed: int) -> None:
    rng = random.Random(seed)
    system = System(capacity_of(rng), rng, by_consumers=rng.random() < 0.5)
    answer = search(system)
    assert_right(answer, system.capacity)
    assert answer.goal["above"]["kind"] == ("backlog" if system.by_consumers else "rate")


@pytest.mark.parametrize("seed", range(8))
def test_queue_without_and_with_a_limit_of_latency(seed: int) -> None:
    rng = random.Random(seed)
    system = Queue(rng.uniform(10_000, 30_000), rng)
    limits = [{"name": "no limit"}, {"name": "quick", "response-p99-max": "2ms"}]
    answer = search(system, goals=limits)
    assert_right(answer, system.capacity, 0)
    # The p99 of a trial is itself an estimate, good to about 1 % of the rate here.
    found = answer.goals[1]["sustainable_msgs_per_s"]
    assert (1 - WIDTH - 0.01) * system.rate_for(2.0) <= found <= 1.01 * system.rate_for(2.0)
    assert answer.goals[1]["above"]["kind"] == "response p99"


def test_random_stalls_hardly_ever_mislead() -> None:
    wrong = 0
    for seed in range(200):
        rng = random.Random(seed)
        system = Stalls(capacity_of(rng), rng)
        answer = search(system)
        found = answer.goal["sustainable_msgs_per_s"]
        assert found <= system.capacity * RESOLUTION
        assert answer.searched <= TRIALS_MAX
        wrong += found < system.capacity * (1 - WIDTH) * 0.999
    # A rate is given up when two trials of two stall; the odds are 1 in 400 for each of some seven rates.
    assert wrong <= 8


@pytest.mark.parametrize("seed", SEEDS)
def test_inversion_gives_a_rate_that_holds_with_one_above_that_does_not(seed: int) -> None:
    rng = random.Random(seed)
    capacity = capacity_of(rng)
    low = rng.uniform(0.3, 0.9)
    system = Inversion(capacity, rng, band=(low * capacity, (low + 0.08) * capacity))
    answer = search(system)
    lower, upper = answer.goal["lower_msgs_per_s"], answer.goal["upper_msgs_per_s"]
    assert answer.decided
    assert system.sustains(lower / RESOLUTION)
    assert not system.sustains(upper * 1.001)
    assert 1 - lower / upper <= WIDTH + 1e-9
    assert answer.searched <= TRIALS_MAX
    # Nothing below the answer was seen to fail: a pass above a fail is not believed.
    tried = [result for result in answer.lab.results if (result.offered_msgs_per_s or 0) < lower]
    assert all(system.sustains((result.offered_msgs_per_s or 0) * 1.001) for result in tried)


@pytest.mark.parametrize("change", [-0.01, -0.004, 0.004, 0.01])
@pytest.mark.parametrize("seed", range(10))
def test_drift_is_met_by_the_confirmation(seed: int, change: float) -> None:
    rng = random.Random(seed)
    system = Drift(capacity_of(rng), rng, change=change)
    answer = search(system)
    found = answer.goal["sustainable_msgs_per_s"]
    # What is published holds at the moment of its confirmation.
    assert answer.decided
    assert found <= system.capacity * RESOLUTION
    drifted = abs(change) * (answer.searched + answer.confirmations)
    assert found >= system.capacity * (1 - WIDTH - drifted) * 0.999
    assert answer.searched <= TRIALS_MAX


def test_a_fall_before_the_confirmation_is_stepped_down_and_reported() -> None:
    rng = random.Random(1)
    system = System(100_000.0, rng)

    def tired(spec: LoadSpec) -> LoadResult:
        if spec.trial_id.endswith("-confirm"):
            system.capacity = 92_000.0
        return system(spec)

    answer = search(tired)
    assert answer.decided
    assert answer.goal["stepped_down"] in (1, 2)
    assert 92_000 * 0.9 <= answer.goal["sustainable_msgs_per_s"] <= 92_000 * RESOLUTION
    assert answer.goal["upper_msgs_per_s"] <= 100_000
    assert "a higher rate passed the search and failed the confirmation" in answer.summary


def test_a_confirmation_that_never_holds_is_not_decided() -> None:
    system = System(100_000.0, random.Random(1))

    def cold(spec: LoadSpec) -> LoadResult:
        if spec.trial_id.endswith("-confirm"):
            return trial(spec, (spec.msgs_per_s or 0.0) * 0.5)
        return system(spec)

    answer = search(cold)
    assert not answer.decided
    assert answer.goal["sustainable_msgs_per_s"] is None
    assert answer.confirmations == 4
    assert "no confirmation held" in answer.summary
    assert first_sustainable(answer.lab.findings) == {}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_generator_that_gives_out_first_decides_nothing(seed: int) -> None:
    rng = random.Random(seed)
    capacity = capacity_of(rng)
    system = WeakGenerator(capacity, rng, limit=capacity * rng.uniform(0.4, 0.9))
    answer = search(system)
    assert not answer.decided
    # What it does sustain is found and confirmed all the same, up to the generator's limit.
    assert system.limit * (1 - WIDTH) * 0.998 <= answer.goal["sustainable_msgs_per_s"] <= system.limit * 1.001
    assert answer.goal["above"]["outcome"] == "undecided"
    assert "at least" in answer.summary
    assert "NOT DECIDED: at " in answer.summary
    assert "INVALID: the load generator itself was late" in answer.summary
    assert answer.searched <= TRIALS_MAX


def test_a_passing_invalid_moment_is_made_again_and_harms_nothing() -> None:
    system = System(100_000.0, random.Random(3))
    spoilt: list[str] = []

    def busy_host(spec: LoadSpec) -> LoadResult:
        if len(spoilt) < 2 and spec.trial_id.endswith(("s03", "confirm")) and spec.trial_id not in spoilt:
            spoilt.append(spec.trial_id)
            return invalid(spec, 1.0)
        return system(spec)

    answer = search(busy_host)
    assert len(spoilt) == 2
    assert_right(answer, 100_000.0)
    assert any("INVALID" in text and "made again" in text for text, _ in answer.lab.decisions)


def test_fails_decide_at_a_rate_whatever_was_invalid_there() -> None:
    system = System(10_000.0, random.Random(3))
    made: list[str] = []

    def busy_host(spec: LoadSpec) -> LoadResult:
        made.append(spec.trial_id)
        return invalid(spec, 1.0) if len(made) % 2 else system(spec)

    answer = search(busy_host, min_rate="50k", max_rate="90k")
    assert answer.goal["above"]["outcome"] in ("fail", "clear fail")
    assert "not even 50,000 msg/s passed: " in answer.summary
    assert "INVALID" not in answer.summary


def test_a_lag_of_some_milliseconds_leaves_the_rate_and_hides_the_latency() -> None:
    system = System(100_000.0, random.Random(3))

    def small_host(spec: LoadSpec) -> LoadResult:
        lag = latency(0.1, 5.0)
        return replace(system(spec), validity=Validity.INVALID, reasons=reasons_of("own lag"), own_lag=lag)

    plain, quick = [{"name": "no limit"}], [{"name": "quick", "response-p99-max": "2ms"}]
    kept = search(small_host, goals=plain, min_rate="50k", max_rate="90k")
    assert kept.goal["sustainable_msgs_per_s"] == 90_000
    assert "the confirmation is no measure of latency: own lag" in kept.summary
    assert kept.lab.findings[0].rows[0]["response p99, ms"] is None
    assert search(small_host, goals=quick, min_rate="50k", max_rate="90k").goal["sustainable_msgs_per_s"] is None


def test_low_loads_come_first() -> None:
    system = System(100_000.0, random.Random(2))
    search(system)
    closed_loop, *rates = system.seen
    assert closed_loop.workload.arrival is Arrival.CLOSED_LOOP
    offered = [spec.msgs_per_s or 0.0 for spec in rates]
    assert offered[0] == min(offered)
    assert offered[0] < 80_000


def test_a_closed_loop_that_gets_nowhere_shows_no_place_to_search() -> None:
    answer = search(lambda spec: trial(spec, 0.0))
    assert not answer.decided
    assert "NOT DECIDED: in the closed-loop trial that shows where to search nothing was" in answer.summary


def test_a_peak_of_the_run_saves_the_closed_loop() -> None:
    system = System(100_000.0, random.Random(2))
    peak = trial(replace(spec_of("peak", SYSTEM), msgs_per_s=None), 110_000.0)
    answer = search(system, [peak])
    assert all(spec.workload.arrival is not Arrival.CLOSED_LOOP for spec in system.seen)
    assert_right(answer, 100_000.0)


def test_given_bounds_are_kept_and_one_that_is_reached_is_reported() -> None:
    system = System(100_000.0, random.Random(2))
    answer = search(system, min_rate="20k", max_rate="50k")
    rates = [spec.msgs_per_s or 0.0 for spec in system.seen]
    assert min(rates) >= 20_000
    assert max(rates) <= 50_000
    assert not answer.decided
    assert answer.goal["sustainable_msgs_per_s"] == 50_000
    assert "nothing was broken up to 50,000 msg/s, and that is max-rate: raise it" in answer.summary


def test_a_system_below_the_least_rate_has_no_answer() -> None:
    answer = search(System(10_000.0, random.Random(2)), min_rate="20k", max_rate="50k")
    assert not answer.decided
    assert answer.goal["sustainable_msgs_per_s"] is None
    assert "not even 20,000 msg/s passed: achieved 50 % of the offered rate" in answer.summary
    assert answer.confirmations == 0


def test_the_limit_of_trials_ends_the_search_with_a_wider_bracket() -> None:
    answer = search(System(100_000.0, random.Random(5)), trials_max=4)
    assert answer.searched == 4
    assert "bracket is" in answer.summary or "the limit of" in answer.summary


def test_goals_share_their_trials() -> None:
    rng = random.Random(4)
    goals = [{"name": "no limit"}, {"name": "quick", "response-p99-max": "2ms"}]
    both = search(Queue(20_000.0, rng), goals=goals)
    alone = [search(Queue(20_000.0, rng), goals=[goal]) for goal in goals]
    assert both.searched < sum(one.searched for one in alone)


def test_a_goal_without_samples_for_its_percentile_is_not_decided() -> None:
    system = System(100_000.0, random.Random(2))

    def few(spec: LoadSpec) -> LoadResult:
        result = system(spec)
        return replace(result, response=replace(result.response, count=300, p99_ms=None))

    answer = search(few, goals=[{"name": "quick", "response-p99-max": "2ms"}])
    assert not answer.decided
    assert "too few messages for a p99 (300)" in answer.summary


def test_the_search_shares_servers_and_the_confirmation_has_its_own() -> None:
    system = System(100_000.0, random.Random(2))
    search(system, confirm="2m")
    assert {spec.servers for spec in system.seen[:-1]} == {ServerReuse.SHARED}
    assert system.seen[-1].servers is ServerReuse.FRESH
    assert system.seen[-1].measure_s == 120
    assert all(spec.exploratory for spec in system.seen)
    names = [spec.trial_id for spec in system.seen]
    assert names[0] == "0001-max-throughput-kafka-s01"
    assert names[-1] == f"0001-max-throughput-kafka-s{len(names):02d}-confirm"


def test_each_step_is_reported_with_what_is_left() -> None:
    answer = search(System(100_000.0, random.Random(2), by_consumers=True))
    decisions = [text for text, _ in answer.lab.decisions]
    assert decisions[0].startswith("In a closed loop ")
    assert any("pass [" in text for text in decisions)
    assert any("backlog grew by" in text and "on sub-0" in text for text in decisions)
    assert any("now its confirmation, on fresh servers" in text for text in decisions)
    assert decisions[-1].startswith("Confirmation of ")
    left = [count for _, count in answer.lab.decisions]
    assert left[-1] == 0
    assert max(left) <= TRIALS_MAX


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RunFailedError("kafka-1 was killed by signal 9."), "kafka@1 failed: kafka-1 was killed by signal 9."),
        (KeyboardInterrupt(), "NOT DECIDED: interrupted"),
    ],
)
def test_what_ends_a_search_leaves_what_is_known(error: BaseException, expected: str) -> None:
    system = System(100_000.0, random.Random(2))

    def dies(spec: LoadSpec) -> LoadResult:
        if len(system.seen) == 3:
            raise error
        return system(spec)

    parsed = MaxThroughputOptions()
    planned = EXPERIMENT.plan(parsed, replace(spec_of("max-throughput", SYSTEM), trial_id="0001-max-throughput-kafka"))
    lab = FakeLab(dies)
    with pytest.raises(type(error)):
        EXPERIMENT.run(parsed, planned, lab)
    assert not lab.findings[0].decided
    assert expected in lab.findings[0].summary[0]
    assert "no rate was confirmed, the search was at [" in lab.findings[0].summary[0]


def test_a_doubt_of_the_confirmation_is_reported() -> None:
    system = System(100_000.0, random.Random(2))

    def doubtful(spec: LoadSpec) -> LoadResult:
        return replace(system(spec), validity=Validity.DOUBTFUL, reasons=reasons_of("own lag is a third of it"))

    assert "the confirmation is DOUBTFUL: own lag is a third of it" in search(doubtful).summary


def test_a_rate_near_what_the_generator_makes_is_said_to_be_so() -> None:
    system = System(50_000.0, random.Random(2))
    near = "the rate was near the load generator's own limit: 80% of the 60,000 msg/s"
    warnings = (*reasons_of("something else"), Reason(ReasonKind.NEAR_GENERATOR, near))

    def warned(spec: LoadSpec) -> LoadResult:
        return replace(system(spec), warnings=warnings)

    assert near in search(warned).summary
    assert near not in search(system).summary


def test_the_lowest_sustainable_rate_is_the_first_goals() -> None:
    answer = search(System(100_000.0, random.Random(2)))
    rate = answer.goal["sustainable_msgs_per_s"]
    assert first_sustainable(answer.lab.findings) == {SYSTEM: rate}


def test_a_confirmation_made_again_for_one_goal_excuses_no_clear_fail_of_another() -> None:
    """The first has a p99 that a stall may explain for the first goal, and a median above the limit of the second."""
    system, rates = System(50_000.0, random.Random(2)), []

    def slow_at_first(spec: LoadSpec) -> LoadResult:
        found = system(spec)
        if not spec.trial_id.endswith("-confirm"):
            return found
        rates.append(spec.msgs_per_s)
        return replace(found, response=latency(20.0, 50.0)) if len(rates) == 1 else found

    wide, narrow = search(
        slow_at_first,
        goals=[
            {"name": "wide", "response-p99-max": "40ms"},
            {"name": "narrow", "response-p99-max": "15ms"},
        ],
    ).goals
    assert (wide["sustainable_msgs_per_s"], wide["stepped_down"]) == (rates[0], 0)
    assert narrow["sustainable_msgs_per_s"] < rates[0]
    assert narrow["stepped_down"] == 1

"""Every verdict on a claim, from hand-made ratios and from hand-made runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from run_samples import latency, result, spec

from tidegauge.experiments.api import TrialResult, TrialSpec, Validity
from tidegauge.experiments.finding import Finding
from tidegauge.published.examine import Choice, examine
from tidegauge.published.load import report
from tidegauge.published.model import Bound, Claim, Factor, Growth, Operand, Ordering, Place, Report, Shape
from tidegauge.published.observe import Measured
from tidegauge.published.outcome import ClaimOutcome
from tidegauge.published.ratio import Ratio, ratio_of
from tidegauge.published.verdict import Answer, Limits, Verdict, combine, judge_bound, judge_ratio
from tidegauge.systems.api import LevelChoice
from tidegauge.workload.model import Workload

CONFIRMED, CONTRADICTED, NOT_DECIDED = Verdict
ABOVE = Limits(1.0, strict=True)


def ratio(low: float, high: float, margin: float | None = None) -> Ratio:
    return Ratio((low * high) ** 0.5, low, high, 1 if margin else 5, margin)


@pytest.mark.parametrize(
    ("seen", "limits", "verdict"),
    [
        (ratio(1.2, 1.6), ABOVE, CONFIRMED),
        (ratio(0.5, 0.9), ABOVE, CONTRADICTED),
        (ratio(0.9, 1.3), ABOVE, NOT_DECIDED),
        (ratio(1.0, 1.0), ABOVE, CONTRADICTED),
        (ratio(3.1, 5.0), Limits(3.0), CONFIRMED),
        (ratio(1.5, 2.9), Limits(3.0), CONTRADICTED),
        (ratio(2.5, 3.5), Limits(3.0), NOT_DECIDED),
        (ratio(0.9, 1.1), Limits(0.8, 1.25), CONFIRMED),
        (ratio(1.3, 1.5), Limits(0.8, 1.25), CONTRADICTED),
        (ratio(0.5, 0.7), Limits(0.8, 1.25), CONTRADICTED),
        (ratio(0.7, 1.1), Limits(0.8, 1.25), NOT_DECIDED),
        (ratio(0.3, 0.6), Limits(at_most=0.75), CONFIRMED),
        (ratio(0.8, 0.9), Limits(at_most=0.75), CONTRADICTED),
    ],
)
def test_a_ratio_is_judged_by_its_whole_interval(seen: Ratio, limits: Limits, verdict: Verdict) -> None:
    assert judge_ratio(seen, limits).verdict is verdict


def test_the_reason_tells_noise_from_too_few_repeats() -> None:
    assert judge_ratio(ratio(0.9, 1.3), ABOVE).reason.startswith("the intervals overlap")
    assert judge_ratio(ratio(2.5, 3.5), Limits(3.0)).reason.startswith("the interval reaches across the limit")
    assert judge_ratio(ratio(0.9, 1.3, margin=1.5), ABOVE).reason.startswith("too few repeats")


def test_an_absolute_value_is_never_decided() -> None:
    for values, told in (([4.0, 9.0], "kept here"), ([14.0, 43.0], "not kept here")):
        answer = judge_bound(values, "ms", Limits(at_most=15.0))
        assert answer.verdict is NOT_DECIDED
        assert told in answer.reason


def test_repeats_with_little_noise_give_a_narrow_interval_and_noise_a_wide_one() -> None:
    calm = ratio_of({0: 20.0, 1: 20.4, 2: 19.8, 3: 20.1, 4: 20.2}, dict.fromkeys(range(5), 10.0), 1.5)
    noisy = ratio_of({0: 20.0, 1: 8.0, 2: 31.0, 3: 9.0, 4: 14.0}, dict.fromkeys(range(5), 10.0), 1.5)
    assert calm is not None
    assert noisy is not None
    assert judge_ratio(calm, ABOVE).verdict is CONFIRMED
    assert judge_ratio(noisy, ABOVE).verdict is NOT_DECIDED


def test_one_trial_each_decides_only_beyond_the_margin() -> None:
    for value, verdict in ((14.0, NOT_DECIDED), (16.0, CONFIRMED), (6.0, CONTRADICTED)):
        seen = ratio_of({0: value}, {0: 10.0}, 1.5)
        assert seen is not None
        assert judge_ratio(seen, ABOVE).verdict is verdict


def test_blocks_count_only_where_both_sides_have_a_figure() -> None:
    seen = ratio_of({0: 20.0, 1: 40.0}, {1: 10.0, 2: 10.0}, 1.5)
    assert seen is not None
    assert (seen.estimate, seen.blocks) == (4.0, 1)
    both = ratio_of({0: 20.0, 1: 5.0}, {0: 10.0, 1: 10.0}, 2.0)
    assert both is not None
    assert (both.estimate, both.low, both.high) == (pytest.approx(1.0), 0.25, 4.0), "what was seen, widened both ways"
    assert ratio_of({0: 20.0}, {1: 10.0}, 1.5) is None
    assert ratio_of({0: 20.0}, {0: 0.0}, 1.5) is None


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        ([CONFIRMED, CONFIRMED], CONFIRMED),
        ([CONFIRMED, NOT_DECIDED], NOT_DECIDED),
        ([CONFIRMED, NOT_DECIDED, CONTRADICTED], CONTRADICTED),
        ([NOT_DECIDED], NOT_DECIDED),
    ],
)
def test_a_claim_holds_if_all_its_parts_do(verdicts: list[Verdict], whole: Verdict) -> None:
    answer = combine([(f"level {number}", Answer(one, f"why {number}")) for number, one in enumerate(verdicts)])
    assert answer.verdict is whole


def trial(system: str, *, level: int = 1, block: int = 0, partitions: int = 100, rule: str = "50%") -> TrialSpec:
    made = spec(f"{system}@1", number=1, block=block)
    return replace(
        made,
        trial_id=f"latency-{system}-{level}-{block}-{partitions}-{rule}",
        choice=LevelChoice(level),
        workload=Workload(partitions=partitions),
        point={"partitions": str(partitions), "durability": str(level)},
        rate_rule=rule,
    )


def measured(made: TrialSpec, p99_ms: float, **changes: Any) -> TrialResult:
    return result(made, **{"response": replace(latency(), p99_ms=p99_ms), **changes})


def run_of(*results: TrialResult, **more: object) -> Measured:
    return Measured(tuple(one.spec for one in results), results, **more)  # type: ignore[arg-type]


def judged(claim: Claim, run: Measured) -> ClaimOutcome:
    base = report("streamnative-2020")
    mine = Report(**{**dict(base), "claims": [claim]})
    return examine(mine, Choice("streamnative-2020", (claim.id,)), run).claims[0]


PULSAR_BELOW = Ordering(
    kind="ordering",
    id="c",
    text="Pulsar below Kafka",
    source="table 2-2",
    figure="publish-p99",
    from_highest=[Operand(system="kafka"), Operand(system="pulsar")],
    common=Place(level=1, partitions=100),
)


def pair(kafka_ms: float, pulsar_ms: float, blocks: int = 1) -> list[TrialResult]:
    return [
        measured(trial(system, block=block), p99_ms * (1 + block / 100))
        for block in range(blocks)
        for system, p99_ms in (("kafka", kafka_ms), ("pulsar", pulsar_ms))
    ]


def doubtful(results: list[TrialResult]) -> list[TrialResult]:
    """The last of them is DOUBTFUL."""
    last = replace(results[-1], validity=Validity.DOUBTFUL, reasons=("warm-up not steady",))
    return [*results[:-1], last]


def test_one_doubtful_trial_decides_nothing() -> None:
    judgement = judged(PULSAR_BELOW, run_of(*doubtful(pair(50.0, 10.0))))
    assert judgement.verdict is NOT_DECIDED
    assert judgement.reason.startswith("too few trials that are not DOUBTFUL: 5 times")
    assert judgement.reason.endswith("DOUBTFUL is latency-pulsar-1-0-100-50%: warm-up not steady")
    assert [side.doubtful for side in judgement.parts[0].sides] == [0, 1]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"steady": False}, "its warm-up was too short to judge, or never steady"),
        ({"offered_msgs_per_s": 1e9}, "the system did not keep up"),
    ],
)
def test_a_valid_trial_that_shows_something_else_decides_nothing(changes: dict[str, Any], told: str) -> None:
    kafka, pulsar = pair(50.0, 10.0)
    judgement = judged(PULSAR_BELOW, run_of(kafka, replace(pulsar, **changes)))
    assert judgement.verdict is NOT_DECIDED
    assert told in judgement.reason


def test_a_failure_is_told_without_its_log() -> None:
    kafka, pulsar = pair(50.0, 10.0)
    failures = {pulsar.spec.trial_id: "The worker ended. (log: /somewhere/long/worker.log)"}
    run = Measured((kafka.spec, pulsar.spec), (kafka,), failures=failures)
    assert judged(PULSAR_BELOW, run).reason == f"{pulsar.spec.trial_id} has no result: The worker ended."


def test_an_interval_stands_and_tells_of_its_doubtful_trials() -> None:
    judgement = judged(PULSAR_BELOW, run_of(*doubtful(pair(50.0, 10.0, blocks=5))))
    assert judgement.verdict is CONFIRMED
    assert "DOUBTFUL is latency-pulsar-1-4-100-50%: warm-up not steady" in judgement.reason


@pytest.mark.parametrize(
    ("kafka_ms", "pulsar_ms", "blocks", "verdict"),
    [
        (50.0, 10.0, 1, CONFIRMED),
        (10.0, 50.0, 1, CONTRADICTED),
        (20.0, 10.0, 1, NOT_DECIDED),
        (20.0, 10.0, 5, CONFIRMED),
        (10.0, 11.0, 5, CONTRADICTED),
    ],
)
def test_an_ordering_in_a_run(kafka_ms: float, pulsar_ms: float, blocks: int, verdict: Verdict) -> None:
    found = judged(PULSAR_BELOW, run_of(*pair(kafka_ms, pulsar_ms, blocks)))
    assert found.verdict is verdict
    kafka, pulsar = found.parts[0].sides
    assert (kafka.published, pulsar.published) == (58.83, 10.37)
    assert kafka.published_source == "table 2-2"
    assert len(kafka.values) == blocks


def test_noise_between_blocks_leaves_an_ordering_open() -> None:
    ways = [(20.0, 10.0), (10.0, 25.0), (30.0, 10.0), (10.0, 12.0), (15.0, 14.0)]
    results = [
        measured(trial(system, block=block), p99_ms)
        for block, values in enumerate(ways)
        for system, p99_ms in zip(("kafka", "pulsar"), values, strict=True)
    ]
    found = judged(PULSAR_BELOW, run_of(*results))
    assert found.verdict is NOT_DECIDED
    assert found.reason.startswith("the intervals overlap")


def test_reasons_why_nothing_can_be_decided() -> None:
    kafka, pulsar = pair(50.0, 10.0)
    invalid = replace(pulsar, validity=Validity.INVALID, reasons=("own lag is half of the response",))
    few = measured(pulsar.spec, 10.0, response=latency(count=500))
    failed = Measured((kafka.spec, pulsar.spec), (kafka,), failures={pulsar.spec.trial_id: "the broker ended"})
    other = trial("pulsar", partitions=5000)
    cases = {
        "pulsar is missing from the run": run_of(kafka),
        "pulsar@1 is left out: too large": run_of(kafka, notes=("pulsar@1 is left out: too large.",)),
        "is INVALID: own lag is half of the response": run_of(kafka, invalid),
        "too few samples": run_of(kafka, few),
        "has no result: the broker ended": failed,
        "was not reached": Measured((kafka.spec, pulsar.spec), (kafka,)),
        "the run has no latency at 'pulsar, level 1, 100 partitions'": run_of(kafka, measured(other, 10.0)),
        "the run has no latency": Measured((spec("kafka@1", "peak"), spec("pulsar@1", "peak")), ()),
        "several settings of the run fit": run_of(kafka, pulsar, measured(trial("pulsar", rule="80%"), 10.0)),
    }
    for told, run in cases.items():
        found = judged(PULSAR_BELOW, run)
        assert found.verdict is NOT_DECIDED, told
        assert told in found.reason


def test_an_invalid_trial_among_repeats_is_told() -> None:
    results = pair(20.0, 10.0, blocks=2)
    results[1] = replace(results[1], validity=Validity.INVALID, reasons=("own lag",))
    found = judged(PULSAR_BELOW, run_of(*results))
    assert found.verdict is NOT_DECIDED
    assert "too few repeats" in found.reason
    assert "INVALID: own lag" in found.reason


def growth(shape: Shape, **limits: float) -> Growth:
    return Growth(
        kind="growth",
        id="c",
        text="over partitions",
        source="table 2-14",
        figure="publish-p99",
        of=Operand(system="kafka", level=1),
        over={"partitions": [100, 5000, 10000]},
        shape=shape,
        **limits,  # type: ignore[arg-type]
    )


def over_partitions(*p99s_ms: float) -> Measured:
    points = (100, 5000, 10_000)
    results = [
        measured(trial("kafka", partitions=points[index], block=block), p99_ms)
        for block in range(5)
        for index, p99_ms in enumerate(p99s_ms)
    ]
    return run_of(*results)


@pytest.mark.parametrize(
    ("claim", "p99s_ms", "verdict"),
    [
        (growth(Shape.GROWS, at_least=4), (10.0, 30.0, 60.0), CONFIRMED),
        (growth(Shape.GROWS, at_least=4), (10.0, 20.0, 30.0), CONTRADICTED),
        (growth(Shape.GROWS), (10.0, 9.0, 8.0), CONTRADICTED),
        (growth(Shape.FALLS, at_most=0.75), (10.0, 8.0, 5.0), CONFIRMED),
        (growth(Shape.FALLS, at_most=0.75), (10.0, 8.0, 9.0), CONTRADICTED),
        (growth(Shape.FLAT, within=1.5), (10.0, 12.0, 11.0), CONFIRMED),
        (growth(Shape.FLAT, within=1.5), (10.0, 40.0, 11.0), CONTRADICTED),
        (growth(Shape.FLAT, within=1.5), (10.0, 12.0), NOT_DECIDED),
    ],
)
def test_a_growth_in_a_run(claim: Growth, p99s_ms: tuple[float, ...], verdict: Verdict) -> None:
    found = judged(claim, over_partitions(*p99s_ms))
    assert found.verdict is verdict
    if verdict is NOT_DECIDED:
        assert "10,000 partitions" in found.reason


def throughput(system: str, rate: float, decided: bool = True, block: int = 0) -> tuple[TrialSpec, Finding]:
    step_id = f"000{block}-max-throughput-{system}"
    made = replace(trial(system, block=block), trial_id=f"{step_id}-s01", experiment="max-throughput", rate_rule="")
    goal = {"decided": decided, "sustainable_msgs_per_s": rate, "problem": "" if decided else "every trial is INVALID"}
    return made, Finding(step_id, "max-throughput", f"{system}@1", block, decided, (), (), {"goals": [goal]})


def sustained(kafka: float, pulsar: float, decided: bool = True) -> Measured:
    made = [throughput("kafka", kafka), throughput("pulsar", pulsar, decided)]
    return Measured(tuple(one for one, _ in made), (), tuple(one for _, one in made))


TWICE = Factor(
    kind="factor",
    id="c",
    text="Kafka twice Pulsar",
    source="table 1-1",
    figure="throughput",
    a=Operand(system="kafka"),
    b=Operand(system="pulsar"),
    common=Place(level=1, partitions=100),
    at_least=2.0,
)


@pytest.mark.parametrize(
    ("run", "verdict", "told"),
    [
        (sustained(40_000, 10_000), CONFIRMED, "4 times"),
        (sustained(10_000, 10_000), CONTRADICTED, "claimed at least 2"),
        (sustained(20_000, 10_000), NOT_DECIDED, "too few repeats"),
        (sustained(40_000, 10_000, decided=False), NOT_DECIDED, "not decided: every trial is INVALID"),
    ],
)
def test_a_factor_of_sustainable_rates(run: Measured, verdict: Verdict, told: str) -> None:
    found = judged(TWICE, run)
    assert found.verdict is verdict
    assert told in found.reason


def test_sustainable_rates_are_shown_in_the_unit_that_was_published() -> None:
    kafka, pulsar = judged(TWICE, sustained(40_000, 10_000)).parts[0].sides
    assert (kafka.values, kafka.unit, kafka.published) == ((40.96,), "MB/s", 420.0)
    assert (pulsar.values, pulsar.published) == ((10.24,), 300.0)


def test_a_bound_in_a_run_is_shown_and_not_decided() -> None:
    claim = Bound(
        kind="bound",
        id="c",
        text="under 15 ms",
        source="table 2-14",
        figure="publish-p99",
        of=Operand(system="kafka", level=1, partitions=100),
        at_most=15.0,
    )
    found = judged(claim, run_of(measured(trial("kafka"), 4.0)))
    assert found.verdict is NOT_DECIDED
    assert "kept here" in found.reason


def test_offered_loads_are_numbered_as_the_campaign_lists_them() -> None:
    claim = Growth(
        kind="growth",
        id="c",
        text="collapses",
        source="figure 14",
        figure="publish-p99",
        of=Operand(system="kafka"),
        over={"load": [1, 2]},
        shape=Shape.GROWS,
        at_least=10.0,
    )
    run = run_of(measured(trial("kafka", rule="25%"), 1.0), measured(trial("kafka", rule="105%"), 200.0))
    assert judged(claim, run).verdict is CONFIRMED


def test_what_one_machine_can_not_show_is_said_so() -> None:
    found = examine(
        report("confluent-2020"), Choice("confluent-2020", ("raid-0-helps-little",)), run_of(*pair(50.0, 10.0))
    ).claims[0]
    assert found.verdict is NOT_DECIDED
    assert "two disks" in found.reason


def test_a_published_figure_of_another_level_says_so() -> None:
    choice = Choice("confluent-2020", ("kafka-lowest-end-to-end",))
    pulsar, kafka = examine(report("confluent-2020"), choice, run_of(*pair(50.0, 10.0))).claims[0].parts[0].sides
    assert (pulsar.published, kafka.published) == (25.0, 5.0)
    assert pulsar.published_source == "figure of end-to-end latency, at level 1"
    assert kafka.published_source == "figure of end-to-end latency"

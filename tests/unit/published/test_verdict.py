"""Every verdict on a claim, from hand-made ratios and from hand-made runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from published_samples import (
    CONFIRMED,
    CONTRADICTED,
    DIRECTION,
    NOT_DECIDED,
    PULSAR_BELOW,
    TWICE,
    confirmed,
    doubtful,
    judged,
    measured,
    pair,
    ratio,
    run_of,
    sustained,
    trial,
)
from reasons import reasons_of
from run_samples import latency, result, spec

from tidegauge.model.events import left_out_note
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import AS_FAST_AS_IT_GOES, LoadResult, LoadSpec, Validity
from tidegauge.model.workload import Arrival
from tidegauge.published.examine import Choice, examine, report_named
from tidegauge.published.model import (
    Bound,
    Growth,
    GrowthShape,
    Operand,
    Place,
)
from tidegauge.published.observe import ExaminedRun
from tidegauge.published.verdict import (
    ABOVE,
    BELOW,
    ClaimAnswer,
    ClaimOutcome,
    ClaimRatio,
    ClaimVerdict,
    Grade,
    Limits,
    combine_answers,
    judge_bound,
    judge_ratio,
    ratio_of,
    size_of,
)


@pytest.mark.parametrize(
    ("seen", "limits", "verdict"),
    [
        (ratio(1.2, 1.6), ABOVE, CONFIRMED),
        (ratio(0.5, 0.9), ABOVE, CONTRADICTED),
        (ratio(0.9, 1.3), ABOVE, NOT_DECIDED),
        (ratio(1.0, 1.0), ABOVE, CONTRADICTED),
        (ratio(0.5, 0.9), BELOW, CONFIRMED),
        (ratio(1.0, 1.2), BELOW, CONTRADICTED),
        (ratio(0.9, 1.1), BELOW, NOT_DECIDED),
        (ratio(0.9, 1.1), Limits(0.8, 1.25), CONFIRMED),
        (ratio(1.3, 1.5), Limits(0.8, 1.25), CONTRADICTED),
        (ratio(0.5, 0.7), Limits(0.8, 1.25), CONTRADICTED),
        (ratio(0.7, 1.1), Limits(0.8, 1.25), NOT_DECIDED),
    ],
)
def test_a_ratio_is_judged_by_its_whole_interval(seen: ClaimRatio, limits: Limits, verdict: ClaimVerdict) -> None:
    assert judge_ratio(seen, limits).verdict is verdict


@pytest.mark.parametrize(
    ("seen", "size", "verdict", "of_size"),
    [
        (ratio(20.0, 40.0), size_of(29.0), CONFIRMED, CONFIRMED),
        (ratio(3.8, 4.4), size_of(29.0), DIRECTION, CONTRADICTED),
        (ratio(10.0, 20.0), size_of(29.0), DIRECTION, NOT_DECIDED),
        (ratio(100.0, 200.0), size_of(29.0), DIRECTION, CONTRADICTED),
        (ratio(0.9, 20.0), size_of(29.0), NOT_DECIDED, None),
        (ratio(0.5, 0.9), size_of(29.0), CONTRADICTED, None),
        (ratio(3.1, 5.0), Limits(3.0), CONFIRMED, CONFIRMED),
        (ratio(1.5, 2.9), Limits(3.0), DIRECTION, CONTRADICTED),
    ],
)
def test_a_size_is_confirmed_only_near_the_published_one(
    seen: ClaimRatio, size: Limits, verdict: ClaimVerdict, of_size: ClaimVerdict | None
) -> None:
    answer = judge_ratio(seen, ABOVE, size, 29.0)
    assert (answer.verdict, answer.size) == (verdict, of_size)


def test_the_words_say_what_was_compared() -> None:
    answer = judge_ratio(ratio(3.8, 4.4), ABOVE, size_of(29.0), 29.0)
    assert answer.short == "4.09 times, published 29 times: direction confirmed, size not (14.5 to 58 counts)"
    assert "(3.8 to 4.4; 5 trials each, 95 % interval), published 29 times" in answer.reason


@pytest.mark.parametrize(
    ("published", "low", "high"), [(29.0, 14.5, 58.0), (1.89, 1.375, 2.598), (0.5, 0.3536, 0.7071), (1.0, 1.0, 1.0)]
)
def test_a_small_ratio_has_a_narrow_size(published: float, low: float, high: float) -> None:
    """So that what is hardly above 1 is not of the size of twice."""
    size = size_of(published)
    assert (size.at_least, size.at_most) == (pytest.approx(low, rel=1e-3), pytest.approx(high, rel=1e-3))


def test_the_reason_distinguishes_noise_from_too_few_repeats() -> None:
    assert (
        "direction open, the interval reaches across 1 (above 1 counts)" in judge_ratio(ratio(0.9, 1.3), ABOVE).reason
    )
    alike = judge_ratio(ratio(0.7, 1.1), Limits(0.8, 1.25)).reason
    assert "likeness open, the interval reaches across the limit (0.8 to 1.25 counts)" in alike
    assert "direction open, too few repeats" in judge_ratio(ratio(0.9, 1.3, margin=1.5), ABOVE).reason
    few = judge_ratio(ratio(29 / 3, 29 * 3, margin=3.0), ABOVE, size_of(29.0), 29.0).reason
    assert "size open, too few repeats (14.5 to 58 counts)" in few
    assert "size open (14.5 to 58 counts)" in judge_ratio(ratio(10.0, 40.0), ABOVE, size_of(29.0), 29.0).reason


def test_an_absolute_value_is_never_decided() -> None:
    for values, expected in (([4.0, 9.0], "kept here"), ([14.0, 43.0], "not kept here")):
        answer = judge_bound(values, "ms", Limits(at_most=15.0))
        assert answer.verdict is NOT_DECIDED
        assert expected in answer.reason


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
        ([CONFIRMED, DIRECTION], DIRECTION),
        ([DIRECTION, NOT_DECIDED], NOT_DECIDED),
        ([NOT_DECIDED], NOT_DECIDED),
    ],
)
def test_a_claim_holds_if_all_its_parts_do(verdicts: list[ClaimVerdict], whole: ClaimVerdict) -> None:
    answer = combine_answers(
        [(f"level {number}", ClaimAnswer(one, f"why {number}")) for number, one in enumerate(verdicts)]
    )
    assert answer.verdict is whole


def test_one_doubtful_trial_decides_nothing() -> None:
    judgement = judged(PULSAR_BELOW, run_of(*doubtful(pair(50.0, 10.0))))
    assert judgement.verdict is NOT_DECIDED
    assert judgement.reason.startswith("too few trials that are not DOUBTFUL: 5 times")
    assert judgement.reason.endswith("it rests on a DOUBTFUL trial, latency-pulsar-1-0-100-50%: warm-up not steady")
    assert [side.doubtful for side in judgement.parts[0].sides] == [0, 1]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"steady": False}, "its warm-up was too short to judge, or never steady"),
        ({"offered_msgs_per_s": 1e9}, "the system did not keep up"),
    ],
)
def test_a_valid_trial_that_shows_something_else_decides_nothing(changes: dict[str, Any], expected: str) -> None:
    kafka, pulsar = pair(50.0, 10.0)
    judgement = judged(PULSAR_BELOW, run_of(kafka, replace(pulsar, **changes)))
    assert judgement.verdict is NOT_DECIDED
    assert expected in judgement.reason


def test_a_failure_is_reported() -> None:
    kafka, pulsar = pair(50.0, 10.0)
    failures = {pulsar.spec.trial_id: "The worker ended."}
    run = ExaminedRun((kafka.spec, pulsar.spec), (kafka,), failures=failures)
    assert judged(PULSAR_BELOW, run).reason == f"{pulsar.spec.trial_id} has no result: The worker ended."


def test_an_interval_stands_and_names_its_doubtful_trials() -> None:
    judgement = judged(PULSAR_BELOW, run_of(*doubtful(pair(50.0, 10.0, blocks=5))))
    assert judgement.verdict is CONFIRMED
    assert "it rests on a DOUBTFUL trial, latency-pulsar-1-4-100-50%: warm-up not steady" in judgement.reason


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
def test_an_ordering_in_a_run(kafka_ms: float, pulsar_ms: float, blocks: int, verdict: ClaimVerdict) -> None:
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
    assert "the interval reaches across 1" in found.reason


def test_reasons_why_nothing_can_be_decided() -> None:
    kafka, pulsar = pair(50.0, 10.0)
    invalid = replace(pulsar, validity=Validity.INVALID, reasons=reasons_of("own lag is half of the response"))
    few = measured(pulsar.spec, 10.0, response=latency(count=500))
    failed = ExaminedRun((kafka.spec, pulsar.spec), (kafka,), failures={pulsar.spec.trial_id: "the broker ended"})
    other = trial("pulsar", partitions=5000)
    cases = {
        "pulsar is missing from the run": run_of(kafka),
        "pulsar@1 is left out: too large": run_of(kafka, left_out=(left_out_note("pulsar@1", "too large."),)),
        "is INVALID: own lag is half of the response": run_of(kafka, invalid),
        "too few samples": run_of(kafka, few),
        "has no result: the broker ended": failed,
        "was not reached": ExaminedRun((kafka.spec, pulsar.spec), (kafka,)),
        "the run has no latency at 'pulsar, level 1, 100 partitions'": run_of(kafka, measured(other, 10.0)),
        "the run has no latency": ExaminedRun((spec("kafka@1", "peak"), spec("pulsar@1", "peak")), ()),
        "several settings of the run fit": run_of(kafka, pulsar, measured(trial("pulsar", rule="80%"), 10.0)),
    }
    for expected, run in cases.items():
        found = judged(PULSAR_BELOW, run)
        assert found.verdict is NOT_DECIDED, expected
        assert expected in found.reason


def test_what_was_not_measured_is_reported_once_for_all_places() -> None:
    claim = PULSAR_BELOW.model_copy(update={"common": Place(partitions=100), "for_each": {"level": [1, 2, 3]}})
    found = judged(claim, run_of(*pair(50.0, 10.0)))
    assert found.verdict is NOT_DECIDED
    assert found.reason.startswith("level 1: 5 times, published 5.67 times: direction confirmed; level 2 and level 3: ")
    assert found.reason.endswith("the run has no latency there")


def test_an_invalid_trial_among_repeats_is_reported() -> None:
    results = pair(20.0, 10.0, blocks=2)
    results[1] = replace(results[1], validity=Validity.INVALID, reasons=reasons_of("own lag"))
    found = judged(PULSAR_BELOW, run_of(*results))
    assert found.verdict is NOT_DECIDED
    assert "too few repeats" in found.reason
    assert "INVALID: own lag" in found.reason


def growth(shape: GrowthShape, **limits: float) -> Growth:
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


def over_partitions(*p99s_ms: float) -> ExaminedRun:
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
        (growth(GrowthShape.GROWS, at_least=4), (10.0, 30.0, 60.0), CONFIRMED),
        (growth(GrowthShape.GROWS, at_least=4), (10.0, 20.0, 30.0), DIRECTION),
        (growth(GrowthShape.GROWS), (10.0, 30.0, 41.0), DIRECTION),
        (growth(GrowthShape.GROWS), (10.0, 30.0, 300.0), CONFIRMED),
        (growth(GrowthShape.GROWS), (10.0, 9.0, 8.0), CONTRADICTED),
        (growth(GrowthShape.FALLS, at_most=0.75), (10.0, 8.0, 5.0), CONFIRMED),
        (growth(GrowthShape.FALLS, at_most=0.75), (10.0, 8.0, 9.0), DIRECTION),
        (growth(GrowthShape.FALLS, at_most=0.75), (10.0, 8.0, 11.0), CONTRADICTED),
        (growth(GrowthShape.FLAT, within=1.5), (10.0, 12.0, 11.0), CONFIRMED),
        (growth(GrowthShape.FLAT, within=1.5), (10.0, 40.0, 11.0), CONTRADICTED),
        (growth(GrowthShape.FLAT, within=1.5), (10.0, 12.0), NOT_DECIDED),
    ],
)
def test_a_growth_in_a_run(claim: Growth, p99s_ms: tuple[float, ...], verdict: ClaimVerdict) -> None:
    found = judged(claim, over_partitions(*p99s_ms))
    assert found.verdict is verdict
    if verdict is NOT_DECIDED:
        assert "10,000 partitions" in found.reason


def test_a_search_that_begins_in_a_closed_loop_is_of_one_setting() -> None:
    run = sustained(40_000, 10_000)
    loops = [
        replace(spec, trial_id=spec.trial_id.replace("-s01", "-s00"), rate_rule=AS_FAST_AS_IT_GOES, workload=closed)
        for spec in run.specs
        for closed in [replace(spec.workload, arrival=Arrival.CLOSED_LOOP)]
    ]
    assert judged(TWICE, replace(run, specs=(*loops, *run.specs))).verdict is CONFIRMED
    poisson = [
        replace(
            spec,
            trial_id=spec.trial_id.replace("-s01", "-p-s01"),
            point={"arrival": "poisson"},
            workload=replace(spec.workload, arrival=Arrival.POISSON),
        )
        for spec in run.specs
    ]
    assert "several settings of the run fit" in judged(TWICE, replace(run, specs=(*poisson, *run.specs))).reason


@pytest.mark.parametrize(
    ("run", "verdict", "expected"),
    [
        (sustained(40_000, 10_000), CONFIRMED, "4 times"),
        (sustained(10_000, 30_000), CONTRADICTED, "direction contradicted"),
        (sustained(35_000, 20_000), DIRECTION, "size open, too few repeats (at least 2 counts)"),
        (sustained(14_000, 10_000), NOT_DECIDED, "too few repeats"),
        (sustained(40_000, 10_000, decided=False), NOT_DECIDED, "not decided: every trial is INVALID"),
    ],
)
def test_a_factor_of_sustainable_rates(run: ExaminedRun, verdict: ClaimVerdict, expected: str) -> None:
    found = judged(TWICE, run)
    assert found.verdict is verdict
    assert expected in found.reason


def test_sustainable_rates_are_shown_in_the_unit_that_was_published() -> None:
    kafka, pulsar = judged(TWICE, sustained(40_000, 10_000)).parts[0].sides
    assert (kafka.values, kafka.unit, kafka.published) == ((39.0625,), "MiB/s", 420.0)
    assert (pulsar.values, pulsar.published) == ((9.765625,), 300.0)


def test_an_absolute_rate_is_compared_in_the_unit_that_was_published() -> None:
    claim = Bound(
        kind="bound",
        id="c",
        text="39.1 MB/s at most",
        source="table 1-1",
        figure="throughput",
        of=Operand(system="kafka"),
        at_most=39.1,
    )
    found = judged(claim, sustained(40_000, 10_000))
    assert "here 39.1 MiB/s, claimed at most 39.1 MiB/s: kept here" in found.reason
    assert found.grade is Grade.ABSOLUTE


def test_the_text_says_at_how_many_partitions_it_was_measured() -> None:
    claim = TWICE.model_copy(update={"common": Place(level=1), "at_least": None})
    found = judged(claim, sustained(40_000, 10_000))
    assert found.grade is Grade.SIZE
    assert found.reason.startswith("at 100 partitions: 4 times (")
    assert found.parts[0].conditions == "at 100 partitions"
    other = judged(PULSAR_BELOW, run_of(*pair(50.0, 10.0)))
    assert (other.grade, other.parts[0].conditions) == (Grade.ORDERING, "")


def test_a_system_without_forms_is_found_at_a_form_of_the_level() -> None:
    """As at level 2 of a system that has two ways of giving it; the other is measured at both points."""
    bypass, journal = (
        replace(trial("pulsar", level=2), choice=LevelChoice(2, form), trial_id=form, point={"durability": f"2 {form}"})
        for form in ("bypass", "journal")
    )
    kafka = [
        replace(trial("kafka", level=2), trial_id=f"kafka-{form}", point={"durability": f"2 {form}"})
        for form in ("journal", "bypass")
    ]
    claim = PULSAR_BELOW.model_copy(update={"common": Place(level=2, partitions=100, form="bypass")})
    times_ms = (measured(bypass, 10.0), measured(journal, 80.0), measured(kafka[0], 11.0), measured(kafka[1], 50.0))
    found = judged(claim, run_of(*times_ms))
    assert found.verdict is CONFIRMED
    assert [side.values for side in found.parts[0].sides] == [(50.0,), (10.0,)], "both of the same point"
    no_form = PULSAR_BELOW.model_copy(update={"common": Place(level=2, partitions=100)})
    assert "several settings of the run fit" in judged(no_form, run_of(*times_ms)).reason


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
        shape=GrowthShape.GROWS,
        at_least=10.0,
    )
    run = run_of(measured(trial("kafka", rule="25%"), 1.0), measured(trial("kafka", rule="105%"), 200.0))
    assert judged(claim, run).verdict is CONFIRMED


def test_what_one_machine_can_not_show_is_said_so() -> None:
    found = examine(
        report_named("confluent-2020"), Choice("confluent-2020", ("raid-0-helps-little",)), run_of(*pair(50.0, 10.0))
    ).claims[0]
    assert found.verdict is NOT_DECIDED
    assert "two disks" in found.reason


def test_a_published_figure_of_another_level_says_so() -> None:
    choice = Choice("confluent-2020", ("kafka-lowest-end-to-end",))
    pulsar, kafka = examine(report_named("confluent-2020"), choice, run_of(*pair(50.0, 10.0))).claims[0].parts[0].sides
    assert (pulsar.published, kafka.published) == (25.0, 5.0)
    assert pulsar.published_source == "head table, at 200,000 msg/s, at level 1"
    assert kafka.published_source == "head table, at 200,000 msg/s"


def test_publish_latency_at_the_maximum_is_that_of_the_confirmation() -> None:
    kafka, pulsar = confirmed("kafka", 50_000, 40.0), confirmed("pulsar", 40_000, 1.0)
    run = ExaminedRun(
        tuple(spec for spec, _, _ in (kafka, pulsar)),
        tuple(one for _, _, one in (kafka, pulsar)),
        tuple(finding for _, finding, _ in (kafka, pulsar)),
    )
    claim = PULSAR_BELOW.model_copy(update={"figure": "maximum-publish-mean"})
    found = judged(claim, run)
    assert found.verdict is CONFIRMED
    assert [side.values for side in found.parts[0].sides] == [(latency(40.0).mean_ms,), (latency(1.0).mean_ms,)]
    end_to_end = judged(claim.model_copy(update={"figure": "maximum-end-to-end-mean"}), run)
    (one,) = result().subscriptions
    assert [side.values for side in end_to_end.parts[0].sides] == [(one.end_to_end.mean_ms,)] * 2
    unconfirmed = judged(claim, replace(run, results=()))
    assert "the confirmation of 0000-max-throughput-kafka has no figure for it" in unconfirmed.reason


def test_a_value_of_the_sweep_distinguishes_two_places() -> None:
    slow, fast = (
        replace(trial("pulsar"), trial_id=name, point={"check-delay": name})
        for name in ("check delay 10 ms", "check delay 0 ms")
    )
    places = [Operand(system="pulsar", variant=name) for name in ("check delay 10 ms", "check delay 0 ms")]
    claim = PULSAR_BELOW.model_copy(update={"from_highest": places})
    assert judged(claim, run_of(measured(slow, 40.0), measured(fast, 10.0))).verdict is CONFIRMED
    assert judged(claim, run_of(measured(slow, 10.0), measured(fast, 40.0))).verdict is CONTRADICTED


def test_the_lowest_of_three_is_compared_with_both_others() -> None:
    rabbitmq = replace(trial("rabbitmq"), choice=LevelChoice(1, "mirrored"))

    def slowed(kafka_ms: float, pulsar_ms: float) -> ClaimOutcome:
        times_ms = ((trial("kafka"), kafka_ms), (trial("pulsar"), pulsar_ms), (rabbitmq, 10.0))
        results = [end_to_end(spec, value) for spec, value in times_ms]
        choice = Choice("confluent-2020", ("rabbitmq-lowest-at-its-rate",))
        return examine(report_named("confluent-2020"), choice, run_of(*results)).claims[0]

    assert slowed(100.0, 100.0).verdict is CONFIRMED
    assert slowed(100.0, 1.0).verdict is CONTRADICTED
    assert slowed(1.0, 100.0).verdict is CONTRADICTED
    found = slowed(100.0, 1.0)
    assert [part.words for part in found.parts] == ["kafka above rabbitmq, mirrored", "pulsar above rabbitmq, mirrored"]
    assert [side.published for part in found.parts for side in part.sides] == [20.0, 1.01, 25.0, 1.01]


def end_to_end(made: LoadSpec, p99_ms: float) -> LoadResult:
    whole = result(made)
    slow = replace(whole.subscriptions[0], end_to_end=replace(latency(), p99_ms=p99_ms))
    return replace(whole, subscriptions=(slow,))


@pytest.mark.parametrize(
    ("claim", "published"),
    [
        ("pulsar-latency-below-on-one-partition", [[300.0, 6.2], [136.5, 5.0]]),
        ("pulsar-end-to-end-below-on-one-partition", [[305.0, 8.9], [144.0, 7.3]]),
        ("pulsar-latency-below-on-one-partition-without-fsync", [[269.4, 3.2], [103.0, 4.3]]),
    ],
)
def test_latencies_on_one_partition_are_those_of_the_linked_results(claim: str, published: list[list[float]]) -> None:
    """Figures 2-8 (publish) and 2-9 (end to end) are with an fsync; without one there are results only."""
    choice = Choice("streamnative-2020", (claim,))
    parts = examine(report_named("streamnative-2020"), choice, ExaminedRun((), ())).claims[0].parts
    assert [[side.published for side in part.sides] for part in parts] == published


def test_figures_that_are_alike_are_read_as_a_measured_ratio() -> None:
    reason = judge_ratio(ratio(0.9, 1.1111), Limits(0.8, 1.25), published=1.0).reason
    assert reason.startswith("1.00 times (0.9 to 1.11; ")
    assert "published 1.00 times: likeness confirmed" in reason


def test_a_system_without_forms_has_none_in_a_table() -> None:
    claim = PULSAR_BELOW.model_copy(update={"common": Place(level=2, form="bypass", partitions=100)})
    pulsar = replace(trial("pulsar", level=2), choice=LevelChoice(2, "bypass"))
    outcome = judged(claim, run_of(measured(trial("kafka", level=2), 50.0), measured(pulsar, 10.0)))
    assert [side.place for side in outcome.parts[0].sides] == [
        "kafka, level 2, 100 partitions",
        "pulsar, bypass, level 2, 100 partitions",
    ]
    alone = judged(claim, run_of(measured(trial("kafka", level=2), 50.0)))
    assert alone.parts[0].sides[1].place == "pulsar, bypass, level 2, 100 partitions", "nothing is known of its forms"

"""What two figures must have before a claim rests on them: the same load, and no window that made the rate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from published_campaigns import NAMES, PATHS, SCALES, places, plan_published
from published_samples import (
    CONFIRMED,
    NOT_DECIDED,
    PULSAR_BELOW,
    TWICE,
    confirmed,
    judged,
    measured,
    pair,
    run_of,
    throughput,
    trial,
)
from run_samples import result

from tidegauge.campaign.plan.plan import point_of_rates
from tidegauge.model.trial import LoadResult
from tidegauge.model.use import Limiting, Resource
from tidegauge.published.examine import questions, report_named
from tidegauge.published.model import FIGURES, MAX_THROUGHPUT, Operand, Place
from tidegauge.published.observe import ExaminedRun, is_at_place

AT_OWN_LEVELS = PULSAR_BELOW.model_copy(
    update={
        "from_highest": [Operand(system="pulsar", level=1), Operand(system="kafka", level=2)],
        "common": Place(partitions=100),
    }
)


def at_own_levels(pulsar_msgs_per_s: float, kafka_msgs_per_s: float, blocks: int = 1) -> ExaminedRun:
    found = []
    for block in range(blocks):
        noise = 1 + block / 100
        pulsar = replace(trial("pulsar", block=block), msgs_per_s=pulsar_msgs_per_s)
        kafka = replace(trial("kafka", level=2, block=block), msgs_per_s=kafka_msgs_per_s)
        found += [measured(pulsar, 50.0 * noise), measured(kafka, 10.0 * noise)]
    return run_of(*found)


@pytest.mark.parametrize("blocks", [1, 5])
def test_latencies_at_different_loads_decide_nothing(blocks: int) -> None:
    found = judged(AT_OWN_LEVELS, at_own_levels(20_000, 31_000, blocks))
    assert found.verdict is NOT_DECIDED
    assert found.reason == "it was measured at different offered rates: 20,000 and 31,000 msg/s"


def test_loads_that_differ_by_two_per_cent_are_the_same() -> None:
    assert judged(AT_OWN_LEVELS, at_own_levels(20_000, 20_390)).verdict is CONFIRMED
    assert judged(AT_OWN_LEVELS, at_own_levels(20_000, 20_410)).verdict is NOT_DECIDED


def test_each_block_may_have_a_load_of_its_own() -> None:
    """It is found anew in each, and ratios are paired within blocks."""
    made = [
        replace(result, spec=replace(result.spec, msgs_per_s=rate), offered_msgs_per_s=rate, msgs_per_s=rate)
        for result in pair(50.0, 10.0, blocks=3)
        for rate in [20_000.0 * (1 + result.spec.block)]
    ]
    assert judged(PULSAR_BELOW, run_of(*made)).verdict is CONFIRMED


def test_a_claim_over_loads_varies_them() -> None:
    low, high = (
        replace(trial("kafka", rule=rule), msgs_per_s=rate) for rule, rate in (("25%", 5_000.0), ("105%", 21_000.0))
    )
    claim = PULSAR_BELOW.model_copy(
        update={"from_highest": [Operand(load=2), Operand(load=1)], "common": Place(system="kafka")}
    )
    assert judged(claim, run_of(measured(low, 1.0), measured(high, 200.0))).verdict is CONFIRMED


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_campaign_measures_both_sides_of_a_claim_at_one_load(path: Path, scale: str) -> None:
    """The same rate, or the same share of what is found at the same point of the sweep."""
    plan = plan_published(path, scale=scale)
    campaign = plan.campaign
    assert campaign.published is not None
    known = {claim.id: claim for claim in report_named(campaign.published.report).claims}
    run = ExaminedRun(plan.trials, [])
    for name in campaign.published.claims:
        for question in questions(known[name]) if not known[name].unreproducible else ():
            if FIGURES[question.figure].experiment == MAX_THROUGHPUT or "load" in question.varied:
                continue
            loads = {
                spec.msgs_per_s or (str(spec.rate_rule), *point_of_rates(spec.point, campaign.rates_at).items())
                for figure, place in places(question)
                for spec in run.specs
                if spec.experiment == FIGURES[figure].experiment and is_at_place(place, spec, run)
            }
            assert len(loads) <= 1, (name, question.words, loads)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_more_producers_have_no_larger_window_together(path: Path, scale: str) -> None:
    """Else a claim on their number is one on the window."""
    plan = plan_published(path, scale=scale)
    campaign = plan.campaign
    assert campaign.published is not None
    known = {claim.id: claim for claim in report_named(campaign.published.report).claims}
    trials = plan.trials
    run = ExaminedRun(trials, [])
    for name in campaign.published.claims:
        for question in questions(known[name]) if not known[name].unreproducible else ():
            sides = [
                {spec.workload.window_messages() for spec in trials if is_at_place(place, spec, run)}
                for _, place in places(question)
                if place.producers is not None
            ]
            assert len({frozenset(side) for side in sides if side}) <= 1, (name, question.words)


def at_the_window(system: str, resource: Resource) -> tuple[ExaminedRun, LoadResult]:
    """A rate of 40,000 confirmed, and the trial at 44,000 that failed."""
    spec, finding = throughput(system, 40_000)
    goal = {**finding.details["goals"][0], "upper_msgs_per_s": 44_000.0}
    above = replace(spec, trial_id=f"{finding.finding_id}-s07", msgs_per_s=44_000.0, exploratory=True)
    limiting = Limiting(resource, "", 0.96, "the window of 10,000 messages was full 96% of the time")
    failed = result(above, offered_msgs_per_s=44_003.2, limiting=limiting)
    return ExaminedRun([spec], [failed], [replace(finding, details={"goals": [goal]})]), failed


@pytest.mark.parametrize("resource", [Resource.WINDOW, Resource.REPLICATION, Resource.SYNCS])
def test_a_rate_that_the_window_made_decides_nothing(resource: Resource) -> None:
    kafka, _ = at_the_window("kafka", resource)
    spec, finding = throughput("pulsar", 10_000)
    run = replace(kafka, specs=[*kafka.specs, spec], findings=[*kafka.findings, finding])
    found = judged(TWICE, run)
    assert found.verdict is NOT_DECIDED
    limited = (
        f"limited by the messages that may be in flight: 0000-max-throughput-kafka: {resource} (96 %): the window of"
    )
    assert found.reason.startswith(limited)
    assert "4 times" in found.reason, "the figures are still shown"


@pytest.mark.parametrize("resource", [Resource.DISK, Resource.HOST_CPU, Resource.OFFERED])
def test_a_rate_that_something_else_limited_stands(resource: Resource) -> None:
    kafka, failed = at_the_window("kafka", resource)
    spec, finding = throughput("pulsar", 10_000)
    run = replace(kafka, specs=[*kafka.specs, spec], findings=[*kafka.findings, finding])
    assert judged(TWICE, run).verdict is CONFIRMED
    unknown = replace(run, results=[replace(failed, limiting=None)])
    assert judged(TWICE, unknown).verdict is CONFIRMED


@pytest.mark.parametrize(
    ("reason", "here", "said"),
    [
        (Resource.DISK, Resource.HOST_CPU, True),
        (Resource.DISK, Resource.DISK, False),
        (Resource.DISK, Resource.UNKNOWN, False),
        (None, Resource.HOST_CPU, False),
    ],
)
def test_a_verdict_says_where_another_resource_limited_rates_than_in_the_report(
    reason: Resource | None, here: Resource, said: bool
) -> None:
    kafka, _ = at_the_window("kafka", here)
    spec, finding = throughput("pulsar", 10_000)
    run = replace(kafka, specs=[*kafka.specs, spec], findings=[*kafka.findings, finding])
    outcome = judged(TWICE.model_copy(update={"limit": reason}), run)
    assert outcome.verdict is CONFIRMED
    assert ("the report's reason is the disk, and here the limit was host CPU" in outcome.reason) is said


def test_a_latency_at_a_rate_that_the_window_made_decides_nothing_either() -> None:
    _, failed = at_the_window("kafka", Resource.WINDOW)
    kafka, pulsar = confirmed("kafka", 40_000, 40.0), confirmed("pulsar", 40_000, 1.0)
    findings = [
        replace(result, details={"goals": [{**result.details["goals"][0], "upper_msgs_per_s": 44_000.0}]})
        for result in (kafka[1], pulsar[1])
    ]
    claim = PULSAR_BELOW.model_copy(update={"figure": "maximum-publish-mean"})
    run = ExaminedRun([kafka[0], pulsar[0]], [kafka[2], pulsar[2]], findings)
    assert judged(claim, run).verdict is CONFIRMED
    assert judged(claim, replace(run, results=[*run.results, failed])).verdict is NOT_DECIDED

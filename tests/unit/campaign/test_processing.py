"""Consumers that process messages: how a campaign asks for it, what the plan says, and what a result has of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from run_samples import totals

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.fairness import wanted_tilts
from tidegauge.campaign.plan.generators import processing_warnings
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.trial.result import _processing_of
from tidegauge.errors import UserError
from tidegauge.model.processing import Processing, ProcessingKind
from tidegauge.model.workload import SubscriptionType, Workload
from tidegauge.report.loads import brief_workloads, workload_words

NAMES = ("kafka", "null")


def campaign(directory: Path, workload: str, rate: str = "100", experiment: str = "latency") -> Campaign:
    file = directory / "campaign.yaml"
    load = f", rate: {rate}" if rate else ""
    file.write_text(
        f"name: processing\ndurability: 3\nsystems: [kafka]\nworkload: {{{workload}}}\n"
        f"experiments: [{{name: {experiment}{load}}}]\n"
    )
    return parse_campaign(file, {}, NAMES)


@pytest.mark.parametrize(
    ("text", "processing"),
    [
        ("20ms", Processing(ProcessingKind.CONSTANT, 0.02)),
        ("constant 1s", Processing(ProcessingKind.CONSTANT, 1.0)),
        ("exponential  20ms", Processing(ProcessingKind.EXPONENTIAL, 0.02)),
        ("lognormal 5ms p99 100ms", Processing(ProcessingKind.LOGNORMAL, 0.005, 0.1)),
        ("pareto 500us p99 2s", Processing(ProcessingKind.PARETO, 0.0005, 2.0)),
        ("20ms on CPU", Processing(ProcessingKind.CONSTANT, 0.02, on_cpu=True)),
        ("lognormal 5ms p99 100ms on cpu", Processing(ProcessingKind.LOGNORMAL, 0.005, 0.1, on_cpu=True)),
    ],
)
def test_each_distribution_can_be_asked_for(tmp_path: Path, text: str, processing: Processing) -> None:
    assert campaign(tmp_path, f"processing: {text}").workload.processing == processing
    assert campaign(tmp_path, f"processing: {processing}").workload.processing == processing


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("20", "must be a time such as 20ms, 'exponential 20ms'"),
        ("20ms on disk", "which consumers wait, or compute with ' on CPU' behind it"),
        ("[20ms]", "must be a time such as 20ms"),
        (
            "exponental 20ms",
            "must begin with a time or one of constant, exponential, lognormal, pareto (did you mean 'exponential'?)",
        ),
        ("lognormal 20ms", "lognormal takes its median and a p99"),
        ("exponential 20ms p99 50ms", "exponential takes one time, its mean"),
        ("3s", "takes times from 1us to 2s"),
        ("0ms", "takes times from 1us to 2s"),
        ("pareto 1ms p99 3s", "takes times from 1us to 2s"),
        ("lognormal 20ms p99 20ms", "must have a p99 above its median"),
    ],
)
def test_what_can_not_be_is_refused_at_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        campaign(tmp_path, f"processing: {text}")
    assert complaint in caught.value.message
    assert "campaign.yaml:4: workload.processing" in caught.value.message


@pytest.mark.parametrize("workload", ["subscriptions: 0", "producers: 0, existing-topics: [a]"])
def test_somebody_must_send_and_somebody_read(tmp_path: Path, workload: str) -> None:
    with pytest.raises(UserError, match="needs producers and subscriptions"):
        campaign(tmp_path, f"processing: 1ms, {workload}", rate="", experiment="peak")


@pytest.mark.parametrize(("rate", "msgs_per_s"), [("1000", 1000.0), ("2k", 2000.0), ("0.5", 0.5)])
def test_consumers_can_have_a_rate_of_their_own(tmp_path: Path, rate: str, msgs_per_s: float) -> None:
    assert campaign(tmp_path, f"consumer-rate: {rate}").workload.consumer_msgs_per_s_max == msgs_per_s


@pytest.mark.parametrize(
    ("workload", "complaint"),
    [
        ("consumer-rate: fast", "must be messages a second such as 20000 or 20k"),
        ("consumer-rate: 0", "must be from 0.001 to 10^12"),
        ("consumer-rate: 0.4", "must be 0.5 messages a second or more"),
        ("consumer-rate: 100, subscriptions: 0", "needs producers and subscriptions: without them it limits nobody"),
    ],
)
def test_a_rate_that_can_not_be_is_refused_at_its_line(tmp_path: Path, workload: str, complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        campaign(tmp_path, workload)
    assert complaint in caught.value.message
    assert "campaign.yaml:4: workload.consumer-rate" in caught.value.message


def remarks(of: Campaign) -> dict[str, str]:
    return {tilt.rule: tilt.paragraph() for tilt in wanted_tilts(plan_campaign(of))}


@pytest.mark.parametrize(
    ("workload", "rate", "told"),
    [
        ("processing: 20ms", "45", False),
        ("processing: 20ms", "50", True),
        ("processing: 20ms, consumers: 4, partitions: 4", "150", False),
        # A partition has one consumer.
        ("processing: 20ms, consumers: 4", "150", True),
        ("processing: 20ms, consumers: 4, subscription-type: shared", "150", False),
        ("processing: 20ms, consumers: 4, subscription-type: shared", "200", True),
        ("consumer-rate: 50", "45", False),
        ("consumer-rate: 50", "50", True),
        ("consumer-rate: 100, processing: 20ms", "60", True),
        ("consumer-rate: 50, consumers: 2, partitions: 2", "90", False),
        ("processing: exponential 20ms, topics: 2", "90", False),
        ("processing: exponential 20ms, topics: 2", "100", True),
    ],
)
def test_more_than_consumers_can_process_is_remarked_on(tmp_path: Path, workload: str, rate: str, told: bool) -> None:
    assert ("consumers-too-slow" in remarks(campaign(tmp_path, workload, rate))) == told


def test_the_remark_says_what_they_can_process(tmp_path: Path) -> None:
    said = remarks(campaign(tmp_path, "processing: 20ms", "60"))["consumers-too-slow"]
    assert "20ms of processing at 60 msg/s: a subscription's consumers can process 50 msg/s at most" in said


def test_messages_that_are_processed_as_fast_as_they_come_need_not_wait(tmp_path: Path) -> None:
    said = remarks(campaign(tmp_path, "processing: constant 20ms", "49"))["consumers-too-slow"]
    assert "50 msg/s at most: messages may wait for them" in said


@pytest.mark.parametrize(
    ("workload", "advised"),
    [("processing: 20ms", True), ("processing: 20ms, subscription-type: shared", False)],
)
def test_partitions_are_advised_where_consumers_do_not_share_them(tmp_path: Path, workload: str, advised: bool) -> None:
    said = remarks(campaign(tmp_path, workload, "60"))["consumers-too-slow"]
    assert ("with as many" in said) is advised


def test_the_remark_says_what_their_own_rate_allows(tmp_path: Path) -> None:
    said = remarks(campaign(tmp_path, "consumer-rate: 50, processing: 1ms", "60"))["consumers-too-slow"]
    assert "1ms of processing, 50 msg/s each at most at 60 msg/s: a subscription's consumers can process 50" in said


@pytest.mark.parametrize(
    ("workload", "rate", "cpus"),
    [
        ("processing: 20ms", "100", 0.0),
        ("processing: 20ms on CPU", "20", 0.4),
        # No consumer computes for more than all of the time.
        ("processing: 20ms on CPU", "100", 1.0),
        ("processing: 20ms on CPU, consumers: 4, partitions: 4", "100", 2.0),
        ("processing: 20ms on CPU, subscriptions: 3", "20", 1.2),
        ("processing: 20ms on CPU, topics: 2", "", 2.0),
    ],
)
def test_more_cpus_than_there_are_is_warned_of(tmp_path: Path, workload: str, rate: str, cpus: float) -> None:
    plan = plan_campaign(campaign(tmp_path, workload, rate, "latency" if rate else "peak"))
    (spec,) = plan.trials
    assert spec.workload.processing_cpus(spec.most_msgs_per_s or None) == pytest.approx(cpus)
    warned = processing_warnings(plan.trials, 2)
    assert bool(warned) == (cpus > 1.6)
    if warned:
        assert warned[0].startswith(f"{spec.trial_id} has consumers process on {cpus:.1f} of this host's 2 CPUs: too")
    assert not processing_warnings(plan.trials, 64)


def test_without_processing_consumers_are_no_limit() -> None:
    assert Workload().processed_msgs_per_s() == float("inf")
    shared = Workload(consumers=3, subscription_type=SubscriptionType.SHARED)
    processing = Processing(ProcessingKind.CONSTANT, 0.1)
    assert replace(shared, processing=processing).processed_msgs_per_s() == pytest.approx(30)


def test_the_load_is_described_with_it() -> None:
    workload = Workload(processing=Processing(ProcessingKind.EXPONENTIAL, 0.02))
    assert "1 consumer, who process each message for exponential 20ms" in workload_words(workload)
    assert "1 consumer, exponential 20ms of processing, 5,000 in" in brief_workloads([workload])
    limited = Workload(consumer_msgs_per_s_max=500.0)
    assert "1 consumer, each of 500 msg/s at most" in workload_words(limited)
    assert "1 consumer, 500 msg/s for a consumer at most, " in brief_workloads([limited])
    assert "process" not in workload_words(Workload()) + brief_workloads([Workload()])


def test_consumers_beyond_the_partitions_are_no_time_that_is_left_to_process() -> None:
    """One of four, the only one that a partition has, processes all the time."""
    (of_one,) = totals().subscriptions
    busy = replace(of_one, processing_ns=30_000_000_000)
    slow = Processing(ProcessingKind.CONSTANT, 0.02)
    for partitions, share in ((1, 1.0), (4, 0.25)):
        workload = Workload(partitions=partitions, consumers=4, processing=slow)
        assert _processing_of(busy, workload, 30.0)["processing_share"] == share

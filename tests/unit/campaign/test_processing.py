"""Consumers that process messages: how a campaign asks for it, what the plan says, and what a result has of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.fairness import wanted_tilts
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.errors import UserError
from tidegauge.model.processing import Processing, ProcessingKind
from tidegauge.model.workload import SubscriptionType, Workload
from tidegauge.report.loads import brief_workload, workload_words

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
    ],
)
def test_each_distribution_can_be_asked_for(tmp_path: Path, text: str, processing: Processing) -> None:
    assert campaign(tmp_path, f"processing: {text}").workload.processing == processing
    assert campaign(tmp_path, f"processing: {processing}").workload.processing == processing


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("20", "must be a time such as 20ms, 'exponential 20ms'"),
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
        ("processing: exponential 20ms, topics: 2", "90", False),
        ("processing: exponential 20ms, topics: 2", "100", True),
    ],
)
def test_more_than_consumers_can_process_is_remarked_on(tmp_path: Path, workload: str, rate: str, told: bool) -> None:
    assert ("consumers-too-slow" in remarks(campaign(tmp_path, workload, rate))) == told


def test_the_remark_says_what_they_can_process(tmp_path: Path) -> None:
    said = remarks(campaign(tmp_path, "processing: 20ms", "60"))["consumers-too-slow"]
    assert "20ms of processing at 60 msg/s: a subscription's consumers can process 50 msg/s at most" in said


def test_without_processing_consumers_are_no_limit() -> None:
    assert Workload().processed_msgs_per_s() == float("inf")
    shared = Workload(consumers=3, subscription_type=SubscriptionType.SHARED)
    processing = Processing(ProcessingKind.CONSTANT, 0.1)
    assert replace(shared, processing=processing).processed_msgs_per_s() == pytest.approx(30)


def test_the_load_is_described_with_it() -> None:
    workload = Workload(processing=Processing(ProcessingKind.EXPONENTIAL, 0.02))
    assert "1 consumer, who process each for exponential 20ms" in workload_words(workload)
    assert "(processing exponential 20ms)" in brief_workload(workload)
    assert "process" not in workload_words(Workload()) + brief_workload(Workload())

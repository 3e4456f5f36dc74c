"""Claims on what limits a rate: another resource here says nothing of the report's hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from published_samples import doubtful, judged, trial
from run_samples import result

from tidegauge.model.use import Limiting, Resource
from tidegauge.published.examine import Choice, examine_at_best, report_named
from tidegauge.published.model import LimitedRate, Operand
from tidegauge.published.observe import ExaminedRun
from tidegauge.published.verdict import ClaimOutcome, ClaimVerdict, Grade

CONFIRMED, OPEN = ClaimVerdict.CONFIRMED, ClaimVerdict.NOT_DECIDED


def limited(by: Resource = Resource.DISK) -> LimitedRate:
    return LimitedRate(
        kind="limited", id="c", text="x", source="s", figure="throughput", of=Operand(system="kafka"), limit=by
    )


def judged_by(limits: Sequence[Resource | None], claimed: Resource, are_doubtful: bool = False) -> ClaimOutcome:
    """The verdict by peaks of Kafka, each in a block of its own, with what limited it."""
    specs = [replace(trial("kafka", block=block), experiment="peak") for block in range(len(limits))]
    results = [
        replace(
            result(spec),
            limiting=None if limit is None else Limiting(limit, "", 0.99, "busy 99% of the time"),
        )
        for spec, limit in zip(specs, limits, strict=True)
    ]
    return judged(limited(claimed), ExaminedRun(specs, doubtful(results) if are_doubtful else results))


@pytest.mark.parametrize(
    ("limits", "claimed", "verdict", "words"),
    [
        ([Resource.DISK], Resource.DISK, CONFIRMED, "the limit was the disk here, too"),
        ([Resource.DISK, Resource.DISK], Resource.DISK, CONFIRMED, "the limit was the disk here, too"),
        ([Resource.SERVER_THREAD], Resource.SERVER_CPU, CONFIRMED, "the server CPU here, too, of one thread"),
        ([Resource.HOST_CPU], Resource.DISK, OPEN, "here the limit was host CPU: other hardware may differ"),
        ([Resource.DISK, Resource.WINDOW], Resource.DISK, OPEN, "here the limit was in-flight window"),
        ([Resource.SERVER_THREAD], Resource.DISK, OPEN, "here the limit was one server thread"),
        ([Resource.DISK, Resource.UNKNOWN], Resource.DISK, OPEN, "was not identified"),
        ([None], Resource.DISK, OPEN, "was not identified"),
        ([], Resource.DISK, OPEN, "kafka is missing from the run"),
    ],
)
def test_only_the_same_limit_confirms_and_none_contradicts(
    limits: Sequence[Resource | None], claimed: Resource, verdict: ClaimVerdict, words: str
) -> None:
    outcome = judged_by(limits, claimed)
    assert outcome.verdict is verdict
    assert words in outcome.reason
    assert outcome.grade is Grade.LIMIT


def test_a_doubtful_trial_confirms_nothing() -> None:
    outcome = judged_by([Resource.DISK], Resource.DISK, are_doubtful=True)
    assert outcome.verdict is OPEN
    assert "in a DOUBTFUL trial: latency-kafka" in outcome.reason


def test_a_plan_says_that_it_can_be_decided() -> None:
    report = report_named("confluent-2020").model_copy(update={"claims": [limited()]})
    planned = [replace(trial("kafka"), experiment="peak")]
    outcome = examine_at_best(report, Choice(report.report, ("c",)), planned)
    assert outcome.decided == ("c",)

"""`sizing` on simulated systems whose smallest number that sustains the rate is known."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from campaign_doubles import FakeLab, spec_of
from simulated_systems import invalid, latency, trial

from tidegauge.errors import RunFailedError
from tidegauge.experiments.sizing import EXPERIMENT, SizingOptions
from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadResult, LoadSpec, ServerReuse
from tidegauge.statistics.figures import SMALLEST

RATE = 50_000.0
EACH = 6_500.0
"""What each partition takes: 8 of them sustain the rate."""


@dataclass
class PerPartition:
    """Every partition takes so many messages a second. `of`: what of a trial decides how many there are."""

    each: float = EACH
    number: Callable[[LoadSpec], int] = lambda spec: spec.workload.partitions
    seen: list[LoadSpec] = field(default_factory=list)

    def __call__(self, spec: LoadSpec) -> LoadResult:
        self.seen.append(spec)
        return self.result(spec, self.number(spec))

    def result(self, spec: LoadSpec, number: int) -> LoadResult:
        assert spec.msgs_per_s == RATE
        return trial(spec, min(RATE, number * self.each))


def size(system: Callable[[LoadSpec], LoadResult], **options: Any) -> tuple[Finding, list[LoadSpec]]:
    parsed = SizingOptions.model_validate({"of": "partitions", "rate": "50k", "largest": 64, **options})
    lab = FakeLab(system, [])
    EXPERIMENT.run(parsed, EXPERIMENT.plan(parsed, spec_of("sizing", "kafka@1")), lab)
    (finding,) = lab.findings
    return finding, [result.spec for result in lab.results]


@pytest.mark.parametrize("answer", [1, 2, 3, 5, 8, 13, 31, 32, 33, 63, 64])
def test_the_smallest_number_is_found_and_confirmed_and_the_next_smaller_failed(answer: int) -> None:
    finding, specs = size(lambda spec: trial(spec, RATE if spec.workload.partitions >= answer else 0.92 * RATE))
    assert finding.decided
    assert finding.figures == {SMALLEST: answer}
    assert (finding.details["smallest"], finding.details["failed"]) == (answer, answer - 1 if answer > 1 else None)
    confirmed = [spec for spec in specs if spec.is_confirmation]
    assert [spec.workload.partitions for spec in confirmed] == [answer]
    assert (confirmed[0].measure_s, confirmed[0].servers) == (60.0, ServerReuse.FRESH)
    assert finding.published_trial_id == confirmed[0].trial_id
    # Doubling and halving; the fail that a stall might explain is made twice.
    assert len(specs) <= 24
    assert len({spec.trial_id for spec in specs}) == len(specs)


def test_what_is_said_of_it() -> None:
    (sentence,) = size(PerPartition())[0].summary
    assert sentence.startswith("8 partitions at least for 50,000 msg/s, confirmed over ")
    assert "; 7 failed: achieved 91 % of the offered rate (" in sentence
    assert sentence.endswith("trials; that more sustain what fewer do is assumed)")
    (smallest,) = size(PerPartition(), smallest=9)[0].summary
    assert "9 partitions at least for 50,000 msg/s" in smallest
    assert "; fewer were not asked for (" in smallest
    (none,) = size(PerPartition(), largest=4)[0].summary
    assert none.startswith("not even 4 partitions, the most that was asked for, sustain 50,000 msg/s: achieved 52 %")


def test_where_none_sustains_the_rate_that_is_the_answer() -> None:
    finding, specs = size(PerPartition(), largest=4)
    assert finding.decided
    assert finding.figures == {}
    assert not [spec for spec in specs if spec.is_confirmation]
    assert specs[-1].workload.partitions == 4


@pytest.mark.parametrize("of", ["partitions", "producers", "consumers", "load-generators"])
def test_each_thing_that_is_counted_is_what_changes(of: str) -> None:
    def number(spec: LoadSpec) -> int:
        return spec.generators if of == "load-generators" else int(getattr(spec.workload, of))

    system = PerPartition(number=number)
    finding, specs = size(system, of=of)
    assert finding.figures == {SMALLEST: 8}
    others = {"partitions", "producers", "consumers"} - {of}
    assert all(getattr(spec.workload, name) == 1 for spec in specs for name in others)
    assert {spec.generators for spec in specs} == ({0} if of != "load-generators" else {number(spec) for spec in specs})


def test_limits_of_latency_must_hold_too() -> None:
    def system(spec: LoadSpec) -> LoadResult:
        return trial(spec, RATE, response=latency(1.0, 40.0 / spec.workload.partitions))

    finding, _ = size(system, **{"response-p99-max": "4ms"})
    assert finding.figures == {SMALLEST: 10}
    assert "response p99 <= 4 ms" in finding.summary[0]
    assert "9 failed: response p99 4.44 ms > 4 ms" in finding.summary[0]


def test_a_stall_does_not_decide() -> None:
    """One trial of each number falls a little short, whatever the number."""
    stalled: set[int] = set()

    def system(spec: LoadSpec) -> LoadResult:
        partitions = spec.workload.partitions
        if partitions in stalled:
            return PerPartition().result(spec, partitions)
        stalled.add(partitions)
        return trial(spec, 0.95 * min(RATE, partitions * EACH))

    assert size(system)[0].figures == {SMALLEST: 8}


def test_a_number_that_passes_by_luck_is_not_confirmed_and_the_next_ones_are_tried() -> None:
    """Short trials are kind: 6 partitions pass them, and only 8 pass the longer ones."""

    def system(spec: LoadSpec) -> LoadResult:
        lucky = 1.0 if spec.is_confirmation else 1.4
        return PerPartition(EACH * lucky).result(spec, spec.workload.partitions)

    finding, specs = size(system)
    assert finding.figures == {SMALLEST: 8}
    assert finding.details["failed"] == 7
    assert [spec.workload.partitions for spec in specs if spec.is_confirmation][-1] == 8
    assert "2 smaller numbers passed the search and failed the confirmation" in finding.summary[0]


def test_where_nothing_is_decided_there_is_no_answer() -> None:
    finding, specs = size(lambda spec: invalid(spec, RATE / 2))
    assert not finding.decided
    assert finding.figures == {}
    assert "NOT DECIDED: the trials of 1 decided nothing: INVALID" in finding.summary[0]
    assert len(specs) == 3, "tried again, but not for ever"


def test_a_confirmation_that_decides_nothing_is_no_answer() -> None:
    def system(spec: LoadSpec) -> LoadResult:
        return (
            invalid(spec, RATE / 2) if spec.is_confirmation else PerPartition().result(spec, spec.workload.partitions)
        )

    finding, specs = size(system)
    assert "NOT DECIDED: the confirmation of 8 decided nothing: INVALID" in finding.summary[0]
    assert sum(spec.is_confirmation for spec in specs) == 3


def test_a_search_whose_confirmations_all_fail_ends() -> None:
    def system(spec: LoadSpec) -> LoadResult:
        return trial(spec, RATE / 2) if spec.is_confirmation else PerPartition()(spec)

    finding, specs = size(system)
    assert "NOT DECIDED: no confirmation held; the last, of 11: achieved 50 %" in finding.summary[0]
    assert [spec.workload.partitions for spec in specs if spec.is_confirmation] == [8, 9, 10, 11]


def test_a_search_that_is_ended_keeps_what_it_knows() -> None:
    system = PerPartition()

    def breaks(spec: LoadSpec) -> LoadResult:
        if len(system.seen) == 3:
            raise RunFailedError("the server ended")
        return system(spec)

    parsed = SizingOptions.model_validate({"of": "partitions", "rate": "50k", "largest": 64})
    lab = FakeLab(breaks, [])
    with pytest.raises(RunFailedError):
        EXPERIMENT.run(parsed, EXPERIMENT.plan(parsed, spec_of("sizing", "kafka@1")), lab)
    (finding,) = lab.findings
    assert not finding.decided
    assert "NOT DECIDED: a trial on kafka@1 failed: the server ended" in finding.summary[0]
    assert len(finding.rows) > 0


@pytest.mark.parametrize("seed", range(20))
def test_noise_moves_the_answer_by_one_at_most(seed: int) -> None:
    chance = random.Random(seed)

    def system(spec: LoadSpec) -> LoadResult:
        return trial(spec, min(RATE, spec.workload.partitions * EACH * chance.uniform(0.98, 1.02)))

    finding, _ = size(system)
    assert finding.figures[SMALLEST] in (7, 8, 9)


def test_the_plan_has_the_largest_number_so_that_memory_suffices_for_it() -> None:
    parsed = SizingOptions.model_validate({"of": "producers", "rate": "50k", "largest": 64})
    planned = EXPERIMENT.plan(parsed, spec_of("sizing", "kafka@1"))
    assert {spec.workload.producers for spec in planned} == {64}
    assert [spec.is_confirmation for spec in planned] == [False] * (len(planned) - 1) + [True]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"of": "partition"}, "did you mean 'partitions'"),
        ({"smallest": 64}, "smallest must be below largest"),
        ({"confirm": "9s", "measure": "10s"}, "confirm must be at least as long as measure"),
        ({"largest": 1}, "greater than or equal to 2"),
        ({"rate": "50% of lowest peak"}, "messages a second"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SizingOptions.model_validate({"of": "partitions", "rate": "50k", "largest": 64, **options})


def test_what_is_interrupted_says_so() -> None:
    def interrupted(_spec: LoadSpec) -> LoadResult:
        raise KeyboardInterrupt("SIGINT")

    parsed = SizingOptions.model_validate({"of": "partitions", "rate": "50k", "largest": 64})
    lab = FakeLab(interrupted, [])
    with pytest.raises(KeyboardInterrupt):
        EXPERIMENT.run(parsed, EXPERIMENT.plan(parsed, spec_of("sizing", "kafka@1")), lab)
    (finding,) = lab.findings
    assert "is NOT DECIDED: interrupted (0 trials)" in finding.summary[0]


def test_a_plan_says_what_is_looked_for_among_which_numbers() -> None:
    parsed = SizingOptions.model_validate(
        {"of": "partitions", "rate": "50k", "smallest": 2, "largest": 64, "response-p99-max": "20ms"}
    )
    words = "the smallest number of partitions (2 to 64) that sustains 50,000 msg/s, response p99 <= 20 ms"
    assert EXPERIMENT.question(parsed) == words

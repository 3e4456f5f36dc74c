"""Contests of a run: which alternatives are compared with which, what they are worth, what stands beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from run_samples import spec
from variant_samples import p99_result, run_of, run_with_variants

from tidegauge.comparison.contests import Contest, contests_of_run
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelFinding
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import Validity
from tidegauge.model.variant import SameWithin
from tidegauge.statistics.intervals import ComparisonVerdict
from tidegauge.store.read import StoredRun

SLOW = {"linger-0": (3.0, 3.1, 2.9), "linger-20": (22.0, 22.3, 21.8)}


def lead_of(run: StoredRun) -> Contest:
    return next(contest for contest in contests_of_run(run) if contest.lead)


def test_variants_are_compared_with_the_first_and_ranked() -> None:
    contest = lead_of(run_with_variants({**SLOW, "1": (2.0, 2.1, 1.9)}))
    assert (contest.axis, contest.name, contest.load) == ("variant", "response_ms_p99", "20,000 msg/s")
    assert [alternative.label for alternative in contest.alternatives] == ["linger-0", "linger-20", "1"]
    assert [alternative.label for alternative in contest.ranked] == ["1", "linger-0", "linger-20"]
    assert contest.alternatives[1].value == pytest.approx(22.03, abs=0.01)
    against = {each.label: each.contrast for each in contest.against_first if each.contrast}
    assert {label: one.verdict for label, one in against.items()} == {
        "linger-20": ComparisonVerdict.WORSE,
        "1": ComparisonVerdict.BETTER,
    }
    assert against["linger-20"].difference == pytest.approx(19.03, abs=0.01)
    assert contest.confidence == pytest.approx(0.975), "two comparisons share the 5 %"


def test_every_figure_has_a_contest_and_one_of_them_leads() -> None:
    contests = contests_of_run(run_with_variants(SLOW))
    assert [contest.name for contest in contests if contest.lead] == ["response_ms_p99"]
    assert contests[0].lead
    assert {"response_ms_p50", "end_to_end_ms_p99"} <= {contest.name for contest in contests}


def test_the_margin_is_the_runs_or_another() -> None:
    run = run_with_variants({"linger-0": (0.50, 0.51, 0.50), "linger-20": (0.60, 0.62, 0.61)}, SameWithin(ms=1.0))
    verdicts = [
        next(c for c in contests_of_run(run, margin) if c.lead).against_first[0].contrast
        for margin in (None, SameWithin(0.03))
    ]
    assert [one.verdict for one in verdicts if one] == [ComparisonVerdict.SAME, ComparisonVerdict.WORSE]


def test_invalid_trials_are_left_out_and_said() -> None:
    run = run_with_variants(SLOW)
    bad = next(
        trial.result for trial in run.trials if trial.result and trial.result.spec.point["variant"] == "linger-20"
    )
    assert bad is not None
    spoilt = [replace(one, validity=Validity.INVALID) if one is bad else one for one in run.results]  # type: ignore[type-var]
    contest = lead_of(run_of(spoilt, run.variants))
    assert contest.alternatives[1].blocks == (1, 2)
    assert "1 of 3 trials of linger-20 is INVALID and left out" in contest.beside
    against = contest.against_first[0].contrast
    assert against is not None
    assert (against.blocks, against.verdict) == (2, ComparisonVerdict.NOT_DECIDED)


def test_another_level_is_said_beside_the_verdict() -> None:
    run = run_with_variants(SLOW)
    results = [
        replace(one, level=LevelFinding(4 if one.spec.point["variant"] == "linger-20" else 2, ("acks",)))  # type: ignore[type-var]
        for one in run.results
    ]
    (said,) = lead_of(run_of(results, run.variants)).beside
    assert said.startswith("the durability level differs too: linger-0 at level 2 (")
    assert "linger-20 at level 4 (" in said
    assert lead_of(run).beside == ()


def test_loss_and_a_rate_that_was_not_kept_are_said() -> None:
    warned = (Reason(ReasonKind.NOT_KEPT_UP, "12% fewer"),)
    assert lead_of(run_with_variants(SLOW, warnings=warned)).beside == (
        "linger-0 did not keep up with the offered rate: 20,000 msg/s",
        "linger-20 did not keep up with the offered rate: 20,000 msg/s",
    )


def test_offered_rates_that_differ_are_one_question_and_said() -> None:
    results = [
        replace(one, offered_msgs_per_s=rate, spec=replace(one.spec, rate_rule=type(one.spec.rate_rule)(str(rate))))
        for place, rate in enumerate((20_000.0, 30_000.0))
        for block in range(3)
        for one in [p99_result({"variant": f"v{place}"}, block, 3.0 + place, place * 3 + block + 1)]
    ]
    contest = lead_of(run_of(results, run_with_variants({"v0": (), "v1": ()}).variants))
    assert contest.beside == ("the offered rate differs too: v0 20,000 msg/s, v1 30,000 msg/s",)
    assert contest.against_first[0].contrast is not None


def test_points_of_a_sweep_are_compared_along_each_axis() -> None:
    results = [
        p99_result({"partitions": n, "durability": level}, block, value * (1 + block / 100), number)
        for number, (n, level, value, block) in enumerate(
            [
                (n, level, 2.0 if n == "8" else 4.0 if n == "100" else 9.0, block)
                for n in ("100", "8", "1000")
                for level in ("3", "4")
                for block in range(3)
            ],
            1,
        )
    ]
    contests = contests_of_run(run_of(results))
    assert [(c.axis, dict(c.at)) for c in contests] == [
        ("partitions", {"durability": "3"}),
        ("partitions", {"durability": "4"}),
        ("durability", {"partitions": "100"}),
        ("durability", {"partitions": "8"}),
        ("durability", {"partitions": "1000"}),
    ]
    first = contests[0]
    assert [alternative.label for alternative in first.alternatives] == ["8", "100", "1000"], "numbers by size"
    assert [each.contrast.ratio for each in first.against_first if each.contrast] == [
        pytest.approx(2.0),
        pytest.approx(4.5),
    ]
    assert {each.contrast.verdict for each in contests[2].against_first if each.contrast} == {ComparisonVerdict.SAME}


def test_a_run_without_alternatives_has_no_contest() -> None:
    assert contests_of_run(run_of([p99_result({}, 0, 1.0, 1)])) == ()


def test_what_experiments_found_is_compared_too() -> None:
    results = [p99_result({"variant": name}, 0, 3.0, n) for n, name in enumerate(("linger-0", "linger-20"), 1)]
    findings = [
        Finding(
            finding_id=f"{block}-{name}",
            experiment="latency",
            system=spec().system,
            block=block,
            decided=True,
            refuted=False,
            summary=(),
            figures={"drain_msgs_per_s": rate * (1 + block / 1000)},
            point={"variant": name},
        )
        for name, rate in (("linger-0", 1000.0), ("linger-20", 500.0))
        for block in range(3)
    ]
    run = replace(run_of(results, run_with_variants(SLOW).variants), findings=tuple(findings))
    contest = next(one for one in contests_of_run(run) if one.name == "drain_msgs_per_s")
    assert contest.against_first[0].contrast is not None
    assert contest.against_first[0].contrast.verdict is ComparisonVerdict.WORSE
    assert contest.against_first[0].contrast.ratio == pytest.approx(0.5)

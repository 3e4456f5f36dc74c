"""Verdicts: what refutes, what does not, and what can't be decided."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from cut_samples import CUT_NS, cut
from histories import cut_result, history_of

from tidegauge.attestation.classification import find_anomalies
from tidegauge.attestation.evidence import read_of
from tidegauge.attestation.judging import Criteria, CutResult, judge_cuts, loss_bound, why_not_counted
from tidegauge.model.attest import AttestVerdict, CycleOutcome

SMALL = Criteria(at_risk_min=2, in_flight_min=1)


CLEAN = cut().cycle
POSITIVE = [cut(kept=2)]


def verdict(
    cuts: list[CutResult], negative: CycleOutcome | None = CLEAN, positive: list[CutResult] | None = None
) -> AttestVerdict:
    return judge_cuts(cuts, negative, POSITIVE if positive is None else positive, SMALL).verdict


def test_a_cut_knows_what_was_at_risk() -> None:
    found = cut(in_flight=3, write_age_s=0.5).outcome
    assert (found.at_risk, found.in_flight) == (4, 3)
    assert found.write_age_s == pytest.approx(0.5)
    empty = history_of([])
    found_nothing = find_anomalies(empty, [read_of("r", [])])
    nothing = cut_result(empty, found_nothing, number=1, scenario="all", nodes=(1,), cut_mono_ns=CUT_NS).outcome
    assert (nothing.at_risk, nothing.in_flight, nothing.write_age_s) == (0, 0, math.inf)


def test_one_loss_in_many_cuts_refutes() -> None:
    judgement = judge_cuts([cut()] * 19 + [replace(cut(kept=3), number=20)], CLEAN, POSITIVE, SMALL)
    assert judgement.verdict is AttestVerdict.REFUTED
    assert (judgement.losing_cuts, judgement.cuts, judgement.broken) == (1, 20, 1)
    assert judgement.cut is not None
    assert judgement.cut.number == 20
    assert judgement.sentence() == (
        "REFUTED: 1 acknowledged message broken in 1 of 20 cuts; cut 20 (all, node 1, 2): message 3 of producer 0 was "
        "acknowledged to partition 0 at position 3, 2 ms before the cut, and is gone: what is left ends with message 2"
    )


def test_a_loss_refutes_also_without_controls_and_in_a_cut_that_does_not_count() -> None:
    assert verdict([cut(kept=0)], None, []) is AttestVerdict.REFUTED
    assert verdict([cut(kept=0, write_age_s=60.0)]) is AttestVerdict.REFUTED


def test_no_loss_with_good_controls() -> None:
    judgement = judge_cuts([cut()] * 20, CLEAN, POSITIVE, SMALL)
    assert judgement.verdict is AttestVerdict.NOT_REFUTED
    assert (judgement.cuts, judgement.at_risk, judgement.reasons) == (20, 80, ())
    assert judgement.loss_per_cut_max == pytest.approx(0.1391, abs=1e-4)
    assert judgement.sentence().startswith("NOT REFUTED in 20 cuts with 80 acknowledged messages at risk")


def test_cuts_that_do_not_count_are_said_and_not_counted() -> None:
    judgement = judge_cuts([cut(), cut(write_age_s=6.0)], CLEAN, POSITIVE, SMALL)
    assert judgement.verdict is AttestVerdict.NOT_REFUTED
    assert judgement.cuts == 1
    assert judgement.reasons[0].startswith("cut 1 came 6.0 s after the newest write")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (cut(write_age_s=5.1), "after the newest write"),
        (cut(in_flight=0), "0 messages in flight"),
        (cut(unreadable=True), "not everything could be read"),
    ],
)
def test_without_a_cut_that_counts_it_is_inconclusive(found: CutResult, reason: str) -> None:
    judgement = judge_cuts([found], CLEAN, POSITIVE, SMALL)
    assert judgement.verdict is AttestVerdict.INCONCLUSIVE
    assert reason in judgement.sentence()


def test_too_little_at_risk() -> None:
    assert "had 4 acknowledged messages at risk; at least 100" in why_not_counted(cut(), Criteria())
    assert why_not_counted(cut(), SMALL) == ""


def test_exactly_what_a_cut_needs_is_enough() -> None:
    assert why_not_counted(cut(write_age_s=0.5), Criteria(write_age_s_max=0.5, at_risk_min=4, in_flight_min=1)) == ""


def test_a_control_may_lose_in_any_of_its_cuts() -> None:
    assert verdict([cut()], CLEAN, [cut(), cut(kept=2), cut()]) is AttestVerdict.NOT_REFUTED


@pytest.mark.parametrize(
    ("negative", "positive", "reason"),
    [
        (None, POSITIVE, "the negative control (the same without a cut) is missing"),
        (cut(unreadable=True, kept=3).cycle, POSITIVE, "in the negative control not everything could be read"),
        (cut(kept=3).cycle, POSITIVE, "the negative control, without a cut, broke 1 acknowledged message"),
        (CLEAN, [], "the positive control (the same cut with local sync off) is missing"),
        (CLEAN, [cut(), cut()], "the positive control lost nothing in 2 cuts"),
        (
            CLEAN,
            [cut(unreadable=True)],
            "the positive control, with local sync off, could not be read whole after its ",
        ),
        (CLEAN, [cut(), replace(cut(unreadable=True), number=2)], "could not be read whole after its cut 2: "),
    ],
)
def test_controls_that_fail_make_it_inconclusive(
    negative: CycleOutcome | None, positive: list[CutResult], reason: str
) -> None:
    judgement = judge_cuts([cut()] * 3, negative, positive, SMALL)
    assert judgement.verdict is AttestVerdict.INCONCLUSIVE
    assert reason in judgement.sentence()


def test_a_negative_control_that_loses_spoils_a_refutation_too() -> None:
    assert verdict([cut(kept=0)], cut(kept=3).cycle) is AttestVerdict.INCONCLUSIVE


def test_no_cuts_at_all() -> None:
    judgement = judge_cuts([], CLEAN, POSITIVE, SMALL)
    assert judgement.verdict is AttestVerdict.INCONCLUSIVE
    assert judgement.reasons == ("there was no cut",)


def test_the_bound_is_exact_and_near_three_by_n() -> None:
    for n in (1, 20, 60, 300):
        assert loss_bound(0, n) == pytest.approx(1 - 0.05 ** (1 / n))
    assert loss_bound(0, 300) == pytest.approx(3 / 300, rel=0.01)
    assert loss_bound(0, 0) == loss_bound(3, 3) == 1.0
    # Clopper and Pearson's upper limit for 1 of 20 (one-sided 95 %), from their tables.
    assert loss_bound(1, 20) == pytest.approx(0.2161, abs=1e-4)

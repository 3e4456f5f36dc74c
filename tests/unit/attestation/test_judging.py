"""From cycles and controls to verdicts, what is kept of them, and what is said."""

from __future__ import annotations

import pytest
from attestation_samples import attestation, cut, cycle, outcome, witness

from tidegauge.attestation.judging import Judged, cut_results, judge_scenarios
from tidegauge.attestation.record import earlier_cuts
from tidegauge.attestation.words import attest_cells, attest_sentences
from tidegauge.model.attest import FUSE_LABEL, NOT_MODELLED, AttestOutcome, AttestVerdict, FileSystem, Means, Scenario
from tidegauge.model.level import CutsStanding, EarlierCuts, LevelChoice
from tidegauge.plain import plain_value, typed_value

LOSING_CONTROL = outcome(cycle(lost=300))
CHOICE = LevelChoice(1)


def judged(subject: AttestOutcome, control: AttestOutcome | None = LOSING_CONTROL, level: int = 1) -> Judged:
    (one,) = judge_scenarios(level, 3, [Scenario.ALL], subject, control)
    return one


def test_nothing_lost_beside_a_control_that_loses_is_not_refuted() -> None:
    one = judged(outcome(*(cycle() for _ in range(20))))
    assert one.judgement.verdict is AttestVerdict.NOT_REFUTED
    assert (one.judgement.cuts, one.judgement.at_risk) == (20, 80_000)
    assert one.judgement.loss_per_cut_max == pytest.approx(0.139, abs=0.001)
    assert not one.breaks_promise


def test_a_single_loss_refutes() -> None:
    one = judged(outcome(cycle(), cycle(lost=1), cycle()))
    assert one.judgement.verdict is AttestVerdict.REFUTED
    assert (one.judgement.losing_cuts, one.judgement.cuts, one.figure("lost")) == (1, 3, 1)
    assert one.breaks_promise


def test_a_loss_that_the_level_allows_breaks_no_promise() -> None:
    one = judged(outcome(cycle(lost=5)), control=None, level=2)
    assert one.judgement.verdict is AttestVerdict.REFUTED
    assert not one.breaks_promise


@pytest.mark.parametrize(
    ("subject", "control", "why"),
    [
        (outcome(cycle()), outcome(cycle()), "the positive control lost nothing"),
        (outcome(cycle()), outcome(), "the positive control (the same cut with local sync off) is missing"),
        (AttestOutcome("", (cycle(),)), LOSING_CONTROL, "the negative control"),
        (AttestOutcome("", (cycle(Scenario.NONE, lost=1, cuts=0), cycle())), LOSING_CONTROL, "without a cut, broke"),
        (outcome(cycle(cuts=(cut(write_age_s=31.0),))), LOSING_CONTROL, "after the newest write"),
        (outcome(cycle(cuts=(cut(at_risk=3),))), LOSING_CONTROL, "3 acknowledged messages at risk"),
        (outcome(cycle(figures={}, unreadable=("it never served again",))), LOSING_CONTROL, "it never served again"),
        (outcome(cycle(), cycle(figures={}, unreadable=("it is gone",))), LOSING_CONTROL, "after cut 2 not everything"),
        (outcome(cycle(), cycle(cuts=0, figures={}, unreadable=("the worker ended",))), LOSING_CONTROL, "worker ended"),
    ],
)
def test_what_would_not_have_shown_a_loss_is_inconclusive(
    subject: AttestOutcome, control: AttestOutcome, why: str
) -> None:
    one = judged(subject, control)
    assert one.judgement.verdict is AttestVerdict.INCONCLUSIVE
    assert why in one.judgement.sentence()


def test_a_level_without_local_sync_is_its_own_positive_control() -> None:
    subject = outcome(cycle(Scenario.ONE), cycle(Scenario.ALL, lost=9))
    one, everyone = judge_scenarios(2, 3, [Scenario.ONE, Scenario.ALL], subject, None)
    assert one.judgement.verdict is AttestVerdict.NOT_REFUTED
    assert everyone.judgement.verdict is AttestVerdict.REFUTED


def test_of_a_rolling_cycle_the_cut_that_the_witness_names_is_blamed() -> None:
    rolling = cycle(Scenario.ROLLING, lost=4, cuts=3)
    assert [result.broken for result in cut_results([rolling])] == [4, 0, 0]


def test_a_stored_outcome_is_judged_alike() -> None:
    subject = outcome(cycle(), cycle(lost=1))
    again = typed_value(AttestOutcome, plain_value(subject))
    assert again == subject
    assert judged(again).judgement.sentence() == judged(subject).judgement.sentence()


def test_no_output_says_proved_and_each_says_what_is_not_modelled() -> None:
    for subject in (outcome(cycle()), outcome(cycle(lost=1)), outcome()):
        summary = " ".join(attest_sentences(CHOICE, Means.POWER, FileSystem.EXT4, [judged(subject)]))
        assert "prove" not in summary.lower()
        assert all(limit in summary for limit in NOT_MODELLED)


def test_crashes_are_labelled_as_such() -> None:
    summary = " ".join(attest_sentences(CHOICE, Means.CRASH, FileSystem.EXT4, [judged(outcome(cycle()))]))
    assert "process crash, not a power cut" in summary
    assert "page cache survived" in summary


def test_before_lost_is_said_the_files_were_searched() -> None:
    gone = " ".join(attest_sentences(CHOICE, Means.POWER, FileSystem.EXT4, [judged(outcome(cycle(lost=3)))]))
    assert "none of the 3 lost messages is in the servers' data files" in gone
    place = "message 17 of producer 1: node 2, topic-0/00.log at byte 4096"
    there = outcome(cycle(lost=3, in_files=2, files=(place,)))
    summary = " ".join(attest_sentences(CHOICE, Means.POWER, FileSystem.EXT4, [judged(there)]))
    assert "of 3 lost messages 2 are in the servers' data files, but not served" in summary
    assert place in summary


def test_the_table_holds_expected_beside_observed() -> None:
    row = attest_cells(CHOICE, judged(outcome(cycle(lost=7))))
    assert (row["expected"], row["observed"], row["lost"], row["serve, s"]) == ("none lost", "REFUTED", 7, 3.0)
    allowed = attest_cells(LevelChoice(2), judged(outcome(cycle(lost=7)), None, level=2))
    assert (allowed["expected"], allowed["observed"]) == ("may lose", "REFUTED")
    held = attest_cells(CHOICE, judged(outcome(cycle())))
    assert held["observed"] == "NOT REFUTED"
    assert str(held["cut loses"]).startswith("< ")
    assert row["cut loses"] is allowed["cut loses"] is None


def test_later_runs_carry_the_sum() -> None:
    known = [attestation(), attestation(cuts=40), attestation(scenario=Scenario.ONE, cuts=5)]
    carried = earlier_cuts(known)
    assert str(carried) == "attested: 0 lost in 65 cuts (all, one)"
    assert carried.standing is CutsStanding.ATTESTED
    assert EarlierCuts.from_text(str(carried)) == carried
    assert earlier_cuts([]) == EarlierCuts(CutsStanding.CLAIMED_ONLY)


def test_a_refutation_is_not_forgotten() -> None:
    lost = attestation(verdict=AttestVerdict.REFUTED, lost=7, losing_cuts=1)
    assert str(earlier_cuts([attestation(), lost, attestation()])) == "REFUTED: 7 lost in 20 cuts (all)"


def test_a_loss_that_the_level_allows_is_reported_beside() -> None:
    lost = attestation(level=2, verdict=AttestVerdict.REFUTED, lost=7, promised=False)
    kept = attestation(level=2, scenario=Scenario.ONE)
    assert (
        str(earlier_cuts([kept, lost]))
        == "attested: 0 lost in 20 cuts (one); as the level allows, 7 lost in 20 cuts (all)"
    )
    assert str(earlier_cuts([lost])) == "claimed only; as the level allows, 7 lost in 20 cuts (all)"


def test_a_crash_attests_nothing() -> None:
    assert earlier_cuts([attestation(means=Means.CRASH)]) == EarlierCuts(CutsStanding.CLAIMED_ONLY)


def test_cuts_that_are_less_than_power_cuts_are_kept_apart() -> None:
    less = attestation(file_system=FileSystem.FUSE, cuts=5)
    assert str(earlier_cuts([less])) == f"attested: 0 lost in 5 cuts (all; {FUSE_LABEL})"
    assert (
        str(earlier_cuts([less, attestation()]))
        == f"attested: 0 lost in 20 cuts (all); 0 lost in 5 cuts (all; {FUSE_LABEL})"
    )
    summary = " ".join(attest_sentences(CHOICE, Means.POWER, FileSystem.FUSE, [judged(outcome(cycle()))]))
    assert f"level 1, all ({FUSE_LABEL}): NOT REFUTED" in summary
    assert "names of files, sizes that were set" in summary
    assert all(limit in summary for limit in NOT_MODELLED)


def test_an_inconclusive_one_attests_nothing() -> None:
    assert earlier_cuts([attestation(verdict=AttestVerdict.INCONCLUSIVE)]) == EarlierCuts(CutsStanding.CLAIMED_ONLY)


def test_the_witness_survives_storing() -> None:
    assert typed_value(type(witness()), plain_value(witness())) == witness()


def test_a_damaged_file_system_and_an_odd_history_are_reported() -> None:
    subject = outcome(
        cycle(cuts=(cut(checks={"disk-1": "clean", "disk-2": "inode 12\nis wrong"}),), doubts=("cut short",))
    )
    summary = attest_sentences(CHOICE, Means.POWER, FileSystem.EXT4, [judged(subject)])
    assert "all: file systems that a check found damaged after a cut: disk-2: inode 12 is wrong." in summary
    assert "all: odd about the histories: cut short." in summary


def test_no_level_allows_damage() -> None:
    damaged = cycle(figures={"kept": 3999, "corrupt": 1, "broken": 1}, witness=witness())
    one = judged(outcome(damaged), control=None, level=4)
    assert (one.promise.kept, one.breaks_promise) == (False, True)


def test_what_is_not_listed_is_counted() -> None:
    few_at_risk = (cycle(cuts=(cut(at_risk=number),)) for number in range(1, 6))
    one = judged(outcome(cycle(), *few_at_risk))
    summary = attest_sentences(CHOICE, Means.POWER, FileSystem.EXT4, [one])
    (listed,) = (text for text in summary if "cuts that did not count" in text)
    assert listed.endswith("had 3 acknowledged messages at risk; at least 100 are needed and 2 more.")

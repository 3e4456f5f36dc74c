"""Claims on guarantees: what attestations of known losses decide of them, and what leaves them open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from attestation_samples import cut, witness
from guarantee_samples import both_struck, guarantee, kept_by_kafka, planned, run_with, same, struck
from published_samples import CONFIRMED, CONTRADICTED, DIRECTION, NOT_DECIDED, judged
from pydantic import ValidationError
from reasons import reasons_of

from tidegauge.attestation.judging import loss_bound
from tidegauge.model.attest import FileSystem
from tidegauge.model.trial import Validity
from tidegauge.published.across import runs_together
from tidegauge.published.examine import Choice, examine_at_best, report_named
from tidegauge.published.guarantee import LOSS_PER_CUT_MAX
from tidegauge.published.incident import Incident
from tidegauge.published.model import Claim, Guarantee, Operand, Place, SameGuarantee
from tidegauge.published.observe import ExaminedRun
from tidegauge.published.verdict import ClaimVerdict, Grade

AT_LEVEL_1 = guarantee(True, level=1)


@pytest.mark.parametrize(
    ("claim", "run", "verdict", "expected"),
    [
        (AT_LEVEL_1, kept_by_kafka(), DIRECTION, "none of 80,000 messages at risk lost in 20 cuts"),
        (
            AT_LEVEL_1,
            kept_by_kafka(losing=1),
            CONTRADICTED,
            "100 acknowledged messages gone after 1 of 20 cuts: not kept",
        ),
        (AT_LEVEL_1, kept_by_kafka(cuts=5), NOT_DECIDED, "below 45.1 % (95 % confidence): too few (below 20 % counts)"),
        (guarantee(False, level=1), kept_by_kafka(), NOT_DECIDED, "that none ever is can't be shown"),
        (
            guarantee(False, level=1),
            kept_by_kafka(losing=3),
            CONFIRMED,
            "300 acknowledged messages gone after 3 of 20 cuts",
        ),
    ],
)
def test_a_loss_decides_and_none_is_no_proof(
    claim: Claim, run: ExaminedRun, verdict: ClaimVerdict, expected: str
) -> None:
    outcome = judged(claim, run)
    assert outcome.verdict is verdict
    assert expected in outcome.reason
    assert outcome.grade is Grade.GUARANTEE


def test_what_came_back_damaged_is_not_called_gone() -> None:
    reason = judged(AT_LEVEL_1, kept_by_kafka(figures={"broken": 4}, witness=witness())).reason
    assert "80 acknowledged messages gone, damaged or not in every read after 20 of 20 cuts" in reason


def test_what_is_said_of_no_loss_is_the_bound_that_was_measured() -> None:
    reason = judged(AT_LEVEL_1, kept_by_kafka()).reason
    assert f"with a probability below {100 * loss_bound(0, 20):.1f} % (95 % confidence)" in reason
    assert reason.endswith("kept as far as these show, which is no proof")


def test_fourteen_cuts_are_enough_and_thirteen_are_not() -> None:
    assert loss_bound(0, 14) <= LOSS_PER_CUT_MAX < loss_bound(0, 13)
    assert judged(AT_LEVEL_1, kept_by_kafka(cuts=14)).verdict is DIRECTION
    assert judged(AT_LEVEL_1, kept_by_kafka(cuts=13)).verdict is NOT_DECIDED


@pytest.mark.parametrize(
    ("run", "verdict", "expected"),
    [
        (both_struck(20, 18), CONFIRMED, "neither keeps all"),
        (both_struck(20, 3, cuts=(20, 5)), CONFIRMED, "neither keeps all"),
        (
            both_struck(20, 0),
            NOT_DECIDED,
            "pulsar, bypass, level 2: inconclusive: the positive",
        ),
    ],
)
def test_two_places_keep_alike_or_not(run: ExaminedRun, verdict: ClaimVerdict, expected: str) -> None:
    outcome = judged(same(), run)
    assert outcome.verdict is verdict
    assert expected in outcome.reason


@pytest.mark.parametrize(
    ("kafka", "pulsar", "verdict", "expected"),
    [
        (0, 20, CONTRADICTED, "only one of them lost something"),
        (20, 0, CONTRADICTED, "only one of them lost something"),
        (0, 4, NOT_DECIDED, "with a probability of 5 % chance alone would do that"),
        (0, 5, CONTRADICTED, "only one of them lost something"),
        (0, 0, DIRECTION, "alike as far as these show, which is no proof"),
    ],
)
def test_two_places_after_cuts_of_one_node(kafka: int, pulsar: int, verdict: ClaimVerdict, expected: str) -> None:
    """The control of each is a cut of all nodes, which lost something."""
    outcome = judged(same("power-cut-of-one"), both_struck(kafka, pulsar, "power-cut-of-one"))
    assert outcome.verdict is verdict
    assert expected in outcome.reason


def test_runs_of_unlike_numbers_of_cuts_decide_more_together_and_never_less() -> None:
    """One of them came to no cut of one node, as where servers did not serve again before."""
    first, other = (both_struck(0, 0, "power-cut-of-one") for _ in range(2))
    short = replace(first.attested[1], attest=replace(first.attested[1].attest, cycles=()))
    begun = replace(first, attested=(first.attested[0], short))
    assert judged(same("power-cut-of-one"), begun).verdict is NOT_DECIDED
    together = judged(same("power-cut-of-one"), runs_together({"A": begun, "B": other}))
    assert together.verdict is DIRECTION
    assert "kafka, level 2: none of 160,000 messages at risk lost in 40 cuts" in together.reason
    assert "pulsar, bypass, level 2: none of 80,000 messages at risk lost in 20 cuts" in together.reason


def test_a_crash_counts_where_another_lost_something() -> None:
    """What was given to the kernel survives a crash, so that an attestation's own control loses nothing by one."""
    outcome = judged(same("crash-of-all"), both_struck(0, 20, "crash-of-all"))
    assert outcome.verdict is CONTRADICTED
    assert "kafka, level 2: none of 80,000 messages at risk lost in 20 crashes" in outcome.reason
    assert "pulsar, bypass, level 2: 2,000 acknowledged messages gone" in outcome.reason


def test_crashes_of_which_none_lost_anything_show_nothing() -> None:
    outcome = judged(same("crash-of-all"), both_struck(0, 0, "crash-of-all"))
    assert outcome.verdict is NOT_DECIDED
    assert "no crash of the run lost anything" in outcome.reason


def test_a_claim_at_several_incidents_holds_if_it_holds_at_each() -> None:
    runs = [both_struck(0, 20, "crash-of-all"), both_struck(20, 20)]
    whole = runs_together(dict(zip("AB", runs, strict=True)))
    outcome = judged(same("crash-of-all", "power-cut-of-all"), whole)
    assert outcome.verdict is CONTRADICTED
    assert [part.verdict for part in outcome.parts] == [CONTRADICTED, CONFIRMED]
    assert outcome.reason.index("crash of all nodes: ") < outcome.reason.index("neither keeps all")


@pytest.mark.parametrize(
    ("version", "verdict", "expected"),
    [("kafka@1", CONTRADICTED, "only one of them lost something"), ("kafka@2", NOT_DECIDED, "the version of kafka")],
)
def test_places_of_different_runs_are_compared_on_the_same_terms(
    version: str, verdict: ClaimVerdict, expected: str
) -> None:
    """Kafka at another level stands for the other place, since a system must have its version in both."""
    claim = same("power-cut-of-one").model_copy(update={"common": Place(), "b": Operand(system="kafka", level=4)})
    claim = claim.model_copy(update={"a": Operand(system="kafka", level=2)})
    runs = [
        run_with(struck(planned("kafka", "power-cut-of-one"))),
        run_with(struck(replace(planned("kafka", "power-cut-of-one", level=4), system=version), 20)),
    ]
    outcome = judged(claim, runs_together(dict(zip("AB", runs, strict=True))))
    assert outcome.verdict is verdict
    assert expected in outcome.reason
    assert [side.runs for side in outcome.parts[0].sides] == [("A",), ("B",)]


def without_result(why: str = "") -> ExaminedRun:
    trial = planned("kafka", level=1)
    return ExaminedRun((trial,), (), failures={trial.trial_id: why})


@pytest.mark.parametrize(("losing", "verdict"), [(3, CONFIRMED), (0, NOT_DECIDED)])
def test_an_attestation_that_was_ended_early_shows_its_losses_only(losing: int, verdict: ClaimVerdict) -> None:
    begun = struck(planned("kafka", cuts=7), losing)
    run = ExaminedRun((planned("kafka"),), (), cut_short={begun.spec.trial_id: begun.attest})
    whole = runs_together({"A": run})
    for examined in (run, whole):
        outcome = judged(guarantee(False), examined)
        assert outcome.verdict is verdict
        assert ("gone after 3 of 7 cuts" if losing else "ended before its last cut") in outcome.reason


def test_a_place_of_which_no_cut_counts_has_no_figure() -> None:
    uncounted = kept_by_kafka(cuts=20, unreadable=("node 2 did not serve",))
    (side,) = judged(AT_LEVEL_1, uncounted).parts[0].sides
    assert side.values == ()
    (counted,) = judged(AT_LEVEL_1, kept_by_kafka(cuts=20)).parts[0].sides
    assert counted.values == (0.0,)


CONTROL = planned("kafka", "power-cut-of-all", 1, level=2, control=True)
SUBJECT = struck(planned("kafka", level=1))


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (run_with(SUBJECT, struck(CONTROL, 0)), "the positive control lost nothing in 1 cut"),
        (kept_by_kafka(cuts=20, unreadable=("node 2 did not serve",)), "no cut counts: inconclusive: after cut 1"),
        (without_result(), "was not reached"),
        (without_result("the broker ended"), "has no result: the broker ended"),
        (
            run_with(replace(SUBJECT, validity=Validity.INVALID, reasons=reasons_of("aborted")), struck(CONTROL, 1)),
            "is INVALID: aborted",
        ),
        (run_with(struck(planned("kafka", level=3))), "the run has no attest at"),
        (run_with(struck(planned("kafka", "crash-of-all", level=1))), "the run has no attest at"),
        (run_with(struck(planned("kafka", level=1, file_system=FileSystem.FUSE))), "the run has no attest at"),
        (run_with(struck(replace(CONTROL, choice=replace(CONTROL.choice, level=1)))), "the run has no attest at"),
        (run_with(struck(planned("pulsar"))), "kafka is missing from the run"),
    ],
)
def test_why_a_claim_is_open(run: ExaminedRun, expected: str) -> None:
    outcome = judged(AT_LEVEL_1, run)
    assert outcome.verdict is NOT_DECIDED
    assert expected in outcome.reason


def test_a_cut_that_does_not_count_bounds_nothing() -> None:
    """Of 20 cuts that had nothing at risk none counts; of 20 of which one had nothing, 19 do."""
    nothing = kept_by_kafka(cuts=20)
    idle = tuple(replace(cycle, cuts=(cut(at_risk=0),)) for cycle in nothing.attested[0].attest.cycles[1:2])
    first = nothing.attested[0]
    mixed = replace(
        first, attest=replace(first.attest, cycles=(first.attest.cycles[0], *idle, *first.attest.cycles[2:]))
    )
    outcome = judged(AT_LEVEL_1, replace(nothing, attested=[mixed, nothing.attested[1]]))
    assert "lost in 19 cuts" in outcome.reason


def test_repeats_add_up() -> None:
    control = [
        struck(planned("kafka", "power-cut-of-all", 1, level=2, block=block, control=True), 1) for block in (0, 1)
    ]
    subjects = [struck(planned("kafka", cuts=10, level=1, block=block)) for block in (0, 1)]
    outcome = judged(AT_LEVEL_1, run_with(*subjects, *control))
    assert outcome.verdict is DIRECTION
    assert "in 20 cuts" in outcome.reason
    assert outcome.parts[0].sides[0].values == (0.0, 0.0)


def test_cuts_of_all_that_are_a_control_of_others_count_too() -> None:
    """Where only cuts of one node were asked for, three of all nodes are made besides, at the same level."""
    run = run_with(struck(planned("kafka", "power-cut-of-one")), struck(planned("kafka"), 2))
    outcome = judged(guarantee(False), run)
    assert "gone after 3 of 21 cuts" in outcome.reason
    assert outcome.parts[0].sides[0].values == (3.0,)


def test_losing_cuts_stand_in_the_table_by_block() -> None:
    subjects = [struck(planned("kafka", cuts=10, block=block), losing) for block, losing in ((0, 3), (1, 10))]
    (side,) = judged(guarantee(False), run_with(*subjects)).parts[0].sides
    assert side.values == (3.0, 10.0)
    assert (side.place, side.figure) == (
        "kafka, level 2, power cut of all nodes",
        "cuts that lost acknowledged messages",
    )


@pytest.mark.parametrize("incident", Incident)
def test_an_incident_is_what_an_attestation_does(incident: Incident) -> None:
    run = run_with(struck(planned("kafka", incident.value), 20))
    assert judged(guarantee(False, incident.value), run).verdict is CONFIRMED


@pytest.mark.parametrize("name", ["confluent-2020", "streamnative-2020"])
def test_every_such_claim_of_a_report_is_decided_by_a_run_as_published(name: str) -> None:
    claims = [claim for claim in report_named(name).claims if isinstance(claim, Guarantee | SameGuarantee)]
    assert len(claims) >= 3
    specs = []
    for incident in Incident:
        for system, level, form in (("kafka", 1, ""), ("kafka", 2, ""), ("pulsar", 1, ""), ("pulsar", 2, "bypass")):
            specs.append(planned(system, incident.value, level=level))
            if form:
                journal = replace(specs[-1], trial_id=f"{specs[-1].trial_id}-journal")
                specs.append(replace(journal, choice=replace(journal.choice, form="journal")))
    outcome = examine_at_best(report_named(name), Choice(name, tuple(claim.id for claim in claims)), specs)
    assert {claim.verdict for claim in outcome.claims} <= {CONFIRMED, DIRECTION}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [({"of": Operand(system="kafka")}, Guarantee), ({"a": Operand(), "b": Operand()}, SameGuarantee)],
)
def test_a_claim_without_an_incident_is_refused(changes: dict[str, Any], kind: Any) -> None:
    fields = {"id": "c", "text": "x", "source": "s", **changes}
    fields |= {"kind": "guarantee", "kept": True} if kind is Guarantee else {"kind": "same-guarantee"}
    with pytest.raises(ValidationError, match="must say at which 'incident': crash-of-all"):
        kind(**fields)
    assert kind(**fields, common=Place(incident=Incident.CRASH_OF_ALL))
    assert kind(**fields, for_each={"incident": ["crash-of-all"]})

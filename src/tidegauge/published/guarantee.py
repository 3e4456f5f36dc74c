"""Claims on guarantees, judged by what attestations lost. Pure.

A loss decides, and no number of cuts proves that none ever happens.

| claim | what was seen | verdict |
| --- | --- | --- |
| nothing is lost | a loss | contradicted |
| nothing is lost | none in enough cuts that could have shown one | direction confirmed, which is no proof |
| something may be lost | a loss | confirmed |
| something may be lost | none, however often | not decided |
| the same at both places | a loss at both | confirmed |
| the same at both places | none at either, in enough cuts | direction confirmed |
| the same at both places | a loss at one only, in more cuts than chance would have | contradicted |

Enough are so many that with 95 % confidence such a cut loses something with less than `LOSS_PER_CUT_MAX`.

That a procedure would show a loss at all is known from its control: of cuts of power the attestation's own, of crashes
that another crash of the run lost something, since no level loses by a crash what it gave to the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

from tidegauge.attestation.judging import CONFIDENCE, CutResult, cut_results, judge_cuts, loss_bound
from tidegauge.model.attest import AttestOutcome, AttestVerdict, CycleOutcome, Means, Scenario
from tidegauge.model.trial import AttestSpec, TrialSpec, Validity
from tidegauge.numbers import plural
from tidegauge.published.incident import Incident
from tidegauge.published.model import FIGURES, LOSING_CUTS, Place
from tidegauge.published.observe import ExaminedRun, ObservedFigure, observe, why_no_result
from tidegauge.published.verdict import ClaimAnswer, ClaimVerdict

LOSS_PER_CUT_MAX = 0.2
"""How probable a loss may still be where none was seen, at `CONFIDENCE`, for that to count: 14 cuts. By judgement."""
CHANCE_MAX = 1 - CONFIDENCE
"""How probable it may be that one place lost something and the other did not although both are alike."""


@dataclass(frozen=True)
class ObservedCuts:
    """What was lost at a place, over all blocks.

    Attributes:
        place: in words.
        seen: cuts that lost something, by block; why there are none.
        trials: that were planned there; `planned` strikes in all.
        cuts: those that counted; where something was lost, all.
        at_risk: acknowledged messages at risk in them; `broken` are gone, damaged, or not in every read, `lost` gone.
        open_reason: why it says nothing that nothing was lost; "" if it does.
    """

    place: str
    incident: Incident
    seen: ObservedFigure
    trials: tuple[TrialSpec, ...] = ()
    planned: int = 0
    cuts: int = 0
    losing: int = 0
    at_risk: int = 0
    broken: int = 0
    lost: int = 0
    open_reason: str = ""

    @property
    def loss_per_cut_max(self) -> float:
        """Below what the probability is that such a strike loses something, at `CONFIDENCE`."""
        return loss_bound(self.losing, self.cuts) if self.cuts else 1.0

    @property
    def strike(self) -> str:
        """ "cut", "crash"."""
        return "crash" if self.incident.means is Means.CRASH else "cut"

    @property
    def strikes(self) -> str:
        """ "20 cuts", "1 crash"."""
        several = "es" if self.incident.means is Means.CRASH else "s"
        return f"{self.cuts:,} {self.strike}{several if self.cuts != 1 else ''}"

    @property
    def losses(self) -> str:
        """ "5,485 acknowledged messages gone after 3 of 20 cuts"; else the bound of how probable a loss is."""
        if self.losing:
            became = "gone" if self.lost == self.broken else "gone, damaged or not in every read"
            return f"{plural(self.broken, 'acknowledged message')} {became} after {self.losing:,} of {self.strikes}"
        return (
            f"none of {plural(self.at_risk, 'message')} at risk lost in {self.strikes}, so that such "
            f"a {self.strike} loses some with a probability below {self.loss_per_cut_max:.1%} "
            f"({CONFIDENCE:.0%} confidence)".replace("%", " %")
        )


def observe_cuts(place: Place, run: ExaminedRun) -> ObservedCuts:
    """What a run's attestations lost at a place, which has an incident."""
    assert place.incident is not None
    # Which trials they are, whatever they found.
    seen = observe(FIGURES[LOSING_CUTS], place, replace(run, as_published=True))
    # The incident is that of the question.
    struck = place.model_copy(update={"incident": None}).words()
    observed = ObservedCuts(struck or place.words(), place.incident, replace(seen, values={}), seen.specs)
    results = {result.spec.trial_id: result for result in run.attested}
    losing_by_block: dict[int, float] = {}
    problems = list(seen.problems)
    reasons: list[str] = []
    unreached: list[str] = []
    for spec in seen.specs:
        assert isinstance(spec, AttestSpec)
        observed = replace(observed, planned=observed.planned + _strikes_planned(spec, place.incident))
        result = results.get(spec.trial_id)
        outcome = result.attest if result is not None else run.cut_short.get(spec.trial_id)
        if outcome is None:
            problems.append(f"{spec.trial_id} {why_no_result(spec.trial_id, run)}")
            continue
        if result is not None and result.validity is Validity.INVALID:
            problems.append(f"{spec.trial_id} is INVALID: {result.reasons[0]}")
            continue
        before = observed
        observed, reason = _with_outcome(observed, spec, outcome, run)
        if result is None:
            reason = f"{spec.trial_id} ended before its last {observed.strike}"
        if observed.cuts > before.cuts:
            losing_by_block[spec.block] = losing_by_block.get(spec.block, 0.0) + observed.losing - before.losing
        # A trial that came to no such cycle says nothing of what others came to.
        (reasons if outcome.cycles_of_scenario(place.incident.scenario) else unreached).append(reason)
    reasons = list(filter(None, reasons if observed.cuts else [*reasons, *unreached]))
    specs = tuple(spec for spec in seen.specs if spec.block in losing_by_block)
    return replace(
        observed,
        seen=replace(seen, values=losing_by_block, problems=tuple(problems), specs=specs),
        open_reason="; ".join(dict.fromkeys(reasons)),
    )


def cuts_as_published(observed: ObservedCuts, kept: bool) -> ObservedCuts:
    """What a plan would find if each of its strikes lost something, or none where everything is said to be kept."""
    if not observed.planned:
        return observed
    losing = 0 if kept else observed.planned
    values = dict.fromkeys((spec.block for spec in observed.trials), float(losing))
    seen = replace(observed.seen, values=values, problems=(), specs=observed.trials)
    return replace(observed, seen=seen, cuts=observed.planned, losing=losing)


def _strikes_planned(spec: AttestSpec, incident: Incident) -> int:
    return sum(cycle.cuts for cycle in spec.attest.cycles if cycle.scenario is incident.scenario)


def _with_outcome(
    observed: ObservedCuts, spec: AttestSpec, outcome: AttestOutcome, run: ExaminedRun
) -> tuple[ObservedCuts, str]:
    """What was observed with one more outcome, and why it says nothing where nothing was lost; "" if it does."""
    incident = observed.incident
    cycles = outcome.cycles_of_scenario(incident.scenario)
    negative = next(iter(outcome.cycles_of_scenario(Scenario.NONE)), None)
    broken_off = [why for cycle in cycles if not cycle.cuts for why in cycle.unreadable]
    control = _control_cuts(spec, outcome, incident, run)
    judgement = judge_cuts(cut_results(cycles), negative, control, broken_off=broken_off)
    reason = ""
    if judgement.verdict is AttestVerdict.INCONCLUSIVE:
        no_crash_lost = incident.means is Means.CRASH and not any(cut.broken for cut in control)
        nothing_shown = "no crash of the run lost anything, so that such crashes would not show a loss"
        reason = nothing_shown if no_crash_lost else f"inconclusive: {judgement.reasons[0]}"
    with_outcome = replace(
        observed,
        cuts=observed.cuts + judgement.cuts,
        losing=observed.losing + (judgement.losing_cuts if judgement.verdict is AttestVerdict.REFUTED else 0),
        at_risk=observed.at_risk + judgement.at_risk,
        broken=observed.broken + judgement.broken,
        lost=observed.lost + sum(cycle.lost for cycle in cycles if cycle.cuts),
    )
    return with_outcome, reason


def _control_cuts(
    spec: AttestSpec, outcome: AttestOutcome, incident: Incident, run: ExaminedRun
) -> Sequence[CutResult]:
    """Cuts that must have lost something for others that lost nothing to say anything."""
    if incident.means is Means.CRASH:
        crashes = [other.attest.cycles for other in run.attested if other.spec.attest.means is Means.CRASH]
        struck: list[CycleOutcome] = [cycle for cycles in crashes for cycle in cycles if cycle.cuts]
        losing = [cycle for cycle in struck if cycle.lost]
        return cut_results(losing or struck)
    of_trial = [
        other
        for other in run.attested
        if other.spec.attest.control
        and (other.spec.system, other.spec.block, other.spec.point) == (spec.system, spec.block, spec.point)
    ]
    control = of_trial[0].attest if of_trial else outcome
    return cut_results(control.cycles_of_scenario(Scenario.ALL))


def judge_guarantee(observed: ObservedCuts, kept: bool) -> ClaimAnswer:
    """The verdict on what one place is said to keep, or to lose."""
    if absent := _absence(observed):
        return absent
    if observed.losing:
        verdict = ClaimVerdict.CONTRADICTED if kept else ClaimVerdict.CONFIRMED
        return ClaimAnswer(verdict, f"{observed.losses}: {'not kept' if kept else 'something is lost'}")
    if observed.open_reason:
        return ClaimAnswer(ClaimVerdict.NOT_DECIDED, observed.open_reason)
    if not kept:
        return ClaimAnswer(ClaimVerdict.NOT_DECIDED, f"{observed.losses}: that none ever is can't be shown")
    if few := _too_few(observed):
        return few
    return ClaimAnswer(ClaimVerdict.DIRECTION, f"{observed.losses}: kept as far as these show, which is no proof")


def judge_same_guarantee(one: ObservedCuts, other: ObservedCuts) -> ClaimAnswer:
    """The verdict on two places that are said to keep, or to lose, alike."""
    both = (one, other)
    if absent := next(filter(None, map(_absence, both)), None):
        return absent
    shown = "; ".join(f"{each.place}: {each.losses}" for each in both)
    if one.losing and other.losing:
        return ClaimAnswer(ClaimVerdict.CONFIRMED, f"{shown}: neither keeps all")
    if unlike := _why_not_alike(one, other):
        return ClaimAnswer(ClaimVerdict.NOT_DECIDED, f"{shown}: {unlike}")
    if not one.losing and not other.losing:
        few = next(filter(None, map(_too_few, both)), None)
        return few or ClaimAnswer(ClaimVerdict.DIRECTION, f"{shown}: alike as far as these show, which is no proof")
    return ClaimAnswer(ClaimVerdict.CONTRADICTED, f"{shown}: only one of them lost something")


def _why_not_alike(one: ObservedCuts, other: ObservedCuts) -> str:
    """Why two places of which one at least lost nothing can't be told from each other; "" if they can."""
    for each in (one, other):
        if not each.losing and each.open_reason:
            return f"{each.place}: {each.open_reason}"
    if one.losing or other.losing:
        loser, keeper = (one, other) if one.losing else (other, one)
        chance = comb(loser.cuts, loser.losing) / comb(loser.cuts + keeper.cuts, loser.losing)
        if chance >= CHANCE_MAX:
            return f"with a probability of {chance:.0%} chance alone would do that".replace("%", " %")
    return ""


def _absence(observed: ObservedCuts) -> ClaimAnswer | None:
    """The answer where there are no results of a place, or no cut of them counted."""
    if not observed.cuts and observed.open_reason:
        why = f"{observed.place}: no {observed.strike} counts: {observed.open_reason}"
        return ClaimAnswer(ClaimVerdict.NOT_DECIDED, why)
    if observed.seen.missing:
        return ClaimAnswer(
            ClaimVerdict.NOT_DECIDED, observed.seen.missing, observed.seen.absence or observed.seen.missing
        )
    return None


def _too_few(observed: ObservedCuts) -> ClaimAnswer | None:
    """The answer where too few cuts without a loss were made for that to count."""
    if observed.loss_per_cut_max <= LOSS_PER_CUT_MAX:
        return None
    few = f"too few (below {LOSS_PER_CUT_MAX:.0%} counts)".replace("%", " %")
    return ClaimAnswer(ClaimVerdict.NOT_DECIDED, f"{observed.losses}: {few}")

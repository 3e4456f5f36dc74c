"""What a level promises, what the cuts of an attestation showed of it, and the verdict. Pure.

From the meaning of the levels (docs/durability.md), which each system reaches in the way that its own documentation
gives; where a system does more or less than its level, docs/durability.md says what was observed.

A level is *refuted* by a single acknowledged message that is gone, damaged, or not there in every read. It is *not
refuted* if none was in n cuts that could have shown it, and then n bounds how probable a loss can be: if each cut lost
something with probability p, n cuts without a loss have probability (1-p)^n, so p is below 1 - 0.05^(1/n) with 95 %
confidence (Clopper and Pearson's exact interval, one-sided; about 3/n). It is *inconclusive* if the procedure would not
have noticed: the same cut with local sync off must lose something, the same procedure without a cut must lose nothing,
and a cut counts only if it came soon after the newest write and had enough at risk.

Doubts. The bound is about cuts like these: same load, same disks, same moments. The drive's own volatile cache, torn
sectors and correlated faults are not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegauge.durability import level_named
from tidegauge.extras import require_package
from tidegauge.model.attest import AttestOutcome, AttestVerdict, CutOutcome, CycleOutcome, Scenario
from tidegauge.model.message import Fate, Witness
from tidegauge.numbers import plural, trimmed

if TYPE_CHECKING:
    from tidegauge.attestation.evidence import History


@dataclass(frozen=True)
class Promise:
    """`kept`: acknowledged messages must survive; otherwise they may be lost. `why` in a clause."""

    kept: bool
    why: str


def promise_of_level(level: int, scenario: Scenario, nodes: int) -> Promise:
    """What an acknowledgement of this level is worth in this scenario."""
    meaning = level_named(level)
    if scenario is Scenario.NONE:
        return Promise(True, "nothing is cut")
    if meaning.replication_sync and meaning.local_sync:
        return Promise(True, "a majority has each acknowledged message on disk, and any two majorities share a node")
    if meaning.replication_sync:
        return _promise_in_memory(scenario)
    if meaning.local_sync and nodes == 1:
        return Promise(True, "the one copy is on disk before it is acknowledged")
    if meaning.local_sync:
        return _promise_of_one_copy(scenario)
    return Promise(False, "an acknowledged message may be in the memory of one node only")


def _promise_in_memory(scenario: Scenario) -> Promise:
    if scenario in (Scenario.ONE, Scenario.LEADER, Scenario.ROLLING):
        return Promise(True, "a second copy is on a node that keeps its power")
    if scenario is Scenario.ALL:
        return Promise(False, "all copies may be in memory only")
    return Promise(False, "the majority that elects may be one copy that lagged and one that lost its memory")


def _promise_of_one_copy(scenario: Scenario) -> Promise:
    if scenario is Scenario.ALL:
        return Promise(False, "the one copy on disk survives, but a node without it may lead afterwards")
    return Promise(False, "another node, which may not have the message yet, takes over from the one that has")


WRITE_AGE_S_MAX = 5.0
"""A cut later than this after the newest write finds data that the kernel wrote back by itself."""
AT_RISK_S = 5.0
"""Messages acknowledged this long before a cut, or less, are at risk in it."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Criteria:
    """What a cut needs to count.

    Attributes:
        write_age_s_max: the newest write may be this old.
        at_risk_min: messages acknowledged within `AT_RISK_S` before it.
        in_flight_min: messages sent and not yet acknowledged at the instant.
    """

    write_age_s_max: float = WRITE_AGE_S_MAX
    at_risk_min: int = 100
    in_flight_min: int = 1


@dataclass(frozen=True)
class CutResult:
    """One cut and what was found after it.

    Attributes:
        number: from 1, for people.
        outcome: how it was carried out, and what was at stake (see `at_stake`).
        cycle: the cycle that it was made in, with what this cut is judged by.
    """

    number: int
    outcome: CutOutcome
    cycle: CycleOutcome

    @property
    def broken(self) -> int:
        """Acknowledged messages that are gone, damaged, or not there in every read."""
        return self.cycle.figures.get("broken", 0)


@dataclass(frozen=True)
class Judgement:
    """The verdict and all that it rests on.

    Attributes:
        reasons: why it is inconclusive, or which cuts did not count; one sentence each.
        cuts: how many cuts counted; for REFUTED all of them.
        losing_cuts: how many of those broke an acknowledgement.
        at_risk: acknowledged messages at risk in them.
        loss_per_cut_max: upper bound of the probability that such a cut loses something, at `CONFIDENCE`.
        witness: for REFUTED, the plainest broken promise.
        cut: the cut that broke it.
    """

    verdict: AttestVerdict
    reasons: tuple[str, ...]
    cuts: int
    losing_cuts: int
    at_risk: int
    broken: int
    loss_per_cut_max: float
    witness: Witness | None = None
    cut: CutResult | None = None

    def sentence(self) -> str:
        """The verdict for people, in one sentence."""
        if self.verdict is AttestVerdict.REFUTED and self.witness is not None and self.cut is not None:
            nodes = ", ".join(map(str, self.cut.outcome.nodes))
            return (
                f"REFUTED: {plural(self.broken, 'acknowledged message')} broken in {self.losing_cuts} of "
                f"{plural(self.cuts, 'cut')}; cut {self.cut.number} ({self.cut.cycle.scenario.value}, node {nodes}): "
                f"{self.witness.sentence()}"
            )
        if self.verdict is AttestVerdict.NOT_REFUTED:
            return (
                f"NOT REFUTED in {plural(self.cuts, 'cut')} with {plural(self.at_risk, 'acknowledged message')} at "
                f"risk: such a cut loses something with a probability below {self.loss_per_cut_max:.1%} "
                f"({CONFIDENCE:.0%} confidence)"
            )
        return f"INCONCLUSIVE: {'; '.join(self.reasons)}"


def at_stake(history: History, cut: CutOutcome) -> CutOutcome:
    """A cut with what a history says of its instant: what it could destroy."""
    cut_mono_ns = cut.frozen_mono_ns
    newest_ns = history.newest_before(cut_mono_ns)
    return replace(
        cut,
        write_age_s=(cut_mono_ns - newest_ns) / 1e9 if newest_ns >= 0 else float("inf"),
        at_risk=history.acknowledged_between(cut_mono_ns - round(AT_RISK_S * 1e9), cut_mono_ns),
        in_flight=history.in_flight_at(cut_mono_ns),
    )


def loss_bound(losing: int, cuts: int) -> float:
    """Upper bound of the probability that a cut loses something, after `losing` of `cuts` did; 1.0 without cuts.

    Clopper-Pearson, one-sided, at `CONFIDENCE`: for none of n, 1 - (1 - CONFIDENCE)^(1/n), about 3/n.
    """
    if losing >= cuts:
        return 1.0
    require_package("scipy", "Attestations")
    # Loaded here: scipy costs more CPU than all the rest of planning a run.
    from scipy.special import betaincinv

    return float(betaincinv(losing + 1, cuts - losing, CONFIDENCE))


def why_not_counted(cut: CutResult, criteria: Criteria) -> str:
    """Why a cut can't show that nothing is lost; "" if it can."""
    stake = cut.outcome
    if math.isinf(stake.write_age_s):
        return f"cut {cut.number} came before the first message was sent"
    if stake.write_age_s > criteria.write_age_s_max:
        return (
            f"cut {cut.number} came {stake.write_age_s:,.1f} s after the newest write: after more than "
            f"{trimmed(criteria.write_age_s_max)} s the kernel may have written back what nobody synced"
        )
    if stake.at_risk < criteria.at_risk_min:
        risked = f"{plural(stake.at_risk, 'acknowledged message')} at risk"
        return f"cut {cut.number} had {risked}; at least {criteria.at_risk_min:,} are needed"
    if stake.in_flight < criteria.in_flight_min:
        flying = f"{plural(stake.in_flight, 'message')} in flight"
        return f"cut {cut.number} had {flying}; at least {criteria.in_flight_min:,} are needed"
    return _why_unread(cut)


def _why_unread(cut: CutResult) -> str:
    """Why not everything could be read after a cut; "" if it could."""
    unreadable = cut.cycle.unreadable
    return f"after cut {cut.number} not everything could be read: {unreadable[0]}" if unreadable else ""


def judge_cuts(
    cuts: Sequence[CutResult],
    negative: CycleOutcome | None,
    positive: Sequence[CutResult],
    criteria: Criteria | None = None,
    broken_off: Sequence[str] = (),
) -> Judgement:
    """The verdict on a level by its cuts and controls.

    Args:
        cuts: those at the level in question.
        negative: the same procedure without a cut; None if it was not done.
        positive: the same cuts with local sync off; empty if none was done.
        criteria: what a cut needs to count.
        broken_off: why cycles did not come to a cut.
    """
    why_not = [why_not_counted(cut, criteria or Criteria()) for cut in cuts]
    excluded = [why for why in why_not if why]
    counted = [cut for cut, why in zip(cuts, why_not, strict=True) if not why]
    losing = [cut for cut in cuts if cut.broken]
    if negative is not None and (broken := negative.figures.get("broken", 0)):
        why = f"the negative control, without a cut, broke {plural(broken, 'acknowledged message')}"
        return _judgement_on_cuts(AttestVerdict.INCONCLUSIVE, [why, *excluded], counted)
    if losing:
        worst = max(losing, key=lambda cut: cut.cycle.witness.before_cut_s if cut.cycle.witness else 0.0)
        judged = _judgement_on_cuts(AttestVerdict.REFUTED, excluded, cuts)
        return replace(judged, witness=worst.cycle.witness, cut=worst)
    # What was acknowledged before a cut and can't be read after it may be lost: no other cut makes up for that.
    doubts = [*broken_off, *filter(None, map(_why_unread, cuts))]
    if negative is None:
        doubts.append("the negative control (the same without a cut) is missing")
    elif negative.unreadable:
        doubts.append(f"in the negative control not everything could be read: {negative.unreadable[0]}")
    if not positive:
        doubts.append("the positive control (the same cut with local sync off) is missing")
    elif not any(cut.cycle.lost for cut in positive):
        doubts.append(_why_control_lost_nothing(positive))
    if not counted:
        doubts.extend(excluded or ["there was no cut"])
    if doubts:
        return _judgement_on_cuts(AttestVerdict.INCONCLUSIVE, [*dict.fromkeys(doubts)], counted)
    return _judgement_on_cuts(AttestVerdict.NOT_REFUTED, excluded, counted)


def _why_control_lost_nothing(positive: Sequence[CutResult]) -> str:
    """What it means that it lost nothing: cuts that show nothing, or servers that did not come back to be read."""
    unread = next((cut for cut in positive if cut.cycle.unreadable), None)
    if unread is not None:
        return (
            f"the positive control, with local sync off, could not be read whole after its cut {unread.number}: "
            f"{unread.cycle.unreadable[0]}"
        )
    return (
        f"the positive control lost nothing in {plural(len(positive), 'cut')} with local sync off: "
        "these cuts would not show a loss"
    )


def _judgement_on_cuts(verdict: AttestVerdict, reasons: Sequence[str], cuts: Sequence[CutResult]) -> Judgement:
    losing = sum(cut.broken > 0 for cut in cuts)
    return Judgement(
        verdict=verdict,
        reasons=tuple(reasons),
        cuts=len(cuts),
        losing_cuts=losing,
        at_risk=sum(cut.outcome.at_risk for cut in cuts),
        broken=sum(cut.broken for cut in cuts),
        loss_per_cut_max=loss_bound(losing, len(cuts)),
    )


@dataclass(frozen=True)
class Judged:
    """The verdict on one scenario, beside what the level promises there."""

    scenario: Scenario
    judgement: Judgement
    promise: Promise
    cycles: tuple[CycleOutcome, ...]

    @property
    def breaks_promise(self) -> bool:
        """Whether messages were lost that the level says are kept, or came back damaged, which no level allows."""
        return self.judgement.verdict is AttestVerdict.REFUTED and (self.promise.kept or self.damaged > 0)

    @property
    def damaged(self) -> int:
        """Acknowledged messages that were found damaged only."""
        return self.figure(Fate.CORRUPT.name.lower())

    def figure(self, name: str) -> int:
        """A kind of anomaly over all its cycles."""
        return sum(cycle.figures.get(name, 0) for cycle in self.cycles)


def judge_scenarios(
    level: int, nodes: int, scenarios: Sequence[Scenario], subject: AttestOutcome, control: AttestOutcome | None
) -> tuple[Judged, ...]:
    """A verdict for each scenario.

    Args:
        control: the positive control. None: the level has no local sync itself, and its own cuts of all nodes are it.
    """
    negative = next(iter(subject.cycles_of_scenario(Scenario.NONE)), None)
    positive = cut_results((control or subject).cycles_of_scenario(Scenario.ALL))
    all_judged = []
    for scenario in scenarios:
        cycles = subject.cycles_of_scenario(scenario)
        broken_off = [why for cycle in cycles if not cycle.cuts for why in cycle.unreadable]
        judged = judge_cuts(cut_results(cycles), negative, positive, broken_off=broken_off)
        all_judged.append(Judged(scenario, judged, promise_of_level(level, scenario, nodes), cycles))
    return tuple(all_judged)


def cut_results(cycles: Sequence[CycleOutcome]) -> tuple[CutResult, ...]:
    """The cuts of these cycles. What a cycle with several broke counts for the one that its witness names."""
    cuts: list[CutResult] = []
    for cycle in cycles:
        unbroken = replace(cycle, figures={}, positions=(), witness=None)
        blamed = cycle.witness.cut if cycle.witness is not None and cycle.witness.cut >= 0 else len(cycle.cuts) - 1
        for place, cut in enumerate(cycle.cuts):
            cuts.append(CutResult(len(cuts) + 1, cut, cycle if place == blamed else unbroken))
    return tuple(cuts)

"""What cuts of the power say about a durability level: refuted, not refuted, or inconclusive. Pure. Never "proved".

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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tidegauge.attestation.anomalies import Anomalies
from tidegauge.model.attestation import Verdict
from tidegauge.model.cut_method import counted_cuts
from tidegauge.model.fate import Witness

if TYPE_CHECKING:
    from tidegauge.attestation.history import History

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
        scenario: "all", "one", "leader", ...
        nodes: the numbers of those that lost their power, from 1.
        cut_mono_ns: the instant from which nothing was written any more: when the nodes' processes were stopped.
        write_age_s: from the newest message sent or acknowledged to the cut; infinite if there was none.
        at_risk: messages acknowledged within `AT_RISK_S` before it.
        in_flight: messages sent and not yet acknowledged.
        anomalies: of the messages that this cut is judged by.
    """

    number: int
    scenario: str
    nodes: tuple[int, ...]
    cut_mono_ns: int
    write_age_s: float
    at_risk: int
    in_flight: int
    anomalies: Anomalies


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

    verdict: Verdict
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
        if self.verdict is Verdict.REFUTED and self.witness is not None and self.cut is not None:
            nodes = ", ".join(map(str, self.cut.nodes))
            return (
                f"REFUTED: {self.broken:,} acknowledged messages broken in {self.losing_cuts} of "
                f"{counted_cuts(self.cuts)}; cut {self.cut.number} ({self.cut.scenario}, node {nodes}): "
                f"{self.witness.sentence()}"
            )
        if self.verdict is Verdict.NOT_REFUTED:
            return (
                f"NOT REFUTED in {counted_cuts(self.cuts)} with {self.at_risk:,} acknowledged messages at risk: such a "
                f"cut loses something with a probability below {self.loss_per_cut_max:.1%} "
                f"({CONFIDENCE:.0%} confidence)"
            )
        return f"INCONCLUSIVE: {'; '.join(self.reasons)}"


class AtStake(NamedTuple):
    """What a cut could destroy; see `CutResult`."""

    write_age_s: float
    at_risk: int
    in_flight: int


def at_stake(history: History, cut_mono_ns: int) -> AtStake:
    """What a history says of the instant of a cut."""
    newest_ns = history.newest_before(cut_mono_ns)
    return AtStake(
        write_age_s=(cut_mono_ns - newest_ns) / 1e9 if newest_ns >= 0 else float("inf"),
        at_risk=history.acknowledged_between(cut_mono_ns - round(AT_RISK_S * 1e9), cut_mono_ns),
        in_flight=history.in_flight_at(cut_mono_ns),
    )


def cut_result(
    history: History, anomalies: Anomalies, *, number: int, scenario: str, nodes: Sequence[int], cut_mono_ns: int
) -> CutResult:
    """A cut with what its history says of the instant."""
    stake = at_stake(history, cut_mono_ns)
    return CutResult(
        number=number,
        scenario=scenario,
        nodes=tuple(nodes),
        cut_mono_ns=cut_mono_ns,
        write_age_s=stake.write_age_s,
        at_risk=stake.at_risk,
        in_flight=stake.in_flight,
        anomalies=anomalies,
    )


def loss_bound(losing: int, cuts: int, confidence: float = CONFIDENCE) -> float:
    """Upper bound of the probability that a cut loses something, after `losing` of `cuts` did; 1.0 without cuts.

    Clopper-Pearson, one-sided: for none of n, 1 - (1 - confidence)^(1/n), about 3/n at 95 %.
    """
    if losing >= cuts:
        return 1.0
    # Loaded here: scipy costs more CPU than all the rest of planning a run.
    from scipy.special import betaincinv

    return float(betaincinv(losing + 1, cuts - losing, confidence))


def why_not_counted(cut: CutResult, criteria: Criteria) -> str:
    """Why a cut can't show that nothing is lost; "" if it can."""
    if cut.write_age_s > criteria.write_age_s_max:
        return (
            f"cut {cut.number} came {cut.write_age_s:,.1f} s after the newest write: after more than "
            f"{criteria.write_age_s_max:g} s the kernel has written back what nobody synced"
        )
    if cut.at_risk < criteria.at_risk_min:
        return f"cut {cut.number} had {cut.at_risk:,} acknowledged messages at risk; at least {criteria.at_risk_min:,}"
    if cut.in_flight < criteria.in_flight_min:
        return f"cut {cut.number} had {cut.in_flight:,} messages in flight; at least {criteria.in_flight_min:,}"
    return _unread(cut)


def _unread(cut: CutResult) -> str:
    """Why not everything could be read after a cut; "" if it could."""
    unreadable = cut.anomalies.unreadable
    return f"after cut {cut.number} not everything could be read: {unreadable[0]}" if unreadable else ""


def judge(
    cuts: Sequence[CutResult],
    negative: Anomalies | None,
    positive: Sequence[CutResult],
    criteria: Criteria | None = None,
    broken_off: Sequence[str] = (),
) -> Judgement:
    """The verdict.

    Args:
        cuts: those at the level in question.
        negative: of the same procedure without a cut; None if it was not done.
        positive: the same cuts with local sync off; empty if none was done.
        criteria: what a cut needs to count.
        broken_off: why cycles did not come to a cut.
    """
    why_not = [why_not_counted(cut, criteria or Criteria()) for cut in cuts]
    excluded = [why for why in why_not if why]
    counted = [cut for cut, why in zip(cuts, why_not, strict=True) if not why]
    losing = [cut for cut in cuts if cut.anomalies.broken]
    if negative is not None and negative.broken:
        why = f"the negative control, without a cut, broke {negative.broken:,} acknowledged messages"
        return _judgement(Verdict.INCONCLUSIVE, [why, *excluded], counted)
    if losing:
        worst = max(losing, key=lambda cut: cut.anomalies.witness.before_cut_s if cut.anomalies.witness else 0.0)
        judged = _judgement(Verdict.REFUTED, excluded, list(cuts))
        return Judgement(**{**vars(judged), "witness": worst.anomalies.witness, "cut": worst})
    # What was acknowledged before a cut and can't be read after it may be lost: no other cut makes up for that.
    doubts = [*broken_off, *filter(None, map(_unread, cuts))]
    if negative is None:
        doubts.append("the negative control (the same without a cut) is missing")
    elif negative.unreadable:
        doubts.append(f"in the negative control not everything could be read: {negative.unreadable[0]}")
    if not positive:
        doubts.append("the positive control (the same cut with local sync off) is missing")
    elif not any(cut.anomalies.lost for cut in positive):
        doubts.append(_control_lost_nothing(positive))
    if not counted:
        doubts.extend(excluded or ["there was no cut"])
    if doubts:
        return _judgement(Verdict.INCONCLUSIVE, [*dict.fromkeys(doubts)], counted)
    return _judgement(Verdict.NOT_REFUTED, excluded, counted)


def _control_lost_nothing(positive: Sequence[CutResult]) -> str:
    """What that means: cuts that show nothing, or a control whose servers did not come back to be read."""
    unread = next((cut.anomalies.unreadable[0] for cut in positive if cut.anomalies.unreadable), "")
    if unread:
        return f"the positive control, with local sync off, could not be read after its cut: {unread}"
    return (
        f"the positive control lost nothing in {counted_cuts(len(positive))} with local sync off: "
        "these cuts would not show a loss"
    )


def _judgement(verdict: Verdict, reasons: Sequence[str], cuts: Sequence[CutResult]) -> Judgement:
    losing = sum(cut.anomalies.broken > 0 for cut in cuts)
    return Judgement(
        verdict=verdict,
        reasons=tuple(reasons),
        cuts=len(cuts),
        losing_cuts=losing,
        at_risk=sum(cut.at_risk for cut in cuts),
        broken=sum(cut.anomalies.broken for cut in cuts),
        loss_per_cut_max=loss_bound(losing, len(cuts)),
    )

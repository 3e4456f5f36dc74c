"""What stands first in a report: verdicts, what they are worth, what speaks against them, what they do not say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.durability import levels_found
from tidegauge.model.attest import Attestation
from tidegauge.model.trial import (
    AnyResult,
    LoadResult,
    MeasuredResult,
    ReadResult,
    ReadSubscription,
    TrialResult,
    Validity,
)
from tidegauge.model.use import Resource
from tidegauge.numbers import count, duration, plural, rounded
from tidegauge.published.verdict import ClaimOutcome, PublishedOutcome, Verdict
from tidegauge.report import fairness, levels, thresholds
from tidegauge.report.names import names_of
from tidegauge.report.published import counts
from tidegauge.report.verdicts import ExperimentVerdict, level_phrase, verdicts
from tidegauge.statistics.classify import BUSY_CONSUMER, GENERATOR_FIRST, OWN_LAG
from tidegauge.statistics.figures import FIGURES
from tidegauge.store.read import StoredRun
from tidegauge.thresholds import Outcome

GOOD, DOUBT, BAD = "good", "doubt", "bad"


@dataclass(frozen=True)
class Badge:
    """One thing that would speak against the figures, and whether it does.

    Attributes:
        state: good, doubt or bad.
        text: a few words.
        sentence: the same in a sentence; "" where there is no more to say.
        anchor: of the part of the page that shows it.
    """

    state: str
    text: str
    sentence: str = ""
    anchor: str = "trials"


@dataclass(frozen=True)
class Answer:
    """The first screen.

    Attributes:
        headline: for a list of runs: the first verdict.
        title: what was compared at which durability.
        warning: what must be read before every figure; "" mostly.
        verdicts: one for each experiment.
        unsaid: what the run does not show, a sentence each.
    """

    headline: str
    title: str
    warning: str
    verdicts: tuple[ExperimentVerdict, ...]
    badges: tuple[Badge, ...]
    unsaid: tuple[str, ...]


def answer(run: StoredRun) -> Answer:
    """The first screen of a run, whatever state it is in."""
    found = tuple(verdicts(run)) if run.results else ()
    warning = fairness.headline(run.terms).removesuffix(":")
    mark = fairness.mark(run.terms.unequal)
    first = f"{mark}{_published(run.published)}" if run.published is not None else found[0].sentence if found else ""
    return Answer(
        headline=first or "No trial has finished, so there is no answer",
        title=_title(run),
        warning=warning,
        verdicts=found,
        badges=tuple(_badges(run)),
        unsaid=_unsaid(run),
    )


def _title(run: StoredRun) -> str:
    names = names_of(run)
    systems = sorted({result.spec.system for result in run.results} or set(names.systems))
    if not systems:
        return run.name
    listed = names.listed(systems)
    at = level_phrase(run)
    return f"{listed} {at[:1].lower()}{at[1:]}" if at else listed


def _published(outcome: PublishedOutcome) -> str:
    """How many claims have a verdict, and which verdicts they are."""
    decided = [claim for claim in outcome.claims if claim.verdict is not Verdict.NOT_DECIDED]
    words = "; ".join(f"{claim.verdict.value}: {claim.text.rstrip('.')}{_unsized(claim)}" for claim in decided)
    return f"{outcome.title}: {counts(outcome)}{f'. {words[:1].upper()}{words[1:]}' if words else ''}."


def _unsized(claim: ClaimOutcome) -> str:
    return " (which is higher, not by how much)" if claim.verdict is Verdict.DIRECTION else ""


def _badges(run: StoredRun) -> list[Badge]:
    badges = [*_threshold_badges(run), *_claim_badges(run)]
    trials = f"{len(run.results)} of {run.trials_expected} trials finished"
    if run.status != "finished":
        sentence = f"Run {run.status}, {trials}.{f' {run.reason}' if run.reason else ''}"
        badges.append(Badge(DOUBT if run.status == "running" else BAD, f"Run {run.status}: {trials}", sentence))
    if not run.results:
        return badges
    badges.append(_level_badge(run))
    cuts = [attestation for finding in run.findings for attestation in finding.attestations]
    if cuts:
        badges.append(_cuts_badge(run, cuts))
    else:
        badges += [_message_badge(run), _generator_badge(run.measured), _clock_badge(run.results)]
    badges.append(_validity_badge(run))
    if run.terms.unequal:
        badges.append(Badge(BAD, "UNEQUAL terms", fairness.headline(run.terms).removesuffix(":"), "fairness"))
    elif len({result.spec.system for result in run.results}) > 1:
        known = f", {plural(len(run.terms.advice), 'thing')} to know" if run.terms.advice else ""
        sentence = f"Settings in force compared: equal terms{known}."
        badges.append(Badge(DOUBT if known else GOOD, f"Equal terms{known}", sentence, "fairness"))
    return badges


def _threshold_badges(run: StoredRun) -> list[Badge]:
    states = {Outcome.MET: GOOD, Outcome.MISSED: BAD, Outcome.INCONCLUSIVE: DOUBT}
    rulings = thresholds.rulings(run)
    if not rulings:
        return []
    sentences = " ".join(f"{thresholds.sentence(ruling)}." for ruling in rulings)
    return [Badge(states[rulings[0].outcome], thresholds.headline(rulings).removesuffix("."), sentences, "behind")]


def _claim_badges(run: StoredRun) -> list[Badge]:
    if run.published is None:
        return []
    verdicts_found = {claim.verdict for claim in run.published.claims}
    state = DOUBT if verdicts_found != {Verdict.CONFIRMED} else GOOD
    state = BAD if Verdict.CONTRADICTED in verdicts_found else state
    return [Badge(state, counts(run.published), "", "published")]


def _level_badge(run: StoredRun) -> Badge:
    """How the level is known; what cuts of the power said of it, in this run or before."""
    sentence, stands = levels.headline(run.results), levels.standing(run.results)
    if stands is not levels.Standing.KEPT:
        words = {
            levels.Standing.NOT_AS_ASKED: "Level NOT as asked",
            levels.Standing.NOT_EQUAL: "Levels NOT equal",
            levels.Standing.UNKNOWN: "Level UNKNOWN",
        }
        return Badge(BAD, words[stands], sentence, "durability")
    findings = [finding for _, finding in levels_found(run.results).values()]
    numbers = sorted({result.spec.choice.level for result in run.results})
    level = f"Level{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}: {levels.witnesses(run.results)}"
    if any(finding.attested.startswith("REFUTED") for finding in findings):
        return Badge(BAD, f"{level}, REFUTED by power cuts", sentence, "durability")
    if any(finding.attestations for finding in run.findings):  # The cuts of this run have a badge of their own.
        return Badge(GOOD, level, sentence, "durability")
    if all(finding.attested.startswith("attested") for finding in findings):
        return Badge(GOOD, f"{level}, attested", sentence, "durability")
    return Badge(GOOD, f"{level}, not attested", f"{sentence} No power was cut with these settings.", "durability")


def _cuts_badge(run: StoredRun, cuts: Sequence[Attestation]) -> Badge:
    """What the cuts of this run itself said."""
    decided = all(finding.decided for finding in run.findings)
    state = BAD if any(finding.refuted for finding in run.findings) else GOOD if decided else DOUBT
    lost = sum(attestation.lost for attestation in cuts)
    text = f"{plural(sum(attestation.cuts for attestation in cuts), 'cut')}: lost {count(lost)} acknowledged messages"
    return Badge(state, f"REFUTED in {text}" if state == BAD else text, "", "durability")


def _asked(run: StoredRun) -> list[AnyResult]:
    """All trials but the steps of searches, whose losses are answers to the question asked; without others these."""
    return [result for result in run.results if not result.spec.exploratory] or list(run.results)


def _message_badge(run: StoredRun) -> Badge:
    """Over all trials that were asked for."""
    results = _asked(run)
    loads = [result for result in results if isinstance(result, LoadResult)]
    reads = [result for result in results if isinstance(result, ReadResult)]
    acked = sum(load.acked for load in loads)
    subscriptions = [subscription for load in loads for subscription in load.subscriptions]
    if not subscriptions:
        return _read_badge([subscription for read in reads for subscription in read.subscriptions])
    found = {
        what: sum(getattr(subscription, what) for subscription in subscriptions)
        for what in ("lost", "duplicated", "corrupt", "reordered")
    }
    found["corrupt"] += sum(subscription.corrupt for read in reads for subscription in read.subscriptions)
    seen = [f"{what} {count(number)}" for what, number in found.items() if number or what in ("lost", "duplicated")]
    behind = [load for load in loads if FIGURES["lost"].of(load) is None]
    state = BAD if found["lost"] or found["corrupt"] else DOUBT if behind or any(found.values()) else GOOD
    outcomes = ", ".join(f"{count(number)} {what}" for what, number in found.items())
    unknown = (
        f" In {plural(len(behind), 'trial')} consumers were still behind when the drain ended: whether messages were "
        "lost there is not known."
    )
    return Badge(
        state, f"{_millions(acked)} messages checked: {', '.join(seen)}{', not all received' if behind else ''}",
        f"Each of {count(acked)} acknowledged messages was looked for in every subscription: {outcomes}."
        f"{unknown if behind else ''}",
    )  # fmt: skip


def _read_badge(subscriptions: Sequence[ReadSubscription]) -> Badge:
    """Of messages that were sent before: those of Tidegauge carry checksums; what is missing nobody can know."""
    if not subscriptions:
        return Badge(DOUBT, "Messages not checked", "Nobody read, so nothing is known of loss, damage or order.")
    corrupt = sum(subscription.corrupt for subscription in subscriptions)
    verified = sum(subscription.verified for subscription in subscriptions)
    received = sum(subscription.received for subscription in subscriptions)
    return Badge(
        BAD if corrupt else GOOD if verified else DOUBT,
        f"{_millions(verified)} messages checked: corrupt {count(corrupt)}" if verified else "Messages not checked",
        f"Of {count(received)} messages read {count(verified)} carry checksums of Tidegauge; {count(corrupt)} "
        "are damaged. They were sent before, so nothing is known of loss or order.",
    )


def _millions(number: int) -> str:
    return f"{number / 1e6:.3g} million" if number >= 1e6 else count(number)


def _generator_badge(results: Sequence[MeasuredResult]) -> Badge:
    """Whether figures are those of the load generator instead of the system's."""
    limited = {result.limiting.resource for result in results if result.limiting is not None}
    late = [result for result in results if any(reason.startswith(OWN_LAG) for reason in result.reasons)]
    if late:
        sentence = (
            f"In {plural(len(late), 'trial')} of {len(results)} the load generator itself was late, not the system."
        )
        state = BAD if any(result.validity is Validity.INVALID for result in late) else DOUBT
        return Badge(state, f"Generator was late in {len(late)} of {plural(len(results), 'trial')}", sentence)
    slow = [result for result in results if any(reason.startswith(BUSY_CONSUMER) for reason in result.reasons)]
    if slow:
        sentence = (
            f"In {plural(len(slow), 'trial')} of {len(results)} the load generator's own consumers were too slow: "
            "end-to-end times and backlog are not the system's."
        )
        return Badge(BAD, f"Generator's consumers slow in {len(slow)} of {plural(len(results), 'trial')}", sentence)
    own = [
        result
        for result in results
        if (result.limiting is not None and result.limiting.resource is Resource.CLIENT_CPU)
        or any(warning.startswith(GENERATOR_FIRST) for warning in result.warnings)
    ]
    if own:
        whom = f"The load generator was the limit in {plural(len(own), 'trial')} of {len(results)}, not the system."
        return Badge(DOUBT, f"Generator limited {len(own)} of {plural(len(results), 'trial')}", whom, "machine")
    if Resource.HOST_CPU in limited:
        sentence = (
            "All CPUs of the host were busy: servers, load generator and whatever else ran may have slowed each other."
        )
        return Badge(DOUBT, "Generator may be limited: all CPUs busy", sentence, "machine")
    if not limited:
        return Badge(DOUBT, "Generator: head-room not recorded", "What limited the trials was not recorded.")
    return Badge(GOOD, "Generator was not the limit", "In no trial was the load generator's CPU the limit.", "machine")


def _clock_badge(results: Sequence[TrialResult]) -> Badge:
    loads = [result for result in results if isinstance(result, LoadResult)]
    negative = sum(subscription.negative_latency for load in loads for subscription in load.subscriptions)
    if negative:
        sentence = f"{count(negative)} messages seem to have arrived before they were sent: the clock can't be trusted."
        return Badge(BAD, "Clock went backwards", sentence)
    within_us = max((clock.half_width_us for load in loads for clock in load.clocks), default=None)
    if within_us is not None:
        sentence = (
            "Messages went from host to host. How far their clocks are apart was bounded during each trial: end-to-end "
            "times lie within the bounds, response and service times are read from one clock."
        )
        return Badge(GOOD, f"Clocks known to \u00b1{rounded(within_us, 2)} us", sentence, "trials")
    return Badge(
        GOOD, "One clock for all times",
        "Messages are sent and received on one host, whose monotonic clock all times are read from.", "trials",
    )  # fmt: skip


def _validity_badge(run: StoredRun) -> Badge:
    measured = _asked(run)
    numbers = {kind: sum(result.validity is kind for result in measured) for kind in Validity}
    bad = numbers[Validity.INVALID] > 0
    state = BAD if bad else DOUBT if numbers[Validity.DOUBTFUL] else GOOD
    words = ", ".join(f"{number} {kind.shown}" for kind, number in numbers.items() if number)
    remarked = [result for result in measured if result.warnings]
    sentence = f"{plural(len(measured), 'trial')}: {words}."
    sentence += f" {len(remarked)} with remarks, such as: {remarked[0].warnings[0]}." if remarked else ""
    return Badge(state, f"{plural(len(measured), 'trial')}: {words}", sentence)


def _unsaid(run: StoredRun) -> tuple[str, ...]:
    """What a reader might take from the figures though they do not show it: of their order, and of their setting."""
    measured = _asked(run)
    if not measured:
        return ()
    repeats = len({result.spec.block for result in measured})
    length = duration(max(result.measured_s for result in measured))
    cut = any(finding.attestations for finding in run.findings)
    what = "this order" if len({result.spec.system for result in measured}) > 1 else "these figures"
    if cut:
        order = "Cuts that lost nothing are no proof that none ever will, nor one for other settings."
    elif repeats < 2:
        order = f"One trial each, of at most {length}: another trial, hour or machine may not give {what}."
    else:
        order = f"Repeated within one run: another day, machine or load may not give {what}."
    spec = measured[0].spec
    if spec.attached:
        setting = (
            "Servers that others run: what else they did at the same time is not known, and other settings may give "
            "other figures."
        )
    elif spec.apart:
        clients = f"on {plural(spec.load_hosts, 'other')}" if spec.load_hosts > 1 else "on another"
        setting = f"Servers on hosts of their own, the clients {clients}: not what other hosts or networks would give."
    else:
        nodes = "one node" if spec.nodes == 1 else f"{spec.nodes} nodes"
        setting = f"{nodes} of each system on one machine with the clients: nothing about hosts of their own"
        setting += "." if cut else ", and not that the level survives a power cut, unless the badge says attested."
    return order, f"{setting[:1].upper()}{setting[1:]}"

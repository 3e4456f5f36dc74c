"""What stands first in a report: verdicts, what they are worth, what speaks against them, what they do not say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.comparison.order import compared_trials_of
from tidegauge.durability import levels_found
from tidegauge.limiting.decide import FULL
from tidegauge.model.attest import Means, refuting
from tidegauge.model.disturbance import SWITCH
from tidegauge.model.level import CutsStanding
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import (
    AnyResult,
    LoadResult,
    MeasuredResult,
    ReadResult,
    ReadSubscription,
    TrialResult,
    TrialSpec,
    Validity,
    point_words,
)
from tidegauge.model.use import Resource
from tidegauge.numbers import capitalized, count, duration, join_with_and, of_all, plural, rounded
from tidegauge.plain import grouped
from tidegauge.published.verdict import ClaimVerdict
from tidegauge.report import compare, contests, fairness, levels, thresholds
from tidegauge.report.facts import RunFacts
from tidegauge.report.loads import brief_workloads, compared_words
from tidegauge.report.published import counts
from tidegauge.report.verdicts import ExperimentVerdict, level_phrase, verdicts
from tidegauge.statistics.classify import JIT_CPUS
from tidegauge.statistics.figures import is_all_accounted_for
from tidegauge.store.read import StoredRun
from tidegauge.thresholds import ThresholdOutcome

GOOD, DOUBT, BAD = "good", "doubt", "bad"
LOADS_MAX = 2
"""Workloads on the first screen; each stands with its experiment, too."""
CLAIMS_MAX = 2
"""Verdicts on published claims in one sentence; more of them are a list."""


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
        loads: what was sent by whom to whom, and how clients were set, as they reported it.
        unsaid: what the run does not show, a sentence each.
        claims: of a published report that have a verdict, where they are too many for the headline.
    """

    headline: str
    title: str
    warning: str
    verdicts: tuple[ExperimentVerdict, ...]
    badges: tuple[Badge, ...]
    unsaid: tuple[str, ...]
    loads: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()


def answer(run: StoredRun) -> Answer:
    """The first screen of a run, whatever state it is in."""
    facts = RunFacts(run)
    experiment_verdicts = tuple(verdicts(facts)) if run.results else ()
    headline = experiment_verdicts[0].sentence if experiment_verdicts else ""
    claims: list[str] = []
    if run.published is not None:
        unsized = {ClaimVerdict.DIRECTION: " (which is higher, not by how much)"}
        claims = [
            f"{claim.verdict.value}: {claim.text.rstrip('.')}{unsized.get(claim.verdict, '')}"
            for claim in run.published.claims
            if claim.verdict is not ClaimVerdict.NOT_DECIDED
        ]
        words = f". {capitalized('; '.join(claims))}" if 0 < len(claims) <= CLAIMS_MAX else ""
        headline = f"{facts.mark}{run.published.title}: {counts(run.published)}{words}."
    if not headline:
        # Trials alone answer nothing where they are steps of a search, or cuts, that did not come to its end.
        headline = (
            "Trials have finished, but no experiment has, so there is no answer"
            if run.results
            else "No trial has finished, so there is no answer"
        )
    return Answer(
        headline=headline,
        title=_comparison_title(facts),
        warning=fairness.headline(run.terms).removesuffix(":"),
        verdicts=experiment_verdicts,
        badges=tuple(_all_badges(facts)),
        unsaid=_unsaid_sentences(run),
        loads=_loads_shown(run),
        claims=tuple(f"{capitalized(claim)}." for claim in claims) if len(claims) > CLAIMS_MAX else (),
    )


def _loads_shown(run: StoredRun) -> tuple[str, ...]:
    """The workload with the settings of clients; of many, as a sweep has them, the first few."""
    measured = compared_trials_of(run)
    loads = list(dict.fromkeys(compared_words(compared) for compared in measured))
    if not loads and run.results:  # All trials were steps of searches, or cuts.
        loads = [f"Load: {brief_workloads([result.spec.workload for result in run.results])}."]
    if len(loads) < 2:
        return (*_level_of_variants(run), *loads)
    named: dict[str, str] = {}
    for compared in measured:
        named.setdefault(compared_words(compared), compare.experiment_at_point(compared.experiment, compared.point))
    shown = [f"{name}: {words}" for words, name in named.items()]
    left_out = [compared for compared in measured if compared_words(compared) in list(named)[LOADS_MAX:]]
    more = f"{plural(len(left_out), 'more load')} below."
    if all(compared.point for compared in left_out):  # Of a sweep they are in its values, and nowhere in words.
        more = f"At {plural(len(left_out), 'more point')} it differs in what their values say."
    return (*_level_of_variants(run), *shown[:LOADS_MAX], *([more] if left_out else []))


def _level_of_variants(run: StoredRun) -> list[str]:
    """At which level variants were measured, which the title of other runs says."""
    at = level_phrase(run)
    return [f"{at}."] if run.variants and at else []


def _comparison_title(facts: RunFacts) -> str:
    if not facts.systems:
        return facts.run.name
    systems_named = facts.names.listed(facts.systems)
    if facts.run.variants:
        return f"{systems_named}: {contests.variants_line(facts.run)}"
    at = level_phrase(facts.run)
    return f"{systems_named} {at[:1].lower()}{at[1:]}" if at else systems_named


def _all_badges(facts: RunFacts) -> list[Badge]:
    run = facts.run
    badges: list[Badge] = []
    if facts.rulings:
        states = {ThresholdOutcome.MET: GOOD, ThresholdOutcome.MISSED: BAD, ThresholdOutcome.NOT_DECIDED: DOUBT}
        sentences = " ".join(f"{thresholds.sentence(ruling)}." for ruling in facts.rulings)
        head = thresholds.headline(facts.rulings).removesuffix(".")
        badges.append(Badge(states[facts.rulings[0].outcome], head, sentences, "behind"))
    if run.published is not None:
        claim_verdicts = {claim.verdict for claim in run.published.claims}
        state = DOUBT if claim_verdicts != {ClaimVerdict.CONFIRMED} else GOOD
        state = BAD if ClaimVerdict.CONTRADICTED in claim_verdicts else state
        badges.append(Badge(state, counts(run.published), "", "published"))
    if run.status != "finished":
        sentence = capitalized(f"{run.reason.rstrip('.')}.") if run.reason else ""
        state = DOUBT if run.status == "running" else BAD
        badges.append(Badge(state, f"Run {run.status}: {facts.finished_words}", sentence))
    if run.damage:
        badges.append(Badge(BAD, f"Damaged: {plural(len(run.damage), 'file')}", f"{'; '.join(run.damage)}."))
    if not run.results:
        return badges
    badges.append(_level_badge(run))
    if run.attestations:
        badges += _cuts_badges(run)
    if run.measured:
        badges += [_message_badge(run), _generator_badge(run.measured), *_clock_badges(run.measured)]
    return [*badges, _validity_badge(run), *_terms_badges(run)]


def _terms_badges(run: StoredRun) -> list[Badge]:
    """Whether several systems were on equal terms, as far as two of them were measured in one experiment."""
    if run.terms.unequal:
        return [Badge(BAD, "UNEQUAL terms", fairness.headline(run.terms).removesuffix(":"), "fairness")]
    systems_asked = grouped(
        ((result.spec.experiment, point_words(result.spec.point)), result.spec.system) for result in run.results
    )
    if len({system for systems in systems_asked.values() for system in systems}) < 2:
        return []
    if all(len(set(systems)) < 2 for systems in systems_asked.values()):
        sentence = "No two systems were measured in the same experiment, so nothing in force was compared."
        return [Badge(DOUBT, "Terms not compared", sentence, "fairness")]
    advice_words = f", {plural(len(run.terms.advice), 'thing')} to know" if run.terms.advice else ""
    sentence = f"Settings in force compared: equal terms{advice_words}."
    return [Badge(DOUBT if advice_words else GOOD, f"Equal terms{advice_words}", sentence, "fairness")]


def _level_badge(run: StoredRun) -> Badge:
    """How the level is known; what cuts of the power said of it, in this run or before."""
    sentence, stands = levels.headline(run.results), levels.standing(run.results)
    if stands is not levels.Standing.KEPT:
        words = {
            levels.Standing.NOT_AS_ASKED: "Level NOT as asked",
            levels.Standing.NOT_EQUAL: "Levels NOT equal",
            levels.Standing.PARTLY_UNKNOWN: "Level UNKNOWN of some",
            levels.Standing.UNKNOWN: "Level UNKNOWN",
        }
        return Badge(BAD, words[stands], sentence, "durability")
    findings = [(system, finding) for system, (_, finding) in levels_found(run.results).items()]
    # Where a cluster decides, what was found is not what was expected.
    numbers = sorted({result.level.level or 0 for result in run.results})
    listed_numbers = ", ".join(str(number) if number else "unknown" for number in numbers)
    as_found = f" {levels.AS_FOUND_WORDS}" if any(result.spec.choice.is_open for result in run.results) else ""
    level = f"Level{'s' if len(numbers) > 1 else ''} {listed_numbers}{as_found}: {levels.witness_words(run.results)}"
    if any(finding.attested.standing is CutsStanding.REFUTED for _, finding in findings):
        return Badge(BAD, f"{level}, REFUTED by power cuts", sentence, "durability")
    if levels.caveats(run.results):
        return Badge(DOUBT, f"{level}, with a caveat", sentence, "durability")
    # The cuts of this run have a badge of their own; without servers nothing can be cut.
    if run.attestations or not levels.has_servers(run.results):
        return Badge(GOOD, level, sentence, "durability")
    systems_unattested = [
        system for system, finding in findings if finding.attested.standing is not CutsStanding.ATTESTED
    ]
    if not systems_unattested:
        return Badge(GOOD, f"{level}, attested", sentence, "durability")
    attested = "not attested" if len(systems_unattested) == len(findings) else "not attested of all"
    no_cut = f"No cut of the power attests it of {join_with_and(systems_unattested)} with these settings."
    return Badge(GOOD, f"{level}, {attested}", f"{sentence} {no_cut}", "durability")


def _cuts_badges(run: StoredRun) -> list[Badge]:
    """What the cuts of this run itself said: those of power apart from crashes."""
    by_label = grouped(
        (attestation.label, finding) for finding in run.findings for attestation in finding.attestations[:1]
    )
    badges = []
    for label, findings in by_label.items():
        decided = all(finding.decided for finding in findings)
        state = BAD if any(finding.refuted for finding in findings) else GOOD if decided else DOUBT
        cuts = [attestation for finding in findings for attestation in finding.attestations]
        if state == BAD:
            cuts = [cut for finding in findings if finding.refuted for cut in refuting(finding.attestations)]
        lost = sum(attestation.lost for attestation in cuts)
        cuts_made = plural(sum(attestation.cuts for attestation in cuts), "cut") + (f" ({label})" if label else "")
        text = f"{cuts_made}: lost {plural(lost, 'acknowledged message')}"
        # What came back damaged, or not in every read, is broken and not lost.
        broken = sum(attestation.cuts_with_damage for attestation in cuts)
        text += f", damaged or not in every read after {plural(broken, 'cut')}" if broken else ""
        badges.append(Badge(state, f"REFUTED in {text}" if state == BAD else text, "", "durability"))
    return badges


def _trials_asked_for(run: StoredRun) -> list[AnyResult]:
    """Trials without the steps of searches, whose losses answer the question asked; these where there are no others.

    Those that confirmed what was found are no steps: their figures are published.
    """
    confirmed = run.confirmed | {finding.published_trial_id for finding in run.findings}
    trials = [result for result in run.results if not result.spec.exploratory or result.spec.trial_id in confirmed]
    return trials or list(run.results)


def _message_badge(run: StoredRun) -> Badge:
    """What became of messages, over all trials that were asked for."""
    results = _trials_asked_for(run)
    sent = [result for result in results if isinstance(result, LoadResult)]
    reads = [result for result in results if isinstance(result, ReadResult)]
    loads = [load for load in sent if load.subscriptions]
    if not loads:
        return _read_badge([subscription for read in reads for subscription in read.subscriptions])
    acked = sum(load.acked for load in loads)
    subscriptions = [subscription for load in loads for subscription in load.subscriptions]
    totals = {
        kind: sum(getattr(subscription, kind) for subscription in subscriptions)
        for kind in ("lost", "late", "untraced", "duplicated", "corrupt", "reordered")
    }
    totals["corrupt"] += sum(subscription.corrupt for read in reads for subscription in read.subscriptions)
    if not acked and not any(totals.values()):
        return Badge(DOUBT, "Messages not checked", "No message was acknowledged, so there was none to look for.")
    seen = [f"{kind} {count(number)}" for kind, number in totals.items() if number or kind in ("lost", "duplicated")]
    behind = [load for load in loads if not is_all_accounted_for(load)]
    unread = len(sent) - len(loads)
    state = BAD if totals["lost"] or totals["corrupt"] else DOUBT if behind or unread or any(totals.values()) else GOOD
    workloads = [load.spec.workload for load in loads]
    unchecked = [
        *([] if all(workload.checks_damage for workload in workloads) else ["corrupt"]),
        *([] if all(workload.checks_order for workload in workloads) else ["reordered"]),
    ]
    named = [kind for kind, number in totals.items() if number or kind not in ("late", "untraced", *unchecked)]
    outcomes = ", ".join(f"{count(totals[kind])} {kind}" for kind in named)
    limits = f"{', not all received' if behind else ''}{', not all read' if unread else ''}"
    if not behind:
        sentence = f"Each of {count(acked)} acknowledged messages was looked for in every subscription: {outcomes}."
    else:
        others = "more" if any(load.lost for load in behind) else "messages"
        sentence = (
            f"Of {count(acked)} acknowledged messages, as far as is known: {outcomes}. "
            f"In {plural(len(behind), 'trial')} consumers were still behind when the drain ended: whether {others} "
            "were lost there is not known."
        )
    if unread:
        sentence = f"{sentence} In {plural(unread, 'further trial')} nobody read."
    if "corrupt" in unchecked:
        sentence = f"{sentence} Damage was not checked of messages without room for checksums."
        state = DOUBT if state == GOOD else state
    if "reordered" in unchecked:
        sentence = f"{sentence} Order was not checked of shared subscriptions, which promise none."
    return Badge(state, f"{_millions_text(acked)} messages checked: {', '.join(seen)}{limits}", sentence)


def _read_badge(subscriptions: Sequence[ReadSubscription]) -> Badge:
    """What was seen of messages that others sent: only some carry checksums; what is missing nobody can know."""
    if not subscriptions:
        return Badge(DOUBT, "Messages not checked", "Nobody read, so nothing is known of loss, damage or order.")
    corrupt = sum(subscription.corrupt for subscription in subscriptions)
    verified = sum(subscription.verified for subscription in subscriptions)
    received = sum(subscription.received for subscription in subscriptions)
    checked = bool(verified or corrupt)
    damaged = f"; {count(corrupt)} arrived damaged" if checked else ""
    return Badge(
        BAD if corrupt else GOOD if 0 < received == verified else DOUBT,
        f"{_millions_text(verified)} messages checked: corrupt {count(corrupt)}" if checked else "Messages not checked",
        f"Of {count(received)} messages read {count(verified)} carry checksums of Tidegauge{damaged}. "
        "No trial here sent them, so nothing is known of loss, repeats or order.",
    )


def _millions_text(number: int) -> str:
    return f"{rounded(number / 1e6)} million" if number >= 1e6 else count(number)


def _is_invalid_for(result: MeasuredResult, kind: ReasonKind) -> bool:
    """Whether that made a trial INVALID: what did is the first of its reasons."""
    return result.validity is Validity.INVALID and any(reason.kind is kind for reason in result.reasons[:1])


def _generator_badge(results: Sequence[MeasuredResult]) -> Badge:
    """Whether figures are those of the load generator instead of the system's."""
    late = [result for result in results if result.is_doubted_for(ReasonKind.OWN_LAG)]
    if late:
        # Where it made up less than half of the response, the system made up the rest.
        decided = [result for result in late if _is_invalid_for(result, ReasonKind.OWN_LAG)]
        so = ", which is a part of its times"
        if decided:
            so = ", not the system" if len(decided) == len(late) else f", and spoilt {len(decided)} of them"
        sentence = f"In {of_all(len(late), len(results), 'trial')} the load generator itself was late{so}."
        head = f"Generator was late in {of_all(len(late), len(results), 'trial')}"
        return Badge(BAD if decided else DOUBT, head, sentence)
    slow = [result for result in results if result.is_doubted_for(ReasonKind.BUSY_CONSUMER)]
    if slow:
        sentence = (
            f"In {of_all(len(slow), len(results), 'trial')} the load generator's own consumers were too slow: "
            "end-to-end times and backlog are not the system's."
        )
        return Badge(BAD, f"Generator's consumers slow in {of_all(len(slow), len(results), 'trial')}", sentence)
    held_back = [result for result in results if result.is_doubted_for(ReasonKind.HELD_BACK)]
    if held_back:
        held_in = of_all(len(held_back), len(results), "trial")
        # Where each sends to topics of its own it may have been their servers: a doubt that makes none INVALID.
        certain = all(_is_invalid_for(result, ReasonKind.HELD_BACK) for result in held_back)
        culprit = (
            "own host or link held it back, and not the system"
            if certain
            else ("host or link held it back, or the servers of its topics")
        )
        sentence = f"In {held_in} a load generator's {culprit}."
        return Badge(BAD if certain else DOUBT, f"Generator was held back in {held_in}", sentence)
    limited = [
        result
        for result in results
        if (result.limiting is not None and result.limiting.resource is Resource.CLIENT_CPU)
        or result.is_warned_of(ReasonKind.GENERATOR_FIRST)
    ]
    if limited:
        limit_sentence = (
            f"The load generator was the limit in {of_all(len(limited), len(results), 'trial')}, not the system."
        )
        return Badge(
            DOUBT, f"Generator limited {of_all(len(limited), len(results), 'trial')}", limit_sentence, "machine"
        )
    return _head_room_badge(results)


def _head_room_badge(results: Sequence[MeasuredResult]) -> Badge:
    """Whether a load generator that was not the limit had CPUs to spare."""
    full = [result for result in results if _is_host_of_generator_full(result)]
    if full:
        sentence = (
            f"In {of_all(len(full), len(results), 'trial')} all CPUs of a host were busy: servers, load generator "
            "and whatever else ran may have slowed each other."
        )
        return Badge(DOUBT, "Generator may be limited: all CPUs busy", sentence, "machine")
    short = [shortages for result in results if (shortages := _generator_shortages(result))]
    if short:
        causes = dict.fromkeys(cause for shortages in short for cause in shortages)
        sentence = (
            f"In {of_all(len(short), len(results), 'trial')} {' or '.join(causes)}: what was measured may in part "
            "be the load generator's own."
        )
        return Badge(
            DOUBT, f"Generator may be limited in {of_all(len(short), len(results), 'trial')}", sentence, "machine"
        )
    unknown = sum(result.limiting is None for result in results)
    if unknown:
        sentence = f"What limited {of_all(unknown, len(results), 'trial')} was not recorded."
        return Badge(DOUBT, "Generator: head-room not recorded", sentence)
    return Badge(GOOD, "Generator was not the limit", "In no trial was the load generator's CPU the limit.", "machine")


def _is_host_of_generator_full(result: MeasuredResult) -> bool:
    """Whether all CPUs of a host were the limit that has load generators: servers may have hosts of their own."""
    limiting = result.limiting
    if limiting is None or limiting.resource is not Resource.HOST_CPU:
        return False
    load_hosts = [account for account in result.accounts if account.generators > 0]
    return not result.accounts or any(account.busy >= FULL * account.cpus for account in load_hosts)


def _generator_shortages(result: MeasuredResult) -> tuple[str, ...]:
    """Why figures may be a load generator's own though nothing says that it was the limit; () where nothing does."""
    load_hosts = [account for account in result.accounts if account.generators > 0]
    compiled = isinstance(result, LoadResult) and (result.jit_cpus or 0.0) > JIT_CPUS
    causes = (
        ("nearly all CPUs were busy", any(account.busy >= FULL * account.cpus for account in load_hosts)),
        ("load threads waited for a CPU", result.is_warned_of(ReasonKind.CPU_WAIT)),
        ("the load generator was still being compiled", compiled or result.is_warned_of(ReasonKind.COMPILING)),
        ("the load generator never became warm", result.is_warned_of(ReasonKind.COLD)),
        ("the rate was near the load generator's own limit", result.is_warned_of(ReasonKind.NEAR_GENERATOR)),
    )
    return tuple(cause for cause, holds in causes if holds)


def _clock_badges(results: Sequence[TrialResult]) -> list[Badge]:
    """How far times can be trusted; none where nothing was sent, since reading alone takes no times of messages."""
    loads = [result for result in results if isinstance(result, LoadResult)]
    negative = sum(subscription.negative_latency for load in loads for subscription in load.subscriptions)
    if negative:
        sentence = (
            f"{count(negative)} messages seem to have arrived before they were to be sent: no clock can be trusted."
        )
        return [Badge(BAD, "Clock in doubt", sentence)]
    # Without a reader no time is measured with two clocks.
    across = [load for load in loads if load.subscriptions and (load.clocks or load.spec.load_hosts > 1)]
    unknown = sum(not load.clocks for load in across)
    if unknown:
        sentence = (
            f"In {of_all(unknown, len(loads), 'trial')} load generators were on several hosts, and how far their "
            "clocks are apart was not recorded: end-to-end times may be off by that."
        )
        return [Badge(DOUBT, "Clocks: not recorded", sentence)]
    within_us = max((clock.half_width_us for load in across for clock in load.clocks), default=None)
    if within_us is not None:
        sentence = (
            "Messages went from host to host. How far their clocks are apart was bounded during each trial: end-to-end "
            "times lie within the bounds, response and service times are read from one clock."
        )
        return [Badge(GOOD, f"Clocks known to \u00b1{rounded(within_us, 2)} us", sentence)]
    if not loads:
        return []
    if not any(load.subscriptions for load in loads):
        sentence = "Nobody read: from the send to the acknowledgement all times are read from the sender's clock."
        return [Badge(GOOD, "One clock for each time", sentence)]
    sentence = "Messages are sent and received on one host, whose monotonic clock all times are read from."
    return [Badge(GOOD, "One clock for all times", sentence)]


def _validity_badge(run: StoredRun) -> Badge:
    measured = _trials_asked_for(run)
    numbers = {kind: sum(result.validity is kind for result in measured) for kind in Validity}
    bad = numbers[Validity.INVALID] > 0
    excused = sum(isinstance(result, MeasuredResult) and result.is_excused for result in measured)
    state = BAD if bad else DOUBT if numbers[Validity.DOUBTFUL] or excused else GOOD
    words = ", ".join(f"{number} {kind.shown}" for kind, number in numbers.items() if number)
    words += f", {excused} disturbed and not judged" if excused else ""
    # With them it is as many as the list of trials has.
    asked_for = {result.spec.trial_id for result in measured}
    steps = [result.spec.experiment for result in run.results if result.spec.trial_id not in asked_for]
    if steps:
        words += f"; and {plural(len(steps), 'step')} of {join_with_and([*dict.fromkeys(steps)])}"
    remarked = [result for result in measured if result.warnings]
    sentences = [f"{len(remarked)} with remarks, such as: {remarked[0].warnings[0]}."] if remarked else []
    if excused:
        disturbed = plural(excused, "trial")
        sentences.insert(0, f"Other programs disturbed {disturbed}, which {SWITCH}=report let decide nothing.")
    return Badge(state, f"{plural(len(measured), 'trial')}: {words}", " ".join(sentences))


def _unsaid_sentences(run: StoredRun) -> tuple[str, ...]:
    """What a reader might take from the figures though they do not show it: of their order, and of their setting."""
    measured = _trials_asked_for(run)
    if not measured:
        return ()
    cuts = run.attestations
    trials = [result for result in measured if isinstance(result, MeasuredResult)]
    order = []
    if cuts:
        lost = any(finding.refuted or any(cut.losing_cuts for cut in finding.attestations) for finding in run.findings)
        order.append(
            "What these cuts broke says nothing of other settings, and not how often that would happen."
            if lost
            else "Cuts that lost nothing are no proof that none ever will, nor one for other settings."
        )
    order += [_order_unsaid(trials or measured)] if trials or not cuts else []
    setting = _setting_unsaid([result.spec for result in measured], cut=any(cut.means is Means.POWER for cut in cuts))
    return *order, capitalized(setting)


def _order_unsaid(measured: Sequence[TrialResult]) -> str:
    """What repeats leave open, by load: points and rates are no repeats, nor are INVALID trials."""
    usable = [result for result in measured if result.validity is not Validity.INVALID]
    subject = "this order" if len({result.spec.system for result in usable}) > 1 else "these figures"
    repeated = grouped(
        ((spec.experiment, spec.system, point_words(spec.point)), spec.block)
        for spec in (result.spec for result in usable or measured)
    )
    times = {len(set(numbers)) for numbers in repeated.values()}
    if min(times) > 1:
        return f"Repeated within one run: another day, machine or load may not give {subject}."
    if max(times) > 1:
        return (
            "Some of these were measured once only, and all within one run: another trial, day or machine may not give "
            f"{subject}."
        )
    length = duration(max(result.measured_s for result in measured))
    if all(result.spec.exploratory for result in measured):
        return f"Found once, in trials of at most {length}: another hour or machine may not give {subject}."
    return f"One trial each, of at most {length}: another trial, hour or machine may not give {subject}."


def _setting_unsaid(specs: Sequence[TrialSpec], *, cut: bool) -> str:
    """What the setting of these trials leaves open. `cut`: whether the power was cut."""
    if all(spec.serverless for spec in specs):
        return "There were no servers: these are figures of the load generator alone, and of no messaging system."
    attached = sorted({spec.system for spec in specs if spec.attached})
    if attached:
        started = [spec for spec in specs if not spec.attached and not spec.serverless]
        of_others = (
            f"{f'Servers of {join_with_and(attached)}' if started else 'Servers'} that others run: what else they did "
            "at the same time is not known, and other settings may give other figures."
        )
        return f"{of_others} Of the rest: {_setting_unsaid(started, cut=cut)}" if started else of_others
    if any(spec.apart for spec in specs):
        load_hosts = max(spec.load_hosts for spec in specs)
        clients = f"on {plural(load_hosts, 'other')}" if load_hosts > 1 else "on another"
        return f"Servers on hosts of their own, the clients {clients}: not what other hosts or networks would give."
    numbers = sorted({spec.nodes for spec in specs})
    nodes = "one node" if numbers == [1] else f"{' or '.join(map(str, numbers))} nodes"
    setting = f"{nodes} of each system on one machine with the clients: nothing about hosts of their own"
    return setting + ("." if cut else ", and not that the level survives a power cut, unless the badge says attested.")

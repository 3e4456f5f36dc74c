"""Figures of one run against those of another: matched, refused where durability differs, judged. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidegauge.comparison.compared_trials import (
    Matched,
    match_compared_trials,
    only_in,
    paired_systems,
    sort_compared_trials,
)
from tidegauge.comparison.differences import (
    LETTERS,
    NOT_THERE,
    Difference,
    DisclosedRun,
    Unrecorded,
    differences_of_runs,
    host_differences,
    settings_digest,
    unrecorded_facts,
)
from tidegauge.comparison.within import Ratio, by_question, ratios_of, rest_on_doubt
from tidegauge.errors import UserError
from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadResult, MeasuredResult, TrialResult, Validity, point_words
from tidegauge.model.variant import SameWithin
from tidegauge.numbers import count, join_with_and, of_all, plural
from tidegauge.plain import grouped
from tidegauge.published.across import runs_together
from tidegauge.published.examine import Choice, examine, report_named
from tidegauge.published.observe import ExaminedRun
from tidegauge.published.verdict import ClaimOutcome, ClaimVerdict, PublishedOutcome
from tidegauge.statistics.figures import Shown, figures_compared, figures_found, is_all_accounted_for
from tidegauge.statistics.intervals import NOISE_THRESHOLD
from tidegauge.store.read import StoredRun


class UnequalRunsError(UserError):
    """Runs at different durability levels, or at one that nobody knows, and nobody has allowed to compare them."""

    def __init__(self, unequal: Sequence[str]) -> None:
        lines = "\n".join(f"  - {sentence}" for sentence in unequal)
        super().__init__(
            f"These runs are not known to be at the same durability level:\n{lines}",
            "Compare runs of one level, or allow it with --allow-unequal: every output is then marked UNEQUAL.",
        )
        self.details = {"unequal": list(unequal)}


@dataclass(frozen=True)
class ComparedPair:
    """A system of one experiment in two runs.

    Attributes:
        remarks: what keeps the two from being the same question, and messages lost.
        unequal: why they are on unequal terms; "" if they are not.
    """

    experiment: str
    where: str
    run: str
    system: str
    baseline_run: str
    baseline: str
    results: tuple[TrialResult, ...]
    baseline_results: tuple[TrialResult, ...]
    ratios: tuple[Ratio, ...]
    remarks: tuple[str, ...]
    unequal: str = ""

    @property
    def forms(self) -> tuple[str, str]:
        """The forms in which the system and its baseline give their durability level, of systems that have several."""
        first, second = self.results[:1], self.baseline_results[:1]
        return "".join(result.spec.form for result in first), "".join(result.spec.form for result in second)


@dataclass(frozen=True)
class RunComparison:
    """Runs compared. `runs` by letter, the first is the baseline.

    `settings_digests`: of each run, by system, equal where all settings in force are.
    """

    runs: tuple[tuple[str, StoredRun], ...]
    differences: tuple[Difference, ...]
    pairs: tuple[ComparedPair, ...]
    unmatched: tuple[str, ...]
    unreadable: tuple[str, ...]
    noise: float
    settings_digests: tuple[Mapping[str, str], ...]
    unequal: tuple[str, ...] = ()
    unrecorded: tuple[Unrecorded, ...] = ()
    same_within: SameWithin | None = None


@dataclass(frozen=True)
class _Margin:
    """By what differences are judged, as `ratios_of` takes it."""

    noise: float
    same_within: SameWithin | None


def compare_runs(
    disclosed: Sequence[DisclosedRun],
    allow_unequal: bool,
    noise: float = NOISE_THRESHOLD,
    same_within: SameWithin | None = None,
) -> RunComparison:
    """Every further run against the first.

    Args:
        noise: the share below which a difference is treated as noise.
        same_within: the margin of the same that judges instead; None = `noise` does.

    Raises:
        UserError: nothing of them belongs together.
        UnequalRunsError: levels differ, and `allow_unequal` is not given.
    """
    runs = tuple((LETTERS[place], each.run) for place, each in enumerate(disclosed))
    (base_letter, base), *others = runs
    margin = _Margin(noise, same_within)
    pairs: list[ComparedPair] = []
    unmatched: list[str] = []
    for letter, run in others:
        letters = (base_letter, letter)
        matched, alone = match_compared_trials(
            sort_compared_trials(base.results), sort_compared_trials(run.results), letters
        )
        for matching in matched:
            pairs += [_pair_of_systems(matching, names, letters, margin) for names in matching.systems]
        pairs += _pairs_of_findings(base, run, letters, margin)
        unmatched += [*alone, *_findings_alone(base, run, letters), *_questions_undecided(base, run, letters)]
    if not pairs:
        why = "; ".join(unmatched) or "neither has a figure that is compared"
        raise UserError(
            f"These runs have nothing in common to compare: {why}.",
            "Compare runs of the same experiments on the same systems; versions and settings may differ.",
        )
    unequal = (*dict.fromkeys(pair.unequal for pair in pairs if pair.unequal), *_unequal_themselves(runs))
    if unequal and not allow_unequal:
        raise UnequalRunsError(unequal)
    return RunComparison(
        runs=runs,
        differences=tuple(differences_of_runs(disclosed)),
        unrecorded=tuple(unrecorded_facts(disclosed)),
        pairs=tuple(pairs),
        unmatched=tuple(dict.fromkeys(unmatched)),
        unreadable=tuple(f"{letter}: {trial.problem}" for letter, run in runs for trial in run.trials if trial.problem),
        noise=noise,
        settings_digests=tuple(
            {system: settings_digest(of_system) for system, of_system in sorted(each.disclosed.items())}
            for each in disclosed
        ),
        unequal=unequal,
        same_within=same_within,
    )


def _unequal_themselves(runs: Sequence[tuple[str, StoredRun]]) -> list[str]:
    return [
        f"{letter} is an unequal comparison itself ({', '.join(tilt.rule for tilt in run.terms.unequal)})"
        for letter, run in runs
        if any(tilt.rule == "level" for tilt in run.terms.unequal)
    ]


def _pair_of_systems(
    matched: Matched, names: tuple[str, str], letters: tuple[str, str], margin: _Margin
) -> ComparedPair:
    base, other = matched.base.of_system(names[0]), matched.other.of_system(names[1])
    usable = matched.base.usable(names[0]), matched.other.usable(names[1])
    doubtful = any(result.validity is Validity.DOUBTFUL for side in usable for result in side)
    shown = (
        _system_in_run(matched.base.label(names[0]), letters[0]),
        _system_in_run(matched.other.label(names[1]), letters[1]),
    )
    figures = figures_compared(Shown.ACROSS, closed_loop=matched.base.closed_loop)
    sides = (shown[1], usable[1]), (shown[0], usable[0])
    ratios = ratios_of(matched.base.experiment, figures, *sides, doubtful=doubtful, paired=False, **vars(margin))
    compared_sides = (letters[1], names[1], letters[0], names[0], other, base)
    remarks = tuple(_remarks_on_pair(matched, base, other, letters))
    result = matched.base.results[0]
    rate, point = result.offered_msgs_per_s, point_words(result.spec.point)
    unscheduled = "closed loop" if matched.base.loads else "reading alone"
    parts = [unscheduled if rate is None else f"{count(rate)} msg/s", point]
    where, unequal = ", ".join(part for part in parts if part), _unequal_levels(base, other, shown)
    return ComparedPair(matched.base.experiment, where, *compared_sides, tuple(ratios), remarks, unequal)


def _system_in_run(system: str, letter: str) -> str:
    return f"{system} ({letter})"


def _remarks_on_pair(
    matched: Matched, base: Sequence[MeasuredResult], other: Sequence[MeasuredResult], letters: tuple[str, str]
) -> list[str]:
    """What keeps the two from being the same question, and what a reader must know of either side."""
    first, second = matched.base.results[0], matched.other.results[0]
    remarks = []
    for subject, ours, theirs in (
        ("offered rate", first.offered_msgs_per_s, second.offered_msgs_per_s),
        ("measured time", first.spec.measure_s, second.spec.measure_s),
        ("nodes", first.spec.nodes, second.spec.nodes),
    ):
        if ours != theirs and ours is not None and theirs is not None:
            remarks.append(f"{subject} differs: {ours:,.12g} in {letters[0]}, {theirs:,.12g} in {letters[1]}")
    if first.spec.workload.neutral() != second.spec.workload.neutral():
        remarks.append("the workload differs (see what differs of the campaigns)")
    for letter, results in zip(letters, (base, other), strict=True):
        lost = sum(result.lost for result in results)
        invalid = sum(result.validity is Validity.INVALID for result in results)
        unknown = [result for result in results if isinstance(result, LoadResult) and not is_all_accounted_for(result)]
        were = "was" if lost == 1 else "were"
        remarks += [f"{plural(lost, 'acknowledged message')} {were} lost in {letter}"] if lost else []
        if unknown:
            others = "more" if any(result.lost for result in unknown) else "messages"
            remarks.append(f"whether {others} were lost in {letter} is not known of {plural(len(unknown), 'trial')}")
        which, are = of_all(invalid, len(results), "trial"), "is" if invalid == 1 else "are"
        remarks += [f"{which} of {letter} {are} INVALID and left out"] if invalid else []
    return remarks


def _unequal_levels(base: Sequence[TrialResult], other: Sequence[TrialResult], shown: tuple[str, str]) -> str:
    """ "" or how the levels that were found differ. One that is not known is not known to be equal."""
    levels = [
        sorted({result.level.level for result in side}, key=lambda level: level or 0) or [None]
        for side in (base, other)
    ]
    if levels[0] == levels[1] and len(levels[0]) == 1 and levels[0][0] is not None:
        return ""
    words = [
        f"{name} at {' and '.join('an unknown level' if level is None else f'level {level}' for level in of_side)}"
        for name, of_side in zip(shown, levels, strict=True)
    ]
    return ", ".join(words)


def _pairs_of_findings(
    base: StoredRun, other: StoredRun, letters: tuple[str, str], margin: _Margin
) -> list[ComparedPair]:
    """Figures that experiments found, by experiment, point and system."""
    pairs = []
    by_others = by_question(other.findings)
    for (experiment, point), ours in by_question(base.findings).items():
        theirs = by_others.get((experiment, point), [])
        systems, _, _ = paired_systems(_systems_of(ours), _systems_of(theirs))
        for names in systems:
            shown = (_system_in_run(names[0], letters[0]), _system_in_run(names[1], letters[1]))
            sides = [
                [finding for finding in findings if finding.system == name and finding.decided]
                for findings, name in zip((ours, theirs), names, strict=True)
            ]
            doubtful = any(
                rest_on_doubt(findings, run.results) for findings, run in zip(sides, (base, other), strict=True)
            )
            below, above = zip(shown, sides, strict=True)
            figures = figures_found(Shown.ACROSS)
            ratios = ratios_of(experiment, figures, above, below, doubtful=doubtful, paired=False, **vars(margin))
            made_of = (
                _trials_of_finding(base, experiment, names[0], point),
                _trials_of_finding(other, experiment, names[1], point),
            )
            if ratios:
                compared_sides = (letters[1], names[1], letters[0], names[0], made_of[1], made_of[0])
                unequal = _unequal_levels(*made_of, shown)
                pairs.append(ComparedPair(experiment, point, *compared_sides, tuple(ratios), (), unequal))
    return pairs


def _findings_alone(base: StoredRun, other: StoredRun, letters: tuple[str, str]) -> list[str]:
    """What was found at a point, or of a system, that the other run has nothing of; for tables `match_blocks` does."""
    specs = [compared.results[0].spec for run in (base, other) for compared in sort_compared_trials(run.results)]
    in_tables = {(spec.experiment, point_words(spec.point)) for spec in specs}
    ours, theirs = by_question(base.findings), by_question(other.findings)
    alone = []
    for letter, first, second in ((letters[0], ours, theirs), (letters[1], theirs, ours)):
        for place in (place for place in first if place not in in_tables):
            place_words = " at ".join(part for part in place if part)
            if place in second:
                _, systems_left, _ = paired_systems(_systems_of(first[place]), _systems_of(second[place]))
                alone += [only_in(letter, f"{system} in {place_words}") for system in systems_left]
            else:
                alone.append(only_in(letter, place_words))
    return alone


def _questions_undecided(base: StoredRun, other: StoredRun, letters: tuple[str, str]) -> list[str]:
    """What both runs asked and one of them, or neither, could answer."""
    by_others = by_question(other.findings)
    sentences = []
    for (experiment, point), asked in by_question(base.findings).items():
        asked_too = by_others.get((experiment, point), [])
        where = " at ".join(part for part in (experiment, point) if part)
        for names in paired_systems(_systems_of(asked), _systems_of(asked_too))[0]:
            missing = [
                letter
                for letter, findings, name in zip(letters, (asked, asked_too), names, strict=True)
                if not any(finding.decided for finding in findings if finding.system == name)
            ]
            sentences += [f"{names[0]} in {where}: not decided in {join_with_and(missing)}"] if missing else []
    return sentences


def _systems_of(findings: Sequence[Finding]) -> set[str]:
    return {finding.system for finding in findings}


def _trials_of_finding(run: StoredRun, experiment: str, system: str, point: str) -> tuple[TrialResult, ...]:
    """The trials that a finding was made of."""
    return tuple(result for result in run.results if result.spec.question == (experiment, system, point))


SAME_KIND = ("cpu model", "cpus", "memory")
"""What must be the same of the hosts of runs whose figures are put into one ratio.

Another host name makes a verdict DOUBTFUL instead: containers on one machine have a new one each time.
"""


def examined_together(
    choices: Sequence[Choice], runs: Sequence[StoredRun], measured: Sequence[ExaminedRun]
) -> PublishedOutcome:
    """The verdicts from the figures of several runs, whose `measured` is what claims see of each.

    Raises `UserError` for runs of different reports, scales, or kinds of machine.
    """
    _refuse_different("reports", runs, [choice.report for choice in choices])
    _refuse_different("scales", runs, [choice.scale for choice in choices])
    doubts = _doubts_around_runs(runs)
    claims = tuple(dict.fromkeys(claim for choice in choices for claim in choice.claims))
    differs = tuple(sentence for choice in choices for sentence in choice.differs)
    choice = replace(choices[0], claims=claims, differs=differs)
    report = report_named(choice.report)
    by_campaign: dict[str, list[ClaimOutcome]] = {claim: [] for claim in claims}
    for places in grouped((run.name, place) for place, run in enumerate(runs)).values():
        runs_of_campaign = runs_together({LETTERS[place]: measured[place] for place in places})
        claims_of_campaign = dict.fromkeys(claim for place in places for claim in choices[place].claims)
        for claim in examine(report, replace(choice, claims=tuple(claims_of_campaign)), runs_of_campaign).claims:
            by_campaign[claim.claim].append(claim)
    decided = {name: outcome for name, of_claim in by_campaign.items() if (outcome := _worst_decided(of_claim))}
    undecided = tuple(name for name in claims if name not in decided)
    together = runs_together(dict(zip(LETTERS, measured, strict=False)))
    by_all = examine(report, replace(choice, claims=undecided), together)
    open_claims = {claim.claim: _or_why_open(claim, by_campaign[claim.claim]) for claim in by_all.claims}
    return replace(by_all, claims=tuple((decided | open_claims)[name] for name in claims), doubts=doubts)


def _worst_decided(by_campaign: Sequence[ClaimOutcome]) -> ClaimOutcome | None:
    """The verdict on a claim by the runs of its own campaign; None where these decide nothing.

    Other campaigns of a report measure the same place with other settings, which would only hide an answer. Where
    several campaigns examine it, the one that is worst for the claim counts.
    """
    decided = [outcome for outcome in by_campaign if outcome.verdict is not ClaimVerdict.NOT_DECIDED]
    return min(decided, key=lambda outcome: _FROM_WORST.index(outcome.verdict), default=None)


def _or_why_open(by_all: ClaimOutcome, by_campaign: Sequence[ClaimOutcome]) -> ClaimOutcome:
    """The verdict by all runs, or why nothing is decided: by what lacks no figure, first by its own campaign."""
    if by_all.verdict is not ClaimVerdict.NOT_DECIDED:
        return by_all
    return next((outcome for outcome in (*by_campaign, by_all) if not outcome.missing), by_campaign[0])


_FROM_WORST = (ClaimVerdict.CONTRADICTED, ClaimVerdict.DIRECTION, ClaimVerdict.CONFIRMED)


def _refuse_different(subject: str, runs: Sequence[StoredRun], values: Sequence[str]) -> None:
    if len(set(values)) > 1:
        each = "; ".join(f"{run.path.name}: {value}" for run, value in zip(runs, values, strict=True))
        raise UserError(f"The runs examine different {subject}: {each}.", f"Name runs of one of the {subject}.")


def _doubts_around_runs(runs: Sequence[StoredRun]) -> tuple[str, ...]:
    """What is not the same around the runs, in sentences. Raises `UserError` for machines of different kinds."""
    doubts = []
    unknown = [letter for letter, run in zip(LETTERS, runs, strict=False) if not run.environment.get("host")]
    for difference in host_differences(runs):
        differs = len({*difference.values} - {NOT_THERE}) > 1
        if differs and difference.what in SAME_KIND:
            raise UserError(
                f"The runs were made on machines of different kinds: {difference.words}.",
                "A ratio between different hosts compares the hosts, not the systems. "
                "Name runs of the same kind of machine.",
            )
        # What is not known of a host that was not recorded differs from nothing.
        if differs or not unknown:
            doubts.append(f"the host differs: {difference.words}")
    if unknown:
        doubts.append(f"the host is not recorded in {', '.join(unknown)}")
    silent = [letter for letter, run in zip(LETTERS, runs, strict=False) if not run.meaning]
    if silent:
        doubts.append(f"memory and settings of the servers are not recorded in {', '.join(silent)}")
    if any(spec.attached for run in runs for spec in run.planned):
        doubts.append("clusters that others run were attached: whether their hosts were the same is not known here")
    return tuple(doubts)

"""Figures over many runs: which of them are one series, and from which run on they are others. Pure.

Runs are put into one part of a history if they are of one campaign by name and asked the same question under the same
conditions: experiment, point of a sweep, system by name and form, rate, workload, times, nodes, faults, the durability
level that was found, and the kind of machine. What differs in any of these is another part, which says so. A rate that
is a share of what each run found is one question, though its value moves. Versions, settings and whatever else was
recorded may differ within a part, and are listed by the run that brought them.

INVALID trials are no part of any figure. DOUBTFUL ones are, with their doubts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from tidegauge.comparison.across import SAME_KIND
from tidegauge.comparison.compared_trials import sort_compared_trials
from tidegauge.comparison.differences import (
    NOT_THERE,
    Difference,
    DisclosedRun,
    Facts,
    differences_of_facts,
    facts_of_run,
    facts_of_trials,
)
from tidegauge.comparison.regression import OFFERED_SHARE_MAX
from tidegauge.model.finding import Finding
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import LoadSpec, MeasuredResult, ReadSpec, Validity, family, point_words, with_form
from tidegauge.model.workload import Arrival
from tidegauge.numbers import count
from tidegauge.plain import differing, flatten, grouped, plain_value
from tidegauge.statistics.change_points import VALUES_MIN, find_change_points
from tidegauge.statistics.figures import (
    Figure,
    FindingFigure,
    Shown,
    figures_compared,
    figures_found,
)
from tidegauge.statistics.intervals import Comparison, by_block, compare_unpaired, geometric_mean
from tidegauge.store.details import Disclosed
from tidegauge.store.read import StoredRun, StoredTrial

NO_TAGS = "none"


class Untested(StrEnum):
    """Why changes of a figure were not looked for."""

    FEW_RUNS = "few runs"
    OTHER_RATES = "other rates"
    """Times at other rates are not compared, and the runs found other rates."""


@dataclass(frozen=True)
class HistoryEntry:
    """One run in a part of a history.

    Attributes:
        system: with its version.
        trials: that count; `invalid`: how many do not, being INVALID.
        doubtful: whether one of those that count is DOUBTFUL; `doubts`: why, each once.
        disturbances: what others disturbed of them, each once.
        rates_msgs_per_s: that were offered; () in a closed loop.
        facts: that were recorded of it.
        differences: from the run before it in the same part, of all facts but what other programs used.
    """

    run: StoredRun
    system: str
    trials: int
    invalid: int
    doubtful: bool
    doubts: tuple[str, ...]
    disturbances: tuple[str, ...]
    rates_msgs_per_s: tuple[float, ...]
    facts: Facts
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class FigureChange:
    """A change of a figure.

    Attributes:
        place: of the first run since, among those that have the figure.
        before, since: places from the change before until this one, and from this one until the next.
        comparison: the figure since over that before, a run counting as a block.
        differences: of everything that was recorded, between the last run before and the first since.
    """

    place: int
    before: range
    since: range
    comparison: Comparison
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class FigureHistory:
    """A figure over the runs of a part.

    Attributes:
        entries: of the runs that have it.
        values: of each of these by block.
        untested: why changes were not looked for; None if they were.
    """

    figure: Figure | FindingFigure
    entries: tuple[HistoryEntry, ...]
    values: tuple[tuple[float, ...], ...]
    changes: tuple[FigureChange, ...] = ()
    untested: Untested | None = None

    @property
    def means(self) -> list[float]:
        """The figure of each run: the geometric mean over its blocks."""
        return [geometric_mean(values) for values in self.values]


@dataclass(frozen=True)
class HistoryPart:
    """Runs that asked the same question under the same conditions, oldest first.

    Attributes:
        system: by name and form, without a version.
        conditions: by their names, all the same in its runs.
        is_found: whether its figures are what the experiment found, and not those of its trials.
        apart: the conditions by which it differs from other parts about the same system and experiment.
        left_out: runs whose trials of it are all INVALID, whatever their others are.
    """

    campaign: str
    experiment: str
    system: str
    is_found: bool
    conditions: Mapping[str, str]
    point: Mapping[str, str]
    entries: tuple[HistoryEntry, ...]
    figures: tuple[FigureHistory, ...]
    left_out: tuple[StoredRun, ...] = ()
    apart: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunHistory:
    """All parts. `without_figures`: runs that have nothing that can be compared, such as one whose search is open."""

    parts: tuple[HistoryPart, ...]
    without_figures: tuple[StoredRun, ...]

    @property
    def repeated_parts(self) -> tuple[HistoryPart, ...]:
        """The parts of several runs: of one alone there is no history."""
        return tuple(part for part in self.parts if len(part.entries) + len(part.left_out) > 1)

    @property
    def figures_tested(self) -> int:
        """In how many figures changes were looked for."""
        return sum(figure.untested is None for part in self.parts for figure in part.figures)


@dataclass(frozen=True)
class _Sample:
    """What one run has of one part. `findings` () = the figures are those of the trials themselves."""

    run: StoredRun
    experiment: str
    system: str
    conditions: Mapping[str, str]
    results: tuple[MeasuredResult, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def usable(self) -> tuple[MeasuredResult, ...]:
        """Trials that are not INVALID; of what is decided all, since INVALID says that a trial's latency is none."""
        if self.findings:
            return self.results
        return tuple(result for result in self.results if result.validity is not Validity.INVALID)

    @property
    def measured(self) -> Sequence[Any]:
        """What its figures are of: findings, or trials."""
        return self.findings or self.usable

    @property
    def figures(self) -> Sequence[Figure | FindingFigure]:
        """The figures that runs are compared by."""
        if self.findings:
            return figures_found(Shown.ACROSS)
        closed_loop = self.results[0].spec.workload.arrival is Arrival.CLOSED_LOOP
        return figures_compared(Shown.ACROSS, closed_loop=closed_loop)


def history_of_runs(runs: Sequence[StoredRun], disclose: Callable[[StoredTrial], Disclosed]) -> RunHistory:
    """The history of runs, which are given oldest first. `disclose` reads what was in force in a trial."""
    facts_by_run = {run.path: facts_of_run(run) for run in runs}
    samples = [sample for run in runs for sample in _samples_of_run(run, facts_by_run[run.path]["host"])]
    side_by_side = {
        (sample.run.name, family(sample.system))
        for sample in samples
        if len({system for system in sample.run.systems if family(system) == family(sample.system)}) > 1
    }
    by_part: dict[Any, list[_Sample]] = {}
    for sample in samples:
        with_version = (sample.run.name, family(sample.system)) in side_by_side
        name = with_form(sample.system if with_version else family(sample.system), sample.results[0].spec.form)
        question = sample.run.name, sample.experiment, name
        by_part.setdefault((question, bool(sample.findings), tuple(sample.conditions.items())), []).append(sample)
    parts = []
    for (question, *_), samples_of_part in by_part.items():
        entries = _entries_of_part(samples_of_part, facts_by_run, disclose)
        parts.append(_part_of_samples(question, samples_of_part, entries))
    siblings = grouped(
        ((part.campaign, part.experiment, part.system, part.is_found, point_words(part.point)), part) for part in parts
    )
    told_apart = []
    for group in siblings.values():
        names = [name for name, _ in differing([part.conditions for part in group], NOT_THERE)]
        told_apart += [
            replace(part, apart={name: part.conditions.get(name, NOT_THERE) for name in names}) for part in group
        ]
    measured = {sample.run.path for sample in samples}
    return RunHistory(tuple(told_apart), tuple(run for run in runs if run.path not in measured))


def _samples_of_run(run: StoredRun, machine: Mapping[str, str]) -> Iterator[_Sample]:
    """What a run measured, part by part; of repeats whose rates are shares of what each found, one."""
    tables = (
        ((compared.experiment, system, tuple(_conditions_of_result(result, machine).items())), result)
        for compared in sort_compared_trials(run.results)
        for system in compared.systems
        for result in compared.of_system(system)
    )
    for (experiment, system, conditions), results in grouped(tables).items():
        yield _Sample(run, experiment, system, dict(conditions), tuple(results))
    decided = (
        ((finding.experiment, finding.system, point_words(finding.point)), finding)
        for finding in run.findings
        if finding.decided
    )
    for question, findings in grouped(decided).items():
        steps: tuple[MeasuredResult, ...] = tuple(result for result in run.measured if result.spec.question == question)
        if steps and any(figure.value_in(one) for figure in figures_found(Shown.ACROSS) for one in findings):
            experiment, system, _ = question
            published = {finding.published_trial_id for finding in findings}
            shown = tuple(result for result in steps if result.spec.trial_id in published) or steps
            # What a search varies is no condition of its answer.
            first, *others = (_conditions_of_result(result, machine) for result in steps)
            common = {
                name: value
                for name, value in first.items()
                if name != RATE and all(other.get(name) == value for other in others)
            }
            yield _Sample(run, experiment, system, common, shown, tuple(findings))


RATE = "rate"
"""The condition that says which load was offered."""
_NO_CONDITIONS = (
    *("trial_id", "experiment", "system", "block", "seed", "exploratory", "sending"),
    *("rate_rule", "msgs_per_s", "schedule", "workload.producer_overrides", "workload.consumer_overrides"),
)
"""Of what a trial is asked: what tells trials of one question from each other, and what `rate` says."""


def _conditions_of_result(result: MeasuredResult, machine: Mapping[str, str]) -> dict[str, str]:
    """What must be the same of runs whose figures are one series, in words, by what it is."""
    spec = result.spec
    level = "not known" if result.level.level is None else str(result.level.level)
    asked = {path: str(value) for path, value in flatten(plain_value(spec)) if not path.startswith(_NO_CONDITIONS)}
    return {
        RATE: _rate_words(result),
        "level found": level,
        **{name: machine.get(name, NOT_THERE) for name in SAME_KIND},
        **asked,
    }


def _rate_words(result: MeasuredResult) -> str:
    if isinstance(result.spec, ReadSpec):
        return "reading alone"
    if result.spec.workload.arrival is Arrival.CLOSED_LOOP:
        return "closed loop"
    scheduled = isinstance(result.spec, LoadSpec) and result.spec.schedule is not None
    if result.spec.rate_rule.is_share or scheduled or result.offered_msgs_per_s is None:
        return str(result.spec.rate_rule)
    return f"{count(result.offered_msgs_per_s)} msg/s"


def _entries_of_part(
    samples: Sequence[_Sample], facts_by_run: Mapping[Path, Facts], disclose: Callable[[StoredTrial], Disclosed]
) -> list[HistoryEntry | None]:
    """An entry for each sample, None for one that has no usable trial."""
    entries: list[HistoryEntry | None] = []
    before: HistoryEntry | None = None
    for sample in samples:
        if not sample.usable:
            entries.append(None)
            continue
        entry = _entry_of_sample(sample, facts_by_run[sample.run.path], disclose)
        if before is not None:
            facts = [{kind: side.facts[kind] for kind in side.facts if kind != "others"} for side in (before, entry)]
            entry = replace(entry, differences=tuple(differences_of_facts(facts)))
        entries.append(entry)
        before = entry
    return entries


def _entry_of_sample(sample: _Sample, facts: Facts, disclose: Callable[[StoredTrial], Disclosed]) -> HistoryEntry:
    usable, run = sample.usable, sample.run
    names = {result.spec.trial_id for result in usable}
    trials = tuple(trial for trial in run.trials if trial.trial_id in names)
    of_trials = DisclosedRun(replace(run, trials=trials), {sample.system: disclose(trials[-1])})
    doubts = [
        str(reason)
        for result in usable
        if result.validity is Validity.DOUBTFUL
        for reason in result.reasons
        if reason.kind is not ReasonKind.DISTURBED
    ]
    disturbances = [disturbance.words for result in usable for disturbance in result.disturbances]
    rates = sorted({result.offered_msgs_per_s for result in usable if result.offered_msgs_per_s})
    return HistoryEntry(
        run=run,
        system=sample.system,
        trials=len(usable),
        invalid=len(sample.results) - len(usable),
        doubtful=any(result.validity is Validity.DOUBTFUL for result in usable),
        doubts=tuple(dict.fromkeys(doubts)),
        disturbances=tuple(dict.fromkeys(disturbances)),
        rates_msgs_per_s=() if sample.findings else tuple(rates),
        facts={**facts, **facts_of_trials(of_trials), "labels": {"tags": ", ".join(run.labels.tags) or NO_TAGS}},
    )


def _part_of_samples(
    question: tuple[str, str, str], samples: Sequence[_Sample], entries: Sequence[HistoryEntry | None]
) -> HistoryPart:
    figures = []
    for figure in samples[0].figures:
        rows = []
        for sample, entry in zip(samples, entries, strict=True):
            values = tuple(by_block(sample.measured, figure.value_in).values()) if entry is not None else ()
            if entry is not None and values:
                rows.append((entry, values, sample))
        if rows:
            of_entries, values_by_entry, of_samples = zip(*rows, strict=True)
            measured = [one for sample in of_samples for one in sample.measured]
            resolution = figure.resolution_in(measured) if isinstance(figure, FindingFigure) else 0.0
            figures.append(_with_changes(FigureHistory(figure, of_entries, values_by_entry), resolution))
    return HistoryPart(
        *question,
        is_found=bool(samples[0].findings),
        point=samples[0].results[0].spec.point,
        conditions=samples[0].conditions,
        entries=tuple(entry for entry in entries if entry is not None),
        figures=tuple(figures),
        left_out=tuple(sample.run for sample, entry in zip(samples, entries, strict=True) if entry is None),
    )


def _with_changes(history: FigureHistory, resolution: float) -> FigureHistory:
    """A figure with its changes, or with why they were not looked for. `resolution`: see `statistics.intervals`."""
    means, entries = history.means, history.entries
    if len(means) < VALUES_MIN:
        return replace(history, untested=Untested.FEW_RUNS)
    rates = [rate for entry in entries for rate in entry.rates_msgs_per_s]
    scheduled = isinstance(history.figure, Figure) and history.figure.scheduled
    if scheduled and rates and max(rates) > min(rates) * (1 + OFFERED_SHARE_MAX):
        return replace(history, untested=Untested.OTHER_RATES)
    # Means of the same values over more or fewer trials differ by their last digits.
    places = find_change_points([round(math.log(mean), 9) for mean in means])
    ends = [0, *places, len(means)]
    changes = []
    for begin, place, end in zip(ends, ends[1:], ends[2:], strict=False):
        better = history.figure.higher_is_better
        comparison = compare_unpaired(means[place:end], means[begin:place], better, resolution=resolution)
        if comparison is not None:
            differences = tuple(differences_of_facts([entry.facts for entry in entries[place - 1 : place + 1]]))
            changes.append(FigureChange(place, range(begin, place), range(place, end), comparison, differences))
    return replace(history, changes=tuple(changes))

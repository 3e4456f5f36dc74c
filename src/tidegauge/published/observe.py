"""The figures of a run that a claim asks for, or why there are none. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegauge.config.source import keys_of
from tidegauge.config.workload import WorkloadFields
from tidegauge.experiments.chasing import reads_words
from tidegauge.fairness import ComparedSystem
from tidegauge.model.attest import AttestOutcome
from tidegauge.model.events import Note
from tidegauge.model.finding import Finding
from tidegauge.model.trial import (
    AttestResult,
    AttestSpec,
    CatchUp,
    LoadResult,
    MeasuredResult,
    TrialSpec,
    Validity,
    family,
    point_words,
)
from tidegauge.model.use import ROUND_TRIPS, Limiting, Resource
from tidegauge.model.workload import Arrival
from tidegauge.plain import grouped
from tidegauge.published.incident import incidents_of_plan
from tidegauge.published.model import MAX_THROUGHPUT, PEAK, Place, PublishedFigure
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES, SUSTAINABLE

KEPT_UP_SHARE_MIN = 0.98
"""Below this share of the offered rate latencies depend on how long a trial lasts."""
BACKLOG_SHARE_MAX = 0.05
"""Consumers of a peak that lag by more than this share of what was acknowledged could not have gone on so."""
_WHY_NONE = "too few samples, or messages without an outcome that would decide it"
_IN_TRIALS = {"durability", "nodes", *keys_of(WorkloadFields)}
"""Axes of a sweep whose values a trial has in fields of its own."""


@dataclass(frozen=True)
class ExaminedRun:
    """A run as claims see it.

    Attributes:
        specs: planned trials and those made instead, in order.
        failures: why trials have no result, by their ids; a report names their logs elsewhere.
        left_out: what the user was shown: which systems were left out and why.
        run_of: the letter of each trial's run, where several runs are examined together; empty for one.
        contenders: how the servers and clients of each trial were set up, by its id, where the run says so.
        unequal_allowed: whether the user allowed systems on unequal terms (in each run).
        as_published: whether nothing was measured, and each trial counts as one that has just what was published.
        attested: what attestations found, their controls among them.
        cut_short: what those found that ended before their last cut, by trial.
    """

    specs: Sequence[TrialSpec]
    results: Sequence[MeasuredResult]
    findings: Sequence[Finding] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[Note] = ()
    run_of: Mapping[str, str] = field(default_factory=dict)
    contenders: Mapping[str, ComparedSystem] = field(default_factory=dict)
    unequal_allowed: bool = False
    as_published: bool = False
    attested: Sequence[AttestResult] = ()
    cut_short: Mapping[str, AttestOutcome] = field(default_factory=dict)


Setting = tuple[str, str]
"""The letter of a run ("" if there is but one), and a point of its sweep in words."""


@dataclass(frozen=True)
class ObservedFigure:
    """A figure by block, why there is none in those blocks that lack it, and why it is DOUBTFUL where it is.

    `resolution`: the share by which it may be off alike in every block. `specs`: of the trials that it is of. `window`:
    the searches and peaks among them that ended at the messages in flight that the load allows itself, with the
    evidence. `limits`: what limited them, as far as that is known.
    `absence`: why there is none, for a list that names the place before it; "" where the problem says it as shortly.
    """

    values: Mapping[int, float]
    problems: tuple[str, ...] = ()
    doubts: Mapping[int, str] = field(default_factory=dict)
    resolution: float = 0.0
    specs: tuple[TrialSpec, ...] = ()
    window: tuple[str, ...] = ()
    limits: frozenset[Resource] = frozenset()
    absence: str = ""

    @property
    def missing(self) -> str:
        """Why there is no figure at all; "" if there is one."""
        return "" if self.values else (self.problems[0] if self.problems else "not measured")


def observe(
    figure: PublishedFigure, place: Place, run: ExaminedRun, preferred: Sequence[Setting] = ()
) -> ObservedFigure:
    """The figure at a place of the run; of several points that measure the same, at the preferred one in each run."""
    fitting = _specs_at_place(figure, place, run)
    if not fitting:
        return _absent_figure(place, figure, run)
    if len({_key_of_repeats(spec) for spec in fitting}) > 1:
        return ObservedFigure({}, (f"several settings of the run fit '{place.words()}'",))
    settings = _distinct_settings(fitting, run)
    chosen: dict[str, Setting] = {}
    for setting in (*(each for each in preferred if each in settings), *settings):
        chosen.setdefault(setting[0], setting)
    fitting = [spec for spec in fitting if _setting_of_spec(spec, run) in chosen.values()]
    if run.as_published:
        return ObservedFigure(dict.fromkeys((spec.block for spec in fitting), 1.0), specs=tuple(fitting))
    if figure.experiment == MAX_THROUGHPUT:
        return _observe_searches(figure, fitting, run)
    return _observe_trials(figure, fitting, run)


def settings_of(figure: PublishedFigure, place: Place, run: ExaminedRun) -> list[Setting]:
    """Where in the runs a figure is measured at a place, in order."""
    return _distinct_settings(_specs_at_place(figure, place, run), run)


def _distinct_settings(specs: Sequence[TrialSpec], run: ExaminedRun) -> list[Setting]:
    return list(dict.fromkeys(_setting_of_spec(spec, run) for spec in specs))


def _setting_of_spec(spec: TrialSpec, run: ExaminedRun) -> Setting:
    return run.run_of.get(spec.trial_id, ""), point_words(spec.point)


def _specs_at_place(figure: PublishedFigure, place: Place, run: ExaminedRun) -> list[TrialSpec]:
    return [spec for spec in run.specs if spec.experiment == figure.experiment and is_at_place(place, spec, run)]


def is_at_place(place: Place, spec: TrialSpec, run: ExaminedRun) -> bool:
    """Whether a trial was made at a place, in everything that the place says."""
    workload = spec.workload
    actual = {
        "system": family(spec.system),
        "form": spec.choice.form,
        "level": spec.choice.level,
        "nodes": spec.nodes,
        "partitions": workload.partitions,
        "subscriptions": workload.subscriptions,
        "producers": workload.producers,
        "consumers": workload.consumers,
        "batch_size": workload.client.batch_bytes_max,
    }

    def agrees(name: str, asked: object) -> bool:
        if name in ("layout", "variant"):
            return asked in spec.point.values()
        if name == "load":
            # The number of a trial's offered rate among those of its experiment, in the campaign's order, from 1.
            rules = dict.fromkeys(trial.rate_rule for trial in run.specs if trial.experiment == spec.experiment)
            return asked == list(rules).index(spec.rate_rule) + 1
        if name == "incident":
            return isinstance(spec, AttestSpec) and asked in incidents_of_plan(spec.attest)
        if name == "form" and has_no_forms(family(spec.system), run):
            return True
        return asked == actual[name]

    return all(agrees(name, asked) for name, asked in place.given().items())


def has_no_forms(system: str, run: ExaminedRun) -> bool:
    """Whether a run has a system, and with it but one way of giving each level."""
    forms = {spec.choice.form for spec in run.specs if family(spec.system) == system}
    return forms == {""}


def _key_of_repeats(spec: TrialSpec) -> tuple[object, ...]:
    """What must be the same for trials to be repeats of one another; of a point what is not in the trial itself.

    The trials of a search are at many rates, the first one in a closed loop.
    """
    searched = spec.experiment == MAX_THROUGHPUT
    workload = replace(spec.workload, arrival=Arrival.CLOSED_LOOP) if searched else spec.workload
    in_trials = _IN_TRIALS - {"arrival"} if searched else _IN_TRIALS
    point = tuple((axis, value) for axis, value in spec.point.items() if axis not in in_trials)
    return spec.system, spec.choice, spec.nodes, repr(workload), point, "" if searched else spec.rate_rule


def _absent_figure(place: Place, figure: PublishedFigure, run: ExaminedRun) -> ObservedFigure:
    """The figure at a place where the run has no trial, with the reason."""
    if place.system and not any(family(spec.system) == place.system for spec in run.specs):
        sentences = [note.text.rstrip(".") for note in run.left_out if note.left_out.startswith(f"{place.system}@")]
        return ObservedFigure({}, tuple(sentences[:1] or [f"{place.system} is missing from the run"]))
    if not any(spec.experiment == figure.experiment for spec in run.specs):
        return ObservedFigure({}, (f"the run has no {figure.experiment}",))
    why = f"the run has no {figure.experiment} at '{place.words()}'"
    return ObservedFigure({}, (why,), absence=f"the run has no {figure.experiment} there")


def _observe_trials(figure: PublishedFigure, fitting: Sequence[TrialSpec], run: ExaminedRun) -> ObservedFigure:
    results = {result.spec.trial_id: result for result in run.results}
    values: dict[int, float] = {}
    doubts: dict[int, str] = {}
    problems, window = [], []
    limits: set[Resource] = set()
    for spec in fitting:
        result = results.get(spec.trial_id)
        if result is None:
            problems.append(f"{spec.trial_id} {why_no_result(spec.trial_id, run)}")
            continue
        if result.validity is Validity.INVALID:
            problems.append(f"{spec.trial_id} is INVALID: {result.reasons[0]}")
            continue
        value = figure.value_in_trial(result)
        if value is None or value <= 0:
            problems.append(f"{spec.trial_id} has no figure for it ({_WHY_NONE}, or it never came so far)")
            continue
        values[spec.block] = value
        doubts |= _doubt_of_result(result)
        if figure.experiment == PEAK and isinstance(result, LoadResult) and result.limiting is not None:
            limits.add(result.limiting.resource)
            window += _limited_by_window(spec.trial_id, result.limiting)
    specs = tuple(spec for spec in fitting if spec.block in values)
    return ObservedFigure(values, tuple(problems), doubts, specs=specs, window=tuple(window), limits=frozenset(limits))


def _limited_by_window(name: str, limiting: Limiting) -> list[str]:
    """The evidence that a rate was limited by the messages in flight that the load allows itself; [] if it was not."""
    return [f"{name}: {limiting.as_near}"] if limiting.resource in ROUND_TRIPS else []


def _doubt_of_result(result: MeasuredResult) -> dict[int, str]:
    """Why a claim can't rest on a result alone, by its block; {} if it can. Stricter than `Validity`."""
    shortcoming = _shortcoming_of_load(result) if isinstance(result, LoadResult) else ""
    why = str(result.reasons[0]) if result.validity is Validity.DOUBTFUL else shortcoming
    return {result.spec.block: f"{result.spec.trial_id}: {why}"} if why else {}


def _shortcoming_of_load(result: LoadResult) -> str:
    """What a valid trial's own figures say against deciding by them; "" for nothing."""
    if result.catch_up is not None:
        return _shortcoming_of_catch_up(result, result.catch_up)
    if not result.steady:
        return "its warm-up was too short to judge, or never steady"
    if result.spec.experiment == PEAK:
        return _shortcoming_of_peak(result)
    offered = result.offered_msgs_per_s
    by_chance = 1 - 3 / math.sqrt(max(1.0, (offered or 0.0) * result.measured_s))
    if offered and result.msgs_per_s < min(KEPT_UP_SHARE_MIN, by_chance) * offered:
        return f"the system did not keep up ({result.msgs_per_s / offered:.0%} of the rate)"
    return ""


def _shortcoming_of_catch_up(result: LoadResult, late: CatchUp) -> str:
    if not late.reads.from_device:
        return reads_words(late.reads)
    if result.spec.late is not None and late.backlog_msgs < result.spec.late.backlog_msgs:
        return f"its backlog was {late.backlog_msgs:,} of {result.spec.late.backlog_msgs:,} messages"
    return ""


def _shortcoming_of_peak(result: LoadResult) -> str:
    backlog = FIGURES["window_end_backlog"].value_in(result)
    acknowledged = result.msgs_per_s * (result.warmup_s + result.measured_s)
    if not backlog or backlog <= BACKLOG_SHARE_MAX * acknowledged:
        return ""
    return f"consumers were {backlog:,.0f} messages behind at its end, so that this rate could not have lasted"


def _observe_searches(figure: PublishedFigure, fitting: Sequence[TrialSpec], run: ExaminedRun) -> ObservedFigure:
    """The figure by what searches found: one finding for all trials of a step, which carry its name."""
    values: dict[int, float] = {}
    doubts: dict[int, str] = {}
    used: list[Finding] = []
    problems, window = [], []
    limits: set[Resource] = set()
    results = {result.spec.trial_id: result for result in run.results}
    findings = {finding.finding_id: finding for finding in run.findings}
    for step_id, (spec, *_) in grouped((spec.step_id, spec) for spec in fitting).items():
        finding = findings.get(step_id)
        if finding is None or not finding.goals:
            failed = next((trial_id for trial_id in run.failures if trial_id.startswith(f"{step_id}-s")), step_id)
            problems.append(f"{step_id} {why_no_result(failed, run)}")
            continue
        goal = finding.goals[0]
        msgs_per_s = goal.sustainable_msgs_per_s
        if not goal.decided or not msgs_per_s:
            problems.append(f"the sustainable rate of {step_id} was not decided: {goal.problem or 'no reason'}")
            continue
        confirmation = results.get(goal.confirmation_trial_id or "")
        value = _figure_of_search(figure, msgs_per_s, spec, confirmation)
        if value is None:
            problems.append(f"the confirmation of {step_id} has no figure for it ({_WHY_NONE})")
            continue
        values[spec.block] = value
        used.append(finding)
        doubts |= _doubt_of_result(confirmation) if confirmation else {}
        limiting = _limiting_of_search(step_id, goal.upper_msgs_per_s, run)
        if limiting is not None:
            limits.add(limiting.resource)
            window += _limited_by_window(step_id, limiting)
    specs = tuple(spec for spec in fitting if spec.block in values)
    resolution = FINDING_FIGURES[SUSTAINABLE].resolution_in(used)
    return ObservedFigure(values, tuple(problems), doubts, resolution, specs, tuple(window), frozenset(limits))


def _limiting_of_search(step_id: str, upper: float | None, run: ExaminedRun) -> Limiting | None:
    """What limited a search: the newest trial at the lowest rate that failed; None where nobody recorded it."""
    loads = [result for result in run.results if isinstance(result, LoadResult)]
    above = [
        load.limiting for load in loads if load.spec.is_of_step(step_id) and upper and load.spec.msgs_per_s == upper
    ]
    return above[-1] if above else None


def _figure_of_search(
    figure: PublishedFigure, msgs_per_s: float, spec: TrialSpec, confirmation: MeasuredResult | None
) -> float | None:
    """A figure of the rate that was found, or of the trial that confirmed it."""
    if figure.name == SUSTAINABLE:
        return figure.value_of_rate(msgs_per_s, spec)
    return figure.value_in_trial(confirmation) if confirmation else None


def why_no_result(trial_id: str, run: ExaminedRun) -> str:
    """What follows the name of a trial that has no result: "was not reached"."""
    reason = run.failures.get(trial_id, "")
    return f"has no result: {reason}" if reason else "was not reached"

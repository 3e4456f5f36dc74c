"""The figures of a run that a claim asks for, or why there are none. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegauge.experiments.api import TrialResult, TrialSpec, Validity
from tidegauge.experiments.catch_up_words import reads_sentence
from tidegauge.experiments.finding import Finding
from tidegauge.published.figures import FIGURES, MAX_THROUGHPUT, Figure
from tidegauge.published.model import Place
from tidegauge.statistics.figures import FINDING_FIGURES, SUSTAINABLE

KEPT_UP_SHARE_MIN = 0.98
"""Below this share of the offered rate latencies depend on how long a trial lasts."""


@dataclass(frozen=True)
class Measured:
    """A run as claims see it.

    Attributes:
        specs: planned trials and those made instead, in order.
        failures: why trials have no result, by their ids.
        notes: what the user was told: which systems were left out and why.
    """

    specs: Sequence[TrialSpec]
    results: Sequence[TrialResult]
    findings: Sequence[Finding] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Observed:
    """A figure by block, why there is none in those blocks that lack it, and why it is DOUBTFUL where it is.

    `resolution`: the share by which it may be off alike in every block.
    """

    values: Mapping[int, float]
    problems: tuple[str, ...] = ()
    doubts: Mapping[int, str] = field(default_factory=dict)
    resolution: float = 0.0

    @property
    def missing(self) -> str:
        """Why there is no figure at all; "" if there is one."""
        return "" if self.values else (self.problems[0] if self.problems else "not measured")


def observe(figure_name: str, place: Place, run: Measured) -> Observed:
    """The figure at a place of the run."""
    figure = FIGURES[figure_name]
    if not figure.measured:
        return Observed({}, (f"{figure.words} is not measured by Tidegauge",))
    fitting = [spec for spec in run.specs if spec.experiment == figure.experiment and fits(place, spec, run)]
    if not fitting:
        return Observed({}, (_absent(place, figure, run),))
    if len({_setting(spec) for spec in fitting}) > 1:
        return Observed({}, (f"several settings of the run fit '{place.words()}'",))
    if figure.experiment == MAX_THROUGHPUT:
        return _found(figure, fitting, run)
    return _measured(figure, fitting, run)


def fits(place: Place, spec: TrialSpec, run: Measured) -> bool:
    """Whether a trial was made at a place, in everything that the place says."""
    workload = spec.workload
    here = {
        "system": spec.system.partition("@")[0],
        "form": spec.choice.form,
        "level": spec.choice.level,
        "nodes": spec.nodes,
        "partitions": workload.partitions,
        "subscriptions": workload.subscriptions,
        "producers": workload.producers,
        "consumers": workload.consumers,
        "batch_size": workload.client.batch_bytes_max,
    }
    for name, wanted in place.given().items():
        if name == "layout":
            if wanted not in spec.point.values():
                return False
        elif name == "load":
            if _load(spec, run) != wanted:
                return False
        elif here[name] != wanted:
            return False
    return True


def _load(spec: TrialSpec, run: Measured) -> int:
    """The number of a trial's offered rate among those of its experiment, in the campaign's order, from 1."""
    rules = dict.fromkeys(one.rate_rule for one in run.specs if one.experiment == spec.experiment)
    return list(rules).index(spec.rate_rule) + 1


def _setting(spec: TrialSpec) -> tuple[object, ...]:
    """What must be the same for trials to be repeats of one another."""
    rate_rule = "" if spec.experiment == MAX_THROUGHPUT else spec.rate_rule
    return spec.system, spec.choice, tuple(spec.point.items()), rate_rule


def _absent(place: Place, figure: Figure, run: Measured) -> str:
    """Why the run has no trial at a place."""
    if place.system and not any(spec.system.partition("@")[0] == place.system for spec in run.specs):
        told = [note for note in run.notes if note.startswith(f"{place.system}@") and " left out" in note]
        return told[0].rstrip(".") if told else f"{place.system} is missing from the run"
    if not any(spec.experiment == figure.experiment for spec in run.specs):
        return f"the run has no {figure.experiment}"
    return f"the run has no {figure.experiment} at '{place.words()}'"


def _measured(figure: Figure, fitting: Sequence[TrialSpec], run: Measured) -> Observed:
    results = {result.spec.trial_id: result for result in run.results}
    values: dict[int, float] = {}
    doubts: dict[int, str] = {}
    problems = []
    for spec in fitting:
        result = results.get(spec.trial_id)
        if result is None:
            problems.append(f"{spec.trial_id} {_why(spec.trial_id, run)}")
            continue
        if result.validity is Validity.INVALID:
            problems.append(f"{spec.trial_id} is INVALID: {result.reasons[0]}")
            continue
        value = figure.of_trial(result) if figure.of_trial else None
        if value is None or value <= 0:
            problems.append(f"{spec.trial_id} has no figure for it (too few samples, or it never came so far)")
            continue
        values[spec.block] = value
        doubts |= _doubt(result)
    return Observed(values, tuple(problems), doubts)


def _doubt(result: TrialResult) -> dict[int, str]:
    """Why a claim can't rest on a result alone, by its block; {} if it can. Stricter than `Validity`."""
    why = result.reasons[0] if result.validity is Validity.DOUBTFUL else _shortcoming(result)
    return {result.spec.block: f"{result.spec.trial_id}: {why}"} if why else {}


def _shortcoming(result: TrialResult) -> str:
    """What a valid trial's own figures say against deciding by them; "" for nothing."""
    late = result.catch_up
    if late is not None:
        if not late.reads.from_device:
            return reads_sentence(late.reads).removeprefix("DOUBTFUL: ")
        if result.spec.late is not None and late.backlog_msgs < result.spec.late.backlog_msgs:
            return f"its backlog was {late.backlog_msgs:,} of {result.spec.late.backlog_msgs:,} messages"
        return ""
    if not result.steady:
        return "its warm-up was too short to judge, or never steady"
    offered = result.offered_msgs_per_s
    if offered and result.msgs_per_s < KEPT_UP_SHARE_MIN * offered:
        return f"the system did not keep up ({result.msgs_per_s / offered:.0%} of the rate)"
    return ""


def _found(figure: Figure, fitting: Sequence[TrialSpec], run: Measured) -> Observed:
    """What searches found: one finding for all trials of a step, which carry its name."""
    values: dict[int, float] = {}
    doubts: dict[int, str] = {}
    used: list[Finding] = []
    problems = []
    results = {result.spec.trial_id: result for result in run.results}
    for step_id in dict.fromkeys(spec.trial_id.rsplit("-s", 1)[0] for spec in fitting):
        spec = next(spec for spec in fitting if spec.trial_id.startswith(f"{step_id}-s"))
        finding = next((one for one in run.findings if one.finding_id == step_id), None)
        if finding is None or not finding.details.get("goals"):
            failed = [one for one in run.failures if one.startswith(f"{step_id}-s")]
            problems.append(f"{step_id} {_why(failed[0] if failed else step_id, run)}")
            continue
        goal = finding.details["goals"][0]
        rate = goal.get("sustainable_msgs_per_s")
        if not goal.get("decided") or not rate:
            problems.append(f"the sustainable rate of {step_id} was not decided: {goal.get('problem') or 'no reason'}")
        elif figure.of_goal is not None:
            values[spec.block] = figure.of_goal(float(rate), spec.workload.payload.message_bytes)
            used.append(finding)
            confirmation = results.get(str(goal.get("confirmation_trial_id")))
            doubts |= _doubt(confirmation) if confirmation else {}
    return Observed(values, tuple(problems), doubts, FINDING_FIGURES[SUSTAINABLE].resolution_in(used))


def _why(trial_id: str, run: Measured) -> str:
    reason = run.failures.get(trial_id, "").partition(" (log:")[0]  # The report lists failures with their logs.
    return f"has no result: {reason}" if reason else "was not reached"

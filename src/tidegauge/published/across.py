"""Several runs seen as one, so that a claim on systems that took turns on the same hosts can be examined. Pure.

A ratio is one of a single run wherever a run has both of its figures. Where none has, the figures are those of
different runs: then everything that the claim does not vary must have been the same in both, and what changed from one
run to the other (the hosts' state, say) is in no interval.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import asdict, replace

from tidegauge.fairness import OWN_SERVER_SETTINGS, ComparedSystem, Property, check_fairness
from tidegauge.model.attest import AttestOutcome
from tidegauge.model.events import Note
from tidegauge.model.finding import Finding
from tidegauge.model.tilt import Severity, Stage
from tidegauge.model.trial import AttestResult, LoadSpec, MeasuredResult, Spec, TrialSpec, family
from tidegauge.numbers import count
from tidegauge.published.differences import COMPARED
from tidegauge.published.observe import ExaminedRun, ObservedFigure

_COMPARED_FIELDS = frozenset(
    {"partitions", "producers", "consumers", "subscriptions", "message_bytes", "batch_bytes_max", "batch_delay_ms_max"}
)
"""Of a workload, by `COMPARED` in words of its own."""
_OF_TRIAL = (
    *("warmup_s_min", "warmup_s_max", "measure_s", "drain_s_max"),
    *("servers", "attached", "apart", "copies", "limits", "schedule", "faults"),
)
_WORDS = {
    "warmup_s_min": "least warm-up (s)",
    "warmup_s_max": "longest warm-up (s)",
    "measure_s": "measuring time (s)",
    "drain_s_max": "longest drain (s)",
    "in_flight_messages_max": "in-flight",
    "connections_per_broker": "connections",
}
_NOT_ALIKE = ("rate", "form", "measure")
"""Of `COMPARED`: looked at below by other means, or no part of what must be alike."""
_WINDOW = "in_flight_messages_max"
"""Of each producer: a claim on the number of producers may have as many in all, or as many of each."""
_OF_LATE = ("drained_share", "chase_s_max")
_MEMORY = (Property.HEAP, Property.DIRECT_MEMORY)
_VARIED_RULES = {
    "level": (Property.LEVEL,),
    "nodes": (Property.NODES, Property.SERVING_NODES),
    "batch_size": (Property.BATCH_SIZE,),
    "partitions": (Property.PARTITIONS,),
}
"""Rules about what a claim sets itself, by the names of `Place`."""
RATE_SHARE_MAX = 0.02
"""By how much offered rates may differ. Shares of what two runs, or two points of a sweep, found are seldom alike."""


def runs_together(runs: Mapping[str, ExaminedRun]) -> ExaminedRun:
    """All trials of the runs, which are given by the letters that they go by.

    Names begin with the run's letter; the blocks of a run follow those of the one before.
    """
    specs: list[TrialSpec] = []
    results: list[MeasuredResult] = []
    findings: list[Finding] = []
    attested: list[AttestResult] = []
    cut_short: dict[str, AttestOutcome] = {}
    failures: dict[str, str] = {}
    run_of: dict[str, str] = {}
    contenders: dict[str, ComparedSystem] = {}
    left_out: list[Note] = []
    offset = 0
    for letter, run in runs.items():
        specs_of_run = [_spec_in_run(spec, letter, offset) for spec in run.specs]
        specs += specs_of_run
        run_of |= {trial.trial_id: letter for trial in specs_of_run}
        results += [replace(result, spec=_spec_in_run(result.spec, letter, offset)) for result in run.results]
        attested += [replace(result, spec=_spec_in_run(result.spec, letter, offset)) for result in run.attested]
        cut_short |= {_name_in_run(letter, name): outcome for name, outcome in run.cut_short.items()}
        findings += [_finding_in_run(finding, letter, offset) for finding in run.findings]
        failures |= {_name_in_run(letter, name): why for name, why in run.failures.items()}
        contenders |= {
            _name_in_run(letter, name): replace(contender, label=f"{contender.label} in {letter}")
            for name, contender in run.contenders.items()
        }
        left_out += run.left_out
        offset += 1 + max((spec.block for spec in run.specs), default=0)
    allowed = all(run.unequal_allowed for run in runs.values())
    as_published = all(run.as_published for run in runs.values())
    return ExaminedRun(
        specs,
        results,
        findings,
        failures,
        left_out,
        run_of,
        contenders,
        allowed,
        as_published,
        attested=attested,
        cut_short=cut_short,
    )


def _name_in_run(letter: str, name: str) -> str:
    return f"{letter}:{name}"


def _spec_in_run(spec: Spec, letter: str, offset: int) -> Spec:
    return replace(spec, trial_id=_name_in_run(letter, spec.trial_id), block=spec.block + offset)


def _finding_in_run(finding: Finding, letter: str, offset: int) -> Finding:
    goals = [
        replace(goal, confirmation_trial_id=_name_in_run(letter, str(goal.confirmation_trial_id)))
        for goal in finding.goals
    ]
    named = replace(finding, finding_id=_name_in_run(letter, finding.finding_id), block=finding.block + offset)
    return named.with_goals(goals) if goals else named


def of_different_runs(above: ObservedFigure, below: ObservedFigure, run: ExaminedRun) -> bool:
    """Whether no run has both figures."""
    return bool(run.run_of) and not _letters_of_runs(above, run) & _letters_of_runs(below, run)


def _letters_of_runs(seen: ObservedFigure, run: ExaminedRun) -> set[str]:
    return {run.run_of[spec.trial_id] for spec in seen.specs}


def unlike_settings(above: Sequence[TrialSpec], below: Sequence[TrialSpec], varied: Collection[str]) -> str:
    """What of load, times and versions was not the same though the claim does not vary it; "" if everything was."""
    for name, compared in COMPARED.items():
        if name in varied or name in _NOT_ALIKE:
            continue
        sides = [
            {value for spec in specs if (value := compared.value_in_trial(spec)) is not None}
            for specs in (above, below)
        ]
        if sides[0] != sides[1]:
            values = [", ".join(compared.shown(value) for value in sorted(map(float, side))) for side in sides]
            return f"the runs differ in {compared.words}: {values[0] or 'none'} and {values[1] or 'none'}"
    rates = _rates_chosen([*above, *below])
    if rates and "load" not in varied and rates[-1] > rates[0] * (1 + RATE_SHARE_MAX):
        return f"the runs differ in the offered rate: {count(rates[0])} to {count(rates[-1])} msg/s"
    return _unlike_versions(above, below) or _unlike_others(above, below, varied)


def unlike_rates(above: Sequence[TrialSpec], below: Sequence[TrialSpec], varied: Collection[str]) -> str:
    """Which offered rates of one block were not the same though the claim does not vary them; "" if they were.

    Rates that were found, and not chosen, are what a claim compares, and no terms of it.
    """
    if "load" in varied:
        return ""
    for block in sorted({spec.block for spec in above} & {spec.block for spec in below}):
        rates = _rates_chosen([spec for spec in (*above, *below) if spec.block == block])
        if rates and rates[-1] > rates[0] * (1 + RATE_SHARE_MAX):
            return f"it was measured at different offered rates: {count(rates[0])} and {count(rates[-1])} msg/s"
    return ""


def _rates_chosen(specs: Sequence[TrialSpec]) -> list[float]:
    """The offered rates that were chosen, the lowest first."""
    loads = [spec for spec in specs if isinstance(spec, LoadSpec) and not spec.exploratory]
    return sorted(load.msgs_per_s for load in loads if load.msgs_per_s)


def _unlike_versions(above: Sequence[TrialSpec], below: Sequence[TrialSpec]) -> str:
    for name in dict.fromkeys(family(spec.system) for spec in above):
        sides = [sorted({spec.system for spec in specs if family(spec.system) == name}) for specs in (above, below)]
        if sides[1] and sides[0] != sides[1]:
            return f"the runs differ in the version of {name}: {', '.join(sides[0])} and {', '.join(sides[1])}"
    return ""


def _unlike_others(above: Sequence[TrialSpec], below: Sequence[TrialSpec], varied: Collection[str]) -> str:
    """What of all else that a trial is given was not the same; "" if everything was."""
    sides = [[_everything_given(spec) for spec in specs] for specs in (above, below)]
    for name in sides[0][0] if above and below else ():
        values = [list(dict.fromkeys(str(settings.get(name)) for settings in side)) for side in sides]
        own_window = name == _WINDOW and "producers" in varied
        if name not in varied and not own_window and sorted(values[0]) != sorted(values[1]):
            title = _WORDS.get(name, name.replace("_", " "))
            return f"the runs differ in {title}: {', '.join(values[0])} and {', '.join(values[1])}"
    return ""


def _everything_given(spec: TrialSpec) -> dict[str, object]:
    load = asdict(spec.workload.neutral())
    by_name = {**load.pop("payload"), **load.pop("client"), **load}
    by_name |= {name: getattr(spec, name, None) for name in _OF_TRIAL}
    late = spec.late if isinstance(spec, LoadSpec) else None
    by_name |= {f"late readers' {name}": getattr(late, name) for name in _OF_LATE if late is not None}
    return {name: value for name, value in by_name.items() if name not in _COMPARED_FIELDS}


def unequal_terms(above: Sequence[TrialSpec], below: Sequence[TrialSpec], varied: Set[str], run: ExaminedRun) -> str:
    """What of servers (memory, settings) and clients would be unequal terms in one run; "" = nothing.

    A system that is compared with itself must also have the same settings of its own.
    """
    sides = [
        {contender.label: contender for spec in specs if (contender := run.contenders.get(spec.trial_id)) is not None}
        for specs in (above, below)
    ]
    meant = {rule for name in varied for rule in _VARIED_RULES.get(name, ())}
    for first, second in itertools.product(sides[0].values(), sides[1].values()):
        alike = family(first.label) == family(second.label)
        for tilt in check_fairness([first, second], Stage.WANTED):
            grave = tilt.severity is Severity.UNEQUAL or (alike and tilt.rule == OWN_SERVER_SETTINGS)
            of_the_point = not varied.isdisjoint(("layout", "variant")) and tilt.rule not in _MEMORY
            if grave and tilt.rule not in meant and not of_the_point:
                return f"the runs differ in {tilt.rule}: {tilt.what}"
    return ""

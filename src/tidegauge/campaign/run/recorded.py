"""What earlier sessions of a run measured, replayed to the procedures that asked for it. Pure.

A resumed run carries out its plan from the beginning. A trial that has a result is not made again: the
procedure gets what was recorded. Procedures decide from results alone, so they come to where they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tidegauge.errors import UserError
from tidegauge.model.attest import AttestOutcome
from tidegauge.model.finding import Finding
from tidegauge.model.server import Distribution
from tidegauge.model.tilt import Tilt
from tidegauge.model.trial import AnyResult, LoadSpec, TrialSpec
from tidegauge.numbers import count
from tidegauge.plain import plain_value

START_ANEW = "Start a new run; this one stays as it is, and `tidegauge show` shows what it found."


class OtherwiseError(UserError):
    """What is to be measured now is not what the run's finished trials measured."""


Found = TypeVar("Found")


@dataclass(frozen=True)
class RecordedTrial(Generic[Found]):
    """A trial of an earlier session: as asked for, and what it left. `digest`: of the system's files, "" if unknown."""

    spec: TrialSpec
    found: Found
    digest: str = ""


TrialWithResult = RecordedTrial[AnyResult]
"""A finished trial, with its result."""
TrialWithCycles = RecordedTrial[AttestOutcome]
"""An attestation that was ended before its time, with what its cycles found."""
TrialWithMeasuring = RecordedTrial[Mapping[str, Any]]
"""A trial that was being measured when its session ended, with what was known as that began."""


@dataclass(frozen=True)
class Recorded:
    """Everything that earlier sessions of a run left.

    Attributes:
        tilts: seen in force then.
        archives_used: whether its workers began with archives of their code (`worker.archive`); None = none has ended.
    """

    trials: Mapping[str, TrialWithResult] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    tilts: Sequence[Tilt] = ()
    begun: Mapping[str, TrialWithCycles] = field(default_factory=dict)
    archives_used: bool | None = None
    measured: Mapping[str, TrialWithMeasuring] = field(default_factory=dict)

    def result_of(self, spec: TrialSpec) -> AnyResult | None:
        """What a trial found, if it was made, and at the rate that it has now (see `why_stale`).

        Raises `OtherwiseError` if one of that name was made with other values.
        """
        recorded_trial = self.trials.get(spec.trial_id)
        if recorded_trial is None or self.why_stale(spec):
            return None
        before, now = plain_value(recorded_trial.spec), plain_value(spec)
        if changed := _names_of_changes(before, now):
            differences = ", ".join(f"{name} was {before[name]} and is {now[name]} now" for name in changed)
            raise OtherwiseError(f"The trial {spec.trial_id} of this run was another one: {differences}.", START_ANEW)
        return recorded_trial.found

    def cycles_of(self, spec: TrialSpec) -> AttestOutcome | None:
        """What the cycles of this very attestation found before it was ended; None if there are none to go on with."""
        return _record_of_same_trial(spec, self.begun)

    def measuring_of(self, spec: TrialSpec) -> Mapping[str, Any] | None:
        """What was known of this very trial as it began to be measured; None unless its session ended after that."""
        return _record_of_same_trial(spec, self.measured)

    def why_stale(self, spec: TrialSpec) -> str:
        """Why a finished trial must be made again, in a sentence; "" if it needn't.

        Its rate is a share of one that was made again in this session and came out otherwise. Kept as it was, it would
        be a share of nothing, and the other systems' trials would face another load.
        """
        recorded_trial = self.trials.get(spec.trial_id)
        if recorded_trial is None or not isinstance(recorded_trial.spec, LoadSpec) or not isinstance(spec, LoadSpec):
            return ""
        changed = _names_of_changes(plain_value(recorded_trial.spec), plain_value(spec))
        if not spec.rate_rule.is_share or not changed or not set(changed) <= {"msgs_per_s", "schedule"}:
            return ""
        if "msgs_per_s" in changed:
            was, now = (count(planned.msgs_per_s or 0.0) for planned in (recorded_trial.spec, spec))
            why = f"its rate, {spec.rate_rule}, was {was} msg/s and is {now} now, since the rate that it is a share of"
        else:
            why = f"its schedule, {spec.rate_rule}, has other rates now, since the rate that they are shares of"
        return f"{spec.trial_id} is measured again, and its earlier result is set aside: {why} was measured again."

    def has_finding(self, finding: Finding, *, replayed: bool) -> bool:
        """Whether this was found before.

        Of trials that were all `replayed` nothing else can have been found: where the same answer has other words,
        columns or more figures, another version of Tidegauge had stored it. Otherwise it must be so word for word.
        """
        if not replayed:
            return any(plain_value(earlier) == plain_value(finding) for earlier in self.findings)
        return any(_same_answer(earlier, finding) for earlier in self.findings)

    def check_plan(self, planned: Iterable[TrialSpec]) -> None:
        """Raise `OtherwiseError` if the plan has other steps than those that were carried out.

        A step is known by its number, which begins the names of its trials. That is so where less can be measured now:
        less memory is available, say.
        """
        steps = {_step_number(spec): spec for spec in planned}
        for name, trial in sorted(self.trials.items()):
            now = steps.get(_step_number(trial.spec))
            if now is None or _identity_of_step(now) != _identity_of_step(trial.spec):
                instead = f"is {_step_words(now)} now" if now else "is planned no more"
                raise OtherwiseError(
                    f"The plan is not the one that the run began with: {name} was {_step_words(trial.spec)} and "
                    f"{instead}. Is there less memory available, so that a system is left out?",
                    START_ANEW,
                )

    def check_files(self, distributions: Mapping[str, Distribution]) -> None:
        """Raise `OtherwiseError` if a system's files are not those that were run before."""
        left_trials: tuple[RecordedTrial[Any], ...] = (
            *self.trials.values(),
            *self.begun.values(),
            *self.measured.values(),
        )
        for trial in left_trials:
            distribution = distributions.get(trial.spec.system)
            if distribution is not None and trial.digest and trial.digest != distribution.digest:
                raise OtherwiseError(
                    f"The files of {trial.spec.system} ({distribution.source}) are not those that this run measured "
                    f"in {trial.spec.trial_id}: their checksum was {trial.digest[:12]} and is "
                    f"{distribution.digest[:12]} now.",
                    START_ANEW,
                )


NOTHING_RECORDED = Recorded()


def _record_of_same_trial(spec: TrialSpec, trials_by_id: Mapping[str, RecordedTrial[Found]]) -> Found | None:
    """What this very trial left; None if nothing, or if one of that name was another."""
    left_trial = trials_by_id.get(spec.trial_id)
    return left_trial.found if left_trial is not None and plain_value(left_trial.spec) == plain_value(spec) else None


def _same_answer(earlier: Finding, finding: Finding) -> bool:
    """Whether two findings give one answer: by the figures that were stored then, or by its words if it has none."""
    if not finding.figures:
        return bool(plain_value(earlier) == plain_value(finding))
    names = ("finding_id", "point", "decided", "refuted")
    return all(getattr(earlier, name) == getattr(finding, name) for name in names) and (
        plain_value(earlier.figures) == {name: plain_value(finding.figures).get(name) for name in earlier.figures}
    )


def _names_of_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [name for name in now if name in before and now[name] != before[name]]


def _step_number(spec: TrialSpec) -> str:
    return spec.trial_id.partition("-")[0]


def _identity_of_step(spec: TrialSpec) -> tuple[object, ...]:
    return spec.experiment, spec.system, spec.block, spec.seed, dict(spec.point)


def _step_words(spec: TrialSpec) -> str:
    return f"{spec.experiment} on {spec.system} in block {spec.block + 1}"

"""One step of a run as its experiment sees it: the `Lab` that measures trials and takes in findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from tidegauge.campaign.plan import Step
from tidegauge.campaign.rates_at import FINDERS
from tidegauge.campaign.recorded import NOTHING, Recorded
from tidegauge.experiments.expected import seconds_expected
from tidegauge.model.events import Decided, Found, Note, Observer, TrialKept
from tidegauge.model.finding import Finding
from tidegauge.model.trial import Servers, TrialResult, TrialSpec
from tidegauge.store.api import RunStore


class RunState(Protocol):
    """What a step knows of its run, and adds to."""

    results: list[TrialResult]
    findings: list[Finding]
    expected: list[tuple[TrialSpec, ...]]


class StepLab:
    """Implements `experiments.procedure.Lab` for the step at `place` in the run's list of steps.

    A step at a point of a sweep knows of that point only: a share of a peak is one of the peak found there. Where the
    campaign finds its rates at another point, it knows these as well.
    """

    def __init__(
        self,
        run: RunState,
        place: int,
        step: Step,
        trial: Callable[[TrialSpec], TrialResult],
        *,
        store: RunStore,
        observer: Observer,
        recorded: Recorded = NOTHING,
    ) -> None:
        self.begun: list[TrialSpec] = []
        self._run = run
        self._place = place
        self._point = step.trials[0].point
        self._rates_point = self._point if step.rates_point is None else step.rates_point
        self._trial = trial
        self._store = store
        self._observer = observer
        self._recorded = recorded
        self._replaying = False

    @property
    def results(self) -> Sequence[TrialResult]:
        """Results of all trials of the run at this point so far."""
        return tuple(one for one in self._run.results if self._knows(one.spec.experiment, one.spec.point))

    @property
    def findings(self) -> Sequence[Finding]:
        """All findings of the run at this point so far."""
        return tuple(one for one in self._run.findings if self._knows(one.experiment, one.point))

    def _knows(self, experiment: str, point: Mapping[str, str]) -> bool:
        return point == self._point or (experiment in FINDERS and point == self._rates_point)

    def measure(self, spec: TrialSpec) -> TrialResult:
        """One trial, unless an earlier session has made it. Its result counts, whatever becomes of the step."""
        # What a fault leaves of servers is nothing to measure another trial on.
        spec = replace(spec, servers=Servers.FRESH) if spec.faults else spec
        self.begun.append(spec)
        stale = self._recorded.stale(spec)
        if stale:
            self._observer(Note(stale))
        kept = self._recorded.result_of(spec)
        self._replaying = kept is not None
        if kept is not None:
            self._observer(TrialKept(spec, kept))
        result = kept or self._trial(spec)
        self._run.results.append(result)
        return result

    def decided(self, text: str, left: Sequence[TrialSpec] = ()) -> None:
        """Tell a decision, with what it is expected to cost yet."""
        self._run.expected[self._place] = (*self.begun, *left)
        if self._replaying:
            return  # It was told when it was decided.
        whole = tuple(trial for trials in self._run.expected for trial in trials)
        self._observer(Decided(text, whole, len(left), sum(map(seconds_expected, left))))

    def found(self, finding: Finding) -> None:
        """Store and show a finding."""
        finding = replace(finding, point=self._point)
        if self._recorded.has(finding):
            self._run.findings.append(finding)
            return
        self._store.finding(finding)
        self._run.findings.append(finding)
        self._observer(Found(finding))

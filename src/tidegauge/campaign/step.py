"""One step of a run as its experiment sees it: the `Lab` that measures trials and takes in findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tidegauge.campaign.events import Decided, Found, Observer
from tidegauge.campaign.plan import seconds_expected
from tidegauge.campaign.stand import Stand
from tidegauge.experiments.api import TrialResult, TrialSpec
from tidegauge.experiments.finding import Finding
from tidegauge.store.api import RunStore


class RunState(Protocol):
    """What a step knows of its run, and adds to."""

    results: list[TrialResult]
    findings: list[Finding]
    expected: list[tuple[TrialSpec, ...]]


class StepLab:
    """Implements `experiments.procedure.Lab` for the step at `place` in the run's list of steps."""

    def __init__(
        self,
        run: RunState,
        place: int,
        trial: Callable[[TrialSpec, Stand], TrialResult],
        store: RunStore,
        observer: Observer,
    ) -> None:
        self.begun: list[TrialSpec] = []
        self.stand = Stand()
        self._run = run
        self._place = place
        self._trial = trial
        self._store = store
        self._observer = observer

    @property
    def results(self) -> Sequence[TrialResult]:
        """Results of all trials of the run so far."""
        return tuple(self._run.results)

    @property
    def findings(self) -> Sequence[Finding]:
        """All findings of the run so far."""
        return tuple(self._run.findings)

    def measure(self, spec: TrialSpec) -> TrialResult:
        """One trial. Its result counts from now on, whatever becomes of the step."""
        self.begun.append(spec)
        result = self._trial(spec, self.stand)
        self._run.results.append(result)
        return result

    def decided(self, text: str, left: Sequence[TrialSpec] = ()) -> None:
        """Tell a decision, with what it is expected to cost yet."""
        self._run.expected[self._place] = (*self.begun, *left)
        whole = tuple(trial for trials in self._run.expected for trial in trials)
        self._observer(Decided(text, whole, len(left), sum(map(seconds_expected, left))))

    def found(self, finding: Finding) -> None:
        """Store and show a finding."""
        self._store.finding(finding)
        self._run.findings.append(finding)
        self._observer(Found(finding))

"""An attestation trial: a deployment whose nodes have disks of their own; cycle after cycle of load, cut and reading.

All cycles share the deployment; each has a topic of its own. A deployment that does not serve again after a cut ends
the trial: what was found until then is kept, and that it did not is reported. What each cycle found is stored at once:
a trial that was interrupted resumes after its last whole cycle, on servers of its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from tidegauge.attestation.record import settings_digest
from tidegauge.attestation.scenario import describe_scenario
from tidegauge.campaign.run.recorded import START_ANEW, OtherwiseError
from tidegauge.campaign.run.running_trial import RunningTrial, Settled, TrialSetup
from tidegauge.campaign.run.trial.attest_cycle import Prepared, prepare_cycle, run_cycle
from tidegauge.campaign.run.trial.procedure import TrialProcedure
from tidegauge.campaign.run.witnessing import checked_level
from tidegauge.errors import RunFailedError
from tidegauge.model.attest import AttestOutcome, AttestPlan, Cycle, CycleOutcome, Means, Scenario
from tidegauge.model.events import Note, PhaseProgress, PhaseStarted
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import TotalFigures
from tidegauge.model.server import by_turns
from tidegauge.model.trial import AttestResult, AttestSpec
from tidegauge.numbers import plural

UNKNOWN_LEVEL = LevelFinding(None, ())


class AttestProcedure(TrialProcedure[AttestSpec, AttestResult]):
    """A trial whose servers lose their power, cycle after cycle."""

    def __init__(self, before: AttestOutcome | None) -> None:
        """Begin after the cycles that were found `before` it was interrupted; None for one that begins."""
        self._before = before

    def settle(self, setup: TrialSetup[AttestSpec], cleanup: ExitStack) -> Settled:
        """Make each node a disk of its own. Nothing waits for a calm machine: losses are looked for."""
        _make_disks(setup, cleanup)
        return Settled()

    def prepare(
        self, trial: RunningTrial[AttestSpec], cleanup: ExitStack
    ) -> tuple[RunningTrial[AttestSpec], LevelFinding]:
        """Bring the disks up to date. Topics and clients are made anew in each cycle, and the level is asked there."""
        _write_back_disks(trial)
        return trial, UNKNOWN_LEVEL

    def carry_out_trial(
        self, trial: RunningTrial[AttestSpec], level: LevelFinding, started_at: str
    ) -> tuple[AttestResult, TotalFigures]:
        """Carry out the cycles. Raises `OtherwiseError` if the settings in force are not those of the cycles before."""
        attestation = _AttestationTrial(trial, self._before, level)
        outcome = attestation.run()
        return _result_of_trial(trial.spec, started_at, attestation, outcome), attestation.totals

    def clear_up(self, trial: RunningTrial[AttestSpec]) -> None:
        """Do nothing: each cycle has deleted its topic."""


def _make_disks(setup: TrialSetup[AttestSpec], cleanup: ExitStack) -> None:
    """Make each node a disk of its own on its host, which its servers then use; none where processes only crash."""
    spec, resources, store, plan = setup.spec, setup.resources, setup.store, setup.spec.attest
    if plan.means is Means.CRASH:
        return
    disks = f"{plural(spec.nodes, 'disk')} ({plan.file_system.value})"
    resources.observer(PhaseStarted(spec.trial_id, "prepare", disks, None))
    disk_places = []
    for number, root in enumerate(by_turns(store.disks or (store.data_directory,), spec.nodes), 1):
        place = root / f"disk-{number}"
        cleanup.callback(resources.host.rig.remove_disk, place)
        seat = resources.seats.get(number)
        resources.host.rig.make_disk(place, plan.disk_bytes, plan.file_system.value, seat.link if seat else "")
        disk_places.append(place)
    store.disks, store.journal_disks = tuple(disk_places), ()


def _write_back_disks(trial: RunningTrial[AttestSpec]) -> None:
    """Bring to disk what servers wrote when they were set up, as it is of those that ran for more than half a minute.

    BookKeeper for one does not sync the file by which a bookie knows its disk, without which it does not start again.
    Raises `RunFailedError`.
    """
    disks = () if trial.spec.attest.means is Means.CRASH else trial.store.disks
    if problem := trial.resources.host.write_back(disks):
        raise RunFailedError(f"What the servers wrote at their start is not on disk: {problem}.")


@dataclass
class _AttestationTrial:
    """The cycles of one trial as they are carried out. `totals` are those of the last one."""

    trial: RunningTrial[AttestSpec]
    before: AttestOutcome | None
    level: LevelFinding
    totals: TotalFigures = field(init=False)
    took_s: float = 0.0
    _digest: str = ""

    def __post_init__(self) -> None:
        """Find what is kept of before."""
        self._plan = self.trial.spec.attest
        # The cycles from the first on that needn't be made again; the last one always is, for what a trial ends with.
        outcomes_kept: list[CycleOutcome] = []
        for cycle, outcome in zip(
            self._plan.cycles[:-1], self.before.cycles if self.before is not None else (), strict=False
        ):
            if (cycle.number, cycle.scenario) != (outcome.number, outcome.scenario) or _is_enough(self._plan, outcome):
                break
            outcomes_kept.append(outcome)
        self._kept = tuple(outcomes_kept)

    def run(self) -> AttestOutcome:
        """Carry out all cycles, until one can't be; of a positive control until one has lost something.

        Raises `RunFailedError` if that is the first one.
        """
        outcomes: list[CycleOutcome] = list(self._kept)
        if outcomes:
            done = f"{len(outcomes)} of {len(self._plan.cycles)} cycles were carried out before and are kept"
            self.trial.resources.observer(Note(f"{self.trial.spec.trial_id}: {done}."))
        began_s = time.monotonic()
        for cycle in self._plan.cycles[len(outcomes) :]:
            self._report_progress(cycle, outcomes, began_s)
            try:
                outcomes.append(self._carry_out_cycle(cycle))
            except RunFailedError as error:
                if len(outcomes) == len(self._kept):
                    raise
                # What the cycles before found is kept; this one makes its scenario inconclusive.
                outcomes.append(
                    CycleOutcome(cycle.number, cycle.scenario, (), 0, unreadable=(error.message,), served=False)
                )
            self.trial.store.write_cycles(AttestOutcome(self._digest, tuple(outcomes)))
            if _is_enough(self._plan, outcomes[-1]):
                break
        self.took_s = time.monotonic() - began_s
        return AttestOutcome(self._digest, tuple(outcomes))

    def _carry_out_cycle(self, cycle: Cycle) -> CycleOutcome:
        prepared = prepare_cycle(self.trial, cycle)
        if not self._digest:
            self._check_level(prepared)
        try:
            outcome = run_cycle(self.trial, cycle, prepared)
            self.totals = self.trial.worker.totals()
        finally:
            self.trial.worker.finish(delete_topics=False)
        if outcome.served:
            worker, subject = self.trial.worker, self.trial.subject
            topics = list(prepared.order.topic_names)
            worker.delete_topics(subject.system.driver, self.trial.deployment.connection, topics)
        return outcome

    def _check_level(self, prepared: Prepared) -> None:
        """Check the level in force once, before anything is cut. Raises `LevelMismatchError`, `OtherwiseError`."""
        trial = self.trial
        flags, facts = trial.deployment.jvm_flags, trial.worker.facts
        trial.store.write_settings(prepared.settings, prepared.client_settings, flags, facts)
        settings = [*prepared.settings, *prepared.client_settings]
        self.level = checked_level(trial, settings)
        self._digest = settings_digest(prepared.settings)
        if self.before is not None and self._kept and self.before.settings_digest != self._digest:
            name = trial.spec.trial_id
            raise OtherwiseError(f"The settings now in force are not those that {name} was begun with.", START_ANEW)

    def _report_progress(self, cycle: Cycle, outcomes: Sequence[CycleOutcome], began_s: float) -> None:
        """Report what begins now, and how long all may take yet."""
        done, total, kept = len(outcomes), len(self._plan.cycles), len(self._kept)
        if done == kept or cycle.scenario is not outcomes[-1].scenario:
            self.trial.phase("attest", f"{cycle.scenario.value}: {describe_scenario(cycle.scenario, self._plan.means)}")
        left_s = (time.monotonic() - began_s) / (done - kept) * (total - done) if done > kept else None
        progress = PhaseProgress(self.trial.spec.trial_id, f"cycles ({cycle.scenario.value})", done, total, left_s)
        self.trial.resources.observer(progress)


def _is_enough(plan: AttestPlan, outcome: CycleOutcome) -> bool:
    """Whether no cycle needs to follow: the servers are gone, or a positive control has lost something."""
    return not outcome.served or (plan.control and outcome.scenario is not Scenario.NONE and outcome.lost > 0)


def _result_of_trial(
    spec: AttestSpec, started_at: str, attestation: _AttestationTrial, outcome: AttestOutcome
) -> AttestResult:
    totals = attestation.totals

    def figure(*names: str) -> int:
        return sum(cycle.figures.get(name, 0) for cycle in outcome.cycles for name in names)

    return AttestResult(
        spec=spec,
        started_at=started_at,
        status="finished",
        sent=figure("invoked"),
        acked=sum(cycle.acked for cycle in outcome.cycles),
        failed=figure("refused_gone", "refused_kept"),
        unresolved=figure("unknown_gone", "unknown_kept"),
        errors=totals.errors,
        worker_cpu_s=totals.worker_cpu_ns / 1e9,
        gc_pause_s=totals.gc_pause_ns / 1e9,
        measured_s=attestation.took_s,
        level=attestation.level,
        attest=outcome,
    )

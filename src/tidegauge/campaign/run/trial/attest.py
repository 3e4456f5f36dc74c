"""An attestation trial: a deployment whose nodes have disks of their own; cycle after cycle of load, cut and reading.

All cycles share the deployment; each has a topic of its own. Where one can't be finished, as where servers do not serve
again after a cut, that is kept and reported, and new servers carry out those that are left: see `cycles_left`. New ones
also take over where the load generator failed, which says nothing of the servers, so that the cycle is made again, and
where disks are nearly full of the cycles before. What each cycle found is stored at once: a trial that was interrupted
resumes after its last whole cycle, on servers of its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from tidegauge.attestation.record import settings_digest
from tidegauge.attestation.scenario import describe_scenario
from tidegauge.campaign.run.recorded import START_ANEW, OtherwiseError
from tidegauge.campaign.run.running_trial import RunningTrial, Settled, TrialSetup
from tidegauge.campaign.run.trial.attest_cycle import Prepared, prepare_cycle, run_cycle
from tidegauge.campaign.run.trial.procedure import TrialProcedure
from tidegauge.campaign.run.witnessing import checked_level
from tidegauge.errors import AgentGoneError, GeneratorFailedError, RunFailedError, TidegaugeError
from tidegauge.hosts.space import FREE_BYTES_DURING
from tidegauge.model.attest import AttestOutcome, AttestPlan, Cycle, CycleOutcome, Means, Scenario
from tidegauge.model.events import Note, PhaseProgress, PhaseStarted
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import TotalFigures
from tidegauge.model.server import by_turns
from tidegauge.model.trial import AttestResult, AttestSpec
from tidegauge.numbers import plural

UNKNOWN_LEVEL = LevelFinding(None, ())
DISK_FREE_SHARE_MIN = 0.25
"""Of what a node's disk has above the room that ends a run, before a cycle on servers that carried out others.

Of 2 GiB about 40 cycles of Pulsar filled all.
"""
UNSERVED_IN_A_ROW_MAX = 3
"""A scenario of which so many cycles in a row could not be finished, on new servers each, is not tried any further."""


class ServersGoneError(Exception):
    """New servers must carry out the cycles of an attestation that are left.

    Attributes:
        result: what was found until then.
        totals: those of the last cycle.
        error: of a load generator that failed; None where it did not.
    """

    def __init__(
        self, result: AttestResult, totals: TotalFigures, why: str, error: GeneratorFailedError | None
    ) -> None:
        """Make it of what would be the trial's end without new servers. `why`: these can't go on, a clause."""
        super().__init__()
        self.result = result
        self.totals = totals
        self.error = error
        self._why = why

    def note_of_new_servers(self) -> Note:
        """What is announced where new servers take their place."""
        return Note(f"{self.result.spec.trial_id}: {self._why}; new servers go on.")

    def note_of_end(self, error: TidegaugeError) -> Note:
        """What is announced where those that are left can't be carried out either."""
        return Note(f"{self.result.spec.trial_id}: {self._why}, and new servers could not go on: {error.message}")


class AttestProcedure(TrialProcedure[AttestSpec, AttestResult]):
    """A trial whose servers lose their power, cycle after cycle.

    Attributes:
        gone: the end of these servers before the last cycle; None where there was none (yet).
        is_whole: whether all cycles have been carried out, whatever fails afterwards.
    """

    def __init__(self, before: AttestOutcome | None, gone: ServersGoneError | None = None) -> None:
        """Begin after the cycles that were found `before` it was interrupted, or in it, until servers were `gone`."""
        self._before = gone.result.attest if gone is not None else before
        self._earlier = gone
        self.gone: ServersGoneError | None = None
        self.is_whole = False

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
        """Carry out the cycles.

        Raises `OtherwiseError` if the settings in force are not those of the cycles before, `ServersGoneError`.
        """
        attestation = _AttestationTrial(trial, self._before, level, self._earlier.totals if self._earlier else None)
        outcome = attestation.run()
        assert attestation.totals is not None
        result = _result_of_trial(trial.spec, started_at, attestation, attestation.totals, outcome)
        if self._earlier is not None:
            first = self._earlier.result
            result = replace(
                result,
                started_at=first.started_at,
                measured_s=first.measured_s + result.measured_s,
                # These may have come to no cycle, in which it is asked.
                level=first.level if result.level == UNKNOWN_LEVEL else result.level,
            )
        self.is_whole = not cycles_left(trial.spec.attest, outcome.cycles)
        if not self.is_whole:
            self.gone = ServersGoneError(result, attestation.totals, attestation.why_left, attestation.generator_error)
            raise self.gone
        return result, attestation.totals

    def clear_up(self, trial: RunningTrial[AttestSpec]) -> None:
        """Do nothing: each cycle has deleted its topic."""


def _make_disks(setup: TrialSetup[AttestSpec], cleanup: ExitStack) -> None:
    """Make each node a disk of its own on its host, which its servers then use; none where processes only crash."""
    spec, resources, store, plan = setup.spec, setup.resources, setup.store, setup.spec.attest
    if plan.means is Means.CRASH:
        return
    disks = f"{plural(spec.nodes, 'disk')} ({plan.file_system.value})"
    resources.observer(PhaseStarted(spec.trial_id, "prepare", disks, None))
    cleanup.callback(store.choose_disks, store.disks, store.journal_disks)
    disk_places = []
    for number, root in enumerate(by_turns(store.disks or (store.data_directory,), spec.nodes), 1):
        place = root / f"disk-{number}"
        cleanup.callback(resources.host.rig.remove_disk, place)
        seat = resources.seats.get(number)
        resources.host.rig.make_disk(place, plan.disk_bytes, plan.file_system.value, seat.link if seat else "")
        disk_places.append(place)
    store.choose_disks(disk_places, ())


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
    """The cycles of one trial as they are carried out. `totals` are those of the last one, or of servers before.

    Attributes:
        why_left: why its servers carry out no more cycles although some are left, a clause; "" while they do.
        generator_error: that of a load generator that failed, after which the cycle is made again.
    """

    trial: RunningTrial[AttestSpec]
    before: AttestOutcome | None
    level: LevelFinding
    totals: TotalFigures | None = None
    took_s: float = 0.0
    why_left: str = ""
    generator_error: GeneratorFailedError | None = None
    _digest: str = ""

    def __post_init__(self) -> None:
        """Find what is kept of before."""
        self._plan = self.trial.spec.attest
        self._kept = self.before.cycles if self.before is not None else ()

    def run(self) -> AttestOutcome:
        """Carry out all cycles that are left, until one can't be finished.

        Raises `RunFailedError` if the first of them can't be carried out, unless servers before have carried out some.
        """
        outcomes: list[CycleOutcome] = list(self._kept)
        has_earlier_servers = self.totals is not None
        if outcomes and not has_earlier_servers:
            done = f"{len(outcomes)} of {len(self._plan.cycles)} cycles were carried out before and are kept"
            self.trial.resources.observer(Note(f"{self.trial.spec.trial_id}: {done}."))
        if not cycles_left(self._plan, outcomes):
            # For the totals that a trial ends with. What it found the first time stays: this one may hide a loss.
            self._carry_out_cycle(self._plan.cycles[-1])
        began_s = time.monotonic()
        while not self.why_left and (left := cycles_left(self._plan, outcomes)):
            cycle = left[0]
            self._report_progress(left, outcomes, began_s)
            try:
                outcomes.append(self._carry_out_cycle(cycle))
            except RunFailedError as error:
                has_begun = len(outcomes) > len(self._kept) or has_earlier_servers
                if not has_begun or isinstance(error, AgentGoneError):
                    raise
                if isinstance(error, GeneratorFailedError):
                    self.generator_error = error
                    self.why_left = f"in cycle {cycle.number} the load generator failed ({error.message.rstrip('.')})"
                    break
                # What the cycles before found is kept; this one makes its scenario inconclusive.
                outcomes.append(
                    CycleOutcome(cycle.number, cycle.scenario, (), 0, unreadable=(error.message,), served=False)
                )
            self.trial.store.write_cycles(self._outcome_of(outcomes))
            last = outcomes[-1]
            if not last.served:
                self.why_left = f"cycle {last.number} could not be finished ({last.unreadable[0].rstrip('.')})"
            elif cycles_left(self._plan, outcomes) and self._has_full_disk():
                self.why_left = f"after cycle {last.number} a disk is nearly full"
        self.took_s = time.monotonic() - began_s
        return self._outcome_of(outcomes)

    def _has_full_disk(self) -> bool:
        """Whether a node's disk may have no room for another cycle: servers keep logs of topics that are deleted."""
        if self._plan.means is Means.CRASH:
            return False
        spaces = self.trial.resources.host.free_space(self.trial.store.disks)
        free_bytes_min = FREE_BYTES_DURING + DISK_FREE_SHARE_MIN * (self._plan.disk_bytes - FREE_BYTES_DURING)
        return any(space.is_there and space.free_bytes < free_bytes_min for space in spaces)

    def _outcome_of(self, outcomes: Sequence[CycleOutcome]) -> AttestOutcome:
        """What was found so far, with the settings of servers before where these came to no cycle."""
        digest_before = self.before.settings_digest if self.before is not None else ""
        return AttestOutcome(self._digest or digest_before, tuple(outcomes))

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

    def _report_progress(self, left: Sequence[Cycle], outcomes: Sequence[CycleOutcome], began_s: float) -> None:
        """Report what begins now, and how long all may take yet."""
        cycle, done, kept = left[0], len(outcomes), len(self._kept)
        if done == kept or cycle.scenario is not outcomes[-1].scenario:
            self.trial.phase("attest", f"{cycle.scenario.value}: {describe_scenario(cycle.scenario, self._plan.means)}")
        left_s = (time.monotonic() - began_s) / (done - kept) * len(left) if done > kept else None
        of_what = f"cycles ({cycle.scenario.value})"
        progress = PhaseProgress(self.trial.spec.trial_id, of_what, done, done + len(left), left_s)
        self.trial.resources.observer(progress)


def cycles_left(plan: AttestPlan, outcomes: Sequence[CycleOutcome]) -> list[Cycle]:
    """The cycles of a plan that are still to be carried out, in order.

    None of a positive control that has lost something, nor of a scenario whose last `UNSERVED_IN_A_ROW_MAX` cycles
    could not be finished.
    """
    if plan.control and any(outcome.lost for outcome in outcomes if outcome.scenario is not Scenario.NONE):
        return []
    given_up = set()
    for scenario in {outcome.scenario for outcome in outcomes}:
        latest = [outcome for outcome in outcomes if outcome.scenario is scenario][-UNSERVED_IN_A_ROW_MAX:]
        if len(latest) == UNSERVED_IN_A_ROW_MAX and not any(outcome.served for outcome in latest):
            given_up.add(scenario)
    numbers = {outcome.number for outcome in outcomes}
    return [cycle for cycle in plan.cycles if cycle.number not in numbers and cycle.scenario not in given_up]


def _result_of_trial(
    spec: AttestSpec,
    started_at: str,
    attestation: _AttestationTrial,
    totals: TotalFigures,
    outcome: AttestOutcome,
) -> AttestResult:
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

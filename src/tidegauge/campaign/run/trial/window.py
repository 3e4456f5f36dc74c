"""A trial with one measured window: what comes before and after it, and what is looked at meanwhile."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TypeVar

from tidegauge.campaign.run.figures import Follower
from tidegauge.campaign.run.running_trial import (
    RunningTrial,
    Settled,
    TrialSetup,
    delete_topics,
    settle_machine,
    with_faults,
)
from tidegauge.campaign.run.trial.order import trial_number
from tidegauge.campaign.run.trial.prepare import prepare_load
from tidegauge.campaign.run.trial.procedure import TrialProcedure
from tidegauge.campaign.run.trial.use import begin_recording, with_use
from tidegauge.campaign.run.witnessing import check_witnesses, with_witness
from tidegauge.errors import RunFailedError
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import TotalFigures
from tidegauge.model.trial import LoadResult, LoadSpec, ReadResult, ReadSpec, Spec
from tidegauge.model.workload import Arrival
from tidegauge.thresholds import AbortRule, AbortWatch, abort_rules_of, parse_abort_rule

Measured = TypeVar("Measured", bound=LoadResult | ReadResult)


def follow_trial(trial: RunningTrial[LoadSpec] | RunningTrial[ReadSpec], begin_ns: int) -> Follower:
    """A follower that takes in what the load generator reports of the trial that begins at an instant."""
    return Follower(
        trial.spec,
        trial.worker,
        trial.store,
        trial.resources.observer,
        trial.check,
        use=trial.use_now,
        begin_mono_ns=begin_ns,
        abort=AbortWatch(_abort_rules_of_trial(trial.spec, trial.resources.abort_on)),
    )


def _abort_rules_of_trial(spec: LoadSpec | ReadSpec, texts: Sequence[str]) -> list[AbortRule]:
    """The rules that may abort a trial. None if its end is decided otherwise: a search's step, late readers, faults.

    What a fault does is what its trial is to show, and a search has limits of its own.
    """
    if not isinstance(spec, LoadSpec) or spec.exploratory or spec.late is not None or spec.faults:
        return []
    closed_loop = spec.workload.arrival is Arrival.CLOSED_LOOP
    rules = [parse_abort_rule(text) for text in texts]
    return abort_rules_of(rules, spec.experiment, spec.system, spec.point, closed_loop=closed_loop)


@dataclass
class CpuUsed:
    """CPU seconds in a window: of the servers, None if others run them, and of Tidegauge's own control."""

    servers_s: float | None = None
    control_s: float = 0.0


@contextlib.contextmanager
def metering_cpu(trial: RunningTrial) -> Iterator[CpuUsed]:
    """Measure the CPU seconds that this block takes, which are known at its end. Raises `RunFailedError`."""
    used = CpuUsed()
    servers_before_s, control_before_s = trial.server_cpu_s(), trial.resources.control_cpu_s()
    yield used
    servers_after_s, control_after_s = trial.server_cpu_s(), trial.resources.control_cpu_s()
    if servers_before_s is not None and servers_after_s is not None:
        used.servers_s = servers_after_s - servers_before_s
    used.control_s = control_after_s - control_before_s


class WindowProcedure(TrialProcedure[Spec, Measured]):
    """A trial with one window, in which it is recorded what servers, load generators and machine use."""

    def settle(self, setup: TrialSetup[Spec], cleanup: ExitStack) -> Settled:
        """Let the machine calm down."""
        return settle_machine(setup)

    def prepare(self, trial: RunningTrial[Spec], cleanup: ExitStack) -> tuple[RunningTrial[Spec], LevelFinding]:
        """Make topics and clients, and check the level by what the servers say and by what they do."""
        trial.phase("prepare", "topics and clients")
        trial, order, level = prepare_load(trial)
        level = with_witness(trial, order, level)
        check_witnesses(trial.spec, level)
        return replace(with_faults(trial, order.topic_names, cleanup), order=order), level

    def carry_out_trial(
        self, trial: RunningTrial[Spec], level: LevelFinding, started_at: str
    ) -> tuple[Measured, TotalFigures]:
        """Measure the window, and judge what was used meanwhile."""
        with contextlib.closing(begin_recording(trial)) as use:
            trial = replace(trial, use=use)
            result, totals = self.carry_out_phases(trial, level, started_at)
        return with_use(trial, result, totals, use.window_use()), totals

    @abstractmethod
    def carry_out_phases(
        self, trial: RunningTrial[Spec], level: LevelFinding, started_at: str
    ) -> tuple[Measured, TotalFigures]:
        """Carry out the phases of which the window is one. Raises `RunFailedError`."""

    def clear_up(self, trial: RunningTrial[Spec]) -> None:
        """Remove what load generators wrote in case that nobody comes for it, and topics on others' cluster."""
        with contextlib.suppress(RunFailedError):  # What stays goes by its age.
            trial.worker.remove_left_results(trial_number(trial.store.directory))
        delete_topics(trial)

"""Makes a trial's faults at their times and lifts them, whatever happens: in a thread of its own, one after the other.

What needs root is done by the host's agent, which undoes it when its lease ends; so a Tidegauge that is killed leaves
no fault in force either.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tidegauge.campaign.run.trial_nodes import TrialNodes
from tidegauge.errors import RunFailedError, TidegaugeError
from tidegauge.model.faults import ALL, LEADER, RANDOM, Fault, FaultResult
from tidegauge.model.load import SecondFigures
from tidegauge.model.rig import Rig
from tidegauge.model.trial import TrialSpec
from tidegauge.statistics.disruption import FaultSpan, LoadSecond, compute_disruption, normal_before
from tidegauge.statistics.histograms import live_ms
from tidegauge.systems.api import Deployment

LOOK_AHEAD_S = 1.5
"""A leader is asked for so long before it is hit: the answer takes its time, and the fault is to begin in time."""
LEADER_S_MAX = 60.0
"""After the fault before, a system may take its time to have leaders again, or to be asked."""
_POLL_S = 0.5


@dataclass
class Injected:
    """A fault as it went, monotonic ns. `lifted_ns` 0: it is in force."""

    fault: Fault
    nodes: tuple[int, ...]
    begin_ns: int
    lifted_ns: int = 0


@dataclass
class Injector:
    """Makes the faults of one trial.

    Attributes:
        disks: by number of a node, the disk of its own; empty where no fault needs one.
        links: by number of a node, its name in the network, and under `KEEPER` that of what is no node; empty where no
            fault needs one.
        read_leaders: asks who leads which partition, the first one first. May raise `RunFailedError`.
        read_missing: what nodes and replicas do not take part yet; "" if all do. May raise `RunFailedError`.
        injected: those that began.
    """

    spec: TrialSpec
    deployment: Deployment
    rig: Rig
    disks: Mapping[int, Path]
    links: Mapping[int, str]
    read_leaders: Callable[[], Mapping[str, int]]
    read_missing: Callable[[], str]
    injected: list[Injected] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _error: TidegaugeError | None = None

    def begin_faults(self, window_from_ns: int) -> None:
        """Faults come at their times after this instant (monotonic ns)."""
        self._thread = threading.Thread(
            target=self._make_all_faults, args=(window_from_ns,), name="faults", daemon=True
        )
        self._thread.start()

    @property
    def has_faults_to_come(self) -> bool:
        """Whether a fault is in force or to come."""
        return self._thread is not None and self._thread.is_alive()

    def check(self) -> None:
        """Raise what kept a fault from being made or lifted."""
        if self._error is not None:
            raise self._error

    def has_recovered(self) -> bool:
        """Whether all nodes and replicas take part again; False if that is unknown."""
        try:
            return not self.read_missing()
        except RunFailedError:
            return False

    def close(self) -> None:
        """Make no more, and lift what is in force. Never raises."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self.spec.faults:
            # An agent that is gone has lifted everything itself.
            with suppress(TidegaugeError, OSError):
                self.rig.lift_all()

    def _make_all_faults(self, from_ns: int) -> None:
        try:
            for number, fault in enumerate(self.spec.faults):
                at_ns = from_ns + round(fault.at_s * 1e9)
                if not self._wait_until(at_ns - round(LOOK_AHEAD_S * 1e9)):
                    return
                nodes = self._choose_nodes(fault, number)
                if not self._wait_until(at_ns):
                    return
                self._make_fault(fault, nodes)
        except TidegaugeError as error:
            self._error = error
        except BaseException as error:
            self._error = RunFailedError(f"A fault could not be made: {type(error).__name__}: {error}")

    def _wait_until(self, until_ns: int) -> bool:
        """Wait until an instant (monotonic ns); False if there is nothing to wait for any more."""
        return not self._ended.wait(max(0.0, (until_ns - time.monotonic_ns()) / 1e9))

    def _choose_nodes(self, fault: Fault, number: int) -> TrialNodes:
        """The nodes to hit. Raises `RunFailedError`, also if the fault is one of disks and none of them keeps data."""
        targets = self._choose_targets(fault, number)
        disks = tuple(self.disks[target] for target in targets if target in self.disks)
        if fault.kind.procedure.needs_disk and not disks:
            # As brokers of Pulsar alone.
            raise RunFailedError(
                f"A fault of disks can't be made on node {', '.join(map(str, targets))}, which keeps no data.",
                "Choose a node by its number: those that keep data come first.",
            )
        return TrialNodes(targets, self.deployment, self.rig, disks, self.links, self.read_missing, self._ended)

    def _choose_targets(self, fault: Fault, number: int) -> tuple[int, ...]:
        """The numbers of the nodes to hit. Raises `RunFailedError`."""
        numbers = [node.number for node in self.deployment.nodes]
        if not numbers:
            raise RunFailedError(f"{self.spec.system} has no nodes that faults could be made on.")
        if fault.target == ALL:
            return tuple(numbers)
        if fault.target == RANDOM:
            return (random.Random(f"{self.spec.seed} fault {number}").choice(numbers),)
        return (self._ask_for_leader() if fault.target == LEADER else int(fault.target),)

    def _ask_for_leader(self) -> int:
        deadline_s = time.monotonic() + LEADER_S_MAX
        problem = "the servers name no leader"
        while True:
            try:
                if leaders := self.read_leaders():
                    return next(iter(leaders.values()))
            except RunFailedError as error:
                problem = error.message
            if time.monotonic() > deadline_s or self._ended.wait(_POLL_S):
                raise RunFailedError(f"No fault could be made on the leader: {problem}.")

    def _make_fault(self, fault: Fault, nodes: TrialNodes) -> None:
        injected = Injected(fault, nodes.numbers, time.monotonic_ns())
        self.injected.append(injected)
        procedure = fault.kind.procedure
        try:
            report = procedure.impose_on(nodes, fault.extent)
            if report is not None:
                # Asking the agent took its time. From the first thread that stands still, the load feels it.
                injected.begin_ns = report.asked_ns
            if procedure.lasts:
                self._wait_until(injected.begin_ns + round(fault.duration_s * 1e9))
        finally:
            procedure.lift_from(nodes)
            injected.lifted_ns = time.monotonic_ns()


def load_second(figures: SecondFigures) -> LoadSecond:
    """The few numbers of a second that are kept where there are faults."""
    subscriptions = figures.subscriptions
    return LoadSecond(
        from_ns=figures.from_mono_ns,
        until_ns=figures.until_mono_ns,
        acked=figures.acked,
        received=min((sub.received for sub in subscriptions), default=0),
        p99_ms=live_ms(figures.response)[1],
        failed=figures.failed,
        duplicated=sum(sub.duplicated for sub in subscriptions),
        reordered=sum(sub.reordered for sub in subscriptions),
        corrupt=sum(sub.corrupt for sub in subscriptions),
    )


def fault_results(
    injected: Sequence[Injected], seconds: Sequence[LoadSecond], window: tuple[int, int], lost: int
) -> tuple[FaultResult, ...]:
    """Figures of each fault. `window`: the measured one, monotonic ns. `lost`: in the whole trial."""
    if not injected:
        return ()
    from_ns, until_ns = window
    normal = normal_before(seconds, injected[0].begin_ns)
    nexts_ns = [*(injection.begin_ns for injection in injected[1:]), None]
    spans = [
        FaultSpan(injection.begin_ns, injection.lifted_ns, next_ns, until_ns)
        for injection, next_ns in zip(injected, nexts_ns, strict=True)
    ]
    return tuple(
        FaultResult(
            fault=injection.fault,
            nodes=injection.nodes,
            from_s=(injection.begin_ns - from_ns) / 1e9,
            until_s=(injection.lifted_ns - from_ns) / 1e9,
            p99_before_ms=normal.p99_ms,
            lost=lost if len(injected) == 1 or not lost else None,
            **vars(compute_disruption(seconds, normal, span)),
        )
        for injection, span in zip(injected, spans, strict=True)
    )

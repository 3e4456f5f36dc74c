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

from tidegauge.errors import RunFailedError, TidegaugeError
from tidegauge.fleet.api import CLIENTS as CLIENTS_LINK
from tidegauge.fleet.api import Rig
from tidegauge.model.faults import (
    ALL,
    BOTH,
    CLIENTS,
    EVERYBODY,
    INTO,
    LEADER,
    RANDOM,
    SERVERS,
    Fault,
    FaultKind,
    FaultResult,
)
from tidegauge.model.load import SecondFigures
from tidegauge.model.trial import TrialSpec
from tidegauge.statistics.disruption import FaultSpan, LoadSecond, disruption, normal_before
from tidegauge.statistics.histograms import live_ms
from tidegauge.systems.api import Deployment

LOOK_AHEAD_S = 1.5
"""A leader is asked for so long before it is hit: the answer takes its time, and the fault is to begin in time."""
LEADER_S_MAX = 60.0
"""After the fault before, a system may take its time to have leaders again, or to be asked."""
BACK_S_MAX = 180.0
"""How long a node may take to take part again before a rolling restart gives up."""
_POLL_S = 0.5


@dataclass
class Injected:
    """A fault as it went, monotonic ns. `lifted_ns` 0: it is in force."""

    fault: Fault
    nodes: tuple[int, ...]
    begin_ns: int = 0
    lifted_ns: int = 0


@dataclass
class Injector:
    """Makes the faults of one trial.

    Attributes:
        disks: by number of a node, the disk of its own; empty where no fault needs one.
        links: by number of a node, its name in the network, and under `KEEPER` that of what is no node; empty where no
            fault needs one.
        leaders: asks who leads which partition, the first one first. May raise `RunFailedError`.
        missing: what nodes and replicas do not take part yet; "" if all do. May raise `RunFailedError`.
        injected: those that began.
    """

    spec: TrialSpec
    deployment: Deployment
    rig: Rig
    disks: Mapping[int, Path]
    links: Mapping[int, str]
    leaders: Callable[[], Mapping[str, int]]
    missing: Callable[[], str]
    injected: list[Injected] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _error: TidegaugeError | None = None

    def begin(self, window_from_ns: int) -> None:
        """Faults come at their times after this instant (monotonic ns)."""
        self._thread = threading.Thread(
            target=self._make_all_faults, args=(window_from_ns,), name="faults", daemon=True
        )
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a fault is in force or to come."""
        return self._thread is not None and self._thread.is_alive()

    def check(self) -> None:
        """Raise what kept a fault from being made or lifted."""
        if self._error is not None:
            raise self._error

    def recovered(self) -> bool:
        """Whether all nodes and replicas take part again; False if that is unknown."""
        try:
            return not self.missing()
        except RunFailedError:
            return False

    def close(self) -> None:
        """Make no more, and lift what is in force. Never raises."""
        self._stop.set()
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
                nodes = self._choose_targets(fault, number)
                if not self._wait_until(at_ns):
                    return
                self._make_fault(Injected(fault, nodes))
        except TidegaugeError as error:
            self._error = error
        except BaseException as error:
            self._error = RunFailedError(f"A fault could not be made: {type(error).__name__}: {error}")

    def _wait_until(self, until_ns: int) -> bool:
        """Wait until an instant (monotonic ns); False if there is nothing to wait for any more."""
        return not self._stop.wait(max(0.0, (until_ns - time.monotonic_ns()) / 1e9))

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
                if leaders := self.leaders():
                    return next(iter(leaders.values()))
            except RunFailedError as error:
                problem = error.message
            if time.monotonic() > deadline_s or self._stop.wait(_POLL_S):
                raise RunFailedError(f"No fault could be made on the leader: {problem}.")

    def _make_fault(self, injected: Injected) -> None:
        injected.begin_ns = time.monotonic_ns()
        self.injected.append(injected)
        try:
            if injected.fault.kind.lasts:
                began_ns = self._impose_fault(injected)
                # Asking the agent may have taken its time.
                injected.begin_ns = began_ns or injected.begin_ns
                self._wait_until(injected.begin_ns + round(injected.fault.duration_s * 1e9))
            else:
                self._restart_nodes(injected)
        finally:
            self._lift_fault(injected)
            injected.lifted_ns = time.monotonic_ns()

    def _impose_fault(self, injected: Injected) -> int:
        """Put a fault in force. Returns the instant (monotonic ns) at which that began; 0 if no agent reports it."""
        fault, rig, kind, nodes = injected.fault, self.rig, injected.fault.kind, injected.nodes
        if kind is FaultKind.KILL:
            self._mark_down(nodes)
            rig.kill(self._processes_of(nodes))
        elif kind is FaultKind.PAUSE:
            rig.pause(self._processes_of(nodes))
        elif kind is FaultKind.POWER_CUT:
            places = self._disks_of(nodes)
            self._mark_down(nodes)
            # From the first thread that stands still, the load feels it.
            return rig.cut_power(self._processes_of(nodes), places).asked_ns
        elif kind is FaultKind.SLOW_DISK:
            for place in self._disks_of(nodes):
                rig.throttle_disk(place, fault.bytes_per_s, fault.ops_per_s)
        elif kind is FaultKind.HUNG_DISK:
            for place in self._disks_of(nodes):
                rig.hang_disk(place)
        for number in nodes:
            if kind is FaultKind.PACKET_LOSS:
                rig.lose_packets(self.links[number], fault.share or 0.0)
            elif kind is FaultKind.RATE_LIMIT:
                rig.limit_rate(self.links[number], fault.bytes_per_s)
            elif kind is FaultKind.PARTITION:
                self._cut_off(number, fault)
        return 0

    def _cut_off(self, number: int, fault: Fault) -> None:
        peers = [name for other, name in self.links.items() if other != number and fault.peers in (SERVERS, EVERYBODY)]
        peers += [CLIENTS_LINK] if fault.peers in (CLIENTS, EVERYBODY) else []
        node_links = [self.links[number]]
        sources, targets = (peers, node_links) if fault.ways == INTO else (node_links, peers)
        self.rig.partition(sources, targets, both_ways=fault.ways == BOTH)

    def _lift_fault(self, injected: Injected) -> None:
        """Undo a fault. Raises `TidegaugeError`."""
        rig, kind = self.rig, injected.fault.kind
        places = [self.disks[number] for number in injected.nodes if number in self.disks]
        if kind in (FaultKind.KILL, FaultKind.POWER_CUT):
            # At the end of the trial a node would be started only to be ended.
            for number in () if self._stop.is_set() else injected.nodes:
                self.deployment.start_node(number)
        elif kind is FaultKind.PAUSE:
            rig.resume(self._processes_of(injected.nodes))
        elif kind is FaultKind.SLOW_DISK:
            for place in places:
                rig.throttle_disk(place)
        elif kind is FaultKind.HUNG_DISK:
            for place in places:
                rig.unhang_disk(place)
        elif kind is FaultKind.PARTITION:
            rig.heal()
        elif kind is FaultKind.PACKET_LOSS:
            for number in injected.nodes:
                rig.lose_packets(self.links[number], 0.0)
        elif kind is FaultKind.RATE_LIMIT:
            for number in injected.nodes:
                rig.limit_rate(self.links[number], None)

    def _restart_nodes(self, injected: Injected) -> None:
        """Stop and start nodes: those of a restart together, those of a rolling one each when the last is back."""
        if injected.fault.kind is FaultKind.RESTART:
            for number in injected.nodes:
                self.deployment.stop_node(number)
            for number in injected.nodes:
                self.deployment.start_node(number)
            return
        for number in injected.nodes:
            self.deployment.stop_node(number)
            self.deployment.start_node(number)
            if not self._await_node(number):
                return

    def _await_node(self, number: int) -> bool:
        """Wait until a node takes part again; False if nobody waits any more. Raises `RunFailedError`."""
        deadline_s = time.monotonic() + BACK_S_MAX
        while True:
            try:
                missing = self.missing()
            except RunFailedError as error:
                missing = error.message
            if not missing:
                return True
            if self._stop.wait(_POLL_S):
                return False
            self.deployment.check_alive()
            if time.monotonic() > deadline_s:
                raise RunFailedError(
                    f"Node {number} did not take part again within {BACK_S_MAX:.0f} s of its restart: {missing}."
                )

    def _mark_down(self, nodes: Sequence[int]) -> None:
        for number in nodes:
            self.deployment.set_down(number)

    def _processes_of(self, nodes: Sequence[int]) -> list[str]:
        return [name for node in self.deployment.nodes if node.number in nodes for name in node.processes]

    def _disks_of(self, nodes: Sequence[int]) -> list[Path]:
        """The disks of those nodes that keep data. Raises `RunFailedError` if none does, as brokers of Pulsar alone."""
        disks = [self.disks[number] for number in nodes if number in self.disks]
        if not disks:
            numbers = ", ".join(map(str, nodes))
            raise RunFailedError(
                f"A fault of disks can't be made on node {numbers}, which keeps no data.",
                "Choose a node by its number: those that keep data come first.",
            )
        return disks


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
            **vars(disruption(seconds, normal, span)),
        )
        for injection, span in zip(injected, spans, strict=True)
    )

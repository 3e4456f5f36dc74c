"""What every trial of a run is made with, on one host or on those of a fleet."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tidegauge.agent.api import Host
from tidegauge.campaign.plan.generators import generators_of_trial, sharing_of
from tidegauge.campaign.plan.memory import Workers
from tidegauge.campaign.plan.plan import Plan
from tidegauge.campaign.run.disturbed import disturbance_decides
from tidegauge.hosts.memory import Machine, drop_page_cache, this_machine
from tidegauge.model.attest import Attestation
from tidegauge.model.ceilings import Calibration, RunCeilings
from tidegauge.model.events import Note, Observer
from tidegauge.model.host import HostLink
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution
from tidegauge.model.trial import AttestSpec, TrialSpec
from tidegauge.store import known_attestations
from tidegauge.systems.api import KEEPER, Seat
from tidegauge.worker.api import LoadWorker
from tidegauge.worker.archive import Archives
from tidegauge.worker.launch import WorkerHosts, WorkerOptions, start_workers

if TYPE_CHECKING:
    from tidegauge.campaign.run.apart import Apart


@dataclass(kw_only=True)
class RunResources(ABC):
    """What every trial of a run is made with.

    Attributes:
        host: that of the servers; of a fleet all hosts as one.
        ceilings: what the machine can do at most; None if that is not known.
        calibrations: what load generators make, by message size, as far as that is known.
        disturbance_decides: whether trials wait for other programs to end, and are as valid as those leave them.
        seats: by number of a node, where it is on a fleet's hosts; empty = on this one.
        links: what a fleet's hosts can send and receive, by address.
        abort_on: the campaign's rules that end a trial early, as texts.
    """

    host: Host
    observer: Observer
    ceilings: RunCeilings | None = None
    calibrations: Sequence[Calibration] = ()
    disturbance_decides: bool = False
    seats: Mapping[int, Seat] = field(default_factory=dict)
    links: Mapping[str, HostLink] = field(default_factory=dict)
    abort_on: Sequence[str] = ()
    _reasons_to_keep: set[str] = field(default_factory=set, init=False)

    @property
    def hosts_of_nodes(self) -> Mapping[int, str]:
        """The address of each node's host on a fleet; empty = this one."""
        return {number: seat.address for number, seat in self.seats.items() if number != KEEPER}

    @property
    def hosts_of_workers(self) -> Sequence[str]:
        """The address of each load generator's host on a fleet; () = all are on one."""
        return ()

    @abstractmethod
    def start_worker(self, driver: str, logs: Path, spec: TrialSpec) -> LoadWorker:
        """Start the load generator for a trial, the first of those that share it. Raises `RunFailedError`."""

    @abstractmethod
    def drop_page_caches(self, written: Sequence[Path]) -> str:
        """Write these directories' file systems back and drop the page cache; why that can't be done, "" if it is."""

    @abstractmethod
    def control_cpu_s(self) -> float:
        """CPU seconds that Tidegauge's own control has used so far."""

    @abstractmethod
    def provision(self, distribution: Distribution) -> None:
        """See that the servers' hosts have the files that are here. Raises `RunFailedError`, `UserError`."""

    @abstractmethod
    def end_provisioning(self) -> None:
        """Leave what was needed only until all hosts had all files."""

    def attestations_of(self, system: str, choice: LevelChoice, settings_digest: str) -> Sequence[Attestation]:
        """What is known of a system's version at a level with settings of a digest."""
        return known_attestations(system, choice, settings_digest)

    def drop_page_cache(self, written: Sequence[Path]) -> str:
        """Drop the page cache as `drop_page_caches` does, and say once why that can't be done."""
        reason = self.drop_page_caches(written)
        if reason and reason not in self._reasons_to_keep:
            self._reasons_to_keep.add(reason)
            self.observer(Note(f"The page cache is not always dropped between trials ({reason}); reads may be faster."))
        return reason


class WorkerStarter:
    """Starts load generators as a plan needs them: large enough, and all with archives or none."""

    def __init__(self, plan: Plan, machine: Machine, uses_archives: bool | None) -> None:
        """`machine`: that of the load generators. `uses_archives`: as an earlier session of the run has decided."""
        self._choice = plan.campaign.worker
        self._memory = Workers(plan.trials, self._choice, machine, sharing_of(plan))
        self._archives = Archives({step.contender.implementation.driver for step in plan.steps}, uses_archives)

    def start(
        self, host: Host, driver: str, logs: Path, spec: TrialSpec, elsewhere: WorkerHosts | None = None
    ) -> LoadWorker:
        """Start those of a trial, `elsewhere` or on `host`; one alone for an attestation. Raises `RunFailedError`."""
        memory = self._memory.memory_of_trial(spec)
        options = WorkerOptions(
            memory.heap_mb,
            memory.direct_memory_mb,
            self._choice.jvm,
            spin_share_max=self._choice.precision,
            grain_ns=self._choice.grain_ns,
            archives=self._archives,
        )
        count = generators_of_trial(spec, self._choice)
        return start_workers(
            host, driver, logs, options, count, elsewhere=elsewhere.of_first(count) if elsewhere else None
        )


@dataclass(kw_only=True)
class HostResources(RunResources):
    """Servers and load generators are on this host."""

    starter: WorkerStarter

    def start_worker(self, driver: str, logs: Path, spec: TrialSpec) -> LoadWorker:
        """Start the load generator here."""
        return self.starter.start(self.host, driver, logs, spec)

    def drop_page_caches(self, written: Sequence[Path]) -> str:
        """Drop this host's page cache."""
        return drop_page_cache(written)

    def control_cpu_s(self) -> float:
        """CPU seconds of this process and of the agent."""
        return time.process_time() + self.host.agent_cpu_s()

    def provision(self, distribution: Distribution) -> None:
        """Do nothing: the files are here."""

    def end_provisioning(self) -> None:
        """Do nothing: nothing was needed."""


@dataclass(kw_only=True)
class FleetResources(RunResources):
    """Servers are on a fleet's hosts, and load generators on others of them or on this one, whose agent is `agent`."""

    starter: WorkerStarter
    agent: Host
    apart: Apart

    @property
    def hosts_of_workers(self) -> Sequence[str]:
        """The address of each load generator's host; () where they are on this one."""
        return self.apart.load.addresses() if self.apart.load else ()

    def start_worker(self, driver: str, logs: Path, spec: TrialSpec) -> LoadWorker:
        """Start the load generator where the fleet has it; for an attestation here."""
        load_hosts = None if isinstance(spec, AttestSpec) else self.apart.load
        return self.starter.start(self.host if load_hosts else self.agent, driver, logs, spec, load_hosts)

    def drop_page_caches(self, written: Sequence[Path]) -> str:
        """Drop the page caches of all servers' hosts."""
        return self.apart.host.drop_page_cache(written)

    def control_cpu_s(self) -> float:
        """CPU seconds of this process and of this host's agent."""
        return time.process_time() + self.agent.agent_cpu_s()

    def provision(self, distribution: Distribution) -> None:
        """Get a system's version on every host."""
        self.apart.provision(distribution)

    def end_provisioning(self) -> None:
        """Leave the launcher: what remains is up to agents."""
        self.apart.leave_launcher()


def resources_of(
    plan: Plan,
    host: Host,
    observer: Observer,
    *,
    ceilings: RunCeilings | None,
    calibrations: Sequence[Calibration],
    apart: Apart | None,
    uses_archives: bool | None,
) -> RunResources:
    """What the trials of a plan are made with on this `host`, or where servers are `apart`. Raises `UserError`."""
    decides = disturbance_decides()
    machine = apart.machine if apart and apart.machine else this_machine()
    starter = WorkerStarter(plan, machine, uses_archives)
    if apart is None:
        return HostResources(
            host=host,
            observer=observer,
            ceilings=ceilings,
            calibrations=calibrations,
            disturbance_decides=decides,
            abort_on=plan.campaign.abort_on,
            starter=starter,
        )
    return FleetResources(
        host=apart.host,
        observer=observer,
        ceilings=ceilings,
        calibrations=calibrations,
        disturbance_decides=decides,
        abort_on=plan.campaign.abort_on,
        seats=apart.seats,
        links=apart.links,
        starter=starter,
        agent=host,
        apart=apart,
    )

"""What a trial works with: the servers or the cluster of others, the load generator, and when they are ready."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Generic

from typing_extensions import TypeVar

from tidegauge.agent.api import Host
from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.plan.fairness import FairnessWatch
from tidegauge.campaign.run.disturbed import await_calm_cpus
from tidegauge.campaign.run.injection import Injector
from tidegauge.campaign.run.node_limits import Limited, NodeRig, limit_servers, rig_nodes
from tidegauge.campaign.run.resources import RunResources
from tidegauge.campaign.run.telemetry import UseRecorder
from tidegauge.campaign.run.topics import Attachment, Topics, topics_for
from tidegauge.errors import AccessRefusedError, RunFailedError, StartFailedError
from tidegauge.hosts import space
from tidegauge.hosts.fsync import Calm, slowest_disk
from tidegauge.model.events import Note, PhaseStarted, UseNow
from tidegauge.model.sending import Sending
from tidegauge.model.server import Distribution, Setting, has_own_hosts
from tidegauge.model.trial import AttestSpec, LoadSpec, Spec, TrialSpec
from tidegauge.store.trial import TrialStore
from tidegauge.systems.api import Deployment, DeployRequest, System
from tidegauge.systems.attached import AttachedCluster
from tidegauge.worker.api import LoadOrder, LoadWorker


class SharedServers:
    """Keeps what a trial that shares its servers leaves running, until a trial wants others or nobody wants it more.

    At most one deployment at a time: systems take turns. `earlier_trial` is the one that started it and holds its
    logs; `wanted` is what it was started as (see `campaign.plan.contenders.Contender`).
    """

    def __init__(self) -> None:
        self.earlier_trial: RunningTrial | None = None
        self.wanted = ""
        self._cleanup = ExitStack()

    def keep(self, trial: RunningTrial, wanted: str, cleanup: ExitStack) -> None:
        """Take over what is running, with what ends it."""
        self.earlier_trial, self.wanted = trial, wanted
        self._cleanup = cleanup.pop_all()

    def close(self) -> None:
        """End what is kept. Does nothing without it."""
        self.earlier_trial = None
        self._cleanup.close()


READY_S_MAX = 120.0
READY_S_MAX_NEXT_NODE = 60.0
"""More for each further node: on one machine they start on the same CPUs. A server that ends is noticed at once."""
ATTACHED_READY_S_MAX = 15.0
"""A cluster that others run is up already: what it refuses now it will refuse later."""
COMPLETE_S_MAX = 60.0
_READY_POLL_S = 0.2
_PROBE_S = 5.0
_PROBE_S_MAX = 30.0
_PROBE_GROWTH = 1.5
"""Each try makes a topic: on a busy machine, tries that are all given up too early would go on for ever."""


@dataclass(frozen=True)
class Subject:
    """What a trial is about: the system, its files, and how the campaign wants it; or the way to others' cluster.

    `wanted` is equal for trials that could use the same servers.
    """

    system: System
    distribution: Distribution
    choice: SystemChoice
    attachment: Attachment | None = None
    wanted: str = ""


@dataclass(frozen=True)
class BeganWith:
    """Topics of a trial, and the settings that servers and clients had before any load."""

    topics: tuple[str, ...]
    server_settings: tuple[Setting, ...]
    client_settings: tuple[Setting, ...]


Spec_co = TypeVar("Spec_co", bound=TrialSpec, covariant=True, default=TrialSpec)


@dataclass(frozen=True)
class RunningTrial(Generic[Spec_co]):
    """A trial with everything running. Of an attached cluster `spec.nodes` is what it reported, once it is ready."""

    spec: Spec_co
    resources: RunResources
    store: TrialStore
    subject: Subject
    deployment: Deployment
    worker: LoadWorker
    topics: Topics
    disk: Calm | None
    cache_dropped: bool | None = None
    limits: tuple[str, ...] = ()
    """Which of the limits that the spec asks for could not be set, and why."""
    node_rig: NodeRig = field(default_factory=NodeRig)
    fairness: FairnessWatch | None = None
    """Compares what is in force with other systems' trials."""
    faults: Injector | None = None
    """Makes the spec's faults; None without any, and until topics are known."""
    use: UseRecorder | None = None
    """Records what is used, from warm-up to the end of the drain."""
    room: space.FreeRoom = field(default_factory=space.FreeRoom)
    sending: Sending | None = None
    """How producers send, as they reported it; None until they are there, and where nothing is sent."""
    order: LoadOrder | None = None
    """What the load generator was told; None until it was."""
    began_with: BeganWith | None = None
    """What was in force when the load began; None until then."""

    @property
    def ready_s_max(self) -> float:
        """How long to wait for the first message there and back."""
        if self.spec.attached:
            return ATTACHED_READY_S_MAX
        started_s = READY_S_MAX + READY_S_MAX_NEXT_NODE * (self.spec.nodes - 1)
        return max(started_s, self.spec.attest.serve_s_max) if isinstance(self.spec, AttestSpec) else started_s

    def phase(self, name: str, detail: str = "", seconds_max: float | None = None) -> None:
        """Report what begins now."""
        self.resources.observer(PhaseStarted(self.spec.trial_id, name, detail, seconds_max))

    def check(self) -> None:
        """Raise what must end the trial."""
        self.deployment.check_alive()
        if self.faults is not None:
            self.faults.check()
        if not self.spec.attached:
            space.check_during(self.resources.host.free_space(server_directories(self.store)), self.room)

    def worker_runs(self) -> bool:
        """Whether every process of the load generator is up."""
        return all(self.resources.host.status(name).running for name in self.worker.processes)

    def use_now(self) -> UseNow | None:
        """What is being used; None where nobody looks."""
        return self.use.latest if self.use else None

    def use_window(self, from_ns: int, until_ns: int = 0) -> None:
        """Sum up the use from an instant on, until another one (0 = until that is set)."""
        if self.use is not None:
            self.use.set_window(from_ns, until_ns)

    def server_cpu_s(self) -> float | None:
        """CPU seconds of all server processes since they started; None if others run them."""
        if self.spec.attached:
            return None
        return sum(self.resources.host.status(process).cpu_s for process in self.deployment.processes)

    def server_read_bytes(self) -> int | None:
        """What all server processes read from block devices since they started; None if that is unknown."""
        if self.spec.attached:
            return None
        all_read_bytes = [self.resources.host.status(process).read_bytes for process in self.deployment.processes]
        known_read_bytes = [read_bytes for read_bytes in all_read_bytes if read_bytes is not None]
        return sum(known_read_bytes) if len(known_read_bytes) == len(all_read_bytes) else None


@dataclass(frozen=True)
class TrialSetup(Generic[Spec_co]):
    """What a trial is to be made of.

    Attributes:
        earlier_trial: the one whose servers it goes on with; None = it starts its own.
        fairness: compares what it finds in force with other systems' trials; None = there is nothing to compare.
    """

    spec: Spec_co
    subject: Subject
    resources: RunResources
    store: TrialStore
    earlier_trial: RunningTrial | None = None
    fairness: FairnessWatch | None = None


@dataclass(frozen=True)
class Settled:
    """How calm the servers' machine is before they start.

    Attributes:
        disk: the slowest of those that messages are written to; None if that is not known.
        cache_dropped: whether the page cache is empty; None where no servers are started after it.
    """

    disk: Calm | None = None
    cache_dropped: bool | None = None


def settle_machine(setup: TrialSetup) -> Settled:
    """Drop the page cache, and wait until CPUs and disks are as calm as they get. Raises `RunFailedError`."""
    spec, resources, store = setup.spec, setup.resources, setup.store
    why_kept = _drop_page_cache(spec, resources, store, setup.earlier_trial)
    store.write_page_cache(not why_kept, why_kept)
    awaits_cpus, awaits_disks = resources.disturbance_decides, spec.has_servers_of_run
    parts = [part for part, awaited in (("CPUs", awaits_cpus), ("disks", awaits_disks)) if awaited]
    if parts:
        resources.observer(PhaseStarted(spec.trial_id, "settle", " and ".join(parts), None))
    if awaits_cpus:
        await_calm_cpus(resources.host, resources.observer, spec.trial_id)
    disk = _await_calm_disks(resources, _message_directories(store)) if awaits_disks else None
    return Settled(disk, None if spec.attached or setup.earlier_trial else not why_kept)


def start_trial(setup: TrialSetup[Spec], settled: Settled, cleanup: ExitStack) -> RunningTrial[Spec]:
    """Start servers and load generator, or take those that are running already, or the cluster of others.

    What was started, and the topics made on others' cluster, are registered in `cleanup` for their end. Raises
    `StartFailedError`.
    """
    spec, subject, resources, store = setup.spec, setup.subject, setup.resources, setup.store
    store.write_distribution(subject.distribution)
    topics = topics_for(spec, subject.system, subject.attachment)
    cleanup.callback(topics.close)
    if setup.earlier_trial is not None:
        deployment, worker = setup.earlier_trial.deployment, setup.earlier_trial.worker
        # One may have ended since the trial before was over, of what that trial did to it.
        deployment.check_alive()
        trial = RunningTrial(
            spec, resources, store, subject, deployment, worker, topics, settled.disk, fairness=setup.fairness
        )
        _register_topics(trial, cleanup)
        return trial
    what = spec.system if spec.has_servers_of_run else f"the load generator for {spec.system}"
    resources.observer(PhaseStarted(spec.trial_id, "start", what, None))
    limited, node_rig = Limited(resources.host), NodeRig(seats=resources.seats)
    if isinstance(spec, LoadSpec):
        data = _message_directories(store) if spec.has_servers_of_run else []
        limited = limit_servers(spec, resources.host, data, cleanup, resources.seats)
        machines = subject.system.machines(spec.nodes, subject.choice.shape) if spec.faults else 0
        node_rig = rig_nodes(spec, machines, resources.host, store, cleanup, seats=resources.seats)
    deployment = start_servers(setup, limited.host, node_rig)
    cleanup.callback(deployment.stop)
    worker = resources.start_worker(subject.system.driver, store.log_directory, spec)
    cleanup.callback(worker.close)
    trial = RunningTrial(
        spec=spec,
        resources=resources,
        store=store,
        subject=subject,
        deployment=deployment,
        worker=worker,
        topics=topics,
        disk=settled.disk,
        cache_dropped=settled.cache_dropped,
        limits=limited.problems,
        node_rig=node_rig,
        fairness=setup.fairness,
    )
    _register_topics(trial, cleanup)
    return trial


def make_ready(setup: TrialSetup[Spec], trial: RunningTrial[Spec]) -> RunningTrial[Spec]:
    """Wait until what was started serves; the trial as the servers report it. Raises `StartFailedError`."""
    if setup.earlier_trial is None:
        trial.phase("ready", f"until {trial.spec.system} accepts and delivers a message", trial.ready_s_max)
        await_ready(trial)
    if not trial.spec.attached:
        return trial
    # A cluster of others may report how many nodes it has.
    nodes = _nodes_reported(trial, _settings_in_force(trial, ()))
    return replace(trial, spec=replace(trial.spec, nodes=nodes)) if nodes else trial


def _drop_page_cache(spec: TrialSpec, resources: RunResources, store: TrialStore, running: RunningTrial | None) -> str:
    """Empty the page cache of the servers' machines before these start; why that is not done, "" if it is."""
    if spec.attached:
        return "others run the servers, whose page cache is left alone"
    if running is not None:
        return f"the servers of {running.spec.trial_id} go on, and their logs are there"
    return resources.drop_page_cache([store.directory, *_message_directories(store)])


def with_faults(trial: RunningTrial[Spec], topics: Sequence[str], cleanup: ExitStack) -> RunningTrial[Spec]:
    """The trial with what makes its faults, if it has any; lifted, whatever ends the trial."""
    if not trial.spec.faults:
        return trial
    injector = Injector(
        spec=trial.spec,
        deployment=trial.deployment,
        rig=trial.resources.host.rig,
        disks=trial.node_rig.disks,
        links={number: seat.link for number, seat in trial.node_rig.seats.items()},
        read_leaders=lambda: trial.deployment.leaders(_describe_topics(trial, topics[:1])),
        read_missing=lambda: missing_parts(trial, topics),
    )
    cleanup.callback(injector.close)
    return replace(trial, faults=injector)


def start_servers(setup: TrialSetup, host: Host, node_rig: NodeRig) -> Deployment:
    """Start servers of our own on `host`, or take the cluster of others. Raises `StartFailedError`."""
    spec, subject, store = setup.spec, setup.subject, setup.store
    if subject.attachment is not None:
        return subject.attachment.cluster(subject.system, spec.choice)
    attests = isinstance(spec, AttestSpec)
    # An attestation has made each node a disk of its own, and so has what makes faults of disks.
    own_disks = not attests and not node_rig.disks and has_own_hosts(setup.resources.hosts_of_nodes, spec.nodes)
    request = DeployRequest(
        distribution=subject.distribution,
        nodes=spec.nodes,
        choice=spec.choice,
        data_directory=store.data_directory,
        log_directory=store.log_directory,
        heap_mb=subject.choice.heap_mb,
        direct_memory_mb=subject.choice.direct_memory_mb,
        settings=subject.choice.settings,
        shape=subject.choice.shape,
        jvm=subject.choice.jvm,
        disks=tuple(node_rig.disks.values()) or store.disks,
        journal_disks=() if node_rig.disks else store.journal_disks,
        seats=node_rig.seats,
        own_disks=own_disks,
        starts_often=attests,
    )
    return subject.system.deploy(request, host)


def _register_topics(trial: RunningTrial, cleanup: ExitStack) -> None:
    """See that topics are deleted, whatever ends the trial, and known to the next start; before any is made."""
    cleanup.callback(delete_topics, trial)
    trial.topics.used_by(*trial.worker.pids)


def delete_topics(trial: RunningTrial) -> None:
    """Delete topics on others' cluster and say what could not be deleted. Does nothing the second time."""
    if not_deleted := trial.topics.delete(trial.worker, trial.subject.system.driver, trial.deployment.connection):
        trial.resources.observer(Note(not_deleted))


def server_directories(store: TrialStore) -> list[Path]:
    """Every directory that holds server data of the trial."""
    return list(dict.fromkeys((store.data_directory, *store.disks, *store.journal_disks)))


def _message_directories(store: TrialStore) -> tuple[Path, ...]:
    """The directories that messages are written to."""
    return (*(store.disks or (store.data_directory,)), *store.journal_disks)


def _await_calm_disks(resources: RunResources, directories: Sequence[Path]) -> Calm | None:
    """Wait until the disks are about as fast as usual; None if that can't be measured, which is said."""
    calm_disks: list[Calm] = []
    waited_for: set[tuple[str, int]] = set()
    spaces = resources.host.free_space(directories)
    for place in directories:
        disks = {space.disk for space in spaces if space.place == place}
        # Waiting for the same disk several times would show nothing new.
        if disks <= waited_for:
            continue
        waited_for |= disks
        try:
            calm_disks.append(resources.host.calm_disk(place.parent))
        except RunFailedError as error:
            resources.observer(Note(error.message))
    return slowest_disk(calm_disks) if calm_disks else None


def await_ready(trial: RunningTrial) -> None:
    """Wait until a message goes there and back and all nodes take part.

    Raises `StartFailedError` with the cause if that never happens.
    """
    deadline_s = time.monotonic() + trial.ready_s_max
    probe_s = _PROBE_S
    while True:
        trial.check()
        error: RunFailedError | None = None
        missing = ""
        began_s = time.monotonic()
        try:
            _probe_once(trial, probe_s)
            several = trial.spec.nodes > 1 and not trial.spec.attached
            _, missing = _read_back(trial, ()) if several else ([], "")
            if not missing:
                return
        except RunFailedError as caught:
            if trial.spec.attached and isinstance(caught, AccessRefusedError):
                raise _not_ready(trial, f"refused access: {caught.message}") from caught
            if trial.spec.attached and caught.topic_refused:
                # Its answer, which the next would be like.
                raise _not_ready(trial, f"refused a topic: {caught.message}", topic_refused=True) from caught
            trial.check()
            if not trial.worker_runs():
                raise
            error = caught
            if time.monotonic() - began_s >= probe_s:
                probe_s = min(probe_s * _PROBE_GROWTH, _PROBE_S_MAX)
        if time.monotonic() > deadline_s:
            cause = missing or trial.deployment.last_words() or str(error)
            problem = f"was not ready within {trial.ready_s_max:.0f} s: {cause}"
            raise _not_ready(trial, problem) from error
        time.sleep(_READY_POLL_S)


def _probe_once(trial: RunningTrial, seconds_max: float) -> None:
    """Send one message there and back. Raises `RunFailedError`."""
    if trial.spec.attached:
        # Whoever is not let in makes no topic, so none need be recorded.
        _settings_in_force(trial, ())
    topic = trial.topics.probe()
    try:
        trial.worker.probe(
            trial.subject.system.driver,
            trial.deployment.connection,
            seconds_max,
            topic,
            copies_of_cluster=trial.spec.attached,
        )
    except RunFailedError as error:
        if error.topic_refused:
            trial.topics.drop(topic)
        raise


def _nodes_reported(trial: RunningTrial, settings: Sequence[Setting]) -> int | None:
    cluster = trial.deployment
    return cluster.nodes_in(settings) if isinstance(cluster, AttachedCluster) else trial.spec.nodes


def _describe_topics(trial: RunningTrial, topics: Sequence[str]) -> list[Setting]:
    """What clients report about topics: without asking each node for its settings, of which one may be starting."""
    return trial.worker.describe(trial.subject.system.driver, trial.deployment.connection, list(topics))


def _settings_in_force(trial: RunningTrial, topics: Sequence[str]) -> list[Setting]:
    try:
        return trial.deployment.read_back(partial(_describe_topics, trial), list(topics))
    except RunFailedError:
        trial.check()  # A server that has ended is the cause, and says more than who could not ask it.
        raise


def _read_back(trial: RunningTrial, topics: Sequence[str]) -> tuple[list[Setting], str]:
    """The servers' settings in force, and what replicas are still missing; "" if none are."""
    settings = _settings_in_force(trial, topics)
    # How many nodes others' cluster should have, only they know.
    nodes = _nodes_reported(trial, settings) or 1
    return settings, trial.subject.system.incomplete(settings, nodes)


def missing_parts(trial: RunningTrial, topics: Sequence[str]) -> str:
    """What nodes and replicas do not take part yet; "" if all do. Raises `RunFailedError`."""
    return _read_back(trial, evenly_spread(topics))[1]


def read_again(trial: RunningTrial, topics: Sequence[str]) -> list[Setting]:
    """The servers' settings in force now, without secrets. Raises `RunFailedError`."""
    settings = _settings_in_force(trial, evenly_spread(topics))
    attachment = trial.subject.attachment
    return settings if attachment is None else attachment.without_secrets(settings)


TOPICS_READ_MAX = 1000
"""Reading a topic back takes several requests, of tens of thousands longer than what is to be measured."""


def evenly_spread(topics: Sequence[str], most: int = TOPICS_READ_MAX) -> Sequence[str]:
    """All topics, or so many of them that are evenly spread, the first among them. Pure."""
    return topics if len(topics) <= most else [topics[number * len(topics) // most] for number in range(most)]


def await_complete(trial: RunningTrial, topics: Sequence[str], seconds_max: float | None = None) -> list[Setting]:
    """The settings read back once every replica takes part; of very many topics those of some (`evenly_spread`).

    Servers of our own are asked again while they do not answer: a node that was just started may not yet. Raises
    `StartFailedError` with what is missing, `RunFailedError` if others' cluster does not answer or the worker is gone.
    """
    seconds_max = COMPLETE_S_MAX if seconds_max is None else seconds_max
    deadline_s = time.monotonic() + seconds_max
    while True:
        error: RunFailedError | None = None
        try:
            settings, missing = _read_back(trial, evenly_spread(topics))
            if not missing:
                return settings
        except RunFailedError as caught:
            if trial.spec.attached or not trial.worker_runs():
                raise
            error, missing = caught, caught.message
        trial.check()
        if time.monotonic() > deadline_s:
            raise _not_ready(trial, f"was not fully replicated within {seconds_max:.0f} s: {missing}") from error
        time.sleep(0.2)


TOPIC_REFUSED_HINT = (
    "The cluster was reached and refuses topics as they are asked for: see what it allows (settings, copies, names, "
    "rights), or name topics that exist with 'existing-topics'."
)


def _not_ready(trial: RunningTrial, problem: str, *, topic_refused: bool = False) -> StartFailedError:
    if not trial.spec.attached:
        hint = "See the servers' logs; a slow machine may need fewer things running beside."
    elif topic_refused:
        hint = TOPIC_REFUSED_HINT
    else:
        hint = "Check address, TLS, authentication and rights in 'attach', and the state of the cluster."
    return StartFailedError(f"{trial.spec.system} {problem}", hint, trial.store.log_directory)

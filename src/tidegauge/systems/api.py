"""What a messaging system must offer to be measured, and what it can offer. Only its own package knows more.

That package exposes `SYSTEM: System`; `systems.registry` finds it. docs/adding-a-system.md says how to write one, and
tests/toylog is one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tidegauge.agent.api import Host
from tidegauge.config.properties import JavaProperty
from tidegauge.distribution.coordinates import Recipe
from tidegauge.durability import NODES_FOR_REPLICATION, describe_choice, level_named
from tidegauge.errors import RunFailedError, UserError
from tidegauge.fairness import Case, ClientFacts, Hazard, neutral_facts
from tidegauge.hosts.abilities import Probe
from tidegauge.model.host import ClientKinds, ProcessMemory
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Distribution, Handles, Setting, by_turns, node_disks
from tidegauge.model.workload import SubscriptionType, Workload
from tidegauge.numbers import whole_number
from tidegauge.systems.attach import AttachRules, ClientProperties
from tidegauge.systems.metrics import Endpoint, Metric

if TYPE_CHECKING:
    from tidegauge.systems.attached import AttachedCluster, AttachRequest
    from tidegauge.systems.client_settings import ClientSettingRules
    from tidegauge.systems.server_settings import ServerSettings


@dataclass(frozen=True)
class Node:
    """One machine's share of a deployment.

    Attributes:
        number: from 1, as in names of processes.
        processes: names on the host that lose power together, in the order of starting them; () where others run it.
        directories: where they keep what must survive a power cut: data, journal, metadata. () if they keep nothing.
    """

    number: int
    processes: tuple[str, ...]
    directories: tuple[Path, ...]


@dataclass(frozen=True)
class Seat:
    """A node's place in a network of the nodes' own: its address, and its name there (`ProcessSpec.network_node`).

    `interface`: what has the address.
    """

    address: str
    link: str
    interface: str = "eth0"


KEEPER = 0
"""The number of the seat of what belongs to no node, such as a ZooKeeper."""
LOOPBACK = Seat("127.0.0.1", "", "lo")
"""Where a node is without such a network: among everything else on the host."""


def node_of(nodes: tuple[Node, ...], number: int) -> Node:
    """The node with this number. Raises `RunFailedError` if there is none."""
    for node in nodes:
        if node.number == number:
            return node
    numbers_of_nodes = ", ".join(str(node.number) for node in nodes) or "none that Tidegauge started"
    raise RunFailedError(f"There is no node {number} (nodes: {numbers_of_nodes}).")


@dataclass(frozen=True)
class DeployRequest:
    """What to start. `settings` are the system's own server settings, which win over Tidegauge's.

    Attributes:
        data_directory: the trial's own directory, for whatever belongs to no single node.
        disks: directories of the trial on the disks chosen for data, dealt out to the nodes by turns; () =
            `data_directory`.
        journal_disks: the same for journals, of systems that keep one apart; () = beside the data.
        shape: the system's own options of layout, such as {"brokers": "1"} (see `System.shape_problem`).
        seats: by number, where nodes are in a network of their own; empty = all on loopback. So is `KEEPER`.
        own_disks: whether each node has all of `disks`, on a host of its own, instead of its turn.
        jvm: options of the servers' JVMs, such as {"UseZGC": "true"} (see `config.jvm_options`).
        starts_often: nodes will be killed and started again and again: let them start fast rather than run fast.
    """

    distribution: Distribution
    nodes: int
    choice: LevelChoice
    data_directory: Path
    log_directory: Path
    heap_mb: int
    direct_memory_mb: int
    settings: Mapping[str, str] = field(default_factory=dict)
    disks: tuple[Path, ...] = ()
    journal_disks: tuple[Path, ...] = ()
    shape: Mapping[str, str] = field(default_factory=dict)
    seats: Mapping[int, Seat] = field(default_factory=dict)
    own_disks: bool = False
    starts_often: bool = False
    jvm: Mapping[str, str] = field(default_factory=dict)

    def seat(self, number: int) -> Seat:
        """Where node `number` is, or `KEEPER`."""
        return self.seats.get(number, LOOPBACK)

    def log_path(self, process: str) -> Path:
        """Standard output of a process."""
        return self.log_directory / f"{process}.log"

    def node_directory(self, number: int, name: str) -> Path:
        """Where node `number` (from 1) keeps its data, in a directory `name` of its own."""
        return self.node_directories(number, name)[0]

    def node_directories(self, number: int, name: str) -> tuple[Path, ...]:
        """All that node `number` may keep data in: several where more disks were chosen than there are nodes."""
        disks = self.disks if self.own_disks else node_disks(self.disks, number, self.nodes)
        directories = disks or (self.data_directory,)
        return tuple(disk / name for disk in directories)

    def journal_directory(self, number: int, name: str) -> Path:
        """Where node `number` keeps its journal: on a disk for journals, else on the last of its own."""
        directories = by_turns(self.journal_disks, number)
        return directories[-1] / name if directories else self.node_directories(number, name)[-1]


CLUSTERS_DEFAULT = 0
"""Copies of a topic that are left to the cluster."""


@dataclass(frozen=True)
class TopicTerms:
    """How topics are made.

    Attributes:
        settings: topic-level settings in the system's own words.
        copies: of each; `CLUSTERS_DEFAULT` = as many as the cluster gives.
        given: names of those settings that somebody asked for, so that they are set or nothing is measured.
        at_least: names of those that are limits, for which more does as well.
        left_out: settings that are wanted and not set, with their values, by name.
        why: sentences on what is left out.
    """

    settings: Mapping[str, str]
    copies: int
    given: frozenset[str] = frozenset()
    at_least: frozenset[str] = frozenset()
    left_out: Mapping[str, str] = field(default_factory=dict)
    why: tuple[str, ...] = ()

    def without_refused(self, refusal: str) -> TopicTerms | None:
        """The terms without what a cluster refused in these words; None if nothing of it may be left out.

        Where the words name no setting, all that may be are left out.
        """
        optional = [name for name in self.settings if name not in self.given]
        refused = [name for name in optional if name in refusal] or optional
        if not refused:
            return None
        kept = {name: value for name, value in self.settings.items() if name not in refused}
        left_out = {name: self.settings[name] for name in refused}
        words = f"not set on topics, since the cluster refuses it: {settings_words(left_out)} ({refusal.rstrip('.')})"
        return replace(self, settings=kept, left_out={**self.left_out, **left_out}, why=(*self.why, words))

    def limits_missed(self, settings: Sequence[Setting]) -> str:
        """Which limits that were left out are too low in what was read back of topics; "" if none is."""
        for setting in settings:
            wanted = whole_number(self.left_out.get(setting.name, "")) if setting.name in self.at_least else None
            reported = whole_number(setting.value)
            if wanted and reported is not None and reported < wanted and setting.scope.startswith("topic "):
                return f"{setting.name}={wanted} is needed, and {setting.scope} has {setting.value}"
        return ""


def copies_of_case(case: Case) -> int:
    """How many copies a case's topics are to have; `CLUSTERS_DEFAULT` where that is left to the cluster."""
    return case.copies or (CLUSTERS_DEFAULT if case.choice.is_open else min(3, case.nodes))


def settings_words(settings: Mapping[str, str]) -> str:
    """ "a=1, b=2"."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())


Describe = Callable[[list[str]], list[Setting]]
"""Asks the running system, through its official client, for broker settings and those of the named topics."""


class Deployment:
    """A running system. Its methods are those of one of which no process was started here.

    `systems.servers` has the two to derive from: `Servers` of processes that were started here, `Serverless` without.

    Attributes:
        connection: how to reach it, in its driver's words.
        processes: names on the host, none if others started it; the first is the one to show.
        metrics_endpoints: where its processes report figures of their own (`System.metrics`); () if they don't.
        jvm_flags: memory, collector and other flags of the servers; empty where there is no JVM.
        nodes: what goes down together, by number from 1; () where others run it. Processes of no node (a ZooKeeper, a
            port mapper) are shared: no fault of a node concerns them.
    """

    connection: Mapping[str, str]
    processes: tuple[str, ...]
    metrics_endpoints: tuple[Endpoint, ...]
    jvm_flags: tuple[str, ...]
    nodes: tuple[Node, ...]

    @property
    def storage_processes(self) -> tuple[str, ...]:
        """The `processes` that must have a message on their disk before it counts as synced; one for each copy.

        Each of a node keeps a copy, where a system does not say otherwise.
        """
        return tuple(name for node in self.nodes for name in node.processes) or self.processes

    def set_down(self, number: int) -> None:
        """A node is, or is about to be, down on purpose: until it is started again its end is no failure.

        Raises `RunFailedError` if there is no such node.
        """
        node_of(self.nodes, number)

    def kill_node(self, number: int) -> None:
        """SIGKILL to all processes of a node at once, children too; returns when all are gone. Implies `set_down`."""
        self.set_down(number)

    def stop_node(self, number: int) -> None:
        """End a node as its operator would: SIGTERM, the grace that it needs, and wait. Implies `set_down`."""
        self.set_down(number)

    def start_node(self, number: int) -> None:
        """Start what of a node does not run, with the same configuration, ports and directories as before.

        Returns before the node takes part again: ask `System.incomplete`. Raises `StartFailedError`.
        """
        self.set_down(number)

    def leaders(self, settings: Sequence[Setting]) -> Mapping[str, int]:
        """The number of the node that leads each partition ("topic-0") or, of RabbitMQ, each queue. Pure.

        From settings read back with topics; partitions without a leader, and those of large topics, are left out. In
        Pulsar the leader is the node of the broker that owns the partition.
        """
        return {}

    def check_alive(self) -> None:
        """Raise `StartFailedError` with the cause from the log if a process has ended that is not down on purpose."""

    def read_back(self, describe: Describe, topics: list[str]) -> list[Setting]:
        """All effective settings that decide durability and the comparison, from the servers themselves."""
        return describe(topics)

    def last_words(self) -> str:
        """The likeliest cause in the logs of a system that runs but is not usable; "" if nothing stands out."""
        return ""

    def stop(self) -> None:
        """End all processes and wait for them. Never raises."""


class Deploys(Protocol):
    """How a system is fetched and started, and what its nodes need."""

    name: str
    title: str
    short_title: str = ""
    """What sentences call it among others; "" = its title."""
    default_version: str
    server_defaults: Mapping[str, str] = MappingProxyType({})
    """Settings of its servers that Tidegauge gives where a campaign doesn't, and that follow from no deployment."""
    reserved_settings: Mapping[str, str] = MappingProxyType({})
    """Settings of its servers that a campaign can't give, as regular expressions, and why: "it ..."."""
    runs_on_jvm: bool = False
    """Whether its servers are JVMs, of which a campaign may choose the garbage collector."""
    spaces_in_paths: bool = False
    """Whether it runs with its programs and data below a directory that has a space in its name."""

    @abstractmethod
    def provision(self, version: str, report: Callable[[str], None]) -> Distribution:
        """Fetch (or find in the cache) the files of a version; `report` is called with what takes long.

        Raises `UserError` if there is no such version, naming the nearest ones.
        """

    def server_settings(self, version: str) -> ServerSettings | None:
        """The settings that servers of a version have, by its own files; None while these are not here, or say nothing.

        Nothing is fetched for it.
        """
        return None

    def tools(self) -> Sequence[Path]:
        """Directories of the cache, as they are here, that its servers use beside its own files."""
        return ()

    @abstractmethod
    def deploy(self, request: DeployRequest, host: Host) -> Deployment:
        """Write the configuration and start all processes. Returns before the system is ready.

        Raises `UserError` if the level or the shape is impossible (`refuse_impossible`).
        """

    def shape_problem(self, shape: Mapping[str, str], nodes: int) -> str:
        """Why these options of layout can't be, with what is allowed; "" if they can. Pure."""
        return f"{self.title} has no options of layout" if shape else ""

    def machines(self, nodes: int, shape: Mapping[str, str]) -> int:
        """How many nodes faults can be made on: more than `nodes` where others in front of them keep no data. Pure."""
        return nodes

    def network_problem(self, version: str) -> str:
        """Why its nodes can't be put into networks of their own, or "" if they can. Pure."""
        return "it has no setting for the address of a node"

    def processes(
        self, version: str, nodes: int, heap_mb: int, direct_memory_mb: int, shape: Mapping[str, str]
    ) -> Sequence[ProcessMemory]:
        """The server processes of such a deployment, with the resident memory that each may need, MiB. Pure."""
        return (ProcessMemory("node", nodes, heap_mb, direct_memory_mb, 0),)

    def handles(self, partitions: int) -> Handles:
        """About how many files and memory maps one server process has with so many partitions on it. Pure."""
        return Handles(0, 0)


class GivesLevels(Protocol):
    """Which durability levels a system gives, by which settings, and how they are recognized."""

    title: str

    found_forms: tuple[str, ...] = ()
    """The ways to make topics on a cluster whose level is taken as it is found, the usual one first; () = only one."""
    copies_setting: str = ""
    """Which setting that is read back is the number of copies of a message; "" = none."""

    @abstractmethod
    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        """The durability levels this system can give in this shape, best first."""

    @abstractmethod
    def derive_level(self, settings: list[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
        """Pure: what level these effective settings give."""

    def topic_settings(self, choice: LevelChoice) -> Mapping[str, str]:
        """Topic-level settings that the level needs, in the system's own words."""
        return {}

    def topic_terms(self, case: Case, cluster: Sequence[Setting] | None = None) -> TopicTerms:
        """Pure: how topics of a case are made. `cluster`: what others' cluster reports of itself; None = ours."""
        settings = {**self.topic_settings(case.choice), **case.topic}
        return TopicTerms(settings, copies_of_case(case), frozenset(case.topic))

    def topic_problems(self, settings: Mapping[str, str], copies: int) -> dict[str, str]:
        """Pure: which settings no topic of so many copies can have, by name, and why; 0 = as many as it gets.

        What only servers of others may know is left to them.
        """
        return dict.fromkeys(settings, f"topics of {self.title} have no settings of their own")

    def copies_problem(self, choice: LevelChoice) -> str:
        """Pure: why nobody can say for a topic at a level how many copies it has; "" if one can."""
        return f"how many copies a topic has can't be said for {self.title}"

    def partitions_by_default(self, cluster: Sequence[Setting]) -> int:
        """Pure: how many partitions a topic gets of which nobody says it, by what a cluster reports; 0 = unknown."""
        return 0

    def expected_settings(self, case: Case, cluster: Sequence[Setting] = ()) -> list[Setting]:
        """Pure: what of the level's settings would be read back of a topic made for this; [] = that can't be said.

        `cluster`: what a running one reports of itself, if it was asked.
        """
        return []

    def client_acks(self, choice: LevelChoice, nodes: int) -> str:
        """ "all" or "one": which acknowledgement the producer asks for. Where it has no choice: "all"."""
        return "all"

    def incomplete(self, settings: list[Setting], nodes: int) -> str:
        """Pure: what replicas are still missing of the topics read back; "" once replication is complete."""
        return ""


@dataclass(frozen=True)
class MessageLimit:
    """How large a message's value may be. `remedy`: what raises the limit."""

    bytes_max: int
    setting: str
    remedy: str

    @staticmethod
    def of(case: Case, name: str, by_default: int, overhead_bytes: int = 0, *, with_names: str = "") -> MessageLimit:
        """The limit by a setting of servers, as the campaign sets it or by default.

        `overhead_bytes`: of a message, which the limit counts. `with_names`: other settings that must be raised, too.
        """
        value = case.settings.get(name, "")
        limit = int(value) if value.isdecimal() else by_default
        wanted = case.workload.payload.message_bytes_max + overhead_bytes
        others = f" and {with_names}" if with_names else ""
        return MessageLimit(
            limit - overhead_bytes,
            f"{name}={limit}" + ("" if value else ", its default"),
            f"give {name}{others} of {wanted} or more in {case.block('settings')}, or smaller messages",
        )


class HasClients(Protocol):
    """How its clients are set, and may read its topics."""

    title: str

    def client_settings(self, case: Case) -> ClientSettingRules | None:
        """Pure: the settings that its clients take for such topics; None where nobody can list them."""
        return None

    def client_properties(self, properties: Sequence[JavaProperty], place: str) -> ClientProperties | None:
        """Pure: what a file of its own tools' properties says, which is at `place`; None if they have no such files."""
        return None

    def subscription_problem(self, kind: SubscriptionType, version: str, choice: LevelChoice, existing: bool) -> str:
        """Why this system has no subscriptions of a kind (never the usual one), or "" if it has. Pure.

        `existing`: of topics that others made, which are read as they are.
        """
        return f"{self.title} has no {kind.value} subscriptions"

    def message_limit(self, case: Case) -> MessageLimit | None:
        """Pure: how large a message may be on servers that are started here, and by which setting; None = any size."""
        return None

    def clients(self, workload: Workload, choice: LevelChoice, nodes: int) -> ClientKinds:
        """What its clients take of a load generator's host, and how many users one can have. Pure.

        By default nothing is known, and every producer and consumer has a client of its own.
        """
        return ClientKinds()

    def serves_replicas(self, choice: LevelChoice, workload: Workload) -> bool:
        """Whether clients can have a topic read from one node's own copy (`LoadWorker.read_back`). Pure.

        Asked where every node has a copy.
        """
        return False


class Attaches(Protocol):
    """How clusters of it that others run are reached."""

    title: str
    attach_rules: AttachRules | None = None
    """What a campaign may say of such a cluster; None if there is no such thing."""
    login_libraries: Mapping[str, Recipe] = MappingProxyType({})
    """By method of `auth`: what its clients need beside the driver. Fetched when somebody asks for it."""

    def attach(self, request: AttachRequest) -> AttachedCluster:
        """A cluster that others run as a deployment. Asks nothing of it yet; called only where there are rules."""
        raise UserError(f"{self.title} can't be attached to.", "Leave out 'attach': Tidegauge starts it.")


class IsCompared(Protocol):
    """What decides whether a comparison with others is on equal terms."""

    def client_facts(self, case: Case) -> ClientFacts:
        """Pure: what this system's clients do, in words that can be compared with other systems'.

        As the workload asks, where a system does not say otherwise.
        """
        return ClientFacts(neutral_facts(case.workload), frozenset())

    def hazards(self, case: Case) -> list[Hazard]:
        """Pure: settings that tilt a comparison whatever the others do, and what only this system does."""
        return []


@runtime_checkable
class System(Deploys, GivesLevels, HasClients, Attaches, IsCompared, Protocol):
    """A messaging system. Derive from this class: what is not abstract has a default. Any thread may call.

    What it can do beyond starting servers and giving a level, it says by overriding: the defaults promise nothing.
    """

    driver: str
    """The worker's driver that speaks with it: its own, or that of a system whose protocol it speaks."""
    metrics: tuple[Metric, ...] = ()
    """Figures that its servers report of themselves and that matter; the same for each of its processes."""
    spoken_by: tuple[str, ...] = ()
    """Products of others that speak its protocol, as users may write them: clusters of these are attached as it."""
    is_listed: bool = True
    """Whether users are told of it where the systems that there are are named. One that stands for none is not."""
    has_servers: bool = True
    """Whether anything but the load generator keeps its messages."""
    host_needs: tuple[Probe, ...] = ()
    """What it takes of a host beyond what every system does; `tidegauge doctor` tries it."""


def refuse_impossible(system: System, choice: LevelChoice, version: str, nodes: int) -> None:
    """Raise `UserError`, saying what is possible, if a system can't give a level in this shape."""
    level = level_named(choice.level)
    possible = system.possible_levels(version, nodes)
    if any(p.level == choice.level and choice.form in ("", p.form) for p in possible):
        return
    offers = ", ".join(describe_choice(p) for p in possible)
    form = f" in the form '{choice.form}'" if choice.form else ""
    reason = ""
    if level.replication_sync and nodes < NODES_FOR_REPLICATION:
        shape = "one node has" if nodes == 1 else f"{nodes} nodes have"
        reason = f": {shape} no majority to replicate to, and level {level.number} means that {level.meaning}"
    raise UserError(
        f"{system.name} on {nodes} node{'s' if nodes > 1 else ''} can't give level {choice.level}{form}{reason}.",
        f"Possible here: {offers or 'nothing'}.",
    )


def expected_level(system: System, case: Case, cluster: Sequence[Setting] = ()) -> LevelFinding | None:
    """Pure: what level topics made for this would have, as far as that is known; None where nothing can be said."""
    settings = system.expected_settings(case, cluster)
    if not settings:
        return None
    finding = system.derive_level(settings, case.choice, case.nodes)
    not_set = system.topic_terms(case, cluster).why if finding.problems else ()
    return replace(finding, problems=("; ".join((*finding.problems, *not_set)),)) if not_set else finding

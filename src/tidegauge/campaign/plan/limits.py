"""What servers may use and what faults need, made before they start: limits of memory and files, disks, networks.

A limit that can't be set does not end the trial: its result says which, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, cast

from tidegauge.agent.api import Host, ProcessSpec, ProcessStatus
from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.errors import RunFailedError, UserError
from tidegauge.model import disk_needs
from tidegauge.model.host import LoadBounds, ProcessMemory
from tidegauge.model.rig import Ability
from tidegauge.model.server import by_turns
from tidegauge.model.trial import LoadSpec, TrialSpec
from tidegauge.model.workload import Workload
from tidegauge.store.trial import TrialStore
from tidegauge.systems import registry
from tidegauge.systems.api import KEEPER, Seat

COPIES_MAX = 3


def check_handles(campaign: Campaign, available: LoadBounds) -> None:
    """Raise `UserError` with the figures where a server would need more than a process may have on its host."""
    for point, choice in campaign.systems_at_points:
        if choice.attach is None:
            system = registry.system_named(choice.name)
            partitions = point.campaign.workload.topics * point.campaign.workload.partitions
            needed = system.handles(partitions_of_node(point.campaign.workload, choice, point.campaign.nodes))
            where = point.campaign.where("workload", "partitions")
            need = f"{where}: workload.partitions: with {partitions:,} partitions a server of {system.title} needs"
            if needed.files > available.files:
                raise UserError(
                    f"{need} about {needed.files:,} open files, and a process may have {available.files:,} "
                    f"{available.where}.",
                    f"Raise the hard limit (`ulimit -Hn {needed.files}` as root, or LimitNOFILE), or take fewer "
                    "partitions.",
                )
            if needed.maps > available.maps:
                raise UserError(
                    f"{need} about {needed.maps:,} memory maps, and a process may have {available.maps:,} "
                    f"{available.where}.",
                    f"Raise it (`sysctl vm.max_map_count={2 * needed.maps}` as root), or take fewer partitions.",
                )


def machines_of(campaign: Campaign) -> int:
    """Hosts that the largest of a campaign's systems takes; 0 where others run all of them."""
    return max(
        (
            registry.system_named(choice.name).machines(point.campaign.nodes, choice.shape)
            for point, choice in campaign.systems_at_points
            if choice.attach is None
        ),
        default=0,
    )


def has_process_of_no_node(campaign: Campaign) -> bool:
    """Whether a system that is started has a process that belongs to no node, such as a ZooKeeper."""
    return any(
        not process.of_nodes
        for point, choice in campaign.systems_at_points
        if choice.attach is None
        for process in server_processes(point.campaign, choice)
    )


def server_processes(campaign: Campaign, choice: SystemChoice) -> Sequence[ProcessMemory]:
    """The server processes of a system of a campaign, with the memory that each may need."""
    system = registry.system_named(choice.name)
    version = choice.version or system.default_version
    return system.processes(version, campaign.nodes, choice.heap_mb, choice.direct_memory_mb, choice.shape)


def partitions_of_node(workload: Workload, choice: SystemChoice, nodes: int) -> int:
    """About how many copies of partitions one node has."""
    copies = min(choice.copies or COPIES_MAX, nodes)
    return -(-workload.topics * workload.partitions * copies // nodes)


_SPARE_BYTES = 1 << 30


@dataclass(frozen=True)
class NodeRig:
    """The disk of each node, and its place in the network, by its number. Empty where no fault needs any."""

    disks: Mapping[int, Path] = field(default_factory=dict)
    seats: Mapping[int, Seat] = field(default_factory=dict)


NO_RIG = NodeRig()


def refused_faults(trials: Iterable[TrialSpec], refusals: Mapping[Ability, str]) -> list[str]:
    """Which kinds of fault of these trials can't be made on this host, with the reason, a sentence each. Pure."""
    kinds = dict.fromkeys(fault.kind for trial in trials for fault in trial.faults)
    problems = []
    for kind in kinds:
        reasons = dict.fromkeys(refusals[ability] for ability in kind.procedure.needs if ability in refusals)
        if reasons:
            problems.append(f"{kind.value} can't be made here: {'; '.join(reasons)}")
    return problems


def check_faults(trials: Iterable[TrialSpec], refusals: Callable[[], Mapping[Ability, str]]) -> None:
    """Raise `UserError` if a fault can't be made on this host, which is asked only if there are any."""
    faulted = [trial for trial in trials if trial.faults]
    problems = refused_faults(faulted, refusals()) if faulted else []
    if problems:
        raise UserError(
            f"faults: {'; '.join(problems)}.",
            "Kill, pause, restart and rolling-restart need no rights. `tidegauge doctor` says what can be done here.",
        )


def rig_nodes(
    spec: LoadSpec, machines: int, host: Host, store: TrialStore, cleanup: ExitStack, *, seats: Mapping[int, Seat]
) -> NodeRig:
    """Make what the faults need, registered for its end.

    `machines`: nodes to put into networks; fewer may keep data. `seats`: where nodes are on hosts of their own, which
    need no network.

    Raises `RunFailedError`.
    """
    disks: dict[int, Path] = {}
    if any(fault.kind.procedure.needs_disk for fault in spec.faults):
        size_bytes = disk_needs.bytes_needed(spec, 1) - disk_needs.FREE_BYTES_BEFORE + _SPARE_BYTES
        places = by_turns(store.disks or (store.data_directory,), spec.nodes)
        for number, place in enumerate(places, 1):
            disks[number] = place / f"node-{number}"
            host.rig.make_disk(disks[number], size_bytes, node=seats[number].link if seats else "")
            cleanup.callback(host.rig.remove_disk, disks[number])
    if not seats and any(fault.kind.procedure.needs_network for fault in spec.faults):
        links = {KEEPER: "keeper", **{number: f"node-{number}" for number in range(1, machines + 1)}}
        addresses = host.rig.make_network(list(links.values()))
        cleanup.callback(host.rig.remove_network)
        seats = {number: Seat(addresses[link], link) for number, link in links.items()}
    return NodeRig(disks, seats)


class LimitedHost:
    """`Host` that passes everything on, and starts each process with at most `memory_bytes` of its own."""

    def __init__(self, host: Host, memory_bytes: int) -> None:
        self._host = host
        self._memory_bytes = memory_bytes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def start(self, spec: ProcessSpec) -> ProcessStatus:
        """See `Host.start`."""
        return self._host.start(replace(spec, memory_bytes_max=self._memory_bytes))


_MIB = 1 << 20


@dataclass(frozen=True)
class Limited:
    """The host to start servers on, and which limits could not be set, with the reason."""

    host: Host
    problems: tuple[str, ...] = ()


def too_small(spec: TrialSpec, system: SystemChoice) -> str:
    """ "" or why the memory limit of a trial leaves servers no room for what they are given. Pure."""
    limits = spec.limits if isinstance(spec, LoadSpec) else None
    limit_bytes = limits.memory_bytes if limits else None
    own_mb = system.heap_mb + system.direct_memory_mb
    if limit_bytes is None or system.attach is not None or limit_bytes >= own_mb * _MIB:
        return ""
    return (
        f"server-memory {limit_bytes // _MIB} MiB is less than heap ({system.heap_mb} MiB) and direct-memory "
        f"({system.direct_memory_mb} MiB) of {system.name} together"
    )


def limit_servers(
    spec: LoadSpec, host: Host, places: Sequence[Path], cleanup: ExitStack, seats: Mapping[int, Seat]
) -> Limited:
    """Make what the trial's limits ask for.

    Args:
        places: where servers write, which nodes take by turns; empty directories.
        seats: where nodes are on hosts of their own.
    """
    limits = spec.limits
    if limits is None:
        return Limited(host)
    if spec.attached:
        return Limited(host, ("server-memory and disk have no effect on servers that others run",))
    problems = []
    refusals = host.rig.refusals()
    if limits.direct_io and (why := refusals.get("ext4") or _own_disks(spec, host, places, cleanup, seats)):
        problems.append(f"disk: direct-io could not be set ({why}), so the data is where it would be without it")
    if limits.memory_bytes is not None:
        if refused_memory := refusals.get("memory"):
            size = f"{limits.memory_bytes // _MIB} MiB"
            problems.append(
                f"server-memory: {size} could not be set ({refused_memory}), so servers use what the machine has"
            )
        else:
            host = cast(Host, LimitedHost(host, limits.memory_bytes))
    return Limited(host, tuple(problems))


def _own_disks(
    spec: TrialSpec, host: Host, places: Sequence[Path], cleanup: ExitStack, seats: Mapping[int, Seat]
) -> str:
    """Make a disk at each place of each host, for as many nodes as there may be; or none at all. "" or why not."""
    links = {seats[number].address: seats[number].link for number in range(1, spec.nodes + 1)} if seats else {"": ""}
    nodes = -(-spec.nodes // len(links) // len(places))
    with ExitStack() as undo:
        for place, link in product(places, links.values()):
            try:
                host.rig.make_disk(place, disk_needs.bytes_needed(spec, nodes), node=link)
            except RunFailedError as error:
                return error.message.rstrip(".")
            undo.callback(host.rig.remove_disk, place)
        cleanup.push(undo.pop_all())
    return ""

"""Says what a campaign's servers and faults take of their hosts, and refuses what these do not have.

It counts hosts, open files, memory maps, memory under a limit and what faults need. Nothing is set here: as a trial
starts, `campaign.run.node_limits` does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.durability import level_named
from tidegauge.errors import UserError
from tidegauge.model.host import LoadBounds, ProcessMemory
from tidegauge.model.rig import Ability
from tidegauge.model.trial import AttestSpec, LoadSpec, TrialSpec
from tidegauge.model.workload import Workload
from tidegauge.systems import registry

COPIES_MAX = 3
_MIB = 1 << 20


def check_handles(campaign: Campaign, available: LoadBounds) -> None:
    """Raise `UserError` with the figures where a server would need more than a process may have on its host."""
    for point, choice in campaign.systems_at_points:
        if choice.attach is None:
            system = registry.system_named(choice.name)
            workload = point.campaign.workload
            workload = replace(workload, partitions=choice.partitions or workload.partitions)
            partitions = workload.topics * workload.partitions
            needed = system.handles(partitions_of_node(workload, choice, point.campaign.nodes))
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


def check_on_disk(trials: Iterable[TrialSpec], disks: Mapping[str, Mapping[str, str]], address: str = "") -> None:
    """Raise `UserError` where an acknowledgement is to mean "on disk", and servers would keep their data in memory.

    Attestations decide that for themselves: their disks are images.

    Args:
        disks: facts of places of servers' data and journals (see `hosts.storage.disk_facts`).
        address: of the host in a fleet; "" = this host.
    """
    for place, facts in disks.items():
        for spec in trials:
            starts = not (spec.attached or isinstance(spec, AttestSpec))
            if starts and (memory := facts.get("in_memory")) and level_named(spec.choice.level).local_sync:
                raise UserError(
                    f"{spec.system} at durability level {spec.choice.level} needs a disk, and {place}"
                    f"{f' on {address}' if address else ''} is in memory ({memory}): nothing there is on disk, "
                    "whatever is synced.",
                    f"Choose a directory on a disk (--data-dir), or level {spec.choice.level + 1}, which needs none.",
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

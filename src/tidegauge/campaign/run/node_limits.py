"""Makes what a trial's servers are limited to and what its faults need: limits of memory, disks, a network.

All of it is made before servers start and undone after them. A limit that can't be set does not end the trial: its
result says which, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, cast

from tidegauge.agent.api import Host, ProcessSpec, ProcessStatus
from tidegauge.errors import RunFailedError
from tidegauge.model import disk_needs
from tidegauge.model.server import by_turns
from tidegauge.model.trial import LoadSpec, TrialSpec
from tidegauge.store.trial import TrialStore
from tidegauge.systems.api import KEEPER, Seat

_MIB = 1 << 20
_SPARE_BYTES = 1 << 30


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


@dataclass(frozen=True)
class Limited:
    """The host to start servers on, and which limits could not be set, with the reason."""

    host: Host
    problems: tuple[str, ...] = ()


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
    if limits.direct_io and (why := refusals.get("ext4") or _make_own_disks(spec, host, places, cleanup, seats)):
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


def _make_own_disks(
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


@dataclass(frozen=True)
class NodeRig:
    """The disk of each node, and its place in the network, by its number. Empty where no fault needs any."""

    disks: Mapping[int, Path] = field(default_factory=dict)
    seats: Mapping[int, Seat] = field(default_factory=dict)


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

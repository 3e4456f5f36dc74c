"""What a trial's faults need before the servers start: a disk of its own for each node, or a network of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tidegauge.errors import UserError
from tidegauge.fleet.api import Host
from tidegauge.fleet.rig_api import Ability
from tidegauge.hosts import space
from tidegauge.model.faults import FaultKind
from tidegauge.model.server import by_turns
from tidegauge.model.trial import TrialSpec
from tidegauge.store.api import TrialStore
from tidegauge.systems.nodes import KEEPER, Seat

_NEEDS: Mapping[FaultKind, tuple[Ability, ...]] = {
    FaultKind.POWER_CUT: ("ext4", "power_cut"),
    FaultKind.SLOW_DISK: ("ext4", "slow_disk"),
    FaultKind.HUNG_DISK: ("ext4", "hung_disk"),
    FaultKind.PARTITION: ("network", "partition"),
    FaultKind.PACKET_LOSS: ("network", "packet_loss"),
    FaultKind.RATE_LIMIT: ("network", "rate_limit"),
}
_SPARE_BYTES = 1 << 30


@dataclass(frozen=True)
class Rigged:
    """By number of a node: its disk, and its place in the network. Empty where no fault needs any."""

    disks: Mapping[int, Path] = field(default_factory=dict)
    seats: Mapping[int, Seat] = field(default_factory=dict)


NOTHING_RIGGED = Rigged()


def refused(trials: Iterable[TrialSpec], refusals: Mapping[Ability, str]) -> list[str]:
    """Which kinds of fault of these trials can't be made on this host, with the reason, a sentence each. Pure."""
    kinds = dict.fromkeys(fault.kind for trial in trials for fault in trial.faults)
    found = []
    for kind in kinds:
        reasons = dict.fromkeys(refusals[ability] for ability in _NEEDS.get(kind, ()) if ability in refusals)
        if reasons:
            found.append(f"{kind.value} can't be made here: {'; '.join(reasons)}")
    return found


def check_faults(trials: Iterable[TrialSpec], refusals: Callable[[], Mapping[Ability, str]]) -> None:
    """Raise `UserError` if a fault can't be made on this host, which is asked only if there are any."""
    faulted = [trial for trial in trials if trial.faults]
    problems = refused(faulted, refusals()) if faulted else []
    if problems:
        raise UserError(
            f"faults: {'; '.join(problems)}.",
            "Kill, pause, restart and rolling-restart need no rights. `tidegauge doctor` tells what can be done here.",
        )


def rig_nodes(spec: TrialSpec, machines: int, host: Host, store: TrialStore, cleanup: ExitStack) -> Rigged:
    """Make what the faults need, registered for its end. `machines`: nodes to put into networks; fewer may keep data.

    Raises `RunFailedError`.
    """
    disks: dict[int, Path] = {}
    if any(fault.kind.needs_disk for fault in spec.faults):
        size_bytes = space.bytes_needed(spec, 1) - space.FREE_BYTES_BEFORE + _SPARE_BYTES
        places = by_turns(store.disks or (store.data_directory,), spec.nodes)
        for number, place in enumerate(places, 1):
            disks[number] = place / f"node-{number}"
            host.rig.make_disk(disks[number], size_bytes)
            cleanup.callback(host.rig.remove_disk, disks[number])
    seats: dict[int, Seat] = {}
    if any(fault.kind.needs_network for fault in spec.faults):
        links = {KEEPER: "keeper", **{number: f"node-{number}" for number in range(1, machines + 1)}}
        network = host.rig.make_network(list(links.values()))
        cleanup.callback(host.rig.remove_network)
        seats = {number: Seat(network.addresses[link], link) for number, link in links.items()}
    return Rigged(disks, seats)

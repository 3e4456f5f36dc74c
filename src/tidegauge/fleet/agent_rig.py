"""The agent's side of the rig: carries out its calls, and undoes everything at the agent's end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tidegauge.errors import RunFailedError
from tidegauge.fleet import held
from tidegauge.fleet.agent_disks import AgentDisks
from tidegauge.fleet.agent_network import AgentNetwork
from tidegauge.fleet.children import Children
from tidegauge.fleet.ledger import Ledger
from tidegauge.fleet.rig_api import Ability
from tidegauge.fleet.trees import Trees
from tidegauge.fleet.wire import Message
from tidegauge.hosts import fuse_disk, loop_disk, network, slow_disk


class AgentRig:
    """Everything that `Rig` offers, by the name of the call. Calls block: nothing else goes on in the agent then."""

    def __init__(self, children: Children, ledger: Ledger) -> None:
        self._ledger = ledger
        self._trees = Trees(children)
        self._disks = AgentDisks(self._trees, ledger)
        self._network = AgentNetwork(children.agent_id, ledger)
        self._lifted = False
        self.calls: dict[str, Callable[[Message], Any]] = {
            "refusals": lambda _m: refusals(),
            "make_disk": lambda m: self._disks.make(Path(m["place"]), int(m["size_bytes"]), m["file_system"]),
            "remove_disk": lambda m: self._disks.remove(Path(m["place"])),
            "cut_power": lambda m: asdict(self._disks.cut(m["processes"], [Path(place) for place in m["places"]])),
            "throttle_disk": lambda m: self._disks.throttle(Path(m["place"]), m["bytes_per_s"], m["ops_per_s"]),
            "hang_disk": lambda m: self._disks.hang(Path(m["place"])),
            "unhang_disk": lambda m: self._disks.unhang(Path(m["place"])),
            "kill": lambda m: self._trees.kill(m["processes"]),
            "pause": self._pause,
            "resume": lambda m: self._trees.resume(m["processes"]),
            "make_network": lambda m: asdict(self._network.make(m["nodes"])),
            "remove_network": lambda _m: self._network.remove(),
            "partition": lambda m: self._network.partition(m["sources"], m["targets"], m["both_ways"]),
            "heal": lambda _m: self._network.heal(),
            "lose_packets": lambda m: self._network.lose_packets(m["node"], float(m["share"])),
            "limit_rate": lambda m: self._network.limit_rate(m["node"], m["bytes_per_s"]),
            "lift_all": lambda _m: self._lift_all(),
        }

    def namespace_of(self, node: str) -> Path | None:
        """The network namespace of a node, None for "". Raises `RunFailedError` for one that is not there."""
        return self._network.namespace_of(node)

    def lift_once(self) -> None:
        """At the agent's end: undo every fault, as far as it can be. Never raises."""
        if not self._lifted:
            self._lifted = True
            with contextlib.suppress(OSError, RunFailedError):
                self._lift_all()

    def remove_all(self) -> list[str]:
        """Remove disks and network. Returns what could not be, with the reason."""
        return held.remove_everything(self._ledger.disks, self._ledger.network)[1]

    def _pause(self, message: Message) -> None:
        self._trees.stop(message["processes"])

    def _lift_all(self) -> None:
        # Disks first: nobody can go on while his disk hangs. Nothing after it may keep it from being done.
        self._disks.lift()
        self._trees.resume()
        self._network.lift()


def refusals() -> dict[Ability, str]:
    """See `Rig.refusals`."""
    ext4, xfs = loop_disk.refusal("ext4"), loop_disk.refusal("xfs")
    no_disk = ext4 if ext4 and xfs else ""
    reasons: dict[Ability, str] = {
        "ext4": ext4,
        "xfs": xfs,
        "fuse": fuse_disk.refusal(),
        "power_cut": no_disk,
        "slow_disk": no_disk or slow_disk.refusal(),
        "hung_disk": no_disk,
        "network": network.refusal(),
        "partition": network.refusal("nft"),
        "packet_loss": network.refusal("nft"),
        "rate_limit": network.refusal("tc"),
    }
    return {ability: reason for ability, reason in reasons.items() if reason}

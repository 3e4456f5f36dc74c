"""The rig of a host: disks and networks of nodes' own, and what can be done to them and to processes.

Everything here is plain data, so that it can travel to an agent on another host. Most of the rig needs root:
`Rig.refusals` says what can't be done here, and why. The agent undoes everything when its lease ends; if it is killed
itself, the next start of any command does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from tidegauge.model.host import DiskCheck, FileSystem

Ability = Literal[
    "ext4",
    "xfs",
    "fuse",
    "power_cut",
    "slow_disk",
    "hung_disk",
    "network",
    "partition",
    "packet_loss",
    "rate_limit",
    "memory",
]
"""What a host may be unable to do ("memory": to limit a process's). Kill, pause and resume can be done everywhere."""

CLIENTS = "clients"
"""In a network's links, stands for everything that runs in the host's own network: workers, tools."""


@dataclass(frozen=True)
class CutReport:
    """A power cut as it went. Times are nanoseconds of CLOCK_MONOTONIC, the worker's clock too.

    Attributes:
        asked_ns: the first process was sent SIGSTOP.
        frozen_ns: every thread of every named process was seen stopped: nothing was acknowledged from then on.
        cut_ns: the last disk was cut off.
        killed_ns: the last process was gone.
        mounted_ns: every disk was checked and mounted again.
        processes: how many processes were stopped, children included.
        disks: in the order in which they were named; those of libfuse are left out, since below them nothing was cut.
    """

    asked_ns: int
    frozen_ns: int
    cut_ns: int
    killed_ns: int
    mounted_ns: int
    processes: int
    disks: tuple[DiskCheck, ...]


class Rig(Protocol):
    """What one host's agent can do to nodes. Calls raise `RunFailedError` with the reason where something can't be."""

    def refusals(self) -> Mapping[Ability, str]:
        """What can't be done on this host, and why ("needs root"); empty if everything can."""

    # Disks

    def make_disk(self, place: Path, size_bytes: int, file_system: FileSystem = "ext4", node: str = "") -> None:
        """Mount a new, empty disk at `place`, which must not exist or be an empty directory.

        `node`: whose it is, by its link (see `systems.api.Seat`): where nodes are on hosts of their own, it is made on
        that node's. There may be one at the same place on several hosts, which are then removed together.

        Its image is a file beside it, with all its room reserved, read and written with direct I/O. That of "fuse",
        which needs no root, is a directory, for which room is only looked for: it can lose its power, but neither be
        slow nor hang.
        """

    def remove_disk(self, place: Path) -> None:
        """Unmount and remove a disk with its image and directory, after lifting its faults. Gone already is fine.

        Processes that use it must have ended.
        """

    def cut_power(self, processes: Sequence[str], places: Sequence[Path]) -> CutReport:
        """Cut the power of nodes: these processes with everything they started, and these disks, all at one moment.

        Every process is stopped, and every thread seen stopped, before the first disk is cut off. What was not synced
        is gone then. Afterwards the processes are gone, and the disks replayed, checked and mounted again: `Host.start`
        may start the same processes. A hung disk is thawed by it, a slow one stays slow. Processes that have ended
        already are fine. Raises `RunFailedError`, and cuts nothing, if a thread can't be stopped or a process that is
        not named has files of the disks open: what is reported to it as durable during a cut may be lost.
        """

    def throttle_disk(self, place: Path, bytes_per_s: int | None = None, ops_per_s: int | None = None) -> None:
        """Limit a disk, reads and writes each. None is no limit; both None lift it."""

    def hang_disk(self, place: Path) -> None:
        """Let every write to a disk wait until `unhang_disk`; reads of what is cached go on. Twice is fine.

        What was written before is made durable by it. Returns once that is so.
        """

    def unhang_disk(self, place: Path) -> None:
        """Let a hung disk go on. One that does not hang is fine."""

    # Processes

    def kill(self, processes: Sequence[str]) -> None:
        """SIGKILL these processes with everything they started, and wait until they are gone: a crash, no power cut."""

    def pause(self, processes: Sequence[str]) -> None:
        """Stop these processes with everything they started. Returns when every thread is seen stopped."""

    def resume(self, processes: Sequence[str]) -> None:
        """Let paused processes go on. Those that are not paused are fine."""

    # Networks

    def make_network(self, nodes: Sequence[str]) -> Mapping[str, str]:
        """Give each node a network namespace, linked by a switch with the others and the host. One network at a time.

        Returns the IPv4 address of each. Nodes reach each other and the host by these addresses, and nothing else. A
        server that is to be reached from outside its namespace must listen on its node's address, not on loopback.
        Processes join by `ProcessSpec.network_node`.
        """

    def remove_network(self) -> None:
        """Remove the network, if there is one. Processes in it must have ended."""

    def partition(self, sources: Collection[str], targets: Collection[str], both_ways: bool = True) -> None:
        """Let nothing pass from any of `sources` to any of `targets`, and back if `both_ways`. Adds to those there are.

        Both are names of nodes, or `CLIENTS`.
        """

    def heal(self) -> None:
        """Lift all partitions."""

    def lose_packets(self, node: str, share: float) -> None:
        """Drop this share (0 to 1) of the packets from and to a node, by chance; 0 lifts it."""

    def limit_rate(self, node: str, bytes_per_s: int | None) -> None:
        """Limit what a node sends, and what it receives, to this rate each; None lifts it."""

    def lift_all(self) -> None:
        """Undo every fault: hung, slow, paused, partitioned, lossy, limited. Disks and the network stay."""

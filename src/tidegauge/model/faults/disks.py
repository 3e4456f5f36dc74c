"""Faults of disks."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.model.faults.extent import FaultExtent, describe_bandwidth
from tidegauge.model.faults.procedure import FaultedNodes, FaultProcedure


class SlowDisk(FaultProcedure):
    """A node's disk reads and writes no faster than so many bytes or operations a second, each."""

    needs = ("ext4", "slow_disk")
    keys = ("bandwidth", "operations")

    def describe_extent(self, extent: FaultExtent) -> Sequence[str]:
        """How fast the disk still is."""
        operations = [] if extent.ops_per_s is None else [f"{extent.ops_per_s:,} operations/s"]
        return [*describe_bandwidth(extent.bytes_per_s), *operations]

    def impose_on(self, nodes: FaultedNodes, extent: FaultExtent) -> None:
        """Limit the disks."""
        for place in nodes.disks:
            nodes.rig.throttle_disk(place, extent.bytes_per_s, extent.ops_per_s)

    def lift_from(self, nodes: FaultedNodes) -> None:
        """Lift the limits."""
        for place in nodes.disks:
            nodes.rig.throttle_disk(place)


class HungDisk(FaultProcedure):
    """Every write to a node's disk waits until the fault is over."""

    needs = ("ext4", "hung_disk")

    def impose_on(self, nodes: FaultedNodes, extent: FaultExtent) -> None:
        """Hang the disks."""
        for place in nodes.disks:
            nodes.rig.hang_disk(place)

    def lift_from(self, nodes: FaultedNodes) -> None:
        """Let the disks go on."""
        for place in nodes.disks:
            nodes.rig.unhang_disk(place)

"""The power cut."""

from __future__ import annotations

from tidegauge.model.faults.extent import FaultExtent
from tidegauge.model.faults.procedure import FaultedNodes, FaultProcedure
from tidegauge.model.rig import CutReport


class PowerCut(FaultProcedure):
    """Processes and disks of a node end at one moment: what was not synced is gone."""

    needs = ("ext4", "power_cut")

    def impose_on(self, nodes: FaultedNodes, extent: FaultExtent) -> CutReport:
        """Cut the power."""
        nodes.set_down()
        return nodes.rig.cut_power(nodes.processes, nodes.disks)

    def lift_from(self, nodes: FaultedNodes) -> None:
        """Start the nodes again, on the disks that survived."""
        nodes.start_again()

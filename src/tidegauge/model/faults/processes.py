"""Faults of processes, which need no rights."""

from __future__ import annotations

from tidegauge.model.faults.extent import FaultExtent
from tidegauge.model.faults.procedure import FaultedNodes, FaultProcedure


class Kill(FaultProcedure):
    """SIGKILL to everything of a node: a crash, no power cut. It is started again when the fault is over."""

    def impose_on(self, nodes: FaultedNodes, extent: FaultExtent) -> None:
        """Kill what runs on the nodes."""
        nodes.set_down()
        nodes.rig.kill(nodes.processes)

    def lift_from(self, nodes: FaultedNodes) -> None:
        """Start the nodes again."""
        nodes.start_again()


class Pause(FaultProcedure):
    """Every thread of a node stands still; nothing is lost by it."""

    def impose_on(self, nodes: FaultedNodes, extent: FaultExtent) -> None:
        """Stop every thread."""
        nodes.rig.pause(nodes.processes)

    def lift_from(self, nodes: FaultedNodes) -> None:
        """Let the threads go on."""
        nodes.rig.resume(nodes.processes)

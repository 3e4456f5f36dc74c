"""Restarts as an operator makes them, which last as long as they take."""

from __future__ import annotations

from tidegauge.model.faults.extent import FaultExtent
from tidegauge.model.faults.procedure import FaultedNodes, FaultProcedure


class Restart(FaultProcedure):
    """Nodes are stopped and started again, all of them together."""

    lasts = False

    def impose_on(self, nodes: FaultedNodes, extent: FaultExtent) -> None:
        """Restart the nodes."""
        nodes.restart_nodes(nodes.numbers)

    def lift_from(self, nodes: FaultedNodes) -> None:
        """Do nothing: what was stopped has been started."""


class RollingRestart(Restart):
    """All nodes are stopped and started again, each when the last one is back."""

    hits_all = True

    def impose_on(self, nodes: FaultedNodes, extent: FaultExtent) -> None:
        """Restart node after node."""
        for number in nodes.numbers:
            nodes.restart_nodes([number])
            if not nodes.await_back(number):
                return

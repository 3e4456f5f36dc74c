"""Nodes of a trial, as faults and cuts of power hit them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidegauge.errors import RunFailedError
from tidegauge.model.rig import Rig
from tidegauge.systems.api import Deployment, node_of

BACK_S_MAX = 180.0
"""How long a node may take to take part again before a rolling restart gives up."""
_POLL_S = 0.5


@dataclass(frozen=True)
class TrialNodes:
    """Implements `model.faults.procedure.FaultedNodes` for nodes that were started here.

    Attributes:
        read_missing: what nodes and replicas do not take part yet; "" if all do. May raise `RunFailedError`.
        trial_ended: set when the trial is over, or ended: nobody waits for a node any more.
    """

    numbers: tuple[int, ...]
    deployment: Deployment
    rig: Rig
    disks: tuple[Path, ...]
    links: Mapping[int, str]
    read_missing: Callable[[], str]
    trial_ended: threading.Event = field(default_factory=threading.Event)

    @property
    def processes(self) -> list[str]:
        """The names of what runs on them."""
        return [name for number in self.numbers for name in node_of(self.deployment.nodes, number).processes]

    def set_down(self) -> None:
        """Mark all of them as down on purpose."""
        for number in self.numbers:
            self.deployment.set_down(number)

    def start_again(self) -> None:
        """Start what of them has ended, unless the trial is over."""
        for number in () if self.trial_ended.is_set() else self.numbers:
            self.deployment.start_node(number)

    def restart_nodes(self, numbers: Sequence[int]) -> None:
        """Stop these of them as their operator would, then start them."""
        for number in numbers:
            self.deployment.stop_node(number)
        for number in numbers:
            self.deployment.start_node(number)

    def await_back(self, number: int) -> bool:
        """Wait until a node takes part again; False if the trial is over before. Raises `RunFailedError`."""
        deadline_s = time.monotonic() + BACK_S_MAX
        while True:
            try:
                missing = self.read_missing()
            except RunFailedError as error:
                missing = error.message
            if not missing:
                return True
            if self.trial_ended.wait(_POLL_S):
                return False
            self.deployment.check_alive()
            if time.monotonic() > deadline_s:
                raise RunFailedError(
                    f"Node {number} did not take part again within {BACK_S_MAX:.0f} s of its restart: {missing}."
                )

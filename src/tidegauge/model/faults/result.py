"""What a fault did to the load."""

from __future__ import annotations

from dataclasses import dataclass

from tidegauge.model.faults.fault import Fault


@dataclass(frozen=True)
class FaultResult:
    """A fault as it really went, and what it did to the load.

    Figures are of the seconds from the one in which the fault began until the next fault begins or, of the last one,
    the window ends; counts of messages until the trial ends. Nothing shorter than a second is seen, so that a gap is up
    to a second longer at either end than reported.

    Attributes:
        nodes: numbers of those that were hit.
        from_s, until_s: when it was in force and when it had been lifted (a node: when it was started again), after the
            window had begun.
        publish_gap_s, delivery_gap_s: of the seconds without any acknowledgement, and without any message received by
            some subscription.
        p99_before_ms: median over the seconds before the first fault of each second's p99 response.
        p99_worst_ms: the worst second's.
        normal_after_s: from the fault's beginning until rate, deliveries and p99 are as before, and stay so for a while
            after it was lifted; None if that was not seen.
        failed, duplicated, reordered, corrupt: messages in that time.
        lost: acknowledged messages; None where there were several faults and nobody knows which of them did it.
    """

    fault: Fault
    nodes: tuple[int, ...]
    from_s: float
    until_s: float
    publish_gap_s: float
    delivery_gap_s: float
    p99_before_ms: float | None
    p99_worst_ms: float | None
    normal_after_s: float | None
    failed: int
    duplicated: int
    reordered: int
    corrupt: int
    lost: int | None

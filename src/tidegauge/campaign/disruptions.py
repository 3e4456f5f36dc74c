"""What the faults of a trial did: the seconds that are kept for it, and the figures made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tidegauge.campaign.injection import Injected
from tidegauge.model.faults import FaultResult
from tidegauge.model.load import SecondFigures, TotalFigures
from tidegauge.statistics.disruption import FaultSpan, LoadSecond, disruption, normal_before
from tidegauge.statistics.summary import live_ms


@dataclass
class LoadSeconds:
    """Takes in a trial's seconds. Four numbers each, and kept only where there are faults."""

    seconds: list[LoadSecond] = field(default_factory=list)

    def take(self, figures: SecondFigures) -> None:
        """One second more."""
        subscriptions = figures.subscriptions
        self.seconds.append(
            LoadSecond(
                from_ns=figures.from_mono_ns,
                until_ns=figures.until_mono_ns,
                acked=figures.acked,
                received=min((sub.received for sub in subscriptions), default=0),
                p99_ms=live_ms(figures.response)[1],
                failed=figures.failed,
                duplicated=sum(sub.duplicated for sub in subscriptions),
                reordered=sum(sub.reordered for sub in subscriptions),
                corrupt=sum(sub.corrupt for sub in subscriptions),
            )
        )


def fault_results(
    injected: Sequence[Injected], seconds: Sequence[LoadSecond], window: tuple[int, int], totals: TotalFigures
) -> tuple[FaultResult, ...]:
    """Figures of each fault. `window`: the measured one, monotonic ns."""
    if not injected:
        return ()
    from_ns, until_ns = window
    normal = normal_before(seconds, injected[0].begin_ns)
    lost = sum(sub.lost for sub in totals.subscriptions)
    found = []
    for one, after in pairwise((*injected, None)):
        if one is None:
            continue
        next_ns = after.begin_ns if after else None
        figures = disruption(seconds, normal, FaultSpan(one.begin_ns, one.lifted_ns, next_ns, until_ns))
        found.append(
            FaultResult(
                fault=one.fault,
                nodes=one.nodes,
                from_s=(one.begin_ns - from_ns) / 1e9,
                until_s=(one.lifted_ns - from_ns) / 1e9,
                publish_gap_s=figures.publish_gap_s,
                delivery_gap_s=figures.delivery_gap_s,
                p99_before_ms=normal.p99_ms,
                p99_worst_ms=figures.p99_worst_ms,
                normal_after_s=figures.normal_after_s,
                failed=figures.failed,
                duplicated=figures.duplicated,
                reordered=figures.reordered,
                corrupt=figures.corrupt,
                lost=lost if len(injected) == 1 or not lost else None,
            )
        )
    return tuple(found)

"""Loads of any shape on a deployment of a test, through the worker, and what came of them."""

from __future__ import annotations

import time
from dataclasses import replace

from deployments import Ready
from live import order_on
from patience import Patience

from tidegauge.model.load import TotalFigures
from tidegauge.model.workload import Arrival, ClientSettings, Payload, RateSchedule, Workload
from tidegauge.worker.api import LoadOrder

SMALL = Workload(payload=Payload(message_bytes=200), client=ClientSettings(in_flight_messages_max=500))
DRAIN_S_MAX = 20.0


def order_for(
    ready: Ready, name: str, workload: Workload, msgs_per_s: float = 1000.0, schedule: RateSchedule | None = None
) -> LoadOrder:
    """A load on topics of its own, or on those that the workload says exist."""
    return order_on(
        ready.deployment,
        ready.system,
        ready.choice,
        topic_names=workload.existing_topics or tuple(f"{name}-{index}" for index in range(workload.topics)),
        workload=workload,
        msgs_per_s=msgs_per_s,
        trial_number=abs(hash((name, time.time_ns()))) >> 2,
        consumers_start_paused=not workload.producers,
        schedule=schedule,
    )


def run_load(ready: Ready, order: LoadOrder, seconds: float = 1.0, keep: bool = False) -> TotalFigures:
    """Carry out a load and wait until its consumers have everything. `keep`: its topics."""
    worker = ready.worker
    worker.prepare(order)
    try:
        begin_ns = worker.start()
        worker.set_window(begin_ns, begin_ns + round(seconds * 1e9))
        time.sleep(seconds + 0.2)
        worker.stop_producers(10.0)
        patience = Patience(DRAIN_S_MAX)
        while any(s.backlog for s in worker.totals().subscriptions) and not patience.is_over():
            time.sleep(0.05)
        # What a wrong delivery would bring comes a little later.
        time.sleep(0.2)
        return worker.totals()
    finally:
        worker.finish(delete_topics=not keep)


def fill(ready: Ready, name: str, partitions: int = 2, messages: int = 500) -> tuple[tuple[str, ...], int]:
    """Leave at least so many messages in a topic that nobody reads; its names, and how many."""
    kept = 1 if ready.system.name == "pulsar" else 0
    order = order_for(ready, name, replace(SMALL, partitions=partitions, subscriptions=kept))
    if kept:
        # Pulsar deletes what no subscription wants: one that stays paused keeps it.
        order = replace(order, consumers_start_paused=True)
    worker = ready.worker
    worker.prepare(order)
    try:
        worker.start()
        while worker.totals().acked < messages:
            time.sleep(0.02)
        worker.stop_producers(10.0)
        totals = worker.totals()
        assert [sub.received for sub in totals.subscriptions] == [0] * kept
        return order.topic_names, totals.acked
    finally:
        worker.finish(delete_topics=False)


def read_all(ready: Ready, workload: Workload, expected: int, patience_s: float = 20.0) -> TotalFigures:
    """Read existing topics until so many messages have come, or patience ends."""
    worker = ready.worker
    order = order_for(ready, "read", replace(workload, arrival=Arrival.CLOSED_LOOP), 0.0)
    worker.prepare(order)
    try:
        worker.set_window(worker.start(0.0), 0)
        worker.resume_consumers([])
        patience = Patience(patience_s)
        while not patience.is_over():
            totals = worker.totals()
            if all(sub.received >= expected for sub in totals.subscriptions):
                break
            time.sleep(0.05)
        time.sleep(0.2)
        return worker.totals()
    finally:
        worker.finish(delete_topics=False)

"""Servers from which figures are collected while a trial goes on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from campaign_doubles import (
    FakeHost,
    FakeResources,
    FakeRunStore,
    FakeWorker,
    Journal,
    histogram,
    spec_of,
    subscription,
    window,
)
from pyroaring import BitMap64

from tidegauge.campaign.run.collecting import collect_result
from tidegauge.campaign.run.trial.result import Measuring
from tidegauge.model.events import Event, Note
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import ReceivedSequences, SecondFigures, SentSequences, SubscriptionSecond, TotalFigures
from tidegauge.model.trial import LoadResult
from tidegauge.model.workload import Workload
from tidegauge.plain import plain_value
from tidegauge.worker.api import LeftResults

S = 1_000_000_000
BEGIN, FROM, UNTIL = 1_000 * S, 1_002 * S, 1_005 * S
EACH_S = 1_000
SECONDS = 6
SENT = EACH_S * SECONDS
SPEC = spec_of("latency", "kafka@4.3.1", msgs_per_s=2.0 * EACH_S, measure_s=3.0, workload=Workload(producers=2))


def second(number: int) -> SecondFigures:
    """One of a worker that sends 1,000 messages each second, and receives them."""
    from_ns = BEGIN + number * S
    sub = SubscriptionSecond("sub-0", EACH_S, EACH_S, 0, 0, 0, 0, histogram([3.0], EACH_S), EACH_S)
    return SecondFigures(
        number, from_ns, from_ns + S, EACH_S, EACH_S, EACH_S, 0, EACH_S, 0, 0, 0,
        histogram([2.0], EACH_S), histogram([2.0], EACH_S), b"", (sub,), 10**6, 0, 10**7,
    )  # fmt: skip


def packed(sequences: Iterable[int]) -> bytes:
    return bytes(BitMap64(sequences).serialize())


def left(worker: int = 0, lost: Iterable[int] = (), **more: Any) -> LeftResults:
    """Of one of two workers, which has one producer and receives what that sends, but what is `lost`."""
    got = set(range(SENT)) - set(lost)
    unknown = more.pop("unknown", [])
    totals = TotalFigures(
        sent=SENT, acked=SENT - len(unknown), failed=0, unresolved=len(unknown), window=window(FROM, UNTIL, EACH_S),
        subscriptions=(subscription(received=len(got), unique=len(got), end_to_end=histogram([3.0], 3 * EACH_S)),),
        errors=(), worker_cpu_ns=10**9, gc_pause_ns=0, resident_bytes=10**8,
    )  # fmt: skip
    sequences = (
        SentSequences(worker, SENT, packed(unknown) if unknown else b""),
        ReceivedSequences("sub-0", worker, packed(got)),
    )
    found = LeftResults(BEGIN, "its stream broke", tuple(map(second, range(SECONDS))), sequences, totals)
    return replace(found, **more)


@dataclass
class Scene:
    path: Path
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.journal = Journal()
        self.store = FakeRunStore(self.path, self.journal)

    def collect(
        self, found: Sequence[LeftResults], workers: int = 2, subscriptions: int = 1, **known: Any
    ) -> LoadResult | None:
        processes = tuple(f"worker-{number + 1}" for number in range(workers))
        record = Measuring(
            4711, processes, "2026-01-01T00:00:00", BEGIN, FROM, UNTIL, "", "", LevelFinding(3, ("fsync",)), None
        )
        worker: Any = FakeWorker(self.journal, left=found)
        resources = FakeResources(FakeHost(self.journal), lambda *_: worker, lambda _: "", self.events.append)
        spec = replace(SPEC, workload=replace(SPEC.workload, subscriptions=subscriptions))
        return collect_result(spec, plain_value(replace(record, **known)), "kafka", resources, self.store)

    @property
    def notes(self) -> str:
        return " ".join(event.text for event in self.events if isinstance(event, Note))

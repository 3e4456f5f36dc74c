"""A trial whose controller ended once it was measured: whether what its load generators left becomes a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from campaign_doubles import FakeHost, FakeRunStore, FakeWorker, Journal, histogram, spec_of, subscription, window
from pyroaring import BitMap64

from tidegauge.campaign.run.collecting import COLLECTED, collect, collectable
from tidegauge.campaign.run.result import Measuring
from tidegauge.campaign.run.session import RunResources
from tidegauge.model.events import Event, Note
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import (
    ReceivedSequences,
    SecondFigures,
    SentSequences,
    SubscriptionSecond,
    TotalFigures,
)
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.model.workload import LateReaders, Workload
from tidegauge.plain import plain
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

    def collect(self, found: Sequence[LeftResults], workers: int = 2, **known: Any) -> LoadResult | None:
        processes = tuple(f"worker-{number + 1}" for number in range(workers))
        record = Measuring(
            4711, processes, "2026-01-01T00:00:00", BEGIN, FROM, UNTIL, "", "", LevelFinding(3, ("fsync",)), None
        )
        worker: Any = FakeWorker(self.journal, left=found)
        resources = RunResources(FakeHost(self.journal), lambda *_: worker, lambda _: "", self.events.append)
        return collect(SPEC, plain(replace(record, **known)), "kafka", resources, self.store)

    @property
    def notes(self) -> str:
        return " ".join(event.text for event in self.events if isinstance(event, Note))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_what_two_workers_left_is_a_doubtful_result(scene: Scene) -> None:
    result = scene.collect([left(0), left(1)])
    assert result is not None
    assert result.validity is Validity.DOUBTFUL
    assert result.reasons[0].startswith(f"{COLLECTED} (its stream broke)")
    assert (result.sent, result.acked, result.msgs_per_s) == (2 * SENT, 2 * SENT, 2 * EACH_S)
    (sub,) = result.subscriptions
    assert (sub.received, sub.lost, sub.backlog) == (2 * SENT, 0, 0)
    assert (result.level.level, result.warmup_s, result.server_cpu_s) == (3, 2.0, None)
    stored = scene.store.trials[SPEC.trial_id]
    assert stored.result == result
    assert stored.phases == ["warm-up"] * 2 + ["measure"] * 3 + ["drain"]
    assert scene.journal.entries[-3:] == ["result stored", "left results removed", "worker closed"]
    assert scene.notes == ""


def test_what_is_whole_but_late_is_a_result_as_any(scene: Scene) -> None:
    late = replace(left().totals.window, own_lag=histogram([2.0], 3 * EACH_S), response=histogram([3.0], 3 * EACH_S))
    result = scene.collect([replace(own, totals=replace(own.totals, window=late)) for own in (left(0), left(1))])
    assert result is not None
    assert result.validity is Validity.INVALID
    assert "load generator itself was late" in result.reasons[0]
    assert result.reasons[-1].startswith(COLLECTED)
    assert scene.store.aside == []


def test_so_is_what_one_left(scene: Scene) -> None:
    result = scene.collect([left()], workers=1)
    assert result is not None
    assert (result.validity, result.sent, scene.store.trials[SPEC.trial_id].seconds) == (
        Validity.DOUBTFUL,
        SENT,
        SECONDS,
    )


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (
            [left(0, lost=[7, 8]), left(1)],
            "2 acknowledged messages had not been received and 0 messages had no outcome",
        ),
        ([left(0), left(1, unknown=[7])], "0 acknowledged messages had not been received and 1 message had no outcome"),
    ],
)
def test_what_is_missing_makes_it_invalid_and_the_trial_again(
    scene: Scene, found: list[LeftResults], says: str
) -> None:
    assert scene.collect(found) is None
    (kept,) = scene.store.aside
    assert isinstance(kept.result, LoadResult)
    assert kept.result.validity is Validity.INVALID
    assert says in kept.result.reasons[0]
    assert kept.result.subscriptions[0].lost == 0, "nobody knows whether it was lost"
    assert scene.notes.startswith(f"{SPEC.trial_id} is made again: {COLLECTED}")
    assert scene.notes.endswith("What it had measured is in earlier-1.")


@pytest.mark.parametrize(
    ("found", "known", "says"),
    [
        ([], {}, "its load generators left no figures."),
        ([left(0)], {}, "its load generators left no figures."),
        ([left(0), left(1)], {"until_mono_ns": UNTIL + 1}, "what worker-1 left is of another attempt."),
        ([left(0), left(1, seconds=(second(1),))], {}, "the first seconds of worker-2 were not kept for so long."),
        ([left(0), left(0)], {}, "do not add up"),
        ([left(0), left(1)], {"level": {"number": "x"}}, "its record can't be read"),
    ],
    ids=["none", "one of two", "another window", "long", "not of these two", "damaged"],
)
def test_what_is_no_whole_trial_is_left_alone(
    scene: Scene, found: list[LeftResults], known: dict[str, Any], says: str
) -> None:
    assert scene.collect(found, **known) is None
    assert scene.notes.startswith(f"{SPEC.trial_id} is made again: it had been measured, but ")
    assert says in scene.notes
    assert scene.store.trials == {}, "what the session before stored stays as it is"
    assert "left results removed" not in scene.journal.entries


def test_of_faults_and_late_readers_the_controller_sees_more() -> None:
    assert collectable(SPEC)
    assert not collectable(replace(SPEC, late=LateReaders.__new__(LateReaders)))

"""A trial whose controller ended once it was measured: whether what its load generators left becomes a result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from campaign_doubles import histogram
from collecting_scenes import EACH_S, SECONDS, SENT, SPEC, UNTIL, Scene, left, second

from tidegauge.campaign.run.collecting import is_collectable
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.model.workload import LateReaders
from tidegauge.worker.api import LeftResults


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_what_two_workers_left_is_a_doubtful_result(scene: Scene) -> None:
    result = scene.collect([left(0), left(1)])
    assert result is not None
    assert result.validity is Validity.DOUBTFUL
    assert result.reasons[0].kind is ReasonKind.COLLECTED
    assert "had written by then (its stream broke)" in result.reasons[0].text
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
    assert [reason.kind for reason in result.reasons] == [ReasonKind.OWN_LAG, ReasonKind.COLLECTED]
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
            "(its stream broke): 2 acknowledged messages had not been received",
        ),
        ([left(0), left(1, unknown=[7])], "(its stream broke): 1 message had no outcome"),
    ],
)
def test_what_is_missing_makes_it_invalid_and_the_trial_again(
    scene: Scene, found: list[LeftResults], says: str
) -> None:
    assert scene.collect(found) is None
    (kept,) = scene.store.aside
    assert isinstance(kept.result, LoadResult)
    assert kept.result.validity is Validity.INVALID
    assert says in str(kept.result.reasons[0])
    assert kept.result.subscriptions[0].lost == 0, "nobody knows whether it was lost"
    assert scene.notes.startswith(f"{SPEC.trial_id} is made again: its controller ended before the trial did, and")
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
    assert is_collectable(SPEC)
    assert not is_collectable(replace(SPEC, late=LateReaders.__new__(LateReaders)))

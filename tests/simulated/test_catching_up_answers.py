"""Late readers on simulated systems with known answers: drain rate, chase time, never draining, order of a trial."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from backlog_worker import LATE, BacklogWorker, found_of
from campaign_doubles import FakeLab, result_of, spec_of
from reasons import reasons_of, texts_of
from trial_scenes import Scene

from tidegauge.campaign.run.catch_up import _device_reads
from tidegauge.experiments.catch_up import EXPERIMENT as CATCH_UP
from tidegauge.experiments.mixed import EXPERIMENT as MIXED
from tidegauge.model.trial import CatchUp, LoadResult, LoadSpec, Validity
from tidegauge.model.workload import AFTER, BEFORE, DURING, DeviceReads, LateReaders
from tidegauge.statistics.catching_up import crossed_s, gone_at
from tidegauge.statistics.figures import FINDING_FIGURES


def test_the_drain_rate_is_what_reading_exceeds_the_load_by() -> None:
    found = found_of(60_000, 300_000)
    assert found.backlog_msgs == 300_000
    assert found.backlog_bytes == 300_000_000
    assert found.drain_msgs_per_s == pytest.approx(50_000, rel=0.001)
    assert found.drain_bytes_per_s == pytest.approx(50_000_000, rel=0.001)
    # Gone at 1 %: 297,000 messages at 50,000 a second.
    assert found.chase_s == pytest.approx(5.94, abs=0.01)
    assert found.peak_read_msgs_per_s == 60_000
    assert found.peak_read_bytes_per_s == 60_000_000


def test_each_phase_has_figures_of_its_own_and_readers_that_keep_up_are_apart() -> None:
    found = found_of(60_000, 300_000)
    response = [found.phase(name).response.p99_ms for name in (BEFORE, DURING, AFTER)]
    assert response == pytest.approx([2.0, 8.0, 3.0], rel=0.01)
    tailing = [found.phase(name).tailing_end_to_end for name in (BEFORE, DURING, AFTER)]
    assert [latency.p99_ms for latency in tailing if latency] == pytest.approx([5.0, 20.0, 6.0], rel=0.01)
    assert [latency.max_ms for latency in tailing if latency] == pytest.approx([5.0, 20.0, 6.0], rel=0.01), (
        "no late message"
    )
    assert [found.phase(name).seconds for name in (BEFORE, DURING, AFTER)] == [30, 6, 5]
    assert found.phase(DURING).late_msgs_per_s == pytest.approx(60_000, rel=0.01)
    assert found.phase(BEFORE).late_msgs_per_s == 0


@pytest.mark.parametrize(("reads", "slope"), [(9_000, 1_000), (10_000, 0), (10_200, -200)])
def test_a_reader_that_is_too_slow_never_drains_and_the_slope_says_so(reads: int, slope: int) -> None:
    found = found_of(reads, 300_000)
    assert found.chase_s is None
    assert found.watched_s == 60
    assert found.left_msgs == 300_000 + 60 * slope
    assert found.slope is not None
    assert found.slope.per_s == slope
    assert found.drain_msgs_per_s == pytest.approx(-slope)


def test_a_backlog_counts_as_gone_at_what_readers_always_owe() -> None:
    assert gone_at(1_000_000, 0.99, 1_000) == 10_000
    assert gone_at(1_000, 0.99, 10_000) == 2_500
    assert gone_at(1_000_000, 0.9, 1_000) == 100_000
    assert gone_at(0, 1.0, 0.0) == 1


def test_the_instant_within_a_second() -> None:
    assert crossed_s(10_000, 0, 2_500, 1.0) == 0.75
    assert crossed_s(10_000, 0, 2_500, 2.0) == 1.5
    assert crossed_s(100, 0, 2_500, 1.0) == 0.0


def test_what_servers_always_read_is_not_taken_for_the_backlog() -> None:
    reads = _device_reads((0, 10_000_000, 110_000_000), (10.0, 20.0), 100_000_000, attached=False)
    assert reads.usual_bytes_per_s == 1_000_000
    assert reads.share == pytest.approx(0.8)
    assert reads.from_device


def test_a_backlog_from_cache_is_seen_by_what_was_not_read() -> None:
    reads = _device_reads((0, 0, 3_000_000), (10.0, 20.0), 100_000_000, attached=False)
    assert reads.share == pytest.approx(0.03)
    assert not reads.from_device


def test_a_few_megabytes_may_be_the_servers_own_code() -> None:
    assert not DeviceReads(7_000_000, 0.0, 10_000_000, 10.0).from_device
    assert DeviceReads(70_000_000, 0.0, 100_000_000, 10.0).from_device


@pytest.mark.parametrize(("attached", "why"), [(True, "others run the servers"), (False, "/proc/PID/io")])
def test_reads_that_nobody_counts_are_unknown(attached: bool, why: str) -> None:
    reads = _device_reads((0, None, 5), (1.0, 1.0), 100, attached=attached)
    assert reads.share is None
    assert not reads.from_device
    assert why in reads.unknown


# The experiments


def lab_run(experiment: Any, options: dict[str, str], found: CatchUp, **changes: Any) -> tuple[FakeLab, LoadSpec]:
    parsed = experiment.options.model_validate(options)
    (planned,) = experiment.plan(parsed, spec_of(experiment.name, "kafka@1"))
    lab = FakeLab(lambda spec: replace(result_of(spec, **changes), catch_up=found))
    experiment.run(parsed, (planned,), lab)
    return lab, planned


def test_catch_up_shows_chase_drain_and_device_reads() -> None:
    lab, planned = lab_run(CATCH_UP, {"rate": "10k", "backlog": "300k messages"}, found_of(60_000, 300_000))
    assert planned.late == LateReaders(1, 300_000, "300k messages", 0.99, 300.0)
    (finding,) = lab.findings
    assert finding.decided
    assert finding.summary == (
        "a backlog of 300,000 messages (286 MiB) was gone 5.94 s after its readers began, shrinking by 50,000 msg/s "
        "(50 MB/s); at most 60,000 msg/s were read",
        "publish response p99: 2 ms before, 8 ms during, 3 ms after",
        "device reads: 90.6 MiB of 95.4 MiB backlog (95%)",
    )
    assert finding.rows[0]["state"] == "drained"
    assert finding.figures["drain_msgs_per_s"] == pytest.approx(50_000, rel=0.001)
    assert finding.figures["chase_s"] == pytest.approx(5.94, abs=0.01)
    assert set(finding.figures) <= set(FINDING_FIGURES)
    assert finding.rows[0]["from device"] == "95%"


def test_catch_up_that_never_drains_is_an_answer_with_its_slope() -> None:
    lab, _ = lab_run(CATCH_UP, {"rate": "10k", "backlog": "300k messages"}, found_of(9_000, 300_000))
    (finding,) = lab.findings
    assert finding.decided
    assert finding.summary[0].startswith("never drained in 60 s: a backlog of 300,000 messages")
    assert "was one of 360,000 by then, growing by 1,000 msg/s" in finding.summary[0]
    assert finding.rows[0]["state"] == "NEVER DRAINED"
    assert "chase_s" not in finding.figures


def test_catch_up_from_cache_is_doubtful_in_words() -> None:
    found = replace(found_of(60_000, 300_000), reads=DeviceReads(3_000_000, 0.0, 100_000_000, 10.0))
    lab, _ = lab_run(CATCH_UP, {"rate": "10k", "backlog": "300k messages"}, found)
    assert any(sentence.startswith("DOUBTFUL: 3% of the backlog") for sentence in lab.findings[0].summary)


def test_an_invalid_trial_gives_no_answer() -> None:
    lab, _ = lab_run(
        CATCH_UP,
        {"rate": "10k", "backlog": "300k messages"},
        found_of(60_000, 300_000),
        validity=Validity.INVALID,
        reasons=reasons_of("the generator was late"),
    )
    assert not lab.findings[0].decided
    assert "the generator was late" in lab.findings[0].summary[0]


def test_mixed_adds_a_late_subscription_and_keeps_the_others_apart() -> None:
    lab, planned = lab_run(MIXED, {"rate": "10k", "backlog": "300k messages"}, found_of(60_000, 300_000))
    assert planned.workload.subscriptions == 2
    assert planned.late
    assert planned.late.subscriptions == 1
    summary = lab.findings[0].summary
    assert "publish response p99: 2 ms before, 8 ms during, 3 ms after" in summary
    assert "end-to-end of readers from the start p99: 5 ms before, 20 ms during, 6 ms after" in summary
    assert lab.findings[0].details["phases"]["during"]["tailing_end_to_end_p99_ms"] == pytest.approx(20, rel=0.01)


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        ({"backlog": "2GiB"}, 2 << 20),
        ({"backlog": "500k messages"}, 500_000),
        ({"backlog": "150% of server memory", "server-memory": "512MiB"}, 768 << 10),
    ],
)
def test_the_backlog_in_messages_of_1_kib(options: dict[str, str], messages: int) -> None:
    parsed = CATCH_UP.options.model_validate({"rate": "10k", **options})
    (planned,) = CATCH_UP.plan(parsed, spec_of("catch-up", "kafka@1"))
    assert planned.late
    assert planned.late.backlog_msgs == messages
    assert CATCH_UP.objection(parsed, []) == ""


def test_a_share_of_a_memory_that_is_not_reported_is_refused() -> None:
    parsed = CATCH_UP.options.model_validate({"rate": "10k", "backlog": "150% of server memory"})
    assert "needs 'server-memory'" in CATCH_UP.objection(parsed, [])


# The trial


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    scene.worker = BacklogWorker(scene.journal)
    yield scene


def run_late(scene: Scene, spec: LoadSpec = LATE) -> tuple[LoadResult, CatchUp]:
    result = scene.run(spec)
    assert result.catch_up
    return result, result.catch_up


def test_late_readers_start_paused_and_are_resumed_inside_the_open_window(scene: Scene) -> None:
    _, found = run_late(scene)
    assert scene.worker.order
    assert scene.worker.order.subscriptions_start_paused == 1
    happened = [entry for entry in scene.journal.entries if entry in ("window", "resume sub-0", "stop producers")]
    assert happened == ["window", "resume sub-0", "window", "stop producers"]
    assert found.backlog_msgs >= 1_500
    assert found.chase_s == pytest.approx((found.backlog_msgs - 0.1 * found.backlog_msgs) / 5_000, rel=0.25)


def test_every_second_is_stored_with_its_phase(scene: Scene) -> None:
    result, _ = run_late(scene)
    # With nothing left to drain there may be no second of it.
    assert not any("fell ever further behind" in warning for warning in texts_of(result.warnings)), (
        "it is meant to grow"
    )
    phases = list(dict.fromkeys(scene.store.phases))
    assert [phase for phase in phases if phase != "drain"] == ["warm-up", "before", "during", "after"]


def test_never_draining_ends_by_the_limit(scene: Scene) -> None:
    scene.worker.reads_msgs_per_s = 900.0
    spec = replace(LATE, late=replace(LATE.late, chase_s_max=1.5)) if LATE.late else LATE
    result, found = run_late(scene, spec)
    assert found.chase_s is None
    assert found.watched_s >= 1.3
    assert found.left_msgs > found.backlog_msgs
    assert found.phase(AFTER).seconds == 0
    assert result.msgs_per_s > 0


def test_what_the_machine_does_not_count_is_a_warning_of_the_trial(scene: Scene) -> None:
    result, _ = run_late(scene)
    assert any("device reads are not known" in warning for warning in texts_of(result.warnings))


def test_a_backlog_that_stays_too_small_is_reported(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegauge.campaign.run.catch_up._BUILD_S_MORE", 0.0)
    monkeypatch.setattr("tidegauge.campaign.run.catch_up._BUILD_TIMES_MAX", 0.001)
    spec = replace(LATE, late=replace(LATE.late, backlog_msgs=10**6)) if LATE.late else LATE
    result, _ = run_late(scene, spec)
    assert any("of 1,000,000 messages only" in warning for warning in texts_of(result.warnings))


def test_what_servers_usually_read_is_reported_by_the_time_in_which_they_did() -> None:
    reads = _device_reads((100, 600, 2_600), (10.0, 4.0), 1_000, False)
    assert (reads.read_bytes, reads.usual_bytes_per_s, reads.seconds) == (2_000, 50.0, 4.0)

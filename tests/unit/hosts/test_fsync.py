"""Waiting for a disk that is still busy with what came before."""

from __future__ import annotations

from pathlib import Path

from tidegauge.hosts.fsync import Calm, FsyncLatency, await_calm, calm_disk, fsync_latency, usual_latency


def test_a_real_disk_has_a_latency_and_no_file_is_left(tmp_path: Path) -> None:
    latency = fsync_latency(tmp_path, 0.05)
    assert latency.count >= 1
    assert 0 < latency.mean_ms <= latency.max_ms
    assert 0 < latency.mean_ms <= latency.max_ms
    assert usual_latency(tmp_path, bursts=2) > 0
    assert list(tmp_path.iterdir()) == []


def test_what_is_usual_is_of_the_disk_not_of_a_directory(tmp_path: Path) -> None:
    """A trial makes directories where the one before it had none, and leaves the disk busy."""
    before = calm_disk(tmp_path / "data/0001")
    (tmp_path / "data/0002").mkdir(parents=True)
    assert calm_disk(tmp_path / "data/0002").usual_ms == before.usual_ms


def waited(*means_ms: float, seconds_max: float = 10.0) -> Calm:
    """Each burst takes a second; the last one repeats."""
    seen: list[float] = []

    def measure() -> FsyncLatency:
        seen.append(means_ms[min(len(seen), len(means_ms) - 1)])
        return FsyncLatency(10, seen[-1], seen[-1])

    return await_calm(1.0, seconds_max, measure, lambda: float(len(seen)))


def test_a_calm_disk_needs_two_bursts() -> None:
    assert waited(1.1) == Calm(FsyncLatency(10, 1.1, 1.1), 1.0, 2.0, True)


def test_a_disturbed_disk_is_waited_for() -> None:
    calm = waited(30.0, 20.0, 1.5, 9.0, 1.2, 1.3)
    assert (calm.waited_s, calm.latency.mean_ms, calm.is_calm) == (6.0, 1.3, True)


def test_a_disk_that_never_calms_down_is_reported() -> None:
    calm = waited(30.0, seconds_max=5.0)
    assert (calm.waited_s, calm.is_calm) == (5.0, False)

"""The limiting resource is named right where a test makes it so: a broker's CPU, the client's, a disk. Root."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from command import Command, Place, valid_unless_starved, wait_until_measuring
from cpu_quota import needs_cpu_limit, quota
from throttled_disk import can_throttle, throttled_disk

from tidegauge.store.telemetry import DEVICES, HOST, METRICS, PROCESSES, read_telemetry
from tidegauge.systems.kafka.metrics import find_jmx_exporter

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CAMPAIGN = """
name: limits
systems: [kafka]
durability: 4
workload: {message-size: 1KiB}
experiments:
  - {name: peak, warm-up-min: 2s, warm-up-max: 4s, measure: 8s, drain-max: 10s}
"""
QUOTA_CPUS = 0.15
"""So little that a busy machine gives it all the same."""
DISK_BYTES_PER_S = 1_000_000
"""Less than a load gets through that has to share its CPUs."""
RUN_S_MAX = 400


def finished(run: Command, place: Place) -> tuple[Path, dict[str, Any]]:
    """The trial's directory and its result, once the run has ended."""
    valid_unless_starved(run.finish(RUN_S_MAX), place)
    (trial,) = place.only_run().glob("trials/*")
    return trial, json.loads((trial / "result.json").read_text())["result"]


def limited(place: Place, process: str) -> tuple[Path, dict[str, Any]]:
    """Run with a quota on one process from the moment at which there is load."""
    run = place.start("run", str(place.write(CAMPAIGN)))
    try:
        wait_until_measuring(place, run)
        with quota(f"tidegauge-test-{os.getpid()}-{process}", QUOTA_CPUS) as group:
            (group / "cgroup.procs").write_text(str(place.held()[process]))
            return finished(run, place)
    finally:
        if run.poll() is None:
            run.terminate()
            run.communicate(timeout=60)


@needs_cpu_limit
@pytest.mark.slow
def test_a_broker_whose_cpu_is_limited_and_all_that_is_recorded(tmp_path: Path) -> None:
    place = Place(tmp_path)
    trial, result = limited(place, "kafka-1")
    found = result["limiting"]
    assert (found["resource"], found["subject"]) == ("server CPU", "kafka-1"), found
    assert "of the 0.15 CPUs it may use, held back" in found["words"]
    assert result["telemetry_cpus"] < 0.1

    processes = list(read_telemetry(trial, PROCESSES))
    assert {row["process"] for row in processes} == {"kafka-1", "worker"}
    broker = [row for row in processes if row["process"] == "kafka-1"]
    assert any(row["cpus_allowed"] == QUOTA_CPUS and row["cpu_throttled_s"] > 0 for row in broker)
    assert all(row["threads"] > 20 for row in broker)
    assert any(row["gc_pause_s"] > 0 for row in broker)
    assert any(row["busiest_thread"] for row in broker)
    assert max(row["written_bytes"] for row in broker) > 0
    (device,) = {row["number"] for row in read_telemetry(trial, DEVICES)} & {_device(tmp_path)} or {""}
    assert device == _device(tmp_path)
    spans = [(row["from_mono_ns"], row["until_mono_ns"]) for row in read_telemetry(trial, HOST)]
    assert len(spans) >= 8
    assert all(until == begun for (_, until), (begun, _) in itertools.pairwise(spans))

    if find_jmx_exporter() is not None:
        values = {row["metric"]: row["value"] for row in read_telemetry(trial, METRICS)}
        assert values.keys() >= {"produce_total_ms", "request_handler_idle_share", "under_replicated_partitions"}
        assert values["produce_total_ms"] > 0
    assert place.left_behind() == []


def _device(path: Path) -> str:
    """Of the disk, "" where the file system has none of its own."""
    number = path.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    return device if Path(f"/sys/dev/block/{device}").exists() else ""


@pytest.mark.slow
@needs_cpu_limit
def test_a_client_whose_cpu_is_limited(tmp_path: Path) -> None:
    _, result = limited(Place(tmp_path), "worker")
    found = result["limiting"]
    assert (found["resource"], found["subject"]) == ("client CPU", "worker"), found


@pytest.mark.slow
@pytest.mark.skipif(not can_throttle(), reason="needs root and blkio throttling")
def test_a_disk_that_is_throttled(tmp_path: Path) -> None:
    place = Place(tmp_path)
    text = CAMPAIGN.replace("durability: 4", "durability: 3").replace("warm-up-max: 4s", "warm-up-max: 10s")
    with throttled_disk(tmp_path, 3 << 30, DISK_BYTES_PER_S) as disk:
        run = place.start("run", str(place.write(text)), "--data-dir", str(disk))
        _, result = finished(run, place)
    found = result["limiting"]
    assert found["resource"] == "disk", found
    assert "of 1.0 MB/s it may take" in found["words"]

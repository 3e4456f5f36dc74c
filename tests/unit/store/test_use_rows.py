"""What was used in each second as one row, and a day of it in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from use_samples import DEVICE, PROCESS, SAMPLE, later

from tidegauge.live.state import _with_use
from tidegauge.model.use import OtherHostUse
from tidegauge.store.telemetry import OF_HOST, WRITTEN_TO, MetricRow, TelemetryLog, last_use_rows, metric_rows, use_rows


def test_servers_are_taken_together_and_the_worker_is_none(tmp_path: Path) -> None:
    log = TelemetryLog(tmp_path)
    servers = (PROCESS, replace(PROCESS, name="kafka-2", gc_pause_s=None), replace(PROCESS, name="worker"))
    log.append_sample(replace(SAMPLE, processes=servers, devices=(DEVICE, replace(DEVICE, number="8:0", busy_s=0.9))))
    log.append_sample(later(SAMPLE, 1, processes=(), devices=(), host=replace(SAMPLE.host, others_cpu_s=0.5)))
    log.finish()
    first, second = use_rows(tmp_path, 100)
    assert (first["others_cpu_percent"], second["others_cpu_percent"]) == (None, 25.0)
    assert first["server_cpu_s"] == 1.0
    assert first["server_gc_pause_s"] == 0.004
    assert first["server_context_switches"] == 1800
    assert first["host_cpu_percent"] == 50.0
    assert (first["disk_written_bytes"], first["disk_busy_percent"]) == (10240, 90.0)
    assert (first["disk_read_bytes"], first["disk_flushes"]) == (2 * DEVICE.read_bytes, 2 * DEVICE.flushes)
    assert first["loopback_bytes"] == SAMPLE.host.loopback_bytes
    assert (first["cpu_stall_percent"], first["io_stall_percent"]) == (50.0, 30.0)
    assert (second["server_cpu_s"], second["disk_busy_percent"], second["host_cpu_percent"]) == (None, None, 50.0)


def test_each_other_host_of_a_fleet_has_a_column(tmp_path: Path) -> None:
    log = TelemetryLog(tmp_path)
    log.append_sample(SAMPLE)
    busy = replace(SAMPLE.host, cpu_s=1.5 * SAMPLE.host.cpus / 2)
    late = OtherHostUse("10.0.0.2", 2.0, busy)
    log.append_sample(
        later(SAMPLE, 1, others=(OtherHostUse("10.0.0.2", 1.0, busy), late, OtherHostUse("10.0.0.3", 1.0, busy)))
    )
    log.finish()
    first, second = use_rows(tmp_path, 100)
    assert not any(name.startswith(OF_HOST) for name in first)
    assert second[f"{OF_HOST}10.0.0.2"] == second[f"{OF_HOST}10.0.0.3"] == 75.0
    (both,) = use_rows(tmp_path, 1)
    assert both[f"{OF_HOST}10.0.0.2"] == 75.0, "also where rows are merged"


def test_long_trials_keep_their_peaks_in_fewer_rows(tmp_path: Path) -> None:
    log = TelemetryLog(tmp_path)
    for second in range(50):
        busy = replace(PROCESS, cpu_s=1.9 if second == 33 else 0.5)
        log.append_sample(later(SAMPLE, second, processes=(busy,)))
    log.close()
    rows = use_rows(tmp_path, 10)
    assert len(rows) <= 10
    assert max(row["server_cpu_s"] for row in rows) == 1.9
    assert rows[0]["from_mono_ns"] == SAMPLE.from_mono_ns


def test_nothing_recorded_is_no_row(tmp_path: Path) -> None:
    assert use_rows(tmp_path, 10) == ()
    (tmp_path / "telemetry").mkdir()
    (tmp_path / "telemetry/host.parquet").write_text("no parquet")
    assert use_rows(tmp_path, 10) == ()


def test_the_newest_rows_of_a_trial_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = TelemetryLog(tmp_path)
    assert last_use_rows(tmp_path) == []
    for second in range(50):
        log.append_sample(later(SAMPLE, second))
    log.close()
    assert last_use_rows(tmp_path) == list(use_rows(tmp_path, 100))
    monkeypatch.setattr("tidegauge.store.telemetry.LAST_BYTES", 4096)
    newest = last_use_rows(tmp_path)
    assert 5 < len(newest) < 50
    assert newest[-1] == use_rows(tmp_path, 100)[-1]
    log.finish()
    assert last_use_rows(tmp_path) == []


def test_the_live_page_shows_what_was_used_in_each_second() -> None:
    rows = [{"from_mono_ns": second * 10**9 + 3, "until_mono_ns": (second + 1) * 10**9 + 3} for second in range(3)]
    used = [
        {
            "from_mono_ns": 10**9,
            "until_mono_ns": 2 * 10**9,
            "host_cpu_percent": 90.0,
            "server_cpu_s": 0.5,
            "server_resident_bytes": 3 << 20,
            "disk_busy_percent": 40.0,
            "disk_written_bytes": 3e6,
        }
    ]
    seconds = _with_use([{}, {}, {}], rows, used)
    assert [second["host_cpu_percent"] for second in seconds] == [None, 90.0, None]
    assert (seconds[1]["server_cpu_cores"], seconds[1]["disk_written_mb_per_s"]) == (0.5, 3.0)
    assert [second["server_memory_mib"] for second in seconds] == [None, 3.0, None]


def test_each_of_several_disks_has_a_column_and_a_single_one_none(tmp_path: Path) -> None:
    log = TelemetryLog(tmp_path)
    two = (DEVICE, replace(DEVICE, number="8:0", name="sdb", written_bytes=7))
    log.append_sample(replace(SAMPLE, devices=two))
    log.append_sample(later(SAMPLE, 1))
    log.finish()
    first, second = use_rows(tmp_path, 100)
    assert (first[f"{WRITTEN_TO}vda"], first[f"{WRITTEN_TO}sdb"]) == (DEVICE.written_bytes, 7)
    assert first["network_sent_bytes"] == SAMPLE.host.network_sent_bytes
    assert not any(name.startswith(WRITTEN_TO) for name in second)


def test_what_servers_report_has_a_column_for_each_of_them(tmp_path: Path) -> None:
    assert metric_rows(tmp_path, 10) == ()
    log = TelemetryLog(tmp_path)
    for at, values in ((0, (3.0, 9.0)), (5, (4.0,))):
        span = (at * 10**9, (at + 5) * 10**9)
        log.append_metrics(
            [MetricRow(*span, f"bookie-{number}", "queue_entries", value) for number, value in enumerate(values)]
        )
    log.finish()
    first, second = metric_rows(tmp_path, 10)
    assert (first["queue_entries of bookie-0"], first["queue_entries of bookie-1"]) == (3.0, 9.0)
    assert second["queue_entries of bookie-0"] == 4.0 and "queue_entries of bookie-1" not in second
    (tmp_path / "telemetry/metrics.parquet").write_text("no parquet")
    assert metric_rows(tmp_path, 10) == ()

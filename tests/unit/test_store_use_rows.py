"""What was used in each second as one row, and a day of it in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from test_telemetry_parts import DEVICE, PROCESS, SAMPLE, later

from tidegauge.store.telemetry import TelemetryLog
from tidegauge.store.use_rows import use_rows


def test_servers_are_taken_together_and_the_worker_is_none(tmp_path: Path) -> None:
    log = TelemetryLog(tmp_path)
    servers = (PROCESS, replace(PROCESS, name="kafka-2", gc_pause_s=None), replace(PROCESS, name="worker"))
    log.sample(replace(SAMPLE, processes=servers, devices=(DEVICE, replace(DEVICE, number="8:0", busy_s=0.9))))
    log.sample(later(SAMPLE, 1, processes=(), devices=()))
    log.finish()
    first, second = use_rows(tmp_path, 100)
    assert first["server_cpu_s"] == 1.0
    assert first["server_gc_pause_s"] == 0.004
    assert first["server_context_switches"] == 1800
    assert first["host_cpu_percent"] == 50.0
    assert (first["disk_written_bytes"], first["disk_busy_percent"]) == (10240, 90.0)
    assert (second["server_cpu_s"], second["disk_busy_percent"], second["host_cpu_percent"]) == (None, None, 50.0)


def test_long_trials_keep_their_peaks_in_fewer_rows(tmp_path: Path) -> None:
    log = TelemetryLog(tmp_path)
    for second in range(50):
        busy = replace(PROCESS, cpu_s=1.9 if second == 33 else 0.5)
        log.sample(later(SAMPLE, second, processes=(busy,)))
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

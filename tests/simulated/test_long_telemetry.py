"""What the telemetry of a long run takes in memory and on disk, projected to a day and compared with the docs."""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tidegauge.limiting.window_use import Tally
from tidegauge.model.use import DeviceUse, HostUse, ProcessUse, ProgramUse, Sample, ThreadUse
from tidegauge.store.telemetry import HOST, PROCESSES, MetricRow, TelemetryLog, read_telemetry

ROOT = Path(__file__).resolve().parents[2]
TELEMETRY_MD = (ROOT / "docs/telemetry.md").read_text()
MIB = 1 << 20
DAY_S = 24 * 3600
MEASURED_S = 300
WARM_S = 200
GROWTH_BYTES_MAX = 128 * 1024
"""Over some minutes; a list of looks would grow by megabytes."""
LARGE_CLUSTER = 8


def looks(seconds: int, processes: int) -> Iterator[Sample]:
    """Like those of a busy cluster: every figure large and of many digits, threads that come and go."""
    for second in range(seconds):
        share = 0.5 + (second * 7919 % 1000) / 2001
        host = HostUse(
            64, share * 64, share * 7, share, share / 3, 1 << 38, (1 << 37) + second, 10**9 + second, 10**9, 10**8,
            10**8, 10**6, 10**3, 10**6, share, share, share, share, share, share, share, share, -share / 9,
            10**7 + second, 10**7 + second, 10**9 + second,
        )  # fmt: skip
        use = ProcessUse(
            name="pulsar-bookie-1",
            processes=1,
            threads=150,
            cpu_s=share,
            cpu_wait_s=share / 7,
            busiest=tuple(ThreadUse(second * 3 + n, f"bookie-io-1-{n}", share / (n + 1), share / 9) for n in range(3)),
            resident_bytes=6 * 10**9 + second,
            read_bytes=10**7 + second,
            written_bytes=10**8 + second,
            context_switches=10**5 + second,
            cpus_allowed=64.0,
            gc_pause_s=share / 100,
            gc_pause_max_s=share / 200,
            waiting=(ThreadUse(second * 3, "bookie-io-1-0", share, share / 9),),
        )
        programs = [ProgramUse(f"cc1plus-{n}", "session-3.scope", 3, share, 10**7, 10**7, 10**9) for n in range(3)]
        device = DeviceUse("254:0", "vda", 10**4, 10**8, 10**4, 10**8, share, share, 10**3, share)
        begun_ns = 10**15 + second * 10**9
        cluster = tuple(replace(use, name=f"pulsar-bookie-{number}") for number in range(1, processes + 1))
        yield Sample(second + 1, begun_ns, begun_ns + 10**9, host, cluster, (device,), 0.01, programs=tuple(programs))


def follow(log: TelemetryLog, tally: Tally, samples: Iterator[Sample]) -> None:
    for sample in samples:
        log.append_sample(sample)
        tally.add(sample)
        if sample.number % 5 == 0:
            for process in sample.processes:
                rows = [MetricRow(0, sample.until_mono_ns, process.name, f"metric_{n}", n / 7) for n in range(13)]
                log.append_metrics(rows)
                tally.metric(process.name, "metric", 1.0)


@pytest.mark.parametrize(("processes", "words"), [(2, "one server"), (LARGE_CLUSTER, "three brokers")])
def test_an_hour_on_disk_is_as_documented(tmp_path: Path, processes: int, words: str) -> None:
    """One server and the worker; three brokers, three bookies, a ZooKeeper and the worker."""
    log = TelemetryLog(tmp_path)
    follow(log, Tally(), looks(MEASURED_S, processes))
    log.close()
    grown = sum(path.stat().st_size for path in (tmp_path / "telemetry").iterdir())
    stated = re.search(rf"{words}[^;.]*?at most (\d+) MiB( an hour)?", " ".join(TELEMETRY_MD.split()))
    assert stated, "the document says what an hour takes"
    an_hour_mib = grown / MEASURED_S * 3600 / MIB
    assert int(stated[1]) / 4 < an_hour_mib <= int(stated[1])
    a_day = re.search(r"in 24 hours at most (\d+) MiB", " ".join(TELEMETRY_MD.split()))
    assert a_day
    assert grown / MEASURED_S * DAY_S / MIB <= int(a_day[1])


def test_memory_does_not_grow_with_time(tmp_path: Path) -> None:
    log, tally = TelemetryLog(tmp_path), Tally()
    follow(log, tally, looks(WARM_S, 4))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        follow(log, tally, looks(WARM_S, 4))
        gc.collect()  # What is only not yet collected is no growth.
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < GROWTH_BYTES_MAX
    log.close()


def test_turning_hours_into_parquet_holds_a_part_of_them_at_a_time(tmp_path: Path) -> None:
    log = TelemetryLog(tmp_path)
    follow(log, Tally(), looks(4000, 1))
    log.close()
    growing = (tmp_path / "telemetry/processes.jsonl").stat().st_size
    log.finish()
    finished = (tmp_path / "telemetry/processes.parquet").stat().st_size
    assert finished < growing / 2
    rows = read_telemetry(tmp_path, PROCESSES)
    assert sum(1 for _ in rows) == 4000
    assert sum(1 for _ in read_telemetry(tmp_path, HOST)) == 4000

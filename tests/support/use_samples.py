"""What a host and its processes used, as tests need it."""

from __future__ import annotations

from dataclasses import replace

from tidegauge.model.use import DeviceUse, HostUse, ProcessUse, Sample, ThreadUse

HOST_USE = HostUse(2, 1.0, 0.2, 0.1, 0.0, 8 << 30, 4 << 30, 0, 1000, 10, 20, 100, 1, 500, 0.5, 0.0, 0.0, 0.3, 0.1)
PROCESS = ProcessUse(
    name="kafka-1",
    processes=1,
    threads=40,
    cpu_s=0.5,
    cpu_wait_s=0.1,
    busiest=(ThreadUse(7, "data-plane", 0.3, 0.05),),
    resident_bytes=600 << 20,
    read_bytes=0,
    written_bytes=4096,
    context_switches=900,
    cpus_allowed=2.0,
    gc_pause_s=0.004,
    gc_pause_max_s=0.003,
)
DEVICE = DeviceUse("254:0", "vda", 1, 512, 10, 5120, 0.02, 0.5, 4, 0.008)
SAMPLE = Sample(1, 10**9, 2 * 10**9, HOST_USE, (PROCESS,), (DEVICE,), 0.004)


def later(sample: Sample, seconds: int, **changes: object) -> Sample:
    shift = seconds * 10**9
    moved = replace(sample, number=sample.number + seconds, from_mono_ns=sample.from_mono_ns + shift)
    return replace(moved, until_mono_ns=sample.until_mono_ns + shift, **changes)  # type: ignore[arg-type]

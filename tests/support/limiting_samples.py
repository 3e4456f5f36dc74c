"""What a trial used of its resources, and the one that limited it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidegauge.limiting.decide import JudgedLoad, limiting_resource
from tidegauge.limiting.window_use import DeviceShare, HostShare, ProcessShare, ThreadShare, WindowUse
from tidegauge.model.ceilings import Ceilings, DiskCeiling, LoopbackCeiling
from tidegauge.model.use import Limiting

MB = 1_000_000


def load(**changes: Any) -> JudgedLoad:
    """A closed loop that the system holds back, on one server."""
    settled = JudgedLoad(
        msgs_per_s=50_000.0,
        offered_msgs_per_s=None,
        blocked_share=0.9,
        in_flight_max=5000,
        service_ms=100.0,
        nodes_needed=1,
        local_sync=False,
        servers=("kafka-1",),
        data_devices=("254:0",),
    )
    return replace(settled, **changes)


def process(name: str, **changes: Any) -> ProcessShare:
    quiet = ProcessShare(
        name=name,
        cpus=0.5,
        cpus_allowed=4.0,
        throttled_share=None,
        threads=(ThreadShare("t", 0.3),),
        memory_limit_bytes=None,
        memory_left_bytes_min=None,
    )
    return replace(quiet, **changes)


def device(**changes: Any) -> DeviceShare:
    return replace(DeviceShare("254:0", "vda", 0.2, 0.0, 20.0 * MB, 100.0, 10.0, 1.0, None, None), **changes)


def host(**changes: Any) -> HostShare:
    quiet = HostShare(4, 0.4, 100.0 * MB, 0.0, 100_000, 10, 0.05, 0.0, 0.1)
    return replace(quiet, **changes)


def found(load_: JudgedLoad, *processes: ProcessShare, ceilings: Ceilings | None = None, **parts: Any) -> Limiting:
    known = {one.name: one for one in (process("kafka-1"), process("worker"), *processes)}
    use = WindowUse(10.0, parts.get("host", host()), tuple(known.values()), (parts.get("device", device()),))
    return limiting_resource(load_, use, ceilings)


def disk_ceiling(bytes_per_s: float) -> Ceilings:
    disk = DiskCeiling("/d", "254:0", "ext4 on vda", True, bytes_per_s, bytes_per_s, 1 << 20, 4)
    return Ceilings("2026-01-01T00:00:00+00:00", "m", (disk,), LoopbackCeiling(4000.0 * MB, 20.0, 50.0))


def on_hosts(load_: JudgedLoad, processes: list[ProcessShare], others: dict[str, HostShare], **parts: Any) -> Limiting:
    """The host that runs the trial has nothing of it, and is full of other work."""
    devices = parts.get("devices", ())
    use = WindowUse(10.0, host(cpu_share=1.0, cpu_stall_share=1.0), tuple(processes), devices, others=others)
    return limiting_resource(load_, use)


SERVERS = [process("kafka-1", host="10.0.0.1"), process("kafka-2", host="10.0.0.2")]
CLIENT = process("worker-1", host="10.0.0.9")
ELSEWHERE = load(servers=("kafka-1", "kafka-2"), workers=("worker-1",), data_devices=())
QUIET = {"10.0.0.1": host(), "10.0.0.2": host(), "10.0.0.9": host()}

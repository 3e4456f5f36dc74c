"""Machines on which others use CPUs, disks and memory, and trials measured there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tidegauge.limiting.disturbance import MeasuredTrial, disturbances
from tidegauge.limiting.window_use import DeviceShare, HostShare, ProcessShare, WindowUse
from tidegauge.model.disturbance import Program
from tidegauge.model.use import HostUse, ProgramUse, Sample

MB = 1e6
GIB = 1 << 30
CPUS = 2
PEAK = MeasuredTrial(True, False, ("kafka-1",), ("worker",), data_devices=("254:0",))
LATENCY = replace(PEAK, rate_counts=False)
SYNCED = replace(LATENCY, local_sync=True)


def process(name: str, cpus: float, **changes: Any) -> ProcessShare:
    known = ProcessShare(name, cpus, float(CPUS), None, None, None, wait_share=0.0, moved_bytes_per_s=0.0)
    return replace(known, **changes)


def program(name: str, cpus: float, **changes: Any) -> Program:
    return replace(Program(name, "", cpus, 0.0, 0.0, 10 << 20), **changes)


def host(others: float, own: float, **changes: Any) -> HostShare:
    """A machine whose own programs have `own` CPUs and others' `others`."""
    known = HostShare(
        CPUS, min(1.0, (others + own + 0.05) / CPUS), 0.0, 0.0, 1000, 0, 0.1, 0.0, 0.0,
        kernel_cpus=0.05, control_cpus=0.02, others_cpus=others, unseen_cpus=0.0, others_bytes_per_s=0.0,
        others_resident_bytes=0, memory_bytes=8 * GIB,
    )  # fmt: skip
    return replace(known, **changes)


def device(**changes: Any) -> DeviceShare:
    return replace(DeviceShare("254:0", "vda", 0.2, 0.0, 2 * MB, 100.0, 10.0, 1.0, None, None), **changes)


def use(found: HostShare, *processes: ProcessShare, **changes: Any) -> WindowUse:
    return replace(WindowUse(10.0, found, processes, (device(),)), **changes)


def full(share: float) -> WindowUse:
    """Busy loops beside a closed loop that takes whatever is left."""
    others = share * CPUS
    rest = CPUS - others - 0.05
    own = (process("kafka-1", rest * 0.6, wait_share=0.5), process("worker", rest * 0.4, wait_share=0.5))
    return use(host(others, rest), *own, programs=(program("stress", others * 0.75), program("dd", others * 0.25)))


def paced(others: float, waited: float, **worker: Any) -> WindowUse:
    own = (process("kafka-1", 0.3, wait_share=waited / 2), process("worker", 0.2, wait_share=waited / 2, **worker))
    return use(host(others, 0.5), *own, programs=(program("stress", others),))


def held_by_quota(measured: MeasuredTrial = LATENCY, held: float = 0.5, servers: str = "", **worker: Any) -> Any:
    limits = {"throttled_share": held, "cpus_allowed": 0.3, "quota_group": "/sys/fs/cgroup/cpu/gen"}
    own = (process("kafka-1", 0.1, quota_group=servers), process("worker", 0.3, **{**limits, **worker}))
    return disturbances(measured, use(host(0.0, 0.4), *own))


def on_shared_disk(measured: MeasuredTrial = SYNCED, others: float = 1000 * MB, **changes: Any) -> Any:
    disk = device(busy_share=0.87, written_bytes_per_s=2.5 * MB + others)
    own = (process("kafka-1", 0.2, moved_bytes_per_s=2.5 * MB), process("worker", 0.1))
    known: dict[str, Any] = {"devices": (disk,), "programs": (program("dd", 0.2, written_bytes_per_s=others),)}
    found = host(0.05, 0.3, others_bytes_per_s=others)
    return disturbances(measured, use(found, *own, **{**known, **changes}))


class Machine:
    """A host whose others have so much of its CPUs, second by second."""

    def __init__(self, shares: Sequence[float]) -> None:
        self.now_s = 0.0
        self.kept = [self._sample(number, share) for number, share in enumerate(shares, 1)]

    def _sample(self, number: int, share: float) -> Sample:
        use = HostUse(2, 2.0, 0.0, 0.0, 0.0, 1, 1, 0, 0, 0, 0, 0, 0, 0, others_cpu_s=2 * share, unseen_cpu_s=0.0)
        programs = (ProgramUse("dd", "", 1, 2 * share, 0, 0, 0),)
        return Sample(number, number * 10**9, (number + 1) * 10**9, use, (), (), 0.0, programs=programs)

    def samples(self, after: int) -> list[Sample]:
        return [sample for sample in self.kept if after < sample.number <= self.now_s]

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

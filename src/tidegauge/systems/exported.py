"""What servers that others run used, and their hosts, by what exporters of Prometheus's kind report of them.

Two kinds of endpoints are known by their content: a server's own (a JVM with Prometheus's JMX exporter or client
library in it, as Kafka, Pulsar and BookKeeper have; RabbitMQ; Redpanda), and a host's node exporter. Both count up from
when they started, so what was used in a span is the difference of its two ends. Pure.

Sources: https://github.com/prometheus/node_exporter, https://prometheus.github.io/client_java/instrumentation/jvm/,
https://github.com/rabbitmq/rabbitmq-server/blob/main/deps/rabbitmq_prometheus/metrics.md
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from tidegauge.model.use import DeviceUse, HostUse, OtherHostUse, ProcessUse, is_link_within_host, of_host

_CPU_TIME: Mapping[str, str] = {
    "process_cpu_seconds_total": "cpu_s",
    "redpanda_cpu_busy_seconds_total": "cpu_s",
    # RabbitMQ 4.3 has milliseconds in what it calls seconds: the clock's time beside it shows the unit.
    **{
        f"erlang_vm_statistics_{time}_{unit}": time
        for time in ("runtime", "wallclock_time")
        for unit in ("milliseconds", "seconds_total")
    },
}
"""Counters of CPU time, s; of Erlang `runtime` is CPU time in the unit of `wallclock_time`."""
_RESIDENT_BYTES = re.compile(r"(\w+_)?process_resident_memory_bytes")
_OF_SERVERS = re.compile(r"(jvm|erlang_vm|redpanda)_")
"""Begins what a server's own runtime reports. Without it the process is an exporter that runs beside the server."""

_OF_HOST: Mapping[str, str] = {
    "node_memory_MemTotal_bytes": "memory_bytes",
    "node_memory_MemAvailable_bytes": "memory_available_bytes",
    "node_memory_Dirty_bytes": "dirty_bytes",
    "node_netstat_Tcp_OutSegs": "tcp_segments",
    "node_netstat_Tcp_RetransSegs": "tcp_retransmits",
    "node_context_switches_total": "context_switches",
    "node_pressure_cpu_waiting_seconds_total": "cpu_stall_s",
    "node_pressure_memory_waiting_seconds_total": "memory_stall_s",
    "node_pressure_memory_stalled_seconds_total": "memory_full_stall_s",
    "node_pressure_io_waiting_seconds_total": "io_stall_s",
    "node_pressure_io_stalled_seconds_total": "io_full_stall_s",
}
_LEVELS = ("memory_bytes", "memory_available_bytes", "dirty_bytes")
"""Of these the last value counts, not what was added."""
_STALLS = ("cpu_stall_s", "memory_stall_s", "memory_full_stall_s", "io_stall_s", "io_full_stall_s")
_COUNTED = (
    "loopback_bytes",
    "network_received_bytes",
    "network_sent_bytes",
    "tcp_segments",
    "tcp_retransmits",
    "context_switches",
)
_CPU_TIMES = ("cpu_s", "cpu_system_s", "cpu_iowait_s", "cpu_steal_s")
_GROWING = (*_CPU_TIMES, *_COUNTED, *_STALLS)
_IDLE_MODES = ("idle", "iowait")
_SYSTEM_MODES = ("system", "irq", "softirq")
_OF_DEVICE: Mapping[str, str] = {
    "node_disk_reads_completed_total": "reads",
    "node_disk_read_bytes_total": "read_bytes",
    "node_disk_writes_completed_total": "writes",
    "node_disk_written_bytes_total": "written_bytes",
    "node_disk_write_time_seconds_total": "write_s",
    "node_disk_io_time_seconds_total": "busy_s",
    "node_disk_flush_requests_total": "flushes",
    "node_disk_flush_requests_time_seconds_total": "flush_s",
}
_NETWORK = {"node_network_receive_bytes_total": "received", "node_network_transmit_bytes_total": "sent"}
_NAMES = (
    *_CPU_TIME,
    _RESIDENT_BYTES.pattern,
    *_OF_HOST,
    *_OF_DEVICE,
    *_NETWORK,
    "node_cpu_seconds_total",
)
_LINE = re.compile(rf"(?:{'|'.join(_NAMES)})[ {{]")


@dataclass(frozen=True)
class Exported:
    """What an endpoint reported at one moment; counters as they stood.

    Attributes:
        server: CPU time by `_CPU_TIME`, and `resident_bytes`, of a server's process; empty where the endpoint is none
            of a server.
        host: by field of `HostUse`; empty where it is no node exporter's. `cpus` counts the host's CPUs.
        devices: by name of a block device, by field of `DeviceUse`.
    """

    server: Mapping[str, float] = field(default_factory=dict)
    host: Mapping[str, float] = field(default_factory=dict)
    devices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class ExportedUse:
    """What a server or a host used in `seconds`, by the two ends of them."""

    seconds: float
    processes: tuple[ProcessUse, ...] = ()
    devices: tuple[DeviceUse, ...] = ()
    hosts: tuple[OtherHostUse, ...] = ()

    def part_of(self, seconds: float) -> ExportedUse:
        """The part of it that so many seconds have, if it was used evenly."""
        part = seconds / self.seconds
        return ExportedUse(
            seconds,
            tuple(replace(process, cpu_s=process.cpu_s * part) for process in self.processes),
            tuple(replace(device, **_parts(device, _OF_DEVICE.values(), part)) for device in self.devices),
            tuple(
                OtherHostUse(one.host, seconds, replace(one.use, **_parts(one.use, _GROWING, part)))
                for one in self.hosts
            ),
        )


def _parts(use: DeviceUse | HostUse, names: Iterable[str], part: float) -> dict[str, Any]:
    """A part of these amounts, whole numbers as such; what is not known stays so."""
    amounts = {name: getattr(use, name) for name in names}
    return {name: type(value)(value * part) for name, value in amounts.items() if value is not None}


def read_exported(text: str) -> Exported:
    """What an endpoint's text says of a server's process and of a host. Raises `ValueError` if it is no such text."""
    from prometheus_client.parser import text_string_to_metric_families  # Not needed before servers run.

    lines = text.splitlines()
    is_server = any(_OF_SERVERS.match(line) for line in lines)
    server: dict[str, float] = {}
    host: dict[str, float] = {}
    devices: dict[str, dict[str, float]] = {}
    cpus: set[str] = set()
    known_lines = "\n".join(line for line in lines if _LINE.match(line))
    for family in text_string_to_metric_families(f"{known_lines}\n"):
        for sample in family.samples:
            name, labels, value = sample.name, sample.labels, float(sample.value)
            if name in _CPU_TIME:
                _add(server, _CPU_TIME[name], value)
            elif _RESIDENT_BYTES.fullmatch(name):
                _add(server, "resident_bytes", value)
            elif name == "node_cpu_seconds_total":
                cpus.add(labels["cpu"])
                for field_name in _cpu_fields(labels["mode"]):
                    _add(host, field_name, value)
            elif name in _OF_DEVICE:
                _add(devices.setdefault(labels["device"], {}), _OF_DEVICE[name], value)
            elif name in _NETWORK and not is_link_within_host(labels["device"]):
                if labels["device"] != "lo":
                    _add(host, f"network_{_NETWORK[name]}_bytes", value)
                elif _NETWORK[name] == "sent":
                    _add(host, "loopback_bytes", value)
            elif name in _OF_HOST:
                _add(host, _OF_HOST[name], value)
    if cpus:
        # A node exporter's own process is no server.
        return Exported(host=host | {"cpus": float(len(cpus))}, devices=devices)
    counts_cpu = "cpu_s" in server or {"runtime", "wallclock_time"} <= set(server)
    return Exported(server=server if is_server and counts_cpu else {})


def _add(sums: dict[str, float], name: str, value: float) -> None:
    sums[name] = sums.get(name, 0.0) + value


def _cpu_fields(mode: str) -> Iterator[str]:
    """The fields of `HostUse` that time in a mode of the CPU belongs to."""
    if mode not in _IDLE_MODES:
        yield "cpu_s"
    if mode in _SYSTEM_MODES:
        yield "cpu_system_s"
    if mode in ("iowait", "steal"):
        yield f"cpu_{mode}_s"


def exported_use(url: str, before: Exported, now: Exported, seconds: float) -> ExportedUse | None:
    """What was used between two moments; None if a counter began anew, as it does where a server was started again.

    The process is called by host and port of its endpoint, the host by its name there.
    """
    address = urlsplit(url)
    host = address.hostname or ""
    pairs = [(before.server, now.server), (before.host, now.host)]
    pairs += [(before.devices[name], now.devices[name]) for name in now.devices if name in before.devices]
    if any(now_part.get(name, 0.0) < value for earlier, now_part in pairs for name, value in _counters(earlier)):
        return None
    processes: tuple[ProcessUse, ...] = ()
    if before.server and now.server:
        processes = (
            ProcessUse(
                name=address.netloc,
                processes=1,
                threads=0,
                cpu_s=_cpu_s_between(before.server, now.server, seconds),
                cpu_wait_s=None,
                busiest=(),
                resident_bytes=int(now.server.get("resident_bytes", 0)),
                read_bytes=None,
                written_bytes=None,
                context_switches=None,
                cpus_allowed=None,
                host=host,
            ),
        )
    if not (before.host and now.host):
        return ExportedUse(seconds, processes)
    devices = tuple(
        _device_use(host, name, before.devices[name], counters)
        for name, counters in now.devices.items()
        if name in before.devices
    )
    return ExportedUse(seconds, processes, devices, (OtherHostUse(host, seconds, _host_use(before.host, now.host)),))


def _cpu_s_between(before: Mapping[str, float], now: Mapping[str, float], seconds: float) -> float:
    """CPU time of a server's process, s."""
    grown = {name: now.get(name, 0.0) - before.get(name, 0.0) for name in ("cpu_s", "runtime", "wallclock_time")}
    on_clock = grown["wallclock_time"]
    return grown["cpu_s"] + (seconds * grown["runtime"] / on_clock if on_clock > 0 else 0.0)


def _counters(part: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    return ((name, value) for name, value in part.items() if name not in (*_LEVELS, "resident_bytes", "cpus"))


def _device_use(host: str, name: str, before: Mapping[str, float], now: Mapping[str, float]) -> DeviceUse:
    grown = {field_name: now.get(field_name, 0.0) - before.get(field_name, 0.0) for field_name in _OF_DEVICE.values()}
    times = ("write_s", "busy_s", "flush_s")
    amounts: dict[str, Any] = {key: value if key in times else int(value) for key, value in grown.items()}
    return DeviceUse(number=of_host(host, name), name=f"{name} of {host}", host=host, **amounts)


def _host_use(before: Mapping[str, float], now: Mapping[str, float]) -> HostUse:
    def grown(name: str) -> float:
        return now.get(name, 0.0) - before.get(name, 0.0)

    amounts: dict[str, Any] = {
        **{name: grown(name) for name in _CPU_TIMES},
        **{name: int(now.get(name, 0.0)) for name in _LEVELS},
        **{name: int(grown(name)) for name in _COUNTED},
        **{name: grown(name) if name in now else None for name in _STALLS},
    }
    return HostUse(cpus=int(now["cpus"]), **amounts)

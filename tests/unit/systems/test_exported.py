"""What servers of others and their hosts report of themselves, from one moment to the next."""

from __future__ import annotations

import pytest

from tidegauge.systems.exported import Exported, ExportedUse, exported_use, read_exported

BROKER, NODE = "http://b1.example:9404/metrics", "http://b1.example:9100/metrics"


def broker(cpu_s: float, *, first_line: str = 'jvm_info{version="25"} 1.0') -> str:
    return f"""\
# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total {cpu_s}
process_resident_memory_bytes 1.5E9
{first_line}
"""


def node(used_s: float, written_bytes: float = 0.0, *, stall_s: float | None = 2.0) -> str:
    """Two CPUs; half of what was used is the system's."""
    stall = "" if stall_s is None else f"node_pressure_cpu_waiting_seconds_total {stall_s}\n"
    return f"""\
process_cpu_seconds_total 77.0
go_goroutines 8
node_cpu_seconds_total{{cpu="0",mode="user"}} {used_s / 2}
node_cpu_seconds_total{{cpu="1",mode="system"}} {used_s / 2}
node_cpu_seconds_total{{cpu="1",mode="steal"}} 1.0
node_cpu_seconds_total{{cpu="0",mode="idle"}} 5000.0
node_cpu_seconds_total{{cpu="0",mode="iowait"}} 3.0
node_memory_MemTotal_bytes 8.0e9
node_memory_MemAvailable_bytes 2.0e9
node_disk_written_bytes_total{{device="nvme0n1"}} {written_bytes}
node_disk_io_time_seconds_total{{device="nvme0n1"}} {written_bytes / 1e8}
node_network_transmit_bytes_total{{device="eth0"}} {used_s * 1000}
node_network_transmit_bytes_total{{device="veth12"}} {used_s * 1000}
node_network_transmit_bytes_total{{device="lo"}} {used_s * 10}
node_network_receive_bytes_total{{device="lo"}} {used_s * 10}
{stall}"""


def between(url: str, before: str, now: str, seconds: float = 5.0) -> ExportedUse | None:
    return exported_use(url, read_exported(before), read_exported(now), seconds)


def test_a_servers_cpu_is_that_of_its_process() -> None:
    use = between(BROKER, broker(100.0), broker(107.5))
    assert use is not None
    (process,) = use.processes
    assert (process.name, process.host) == ("b1.example:9404", "b1.example")
    assert (process.cpu_s, process.resident_bytes) == (7.5, 1_500_000_000)
    assert process.cpus_allowed is None, "what it may use it does not say"
    assert not use.hosts
    assert not use.devices


# Of 5 s it ran a hundredth, whatever the unit: RabbitMQ 4.3 has milliseconds in what it calls seconds.
ERLANG = "erlang_vm_statistics_runtime_{} %(n)d\nerlang_vm_statistics_wallclock_time_{} %(n)d00"


@pytest.mark.parametrize(
    ("lines", "cpu_s"),
    [
        (ERLANG.format("milliseconds", "milliseconds"), 0.05),
        (ERLANG.format("seconds_total", "seconds_total"), 0.05),
        ('redpanda_cpu_busy_seconds_total{shard="0"} %(n)d\nredpanda_cpu_busy_seconds_total{shard="1"} 4', 10.0),
    ],
)
def test_other_runtimes_count_cpu_in_their_own_words(lines: str, cpu_s: float) -> None:
    use = between(BROKER, lines % {"n": 10}, lines % {"n": 20})
    assert use is not None
    assert use.processes[0].cpu_s == pytest.approx(cpu_s)


def test_an_exporter_beside_the_server_is_not_taken_for_it() -> None:
    """One in Go that asks a broker over the network has CPU time of its own."""
    assert read_exported(broker(100.0, first_line="go_goroutines 12")) == Exported()
    use = between(NODE, node(100.0), node(104.0))
    assert use is not None
    assert not use.processes
    assert read_exported("# nothing of it\n") == Exported()


def test_a_hosts_figures_are_those_of_the_node_exporter() -> None:
    use = between(NODE, node(100.0, 1e8), node(108.0, 3e8))
    assert use is not None
    (other,) = use.hosts
    host = other.use
    assert (other.host, other.seconds, host.cpus) == ("b1.example", 5.0, 2)
    assert (host.cpu_s, host.cpu_system_s, host.cpu_steal_s) == (8.0, 4.0, 0.0), "idle and waiting for I/O is not used"
    assert (host.memory_bytes, host.memory_available_bytes) == (8_000_000_000, 2_000_000_000)
    assert host.network_sent_bytes == 8000, "a link within the host is not counted again"
    assert host.loopback_bytes == 80
    assert host.cpu_stall_s == 0.0
    assert host.others_cpu_s is None, "nobody looked who it was"
    (device,) = use.devices
    assert (device.number, device.name, device.host) == ("b1.example nvme0n1", "nvme0n1 of b1.example", "b1.example")
    assert (device.written_bytes, device.busy_s) == (200_000_000, 2.0)


def test_a_kernel_without_pressure_figures_has_none() -> None:
    use = between(NODE, node(100.0, stall_s=None), node(108.0, stall_s=None))
    assert use is not None
    assert use.hosts[0].use.cpu_stall_s is None
    assert use.part_of(1.0).hosts[0].use.cpu_stall_s is None


def test_a_counter_that_began_anew_tells_nothing() -> None:
    assert between(BROKER, broker(100.0), broker(3.0)) is None
    assert between(NODE, node(100.0), node(2.0)) is None
    assert between(NODE, node(100.0, 1e9), node(108.0, 1e8)) is None


def test_a_second_has_its_part_of_a_longer_span() -> None:
    used = between(BROKER, broker(100.0), broker(110.0))
    on_host = between(NODE, node(100.0, 1e8), node(110.0, 6e8))
    assert used is not None
    assert on_host is not None
    assert used.part_of(1.0).processes[0].cpu_s == pytest.approx(2.0)
    part = on_host.part_of(0.5)
    assert part.hosts[0].seconds == 0.5
    assert part.hosts[0].use.cpu_s == pytest.approx(1.0)
    assert part.hosts[0].use.memory_bytes == 8_000_000_000, "a level is no amount"
    assert part.devices[0].written_bytes == 50_000_000

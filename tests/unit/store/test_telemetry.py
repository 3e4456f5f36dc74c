"""What the kernel, a collector's log and servers report, parsed; and how looks are summed up."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from use_samples import DEVICE, HOST_USE, PROCESS, SAMPLE, later

from tidegauge.agent import process_use, sampler
from tidegauge.agent.process_use import (
    CgroupWatch,
    GcLog,
    Pauses,
    ProcessWatch,
    WriteLimit,
    parse_pauses,
    parse_schedstat,
)
from tidegauge.errors import RunFailedError
from tidegauge.hosts.memory import meminfo
from tidegauge.hosts.network import bridge_of
from tidegauge.hosts.procfs import TICKS_PER_S, Identity, parse_io
from tidegauge.limiting.window_use import THREADS_MAX, THREADS_SHOWN, Tally
from tidegauge.model.use import (
    OtherHostUse,
    ProgramUse,
    Sample,
    ThreadUse,
)
from tidegauge.plain import typed_value
from tidegauge.store.tables import read_table
from tidegauge.store.telemetry import (
    COLUMNS,
    DEVICES,
    HOST,
    HOSTS,
    METRICS,
    PROCESSES,
    MetricRow,
    TelemetryLog,
    read_telemetry,
)
from tidegauge.systems import registry
from tidegauge.systems.metrics import Combine, Metric, MetricKind, fetch_text, figures_of_span, read_text


class TestKernel:
    def test_cpu_times_hold_interrupts_and_stolen_time_but_no_idle(self) -> None:
        text = "cpu  10 20 30 1000 5 6 7 8 9 9\ncpu0 1 1\ncpu1 1 1\nctxt 77\nbtime 1\n"
        found = sampler.parse_stat(text)
        ticks = {name: round(found[name] * TICKS_PER_S) for name in found if name.endswith("_s")}
        assert ticks == {"cpu_s": 81, "cpu_system_s": 30, "cpu_iowait_s": 5, "cpu_steal_s": 8, "cpu_kernel_s": 13}
        assert (found["cpus"], found["context_switches"]) == (2, 77)

    def test_old_kernels_tell_fewer_disk_fields(self) -> None:
        line = " 254 0 vda 4 0 16 1 10 0 24 5 0 9 6"
        (disk,) = sampler.parse_diskstats(line)
        assert (disk.reads, disk.read_bytes, disk.writes, disk.written_bytes) == (4, 8192, 10, 12288)
        assert (disk.number, disk.busy_s, disk.write_s, disk.flushes) == ("254:0", 0.009, 0.005, 0)

    def test_disks_that_never_did_anything_are_left_out(self) -> None:
        assert sampler.parse_diskstats(" 7 1 loop1 " + "0 " * 17) == []

    def test_flushes_are_kept_apart(self) -> None:
        (disk,) = sampler.parse_diskstats("254 0 vda 1 0 8 1 1 0 8 5 0 9 6 0 0 0 0 33 44")
        assert (disk.flushes, disk.flush_s) == (33, 0.044)

    def test_traffic_of_loopback_is_apart(self) -> None:
        text = "Inter-| Receive\n face |bytes\n    lo: 5 1 0 0 0 0 0 0 500 1\n  eth0: 7 1 0 0 0 0 0 0 70 1\n"
        assert sampler.parse_traffic(text) == {
            "loopback_bytes": 500,
            "network_received_bytes": 7,
            "network_sent_bytes": 70,
        }

    def test_what_stays_on_the_host_is_no_traffic_of_its_network(self) -> None:
        """Links between containers, and those of nodes with networks of their own: what leaves is on another, too."""
        links = ["veth1a2b", "docker0", "br-0f", bridge_of("0123456789ab"), f"{bridge_of('0123456789ab')}n2"]
        line = "{}: 7 1 0 0 0 0 0 0 70 1\n"
        text = "".join(line.format(name) for name in (*links, "eth0"))
        assert sampler.parse_traffic(text)["network_sent_bytes"] == 70

    def test_tcp_pressure_and_memory(self, tmp_path: Path) -> None:
        assert sampler.parse_tcp("Ip: A\nIp: 1\nTcp: OutSegs RetransSegs\nTcp: 100 3\n") == {
            "tcp_segments": 100,
            "tcp_retransmits": 3,
        }
        assert sampler.parse_tcp("") == {"tcp_segments": 0, "tcp_retransmits": 0}
        assert sampler.parse_pressure("some avg10=1 total=2500000\nfull avg10=0 total=5\n") == {
            "some": 2.5,
            "full": 5e-6,
        }
        (tmp_path / "proc").mkdir()
        (tmp_path / "proc/meminfo").write_text("MemTotal:  10 kB\nHugePages_Total: 0\n")
        assert meminfo(tmp_path) == {"MemTotal": 10240}

    def test_what_was_used_is_what_counters_grew_by(self) -> None:
        now = replace(HOST_USE, cpu_s=1.3, loopback_bytes=900, dirty_bytes=5, cpu_stall_s=None, io_stall_s=0.7)
        used = sampler.used_between(HOST_USE, now)
        assert (used.cpu_s, used.loopback_bytes, used.cpu_stall_s, used.io_stall_s) == (0.3, 0, None, 0.4)
        assert (used.cpus, used.memory_bytes, used.dirty_bytes) == (2, 8 << 30, 5)

    def test_a_device_that_came_meanwhile_counts_since_it_came(self) -> None:
        limit = WriteLimit(1000, None)
        now = replace(DEVICE, writes=12, busy_s=1.25)
        used = sampler.device_use(DEVICE, now, limit)
        assert (used.name, used.reads, used.writes, used.busy_s) == ("vda", 0, 2, 0.75)
        assert (used.write_bytes_per_s_max, used.writes_per_s_max) == (1000, None)
        assert sampler.device_use(None, now, WriteLimit()) == now

    def test_written_bytes_that_were_deleted_in_time_were_never_written(self) -> None:
        assert parse_io(b"rchar: 9\nread_bytes: 4096\nwrite_bytes: 100\ncancelled_write_bytes: 40\n") == (4096, 60)

    def test_schedstat(self) -> None:
        assert parse_schedstat(b"117535 3071447 2\n") == (117535, 3071447, 2)
        assert parse_schedstat(b"") is None


class TestCgroups:
    def root(self, tmp_path: Path, version: int) -> Path:
        (tmp_path / "proc/9").mkdir(parents=True)
        (tmp_path / "proc/self").mkdir()
        group = tmp_path / "cg/a"
        group.mkdir(parents=True)
        places, mounts = ("0::/a\n", "1 1 0:1 / /cg rw - cgroup2 c rw\n")
        if version == 1:
            places = "2:blkio:/a\n1:cpu,cpuacct:/a\n"
            mounts = "1 1 0:1 / /cg rw - cgroup c rw,cpu,cpuacct\n2 2 0:2 / /cg rw - cgroup c rw,blkio\n"
        (tmp_path / "proc/9/cgroup").write_text(places)
        (tmp_path / "proc/self/mountinfo").write_text(mounts)
        return group

    def test_version_1(self, tmp_path: Path) -> None:
        group = self.root(tmp_path, 1)
        (group / "cpu.cfs_quota_us").write_text("30000\n")
        (group / "cpu.cfs_period_us").write_text("100000\n")
        (group.parent / "cpu.cfs_quota_us").write_text("-1\n")
        (group.parent / "cpu.cfs_period_us").write_text("100000\n")
        (group / "cpu.stat").write_text("nr_periods 4\nthrottled_time 2500000000\n")
        (group.parent / "blkio.throttle.write_bps_device").write_text("7:0 1000\n")
        (group / "blkio.throttle.write_iops_device").write_text("7:0 50\n254:0 9\n")
        watch = CgroupWatch(tmp_path)
        quota, memory = watch.limits_of_process(9)
        assert quota is not None
        assert (quota.cpus, quota.throttled_s, memory) == (0.3, 2.5, None)
        assert watch.write_limits([9]) == {"7:0": WriteLimit(1000, 50), "254:0": WriteLimit(None, 9)}

    def test_version_2(self, tmp_path: Path) -> None:
        group = self.root(tmp_path, 2)
        (group / "cpu.max").write_text("150000 100000\n")
        (group / "cpu.stat").write_text("throttled_usec 1500000\n")
        (group / "memory.max").write_text("1000\n")
        (group / "memory.current").write_text("900\n")
        (group / "memory.stat").write_text("inactive_file 50\n")
        (group / "io.max").write_text("7:0 rbps=max wbps=2000 riops=max wiops=max\n")
        watch = CgroupWatch(tmp_path)
        quota, memory = watch.limits_of_process(9)
        assert quota is not None
        assert memory is not None
        assert (quota.cpus, quota.throttled_s) == (1.5, 1.5)
        assert (memory.limit_bytes, memory.left_bytes) == (1000, 150)
        assert watch.write_limits([9]) == {"7:0": WriteLimit(2000, None)}

    def test_a_process_that_is_gone_has_no_limits(self, tmp_path: Path) -> None:
        self.root(tmp_path, 2)
        assert CgroupWatch(tmp_path).limits_of_process(10) == (None, None)

    def test_a_thread_that_its_own_quota_held_back_is_seen_however_many_waited_longer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        group = self.root(tmp_path, 2)
        # Nine threads share the process's cgroup; of two in cgroups of their own, only one used its quota up.
        places = dict.fromkeys(range(20, 29), "/a") | {30: "/a/held", 31: "/a/roomy"}
        for thread, place in places.items():
            (tmp_path / f"proc/{thread}").mkdir()
            (tmp_path / f"proc/{thread}/cgroup").write_text(f"0::{place}\n")
        for name in ("held", "roomy"):
            (group / name).mkdir()
            (group / name / "cpu.max").write_text("4000 100000\n")
            (group / name / "cpu.stat").write_text("throttled_usec 1000\n")
        counters = {(9, thread): (5_000_000, 900_000_000 - 10_000_000 * thread, 3) for thread in places}
        monkeypatch.setattr(process_use, "_counters_of_threads", lambda *_: counters)
        watch, tally = ProcessWatch(CgroupWatch(tmp_path)), Tally()
        uses = []
        for look in range(4):
            (group / "held/cpu.stat").write_text(f"throttled_usec {1000 + 400_000 * look}\n")
            uses.append(watch.use("worker", Identity(9, 1), ()))
        for second, use in enumerate(uses[1:]):
            assert use is not None
            assert [(thread.thread, thread.quota_cpus) for thread in use.waiting] == [
                (20, None), (21, None), (22, None), (30, 0.04),
            ]  # fmt: skip
            many = tuple(ThreadUse(thread, str(thread), 0.01, 0.9) for thread in range(40, 40 + THREADS_SHOWN))
            tally.add(later(SAMPLE, second, processes=(replace(use, waiting=(*many, *use.waiting)),)))
        whole = tally.result()
        assert whole is not None
        (process,) = whole.processes
        (limited,) = [thread for thread in process.waiting if thread.quota_cpus is not None]
        assert (limited.quota_cpus, limited.wait_share) == (0.04, pytest.approx(0.6))


class TestGcLog:
    TEXT = (
        b"[0.006s][gc] Using G1\n"
        b"[1.2s][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.500ms\n"
        b"[1.3s][gc] GC(1) Concurrent Mark Cycle 12.000ms\n"
        b"[1.4s][gc] GC(1) Pause Remark 30M->20M(256M) 1.500ms\n"
    )

    def test_only_pauses_count(self) -> None:
        assert parse_pauses(self.TEXT) == Pauses(pytest.approx(0.005), 0.0035)

    def test_pauses_of_zgc_are_phases(self) -> None:
        text = (
            b"[1.2s][gc,phases] GC(0) Y: Pause Mark Start 0.014ms\n"
            b"[1.2s][gc,phases] GC(0) Y: Concurrent Mark 2.190ms\n"
            b"[1.3s][gc,phases] GC(0) Y: Pause Mark End 0.006ms\n"
            b"[1.3s][gc       ] GC(0) Minor Collection (Warmup) 40M(31%)->10M(8%) 0.010s\n"
        )
        assert parse_pauses(text) == Pauses(pytest.approx(20e-6), 14e-6)

    def test_a_line_is_counted_once_it_is_whole_and_only_once(self, tmp_path: Path) -> None:
        path = tmp_path / "gc.log"
        log = GcLog(path)
        assert log.new_pauses() is None
        path.write_bytes(self.TEXT[:60])
        assert log.new_pauses() == Pauses()
        path.write_bytes(self.TEXT)
        assert log.new_pauses() == Pauses(pytest.approx(0.005), 0.0035)
        assert log.new_pauses() == Pauses()

    def test_a_rotated_log_begins_anew(self, tmp_path: Path) -> None:
        path = tmp_path / "gc.log"
        path.write_bytes(self.TEXT)
        log = GcLog(path)
        log.new_pauses()
        path.rename(tmp_path / "gc.log.0")
        path.write_bytes(b"[9s][gc] GC(9) Pause Full (System.gc()) 9M->8M(16M) 20.0ms\n")
        assert log.new_pauses() == Pauses(0.02, 0.02)

    def test_a_new_log_that_is_longer_than_the_old_one_is_read_whole(self, tmp_path: Path) -> None:
        path = tmp_path / "gc.log"
        path.write_bytes(b"[0.006s][gc] Using Serial, of which nothing else is ever said here as it runs\n")
        log = GcLog(path)
        log.new_pauses()
        path.rename(tmp_path / "gc.log.0")
        path.write_bytes(self.TEXT)
        assert log.new_pauses() == Pauses(pytest.approx(0.005), 0.0035)


class TestTally:
    def test_amounts_become_rates_over_the_whole_window(self) -> None:
        tally = Tally()
        tally.add(SAMPLE)
        idle = replace(PROCESS, cpu_s=0.1, busiest=(ThreadUse(8, "other", 0.1, 0.0),))
        tally.add(later(SAMPLE, 1, processes=(idle,)))
        tally.metric("kafka-1", "log_flush_ms", 4.0)
        tally.metric("kafka-1", "log_flush_ms", 6.0)
        use = tally.result()
        assert use is not None
        (process,) = use.processes
        assert process.cpus == pytest.approx(0.3)
        # In the other second it was not among the busiest.
        busiest = process.threads[0]
        assert (busiest.name, busiest.cpu_share) == ("data-plane", pytest.approx(0.15))
        assert use.host.cpu_share == pytest.approx(0.5)
        assert use.devices[0].flush_ms == pytest.approx(2.0)
        assert use.metrics == {"kafka-1": {"log_flush_ms": 5.0}}
        assert use.telemetry_cpus == pytest.approx(0.004)

    def test_each_host_of_a_fleet_has_its_own_seconds(self) -> None:
        tally = Tally()
        busy = OtherHostUse("10.0.0.2", 2.0, replace(HOST_USE, cpu_s=3.0, network_sent_bytes=600))
        there = (replace(PROCESS, host="10.0.0.2"),)
        tally.add(replace(SAMPLE, others=(busy,), processes=there))
        tally.add(later(SAMPLE, 1, processes=there))
        use = tally.result()
        assert use is not None
        other = use.others["10.0.0.2"]
        assert (other.cpu_share, other.network_sent_bytes_per_s) == (pytest.approx(0.75), pytest.approx(300))
        assert other.network_received_bytes_per_s == pytest.approx(HOST_USE.network_received_bytes / 2)
        assert use.host.cpu_share == pytest.approx(0.5)
        assert use.share_of_host("10.0.0.2") is other
        assert use.share_of_host("") is use.host
        assert use.processes[0].host == "10.0.0.2"

    def test_programs_are_counted_in_the_seconds_in_which_anybody_looked(self) -> None:
        """So together they have no more of the CPUs than all others, who are counted in these seconds."""
        program = ProgramUse("stress", "", 1, 0.5, 0, 0, 0)
        tally = Tally()
        looked_at = replace(SAMPLE.host, control_cpu_s=0.0, others_cpu_s=0.5, unseen_cpu_s=0.0)
        tally.add(replace(SAMPLE, host=looked_at, programs=(program,)))
        tally.add(later(SAMPLE, 1, host=replace(SAMPLE.host, others_cpu_s=None), programs=()))
        use = tally.result()
        assert use is not None
        assert use.host.others_cpus == pytest.approx(0.5)
        assert [one.cpus for one in use.programs] == [pytest.approx(0.5)]

    def test_looks_in_which_a_device_was_busy_all_the_time_are_summed_up(self) -> None:
        tally = Tally()
        (device, *_) = SAMPLE.devices
        for second, busy_s in enumerate((1.0, 0.96, 0.94, 0.1, 1.02)):
            tally.add(later(SAMPLE, second, devices=(replace(device, busy_s=busy_s),)))
        use = tally.result()
        assert use is not None
        assert use.seconds == pytest.approx(5.0)
        assert use.devices[0].busy_s == pytest.approx(3.0)

    def test_the_least_memory_that_any_look_saw_available_is_kept(self) -> None:
        tally = Tally()
        for second, available_bytes in enumerate((5 << 30, 1 << 30, 3 << 30)):
            tally.add(later(SAMPLE, second, host=replace(HOST_USE, memory_available_bytes=available_bytes)))
        use = tally.result()
        assert use is not None
        assert use.host.memory_available_bytes_min == 1 << 30

    def test_without_a_look_there_is_nothing(self) -> None:
        assert Tally().result() is None

    def test_threads_that_come_and_go_are_bounded(self) -> None:
        tally = Tally()
        for second in range(500):
            process = replace(PROCESS, busiest=(ThreadUse(second, "t", 0.001 * second, 0.0),))
            tally.add(later(SAMPLE, second, processes=(process,)))
        assert len(tally._processes["kafka-1"]._threads) <= THREADS_MAX


class TestTables:
    def test_looks_become_rows_and_then_parquet(self, tmp_path: Path) -> None:
        log = TelemetryLog(tmp_path)
        log.append_sample(SAMPLE)
        log.append_sample(later(SAMPLE, 1))
        log.append_metrics([MetricRow(1, 2, "kafka-1", "log_flush_ms", 4.5)])
        growing = {name: list(read_telemetry(tmp_path, name)) for name in (PROCESSES, DEVICES, HOST, METRICS)}
        assert [len(growing[name]) for name in (PROCESSES, DEVICES, HOST, METRICS)] == [2, 2, 2, 1]
        log.finish()
        assert not list((tmp_path / "telemetry").glob("*.jsonl"))
        for name, rows in growing.items():
            assert list(read_telemetry(tmp_path, name)) == rows
        assert growing[PROCESSES][0]["busiest_thread"] == "data-plane"
        assert growing[HOST][0]["telemetry_cpu_s"] == 0.004
        assert not list(read_telemetry(tmp_path, HOSTS)), "of one host there are no others"

    def test_other_hosts_have_a_table_of_their_own(self, tmp_path: Path) -> None:
        log = TelemetryLog(tmp_path)
        log.append_sample(replace(SAMPLE, others=(OtherHostUse("10.0.0.2", 1.5, HOST_USE),)))
        log.finish()
        (row,) = read_telemetry(tmp_path, HOSTS)
        assert (row["host"], row["seconds"], row["cpu_s"]) == ("10.0.0.2", 1.5, HOST_USE.cpu_s)
        assert len(list(read_telemetry(tmp_path, HOST))) == 1

    def test_a_kill_in_the_middle_of_a_line_loses_that_line_only(self, tmp_path: Path) -> None:
        log = TelemetryLog(tmp_path)
        log.append_sample(SAMPLE)
        log.close()
        path = tmp_path / "telemetry/host.jsonl"
        path.write_bytes(path.read_bytes() + b'[1000000000,2000000000,"cut')
        assert len(list(read_telemetry(tmp_path, HOST))) == 1

    def test_no_table_is_no_row(self, tmp_path: Path) -> None:
        assert list(read_table(tmp_path, "processes", COLUMNS["processes"])) == []

    def test_a_disk_that_is_full_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "telemetry").mkdir()
        (tmp_path / "telemetry/host.jsonl").symlink_to("/dev/full")
        with pytest.raises(RunFailedError, match="disk is full"):
            TelemetryLog(tmp_path).append_sample(SAMPLE)


def test_a_sample_travels_as_json() -> None:
    assert typed_value(Sample, json.loads(json.dumps(asdict(SAMPLE)))) == SAMPLE


class TestMetrics:
    SYNC = Metric("sync_ms", "m", "j_sum", MetricKind.MEAN, count_series="j_count", labels={"success": "true"})
    QUEUE = Metric("queue", "m", "queue_size", combine=Combine.MAX)
    RATE = Metric("syncs_per_s", "m", "j_count", MetricKind.RATE, labels={"success": "true"})
    ALL = (SYNC, QUEUE, RATE)

    @staticmethod
    def text(total: float, count: float) -> str:
        return (
            "# TYPE j summary\n"
            f'j_sum{{success="true"}} {total}\nj_sum{{success="false"}} 999\n'
            f'j_count{{success="true"}} {count}\n'
            'queue_size{topic="a"} 3\nqueue_size{topic="b"} 5\nqueue_size{topic="c"} NaN\n'
            'other{topic="a" 3\n'
        )

    def test_means_rates_and_gauges(self) -> None:
        before = read_text(self.text(100, 10), self.ALL)
        now = read_text(self.text(180, 30), self.ALL)
        assert figures_of_span(before, now, 5.0, self.ALL) == {"sync_ms": 4.0, "queue": 5.0, "syncs_per_s": 4.0}

    def test_a_counter_that_began_anew_says_nothing(self) -> None:
        before, now = read_text(self.text(180, 30), self.ALL), read_text(self.text(8, 2), self.ALL)
        assert figures_of_span(before, now, 5.0, self.ALL) == {"queue": 5.0}

    def test_what_is_not_reported_is_left_out(self) -> None:
        assert read_text("nothing 1\n", self.ALL) == {}

    def test_an_answer_that_breaks_off_is_reported_as_any_other_failure(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:

            def answer() -> None:
                peer, _ = server.accept()
                with peer:
                    peer.recv(4096)
                    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nqueue_size 3\n")

            answering = threading.Thread(target=answer)
            answering.start()
            with pytest.raises(OSError, match="broke off"):
                fetch_text(f"http://127.0.0.1:{server.getsockname()[1]}/metrics")
            answering.join()

    def test_nothing_happened_has_no_mean(self) -> None:
        reading = read_text(self.text(180, 30), self.ALL)
        assert figures_of_span(reading, reading, 5.0, self.ALL) == {"queue": 5.0, "syncs_per_s": 0.0}


SYNCS = {
    "kafka": (
        'kafka_log_LogFlushStats_Mean{{name="LogFlushRateAndTimeMs"}} 4.0\n'
        'kafka_log_LogFlushStats_Mean{{name="Other"}} 99.0\n',
        {"log_flush_ms": 4.0},
    ),
    "pulsar": (
        'bookie_journal_JOURNAL_SYNC_sum{{success="true"}} {0}40\n'
        'bookie_journal_JOURNAL_SYNC_count{{success="true"}} {0}10\n'
        'bookie_journal_JOURNAL_SYNC_sum{{success="false"}} {0}9000\n'
        'bookie_journal_JOURNAL_ADD_ENTRY_sum{{success="true"}} {0}700\n'
        'bookie_journal_JOURNAL_ADD_ENTRY_count{{success="true"}} {0}100\n',
        {"journal_sync_ms": 4.0, "journal_add_ms": 7.0},
    ),
    "rabbitmq": (
        "rabbitmq_io_sync_time_seconds_total {0}0.04\nrabbitmq_io_sync_ops_total {0}10\n"
        "rabbitmq_raft_max_commit_latency_seconds 0.005\n",
        {"io_sync_ms": 4.0, "raft_commit_ms": 5.0},
    ),
}


@pytest.mark.parametrize("system", sorted(SYNCS))
def test_times_that_servers_tell_of_their_syncs_are_those_and_in_ms(system: str) -> None:
    """What is limited by syncs is judged by these: of another series, or in seconds, they would name the wrong one."""
    text, expected = SYNCS[system]
    metrics = registry.system_named(system).metrics
    before, now = _at_both_ends(text, metrics)
    found = figures_of_span(before, now, 10.0, metrics)
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert {metric.name for metric in metrics if metric.is_sync_ms} <= set(expected)


def _at_both_ends(text: str, metrics: Sequence[Metric]) -> tuple[dict[str, float], dict[str, float]]:
    """What is reported before anything happened, and after it."""
    nothing = re.sub(r"\{0\}[0-9.]+", "0", text).replace("{{", "{").replace("}}", "}")
    return read_text(nothing, metrics), read_text(text.format(""), metrics)

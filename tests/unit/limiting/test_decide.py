"""Which resource limited a result: a known answer for each, and cases in which nothing may be named."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from limiting_samples import (
    CLIENT,
    ELSEWHERE,
    MB,
    QUIET,
    SERVERS,
    device,
    disk_ceiling,
    found,
    host,
    load,
    on_hosts,
    process,
)
from run_samples import result, spec, totals

from tidegauge.campaign.run.trial import use as of_trial
from tidegauge.limiting.decide import limiting_resource, limits_of_load_hosts
from tidegauge.limiting.window_use import DeviceShare, ThreadShare, WindowUse
from tidegauge.model.host import HostLink
from tidegauge.model.level import LevelFinding
from tidegauge.model.use import Resource
from tidegauge.model.workload import Arrival
from tidegauge.systems.metrics import Metric


def test_a_server_at_its_quota() -> None:
    limited = process("kafka-1", cpus=0.29, cpus_allowed=0.3, throttled_share=0.6)
    answer = found(load(), limited)
    assert (answer.resource, answer.subject) == (Resource.SERVER_CPU, "kafka-1")
    assert answer.share == pytest.approx(0.29 / 0.3)
    assert answer.words == "kafka-1 used 0.29 of the 0.3 CPUs it may use, held back for 0.60 s a second by its quota"


def test_a_quota_explains_more_than_a_host_that_others_fill() -> None:
    limited = process("kafka-1", cpus=0.3, cpus_allowed=0.3, throttled_share=0.5)
    answer = found(load(), limited, host=host(cpu_share=1.0, cpu_stall_share=0.9))
    assert answer.resource is Resource.SERVER_CPU
    assert any(str(other).startswith("host CPU (100 %)") for other in answer.others)


def test_a_quota_that_is_not_used_up_is_not_named() -> None:
    assert found(load(), process("kafka-1", cpus=0.1, cpus_allowed=0.3)).resource is Resource.WINDOW


def test_a_client_on_too_few_cpus() -> None:
    answer = found(load(blocked_share=0.05), process("worker", cpus=0.98, cpus_allowed=1.0))
    assert (answer.resource, answer.subject) == (Resource.CLIENT_CPU, "worker")


def test_a_closed_loop_that_is_never_held_back_met_the_generators_limit() -> None:
    answer = found(load(blocked_share=0.05))
    assert answer.resource is Resource.CLIENT_CPU
    assert "held back by the system only 5%" in answer.words


@pytest.mark.parametrize(
    ("share", "resource"), [(0.84, Resource.WINDOW), (0.86, Resource.CLIENT_CPU), (1.3, Resource.WINDOW)]
)
def test_a_rate_near_what_the_generator_makes_at_all_is_its_limit(share: float, resource: Resource) -> None:
    answer = found(load(msgs_per_s=share * 500_000, generators_msgs_per_s=500_000.0))
    assert answer.resource is resource
    if resource is Resource.CLIENT_CPU:
        assert answer.summary == "client CPU worker (86 %)"
        assert answer.words == "430,000 of the 500,000 msg/s that can be made and checked without a system"
    missed = found(load(msgs_per_s=share * 500_000, offered_msgs_per_s=900_000.0, generators_msgs_per_s=500_000.0))
    assert missed.resource is resource


def test_a_client_thread_that_waits_for_the_system_is_not_the_limit() -> None:
    spins = process("worker", threads=(ThreadShare("tg-load-0", 0.99),))
    assert found(load(), spins).resource is Resource.WINDOW
    assert found(load(blocked_share=0.1), spins).words == "thread tg-load-0 of worker ran 99% of the time"


def test_other_threads_of_a_client_are_looked_at_while_the_system_holds_it_back() -> None:
    spins, sends = ThreadShare("tg-load-0", 0.99), ThreadShare("kafka-producer-", 0.95)
    both = process("worker", threads=(spins, sends))
    assert found(load(), both).words == "thread kafka-producer- of worker ran 95% of the time"
    compiles = process("worker", threads=(spins, ThreadShare("C2 CompilerThre", 0.95)))
    assert found(load(), compiles).resource is Resource.WINDOW


def test_a_consumer_that_messages_waited_for() -> None:
    behind = load(consumer="sub-0 consumer 0", consumer_busy_share=0.5, consumer_behind=True)
    answer = found(behind)
    assert (answer.resource, answer.subject) == (Resource.CLIENT_CPU, "worker")
    assert answer.words == "sub-0 consumer 0 had no time left in 50% of the seconds"


def test_a_busy_consumer_that_keeps_up_is_reported_beside() -> None:
    full = load(consumer="sub-0 consumer 0", consumer_busy_share=0.95)
    answer = found(full)
    assert answer.resource is Resource.WINDOW
    assert [str(other) for other in answer.others] == [
        "client CPU worker (95 %): sub-0 consumer 0 had no time left in 95% of the seconds"
    ]
    assert found(load(consumer="sub-0 consumer 0", consumer_busy_share=0.5)).others == ()


def test_consumers_that_compute_are_told_from_the_generator_itself() -> None:
    limited = process("worker", cpus=0.98, cpus_allowed=1.0)
    mostly = found(load(processing_cpus=0.6), limited)
    assert (mostly.resource, mostly.subject) == (Resource.PROCESSING, "worker")
    assert mostly.words == "worker used 0.98 (0.60 of it consumers' processing) of the 1 CPUs it may use"
    assert found(load(processing_cpus=0.4), limited).resource is Resource.CLIENT_CPU
    full = host(cpu_share=0.99, cpu_stall_share=0.8)
    answer = found(load(processing_cpus=0.3), process("kafka-1", cpus=2.0), host=full)
    assert answer.users == "servers 2.00, load generator 0.20, consumers' processing 0.30, everything else 1.46"


def test_a_consumers_thread_that_computes_is_not_the_generators_limit() -> None:
    computes = process("worker", threads=(ThreadShare("tg-con-0", 0.95),))
    assert found(load(blocked_share=0.1), computes).words == "thread tg-con-0 of worker ran 95% of the time"
    assert "tg-con-0" not in str(found(load(blocked_share=0.1, processing_cpus=0.8), computes))


@pytest.mark.parametrize(
    ("processing_share", "left_behind_share", "resource"),
    [(0.99, 0.5, Resource.PROCESSING), (0.99, 0.01, Resource.OFFERED), (0.5, 0.5, Resource.OFFERED)],
)
def test_a_rate_that_consumers_can_not_process_was_only_sent(
    processing_share: float, left_behind_share: float, resource: Resource
) -> None:
    behind = load(offered_msgs_per_s=50_000.0, processing_share=processing_share, left_behind_share=left_behind_share)
    assert found(behind).resource is resource


def test_consumers_that_a_closed_loop_leaves_behind_did_not_limit_it() -> None:
    assert found(load(processing_share=0.99, left_behind_share=0.5)).resource is Resource.WINDOW
    assert found(load(processing_share=0.99, left_behind_share=0.01)).resource is Resource.PROCESSING


def test_consumers_that_wait_for_their_own_rate() -> None:
    answer = found(load(processing_share=0.97, consumer_work="waited for their own rate"))
    assert (answer.resource, answer.words) == (
        Resource.PROCESSING,
        "consumers waited for their own rate 97% of the time",
    )


def test_a_disk_at_the_rate_it_is_limited_to() -> None:
    answer = found(load(), device=device(written_bytes_per_s=9.7 * MB, write_bytes_per_s_max=10 * MB))
    assert (answer.resource, answer.subject, answer.share) == (Resource.DISK, "vda", pytest.approx(0.97))
    assert answer.words == "9.7 MB/s written of 10.0 MB/s it may take"


def test_a_limit_given_out_in_slices_is_near_at_less_while_tasks_wait() -> None:
    near = device(written_bytes_per_s=8.0 * MB, write_bytes_per_s_max=10 * MB)
    assert found(load(), device=near, host=host(io_stall_share=0.5)).resource is Resource.DISK
    assert found(load(), device=near, host=host(io_stall_share=0.1)).resource is Resource.WINDOW


def test_a_few_segments_sent_again_are_no_lossy_network() -> None:
    assert found(load(), host=host(tcp_segments=2_500, tcp_retransmits=40)).resource is Resource.WINDOW


def test_a_disk_at_the_writes_it_is_limited_to() -> None:
    answer = found(load(), device=device(writes_per_s=99.0, writes_per_s_max=100))
    assert answer.words == "99 writes/s of the 100 it may take"


def test_a_disk_at_its_measured_ceiling() -> None:
    answer = found(load(), device=device(written_bytes_per_s=97.0 * MB), ceilings=disk_ceiling(100.0 * MB))
    assert answer.summary == "disk vda (97 %)"


def test_a_disk_that_is_always_busy_while_tasks_wait_for_it() -> None:
    answer = found(load(), device=device(busy_share=0.98), host=host(io_stall_share=0.7))
    assert answer.resource is Resource.DISK
    assert "busy 98% of the time" in answer.words


def test_a_busy_disk_that_nobody_waits_for_is_not_the_limit() -> None:
    assert found(load(), device=device(busy_share=0.98), host=host(io_stall_share=0.01)).resource is Resource.WINDOW


def test_no_disk_limits_what_no_server_here_writes_to_it() -> None:
    """Of a cluster elsewhere, and without servers, a full disk of the clients' host is others' business."""
    full = {"device": device(written_bytes_per_s=97.0 * MB), "ceilings": disk_ceiling(100.0 * MB)}
    assert found(load(), **full).resource is Resource.DISK
    for nobody in (load(servers=()), load(servers=(), data_devices=())):
        assert found(nobody, **full).resource is not Resource.DISK


def test_another_disk_does_not_count() -> None:
    other = device(number="8:0", busy_share=1.0)
    assert found(load(), device=other, host=host(io_stall_share=0.9)).resource is Resource.WINDOW


def test_one_thread_of_a_server_that_always_runs() -> None:
    answer = found(load(), process("kafka-1", threads=(ThreadShare("data-plane-0", 0.99),)))
    assert answer.summary == "one server thread kafka-1 (99 %)"
    assert answer.words == "thread data-plane-0 of kafka-1 ran 99% of the time"


def test_a_memory_limit_that_tasks_wait_for() -> None:
    full = process("kafka-1", memory_limit_bytes=1000 * MB, memory_left_bytes_min=10 * MB)
    assert found(load(), full, host=host(memory_stall_share=0.4)).resource is Resource.MEMORY
    assert found(load(), full).resource is Resource.WINDOW


def bursts(busy_s: float, written: float = 560.0 * MB) -> DeviceShare:
    return device(busy_share=0.6, busy_s=busy_s, written_bytes_per_s=written)


def test_a_disk_that_was_busy_again_and_again_is_named() -> None:
    """Half of its ceiling on average, which it did not sustain."""
    answer = found(load(), device=bursts(4.7), ceilings=disk_ceiling(1200.0 * MB))
    assert (answer.resource, answer.subject) == (Resource.DISK, "vda")
    assert answer.words == "busy 5 of 10 s (560.0 MB/s written on average), and tasks waited for I/O 10% of the time"
    assert answer.share == pytest.approx(0.47)
    assert any(other.name == "in-flight window" for other in answer.others)


@pytest.mark.parametrize(
    ("busy_s", "stall"), [(2.9, 0.3), (4.7, 0.04)], ids=["for a short time", "while nobody waited for it"]
)
def test_bursts_that_do_not_count(busy_s: float, stall: float) -> None:
    answer = found(load(), device=bursts(busy_s), host=host(io_stall_share=stall))
    assert answer.resource is Resource.WINDOW
    assert not answer.others


def test_bursts_are_reported_beside_what_limits_more() -> None:
    generator = found(load(blocked_share=0.1), device=bursts(4.7))
    assert generator.resource is Resource.CLIENT_CPU
    assert any("busy 5 of 10 s" in other.evidence for other in generator.others)
    offered = found(load(offered_msgs_per_s=50_000.0), device=bursts(4.7))
    assert offered.resource is Resource.OFFERED
    assert any("busy 5 of 10 s" in other.evidence for other in offered.others)
    assert found(load(reads=True), device=bursts(4.7)).resource is Resource.DISK


def test_a_disk_at_its_ceiling_is_reported_once() -> None:
    answer = found(load(), device=bursts(9.0, written=1100.0 * MB), ceilings=disk_ceiling(1200.0 * MB))
    assert "it can take" in answer.words
    assert not any("busy" in other.evidence for other in answer.others)


def test_a_window_that_is_long_enough_is_held_against_what_is_sustained() -> None:
    once = disk_ceiling(1200.0 * MB)
    known = replace(once, disks=(replace(once.disks[0], sustained_write_bytes_per_s=600.0 * MB),))
    busy = {"processes": (process("kafka-1"), process("worker")), "devices": (device(written_bytes_per_s=560.0 * MB),)}
    short, long = (WindowUse(seconds, host(), **busy) for seconds in (15.0, 20.0))
    assert limiting_resource(load(), short, known).resource is Resource.WINDOW
    answer = limiting_resource(load(), long, known)
    assert answer.resource is Resource.DISK
    assert answer.words == "560.0 MB/s written of 600.0 MB/s it can take"


def test_loopback_at_its_ceiling() -> None:
    answer = found(load(), host=host(loopback_bytes_per_s=3900.0 * MB), ceilings=disk_ceiling(1000.0 * MB))
    assert (answer.resource, answer.subject) == (Resource.NETWORK, "lo")


def test_loopback_is_held_against_as_many_connections_as_are_used() -> None:
    one = disk_ceiling(1000.0 * MB)
    assert one.loopback is not None
    many = replace(one, loopback=replace(one.loopback, many=8, many_bytes_per_s=10_000.0 * MB))
    below, above = host(loopback_bytes_per_s=3900.0 * MB), host(loopback_bytes_per_s=9800.0 * MB)
    assert found(load(connections=8), host=below, ceilings=many).resource is not Resource.NETWORK
    answer = found(load(connections=8), host=above, ceilings=many)
    assert answer.resource is Resource.NETWORK
    assert answer.words.endswith("of 10,000.0 MB/s that 8 connections can carry")
    answer = found(load(connections=1), host=below, ceilings=many)
    assert answer.words.endswith("of 4,000.0 MB/s that one connection can carry")


def test_ceilings_measured_on_a_busy_machine_name_nothing() -> None:
    measured = disk_ceiling(100.0 * MB)
    busy = {"device": device(written_bytes_per_s=97.0 * MB), "host": host(loopback_bytes_per_s=3900.0 * MB)}
    assert found(load(), ceilings=replace(measured, load_average=host().cpus), **busy).resource is Resource.DISK
    doubted = found(load(), ceilings=replace(measured, load_average=host().cpus + 0.1), **busy)
    assert doubted.resource not in (Resource.DISK, Resource.NETWORK)


def test_a_network_that_loses_what_is_sent() -> None:
    answer = found(load(), host=host(tcp_retransmits=5_000))
    assert answer.words == "5.0% of 100,000 TCP segments had to be sent again"


def test_a_full_host_says_who_fills_it() -> None:
    answer = found(load(), process("kafka-1", cpus=2.0), host=host(cpu_share=0.99, cpu_stall_share=0.8))
    assert answer.resource is Resource.HOST_CPU
    assert answer.users == "servers 2.00, load generator 0.50, everything else 1.46"
    assert answer.words.startswith(f"{answer.used} ({answer.users}); tasks waited for a CPU")
    # A server that may use all CPUs and does is not limited by what it was given.
    alone = found(load(), process("kafka-1", cpus=3.9), host=host(cpu_share=0.99, cpu_stall_share=0.8))
    assert alone.resource is Resource.HOST_CPU


def test_syncs_that_make_most_of_an_acknowledgement() -> None:
    answer = found(load(local_sync=True, sync_ms=60.0))
    assert answer.resource is Resource.SYNCS
    assert "a sync to disk 60.0 ms of it" in answer.words
    assert found(load(local_sync=True, sync_ms=5.0)).resource is Resource.WINDOW


def test_the_devices_flushes_stand_in_for_servers_that_tell_no_syncs() -> None:
    assert found(load(local_sync=True), device=device(flush_ms=80.0)).resource is Resource.SYNCS


def test_replication_where_nothing_is_full() -> None:
    answer = found(load(nodes_needed=2))
    assert answer.resource is Resource.REPLICATION
    assert answer.words.startswith("an acknowledgement took 100.0 ms on average, on 2 nodes")


def test_the_window_where_nothing_else_is() -> None:
    answer = found(load())
    assert answer.resource is Resource.WINDOW
    assert answer.words.startswith("the window of 5,000 messages was full 90% of the time")


def test_a_rate_that_was_met_was_limited_by_who_asked() -> None:
    answer = found(load(offered_msgs_per_s=50_000.0))
    assert (answer.resource, answer.summary) == (Resource.OFFERED, "offered rate")


def test_a_rate_that_was_missed_has_a_cause() -> None:
    answer = found(load(offered_msgs_per_s=90_000.0), device=device(busy_share=1.0), host=host(io_stall_share=0.9))
    assert answer.resource is Resource.DISK


def test_a_missed_rate_without_a_cause_is_not_identified() -> None:
    answer = found(load(offered_msgs_per_s=90_000.0, blocked_share=0.1))
    assert answer.resource is Resource.UNKNOWN
    assert answer.words == "host CPU 40%, busiest server thread 30%, disk busy 20%, producers held back 10% of the time"


def test_reading_is_judged_without_the_producers_side() -> None:
    assert found(load(reads=True)).resource is Resource.UNKNOWN


def test_what_is_judged_is_the_trials_own() -> None:
    trial = replace(spec(experiment="peak"), attached=True)
    trial = replace(trial, workload=replace(trial.workload, topics=2, producers=3, arrival=Arrival.CLOSED_LOOP))
    metrics = (Metric("sync_ms", "", "x", is_sync_ms=True), Metric("other_ms", "", "y"))
    session: Any = SimpleNamespace(
        spec=trial,
        subject=SimpleNamespace(system=SimpleNamespace(metrics=metrics)),
        deployment=SimpleNamespace(processes=("kafka-1", "kafka-2"), metrics_endpoints=()),
        resources=SimpleNamespace(host=None, ceilings=None, calibrations=(), links={}),
        worker=SimpleNamespace(processes=("worker-1", "worker-2")),
        use=None,
    )
    use = WindowUse(
        30.0, host(), (), (), metrics={"kafka-1": {"sync_ms": 4.0, "other_ms": 9.0}, "kafka-2": {"sync_ms": 6.0}}
    )
    made = totals()
    made = replace(made, window=replace(made.window, blocked_ns=90 * 10**9))
    first, second = (
        of_trial.judged_load(session, trial_result, made, seen, of_trial.measured_of(session, trial_result, seen))
        for trial_result, seen in ((result(trial), use), (result(trial, level=LevelFinding(2, ())), None))
    )
    assert first.service_ms == pytest.approx(1.2), "the mean service time, not the response"
    assert (first.blocked_share, first.in_flight_max) == (pytest.approx(0.5), 30_000)
    assert (first.local_sync, first.nodes_needed, first.sync_ms) == (True, 1, 6.0)
    assert (first.offered_msgs_per_s, first.servers) == (None, ("kafka-1", "kafka-2"))
    assert first.workers == ("worker-1", "worker-2")
    assert (second.local_sync, second.nodes_needed, second.sync_ms) == (False, 2, None)


def test_what_was_seen_of_devices_keeps_its_names() -> None:
    use = WindowUse(30.0, host(), (), (device(read_bytes_per_s=1.0, written_bytes_per_s=2.0, flushes_per_s=3.0),))
    seen = of_trial.seen_of(use)
    assert (seen.read_bytes_per_s, seen.written_bytes_per_s) == ({"254:0": 1.0}, {"254:0": 2.0})
    assert (seen.flushes_per_s, seen.loopback_bytes_per_s) == ({"254:0": 3.0}, 100.0 * MB)


def test_without_telemetry_nothing_is_said() -> None:
    assert limiting_resource(load(), None).words == "resource use was not recorded"


THREE = ("worker-1", "worker-2", "worker-3")


def test_of_several_load_generators_the_one_at_its_end_is_named() -> None:
    calm = [process("worker-1"), process("worker-3")]
    allowed = process("worker-2", cpus=0.97, cpus_allowed=1.0)
    answer = found(load(workers=THREE), process("kafka-1"), *calm, allowed)
    assert (answer.resource, answer.subject) == (Resource.CLIENT_CPU, "load generator 2 of 3")
    assert answer.words.startswith("load generator 2 of 3 used 0.97 of the 1 CPUs")
    thread = process("worker-2", threads=(ThreadShare("netty-1", 0.99),))
    answer = found(load(workers=THREE), process("kafka-1"), *calm, thread)
    assert (answer.subject, answer.words) == (
        "load generator 2 of 3",
        "thread netty-1 of load generator 2 of 3 ran 99% of the time",
    )


def test_a_consumer_of_one_of_several_load_generators() -> None:
    busy = load(
        workers=THREE, consumer="sub-0 consumer 4 (load generator 3 of 3)", consumer_busy_share=1.0,
        consumer_behind=True,
    )  # fmt: skip
    answer = found(busy, *map(process, ("kafka-1", *THREE)))
    assert (answer.resource, answer.subject) == (Resource.CLIENT_CPU, "load generator 3 of 3")


def test_a_closed_loop_that_nobody_held_back_was_limited_by_all_of_them() -> None:
    answer = found(load(workers=THREE, blocked_share=0.1), *map(process, ("kafka-1", *THREE)))
    assert (answer.resource, answer.subject) == (Resource.CLIENT_CPU, "all 3 load generators")
    two = found(load(workers=THREE[:2], blocked_share=0.1), *map(process, ("kafka-1", *THREE[:2])))
    assert two.subject == "both load generators"


# Hosts of a fleet


def test_a_full_host_of_a_fleet_is_named_and_one_without_a_part_is_not() -> None:
    assert on_hosts(ELSEWHERE, [*SERVERS, CLIENT], QUIET).resource is Resource.WINDOW
    full = host(cpu_share=0.97, cpu_stall_share=0.8)
    answer = on_hosts(ELSEWHERE, [*SERVERS, CLIENT], {**QUIET, "10.0.0.2": full})
    assert (answer.resource, answer.subject) == (Resource.HOST_CPU, "of 10.0.0.2")
    assert answer.words.startswith("97% of 4 CPUs (servers 0.50, load generator 0.00, everything else 3.38)")
    assert answer.summary == "host CPU of 10.0.0.2 (97 %)"


def test_a_disk_is_judged_by_what_waited_on_its_host() -> None:
    busy = device(number="10.0.0.2 254:0", name="vda of 10.0.0.2", host="10.0.0.2", busy_share=0.99)
    waiting = {**QUIET, "10.0.0.2": host(io_stall_share=0.6)}
    answer = on_hosts(ELSEWHERE, [*SERVERS, CLIENT], waiting, devices=(busy,))
    assert (answer.resource, answer.subject) == (Resource.DISK, "vda of 10.0.0.2")
    elsewhere = {**QUIET, "10.0.0.1": host(io_stall_share=0.6)}
    assert on_hosts(ELSEWHERE, [*SERVERS, CLIENT], elsewhere, devices=(busy,)).resource is Resource.WINDOW
    clients = replace(busy, host="10.0.0.9")
    assert on_hosts(ELSEWHERE, [*SERVERS, CLIENT], waiting, devices=(clients,)).resource is Resource.WINDOW


def test_a_process_is_compared_with_the_cpus_of_its_own_host() -> None:
    limited = process("kafka-2", host="10.0.0.2", cpus=0.99, cpus_allowed=1.0)
    answer = on_hosts(ELSEWHERE, [SERVERS[0], limited, CLIENT], QUIET)
    assert (answer.resource, answer.subject) == (Resource.SERVER_CPU, "kafka-2 on 10.0.0.2")
    small = {**QUIET, "10.0.0.2": host(cpus=1)}
    assert on_hosts(ELSEWHERE, [SERVERS[0], limited, CLIENT], small).resource is not Resource.SERVER_CPU


def test_a_link_at_what_it_was_measured_to_carry_is_named() -> None:
    measured = replace(ELSEWHERE, links={name: HostLink(100.0 * MB, 200.0 * MB) for name in QUIET})
    sending = host(network_received_bytes_per_s=10.0 * MB, network_sent_bytes_per_s=95.0 * MB)
    answer = on_hosts(measured, [*SERVERS, CLIENT], {**QUIET, "10.0.0.9": sending})
    assert (answer.resource, answer.subject) == (Resource.NETWORK, "of 10.0.0.9")
    assert answer.words == "95.0 MB/s sent by 10.0.0.9 of 100.0 MB/s that it can"
    receiving = host(network_received_bytes_per_s=180.0 * MB, network_sent_bytes_per_s=10.0 * MB)
    assert (
        "180.0 MB/s received by 10.0.0.1"
        in on_hosts(measured, [*SERVERS, CLIENT], {**QUIET, "10.0.0.1": receiving}).words
    )
    more = host(network_received_bytes_per_s=10.0 * MB, network_sent_bytes_per_s=180.0 * MB)
    assert on_hosts(measured, [*SERVERS, CLIENT], {**QUIET, "10.0.0.9": more}).resource is Resource.WINDOW, (
        "measured wrongly"
    )


def test_lost_segments_are_those_of_a_host() -> None:
    lossy = host(tcp_segments=100_000, tcp_retransmits=5_000)
    answer = on_hosts(ELSEWHERE, [*SERVERS, CLIENT], {**QUIET, "10.0.0.1": lossy})
    assert (answer.resource, answer.subject) == (Resource.NETWORK, "of 10.0.0.1")


SLOW = HostLink(12.5 * MB, 12.5 * MB)
FAST = HostLink(1250.0 * MB, 1250.0 * MB)
ONE_LOAD_HOST = replace(
    ELSEWHERE, offered_msgs_per_s=20_000.0, msgs_per_s=12_000.0, links=dict.fromkeys(QUIET, FAST) | {"10.0.0.9": SLOW}
)
FULL_LINK = host(network_sent_bytes_per_s=12.4 * MB)
FULL_CPU = host(cpu_share=0.98, cpu_stall_share=0.6)


def of_load_hosts(others: dict[str, Any], *more: Any, judged: Any = ONE_LOAD_HOST) -> list[str]:
    use = WindowUse(10.0, host(), (*SERVERS, CLIENT, *more), (), others={**QUIET, **others})
    return [limiting.words for limiting in limits_of_load_hosts(judged, use)]


class TestLoadHostsAtTheirEnd:
    def test_its_link(self) -> None:
        assert of_load_hosts({"10.0.0.9": FULL_LINK}) == ["12.4 MB/s sent by 10.0.0.9 of 12.5 MB/s that it can"]

    def test_its_cpus(self) -> None:
        assert of_load_hosts({"10.0.0.9": FULL_CPU}) == [
            "98% of 4 CPUs (load generator 0.50, everything else 3.42); tasks waited for a CPU 60% of the time"
        ]

    def test_the_cpus_that_the_load_generator_was_given(self) -> None:
        given = replace(CLIENT, cpus=0.98, cpus_allowed=1.0)
        use = WindowUse(10.0, host(), (*SERVERS, given), (), others=QUIET)
        (limiting,) = limits_of_load_hosts(ONE_LOAD_HOST, use)
        assert limiting.words == "worker-1 on 10.0.0.9 used 0.98 of the 1 CPUs it may use"

    def test_none_is_named_where_a_server_was_at_its_end_too(self) -> None:
        assert not of_load_hosts({"10.0.0.9": FULL_LINK, "10.0.0.1": FULL_CPU})
        at_their_ends = host(network_received_bytes_per_s=12.4 * MB)
        slow = replace(ONE_LOAD_HOST, links=dict.fromkeys(QUIET, SLOW))
        assert not of_load_hosts({"10.0.0.9": FULL_LINK, "10.0.0.1": at_their_ends}, judged=slow)

    def test_none_is_named_where_a_server_shares_the_host(self) -> None:
        assert not of_load_hosts({"10.0.0.1": FULL_CPU})
        beside = replace(SERVERS[0], host="10.0.0.9")
        use = WindowUse(10.0, host(), (beside, CLIENT), (), others={**QUIET, "10.0.0.9": FULL_CPU})
        assert not limits_of_load_hosts(ONE_LOAD_HOST, use)

    def test_each_of_several_must_be(self) -> None:
        second = process("worker-2", host="10.0.0.8")
        both = replace(ONE_LOAD_HOST, workers=("worker-1", "worker-2"), links={**ONE_LOAD_HOST.links, "10.0.0.8": SLOW})
        assert not of_load_hosts({"10.0.0.9": FULL_LINK, "10.0.0.8": host()}, second, judged=both)
        assert len(of_load_hosts({"10.0.0.9": FULL_LINK, "10.0.0.8": FULL_LINK}, second, judged=both)) == 2

    def test_lost_segments_are_no_end(self) -> None:
        assert not of_load_hosts({"10.0.0.9": host(tcp_retransmits=5000)})

    def test_a_host_on_which_servers_of_others_may_be_hidden_is_none(self) -> None:
        attached = replace(ONE_LOAD_HOST, servers=())
        use = WindowUse(10.0, FULL_CPU, (process("worker-1"),), ())
        assert not limits_of_load_hosts(attached, use)
        apart = WindowUse(10.0, FULL_CPU, (process("worker-1"), SERVERS[0]), (), others=QUIET)
        assert len(limits_of_load_hosts(ONE_LOAD_HOST, apart)) == 1

"""What others disturb, with known answers: busy loops, quotas, a hypervisor, disks and memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from disturbance_samples import (
    CPUS,
    GIB,
    LATENCY,
    MB,
    PEAK,
    SYNCED,
    device,
    full,
    held_by_quota,
    host,
    on_shared_disk,
    paced,
    process,
    program,
    use,
)

from tidegauge.limiting.disturbance import MeasuredTrial, as_noted, cpu_accounts, disturbances, others_share
from tidegauge.limiting.window_use import HostShare, ThreadShare
from tidegauge.model.disturbance import Disturbance, Disturbed, Harm, Program, taken_words
from tidegauge.model.use import HostUse

CONTAINER, SHORT = "3f9a0b1c2d3e4f50" * 4, "docker/3f9a0b1c2d3e"


def the(found: tuple[Disturbance, ...], what: Disturbed) -> Disturbance:
    (one,) = [disturbance for disturbance in found if disturbance.what is what]
    return one


@pytest.mark.parametrize(
    ("share", "harm"), [(0.02, None), (0.20, Harm.DOUBTFUL), (0.45, Harm.INVALID), (0.75, Harm.INVALID)]
)
def test_busy_loops_decide_the_rate_of_a_closed_loop_and_are_named(share: float, harm: Harm | None) -> None:
    found = disturbances(PEAK, full(share))
    assert [disturbance.harm for disturbance in found] == ([harm] if harm else [])
    for disturbance in found:
        assert disturbance.words.startswith(f"other programs took {share * CPUS:.2f} of 2 CPUs (stress ")
        assert disturbance.words.endswith("so it is not the rate that this machine allows")
        assert disturbance.remedy.startswith("end them")


def test_what_decides_nothing_is_noted_with_the_same_words() -> None:
    (decided,) = disturbances(PEAK, full(0.45))
    (noted,) = as_noted((decided,))
    assert (noted.harm, noted.words) == (Harm.NOTED, decided.words)


def test_a_closed_loop_with_free_cpus_is_not_decided_by_others() -> None:
    quiet = use(host(0.4, 0.5), process("kafka-1", 0.3), process("worker", 0.2))
    assert [disturbance.harm for disturbance in disturbances(PEAK, quiet)] == [Harm.NOTED]


def test_programs_in_containers_that_cannot_be_seen_count() -> None:
    busy = full(0.45)
    hidden = replace(busy, host=replace(busy.host, others_cpus=0.0, unseen_cpus=0.9), programs=())
    (found,) = disturbances(PEAK, hidden)
    assert found.harm is Harm.INVALID
    assert "0.90 of 2 CPUs (programs that can't be seen from here 0.90)" in found.words


@pytest.mark.parametrize(("place", "shown"), [("/ci.slice", "ci.slice"), (f"/docker/{CONTAINER}", SHORT)])
def test_a_cgroup_is_named_with_its_program_as_people_call_it(place: str, shown: str) -> None:
    busy = replace(full(0.45), programs=(program("java", 0.9, cgroup=place),))
    (found,) = disturbances(PEAK, busy)
    assert f"(java (cgroup {shown}) 0.90)" in found.words


def test_a_quota_of_a_container_is_shown_by_a_path_that_the_shell_completes() -> None:
    (found,) = held_by_quota(quota_group=f"/sys/fs/cgroup/docker/{CONTAINER}")
    assert "of /sys/fs/cgroup/docker/3f9a0b1c2d3e* (cpu.max" in found.remedy


def test_counters_that_tick_and_the_kernels_own_work_disturb_nothing() -> None:
    """A machine that is full of its own trial: nothing of the system's own work counts as others'."""
    rest = CPUS - 0.6
    own = (process("kafka-1", rest * 0.6, wait_share=1.5), process("worker", rest * 0.4, wait_share=1.5))
    found = use(host(0.03, rest, cpu_share=1.0, kernel_cpus=0.5, unseen_cpus=0.09, cpu_stall_share=0.9), *own)
    for measured in (PEAK, LATENCY, SYNCED):
        assert disturbances(measured, found) == ()


def test_what_the_hypervisor_took_is_called_so() -> None:
    busy = full(0.45)
    stolen = replace(busy, host=replace(busy.host, others_cpus=0.0, steal_cpus=0.9), programs=())
    (found,) = disturbances(PEAK, stolen)
    assert (found.what, found.harm) == (Disturbed.STEAL, Harm.INVALID)
    assert found.words.startswith("the hypervisor held back 0.90 of 2 CPUs")


class TestLatency:
    @pytest.mark.parametrize(
        ("others", "waited", "harm"),
        [
            (0.05, 2.0, None),
            (0.4, 0.05, Harm.NOTED),
            (0.9, 0.3, Harm.DOUBTFUL),
            (1.4, 2.0, Harm.INVALID),
        ],
    )
    def test_waiting_for_others_decides_and_waiting_for_each_other_does_not(
        self, others: float, waited: float, harm: Harm | None
    ) -> None:
        found = disturbances(LATENCY, paced(others, waited))
        assert [disturbance.harm for disturbance in found] == ([harm] if harm else [])

    def test_one_thread_of_the_client_that_waits_is_enough(self) -> None:
        late = (ThreadShare("kafka-producer-network-thread", 0.1, 0.6),)
        (found,) = disturbances(LATENCY, paced(0.9, 0.05, waiting=late))
        assert found.harm is Harm.INVALID
        assert "kafka-producer-network-thread of the load generator 0.60 s" in found.words

    def test_no_message_meets_a_compiler_that_waits(self) -> None:
        late = ThreadShare("C2 CompilerThre", 0.1, 0.6)
        assert disturbances(LATENCY, paced(0.9, 0.0, waiting=(late,))) == disturbances(LATENCY, paced(0.9, 0.0))
        behind = ThreadShare("kafka-producer-network-thread", 0.1, 0.5)
        (found,) = disturbances(LATENCY, paced(0.9, 0.0, waiting=(late, behind)))
        assert found.harm is Harm.INVALID
        assert found.words.endswith("; kafka-producer-network-thread of the load generator 0.50 s in all")

    def test_a_rate_that_was_not_reached_is_judged_as_one(self) -> None:
        assert disturbances(replace(LATENCY, rate_counts=True), full(0.75))[0].harm is Harm.INVALID


class TestQuotas:
    def test_a_generators_own_quota_is_the_generators(self) -> None:
        (found,) = held_by_quota()
        assert (found.what, found.harm) == (Disturbed.QUOTA, Harm.INVALID)
        assert "held back for 0.50 s a second by the quota of its cgroup (0.3 CPUs)" in found.words
        assert found.remedy == ("raise or remove the quota of /sys/fs/cgroup/cpu/gen (cpu.max, or cpu.cfs_quota_us)")
        assert "programs" not in found.remedy

    def test_a_little_of_it_is_a_doubt_and_so_is_a_rate(self) -> None:
        assert held_by_quota(held=0.05)[0].harm is Harm.DOUBTFUL
        assert held_by_quota(PEAK)[0].harm is Harm.DOUBTFUL
        assert held_by_quota(held=0.01) == ()

    def test_a_quota_that_servers_share_is_the_size_of_the_machine(self) -> None:
        assert held_by_quota(servers="/sys/fs/cgroup/cpu/gen") == ()

    def test_the_clients_own_thread_under_a_quota_is_not_the_system(self) -> None:
        late = (ThreadShare("kafka-producer-1", 0.04, 0.9, quota_cpus=0.04),)
        own = (process("kafka-1", 0.1), process("worker", 0.2, waiting=late, wait_share=0.95))
        (found,) = disturbances(LATENCY, use(host(0.0, 0.3), *own))
        assert (found.what, found.harm) == (Disturbed.QUOTA, Harm.INVALID)
        assert "thread kafka-producer-1 of the load generator's client waited 0.90 s a second" in found.words
        assert "quota of 0.04 CPUs" in found.words
        assert found.remedy.startswith("raise or remove the quota that holds this thread")

    def test_a_thread_that_waits_though_cpus_are_free_is_bound_to_few(self) -> None:
        late = (ThreadShare("pulsar-client-io", 0.1, 0.6),)
        own = (process("kafka-1", 0.1), process("worker", 0.2, waiting=late))
        assert disturbances(LATENCY, use(host(0.0, 0.3), *own))[0].harm is Harm.INVALID
        compiles = (ThreadShare("C1 CompilerThre", 0.1, 0.9), *late)
        own = (process("kafka-1", 0.1), process("worker", 0.2, waiting=compiles))
        assert "thread pulsar-client-io of" in disturbances(LATENCY, use(host(0.0, 0.3), *own))[0].words
        # On a machine without free CPUs, it waits for the servers that it measures.
        assert disturbances(LATENCY, use(host(0.0, 1.8), *own)) == ()


class TestDisk:
    def test_a_writer_beside_synced_acknowledgements_makes_them_invalid(self) -> None:
        (found,) = on_shared_disk()
        assert (found.what, found.harm) == (Disturbed.DISK, Harm.INVALID)
        assert found.words.startswith("other programs moved 1,000 MB/s on vda (dd 1,000 MB/s), servers and load")
        assert "the data on another disk" in found.remedy

    def test_what_little_the_trial_moved_is_not_called_nothing(self) -> None:
        own = (process("kafka-1", 0.2, moved_bytes_per_s=0.3 * MB), process("worker", 0.1))
        (found,) = disturbances(SYNCED, use(host(0.05, 0.3), *own, devices=(device(written_bytes_per_s=205 * MB),)))
        assert "other programs moved 205 MB/s on vda, servers and load generator 0.30 MB/s" in found.words

    def test_less_of_it_is_a_doubt_and_next_to_nothing_is_fine(self) -> None:
        assert on_shared_disk(others=20 * MB, devices=(device(written_bytes_per_s=23 * MB),))[0].harm is Harm.DOUBTFUL
        assert on_shared_disk(others=5 * MB, devices=(device(written_bytes_per_s=8 * MB),)) == ()

    def test_the_journal_of_the_file_system_is_the_servers(self) -> None:
        """Small appends that are synced write some times what the servers gave to the kernel."""
        own = (process("kafka-1", 0.2, moved_bytes_per_s=15 * MB), process("worker", 0.1))
        disk = device(busy_share=0.9, written_bytes_per_s=55 * MB)
        assert disturbances(SYNCED, use(host(0.05, 0.3), *own, devices=(disk,))) == ()

    def test_without_syncs_it_is_noted_as_far_as_programs_are_seen(self) -> None:
        assert [found.harm for found in on_shared_disk(LATENCY)] == [Harm.NOTED]
        # Written back for servers, of what they had written before the window.
        own = (process("kafka-1", 0.2, moved_bytes_per_s=2.5 * MB), process("worker", 0.1))
        disk = device(written_bytes_per_s=300 * MB)
        assert disturbances(LATENCY, use(host(0.05, 0.3), *own, devices=(disk,))) == ()

    def test_another_disk_than_the_datas_disturbs_nothing(self) -> None:
        disks = (device(), device(number="254:16", name="vdb", written_bytes_per_s=1000 * MB))
        assert on_shared_disk(devices=disks) == ()


def test_a_memory_hog_is_named_while_tasks_wait_for_memory() -> None:
    hog = program("hog", 0.1, resident_bytes=5 * GIB)
    own = (process("kafka-1", 0.2), process("worker", 0.1))
    found = host(0.1, 0.3, memory_stall_share=0.3, others_resident_bytes=5 * GIB)
    (one,) = disturbances(LATENCY, use(found, *own, programs=(hog,)))
    assert (one.what, one.harm) == (Disturbed.MEMORY, Harm.DOUBTFUL)
    assert "(hog 5.4 GB)" in one.words
    assert disturbances(LATENCY, use(replace(found, memory_stall_share=0.0), *own, programs=(hog,))) == ()
    # Others may wait in a container that is too small for them, on a machine with enough.
    roomy = replace(found, memory_available_bytes_min=2 * GIB)
    (one,) = disturbances(LATENCY, use(roomy, *own, programs=(hog,)))
    assert one.harm is Harm.NOTED
    assert one.words.endswith("; 2.1 GB or more were available, so they may have waited at limits of their own")


def test_hosts_of_a_fleet_are_judged_each_by_itself() -> None:
    quiet, busy = host(0.0, 0.3), host(0.9, 1.05)
    there = {"host": "10.0.0.2"}
    own = (process("kafka-1", 1.05, **there), process("worker", 0.3))
    found = use(quiet, *own, others={"10.0.0.2": busy}, programs=(program("dd", 0.9, **there),))
    (one,) = disturbances(PEAK, found)
    assert one.host == "10.0.0.2"
    assert "0.90 of 2 CPUs of 10.0.0.2 (dd 0.90)" in one.words
    assert {account.host: account.others for account in cpu_accounts(PEAK, found)} == {"10.0.0.2": 0.9, "": 0.0}


THERE = {"host": "10.0.0.2"}
WAITING = {"waiting": (ThreadShare("kafka-producer-1", 0.1, 0.6),)}
THROTTLED = {"throttled_share": 0.5, "cpus_allowed": 0.3, "quota_group": "/gen"}


@pytest.mark.parametrize(
    ("measured", "what", "second", "worker", "changes"),
    [
        (PEAK, Disturbed.CPU, host(0.9, 1.05), {}, {"programs": (program("dd", 0.9, **THERE),)}),
        (LATENCY, Disturbed.CPU, host(0.9, 0.5), {"wait_share": 0.9}, {"programs": (program("dd", 0.9, **THERE),)}),
        (PEAK, Disturbed.STEAL, host(0.0, 1.05, steal_cpus=0.9, cpu_share=1.0), {}, {}),
        (LATENCY, Disturbed.QUOTA, host(0.0, 0.5), THROTTLED, {}),
        (LATENCY, Disturbed.QUOTA, host(0.0, 0.5), WAITING, {}),
        (LATENCY, Disturbed.QUOTA, host(0.0, 0.5), {"waiting": (ThreadShare("p", 0.1, 0.6, 0.04),)}, {}),
        (
            SYNCED,
            Disturbed.DISK,
            host(0.05, 0.5, others_bytes_per_s=500 * MB),
            {},
            {"devices": (device(host="10.0.0.2", name="vdb of 10.0.0.2", written_bytes_per_s=500 * MB),)},
        ),
        (LATENCY, Disturbed.MEMORY, host(0.05, 0.5, memory_stall_share=0.3, others_resident_bytes=5 * GIB), {}, {}),
    ],
)
def test_what_disturbs_the_second_host_of_a_fleet_alone_names_it(
    measured: MeasuredTrial, what: Disturbed, second: HostShare, worker: dict[str, Any], changes: dict[str, Any]
) -> None:
    here = (process("kafka-1", 0.3), process("worker", 0.2))
    there = (process("kafka-2", 0.3, **THERE), process("worker-2", 0.2, **THERE, **worker))
    measured = replace(measured, servers=("kafka-1", "kafka-2"), workers=("worker", "worker-2"), data_devices=())
    (disturbance,) = disturbances(measured, use(host(0.0, 0.5), *here, *there, others={"10.0.0.2": second}, **changes))
    assert (disturbance.what, disturbance.host) == (what, "10.0.0.2")
    assert disturbance.harm in (Harm.DOUBTFUL, Harm.INVALID)
    assert disturbance.words.count("10.0.0.2") == 1
    # The same on the one host that there is needs no name.
    processes = (process("kafka-1", 0.3), process("worker", 0.2, **worker))
    own = {
        name: tuple(replace(each, host="", **({"name": "vdb"} if name == "devices" else {})) for each in rows)
        for name, rows in changes.items()
    }
    (disturbance,) = disturbances(measured, use(second, *processes, **own))
    assert (disturbance.what, disturbance.host) == (what, "")
    assert "10.0.0.2" not in disturbance.words


def test_attached_servers_that_cannot_be_told_from_others_decide_nothing() -> None:
    (found,) = disturbances(replace(PEAK, servers=(), servers_hidden=True), full(0.75))
    assert found.harm is Harm.NOTED
    assert "servers or other programs" in found.words


def test_what_nobody_looked_at_disturbs_nothing() -> None:
    blind = full(0.75)
    blind = replace(blind, host=replace(blind.host, others_cpus=None, unseen_cpus=None))
    assert disturbances(PEAK, blind) == ()
    assert disturbances(PEAK, None) == ()


def test_an_account_says_who_had_the_cpus() -> None:
    (account,) = cpu_accounts(PEAK, full(0.45))
    assert taken_words(account).startswith("0.90 of 2 CPUs (stress 0.6")
    assert account.servers + account.generators == pytest.approx(CPUS - 0.9 - 0.05)


def test_named_programs_are_never_more_than_the_whole_before_them() -> None:
    (account,) = cpu_accounts(PEAK, full(0.45))
    thirds = [Program(name, "", cpus, 0, 0, 0) for name, cpus in (("a", 0.106), ("b", 0.106), ("c", 0.29))]
    words = taken_words(replace(account, others=0.502, unseen=0.0, programs=tuple(thirds)))
    assert words == "0.50 of 2 CPUs (c 0.29, a 0.10, b 0.10)"


def test_the_share_of_one_look_holds_the_hypervisors_and_what_is_not_seen() -> None:
    look = HostUse(2, 1.0, 0.2, 0.1, 0.0, 8 << 30, 4 << 30, 0, 1000, 10, 20, 100, 1, 500)
    assert others_share(look, 1.0) == 0.0
    assert others_share(replace(look, others_cpu_s=0.5, unseen_cpu_s=-0.1), 1.0) == 0.25
    assert others_share(replace(look, others_cpu_s=0.0, unseen_cpu_s=0.5, cpu_steal_s=0.5), 1.0) == 0.5

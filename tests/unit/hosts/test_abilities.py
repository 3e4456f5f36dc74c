"""Advice on set-ups made by hand: a good machine gets none, and each fault is found with the way to correct it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegauge.hosts.abilities import Ability, Advice, Probe, advise, try_abilities
from tidegauge.hosts.clock import ClockQuality
from tidegauge.model.host import UNBOUNDED, HostFacts
from tidegauge.model.server import Handles
from tidegauge.systems.registry import all_systems

DISK = {
    "mount_point": "/data",
    "file_system": "xfs",
    "mount_options": "rw,noatime",
    "devices": "nvme0n1",
    "write_cache": "write back",
    "scheduler": "none",
    "rotational": "0",
}
HOST = HostFacts(
    hostname="good",
    kernel="Linux 6.1",
    distribution="Debian",
    cpu_model="EPYC",
    cpus=16,
    cpu_governor="performance",
    memory_bytes=64 << 30,
    swap_bytes=0,
    clock_source="tsc",
    transparent_huge_pages="madvise",
    cgroup_limits={"version": "v2", "pids": "9000"},
    disks={"/data/runs": DISK},
)
CLOCK = ClockQuality("tsc", ("tsc", "hpet"), True, 4.0, 1, 20, 25.0, ("constant_tsc",))
HANDLES = Handles(files=1_048_576, maps=1_048_576)


def wanting(
    host: HostFacts = HOST, clock: ClockQuality = CLOCK, handles: Handles = HANDLES, swappiness: str = "60"
) -> dict[str, Advice]:
    return {advice.subject: advice for advice in advise(host, clock, handles, swappiness) if not advice.good}


def test_a_good_machine_gets_none() -> None:
    assert wanting() == {}


def test_everything_is_listed_with_a_reason() -> None:
    found = advise(HOST, CLOCK, HANDLES)
    assert {advice.subject for advice in found} == {
        "CPU governor",
        "swap",
        "transparent huge pages",
        "clock source",
        "clock error",
        "cgroup limits",
        "open files",
        "memory maps",
        "CPUs and memory",
        "file system of /data",
        "mount options of /data",
        "write cache of /data",
        "I/O scheduler of /data",
    }
    assert all(advice.found and advice.why and not advice.change for advice in found)


@pytest.mark.parametrize(
    ("changes", "subject", "change"),
    [
        ({"cpu_governor": "powersave"}, "CPU governor", "cpupower frequency-set -g performance"),
        ({"swap_bytes": 8 << 30}, "swap", "swapoff -a, or sysctl vm.swappiness=1"),
        ({"transparent_huge_pages": "always"}, "transparent huge pages", "echo madvise"),
        ({"cpus": 2}, "CPUs and memory", "limiting resource"),
        ({"cgroup_limits": {"version": "v2", "cpus": "1.5"}}, "cgroup limits", "whole CPUs"),
        ({"cgroup_limits": {"version": "v1", "io": "write_bps 8:0 1048576"}}, "cgroup limits", "no throttles"),
    ],
)
def test_faults_of_the_host(changes: dict[str, object], subject: str, change: str) -> None:
    found = wanting(replace(HOST, **changes))  # type: ignore[arg-type]
    assert list(found) == [subject]
    assert change in found[subject].change


@pytest.mark.parametrize(
    ("changes", "subject", "change"),
    [
        ({"source": "hpet"}, "clock source", "echo tsc"),
        ({"source": "hpet", "available": ("hpet",)}, "clock source", "another machine|Take a machine"),
        ({"read_ns": 900.0}, "clock source", "Take a machine"),
        ({"read_ns": 900.0, "available": ("tsc", "kvm-clock")}, "clock source", "echo kvm-clock"),
        ({"synchronised": False, "error_ms_max": 16000.0}, "clock error", "chrony"),
        ({"error_ms_max": 250.0}, "clock error", "nearer NTP server"),
    ],
)
def test_faults_of_the_clock(changes: dict[str, object], subject: str, change: str) -> None:
    found = wanting(clock=replace(CLOCK, **changes))  # type: ignore[arg-type]
    assert list(found) == [subject]
    assert any(part in found[subject].change for part in change.split("|"))


@pytest.mark.parametrize(
    ("changes", "subject", "change"),
    [
        ({"files": 1024}, "open files", "ulimit -Hn 100000"),
        ({"maps": 65_530}, "memory maps", "sysctl vm.max_map_count=262144"),
    ],
)
def test_faults_of_bounds(changes: dict[str, int], subject: str, change: str) -> None:
    found = wanting(handles=replace(HANDLES, **changes))
    assert list(found) == [subject]
    assert change in found[subject].change


def test_no_bounds_are_fine() -> None:
    assert wanting(handles=Handles(UNBOUNDED, UNBOUNDED)) == {}


def test_little_swappiness_is_fine() -> None:
    assert wanting(replace(HOST, swap_bytes=8 << 30), swappiness="1") == {}


@pytest.mark.parametrize(
    ("changes", "subject", "change"),
    [
        ({"file_system": "tmpfs"}, "file system of /data", "Use a disk"),
        ({"file_system": "nfs4"}, "file system of /data", "local disk"),
        ({"file_system": "btrfs"}, "file system of /data", "ext4 or xfs"),
        ({"file_system": "fuse.sshfs"}, "file system of /data", "ext4 or xfs"),
        ({"mount_options": "rw,nobarrier"}, "mount options of /data", "Remount without nobarrier"),
        ({"file_system_options": "rw,data=writeback"}, "mount options of /data", "Remount without data=writeback"),
        ({"mount_options": "rw,sync"}, "mount options of /data", "Remount without sync"),
        ({"mount_options": "rw,discard"}, "mount options of /data", "fstrim"),
        ({"rotational": "1", "devices": "sda"}, "kind of /data", "SSD"),
        ({"rotational": "md0: 0; sda: 1", "devices": "md0 on sda"}, "kind of /data", "SSD"),
        ({"rotational": "1", "devices": "dm-0"}, "kind of /data", "SSD"),
        ({"scheduler": "bfq"}, "I/O scheduler of /data", "echo none > /sys/block/nvme0n1/queue/scheduler"),
    ],
)
def test_faults_of_a_disk(changes: dict[str, str], subject: str, change: str) -> None:
    found = wanting(replace(HOST, disks={"/data": DISK | changes}))
    assert list(found) == [subject]
    assert change in found[subject].change


@pytest.mark.parametrize(
    "says", [{"rotational": "1", "devices": "vda"}, {"rotational": "dm-0: 1; vda: 1", "devices": "dm-0 on vda"}]
)
def test_a_virtual_disk_that_says_it_turns_is_not_believed(says: dict[str, str]) -> None:
    assert wanting(replace(HOST, disks={"/data": DISK | says})) == {}


def test_two_directories_of_one_disk_are_reported_once() -> None:
    host = replace(HOST, disks={"/data/a": DISK, "/data/b": DISK})
    assert len(advise(host, CLOCK, HANDLES)) == len(advise(HOST, CLOCK, HANDLES))


def test_what_is_not_known_is_no_fault() -> None:
    nothing = replace(HOST, cpu_governor="", transparent_huge_pages="", cgroup_limits={}, disks={"/": {}})
    assert wanting(nothing, replace(CLOCK, synchronised=None, error_ms_max=None)) == {}


def test_abilities_of_this_machine() -> None:
    found = {ability.name: ability for ability in try_abilities()}
    assert len(found) == 14
    assert all(
        ability.possible == (not ability.reason) and ability.used_for and ability.without for ability in found.values()
    )


def test_abilities_that_single_systems_need_are_tried_too() -> None:
    own = Probe("toy", lambda: "no toys here", "playing", "nothing is played", "Buy one.")
    assert try_abilities([own])[-1] == Ability("toy", False, "no toys here", "playing", "nothing is played", "Buy one.")
    needs = [probe.name for system in all_systems().values() for probe in system.host_needs]
    assert needs == ["Debian packages"]


def test_what_can_not_be_tried_is_reported_and_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(
        "tidegauge.hosts.abilities._PROBES", (Probe("thing", broken, "tests", "nothing is tested", "fix it"),)
    )
    assert try_abilities() == (
        Ability(
            "thing", False, "could not be tried: [Errno 5] Input/output error", "tests", "nothing is tested", "fix it"
        ),
    )


def test_without_root_what_needs_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    found = {ability.name: ability.reason for ability in try_abilities()}
    assert found["root"] == "this is user 1000"
    for name in ("sync witness", "loop disk", "power cut on ext4", "power cut on xfs", "hung disk", "slow disk"):
        assert found[name] == "needs root"
    assert found["network namespaces"]

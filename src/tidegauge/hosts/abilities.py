"""What this machine lets Tidegauge do, what of its set-up spoils or bends measurements, and how to change either.

Abilities are found by trying where trying changes nothing; what would be refused comes with the reason. Advice is pure:
others read the facts.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegauge.hosts import cgroups, fuse_disk, loop_disk, network
from tidegauge.hosts.clock import ClockQuality
from tidegauge.hosts.syscalls import watch_syncs
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.model.host import UNBOUNDED, HostFacts
from tidegauge.model.server import Handles
from tidegauge.numbers import rounded

_COMMAND_S = 20.0


@dataclass(frozen=True)
class Ability:
    """One thing that takes more than an ordinary process may do.

    Attributes:
        name: what it takes, in a word or two.
        possible: whether it can be done here.
        reason: why not; "" if it can.
        used_for: what Tidegauge does with it.
        without: what happens to that where it can't be done: what is refused, or what a result lacks.
        remedy: how to make it possible; "" if there is nothing to say.
    """

    name: str
    possible: bool
    reason: str
    used_for: str
    without: str
    remedy: str = ""


@dataclass(frozen=True)
class Probe:
    """How an ability is found out.

    `refusal` tries it and returns why it can't be used, "" if it can; for the rest see `Ability`.
    """

    name: str
    refusal: Callable[[], str]
    used_for: str
    without: str
    remedy: str

    def tried(self) -> Ability:
        """Try it; the ability that came out. Never raises."""
        try:
            reason = self.refusal()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = f"could not be tried: {error}"
        return Ability(self.name, not reason, reason, self.used_for, self.without, self.remedy)


def try_abilities(of_systems: Iterable[Probe] = ()) -> tuple[Ability, ...]:
    """Try everything, also what single systems need. Takes a second or so, leaves nothing behind, never raises."""
    return tuple(probe.tried() for probe in (*_PROBES, *of_systems))


def _root_refusal() -> str:
    return "" if os.geteuid() == 0 else f"this is user {os.geteuid()}"


def _page_cache_refusal() -> str:
    return "" if os.access("/proc/sys/vm/drop_caches", os.W_OK) and os.geteuid() == 0 else "needs root"


def _sync_witness_refusal() -> str:
    try:
        with watch_syncs({"self": os.getpid()}) as watch:
            watch.finish()
    except NoTraceError as error:
        return str(error)
    return ""


def _namespace_refusal() -> str:
    """Why no network namespace can be made. It is tried: a container may forbid it though the rights are there."""
    refused = network.network_refusal()
    if refused:
        return refused
    done = subprocess.run(("unshare", "--net", "true"), capture_output=True, text=True, timeout=_COMMAND_S, check=False)
    return "" if done.returncode == 0 else " ".join(done.stderr.split())[:120] or "unshare --net fails"


def _pressure_refusal() -> str:
    return "" if Path("/proc/pressure/io").exists() else "the kernel reports none (CONFIG_PSI, or psi=1 at boot)"


_RUN_AS_ROOT = "Run Tidegauge as root on a machine made for measuring."
_PROBES = (
    Probe(
        "root",
        _root_refusal,
        "everything marked 'needs root' below",
        "what needs it is refused or left out, and you are told",
        _RUN_AS_ROOT,
    ),
    Probe(
        "empty page cache",
        _page_cache_refusal,
        "servers start with nothing cached of what earlier trials wrote",
        "trials run; reads may come from memory, and the run says so",
        _RUN_AS_ROOT,
    ),
    Probe(
        "sync witness",
        _sync_witness_refusal,
        "watching what servers sync before they acknowledge (kernel tracepoints)",
        "a durability level rests on settings alone, and the run says so",
        "Root, outside a container, on a kernel with CONFIG_FTRACE_SYSCALLS.",
    ),
    Probe(
        "memory limit",
        cgroups.memory_refusal,
        "catch-up reads from disk with a backlog larger than the servers' memory (a cgroup of their own)",
        "`server-memory` is left out, and the result says that reads may come from memory",
        "Root, and a cgroup that hands on its memory controller.",
    ),
    Probe(
        "loop disk",
        loop_disk.refusal,
        "a disk of its own for servers' data, with direct I/O below (`disk: direct-io`)",
        "`disk: direct-io` is left out, and the result says so",
        "Root, /dev/loop-control, losetup and e2fsprogs.",
    ),
    Probe(
        "power cut on ext4",
        lambda: loop_disk.refusal("ext4"),
        "`attest` by power cuts: the file system is shut down as if the power had gone; the fault power-cut",
        "`attest` is refused but for `--file-system fuse` and `--crash`, which lose less; so is the fault",
        "Root, loop devices and e2fsprogs.",
    ),
    Probe(
        "power cut on xfs",
        lambda: loop_disk.refusal("xfs"),
        "the same on xfs, which many production hosts use",
        "power cuts on xfs are refused; ext4 may do",
        "Root, loop devices, xfsprogs and a kernel with xfs.",
    ),
    Probe(
        "loss of unsynced pages",
        fuse_disk.refusal,
        "`attest --file-system fuse`: what servers have not synced is lost, without root; less than a power cut",
        "that is refused; `attest --crash` only kills processes",
        "Build passthrough_ll, an example of libfuse 3, onto the PATH; package fuse3; a /dev/fuse that you may open.",
    ),
    Probe(
        "hung disk",
        loop_disk.refusal,
        "a disk that does not answer for a while, as a fault",
        "the fault is refused",
        "Root and loop devices.",
    ),
    Probe(
        "slow disk",
        lambda: loop_disk.refusal() or cgroups.disk_refusal(),
        "a disk throttled in bytes or operations a second, as a fault",
        "the fault is refused",
        "Root, loop devices, and a kernel that throttles block devices (CONFIG_BLK_DEV_THROTTLING).",
    ),
    Probe(
        "network namespaces",
        _namespace_refusal,
        "nodes with networks of their own on one machine",
        "faults of the network are refused",
        "Root with CAP_SYS_ADMIN and CAP_NET_ADMIN, and iproute2.",
    ),
    Probe(
        "partition, packet loss",
        lambda: network.network_refusal("nft"),
        "links that are cut, also one way, or lose packets by chance, as faults",
        "these faults are refused",
        "The same, and nftables.",
    ),
    Probe(
        "rate limit of a link",
        lambda: network.network_refusal("tc"),
        "links with little bandwidth, as a fault",
        "the fault is refused",
        "The same, with tc (iproute2).",
    ),
    Probe(
        "pressure figures",
        _pressure_refusal,
        "seeing when processes wait for CPU, memory or disk (PSI)",
        "that part of the telemetry is missing",
        "Boot with psi=1.",
    ),
)


FILES_WANTED = 100_000
"""What Apache Kafka's documentation asks for: a broker keeps every segment of every partition open."""
MAPS_WANTED = 262_144
"""Two maps for each of Kafka's segments, by its documentation; the kernel's own default is 65,530."""
_GOOD_SOURCES = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page")
_POOR_SOURCES = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit")
_POOR_FILE_SYSTEMS = (
    (("tmpfs", "ramfs"), "memory has no fsync: nothing on it is durable", "Use a disk: --data-dir."),
    (
        ("nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "9p", "virtiofs"),
        "figures would include the network and the file server",
        "Use a local disk: --data-dir.",
    ),
    (
        ("btrfs", "zfs", "bcachefs", "overlay", "fuse", "fuseblk"),
        "it writes changes to a new place, or through another file system, which costs most where fsync is used",
        "Use ext4 or xfs: --data-dir.",
    ),
)
_SLOW_READ_NS = 200.0
_ERROR_MS_MAX = 100.0


@dataclass(frozen=True)
class Advice:
    """One thing that was looked at.

    Attributes:
        subject: what it is, in a word or two.
        found: how it is here, in words.
        good: False where something should be changed, or at least be known.
        why: why it matters to these measurements.
        change: how to change it; "" where it is good.
    """

    subject: str
    found: str
    good: bool
    why: str
    change: str = ""


def advise(host: HostFacts, clock: ClockQuality, handles: Handles, swappiness: str = "") -> tuple[Advice, ...]:
    """Everything about a machine, then each of its disks (those of `host.disks`).

    Args:
        handles: that a process may have.
        swappiness: as the kernel has it, "60"; "" = unknown.
    """
    swap_gib = rounded(host.swap_bytes / (1 << 30))
    advice = [
        _make_advice(
            "CPU governor",
            host.cpu_governor or "not shown (the hypervisor decides)",
            host.cpu_governor in ("performance", ""),
            "a CPU that is clocked down when idle answers late, and most so at low rates: "
            "latency looks worse than it is",
            "cpupower frequency-set -g performance",
        ),
        _make_advice(
            "swap",
            f"{swap_gib} GiB, swappiness {swappiness or 'unknown'}" if host.swap_bytes else "none",
            not host.swap_bytes or swappiness in ("0", "1"),
            "a swapped page of a broker or client costs milliseconds, at a moment that nobody chose",
            "swapoff -a, or sysctl vm.swappiness=1",
        ),
        _make_advice(
            "transparent huge pages",
            host.transparent_huge_pages or "not there",
            host.transparent_huge_pages in ("madvise", "never", ""),
            "the kernel stops a process to make huge pages for it; Java asks for them itself where it wants them",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        _advise_on_clock_source(clock),
        _advise_on_clock_error(clock),
        _advise_on_cgroup_limits(host.cgroup_limits),
        _make_advice(
            "open files",
            "no limit" if handles.files == UNBOUNDED else f"{handles.files:,} a process (hard limit)",
            handles.files >= FILES_WANTED,
            "servers keep a file open for every segment of every partition; at the limit they fail",
            f"ulimit -Hn {FILES_WANTED}, or LimitNOFILE= of systemd",
        ),
        _make_advice(
            "memory maps",
            "no limit" if handles.maps == UNBOUNDED else f"{handles.maps:,} a process",
            handles.maps >= MAPS_WANTED,
            "servers that map their logs need two maps for each segment; at the limit they fail",
            f"sysctl vm.max_map_count={MAPS_WANTED}",
        ),
        _advise_on_cpus(host),
    ]
    for facts in {facts.get("mount_point", path): facts for path, facts in host.disks.items()}.values():
        advice += _advise_on_disk(facts)
    return tuple(advice)


def _make_advice(subject: str, state: str, good: bool, why: str, change: str) -> Advice:
    """An advice, with `change` only where it is not good."""
    return Advice(subject, state, good, why, "" if good else change)


def _advise_on_clock_source(clock: ClockQuality) -> Advice:
    why = "every message's times are read from it several times"
    cost = f"a reading costs {clock.read_ns:.0f} ns, steps of {clock.step_ns} ns"
    if clock.source == "tsc" and clock.tsc:
        cost += f", {', '.join(clock.tsc)}"
    good = clock.source not in _POOR_SOURCES and clock.read_ns < _SLOW_READ_NS
    change = "Take a machine whose kernel can use the CPU's counter."
    if better := [source for source in _GOOD_SOURCES if source in clock.available and source != clock.source]:
        change = f"echo {better[0]} > /sys/devices/system/clocksource/clocksource0/current_clocksource"
    return _make_advice("clock source", f"{clock.source or 'unknown'}: {cost}", good, why, change)


def _advise_on_clock_error(clock: ClockQuality) -> Advice:
    why = "on one machine only one clock is used, so its error does no harm; between machines it bounds what is known"
    if clock.error_ms_max is None or clock.synchronised is None:
        return Advice("clock error", "the kernel does not say", True, why)
    bound = f"at most {rounded(clock.error_ms_max)} ms off, by the kernel"
    if clock.synchronised:
        good = clock.error_ms_max < _ERROR_MS_MAX
        return _make_advice("clock error", f"kept in step, {bound}", good, why, "Wait, or use a nearer NTP server.")
    return Advice("clock error", "nothing keeps it in step", False, why, "Run chrony or systemd-timesyncd.")


def _advise_on_cgroup_limits(limits: Mapping[str, str]) -> Advice:
    why = "servers and load share what the cgroup allows; a CPU quota stops all threads at once for many milliseconds"
    in_force = [f"{name} {value}" for name, value in limits.items() if name not in ("version", "pids")]
    version = f"cgroup {limits['version']}" if limits.get("version", "none") != "none" else "no cgroups"
    state = f"{version}: {', '.join(in_force)}" if in_force else f"{version}, none set"
    good = not {"cpus", "io", "memory_high_bytes"} & limits.keys()
    change = "Give the container whole CPUs (a cpuset) instead of a quota, and no throttles."
    return _make_advice("cgroup limits", state, good, why, change)


def _advise_on_cpus(host: HostFacts) -> Advice:
    why = "servers and load run on the same CPUs here: with few of them they wait for each other"
    good = host.cpus >= 4
    state = f"{host.cpus} usable, {rounded(host.memory_bytes / (1 << 30))} GiB of memory"
    change = "Mind the limiting resource of each result, or attach to servers on other machines."
    return _make_advice("CPUs and memory", state, good, why, change)


def _advise_on_disk(facts: Mapping[str, str]) -> Iterator[Advice]:
    if not facts:
        return
    at = facts.get("mount_point", "?")
    kind = facts.get("file_system", "unknown")
    state = f"{kind} on {facts.get('devices') or facts.get('source', 'unknown')}"
    usual = "fsync means different work on each; vendors test on xfs and ext4"
    # "fuse.sshfs" is one of "fuse".
    family = kind.partition(".")[0]
    why, change = next(((why, change) for kinds, why, change in _POOR_FILE_SYSTEMS if family in kinds), (usual, ""))
    yield Advice(f"file system of {at}", state, not change, why, change)
    yield _advise_on_mount_options(at, facts)
    cache = facts.get("write_cache")
    if cache:
        why = "a write-back cache makes every fsync a flush of it; with write-through fsync is cheap, true or not"
        good = "back" in cache or "through" in cache
        yield Advice(f"write cache of {at}", cache, good, why)
    if _has_turning_disk(facts):
        why = "it syncs some hundred times a second at most, and seeks between readers and writers"
        yield Advice(f"kind of {at}", "a turning disk", False, why, "Use an SSD if production has one.")
    scheduler = facts.get("scheduler")
    if scheduler:
        why = "bfq and kyber hold requests back to be fair to others; the choice bends latency"
        good = "bfq" not in scheduler and "kyber" not in scheduler
        device = facts.get("devices", "DEVICE").split(" on ")[-1]
        yield _make_advice(
            f"I/O scheduler of {at}", scheduler, good, why, f"echo none > /sys/block/{device}/queue/scheduler"
        )


def _has_turning_disk(facts: Mapping[str, str]) -> bool:
    """Whether any disk below turns. Of virtual ones (virtio, Xen) the kernel says so without knowing.

    Of what is made of others (LVM, encryption, RAID) it says what it says of these.
    """
    names = facts.get("devices", "").split(" on ")
    disks = [name for name in names if not name.startswith(("dm-", "md"))] or names
    virtual = all(name.startswith(("vd", "xvd")) for name in disks)
    turning = any(
        rotational.rpartition(": ")[2].strip() == "1" for rotational in facts.get("rotational", "").split(";")
    )
    return turning and not virtual


def _advise_on_mount_options(at: str, facts: Mapping[str, str]) -> Advice:
    options = [*facts.get("mount_options", "").split(","), *facts.get("file_system_options", "").split(",")]
    options_in_words = ",".join(dict.fromkeys(option for option in options if option)) or "not known"
    why = (
        "nobarrier makes fsync a promise that a power cut breaks, and data=writeback may show old data in files after "
        "one; sync, data=journal and discard cost time"
    )
    unsafe = [option for option in options if option in ("nobarrier", "barrier=0", "data=writeback")]
    slow = [option for option in options if option in ("sync", "data=journal")]
    change = "Run fstrim before measuring and mount without discard." if "discard" in options else ""
    if worst := unsafe or slow:
        change = f"Remount without {', '.join(worst)}."
    return Advice(f"mount options of {at}", options_in_words, not change, why, change)

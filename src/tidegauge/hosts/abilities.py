"""What this machine lets Tidegauge do, found by trying where trying changes nothing; what would be refused, and why."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tidegauge.hosts import cgroups, fuse_disk, loop_disk, network, slow_disk
from tidegauge.hosts.syscalls import watch_syncs
from tidegauge.hosts.tracefs import NoTraceError

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
        """What came out. Never raises."""
        try:
            reason = self.refusal()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = f"could not be tried: {error}"
        return Ability(self.name, not reason, reason, self.used_for, self.without, self.remedy)


def abilities(of_systems: Iterable[Probe] = ()) -> tuple[Ability, ...]:
    """Try everything, also what single systems need. Takes a second or so, leaves nothing behind, never raises."""
    return tuple(probe.tried() for probe in (*_PROBES, *of_systems))


def _root() -> str:
    return "" if os.geteuid() == 0 else f"this is user {os.geteuid()}"


def _page_cache() -> str:
    return "" if os.access("/proc/sys/vm/drop_caches", os.W_OK) and os.geteuid() == 0 else "needs root"


def _sync_witness() -> str:
    try:
        with watch_syncs({"self": os.getpid()}) as watch:
            watch.finish()
    except NoTraceError as error:
        return str(error)
    return ""


def _network_namespace() -> str:
    """Tried, since a container may forbid it though the rights seem to be there."""
    refused = network.refusal()
    if refused:
        return refused
    done = subprocess.run(("unshare", "--net", "true"), capture_output=True, text=True, timeout=_COMMAND_S, check=False)
    return "" if done.returncode == 0 else " ".join(done.stderr.split())[:120] or "unshare --net fails"


def _pressure() -> str:
    return "" if Path("/proc/pressure/io").exists() else "the kernel reports none (CONFIG_PSI, or psi=1 at boot)"


_RUN_AS_ROOT = "Run Tidegauge as root on a machine made for measuring."
_PROBES = (
    Probe(
        "root", _root, "everything marked 'needs root' below", "what needs it is refused with the reason", _RUN_AS_ROOT
    ),
    Probe(
        "empty page cache",
        _page_cache,
        "every trial begins with nothing cached of what earlier ones wrote",
        "trials run; reads may come from memory, and the run says so",
        _RUN_AS_ROOT,
    ),
    Probe(
        "sync witness",
        _sync_witness,
        "watching what servers sync before they acknowledge (kernel tracepoints)",
        "a durability level rests on settings alone, and the run says so",
        "Root, outside a container, on a kernel with CONFIG_FTRACE_SYSCALLS.",
    ),
    Probe(
        "memory limit",
        cgroups.refusal,
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
        lambda: loop_disk.refusal() or slow_disk.refusal(),
        "a disk throttled in bytes or operations a second, as a fault",
        "the fault is refused",
        "Root, loop devices, and a kernel that throttles block devices (CONFIG_BLK_DEV_THROTTLING).",
    ),
    Probe(
        "network namespaces",
        _network_namespace,
        "nodes with networks of their own on one machine",
        "faults of the network are refused",
        "Root with CAP_SYS_ADMIN and CAP_NET_ADMIN, and iproute2.",
    ),
    Probe(
        "partition, packet loss",
        lambda: network.refusal("nft"),
        "links that are cut, also one way, or lose packets by chance, as faults",
        "these faults are refused",
        "The same, and nftables.",
    ),
    Probe(
        "rate limit of a link",
        lambda: network.refusal("tc"),
        "links with little bandwidth, as a fault",
        "the fault is refused",
        "The same, with tc (iproute2).",
    ),
    Probe(
        "pressure figures",
        _pressure,
        "seeing when processes wait for CPU, memory or disk (PSI)",
        "that part of the telemetry is missing",
        "Boot with psi=1.",
    ),
)

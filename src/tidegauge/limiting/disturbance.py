"""What others disturbed while a trial was measured: rules on what was used and waited for. Pure.

A figure is disturbed by what it depends on: the rate of a load that goes as fast as it goes by CPUs that others had
while none was free; latencies by how long servers and clients were ready to run and had no CPU because of others;
acknowledgements that wait for a sync, by what others read from and wrote to the disk. What the kernel does for servers
and load generators (interrupts, write-back, reclaim) is theirs, not others'.

Bounds are judgements where docs/methodology.md does not say that they were measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidegauge.limiting.window_use import DeviceShare, HostShare, ProcessShare, ThreadShare, WindowUse
from tidegauge.model.cgroup import cgroup_pattern
from tidegauge.model.disturbance import Disturbance, Disturbed, Harm, HostAccount, Program, taken_words
from tidegauge.model.use import HostUse
from tidegauge.numbers import mb_per_s, trimmed

UNSEEN_MIN = 0.05
CPU_NOTED = 0.10
"""Of a host's CPUs that others had, in any trial."""
CPU_DOUBTFUL, CPU_INVALID = 0.10, 0.25
"""The same, where the rate is the figure and no CPU was free."""
FULL = 0.85
"""Of a host's CPUs: in seconds of which the mean is that, none is free for much of the time."""
OTHERS_SHARE_MIN = 0.05
"""Of a host's CPUs: where others had less, they made nobody wait, and runs don't differ by them."""
STRETCH_DOUBTFUL, STRETCH_INVALID = 0.20, 1.0
"""Time that servers and clients waited because of others, by the time that they ran."""
CLIENT_THREAD_DOUBTFUL, CLIENT_THREAD_INVALID = 0.10, 0.30
"""Seconds a second that one thread of a load generator waited because of others: so many messages met a late client."""
QUOTA_DOUBTFUL, QUOTA_INVALID = 0.02, 0.15
"""Seconds a second that a quota of its own held a load generator back, over all its CPUs."""
QUOTA_THREAD_DOUBTFUL, QUOTA_THREAD_INVALID = 0.05, 0.20
"""Seconds a second that a thread of a load generator waited which has a quota of its own."""
STARVED_WAIT, STARVED_RATIO, FREE = 0.30, 3.0, 0.70
"""A thread that waited so many seconds a second, and so many times as long as it ran, though CPUs were free (below that
share of them was used): something keeps it from them."""
DISK_BYTES_PER_S = 20e6
DISK_TIMES_OWN = 4.0
"""What a device moved beyond the processes of the trial counts from so much and so many times theirs on: the file
system's journal may write some times what a small append does."""
DISK_BUSY_INVALID, DISK_SHARE_INVALID = 0.50, 0.90
"""The device was busy for so much of the time, with others' by so large a part."""
MEMORY_STALL = 0.10
"""Share of the time in which some task waited for memory."""
MEMORY_OTHERS = 0.25
"""Of the host's memory that others held meanwhile."""
MEMORY_LEFT = 0.10
"""Of the host's memory: while so much was available, nobody waited because others held the rest."""

_END_THEM = "end them, or use a machine that is not shared"
_CLIENTS_APART = "run the clients on a host of their own"


@dataclass(frozen=True)
class MeasuredTrial:
    """A trial as far as it decides what can disturb it.

    Attributes:
        rate_counts: the rate is the figure: a closed loop, or a rate that the system did not reach.
        local_sync: an acknowledgement waits for a sync to disk.
        servers, workers: names of their processes.
        servers_hidden: servers of others run on this host and could not be told from other programs.
        data_devices: as in `decide.JudgedLoad`.
    """

    rate_counts: bool
    local_sync: bool
    servers: Sequence[str]
    workers: Sequence[str]
    servers_hidden: bool = False
    data_devices: Sequence[str] = ()


def disturbances(measured: MeasuredTrial, use: WindowUse | None) -> tuple[Disturbance, ...]:
    """What disturbed a trial, the worst first; () where nothing did or nobody looked."""
    if use is None:
        return ()
    unsorted: list[Disturbance] = []
    for account in cpu_accounts(measured, use):
        host = _share_of_host(use, account.host)
        unsorted += _generators_held_back(measured, use, account, host)
        if account.disturbing is not None:
            unsorted += _cpu_disturbance(measured, use, account, host)
            unsorted += _disk_disturbance(measured, use, account)
            unsorted += _memory_disturbance(measured, use, account, host)
    order = list(Harm)
    return tuple(sorted(unsorted, key=lambda disturbance: -order.index(disturbance.harm)))


def as_noted(those_found: Sequence[Disturbance]) -> tuple[Disturbance, ...]:
    """These disturbances as NOTED only, where they are to decide nothing."""
    return tuple(
        disturbance
        if disturbance.harm is Harm.NOTED
        else replace(disturbance, harm=Harm.NOTED, excused=disturbance.harm)
        for disturbance in those_found
    )


def cpu_accounts(measured: MeasuredTrial, use: WindowUse) -> tuple[HostAccount, ...]:
    """Who used the CPUs of each host that servers or load generators were on."""
    # Of others' servers only what they themselves report may be known, and nothing of their hosts.
    hosts = dict.fromkeys(process.host for process in use.processes if process.host in ("", *use.others))
    # The host that led the trial is part of it only where something of it ran there, or all of it did.
    accounts = []
    for name in hosts or ("",):
        host = _share_of_host(use, name)
        unseen = host.unseen_cpus
        accounts.append(
            HostAccount(
                host=name,
                cpus=host.cpus,
                busy=host.cpu_share * host.cpus,
                servers=sum(process.cpus for process in _processes_named(use, measured.servers, name)),
                generators=sum(process.cpus for process in _processes_named(use, measured.workers, name)),
                control=host.control_cpus,
                kernel=host.kernel_cpus,
                stolen=host.steal_cpus,
                others=host.others_cpus,
                unseen=unseen if unseen is None or unseen >= UNSEEN_MIN * host.cpus else 0.0,
                others_bytes_per_s=host.others_bytes_per_s,
                programs=tuple(program for program in use.programs if program.host == name),
            )
        )
    return tuple(accounts)


def others_share(use: HostUse, seconds: float) -> float:
    """Share of a host's CPUs that others had in a look; 0 where nobody looked."""
    if use.others_cpu_s is None:
        return 0.0
    available_s = max(1e-3, seconds) * use.cpus
    unseen_s = use.unseen_cpu_s or 0.0
    # Of one look counters that tick are less sure than of a window.
    unseen_s = unseen_s if unseen_s >= 2 * UNSEEN_MIN * available_s else 0.0
    return (use.others_cpu_s + unseen_s + use.cpu_steal_s) / available_s


def _share_of_host(use: WindowUse, name: str) -> HostShare:
    return use.share_of_host(name) if name else use.host


def _processes_named(use: WindowUse, names: Sequence[str], host: str) -> list[ProcessShare]:
    return [process for process in use.processes if process.name in names and process.host == host]


def _harm_by_bounds(value: float, doubtful: float, invalid: float, least: Harm | None = None) -> Harm | None:
    """The harm of a value by two bounds; `least` below both."""
    return Harm.INVALID if value >= invalid else Harm.DOUBTFUL if value >= doubtful else least


# CPU


def _cpu_disturbance(
    measured: MeasuredTrial, use: WindowUse, account: HostAccount, host: HostShare
) -> Iterator[Disturbance]:
    """Other programs, and a hypervisor that held CPUs back: the larger part is named first, both count."""
    others, stolen = account.disturbing or 0.0, account.stolen
    # Where the servers that were measured may be among others, the hypervisor counts by itself.
    share = (stolen if measured.servers_hidden and stolen > others else others + stolen) / account.cpus
    harm = Harm.NOTED if share >= CPU_NOTED else None
    why = ""
    waiting = _harm_by_waiting(measured, use, account, share)
    if measured.rate_counts and host.cpu_share >= FULL and share >= CPU_DOUBTFUL:
        harm = _harm_by_bounds(share, CPU_DOUBTFUL, CPU_INVALID)
        busy = min(1.0, host.cpu_share)
        why = f", and {busy:.0%} of all were busy, so it is not the rate that this machine allows"
    elif not measured.rate_counts and waiting is not None:
        harm, why = waiting
    if harm is None:
        return
    who = "servers or other programs" if measured.servers_hidden else "other programs"
    if measured.servers_hidden and others >= stolen:
        words = f"{who} took {taken_words(account)}; which is which can't be seen from here"
        yield Disturbance(Disturbed.CPU, Harm.NOTED, words, _CLIENTS_APART, account.host)
    elif others >= stolen:
        beside = f" and the hypervisor {stolen:.2f}" if stolen >= UNSEEN_MIN * account.cpus else ""
        words = f"{who} took {taken_words(account)}{beside}{why}"
        yield Disturbance(Disturbed.CPU, harm, words, _END_THEM, account.host)
    else:
        beside = f", {who} took {others:.2f}" if others >= UNSEEN_MIN * account.cpus else ""
        of = f" of {account.host}" if account.host else ""
        # For others, or for a limit of its own: the kernel can't tell.
        words = f"the hypervisor held back {stolen:.2f} of {account.cpus} CPUs{of}{beside}{why}"
        remedy = "use a machine whose CPUs are its own"
        yield Disturbance(Disturbed.STEAL, harm, words, remedy, account.host)


def _harm_by_waiting(
    measured: MeasuredTrial, use: WindowUse, account: HostAccount, share: float
) -> tuple[Harm, str] | None:
    """How long servers and clients were ready to run and had no CPU because of others, if that matters.

    Whoever waits for a CPU waits for those who have it, so others' part of the waiting is taken to be their part of
    what was busy.
    """
    if share < OTHERS_SHARE_MIN:
        return None
    workers = _processes_named(use, measured.workers, account.host)
    processes = [*workers, *_processes_named(use, measured.servers, account.host)]
    # What a quota holds back waits for that, and is judged by it.
    free = [process for process in processes if not process.throttled_share]
    of_others = share * account.cpus / max(account.busy, share * account.cpus, 1e-9)
    ran = sum(process.cpus for process in free)
    waited = of_others * sum(process.wait_share or 0.0 for process in free)
    harms = [_harm_by_bounds(waited / max(ran, 0.01), STRETCH_DOUBTFUL, STRETCH_INVALID)]
    late = [
        thread for process in workers if process in free for thread in _late_threads(process) if not thread.quota_cpus
    ]
    longest = max(late, key=lambda thread: thread.wait_share, default=None)
    # Its whole waiting was seen, that for others is a part of it.
    by_thread = "" if longest is None else f"; {longest.name} of the load generator {longest.wait_share:.2f} s in all"
    if longest is not None:
        harms.append(_harm_by_bounds(of_others * longest.wait_share, CLIENT_THREAD_DOUBTFUL, CLIENT_THREAD_INVALID))
    worst = max((harm for harm in harms if harm), key=list(Harm).index, default=None)
    if worst is None:
        return None
    # On other hosts of a fleet, and without servers of the trial, it is not everybody's running and waiting.
    clients, servers = any(process in workers for process in free), any(process not in workers for process in free)
    who = "servers and clients" if clients and servers else "clients" if clients else "servers"
    who = who if len(free) == len(processes) else f"{who} that no quota held back"
    why = f": {who} ran {ran:.2f} s a second and waited {waited:.2f} s for a CPU because of that{by_thread}"
    return worst, why


def _late_threads(worker: ProcessShare) -> list[ThreadShare]:
    """The threads of a load generator that waited most, without compilers, for which no message waits."""
    return [thread for thread in worker.waiting if not thread.is_compiler]


# Quotas

_NOT_THE_SYSTEM = "so it and not the system was slow"
_IN_PART = "so the figures are in part its own"


def _consequence_of(harm: Harm) -> str:
    """What follows from a load generator that was held back: for a little of the time it decides a little."""
    return _NOT_THE_SYSTEM if harm is Harm.INVALID else _IN_PART


def _generators_held_back(
    measured: MeasuredTrial, use: WindowUse, account: HostAccount, host: HostShare
) -> Iterator[Disturbance]:
    """A load generator, or a thread of its client, that a quota held back which servers do not share.

    One that they share is the size of the machine, and a quota of servers alone that of theirs: neither disturbs.
    """
    servers = {server.quota_group for server in _processes_named(use, measured.servers, account.host)}
    for worker in _processes_named(use, measured.workers, account.host):
        held = worker.throttled_share or 0.0
        if held >= QUOTA_DOUBTFUL and worker.quota_group not in servers:
            harm = Harm.DOUBTFUL if measured.rate_counts else _harm_by_bounds(held, QUOTA_DOUBTFUL, QUOTA_INVALID)
            harm = harm or Harm.NOTED
            words = (
                f"the load generator{_on_host(account)} was held back for {held:.2f} s a second by the quota of its "
                f"cgroup ({trimmed(worker.cpus_allowed or 0.0)} CPUs), {_consequence_of(harm)}"
            )
            yield _disturbance_by_quota(harm, words, worker, account)
        yield from _thread_held_back(measured, worker, account, host)


def _disturbance_by_quota(
    harm: Harm, words: str, worker: ProcessShare, account: HostAccount, thread: str = ""
) -> Disturbance:
    of_group = f" of {cgroup_pattern(worker.quota_group)}" if worker.quota_group else ""
    where = " that holds this thread" if thread else of_group
    remedy = f"raise or remove the quota{where} (cpu.max, or cpu.cfs_quota_us)"
    return Disturbance(Disturbed.QUOTA, harm, words, remedy, account.host)


def _thread_held_back(
    measured: MeasuredTrial, worker: ProcessShare, account: HostAccount, host: HostShare
) -> Iterator[Disturbance]:
    """The one thread of a load generator that waited longest: for its own quota, or though CPUs were free."""
    limited = [thread for thread in _late_threads(worker) if thread.quota_cpus]
    for thread in limited[:1]:
        harm = _harm_by_bounds(thread.wait_share, QUOTA_THREAD_DOUBTFUL, QUOTA_THREAD_INVALID)
        if harm is not None:
            words = (
                f"thread {thread.name} of the load generator's client{_on_host(account)} waited {_wait_of(thread)}, "
                f"held back by a quota of {trimmed(thread.quota_cpus or 0.0)} CPUs of its own, {_consequence_of(harm)}"
            )
            yield _disturbance_by_quota(harm, words, worker, account, thread.name)
    if limited or worker.throttled_share or measured.rate_counts or host.cpu_share >= FREE:
        return
    for thread in _late_threads(worker)[:1]:
        if thread.wait_share >= STARVED_WAIT and thread.wait_share >= STARVED_RATIO * thread.cpu_share:
            words = (
                f"thread {thread.name} of the load generator's client{_on_host(account)} waited {_wait_of(thread)} "
                f"though only {host.cpu_share:.0%} of the CPUs were busy, {_NOT_THE_SYSTEM}"
            )
            remedy = "let it use all CPUs: look for what binds it to few (taskset, cpuset, nice, a quota)"
            yield Disturbance(Disturbed.QUOTA, Harm.INVALID, words, remedy, account.host)


def _on_host(account: HostAccount) -> str:
    return f" on {account.host}" if account.host else ""


def _wait_of(thread: ThreadShare) -> str:
    return f"{thread.wait_share:.2f} s a second for a CPU and ran {thread.cpu_share:.2f}"


# Disk


def _disk_disturbance(measured: MeasuredTrial, use: WindowUse, account: HostAccount) -> Iterator[Disturbance]:
    """What the data's devices moved beyond the trial's own processes: programs' bytes are known, not their devices."""
    servers = _processes_named(use, measured.servers, account.host)
    # Without servers of the trial here, no acknowledgement waits for these disks.
    if not servers or measured.servers_hidden:
        return
    moved_by_each = [
        process.moved_bytes_per_s for process in (*servers, *_processes_named(use, measured.workers, account.host))
    ]
    moved = sum(bytes_per_s or 0.0 for bytes_per_s in moved_by_each)
    numbers = measured.data_devices if not account.host else ()
    devices = [
        device for device in use.devices if device.host == account.host and (not numbers or device.number in numbers)
    ]
    device = max(devices, key=_bytes_moved_on_device, default=None)
    if device is None:
        return
    beyond = max(0.0, _bytes_moved_on_device(device) - moved)
    seen = account.others_bytes_per_s
    programs = [program for program in account.programs if _bytes_moved_by_program(program) >= DISK_BYTES_PER_S / 10]
    # Data written before the window, and not synced then, goes to disk in it: only where all is synced is it others'.
    certain = measured.local_sync and None not in moved_by_each
    certain = certain and beyond >= DISK_TIMES_OWN * moved
    others = beyond if certain else min(beyond, seen or 0.0)
    if others < DISK_BYTES_PER_S:
        return
    most = (
        certain
        and device.busy_share >= DISK_BUSY_INVALID
        and others >= DISK_SHARE_INVALID * _bytes_moved_on_device(device)
    )
    bound = bool(measured.data_devices) and not account.host
    harm = Harm.NOTED if not measured.local_sync else Harm.INVALID if most and bound else Harm.DOUBTFUL
    # Where they moved it is not known: some of it may have been on other disks.
    at_most, anywhere = ("", "") if certain else ("up to ", ", on all disks")
    each = [f"{program.title} {mb_per_s(_bytes_moved_by_program(program))}" for program in programs[:3]]
    named = f" ({', '.join(each)}{anywhere})" if programs else ""
    of = f" of {account.host}" if account.host else ""
    ours = (
        "what the trial itself moved is not known"
        if None in moved_by_each
        else (f"servers and load generator {mb_per_s(moved)}")
    )
    words = (
        f"other programs moved {at_most}{mb_per_s(others)} on {device.name}{of if of not in device.name else ''}{named}"
        f", {ours}; it was busy {device.busy_share:.0%} of the time"
    )
    waits = ", and acknowledgements wait for its syncs" if measured.local_sync else ""
    yield Disturbance(Disturbed.DISK, harm, f"{words}{waits}", _OTHER_DISK, account.host)


_OTHER_DISK = "end them, or keep the data on another disk"


def _bytes_moved_on_device(device: DeviceShare) -> float:
    return device.written_bytes_per_s + device.read_bytes_per_s


def _bytes_moved_by_program(program: Program) -> float:
    return (program.written_bytes_per_s or 0.0) + (program.read_bytes_per_s or 0.0)


# Memory


def _memory_disturbance(
    measured: MeasuredTrial, use: WindowUse, account: HostAccount, host: HostShare
) -> Iterator[Disturbance]:
    """Tasks that waited for memory while others held much of it."""
    stall, held = host.memory_stall_share, host.others_resident_bytes
    if not stall or stall < MEMORY_STALL or not held or held < MEMORY_OTHERS * host.memory_bytes:
        return
    ours = [
        *_processes_named(use, measured.servers, account.host),
        *_processes_named(use, measured.workers, account.host),
    ]
    # Then it is their own limit that they waited for, however much others hold.
    if any(process.at_memory_limit for process in ours):
        return
    programs = sorted(account.programs, key=lambda program: -program.resident_bytes)[:3]
    named = ", ".join(f"{program.title} {program.resident_bytes / 1e9:.1f} GB" for program in programs)
    of = f" of {account.host}" if account.host else ""
    who, harm = "other programs", Harm.DOUBTFUL
    if measured.servers_hidden:
        # Perhaps it is the servers that were measured.
        who, harm = "servers or other programs", Harm.NOTED
    left = host.memory_available_bytes_min
    enough = ""
    if left >= MEMORY_LEFT * host.memory_bytes:
        harm = Harm.NOTED
        enough = f"; {left / 1e9:.1f} GB or more were available, so they may have waited at limits of their own"
    words = (
        f"tasks waited for memory {stall:.0%} of the time while {who} held {held / 1e9:.1f} of "
        f"{host.memory_bytes / 1e9:.1f} GB{of}{f' ({named})' if named else ''}{enough}"
    )
    end_them = "" if measured.servers_hidden else "end them, or "
    yield Disturbance(Disturbed.MEMORY, harm, words, f"{end_them}use a machine with more memory", account.host)

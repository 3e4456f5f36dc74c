"""Which resource limited a result: rules tried in order, the most particular first. Pure.

The order says which cause is believed where several resources are near their limits: a limit that somebody set on one
process explains a full machine better than the other way round, and a device or thread at its end better than a host
that is merely busy. Whatever else was near its limit is reported beside it. Round trips and the load's own window are
named only where nothing that can be full is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegauge.limiting.window_use import COMPILERS, DeviceShare, HostShare, ProcessShare, WindowUse
from tidegauge.model.ceilings import Ceilings
from tidegauge.model.host import HostLink
from tidegauge.model.load import worker_name
from tidegauge.model.use import Limiting, Resource
from tidegauge.model.workload import GENERATOR_SHARE_WRONG
from tidegauge.numbers import count, of_all, percent, trimmed

FULL = 0.90
"""Of a CPU allowance, a device's time or a host's CPUs: a mean over the window that leaves no room for bursts."""
FULL_THREAD = 0.90
OF_CEILING = 0.85
"""Of a measured rate: ceilings are best cases, and a mixed load reaches less."""
OF_LIMIT = 0.75
"""Of a cgroup's rate limit while tasks wait for I/O: given out in slices, of which a load that syncs misses some."""
OTHERS_TIMES = 8.0
"""A device that wrote so many times what servers and load generators did was written to by others: a file system's
journal may write four or five times what a small append does."""
THROTTLED = 0.15
"""Seconds a second that a quota held a process back."""
STALL = 0.20
"""Share of the time in which somebody waited for the resource, without which a busy one is not named."""
BUSY_FOR = 0.30
"""Share of the window for which a device was busy all the time, by turns with pauses, until it is named."""
STALL_BUSY = 0.05
"""What `STALL` is for it: nobody may have to wait in the pauses, nor for a device that does much at a time."""
RETRANSMITTED = 0.01
CEILING_WRONG = 1.5
"""Of what carried so many times its ceiling nobody knows the most."""
RETRANSMITS_MIN = 1000
"""Fewer are a busy host's late acknowledgements."""
HELD_BACK = 0.30
"""Share of the window for which the system held producers back. Below it, a closed loop met the generator's limit."""
NOT_OF_CLIENTS = ("tg-load", "tg-con", *COMPILERS)
"""In names of the load generator's threads, which no client limits while the system holds producers back: load threads
may spin while they wait for an acknowledgement or an instant, and consumers are judged by how far behind they are."""
MET = 0.98
SYNCS_OF_SERVICE = 0.40
"""Share of an acknowledgement's time that a sync must take before syncs are named."""
SYNCS_OF_OTHERS = 2.0
"""So many times an acknowledgement's time a sync of those that it waits for can't take: others were longer."""
IN_FLIGHT_MIN = 0.5
"""Of the messages in flight that a window which was full for so long has on average: with fewer it was the client that
held producers back by a bound of its own, as of the bytes that it buffers."""


@dataclass(frozen=True)
class JudgedLoad:
    """The load and what came of it.

    Attributes:
        offered_msgs_per_s: None in a closed loop.
        blocked_share: of the window for which a producer was held back, on average over producers.
        in_flight_max: messages without an acknowledgement that all producers together may have.
        service_ms: mean from sending to acknowledgement; None if nothing was acknowledged.
        nodes_needed: that must have a message before it is acknowledged.
        local_sync: whether an acknowledgement waits for a sync to disk.
        servers: names of their processes; () if others run them.
        data_devices: numbers of the devices that messages are written to; () = any.
    """

    msgs_per_s: float
    offered_msgs_per_s: float | None
    blocked_share: float
    in_flight_max: int
    service_ms: float | None
    nodes_needed: int
    local_sync: bool
    servers: tuple[str, ...]
    workers: Sequence[str] = ("worker",)
    """Processes of the load generator."""
    data_devices: tuple[str, ...] = ()
    sync_ms: float | None = None
    """Mean of a sync as servers reported it; None if they don't."""
    consumer: str = ""
    """The load generator's consumer that had no time left most often; "" if each always had some."""
    consumer_busy_share: float = 0.0
    """Share of the window's seconds in which it had none."""
    consumer_behind: bool = False
    """Whether messages waited for it, so that end-to-end times were its own (`statistics.classify`)."""
    processing_share: float = 0.0
    """Of the window, for which the consumers of the subscription that was busiest processed messages, on average."""
    left_behind_share: float = 0.0
    """Of the window's messages, those that waited at its end for the subscription that was furthest behind."""
    consumer_work: str = "processed messages"
    """What they did meanwhile, in words."""
    processing_cpus: float = 0.0
    """Of the CPUs that load generators used, those that consumers' processing took."""
    reads: bool = False
    """Whether it is the reading that is limited: then nothing is said of the producers' side."""
    connections: int = 1
    """That carry messages: what is sent over several at the same time is compared with the ceiling of several."""
    generators_msgs_per_s: float | None = None
    """What the load generators make and check of such a load without a system; None if that is not known."""
    held_back: bool = False
    """Whether some load generators, and not the system, sent less than they were to (`statistics.classify`)."""
    links: Mapping[str, HostLink] = field(default_factory=dict)
    """What a fleet's other hosts can send and receive at most, by address."""

    @property
    def leaves_behind(self) -> bool:
        """Whether more was left behind by a subscription than may be missing of a rate that was met."""
        return self.left_behind_share > 1 - MET

    def named(self, process: str) -> str:
        """What users read of a process: of several load generators which one it is."""
        several = len(self.workers) > 1 and process in self.workers
        return worker_name(self.workers.index(process), len(self.workers)) if several else process


@dataclass(frozen=True)
class LimitingCase:
    """Everything that is judged."""

    load: JudgedLoad
    use: WindowUse
    ceilings: Ceilings | None = None

    @property
    def workers(self) -> list[ProcessShare]:
        """The load generators that were seen, busiest first."""
        return self._busiest_first(self.load.workers)

    @property
    def servers(self) -> list[ProcessShare]:
        """The servers that were seen, busiest first."""
        return self._busiest_first(self.load.servers)

    def _busiest_first(self, names: Sequence[str]) -> list[ProcessShare]:
        processes = [process for name in names if (process := self.use.find_process(name)) is not None]
        return sorted(processes, key=lambda process: -process.cpus)

    @property
    def is_client_processing(self) -> bool:
        """Whether most of the CPU time of load generators was what the workload has consumers compute."""
        return 0 < sum(worker.cpus for worker in self.workers) < 2 * self.load.processing_cpus

    @property
    def worker_processing_cpus(self) -> float:
        """Returns the CPUs that it took of the one load generator; of what each of several took nobody knows: 0."""
        return self.load.processing_cpus if len(self.load.workers) == 1 else 0.0

    @property
    def hosts(self) -> Iterator[tuple[str, HostShare]]:
        """Hosts that servers or load generators were on, by name; "" is the one that ran the trial."""
        if not self.use.others or any(process.host == "" for process in (*self.workers, *self.servers)):
            yield "", self.use.host
        yield from self.use.others.items()

    def named(self, process: ProcessShare) -> str:
        """What users read of a process, with its host if that is another."""
        return self.load.named(process.name) + (f" on {process.host}" if process.host else "")

    @property
    def devices(self) -> list[DeviceShare]:
        """Devices that messages are written to; on hosts of a fleet, all that servers' hosts have.

        None where no server was seen: messages then go to no disk, or to others'.
        """
        if not self.servers:
            return []
        if self.use.others:
            hosts = {server.host for server in self.servers}
            return [device for device in self.use.devices if device.host in hosts]
        numbers = self.load.data_devices
        return [device for device in self.use.devices if not numbers or device.number in numbers]


def limiting_resource(load: JudgedLoad, use: WindowUse | None, ceilings: Ceilings | None = None) -> Limiting:
    """Name it, with the evidence. `use` None: nothing was recorded.

    Ceilings measured while all CPUs were taken name nothing: they are too low, so what is close to them need not be
    close to its limit.
    """
    if use is None:
        return Limiting(Resource.UNKNOWN, "", None, "resource use was not recorded")
    too_low = ceilings is not None and ceilings.load_average > use.host.cpus
    case = LimitingCase(load, use, None if too_low else ceilings)
    # A rate that was met was limited by nobody but who asked for it. What consumers can't keep up with was only sent.
    met = load.offered_msgs_per_s is not None and load.msgs_per_s >= MET * load.offered_msgs_per_s
    met = met and not (load.processing_share >= FULL and load.leaves_behind)
    # Bursts of write-back beside a generator that is hardly held back are not what limited it.
    latencies: tuple[Rule, ...] = (
        (_limits_by_busy_disks,)
        if met or load.reads or load.held_back
        else (_limit_by_generator, _limits_by_busy_disks, _limit_by_round_trips)
    )
    limits = [limiting for rule in (*_RESOURCES, *latencies, _limit_by_busy_consumer) for limiting in rule(case)]
    if met:
        came, offered = count(load.msgs_per_s), count(load.offered_msgs_per_s)
        words = f"{came} of {offered} msg/s offered came through"
        if load.leaves_behind:
            unread = percent(load.left_behind_share)
            words = f"{came} of {offered} msg/s offered were sent, and {unread} of them not read when the window ended"
        limits.insert(0, Limiting(Resource.OFFERED, "", None, words))
    if not limits:
        return Limiting(Resource.UNKNOWN, "", None, _resources_looked_at(case))
    first, *rest = limits
    return replace(first, others=tuple(limiting.as_near for limiting in rest))


def limits_of_load_hosts(load: JudgedLoad, use: WindowUse) -> list[Limiting]:
    """What was at its end on hosts that have load generators and no server, where each of these hosts had such an end.

    [] where that is not so of one of them, or anything of a server's was at its end, too: then nobody can tell which of
    the two limited the trial.
    """
    case = LimitingCase(load, use)
    load_hosts = {worker.host for worker in case.workers} - {server.host for server in case.servers}
    if not case.servers:  # Others' servers may be on the host that runs the trial, and not be seen.
        load_hosts -= {""}
    of_generators = (
        (process.host, limiting)
        for process, limiting in _processes_at_their_end(case)
        if limiting.resource is Resource.CLIENT_CPU
    )
    at_their_end = [*of_generators, *_links_at_their_end(case), *_hosts_at_their_end(case)]
    of_load = [(host, limiting) for host, limiting in at_their_end if host in load_hosts]
    limits = [limiting for _, limiting in of_load]
    of_servers = (
        limiting
        for rule in _RESOURCES
        for limiting in rule(case)
        if limiting not in limits and limiting.resource not in (Resource.CLIENT_CPU, Resource.PROCESSING)
    )
    if any(of_servers) or {host for host, _ in of_load} != load_hosts:
        return []
    return limits


def _limits_by_allowance(case: LimitingCase) -> Iterator[Limiting]:
    """A process at the end of the CPUs that it was given."""
    return (limiting for _, limiting in _processes_at_their_end(case))


def _processes_at_their_end(case: LimitingCase) -> Iterator[tuple[ProcessShare, Limiting]]:
    """Processes at the end of the CPUs that they were given, where those are fewer than the host has."""
    for process in (*case.servers, *case.workers):
        allowed = process.cpus_allowed
        if allowed is None or allowed >= case.use.share_of_host(process.host).cpus:
            continue
        share = min(1.0, process.cpus / allowed)
        throttled = process.throttled_share or 0.0
        if share >= FULL or throttled >= THROTTLED:
            # Less is not seen in the figure.
            held = f", held back for {throttled:.2f} s a second by its quota" if throttled >= 0.005 else ""
            name = case.named(process)
            client = process.name in case.load.workers
            processing_cpus = case.worker_processing_cpus if client else 0.0
            processing = f" ({processing_cpus:.2f} of it consumers' processing)" if processing_cpus else ""
            words = f"{name} used {process.cpus:.2f}{processing} of the {trimmed(allowed)} CPUs it may use{held}"
            of_client = Resource.PROCESSING if case.is_client_processing else Resource.CLIENT_CPU
            yield process, Limiting(of_client if client else Resource.SERVER_CPU, name, share, words)


def _limits_by_disks(case: LimitingCase) -> Iterator[Limiting]:
    """A device at the rate that it is limited to or was measured to take, or busy all the time."""
    for device in case.devices:
        yield from _limit_of_device(case, device)


def _limit_of_device(case: LimitingCase, device: DeviceShare) -> Iterator[Limiting]:
    stall = case.use.share_of_host(device.host).io_stall_share
    rates = (*_limited_rates(case, device, stall), *_measured_rates(case, device))
    reached = [(share, words) for share, bound, words in rates if bound <= share <= CEILING_WRONG]
    busy = min(1.0, device.busy_share)
    if reached:
        share, words = max(reached)
        yield Limiting(Resource.DISK, device.name, min(1.0, share), words)
    elif busy >= FULL and (stall is None or stall >= STALL):
        flushed = f"{_mb(device.written_bytes_per_s)} written, {device.flushes_per_s:,.0f} flushes/s"
        yield Limiting(
            Resource.DISK, device.name, busy, f"busy {busy:.0%} of the time ({flushed}){_io_wait_words(stall)}"
        )


def _limited_rates(case: LimitingCase, device: DeviceShare, stall: float | None) -> Iterator[tuple[float, float, str]]:
    """What servers and load generators write of what their cgroups allow: share, from which on it counts, words."""
    bound = OF_LIMIT if (stall or 0.0) >= STALL else OF_CEILING
    if device.write_bytes_per_s_max:
        written = device.written_bytes_per_s
        # What servers and load generators of the host moved; endless where that is not known of all.
        bytes_per_process = [
            process.moved_bytes_per_s for process in (*case.servers, *case.workers) if process.host == device.host
        ]
        moved = math.inf if None in bytes_per_process or not bytes_per_process else sum(filter(None, bytes_per_process))
        # Where others wrote most of it, only what the trial wrote itself counts towards its cgroup's limit.
        written = moved if written >= OTHERS_TIMES * moved else written
        words = f"{_mb(written)} written of {_mb(device.write_bytes_per_s_max)} it may take"
        yield written / device.write_bytes_per_s_max, bound, words
    if device.writes_per_s_max:
        words = f"{device.writes_per_s:,.0f} writes/s of the {device.writes_per_s_max:,} it may take"
        yield device.writes_per_s / device.writes_per_s_max, bound, words


def _measured_rates(case: LimitingCase, device: DeviceShare) -> Iterator[tuple[float, float, str]]:
    """What a device moves of what it was measured to do, whoever makes it do so: as `_limited_rates` says it."""
    ceiling = case.ceilings.disk(device.number) if case.ceilings else None
    can_take = ceiling.writes_per_s_of(case.use.seconds) if ceiling is not None else None
    if can_take:
        words = f"{_mb(device.written_bytes_per_s)} written of {_mb(can_take)} it can take"
        yield device.written_bytes_per_s / can_take, OF_CEILING, words
    if ceiling is not None and ceiling.read_bytes_per_s:
        words = f"{_mb(device.read_bytes_per_s)} read of {_mb(ceiling.read_bytes_per_s)} it can give"
        yield device.read_bytes_per_s / ceiling.read_bytes_per_s, OF_CEILING, words


def _io_wait_words(stall: float | None) -> str:
    return "" if stall is None else f", and tasks waited for I/O {stall:.0%} of the time"


def _limit_by_processing(case: LimitingCase) -> Iterator[Limiting]:
    """Consumers that spent all their time on what the workload has them do with messages."""
    share = case.load.processing_share
    # Producers of a closed loop that left them behind were not held back by them.
    went_ahead = case.load.offered_msgs_per_s is None and case.load.leaves_behind
    if share >= FULL and not went_ahead:
        words = f"consumers {case.load.consumer_work} {share:.0%} of the time"
        yield Limiting(Resource.PROCESSING, "", min(1.0, share), words)


def _limit_by_consumer_behind(case: LimitingCase) -> Iterator[Limiting]:
    """A consumer of the load generator that messages waited for."""
    if case.load.consumer_behind:
        yield _consumer_limit(case.load)


def _limit_by_busy_consumer(case: LimitingCase) -> Iterator[Limiting]:
    """A consumer without time left that kept up all the same: near its limit, though it is no limit yet."""
    if not case.load.consumer_behind and case.load.consumer_busy_share >= FULL_THREAD:
        yield _consumer_limit(case.load)


def _consumer_limit(load: JudgedLoad) -> Limiting:
    words = f"{load.consumer} had no time left in {load.consumer_busy_share:.0%} of the seconds"
    return Limiting(Resource.CLIENT_CPU, _generator_of_consumer(load), load.consumer_busy_share, words)


def _generator_of_consumer(load: JudgedLoad) -> str:
    """Whose consumer it is: of several load generators one, which its name has ("sub-0 consumer 1 (...)")."""
    return load.consumer.partition("(")[2].rstrip(")") or load.named(load.workers[0])


def _limits_by_busy_disks(case: LimitingCase) -> Iterator[Limiting]:
    """A device that was at its end again and again, as with write-back of what memory had taken, and not on average."""
    for device in case.devices:
        stall = case.use.share_of_host(device.host).io_stall_share
        share = device.busy_s / case.use.seconds
        if share < BUSY_FOR or (stall is not None and stall < STALL_BUSY) or any(_limit_of_device(case, device)):
            continue
        busy = f"busy {device.busy_s:.0f} of {case.use.seconds:.0f} s"
        words = f"{busy} ({_mb(device.written_bytes_per_s)} written on average){_io_wait_words(stall)}"
        yield Limiting(Resource.DISK, device.name, min(1.0, share), words)


def _limits_by_threads(case: LimitingCase) -> Iterator[Limiting]:
    """A thread that ran all the time: more CPUs would not help it."""
    for process in (*case.servers, *case.workers):
        client = process.name in case.load.workers
        held_back = client and (
            case.load.blocked_share >= HELD_BACK or case.load.consumer_behind or case.load.processing_cpus > 0
        )
        ignored = NOT_OF_CLIENTS if held_back else COMPILERS
        thread = next((t for t in process.threads if not any(part in t.name for part in ignored)), None)
        if thread is not None and thread.cpu_share >= FULL_THREAD:
            resource = Resource.CLIENT_CPU if client else Resource.SERVER_THREAD
            name = case.named(process)
            share = min(1.0, thread.cpu_share)
            words = f"thread {thread.name} of {name} ran {share:.0%} of the time"
            yield Limiting(resource, name, share, words)


def _limits_by_memory(case: LimitingCase) -> Iterator[Limiting]:
    """Servers at their memory limit while tasks wait for memory."""
    for server in case.servers:
        stall = case.use.share_of_host(server.host).memory_stall_share
        if stall and stall >= STALL and server.at_memory_limit:
            limit_bytes, left_bytes = server.at_memory_limit
            share = 1 - left_bytes / limit_bytes
            words = f"{case.named(server)} had all but {_mb(left_bytes, '')} of its {_mb(limit_bytes, '')}"
            yield Limiting(
                Resource.MEMORY,
                case.named(server),
                share,
                f"{words}, and tasks waited for memory {stall:.0%} of the time",
            )


def _limits_by_network(case: LimitingCase) -> Iterator[Limiting]:
    """Loopback or a host's link at its measured ceiling, or a network that loses what is sent."""
    loopback = case.ceilings.loopback if case.ceilings else None
    ceiling = loopback.bytes_per_s_over(case.load.connections) if loopback is not None else 0.0
    moved = case.use.host.loopback_bytes_per_s
    if ceiling and OF_CEILING <= moved / ceiling <= CEILING_WRONG:
        carried_by = "one connection" if case.load.connections <= 1 else f"{case.load.connections} connections"
        words = f"{_mb(moved)} over loopback of {_mb(ceiling)} that {carried_by} can carry"
        yield Limiting(Resource.NETWORK, "lo", min(1.0, moved / ceiling), words)
    yield from (limiting for _, limiting in _links_at_their_end(case))
    for name, host in case.hosts:
        many = host.tcp_retransmits >= RETRANSMITS_MIN
        if many and host.tcp_retransmits / host.tcp_segments >= RETRANSMITTED:
            lost = host.tcp_retransmits / host.tcp_segments
            words = f"{lost:.1%} of {host.tcp_segments:,} TCP segments had to be sent again"
            yield Limiting(Resource.NETWORK, f"of {name}" if name else "", None, words)


def _links_at_their_end(case: LimitingCase) -> Iterator[tuple[str, Limiting]]:
    """Hosts whose link is at its measured ceiling, by name."""
    for name, host in case.hosts:
        link = case.load.links.get(name)
        ways = (
            ("sent", host.network_sent_bytes_per_s, link.sent_bytes_per_s if link else None),
            ("received", host.network_received_bytes_per_s, link.received_bytes_per_s if link else None),
        )
        for way, used, most in ways:
            if most and OF_CEILING <= used / most <= CEILING_WRONG:
                words = f"{_mb(used)} {way} by {name} of {_mb(most)} that it can"
                yield name, Limiting(Resource.NETWORK, f"of {name}", min(1.0, used / most), words)


def _limits_by_host_cpu(case: LimitingCase) -> Iterator[Limiting]:
    """All CPUs of a host busy while tasks wait for one."""
    return (limiting for _, limiting in _hosts_at_their_end(case))


def _hosts_at_their_end(case: LimitingCase) -> Iterator[tuple[str, Limiting]]:
    """Hosts, by name, all of whose CPUs are busy while tasks wait for one. Says who used them."""
    for name, host in case.hosts:
        stall = host.cpu_stall_share
        if host.cpu_share < FULL or (stall is not None and stall < STALL):
            continue
        servers = sum(server.cpus for server in case.servers if server.host == name)
        client = sum(worker.cpus for worker in case.workers if worker.host == name)
        others = max(0.0, host.cpu_share * host.cpus - servers - client)
        generators = "load generators" if len(case.load.workers) > 1 else "load generator"
        # Those of others' clusters may be on this host all the same, and be unseen.
        seen = f"servers {servers:.2f}, " if any(server.host == name for server in case.servers) else ""
        processing_cpus = min(client, case.worker_processing_cpus)
        processing = f"consumers' processing {processing_cpus:.2f}, " if processing_cpus else ""
        parts = f"{seen}{generators} {client - processing_cpus:.2f}, {processing}everything else {others:.2f}"
        waited = "" if stall is None else f"; tasks waited for a CPU {stall:.0%} of the time"
        share = min(1.0, host.cpu_share)
        used = f"{share:.0%} of {host.cpus} CPUs"
        subject = f"of {name}" if name else ""
        yield name, Limiting(Resource.HOST_CPU, subject, share, f"{used} ({parts}){waited}", used=used, users=parts)


def _limit_by_generator(case: LimitingCase) -> Iterator[Limiting]:
    """A rate close to what the generator makes at all, or a closed loop that the system hardly ever held back."""
    load = case.load
    near = load.msgs_per_s / load.generators_msgs_per_s if load.generators_msgs_per_s else 0.0
    if OF_CEILING <= near <= GENERATOR_SHARE_WRONG:
        most = f"{load.generators_msgs_per_s:,.0f} msg/s"
        if near <= 1:
            words = f"{load.msgs_per_s:,.0f} of the {most} that can be made and checked without a system"
        else:
            words = f"{load.msgs_per_s:,.0f} msg/s, where {most} were made and checked without a system"
        yield Limiting(Resource.CLIENT_CPU, ", ".join(load.workers), min(1.0, near), words)
    elif load.offered_msgs_per_s is None and load.blocked_share < HELD_BACK:
        words = f"producers were held back by the system only {load.blocked_share:.0%} of the time"
        number = len(load.workers)
        subject = of_all(number, number, "load generator") if number > 1 else load.workers[0]
        yield Limiting(Resource.CLIENT_CPU, subject, None, words)


def _limit_by_round_trips(case: LimitingCase) -> Iterator[Limiting]:
    """A full window: rate times latency is what may be in flight, so whatever makes the latency makes the rate."""
    load = case.load
    if load.service_ms is None or load.blocked_share < HELD_BACK:
        return
    # By Little's law. A client that lets a producer wait for another reason holds it back as well.
    in_flight = load.msgs_per_s * load.service_ms / 1e3
    if in_flight < IN_FLIGHT_MIN * load.blocked_share * load.in_flight_max:
        return
    full = f"the window of {load.in_flight_max:,} messages was full {load.blocked_share:.0%} of the time"
    took = f"an acknowledgement took {load.service_ms:.1f} ms on average"
    flush_ms = max((device.flush_ms for device in case.devices if device.flush_ms is not None), default=None)
    sync_ms = load.sync_ms if load.sync_ms is not None else flush_ms
    share = sync_ms / max(1e-9, load.service_ms) if load.local_sync and sync_ms is not None else 0.0
    if sync_ms is not None and SYNCS_OF_SERVICE <= share <= SYNCS_OF_OTHERS:
        words = f"{took}, a sync to disk {sync_ms:.1f} ms{' of it' if share <= 1 else ''}; {full}"
        yield Limiting(Resource.SYNCS, "", min(1.0, share), words)
    elif load.nodes_needed > 1:
        yield Limiting(Resource.REPLICATION, "", None, f"{took}, on {load.nodes_needed} nodes; {full}")
    else:
        yield Limiting(Resource.WINDOW, "", load.blocked_share, f"{full}, and {took}")


def _resources_looked_at(case: LimitingCase) -> str:
    """What was looked at, for the reader who wants to go on."""
    busiest_host = max((min(1.0, host.cpu_share) for _, host in case.hosts), default=0.0)
    busiest = max((thread.cpu_share for server in case.servers for thread in server.threads), default=None)
    thread = "" if busiest is None else f", busiest server thread {min(1.0, busiest):.0%}"
    disk = max((device.busy_share for device in case.devices), default=None)
    disks = "" if disk is None else f", disk busy {min(1.0, disk):.0%}"
    load = case.load
    held = "" if load.reads else f", producers held back {load.blocked_share:.0%} of the time"
    return f"host CPU {busiest_host:.0%}{thread}{disks}{held}"


def _mb(number: float, per: str = "/s") -> str:
    return f"{number / 1e6:,.1f} MB{per}"


Rule = Callable[[LimitingCase], Iterator[Limiting]]
_RESOURCES: tuple[Rule, ...] = (
    _limits_by_allowance,
    _limits_by_disks,
    _limit_by_processing,
    _limit_by_consumer_behind,
    _limits_by_threads,
    _limits_by_memory,
    _limits_by_network,
    _limits_by_host_cpu,
)

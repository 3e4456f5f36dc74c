"""The memory that a plan needs: of servers and of the load generator, against what the host has.

Two things fill a heap. What clients hold when they are behind (a backlog, a stall) needs room, or the worker dies; what
flows through becomes garbage, and a small heap then spends the window in collections instead of sending:

    heap   = the larger of  what is held: 96 MiB, 1 MiB a client, 64 KiB for each producer or consumer that shares one,
                            what all consumers may hold together, and four times what producers may have in flight
                            where that is more than 32 MiB
                            what flows:   1 MiB for every 1,000 messages (of 1 KiB, sent or received) a second,
                                          up to 2 GiB and an eighth of the machine's memory
    direct = 64 MiB, the largest read of each consumer, and two requests of each producer, which send at most
             32 MiB together; or twice what producers may have in flight where that is more

Several workers divide producers and consumers among them, each kind by itself, and each gets what the largest shares
need: of one consumer and many producers, one worker has the consumer and a share of the producers.

Where the rate is not given (a peak, a search, a share of an earlier result), it is as fast as the CPUs may carry. The
rule knows nothing of the system, so the load generators of all systems that are compared get the same: clients count
as shared only where all of them share them.

Measured on 16 CPUs with 1 KiB messages: 256 MiB cost 6 to 12 % of the window in collections from a million messages a
second on, and 1 GiB gave 1.50 instead of 1.16 million. At 100 partitions 256 MiB make a worker of 445 MB.

Trials follow one another, so one deployment at a time counts, with the load generator beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil

from tidegauge.campaign.model import Campaign, Point, SystemChoice, WorkerChoice
from tidegauge.campaign.plan.contenders import label_of_system
from tidegauge.campaign.plan.generators import SERVERS_UNKNOWN, in_words, users_of
from tidegauge.campaign.plan.limits import server_processes
from tidegauge.errors import UserError
from tidegauge.fairness import receive_queue_messages
from tidegauge.hosts.memory import Machine
from tidegauge.model.host import NOT_SHARED, RESERVE_MB, MemoryAvailable, MemoryNeed, Sharing, WorkerMemory, clients_of
from tidegauge.model.trial import LoadSpec, ServerReuse, TrialSpec, point_words
from tidegauge.model.workload import IN_FLIGHT_BYTES_MAX, Arrival, Workload
from tidegauge.numbers import count
from tidegauge.systems import registry
from tidegauge.worker.api import DIRECT_MEMORY_MB_LEAST, HEAP_MB_LEAST

_MSGS_PER_S_PER_CPU = 75_000
"""At full speed 16 CPUs carried 1.2 to 1.5 million messages a second, servers beside."""
_MSGS_PER_S_PER_MIB = 1000
_FLOW_MB_MAX = 2048
"""More was not found to help."""
_FLOW_SHARE_OF_MACHINE = 8
_OWN_MB = 96
"""The worker's own, and the 32 MiB that all producers hold together, however many they are."""
_OWN_DIRECT_MB = 64
"""Buffers of the network libraries, whatever the load."""
_CLIENT_BYTES = 1 << 20
"""A client without messages: its metadata, buffers of its connections, statistics."""
_SHARING_BYTES = 64 << 10
"""A producer or consumer that shares one. Those of 10,000 partitions, on two clients of Pulsar, fit into 256 MiB."""
_WRITE_BYTES = 1 << 20
"""A producer's largest request; one is being written while the JDK still keeps the copy of another."""
_FETCH_BYTES = (1 << 20, 50 << 20)
"""The least and the most that Kafka's client holds of one server; other clients hold what the queue says."""
_READ_BYTES_LEAST = 64 << 10
"""Of a consumer that finds next to nothing."""
_RECORD_OVERHEAD_BYTES = 128
_STALL_S = 5.0
"""At a planned rate consumers that are not to build a backlog hold what came in while nobody read for so long."""
WINDOW_SHARE_OF_HEAP = 4
"""A message in flight is held by the worker and by the client, twice while it is sent."""
_STEP_MB = 64
_MIB = 1 << 20


@dataclass(frozen=True)
class Workers:
    """The memory of the worker of every trial of a plan.

    By the plan and not by the trial as it is run: a rate that an earlier trial found is another one for each system,
    and their load generators are to be equal. A worker that trials share is large enough for all of them.
    """

    trials: Sequence[TrialSpec]
    choice: WorkerChoice
    machine: Machine
    sharing: Sharing = NOT_SHARED

    @cached_property
    def _trial_by_id(self) -> Mapping[str, TrialSpec]:
        return {trial.trial_id: trial for trial in self.trials}

    @cached_property
    def _sharing_servers(self) -> Mapping[str, list[WorkerMemory]]:
        """The worker's memory for each trial on servers that it shares with others, by system."""
        memories_by_system = defaultdict(list)
        for trial in self.trials:
            if trial.servers is ServerReuse.SHARED:
                memories_by_system[trial.system].append(self._memory_of_trial(trial))
        return memories_by_system

    def memory_of_trial(self, spec: TrialSpec) -> WorkerMemory:
        """The worker's memory for a trial; one that the plan lacks (a search makes what it needs) has no known rate."""
        unknown = replace(spec, msgs_per_s=None, schedule=None) if isinstance(spec, LoadSpec) else spec
        planned = self._trial_by_id.get(spec.trial_id, unknown)
        if planned.servers is not ServerReuse.SHARED:
            return self._memory_of_trial(planned)
        return _largest_worker([self._memory_of_trial(planned), *self._sharing_servers[spec.system]])

    def _memory_of_trial(self, spec: TrialSpec) -> WorkerMemory:
        return worker_memory(spec, self.choice, self.machine, self.sharing)

    def largest_memory(self, system: str, point: Mapping[str, str]) -> WorkerMemory:
        """The largest memory that the worker of a system's trials has at a point of a sweep."""
        trials_at_point = [trial for trial in self.trials if trial.system == system and trial.point == point]
        worker_memories = [self.memory_of_trial(trial) for trial in trials_at_point]
        return _largest_worker(worker_memories or [WorkerMemory(*_least_memory_mb(self.choice))])


def worker_memory(
    spec: TrialSpec, choice: WorkerChoice, machine: Machine, sharing: Sharing = NOT_SHARED
) -> WorkerMemory:
    """What the worker of a trial gets by itself; what the user chose wins."""
    # The highest rate that is known beforehand; 0 = as fast as it goes, or nobody knows yet.
    msgs_per_s = 0.0 if spec.workload.arrival is Arrival.CLOSED_LOOP else spec.most_msgs_per_s
    share = largest_share(spec.workload, choice.count)
    of_flow = share.of_flow(spec.workload.subscriptions)
    held_mb, flow_mb = _held_mb(spec, msgs_per_s, share, sharing), _flow_mb(spec.workload, msgs_per_s, machine, of_flow)
    direct_mb = _direct_mb(spec, msgs_per_s, share, sharing)
    heap_least, direct_least = _least_memory_mb(choice)
    heap_mb = choice.heap_mb or max(heap_least, _rounded_up_mb(max(held_mb, flow_mb)))
    direct_memory_mb = choice.direct_memory_mb or max(direct_least, _rounded_up_mb(direct_mb))
    producers, consumers = users_of(spec.workload)
    clients = in_words((ceil(consumers * share.consumers), "consumer"), (ceil(producers * share.producers), "producer"))
    because = []
    if heap_mb > heap_least and held_mb > flow_mb:
        because.append(f"{clients} may hold {held_mb - _OWN_MB:,} MiB beside its own {_OWN_MB}")
    elif heap_mb > heap_least:
        rate = f"{count(msgs_per_s)} msg/s get" if msgs_per_s else f"full speed of {machine.cpus} CPUs gets"
        because.append(f"{_part_of(of_flow)}{rate} {flow_mb:,} MiB for what flows through")
    if direct_memory_mb > direct_least:
        because.append(f"what {clients} read and write at once is {direct_mb - _OWN_DIRECT_MB:,} MiB")
    return WorkerMemory(heap_mb, direct_memory_mb, "; ".join(because))


@dataclass(frozen=True)
class LargestShare:
    """The largest part of all producers, and of all consumers, that one of several workers has."""

    producers: Fraction
    consumers: Fraction

    def of_flow(self, subscriptions: int) -> Fraction:
        """The part of what flows: to receive a message is as much, for each subscription, as to send it."""
        return (self.producers + subscriptions * self.consumers) / (1 + subscriptions)


def largest_share(workload: Workload, workers: int) -> LargestShare:
    """How much of a workload one of several workers has at most."""
    producers, consumers = (Fraction(-(-users // workers), users or 1) for users in users_of(workload))
    return LargestShare(producers, consumers)


def _part_of(share: Fraction) -> str:
    """What of a load is one worker's, before the load in words."""
    return "" if share == 1 else f"a share of {share} of "


def _least_memory_mb(choice: WorkerChoice) -> tuple[int, int]:
    return choice.heap_mb or HEAP_MB_LEAST, choice.direct_memory_mb or DIRECT_MEMORY_MB_LEAST


def _largest_worker(worker_memories: Sequence[WorkerMemory]) -> WorkerMemory:
    heap = max(worker_memories, key=lambda worker: worker.heap_mb)
    direct = max(worker_memories, key=lambda worker: worker.direct_memory_mb)
    because = heap.because if heap.direct_memory_mb == direct.direct_memory_mb else f"{heap.because}; {direct.because}"
    return WorkerMemory(heap.heap_mb, direct.direct_memory_mb, because.strip("; "))


def _flow_mb(workload: Workload, rate_msgs_per_s: float, machine: Machine, share: Fraction) -> int:
    """Heap (MiB) for what flows at the rate, or, if that is 0, as fast as the CPUs may carry it."""
    # Half of the work is to send a message, half to receive it, by each subscription.
    times = (1 + workload.subscriptions) / 2 * max(1.0, workload.payload.message_bytes / 1024)
    msgs_per_s = rate_msgs_per_s * times if rate_msgs_per_s else _MSGS_PER_S_PER_CPU * machine.cpus
    most_mb = min(_FLOW_MB_MAX, machine.memory_mb // _FLOW_SHARE_OF_MACHINE or HEAP_MB_LEAST)
    return min(most_mb, round(msgs_per_s * share / _MSGS_PER_S_PER_MIB))


def _held_mb(spec: TrialSpec, msgs_per_s: float, share: LargestShare, sharing: Sharing) -> int:
    workload = spec.workload
    producers, consumers = users_of(workload)
    # A consumer holds messages of so many servers; how many partitions topics of others have nobody knows.
    servers = SERVERS_UNKNOWN if spec.attached else spec.nodes
    if not workload.existing_topics:
        servers = min(servers, workload.partitions)
    held_bytes = min(consumers * servers * _fetch_bytes(workload), _stalled_bytes(spec, msgs_per_s))
    held_of_worker = held_bytes * share.consumers
    held_of_worker += WINDOW_SHARE_OF_HEAP * _large_window_bytes(workload) * share.producers
    clients = _clients_bytes(consumers * share.consumers, shared=sharing.consumers)
    clients += _clients_bytes(producers * share.producers, shared=sharing.producers)
    return _OWN_MB + ceil((held_of_worker + clients) / _MIB)


def _clients_bytes(users: Fraction, *, shared: bool) -> Fraction | int:
    """What so many producers, or consumers, of one worker hold without messages."""
    clients = clients_of(ceil(users), shared=shared)
    return users * _CLIENT_BYTES if users <= clients else clients * _CLIENT_BYTES + (users - clients) * _SHARING_BYTES


def _direct_mb(spec: TrialSpec, msgs_per_s: float, share: LargestShare, sharing: Sharing) -> int:
    """Returns the direct memory (MiB) that a load generator needs which carries a share of a trial.

    The JDK keeps, for each thread, a native copy as large as its largest read and write; Netty holds what is queued.
    From Java 25 on the copies are bounded (`worker.launch`), and this is more than is used.
    """
    workload = spec.workload
    producers, consumers = users_of(workload)
    batch_bytes = max(_WRITE_BYTES, workload.client.batch_bytes_max)
    # Those that share a client share its thread.
    of_worker = consumers * share.consumers
    threads = min(of_worker, Fraction(clients_of(ceil(of_worker), shared=sharing.consumers)))
    stalled = _stalled_bytes(spec, msgs_per_s) * share.consumers
    read = min(of_worker * _fetch_bytes(workload), max(threads * _READ_BYTES_LEAST, stalled))
    written = 2 * max(min(producers * batch_bytes, IN_FLIGHT_BYTES_MAX), _large_window_bytes(workload))
    return _OWN_DIRECT_MB + ceil((read + written * share.producers) / _MIB)


def _large_window_bytes(workload: Workload) -> int:
    """What messages in flight hold where they are more than `_OWN_MB` has room for; else 0."""
    if workload.window_bytes() <= IN_FLIGHT_BYTES_MAX:
        return 0
    return workload.window_messages() * (workload.payload.message_bytes + _RECORD_OVERHEAD_BYTES)


def check_window(trials: Sequence[TrialSpec], choice: WorkerChoice, where: str) -> None:
    """Raise `UserError` if a heap that the user has chosen has no room for the messages that may be in flight."""
    for spec in trials:
        window_bytes, share = spec.workload.window_bytes(), largest_share(spec.workload, choice.count).producers
        own_mb = window_bytes * share / _MIB
        if window_bytes > IN_FLIGHT_BYTES_MAX and 0 < choice.heap_mb < WINDOW_SHARE_OF_HEAP * own_mb:
            raise UserError(
                f"{where}: workload.in-flight: {_part_of(share)}{spec.workload.window_messages():,} messages in flight "
                f"{'is' if _part_of(share) else 'are'} {float(own_mb):,.0f} MiB, more than they may take of the load "
                f"generator's heap of {choice.heap_mb:,} MiB, a quarter.",
                "Leave out 'heap' of 'worker', so that it follows from the load, or give a smaller 'in-flight'.",
            )


def _fetch_bytes(workload: Workload) -> int:
    """What a consumer may ask one server for at once: as much as its queue and its partitions allow."""
    queue_bytes = receive_queue_messages(workload) * (workload.payload.message_bytes + _RECORD_OVERHEAD_BYTES)
    least, most = _FETCH_BYTES
    return min(most, max(least, workload.client.batch_bytes_max, queue_bytes))


def _stalled_bytes(spec: TrialSpec, msgs_per_s: float) -> int:
    """What consumers can find at once: without a planned rate, or with a backlog to be read, any amount."""
    if not msgs_per_s or (isinstance(spec, LoadSpec) and spec.late is not None):
        return 1 << 62
    message_bytes = spec.workload.payload.message_bytes + _RECORD_OVERHEAD_BYTES
    return round(msgs_per_s * _STALL_S * spec.workload.subscriptions * message_bytes)


def _rounded_up_mb(mb: int) -> int:
    return -(-mb // _STEP_MB) * _STEP_MB


def memory_needs(campaign: Campaign, workers: Workers) -> tuple[MemoryNeed, ...]:
    """What each system of a campaign needs, in the campaign's order; of a sweep the most that any point needs."""
    return tuple(
        _largest_needs([_need_of_system(point, choice, workers) for point, choice in campaign.systems_at_points])
    )


def _need_of_system(point: Point, choice: SystemChoice, workers: Workers) -> MemoryNeed:
    campaign, system = point.campaign, registry.system_named(choice.name)
    name = label_of_system(choice, system)
    worker = workers.largest_memory(name, point.values)
    # What a fleet's hosts have is not known before they are asked.
    most = max((spec.generators for spec in workers.trials if isinstance(spec, LoadSpec)), default=0)
    workers_here = 0 if workers.choice.hosts else max(workers.choice.count, most)
    if not campaign.starts_here(choice):
        return MemoryNeed(name, (), worker, workers=workers_here, on_fleet=choice.attach is None)
    servers = tuple(server_processes(campaign, choice))
    return MemoryNeed(name, servers, worker, nodes=campaign.nodes, workers=workers_here)


def too_large(need: MemoryNeed, available: MemoryAvailable | None) -> str:
    """Why a system would make this machine swap; "" if it would not, or if that is unknown."""
    return f"{need}; {available}" if available is not None and need.total_mb > available.available_mb else ""


def campaign_that_fits(
    campaign: Campaign, available: MemoryAvailable | None, workers: Workers
) -> tuple[Campaign, dict[str, str]]:
    """The campaign without what would make this machine swap and may be left out, and why each was.

    That may an optional system, and at a point of a sweep with `skip-impossible` any. Raises `TooLittleMemoryError`
    with the figures of every other system that would, of a sweep at the point that needs most.
    """
    left_out: dict[str, str] = {}
    needs_refused: list[MemoryNeed] = []
    needs: list[MemoryNeed] = []
    systems_kept: list[list[SystemChoice]] = []
    for point in campaign.all_points:
        systems_kept.append([])
        for choice in point.campaign.systems:
            need = _need_of_system(point, choice, workers)
            reason = too_large(need, available)
            needs += [need] if reason else []
            if not reason:
                systems_kept[-1].append(choice)
            elif choice.optional or (campaign.skip_impossible and point.values):
                left_out[f"{need.system} at {point_words(point.values)}" if point.values else need.system] = reason
            else:
                needs_refused.append(need)
    if available is not None and (needs_refused or not any(systems_kept)):
        # What to give less, by what takes most of the memory that there isn't.
        largest = max(needs, key=lambda need: need.total_mb)
        advice = (
            "Give each node less ('heap' and 'direct-memory' of the system), take fewer nodes, or end other programs."
        )
        if largest.worker_mb > largest.servers_mb:
            advice = (
                f"{_hosts_filled(needs, available)} Give the load generator less ('worker' in the campaign, "
                "--worker-heap of `tidegauge omb`), take fewer topics, subscriptions or consumers, or end other "
                "programs."
            ).lstrip()
        raise TooLittleMemoryError(_largest_needs(needs_refused or needs), available, advice)
    return campaign.with_systems(systems_kept), left_out


class TooLittleMemoryError(UserError):
    """Systems need more memory than there is. `shortage`: the sums alone, where the parts of each stand beside."""

    def __init__(self, needs: Sequence[MemoryNeed], available: MemoryAvailable, advice: str) -> None:
        super().__init__(f"There is too little memory. {'. '.join(map(str, needs))}. {available}.", advice)
        sums = f"There is too little memory: {', '.join(need.whole for need in needs)}; {available}."
        self.shortage = f"{sums} {_hosts_filled(needs, available)}".rstrip()


def _largest_needs(needs: Sequence[MemoryNeed]) -> list[MemoryNeed]:
    """The most that each system needs."""
    largest: dict[str, MemoryNeed] = {}
    for need in sorted(needs, key=lambda need: need.total_mb):
        largest[need.system] = need
    return [largest[name] for name in dict.fromkeys(need.system for need in needs)]


def _hosts_filled(needs: Sequence[MemoryNeed], available: MemoryAvailable) -> str:
    """How many hosts like this one the load generators fill, where one is not enough for them; else ""."""
    free_mb = available.available_mb - RESERVE_MB
    worker_mb = max(need.worker_mb for need in needs)
    if worker_mb <= free_mb or free_mb <= 0:
        return ""
    return f"The load generators alone, {worker_mb:,} MiB, fill {ceil(worker_mb / free_mb):,} hosts like this one."

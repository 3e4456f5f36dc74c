"""Whether load generators suffice for a plan: whether each has work, can hold its clients, and makes its rates.

Each producer and consumer has a client with connections and threads of its own up to 1,000 of a kind in a load
generator; more share these, where the system's client can serve several (`System.clients`). What each load generator
then needs is bounded by open files and memory maps of a process, and by what the system allows a client; what all of
them need together by the host's threads and, for connections to one server, by its ports. Memory is checked apart
(`campaign.plan.memory`).

What a load generator makes and checks at most on this host is known from calibration; a plan is to leave room to spare.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tidegauge.campaign.model import Campaign, WorkerChoice
from tidegauge.campaign.plan.limits import partitions_of_node
from tidegauge.campaign.plan.plan import Plan, Step
from tidegauge.errors import UserError
from tidegauge.model.ceilings import Calibration, size_class
from tidegauge.model.host import OWN_CLIENTS_MAX, ClientKind, ClientKinds, LoadBounds, Sharing
from tidegauge.model.trial import AttestSpec, LoadSpec, TrialSpec
from tidegauge.model.workload import GENERATOR_SHARE_MAX, WORKERS_MAX, Arrival, Workload
from tidegauge.numbers import count, plural, size

_OWN_FILES = 300
"""Programs, and connections to the controller."""
_OWN_THREADS = 150
"""Load threads (64 at most), the collector's, the compiler's, those that serve sockets."""
_OWN_MAPS = 2000
_MAPS_PER_THREAD = 2
"""Its stack and the guard before it."""
_FEW_CONNECTIONS = 300
"""A server's `handles` have room for them."""
SERVERS_UNKNOWN = 3
"""Of clusters that others run, whose size is not known yet."""


@dataclass(frozen=True)
class _Load:
    """The producers and consumers of a plan, the servers that they connect to, and what their clients take."""

    producers: int
    consumers: int
    servers: int
    kinds: ClientKinds

    def _users_of_worker(self, workers: int) -> tuple[tuple[int, ClientKind], tuple[int, ClientKind]]:
        """The most producers and consumers that one of so many load generators has."""
        producers, consumers = -(-self.producers // workers), -(-self.consumers // workers)
        return (producers, self.kinds.producer), (consumers, self.kinds.consumer)

    def files(self, workers: int) -> int:
        """How many files each of so many load generators has open."""
        return _OWN_FILES + sum(kind.clients(users) * kind.files for users, kind in self._users_of_worker(workers))

    def threads(self, workers: int) -> int:
        """How many threads each of so many load generators has."""
        return _OWN_THREADS + sum(kind.clients(users) * kind.threads for users, kind in self._users_of_worker(workers))

    def maps(self, workers: int) -> int:
        """How many memory maps each of so many load generators has."""
        return _OWN_MAPS + _MAPS_PER_THREAD * self.threads(workers)

    def connections(self, workers: int, hosts: int = 1) -> int:
        """How many connections to one server those load generators have that are on one of so many hosts."""
        of_each = sum(kind.clients(users) * kind.connections for users, kind in self._users_of_worker(workers))
        return -(-(workers // hosts) * of_each // self.servers)

    def crowded(self, workers: int) -> str:
        """Why clients of a load generator would have too many users; "" if they don't."""
        for (users, kind), what in zip(self._users_of_worker(workers), ("producers", "consumers"), strict=True):
            if kind.too_many(users):
                return (
                    f"{users:,} {what} on {OWN_CLIENTS_MAX:,} connections, of which each can have {kind.users_max:,} "
                    f"({kind.rule})"
                )
        return ""

    def of_each(self, workers: int, bounds: LoadBounds) -> str:
        """What each of so many load generators would need and can't have; "" if nothing."""
        if crowded := self.crowded(workers):
            return f"would have {crowded}"
        if (files := self.files(workers)) > bounds.files:
            return f"would have about {files:,} open files, and a process may have {bounds.files:,} {bounds.where}"
        if (maps := self.maps(workers)) > bounds.maps:
            return (
                f"would have about {self.threads(workers):,} threads with {maps:,} memory maps, and a process may have "
                f"{bounds.maps:,} {bounds.where}"
            )
        return ""

    def of_host(self, workers: int, bounds: LoadBounds, hosts: int = 1) -> str:
        """What those on each of so many hosts would need together and can't have there; "" if nothing."""
        if (threads := workers // hosts * self.threads(workers)) > bounds.threads:
            return f"about {threads:,} threads, and {bounds.threads:,} more can be started {bounds.where}"
        if (connections := self.connections(workers, hosts)) > bounds.ports:
            host = bounds.address or "this host"
            return f"about {connections:,} connections to a server, and {host} has {bounds.ports:,} ports for them"
        return ""

    def hosts(self, workers: int, bounds: LoadBounds) -> int:
        """How many hosts like this one so many load generators fill."""
        threads = -(-workers * self.threads(workers) // max(1, bounds.threads))
        return max(1, threads, -(-self.connections(workers) // max(1, bounds.ports)))

    def fewest(self, bounds: LoadBounds, *, on_one_host: bool) -> int:
        """The fewest load generators that could hold it, on one host or on as many as it takes; 0 if none could."""
        for workers in range(1, self.workers_max + 1):
            # None is on several hosts.
            fits = not self.of_host(workers, bounds) if on_one_host else self.hosts(workers, bounds) <= workers
            if fits and not self.of_each(workers, bounds):
                return workers
        return 0

    @property
    def workers_max(self) -> int:
        """How many load generators could have a part of it."""
        return min(WORKERS_MAX, self.producers + self.consumers)


def check_clients(plan: Plan, campaign: Campaign, bounds: LoadBounds) -> None:
    """Raise `UserError` with the figures, and with how many load generators would do, where a plan's do not."""
    for step in _step_of_each_system(plan):
        load, workers = _load_of_step(step), campaign.worker.count
        choice, system = step.contender.system, step.contender.implementation
        clients = in_words((load.producers, "producer"), (load.consumers, "consumer"))
        need = f"{campaign.where('workload', 'topics')}: workload.topics: {clients} of {system.title}"
        if short := load.of_each(workers, bounds):
            who = "the load generator" if workers == 1 else f"each of {workers} load generators"
            raise UserError(f"{need}: {who} {short}.", _advice_on_workers(load, bounds))
        if short := load.of_host(workers, bounds, max(1, campaign.worker.hosts)):
            load_generators = plural(campaign.worker.on_one_host, "load generator")
            raise UserError(f"{need}: {load_generators} would have {short}.", _advice_on_workers(load, bounds))
        if campaign.starts_here(choice):
            trial = step.trials[0]
            connections = load.connections(workers)
            files = connections + system.handles(partitions_of_node(trial.workload, choice, trial.nodes)).files
            if connections > _FEW_CONNECTIONS and files > bounds.files:
                raise UserError(
                    f"{need}: a server has {connections:,} connections and so about {files:,} open files, and a "
                    f"process may have {bounds.files:,} here.",
                    f"Raise the hard limit (`ulimit -Hn {files}` as root, or LimitNOFILE), or take fewer topics.",
                )


def _step_of_each_system(plan: Plan) -> list[Step]:
    """A step of each system at each point: the clients of all its trials are the same."""
    steps = {(step.trials[0].system, repr(step.trials[0].point)): step for step in plan.steps if step.trials}
    return list(steps.values())


def _load_of_step(step: Step) -> _Load:
    trial = step.trials[0]
    workload, nodes = trial.workload, SERVERS_UNKNOWN if trial.attached else trial.nodes
    return _Load(*users_of(workload), nodes, step.contender.implementation.clients(workload, trial.choice, nodes))


def in_words(*counted: tuple[int, str]) -> str:
    """What there is any of: "4 producers and 1 consumer"."""
    return " and ".join(plural(number, what) for number, what in counted if number)


def _advice_on_workers(load: _Load, bounds: LoadBounds) -> str:
    """How many load generators, or hosts, would do."""
    if workers := load.fewest(bounds, on_one_host=True):
        return f"{plural(workers, 'load generator')} would do: 'count: {workers}' of 'worker', or --workers {workers}."
    anywhere, like = load.fewest(bounds, on_one_host=False), f"like {bounds.address or 'this one'}"
    fewer = "take fewer topics, producers, subscriptions or consumers"
    if not anywhere:
        most = plural(load.workers_max, "load generator")
        if short := load.of_each(load.workers_max, bounds):
            return f"Each of {most} {short}: raise that limit (`ulimit -n`), or {fewer}."
        return f"Not even {most} on as many hosts {like} could hold them: {fewer}."
    hosts = plural(load.hosts(anywhere, bounds), "host")
    return (
        f"It takes at least {plural(anywhere, 'load generator')}, and {hosts} {like} for them: "
        f"raise its limits (kernel.pid_max, kernel.threads-max, net.ipv4.ip_local_port_range), or {fewer}."
    )


def sharing_of(plan: Plan) -> Sharing:
    """What every system of a plan shares: the load generators of all of them get the same memory."""
    kinds = [_load_of_step(step).kinds for step in _step_of_each_system(plan)]
    return Sharing(
        all(each.producer.users_max > 1 for each in kinds), all(each.consumer.users_max > 1 for each in kinds)
    )


_ONE = "Leave 'count' of 'worker' out (--workers 1): one load generator does it."


def check_workers(trials: Sequence[TrialSpec], choice: WorkerChoice, where: str) -> None:
    """Raise `UserError` if a trial can't be carried out by so many workers."""
    for spec in trials:
        if isinstance(spec, LoadSpec) and spec.generators:
            _check_generators_of_trial(spec, choice, where)
    if choice.count == 1:
        return
    at = f"{where}: worker.count: {choice.count} load generators"
    for spec in trials:
        # On a fleet the host of `run` has it.
        if isinstance(spec, AttestSpec) and not choice.hosts:
            # The history of what was sent, and the reading back, are one worker's.
            raise UserError(f"{at} can't carry out {spec.trial_id}: an attestation has one.", _ONE)
    fewest = min(
        (spec for spec in trials if not isinstance(spec, AttestSpec)),
        key=lambda spec: sum(users_of(spec.workload)),
        default=None,
    )
    users = sum(users_of(fewest.workload)) if fewest is not None else 0
    # On a fleet those that would have nothing to do are left out of that trial: its file is for many campaigns.
    if fewest is not None and users < choice.count and not choice.hosts:
        raise UserError(
            f"{at} are more than {fewest.trial_id} has work for: its producers and consumers are {users} together.",
            f"At most {users} would do; or take more topics, producers, subscriptions or consumers.",
        )


def _check_generators_of_trial(spec: LoadSpec, choice: WorkerChoice, where: str) -> None:
    """Raise `UserError` if an experiment varies the number of load generators, and this trial can't have so many."""
    at, users = f"{where}: {spec.experiment}: largest: {spec.generators} load generators", sum(users_of(spec.workload))
    if choice.hosts:
        raise UserError(
            f"{at}: their number can't be varied where they are on hosts of a fleet.", "Leave out the hosts."
        )
    if users < spec.generators:
        raise UserError(
            f"{at} are more than {spec.trial_id} has work for: its producers and consumers are {users} together.",
            f"Give at most {users}, or take more topics, producers, subscriptions or consumers.",
        )


def generators_of_trial(spec: TrialSpec, choice: WorkerChoice) -> int:
    """How many load generators carry out a trial: on hosts of a fleet no more than it has producers and consumers."""
    if isinstance(spec, AttestSpec):
        return 1
    if isinstance(spec, LoadSpec) and spec.generators:
        return spec.generators
    return min(choice.count, sum(users_of(spec.workload))) if choice.hosts else choice.count


def users_of(workload: Workload) -> tuple[int, int]:
    """All producers and all consumers of a workload, each of which is one worker's."""
    return workload.topics * workload.producers, workload.topics * workload.subscriptions * workload.consumers


PROCESSING_SHARE_MAX = 0.8
"""Of a host's CPUs: with more of them computing for messages, those who send and receive wait for one."""
MSGS_PER_S_LOW, BYTES_PER_S_LOW = 20_000, 64 << 20
"""Every host makes and checks so much by one load generator: no calibration is needed to know it."""


def sizes_to_know(trials: Iterable[TrialSpec], workers: int) -> list[int]:
    """The message sizes (see `size_class`) of trials whose fixed rate may be too much for so many load generators."""
    return sorted({size_class(_message_bytes(trial)) for trial in trials if _may_overload_generators(trial, workers)})


def calibration_for(workload: Workload, calibrations: Iterable[Calibration]) -> Calibration | None:
    """The calibration for messages of the workload's size; None if it is not known."""
    message_bytes = size_class(workload.payload.message_bytes)
    return next((calibration for calibration in calibrations if calibration.message_bytes == message_bytes), None)


def known_rate_max(workload: Workload, workers: int, calibrations: Iterable[Calibration]) -> float | None:
    """What so many load generators make and check of a workload together, msg/s of the trial; None if not known.

    Nor is it by a doubtful calibration: that may be too low, and a rate that is near it says nothing.
    """
    calibration = calibration_for(workload, calibrations)
    return None if calibration is None or calibration.doubtful else calibration.rate_max(workload, workers)


def sizing_warnings(trials: Sequence[TrialSpec], workers: int, calibrations: Sequence[Calibration]) -> tuple[str, ...]:
    """A sentence for each message size whose trials ask too much of each of so many load generators."""
    trials_by_size: dict[int, list[tuple[float, TrialSpec, Calibration]]] = {}
    for trial in trials:
        if not _may_overload_generators(trial, workers):
            continue
        calibration = calibration_for(trial.workload, calibrations)
        if calibration is None:
            continue
        share = trial.most_msgs_per_s / calibration.rate_max(trial.workload, workers)
        if share > GENERATOR_SHARE_MAX:
            trials_by_size.setdefault(calibration.message_bytes, []).append((share, trial, calibration))
    return tuple(_warning_for_size(over, workers) for over in trials_by_size.values())


def processing_warnings(trials: Sequence[TrialSpec], cpus: int) -> tuple[str, ...]:
    """A sentence where consumers process messages on more CPUs than remain for anything else on their host."""
    needed = [(trial.workload.processing_cpus(_rate_to_consume(trial)), trial) for trial in trials]
    over = [entry for entry in needed if entry[0] > PROCESSING_SHARE_MAX * cpus]
    if not over:
        return ()
    most, trial = max(over, key=lambda entry: entry[0])
    others = _words_for_others(len(over) - 1)
    return (
        f"{trial.trial_id} has consumers process on {most:.1f} of this host's {plural(cpus, 'CPU')}: too little is "
        "left for what sends and receives, and for servers here, so messages wait for a CPU, whatever the system does. "
        f"Take fewer consumers, a lower rate, or processing that waits.{others}",
    )


def _words_for_others(trials: int) -> str:
    return f" The same holds for {plural(trials, 'other trial')}." if trials else ""


def _rate_to_consume(trial: TrialSpec) -> float | None:
    """The highest rate at which consumers are given messages; None = as fast as they take them."""
    open_loop = isinstance(trial, LoadSpec) and trial.workload.arrival is not Arrival.CLOSED_LOOP
    return (trial.most_msgs_per_s or None) if open_loop else None


def _warning_for_size(over: Sequence[tuple[float, TrialSpec, Calibration]], workers: int) -> str:
    """A sentence about the trial that asks most of load generators; the others are counted."""
    share, trial, calibration = max(over, key=lambda entry: entry[0])
    others = _words_for_others(len(over) - 1)
    who = "one load generator makes and checks" if workers == 1 else f"{workers} load generators make and check"
    most = calibration.rate_max(trial.workload, workers)
    of = size(calibration.message_bytes)
    why = "it lacked CPU" if calibration.starved else "other work ran"
    doubt = f", measured while {why}" if calibration.doubtful else ""
    return (
        f"{trial.trial_id} asks for {count(trial.most_msgs_per_s)} msg/s: {share:.0%} of the {count(most)} of "
        f"{of} that {who} on this host{doubt}, and above {GENERATOR_SHARE_MAX:.0%} delays may be the generator's own. "
        f"{_remedy_for_rate(trial, calibration)}{others}"
    )


def _remedy_for_rate(trial: TrialSpec, calibration: Calibration) -> str:
    rate, workload = trial.most_msgs_per_s, trial.workload
    enough = workers_needed(workload, rate, calibration)
    if enough is None:
        return f"Not even {plural(WORKERS_MAX, 'load generator')} would do: lower the rate."
    grown = with_clients(workload, enough)
    clients = in_words(
        (enough if grown.producers > workload.producers else 0, "producer"),
        (enough if grown.consumers > workload.consumers else 0, "consumer"),
    )
    having = f", with at least {clients}" if clients else ""
    limit = GENERATOR_SHARE_MAX * calibration.rate_max(grown, enough)
    if rate <= limit:
        return f"{plural(enough, 'load generator')} would do (--workers {enough}){having}."
    return (
        f"{plural(enough, 'load generator')} would do{having}, but not on this host, whose "
        f"{plural(calibration.cpus, 'CPU')} they share: lower the rate to {count(limit)} msg/s, or less if servers run "
        "here, or take a host with more CPUs."
    )


def workers_needed(workload: Workload, msgs_per_s: float, calibration: Calibration) -> int | None:
    """The fewest load generators, on hosts like this one, that have room to spare at a rate; None if none do."""
    for workers in range(1, WORKERS_MAX + 1):
        most = calibration.rate_max(with_clients(workload, workers), workers, shares_host=False)
        if msgs_per_s <= GENERATOR_SHARE_MAX * most:
            return workers
    return None


def with_clients(workload: Workload, workers: int) -> Workload:
    """The workload with a producer and, in each subscription, a consumer for each of so many load generators."""
    each = -(-workers // workload.topics)
    return replace(
        workload,
        producers=max(workload.producers, each),
        consumers=max(workload.consumers, each) if workload.subscriptions else workload.consumers,
    )


def _may_overload_generators(trial: TrialSpec, workers: int) -> bool:
    """Whether a trial's fixed rate is above what so many load generators make and check on any host.

    Of an experiment that looks for their number nobody knows yet how many there are.
    """
    if not isinstance(trial, LoadSpec) or trial.generators or trial.workload.arrival is Arrival.CLOSED_LOOP:
        return False
    each = trial.most_msgs_per_s * (1 + trial.workload.subscriptions) / 2 / workers
    return each > MSGS_PER_S_LOW or each * _message_bytes(trial) > BYTES_PER_S_LOW


def _message_bytes(trial: TrialSpec) -> int:
    return trial.workload.payload.message_bytes

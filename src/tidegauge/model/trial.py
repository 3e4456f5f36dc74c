"""Trials: what one is asked to do, and what came of it. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Self, TypeAlias, TypeVar

from tidegauge.model.attest import AttestOutcome, AttestPlan
from tidegauge.model.disturbance import Disturbance, HostAccount
from tidegauge.model.faults import Fault, FaultResult
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.load import ClockBound
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.sending import Sending
from tidegauge.model.use import Limiting, Seen
from tidegauge.model.workload import DeviceReads, LateReaders, RateSchedule, ServerLimits, Workload
from tidegauge.plain import AsText


class ServerReuse(StrEnum):
    """Whose servers a trial runs on: its own, or those that earlier trials left running."""

    FRESH = "fresh"
    SHARED = "shared"


@dataclass(frozen=True)
class RateRule(AsText):
    """A rate, or the rates of a schedule, as a campaign words them: "50% of lowest peak". As text the words alone.

    Attributes:
        is_share: whether any is a share of what was found before in the run, so that it may differ from run to run.
    """

    words: str = ""
    is_share: bool = False

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The rule of these words: in a campaign a share is given in percent, and nothing else is."""
        return cls(text, "%" in text)

    def __str__(self) -> str:
        """The words."""
        return self.words


AS_FAST_AS_IT_GOES = RateRule("as fast as it goes")
SEARCHED = RateRule("searched")
CONFIRMATION = RateRule("confirmation")
"""Of a trial that confirms what a search found."""


@dataclass(frozen=True, kw_only=True)
class TrialSpec:
    """What a trial of any kind is asked to do: on which servers, with which clients, and for how long.

    Attributes:
        trial_id: unique in its run and fit for a directory name: "0001-peak-kafka".
        system: "kafka@4.3.1".
        block: repetition number, from 0.
        rate_rule: the rate as the campaign words it; in a plan it distinguishes a load that waits for its rate from a
            closed loop (whose `workload.arrival` says so).
        measure_s: of a load the measured window, of reading the longest, of an attestation an estimate of all cycles.
        servers: SHARED trials get topics of their own on servers that are not restarted between them.
        exploratory: a step towards a finding. Its figures are shown by the finding and not in tables of their own, and
            that it failed, lost messages or was INVALID is an answer to the question asked, not a defect of the run.
        attached: whether others run the cluster. `nodes` is then what it reported; in a plan, what the campaign says.
        serverless: whether there are no servers: the load generator itself keeps the messages.
        apart: whether its servers are started on other hosts than its load generator's, those of a fleet.
        load_hosts: of the fleet, on which its load generators are; 0 = on the host that ran it.
        copies: replicas of each topic that were asked for; 0 = as many as nodes, up to three.
        point: of the campaign's sweep, by axis as the campaign words it; empty without a sweep. Systems are compared
            within a point only.
        sending: how its producers are to send, with what the campaign gives this system alone; None where nothing is
            sent. What they did is `MeasuredResult.sending`.
    """

    trial_id: str
    experiment: str
    system: str
    choice: LevelChoice
    nodes: int
    block: int
    seed: int
    workload: Workload
    measure_s: float = 0.0
    rate_rule: RateRule = RateRule()
    servers: ServerReuse = ServerReuse.FRESH
    exploratory: bool = False
    attached: bool = False
    serverless: bool = field(default=False, metadata={"if_any": True})
    apart: bool = False
    load_hosts: int = field(default=0, metadata={"if_any": True})
    copies: int = 0
    point: Mapping[str, str] = field(default_factory=dict)
    sending: Sending | None = field(default=None, metadata={"if_any": True})

    @property
    def elsewhere(self) -> bool:
        """Whether servers are on other hosts than the load generator, whoever runs them."""
        return self.attached or self.apart

    @property
    def has_servers_of_run(self) -> bool:
        """Whether servers are started for it, wherever."""
        return not (self.attached or self.serverless)

    @property
    def leaves_servers(self) -> bool:
        """Whether its servers go on for the trial after it."""
        return self.servers is ServerReuse.SHARED

    @property
    def shared(self) -> dict[str, Any]:
        """What trials of all kinds have, as arguments for one of another kind."""
        return {shared.name: getattr(self, shared.name) for shared in fields(TrialSpec)}

    @property
    def most_msgs_per_s(self) -> float:
        """The highest rate offered at any instant; 0 where it is not known beforehand, or nothing is sent."""
        return 0.0

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is done to nodes while it measures; only loads have any."""
        return ()

    @property
    def form(self) -> str:
        """The way in which the system gives its level ("bypass"); "" where it has one only, or the cluster decides."""
        return "" if self.choice.as_found and not self.choice.is_open else self.choice.form

    @property
    def step_id(self) -> str:
        """The step of a search or curve that it is a trial of, by its name. Only trials of one may be asked."""
        return self.trial_id.rsplit(_OF_STEP, 1)[0]

    def is_of_step(self, step_id: str) -> bool:
        """Whether it is a trial of this search or curve, by its name."""
        return self.trial_id.startswith(f"{step_id}{_OF_STEP}")

    @property
    def is_confirmation(self) -> bool:
        """Whether it is to confirm what a search found, by its name."""
        return self.trial_id.endswith(_CONFIRMS)

    @property
    def question(self) -> tuple[str, str, str]:
        """What it helps to answer: its experiment, of its system, at its point of a sweep in words."""
        return self.experiment, self.system, point_words(self.point)

    @property
    def label(self) -> str:
        """The system with that form, as tables show it: "pulsar@4.2.4 (bypass)"."""
        return with_form(self.system, self.form)


@dataclass(frozen=True, kw_only=True)
class LoadSpec(TrialSpec):
    """A trial that sends: at a rate, or in a closed loop (`msgs_per_s` None), as fast as the window lets it go.

    Attributes:
        schedule: what the rate does in the measured window; None if it stays. `msgs_per_s` is then the rate of the
            warm-up.
        late: subscriptions that begin to read only when a backlog waits for them; None = all read from the start.
            `measure_s` is then the least time measured before they begin, and the time measured once they are done.
        limits: what the servers may use; None = what the machine has.
        faults: what is done to nodes while it measures, by time; never one before another is over.
        generators: how many load generators carry it out; 0 = as many as the campaign has.
        messages: so many are measured: the window ends with the last one's outcome, and `measure_s` is what it is
            expected to take; 0 = the window ends by time.
        measure_s_max: of a number of messages the longest window.
    """

    msgs_per_s: float | None
    warmup_s_min: float
    warmup_s_max: float
    drain_s_max: float
    late: LateReaders | None = None
    limits: ServerLimits | None = None
    schedule: RateSchedule | None = None
    faults: tuple[Fault, ...] = ()
    generators: int = field(default=0, metadata={"if_any": True})
    messages: int = field(default=0, metadata={"if_any": True})
    measure_s_max: float = field(default=0.0, metadata={"if_any": True})

    @property
    def most_msgs_per_s(self) -> float:
        """The highest rate offered at any instant; 0 in a closed loop, or where it is found on the way."""
        return max(self.msgs_per_s or 0.0, self.schedule.most_msgs_per_s if self.schedule else 0.0)


@dataclass(frozen=True, kw_only=True)
class ReadSpec(TrialSpec):
    """A trial that sends nothing: consumers read topics that others fill, until nothing has come for `drain_s_max`."""

    drain_s_max: float


@dataclass(frozen=True, kw_only=True)
class AttestSpec(TrialSpec):
    """An attestation: what is done to the servers, cycle by cycle, while each cycle's load is sent at a rate."""

    msgs_per_s: float
    attest: AttestPlan

    @property
    def leaves_servers(self) -> bool:
        """Never: what cuts of power leave of servers is nothing to measure on."""
        return False

    @property
    def most_msgs_per_s(self) -> float:
        """The rate of its load."""
        return self.msgs_per_s


AnySpec: TypeAlias = LoadSpec | ReadSpec | AttestSpec
_OF_STEP, _CONFIRMS = "-s", "-confirm"


def trial_id_in_step(step_id: str, number: int, *, confirms: bool = False) -> str:
    """The name of a trial of a search or curve: "0003-max-throughput-kafka-s07-confirm"."""
    return f"{step_id}{_OF_STEP}{number:02d}{_CONFIRMS if confirms else ''}"


Spec = TypeVar("Spec", bound=TrialSpec)
"""For what takes a trial of any kind and gives something of the same kind."""


def family(system: str) -> str:
    """ "kafka" of "kafka@4.3.1"."""
    return system.partition("@")[0]


def with_form(name: str, form: str) -> str:
    """A system's name with the form in which it gives its durability level, if it has several."""
    return f"{name} ({form})" if form else name


def point_words(point: Mapping[str, str]) -> str:
    """A point of a sweep in words: "partitions=100, durability=3"; "" without one."""
    return ", ".join(f"{axis}={value}" for axis, value in point.items())


@dataclass(frozen=True)
class Latency:
    """Summary of a histogram, in ms. A percentile is None where there are too few samples for it.

    p99.99 needs at least 100,000 samples, p99.9 10,000, p99 1,000, p95 200, so that at least ten lie beyond it. Files
    of earlier versions have no p75, p90 and p99.99.
    """

    count: int
    mean_ms: float
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    max_ms: float
    p75_ms: float | None = None
    p90_ms: float | None = None
    p9999_ms: float | None = None

    def percentile_ms(self, percentile: str) -> float | None:
        """A percentile by its name: "p50", "p99.9"."""
        value_ms: float | None = getattr(self, f"{percentile.replace('.', '')}_ms")
        return value_ms


NO_LATENCY = Latency(0, 0.0, None, None, None, None, 0.0)
"""The summary of nothing."""


@dataclass(frozen=True)
class Slope:
    """How fast a count changes, a second, with the 95 % interval around it."""

    per_s: float
    low_per_s: float
    high_per_s: float


@dataclass(frozen=True, kw_only=True)
class SubscriptionCounts:
    """What consumers of one subscription received in the whole trial. `foreign`: messages that it had not sent."""

    name: str
    received: int
    corrupt: int
    foreign: int


@dataclass(frozen=True, kw_only=True)
class SubscriptionResult(SubscriptionCounts):
    """One subscription of a load: whole-trial counts; end-to-end and the backlog's growth over the measured window.

    `backlog` is what was left after the drain. Where consumers received nothing more, it was looked for by a fresh
    reader and is `lost` (in no topic; `lost_why`: how the servers say that one is gone, if they do), `late` (there, but
    not delivered in time) or `untraced` (not known, and why). Where they were still receiving nobody looked, and all
    three are 0. `window_end_backlog` is what waited when the measured window ended; None where that was not seen.
    `backlog_growth` is None where the window was too short. Examples are of the first few: "producer 0 sequence 17".

    Where messages go from host to host, `end_to_end_low` and `end_to_end_high` are what clocks allow at least and at
    most, and of `end_to_end`, the middle, percentiles that are not known to a tenth are None; both None on one clock.

    Where consumers process messages, `in_consumer` is the time from receipt to the end of processing, `processed` that
    from the intended time to it, and `processing_share` the share of the window that they spent on it, on average over
    all that may receive messages, and `processing_cpu_s` the CPU time of it in the window, summed over them; else None.
    """

    end_to_end: Latency
    backlog: int
    lost: int
    duplicated: int
    reordered: int
    negative_latency: int
    lost_why: str = ""
    late: int = 0
    untraced: int = 0
    untraced_why: str = ""
    lost_examples: tuple[str, ...] = ()
    late_examples: tuple[str, ...] = ()
    backlog_growth: Slope | None = None
    window_end_backlog: int | None = None
    duplicated_examples: tuple[str, ...] = ()
    reordered_examples: tuple[str, ...] = ()
    corrupt_examples: tuple[str, ...] = ()
    end_to_end_low: Latency | None = field(default=None, metadata={"if_any": True})
    end_to_end_high: Latency | None = field(default=None, metadata={"if_any": True})
    in_consumer: Latency | None = field(default=None, metadata={"if_any": True})
    processed: Latency | None = field(default=None, metadata={"if_any": True})
    processing_share: float | None = field(default=None, metadata={"if_any": True})
    processing_cpu_s: float | None = field(default=None, metadata={"if_any": True})


@dataclass(frozen=True, kw_only=True)
class ReadSubscription(SubscriptionCounts):
    """One subscription of a trial that only reads; of messages of others nothing is known but their number.

    `verified`: messages that an earlier trial of Tidegauge had made, whose checksums were checked; `foreign` are all
    others.
    """

    verified: int = 0


@dataclass(frozen=True)
class BusyConsumer:
    """A subscription's consumer in the load generator that had no time left in some seconds of the measured window.

    Attributes:
        name: "sub-0 consumer 1"; of several the one that was the busiest most often.
        seconds: of the window, as far as they were seen.
        busy_seconds: those in which a consumer of the subscription ran, or waited for a CPU, nearly all the time.
        waiting_ms: for which messages waited for it in those on average, by Little's law: backlog over rate of receipt.
    """

    name: str
    subscription: str
    seconds: int
    busy_seconds: int
    waiting_ms: float

    @property
    def busy_share(self) -> float:
        """Share of the window's seconds in which it had no time left."""
        return self.busy_seconds / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class RecordResult:
    """One record of a rate schedule: the messages intended in its phases. `end_to_end`: of the slowest subscription.

    `offered_msgs_per_s` is what its phases asked for, `msgs_per_s` what was acknowledged while they lasted.
    """

    name: str
    seconds: float
    offered_msgs_per_s: float
    msgs_per_s: float
    intended: int
    failed: int
    response: Latency
    service: Latency
    delay: Latency
    end_to_end: Latency


@dataclass(frozen=True)
class PhaseFigures:
    """One phase of a trial with late readers.

    Attributes:
        seconds: its length; 0 if it never came.
        msgs_per_s: acknowledged.
        response: of messages acknowledged in it.
        tailing_end_to_end: of messages received in it by subscriptions that read all the time; None without any.
        late_msgs_per_s: received by the late subscriptions together.
    """

    phase: str
    seconds: float
    msgs_per_s: float
    response: Latency
    tailing_end_to_end: Latency | None
    late_msgs_per_s: float


@dataclass(frozen=True)
class CatchUp:
    """How late readers caught up. Where there are several subscriptions of them, backlogs are those of the largest.

    Attributes:
        backlog_msgs, backlog_bytes: waiting when they began; bytes of message values.
        build_s: from the first message to that moment.
        chase_s: from the readers' start until the backlog was gone; None if that never happened.
        watched_s: as long as that, or until the limit.
        drain_msgs_per_s, drain_bytes_per_s: by which the backlog shrank on average; negative if it grew.
        slope: of the backlog while they read; None with fewer than six seconds.
        peak_read_msgs_per_s, peak_read_bytes_per_s: most received in one second by all late readers together.
        left_msgs: how large the backlog was at the end of `watched_s`, with what was sent meanwhile.
        limits: what of `LoadSpec.limits` was in force, and why the rest was not, in words.
    """

    backlog_msgs: int
    backlog_bytes: int
    build_s: float
    chase_s: float | None
    watched_s: float
    drain_msgs_per_s: float
    drain_bytes_per_s: float
    slope: Slope | None
    peak_read_msgs_per_s: float
    peak_read_bytes_per_s: float
    left_msgs: int
    phases: tuple[PhaseFigures, ...]
    reads: DeviceReads
    limits: tuple[str, ...] = ()

    def phase(self, name: str) -> PhaseFigures:
        """The figures of one phase."""
        return next(phase for phase in self.phases if phase.phase == name)


class Validity(StrEnum):
    """Whether a trial's figures may be used. DOUBTFUL figures are shown with the doubt."""

    VALID = "valid"
    DOUBTFUL = "doubtful"
    INVALID = "invalid"

    @property
    def shown(self) -> str:
        """In capitals what is not valid."""
        return self.value if self is Validity.VALID else self.value.upper()


@dataclass(frozen=True, kw_only=True)
class WorkerResult:
    """What one of several load generators had of the measured window.

    Attributes:
        worker: its number, from 1.
        process: its name, which its log and the rows of telemetry have: "worker-2".
        offered_msgs_per_s: what its producers were to send; None where they went as fast as it goes, or sent nothing.
        msgs_per_s: acknowledged; `received_msgs_per_s`: by its consumers, of all subscriptions.
        response, own_lag: of its own messages.
        cpu_wait_s: summed over its load threads.
        started_ms, stopped_ms: for how long others had begun, and had intended their last message; None if not known.
    """

    worker: int
    process: str
    offered_msgs_per_s: float | None
    msgs_per_s: float
    received_msgs_per_s: float
    response: Latency
    own_lag: Latency
    cpu_s: float
    cpu_wait_s: float
    gc_pause_s: float
    started_ms: float | None
    stopped_ms: float | None


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """What a trial of any kind found.

    Attributes:
        reasons: why it is not VALID; empty when it is.
        warnings: what a reader should know though the trial is valid.
        worker_cpu_s, gc_pause_s: of the load generator, inside the measured window; of an attestation, of all cycles.
    """

    spec: TrialSpec
    started_at: str
    status: str
    validity: Validity = Validity.VALID
    reasons: tuple[Reason, ...] = ()
    warnings: tuple[Reason, ...] = ()
    errors: tuple[tuple[str, str, int], ...]
    worker_cpu_s: float
    gc_pause_s: float
    measured_s: float
    level: LevelFinding

    def is_doubted_for(self, kind: ReasonKind) -> bool:
        """Whether one of its reasons is of this kind."""
        return any(reason.kind is kind for reason in self.reasons)

    def is_warned_of(self, *kinds: ReasonKind) -> bool:
        """Whether one of its warnings is of one of these kinds."""
        return any(warning.kind in kinds for warning in self.warnings)


@dataclass(frozen=True, kw_only=True)
class MeasuredResult(TrialResult):
    """A trial that measured how fast messages went: a load, or reading.

    Attributes:
        msgs_per_s: acknowledged messages a second, by when their acknowledgement arrived, over the window; where
            nothing is sent, received ones, between the first and the last receipt.
        mb_per_s: message values of these, 10^6 bytes a second.
        offered_msgs_per_s: None where it went as fast as it goes.
        server_cpu_s: CPU seconds inside the measured window; None for servers that others run.
        control_cpu_s: the same of Tidegauge's own control (this process and the host's agent), which runs beside; None
            if it was not recorded.
        seen: what devices and loopback moved over the measured window; None if nobody looked.
        limiting: what limited the rate (of late readers: the reading); None if what was used was not recorded.
        telemetry_cpus: CPUs that recording it took on average.
        workers: what each of several load generators had of it; () of one alone, and then not written.
        disturbances: what others disturbed, the worst first; `accounts`: who used the CPUs of each host that had a part
            in it; () where there were none or nobody looked, and then not written.
        sending: how its producers sent, as they reported it; None where nothing was sent.
    """

    spec: LoadSpec | ReadSpec
    msgs_per_s: float
    mb_per_s: float
    offered_msgs_per_s: float | None = None
    subscriptions: tuple[SubscriptionCounts, ...]
    server_cpu_s: float | None
    control_cpu_s: float | None = None
    seen: Seen | None = None
    limiting: Limiting | None = None
    telemetry_cpus: float | None = None
    workers: tuple[WorkerResult, ...] = field(default=(), metadata={"if_any": True})
    disturbances: tuple[Disturbance, ...] = field(default=(), metadata={"if_any": True})
    accounts: tuple[HostAccount, ...] = field(default=(), metadata={"if_any": True})
    sending: Sending | None = field(default=None, metadata={"if_any": True})

    @property
    def is_excused(self) -> bool:
        """Whether what others disturbed would have been judged, had a variable not let it decide nothing."""
        return any(disturbance.excused for disturbance in self.disturbances)

    @property
    def lost(self) -> int:
        """Acknowledged messages that did not arrive, over all subscriptions; none where nothing was sent."""
        return 0

    @property
    def corrupt(self) -> int:
        """Messages that arrived damaged, over all subscriptions."""
        return sum(sub.corrupt for sub in self.subscriptions)


@dataclass(frozen=True, kw_only=True)
class LoadResult(MeasuredResult):
    """What a trial that sends found.

    Attributes:
        steady: whether warm-up ended because the figures were steady (False: it ran into its limit).
        disk_fsync_ms: mean of 4 KiB appends with fdatasync on the data's disk just before the servers were started.
        catch_up: how late readers caught up; None without any.
        records: of a rate schedule, one for each step or kind of phase.
        faults: one for each of the spec's, in their order.
        aborted: the rule of `abort-on` that ended it before its time; "" = it was not aborted. Its figures are those
            until then.
        busy_consumer: the load generator's consumer that had no time left most often; None if each always had some.
        jit_cpus: CPUs that the load generator's JIT compiler took on average over the window; None if nobody looked.
        clocks: how well those of load generators on several hosts were known; () on one host, and then not written.
    """

    spec: LoadSpec
    sent: int
    acked: int
    failed: int
    unresolved: int
    response: Latency
    service: Latency
    delay: Latency
    own_lag: Latency
    subscriptions: tuple[SubscriptionResult, ...]
    warmup_s: float
    steady: bool
    disk_fsync_ms: float | None = None
    catch_up: CatchUp | None = None
    records: tuple[RecordResult, ...] = ()
    faults: tuple[FaultResult, ...] = ()
    busy_consumer: BusyConsumer | None = None
    aborted: str = field(default="", metadata={"if_any": True})
    jit_cpus: float | None = None
    clocks: tuple[ClockBound, ...] = field(default=(), metadata={"if_any": True})

    @property
    def lost(self) -> int:
        """Acknowledged messages that are in no topic and did not arrive, over all subscriptions."""
        return sum(sub.lost for sub in self.subscriptions)


@dataclass(frozen=True, kw_only=True)
class ReadResult(MeasuredResult):
    """What a trial that only read found."""

    spec: ReadSpec
    subscriptions: tuple[ReadSubscription, ...]


@dataclass(frozen=True, kw_only=True)
class AttestResult(TrialResult):
    """What the cycles of an attestation found. It has no rates and latencies: its load was interrupted."""

    spec: AttestSpec
    sent: int
    acked: int
    failed: int
    unresolved: int
    attest: AttestOutcome


AnyResult: TypeAlias = LoadResult | ReadResult | AttestResult

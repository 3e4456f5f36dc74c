"""Between the messages of worker.proto and the plain types of `worker.api` and `model`. Times in monotonic ns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from tidegauge.model.load import (
    ApartLatency,
    ReceivedSequences,
    RecordFigures,
    SecondFigures,
    SentSequences,
    SubscriptionSecond,
    SubscriptionTotals,
    TotalFigures,
    WindowFigures,
    WorkerFacts,
)
from tidegauge.model.message import CommittedPosition, CommittedPositions, PartitionRead, ReadBack
from tidegauge.model.server import Setting
from tidegauge.model.workload import POOL_BODIES, Keys, Payload, RateSchedule, Workload
from tidegauge.worker.api import LeftResults, LoadOrder, Positions, Share, Trace
from tidegauge.worker.generated import worker_pb2 as pb
from tidegauge.worker.sequences import present_sequences


def prepare_request(
    order: LoadOrder, spin_share_max: float | None = None, grain_ns: int | None = None
) -> pb.PrepareRequest:
    """What a worker is to prepare. Choices have the names that they have here, or those with a prefix."""
    workload = order.workload
    return pb.PrepareRequest(
        connection=pb.Connection(driver=order.driver, settings=dict(order.connection)),
        trial_id=order.trial_number,
        seed=order.seed,
        topics=[
            pb.TopicSpec(
                name=name,
                partitions=workload.partitions,
                replication_factor=order.replication_factor,
                settings=dict(order.topic_settings),
            )
            for name in order.topic_names
        ],
        producers_per_topic=workload.producers,
        subscriptions_per_topic=workload.subscriptions,
        consumers_per_subscription=workload.consumers,
        payload=_payload_message(workload.payload, order.seed),
        keys="NO_KEY" if workload.keys is Keys.NONE else workload.keys.name,
        distinct_keys=workload.distinct_keys,
        zipf_exponent=workload.zipf_exponent,
        key_file=workload.key_file.path if workload.key_file else "",
        arrival=workload.arrival.name,
        msgs_per_s=order.msgs_per_s,
        client=_client_options(order, workload),
        own_lag_tolerance_ns=round(order.own_lag_tolerance_ms * 1e6),
        consumers_start_paused=order.consumers_start_paused,
        subscriptions_start_paused=order.subscriptions_start_paused,
        subscription_type=f"SUBSCRIBE_{workload.subscription_type.name}",
        existing_topics=bool(workload.existing_topics),
        schedule=_schedule_message(order.schedule),
        window_messages=order.window_messages,
        processing_ns=[round(time_s * 1e9) for time_s in workload.processing.times_s()] if workload.processing else [],
        processing_on_cpu=workload.processing is not None and workload.processing.on_cpu,
        consumer_msgs_per_s_max=workload.consumer_msgs_per_s_max,
        history_directory=order.history_directory,
        spin_share_max=spin_share_max,
        grain_ns=grain_ns,
        share=_share_message(order.share),
    )


def _payload_message(payload: Payload, seed: int) -> pb.Payload:
    sizes = payload.sizes
    return pb.Payload(
        message_bytes=payload.message_bytes,
        message_bytes_max=payload.message_bytes_max,
        random_share=payload.random_share,
        file=payload.file,
        pool_bodies=payload.pool_bodies or POOL_BODIES,
        sizes=sizes.shuffled_pool_bytes(seed, payload.pool_bodies) if sizes else [],
        given=sizes is not None and sizes.kind.is_given,
    )


def _share_message(share: Share | None) -> pb.Share | None:
    return pb.Share(**vars(share)) if share else None


def _schedule_message(schedule: RateSchedule | None) -> pb.RateSchedule | None:
    if schedule is None:
        return None
    phases = [
        pb.RatePhase(
            from_msgs_per_s=phase.from_msgs_per_s,
            to_msgs_per_s=phase.to_msgs_per_s,
            length_ns=round(phase.length_s * 1e9),
            record=phase.record,
        )
        for phase in schedule.phases
    ]
    return pb.RateSchedule(phases=phases, repeat=schedule.repeat)


def _client_options(order: LoadOrder, workload: Workload) -> pb.ClientOptions:
    client = workload.client
    system = order.system.partition("@")[0]
    return pb.ClientOptions(
        batch_bytes_max=client.batch_bytes_max,
        batch_delay_us_max=round(client.batch_delay_ms_max * 1e3),
        compression=client.compression.name,
        in_flight_messages_max=workload.in_flight_messages(),
        receive_queue_messages=workload.receive_queue_messages(),
        connections_per_broker=client.connections_per_broker,
        acks=order.acks,
        producer_overrides=dict(order.workload.producer_overrides.get(system, {})),
        consumer_overrides=dict(order.workload.consumer_overrides.get(system, {})),
        outcome_timeout_ms=round(order.outcome_timeout_s * 1e3),
    )


def settings_of(message: pb.DescribeReply | pb.PrepareReply) -> list[Setting]:
    """Effective settings; whether one is the default stays None if the system did not say."""
    setting_messages = message.settings if isinstance(message, pb.DescribeReply) else message.client_settings
    return [
        Setting(
            s.scope,
            s.name,
            s.value,
            s.is_default if s.HasField("is_default") else None,
            s.default_value if s.HasField("default_value") else None,
        )
        for s in setting_messages
    ]


T = TypeVar("T")


def make_reader(
    kind: type[T],
    without: Collection[str] = (),
    renamed: Mapping[str, str] | None = None,
    **convert: Callable[[Any], Any],
) -> Callable[[Any], T]:
    """Makes plain data of messages whose fields have the names of `kind`'s; `convert`: of fields that are no scalars.

    Fields at the end that messages are `without` keep their defaults. `renamed`: the message's names of fields that
    have another there.

    Plain data, for a message is mutable, makes an object of a field each time it is looked at, and is known to this
    package only. Reading a second takes some microseconds.
    """
    names = [field.name for field in fields(kind) if field.name not in without]  # type: ignore[arg-type]  # a dataclass
    names_in_message = [(renamed or {}).get(name, name) for name in names]
    # Of one name it gives the value itself.
    values_of = (
        attrgetter(*names_in_message) if len(names) > 1 else lambda message: (getattr(message, *names_in_message),)
    )
    converters = [(names.index(name), function) for name, function in convert.items()]

    def read(message: Any) -> T:
        values = list(values_of(message))
        for place, function in converters:
            values[place] = function(values[place])
        return kind(*values)

    return read


def _reader_of_each(read: Callable[[Any], T]) -> Callable[[Iterable[Any]], tuple[T, ...]]:
    return lambda items: tuple(map(read, items))


facts_of: Callable[[pb.HandshakeReply], WorkerFacts] = make_reader(WorkerFacts, jvm_flags=tuple, drivers=dict)
"""How the worker introduced itself."""
second_of: Callable[[pb.SecondFigures], SecondFigures] = make_reader(
    SecondFigures, without=("workers",), subscriptions=_reader_of_each(make_reader(SubscriptionSecond))
)
"""One second of a trial."""
totals_of: Callable[[pb.TotalFigures], TotalFigures] = make_reader(
    TotalFigures,
    without=("workers", "clocks"),
    window=make_reader(WindowFigures, records=_reader_of_each(make_reader(RecordFigures))),
    subscriptions=_reader_of_each(
        make_reader(
            SubscriptionTotals,
            lost_examples=tuple,
            record_end_to_end=tuple,
            duplicated_examples=tuple,
            reordered_examples=tuple,
            corrupt_examples=tuple,
            apart=_reader_of_each(make_reader(ApartLatency)),
            without=("end_to_end_low", "end_to_end_high"),
            # Of a trial that goes on and of one that has ended the same figure has two names.
            renamed={"backlog": "lost"},
        )
    ),
    errors=_reader_of_each(attrgetter("where", "message", "count")),
)
"""Totals of a trial."""
positions_of: Callable[[pb.CommittedPositionsReply], CommittedPositions] = make_reader(
    CommittedPositions, positions=_reader_of_each(make_reader(CommittedPosition))
)
"""How far subscriptions had come."""


def second_here(figures: SecondFigures, ahead_ns: int) -> SecondFigures:
    """A second of a worker whose clock is ahead of the controller's, on the controller's."""
    return _with_instants_shifted(figures, -ahead_ns, "from_mono_ns", "until_mono_ns") if ahead_ns else figures


def totals_here(totals: TotalFigures, ahead_ns: int) -> TotalFigures:
    """Totals of a worker whose clock is ahead of the controller's, on the controller's; instants of 0 are not known."""
    if not ahead_ns:
        return totals
    window = _with_instants_shifted(totals.window, -ahead_ns, "from_mono_ns", "until_mono_ns", "last_outcome_mono_ns")
    receipts = ("first_received_mono_ns", "last_received_mono_ns")
    subscriptions = tuple(_with_instants_shifted(sub, -ahead_ns, *receipts) for sub in totals.subscriptions)
    return replace(totals, window=window, subscriptions=subscriptions)


def _with_instants_shifted(figures: T, by_ns: int, *instants: str) -> T:
    moved = {name: at + by_ns for name in instants if (at := getattr(figures, name))}
    return replace(figures, **moved)  # type: ignore[type-var]  # a dataclass


_sent_of = make_reader(SentSequences)
_received_of = make_reader(ReceivedSequences)


def sequences_of(message: pb.SequencesPart) -> SentSequences | ReceivedSequences:
    """What a producer sent, or what a subscription received of one."""
    return _sent_of(message.sent) if message.HasField("sent") else _received_of(message.received)


def left_results_request(trial_id: int, share: Share | None) -> pb.LeftResultsRequest:
    """Which results are meant: those of a worker alone, or of one of several."""
    return pb.LeftResultsRequest(trial_id=trial_id, share=_share_message(share))


def left_results_of(parts: Iterable[pb.ResultsPart]) -> list[LeftResults]:
    """What one worker left; [] if it left nothing."""
    header = pb.ResultsHeader()
    seconds: list[SecondFigures] = []
    sequences: list[SentSequences | ReceivedSequences] = []
    totals: TotalFigures | None = None
    for part in parts:
        match part.WhichOneof("part"):
            case "header":
                header = part.header
            case "second":
                seconds.append(second_of(part.second))
            case "sequences":
                sequences.append(sequences_of(part.sequences))
            case "totals":
                totals = totals_of(part.totals)
    if totals is None:
        return []
    return [LeftResults(header.started_mono_ns, header.reason, tuple(seconds), tuple(sequences), totals)]


_partitions_of = _reader_of_each(make_reader(PartitionRead))


def read_back_request(
    order: LoadOrder, subscription: str, file: Path, timeout_s: float, *, node: int, last: Positions
) -> pb.ReadBackRequest:
    """What a worker is to read back."""
    return pb.ReadBackRequest(
        order=prepare_request(order),
        subscription=subscription,
        file=str(file.absolute()),
        timeout_ms=round(timeout_s * 1e3),
        node=node,
        last=[pb.LastPosition(topic=t, partition=p, position=at) for (t, p), at in sorted(last.items())],
    )


def read_back_of(message: pb.ReadBackReply, file: Path) -> ReadBack:
    """A pass over a trial's partitions, which was written to `file`."""
    return ReadBack(
        file=file,
        began_mono_ns=message.began_mono_ns,
        ended_mono_ns=message.ended_mono_ns,
        partitions=_partitions_of(message.partitions),
    )


def trace_request(order: LoadOrder, subscription: str, timeout_s: float, *, whole: bool) -> pb.TraceRequest:
    """What a worker is to look for."""
    return pb.TraceRequest(
        order=prepare_request(order), subscription=subscription, timeout_ms=round(timeout_s * 1e3), whole=whole
    )


def trace_of(parts: Iterable[pb.TracePart]) -> Trace:
    """What a reader found."""
    sets: list[ReceivedSequences] = []
    partitions: tuple[PartitionRead, ...] = ()
    for part in parts:
        if part.HasField("present"):
            sets.append(_received_of(part.present))
        else:
            partitions = _partitions_of(part.read.partitions)
    return Trace(present_sequences(sets), partitions)

from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Arrival(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ARRIVAL_UNSPECIFIED: _ClassVar[Arrival]
    UNIFORM: _ClassVar[Arrival]
    POISSON: _ClassVar[Arrival]
    CLOSED_LOOP: _ClassVar[Arrival]

class KeyChoice(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEY_UNSPECIFIED: _ClassVar[KeyChoice]
    NO_KEY: _ClassVar[KeyChoice]
    ROUND_ROBIN: _ClassVar[KeyChoice]
    RANDOM: _ClassVar[KeyChoice]
    ZIPF: _ClassVar[KeyChoice]
    FROM_FILE: _ClassVar[KeyChoice]

class SubscriptionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUBSCRIBE_BY_PARTITION: _ClassVar[SubscriptionType]
    SUBSCRIBE_EXCLUSIVE: _ClassVar[SubscriptionType]
    SUBSCRIBE_FAILOVER: _ClassVar[SubscriptionType]
    SUBSCRIBE_SHARED: _ClassVar[SubscriptionType]
    SUBSCRIBE_KEY_SHARED: _ClassVar[SubscriptionType]

class Compression(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPRESSION_UNSPECIFIED: _ClassVar[Compression]
    NONE: _ClassVar[Compression]
    LZ4: _ClassVar[Compression]
    ZSTD: _ClassVar[Compression]
    SNAPPY: _ClassVar[Compression]
    GZIP: _ClassVar[Compression]
ARRIVAL_UNSPECIFIED: Arrival
UNIFORM: Arrival
POISSON: Arrival
CLOSED_LOOP: Arrival
KEY_UNSPECIFIED: KeyChoice
NO_KEY: KeyChoice
ROUND_ROBIN: KeyChoice
RANDOM: KeyChoice
ZIPF: KeyChoice
FROM_FILE: KeyChoice
SUBSCRIBE_BY_PARTITION: SubscriptionType
SUBSCRIBE_EXCLUSIVE: SubscriptionType
SUBSCRIBE_FAILOVER: SubscriptionType
SUBSCRIBE_SHARED: SubscriptionType
SUBSCRIBE_KEY_SHARED: SubscriptionType
COMPRESSION_UNSPECIFIED: Compression
NONE: Compression
LZ4: Compression
ZSTD: Compression
SNAPPY: Compression
GZIP: Compression

class HandshakeRequest(_message.Message):
    __slots__ = ("protocol_version",)
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    protocol_version: int
    def __init__(self, protocol_version: _Optional[int] = ...) -> None: ...

class HandshakeReply(_message.Message):
    __slots__ = ("protocol_version", "worker_version", "pid", "java_version", "java_home", "jvm_flags", "heap_bytes_max", "drivers", "now_mono_ns")
    class DriversEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    WORKER_VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    JAVA_VERSION_FIELD_NUMBER: _ClassVar[int]
    JAVA_HOME_FIELD_NUMBER: _ClassVar[int]
    JVM_FLAGS_FIELD_NUMBER: _ClassVar[int]
    HEAP_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    DRIVERS_FIELD_NUMBER: _ClassVar[int]
    NOW_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    protocol_version: int
    worker_version: str
    pid: int
    java_version: str
    java_home: str
    jvm_flags: _containers.RepeatedScalarFieldContainer[str]
    heap_bytes_max: int
    drivers: _containers.ScalarMap[str, str]
    now_mono_ns: int
    def __init__(self, protocol_version: _Optional[int] = ..., worker_version: _Optional[str] = ..., pid: _Optional[int] = ..., java_version: _Optional[str] = ..., java_home: _Optional[str] = ..., jvm_flags: _Optional[_Iterable[str]] = ..., heap_bytes_max: _Optional[int] = ..., drivers: _Optional[_Mapping[str, str]] = ..., now_mono_ns: _Optional[int] = ...) -> None: ...

class HoldRequest(_message.Message):
    __slots__ = ("lease_ms",)
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    lease_ms: int
    def __init__(self, lease_ms: _Optional[int] = ...) -> None: ...

class HoldReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Connection(_message.Message):
    __slots__ = ("driver", "settings")
    class SettingsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    driver: str
    settings: _containers.ScalarMap[str, str]
    def __init__(self, driver: _Optional[str] = ..., settings: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ProbeRequest(_message.Message):
    __slots__ = ("connection", "topic", "timeout_ms", "copies_of_cluster")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    COPIES_OF_CLUSTER_FIELD_NUMBER: _ClassVar[int]
    connection: Connection
    topic: str
    timeout_ms: int
    copies_of_cluster: bool
    def __init__(self, connection: _Optional[_Union[Connection, _Mapping]] = ..., topic: _Optional[str] = ..., timeout_ms: _Optional[int] = ..., copies_of_cluster: _Optional[bool] = ...) -> None: ...

class ProbeReply(_message.Message):
    __slots__ = ("took_ns",)
    TOOK_NS_FIELD_NUMBER: _ClassVar[int]
    took_ns: int
    def __init__(self, took_ns: _Optional[int] = ...) -> None: ...

class WitnessRequest(_message.Message):
    __slots__ = ("order", "messages", "pause_ms", "timeout_ms")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    PAUSE_MS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    order: PrepareRequest
    messages: int
    pause_ms: int
    timeout_ms: int
    def __init__(self, order: _Optional[_Union[PrepareRequest, _Mapping]] = ..., messages: _Optional[int] = ..., pause_ms: _Optional[int] = ..., timeout_ms: _Optional[int] = ...) -> None: ...

class WitnessReply(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[AckedMessage]
    def __init__(self, messages: _Optional[_Iterable[_Union[AckedMessage, _Mapping]]] = ...) -> None: ...

class AckedMessage(_message.Message):
    __slots__ = ("sent_mono_ns", "acked_mono_ns")
    SENT_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    ACKED_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    sent_mono_ns: int
    acked_mono_ns: int
    def __init__(self, sent_mono_ns: _Optional[int] = ..., acked_mono_ns: _Optional[int] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ("connection", "topics")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    connection: Connection
    topics: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, connection: _Optional[_Union[Connection, _Mapping]] = ..., topics: _Optional[_Iterable[str]] = ...) -> None: ...

class DescribeReply(_message.Message):
    __slots__ = ("settings",)
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    settings: _containers.RepeatedCompositeFieldContainer[EffectiveSetting]
    def __init__(self, settings: _Optional[_Iterable[_Union[EffectiveSetting, _Mapping]]] = ...) -> None: ...

class EffectiveSetting(_message.Message):
    __slots__ = ("scope", "name", "value", "is_default", "default_value")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VALUE_FIELD_NUMBER: _ClassVar[int]
    scope: str
    name: str
    value: str
    is_default: bool
    default_value: str
    def __init__(self, scope: _Optional[str] = ..., name: _Optional[str] = ..., value: _Optional[str] = ..., is_default: _Optional[bool] = ..., default_value: _Optional[str] = ...) -> None: ...

class RatePhase(_message.Message):
    __slots__ = ("from_msgs_per_s", "to_msgs_per_s", "length_ns", "record")
    FROM_MSGS_PER_S_FIELD_NUMBER: _ClassVar[int]
    TO_MSGS_PER_S_FIELD_NUMBER: _ClassVar[int]
    LENGTH_NS_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    from_msgs_per_s: float
    to_msgs_per_s: float
    length_ns: int
    record: int
    def __init__(self, from_msgs_per_s: _Optional[float] = ..., to_msgs_per_s: _Optional[float] = ..., length_ns: _Optional[int] = ..., record: _Optional[int] = ...) -> None: ...

class RateSchedule(_message.Message):
    __slots__ = ("phases", "repeat")
    PHASES_FIELD_NUMBER: _ClassVar[int]
    REPEAT_FIELD_NUMBER: _ClassVar[int]
    phases: _containers.RepeatedCompositeFieldContainer[RatePhase]
    repeat: bool
    def __init__(self, phases: _Optional[_Iterable[_Union[RatePhase, _Mapping]]] = ..., repeat: _Optional[bool] = ...) -> None: ...

class ClientOptions(_message.Message):
    __slots__ = ("batch_bytes_max", "batch_delay_us_max", "compression", "in_flight_messages_max", "receive_queue_messages", "connections_per_broker", "acks", "producer_overrides", "consumer_overrides", "outcome_timeout_ms")
    class ProducerOverridesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ConsumerOverridesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    BATCH_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    BATCH_DELAY_US_MAX_FIELD_NUMBER: _ClassVar[int]
    COMPRESSION_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_MESSAGES_MAX_FIELD_NUMBER: _ClassVar[int]
    RECEIVE_QUEUE_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_PER_BROKER_FIELD_NUMBER: _ClassVar[int]
    ACKS_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    batch_bytes_max: int
    batch_delay_us_max: int
    compression: Compression
    in_flight_messages_max: int
    receive_queue_messages: int
    connections_per_broker: int
    acks: str
    producer_overrides: _containers.ScalarMap[str, str]
    consumer_overrides: _containers.ScalarMap[str, str]
    outcome_timeout_ms: int
    def __init__(self, batch_bytes_max: _Optional[int] = ..., batch_delay_us_max: _Optional[int] = ..., compression: _Optional[_Union[Compression, str]] = ..., in_flight_messages_max: _Optional[int] = ..., receive_queue_messages: _Optional[int] = ..., connections_per_broker: _Optional[int] = ..., acks: _Optional[str] = ..., producer_overrides: _Optional[_Mapping[str, str]] = ..., consumer_overrides: _Optional[_Mapping[str, str]] = ..., outcome_timeout_ms: _Optional[int] = ...) -> None: ...

class Payload(_message.Message):
    __slots__ = ("message_bytes", "random_share", "file", "pool_bodies", "sizes", "given", "message_bytes_max")
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    RANDOM_SHARE_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    POOL_BODIES_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    GIVEN_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    message_bytes: int
    random_share: float
    file: str
    pool_bodies: int
    sizes: _containers.RepeatedScalarFieldContainer[int]
    given: bool
    message_bytes_max: int
    def __init__(self, message_bytes: _Optional[int] = ..., random_share: _Optional[float] = ..., file: _Optional[str] = ..., pool_bodies: _Optional[int] = ..., sizes: _Optional[_Iterable[int]] = ..., given: _Optional[bool] = ..., message_bytes_max: _Optional[int] = ...) -> None: ...

class TopicSpec(_message.Message):
    __slots__ = ("name", "partitions", "replication_factor", "settings")
    class SettingsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    partitions: int
    replication_factor: int
    settings: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., partitions: _Optional[int] = ..., replication_factor: _Optional[int] = ..., settings: _Optional[_Mapping[str, str]] = ...) -> None: ...

class PrepareRequest(_message.Message):
    __slots__ = ("connection", "trial_id", "seed", "topics", "producers_per_topic", "subscriptions_per_topic", "consumers_per_subscription", "payload", "keys", "distinct_keys", "zipf_exponent", "key_file", "arrival", "msgs_per_s", "client", "own_lag_tolerance_ns", "consumers_start_paused", "subscriptions_start_paused", "subscription_type", "existing_topics", "schedule", "history_directory", "spin_share_max", "grain_ns", "window_messages", "processing_ns", "processing_on_cpu", "consumer_msgs_per_s_max", "share")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    TRIAL_ID_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    PRODUCERS_PER_TOPIC_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTIONS_PER_TOPIC_FIELD_NUMBER: _ClassVar[int]
    CONSUMERS_PER_SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_KEYS_FIELD_NUMBER: _ClassVar[int]
    ZIPF_EXPONENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FILE_FIELD_NUMBER: _ClassVar[int]
    ARRIVAL_FIELD_NUMBER: _ClassVar[int]
    MSGS_PER_S_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    OWN_LAG_TOLERANCE_NS_FIELD_NUMBER: _ClassVar[int]
    CONSUMERS_START_PAUSED_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTIONS_START_PAUSED_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    EXISTING_TOPICS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    HISTORY_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    SPIN_SHARE_MAX_FIELD_NUMBER: _ClassVar[int]
    GRAIN_NS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    PROCESSING_NS_FIELD_NUMBER: _ClassVar[int]
    PROCESSING_ON_CPU_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_MSGS_PER_S_MAX_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    connection: Connection
    trial_id: int
    seed: int
    topics: _containers.RepeatedCompositeFieldContainer[TopicSpec]
    producers_per_topic: int
    subscriptions_per_topic: int
    consumers_per_subscription: int
    payload: Payload
    keys: KeyChoice
    distinct_keys: int
    zipf_exponent: float
    key_file: str
    arrival: Arrival
    msgs_per_s: float
    client: ClientOptions
    own_lag_tolerance_ns: int
    consumers_start_paused: bool
    subscriptions_start_paused: int
    subscription_type: SubscriptionType
    existing_topics: bool
    schedule: RateSchedule
    history_directory: str
    spin_share_max: float
    grain_ns: int
    window_messages: int
    processing_ns: _containers.RepeatedScalarFieldContainer[int]
    processing_on_cpu: bool
    consumer_msgs_per_s_max: float
    share: Share
    def __init__(self, connection: _Optional[_Union[Connection, _Mapping]] = ..., trial_id: _Optional[int] = ..., seed: _Optional[int] = ..., topics: _Optional[_Iterable[_Union[TopicSpec, _Mapping]]] = ..., producers_per_topic: _Optional[int] = ..., subscriptions_per_topic: _Optional[int] = ..., consumers_per_subscription: _Optional[int] = ..., payload: _Optional[_Union[Payload, _Mapping]] = ..., keys: _Optional[_Union[KeyChoice, str]] = ..., distinct_keys: _Optional[int] = ..., zipf_exponent: _Optional[float] = ..., key_file: _Optional[str] = ..., arrival: _Optional[_Union[Arrival, str]] = ..., msgs_per_s: _Optional[float] = ..., client: _Optional[_Union[ClientOptions, _Mapping]] = ..., own_lag_tolerance_ns: _Optional[int] = ..., consumers_start_paused: _Optional[bool] = ..., subscriptions_start_paused: _Optional[int] = ..., subscription_type: _Optional[_Union[SubscriptionType, str]] = ..., existing_topics: _Optional[bool] = ..., schedule: _Optional[_Union[RateSchedule, _Mapping]] = ..., history_directory: _Optional[str] = ..., spin_share_max: _Optional[float] = ..., grain_ns: _Optional[int] = ..., window_messages: _Optional[int] = ..., processing_ns: _Optional[_Iterable[int]] = ..., processing_on_cpu: _Optional[bool] = ..., consumer_msgs_per_s_max: _Optional[float] = ..., share: _Optional[_Union[Share, _Mapping]] = ...) -> None: ...

class Share(_message.Message):
    __slots__ = ("worker", "workers", "clock_ahead_ns")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    CLOCK_AHEAD_NS_FIELD_NUMBER: _ClassVar[int]
    worker: int
    workers: int
    clock_ahead_ns: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, worker: _Optional[int] = ..., workers: _Optional[int] = ..., clock_ahead_ns: _Optional[_Iterable[int]] = ...) -> None: ...

class CreateTopicsReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PrepareProgressRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PrepareProgressReply(_message.Message):
    __slots__ = ("what", "done", "total")
    WHAT_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    what: str
    done: int
    total: int
    def __init__(self, what: _Optional[str] = ..., done: _Optional[int] = ..., total: _Optional[int] = ...) -> None: ...

class PrepareReply(_message.Message):
    __slots__ = ("client_settings", "load_threads", "partitions")
    CLIENT_SETTINGS_FIELD_NUMBER: _ClassVar[int]
    LOAD_THREADS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    client_settings: _containers.RepeatedCompositeFieldContainer[EffectiveSetting]
    load_threads: int
    partitions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, client_settings: _Optional[_Iterable[_Union[EffectiveSetting, _Mapping]]] = ..., load_threads: _Optional[int] = ..., partitions: _Optional[_Iterable[int]] = ...) -> None: ...

class StartRequest(_message.Message):
    __slots__ = ("at_mono_ns",)
    AT_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    at_mono_ns: int
    def __init__(self, at_mono_ns: _Optional[int] = ...) -> None: ...

class StartReply(_message.Message):
    __slots__ = ("started_mono_ns",)
    STARTED_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    started_mono_ns: int
    def __init__(self, started_mono_ns: _Optional[int] = ...) -> None: ...

class SetRateRequest(_message.Message):
    __slots__ = ("msgs_per_s", "at_mono_ns")
    MSGS_PER_S_FIELD_NUMBER: _ClassVar[int]
    AT_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    msgs_per_s: float
    at_mono_ns: int
    def __init__(self, msgs_per_s: _Optional[float] = ..., at_mono_ns: _Optional[int] = ...) -> None: ...

class SetRateReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetWindowRequest(_message.Message):
    __slots__ = ("from_mono_ns", "until_mono_ns")
    FROM_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    from_mono_ns: int
    until_mono_ns: int
    def __init__(self, from_mono_ns: _Optional[int] = ..., until_mono_ns: _Optional[int] = ...) -> None: ...

class SetWindowReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PauseRequest(_message.Message):
    __slots__ = ("subscriptions",)
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, subscriptions: _Optional[_Iterable[str]] = ...) -> None: ...

class PauseReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("from_second",)
    FROM_SECOND_FIELD_NUMBER: _ClassVar[int]
    from_second: int
    def __init__(self, from_second: _Optional[int] = ...) -> None: ...

class SecondFigures(_message.Message):
    __slots__ = ("second", "from_mono_ns", "until_mono_ns", "scheduled_msgs_per_s", "sent", "acked", "failed", "acked_bytes", "in_flight", "blocked_ns", "own_lag_ns_max", "response", "service", "delay", "subscriptions", "worker_cpu_ns", "gc_pause_ns", "heap_used_bytes", "busiest_consumer", "busiest_consumer_busy_ns", "jit_ns")
    SECOND_FIELD_NUMBER: _ClassVar[int]
    FROM_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_MSGS_PER_S_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    ACKED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    ACKED_BYTES_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_NS_FIELD_NUMBER: _ClassVar[int]
    OWN_LAG_NS_MAX_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    DELAY_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    WORKER_CPU_NS_FIELD_NUMBER: _ClassVar[int]
    GC_PAUSE_NS_FIELD_NUMBER: _ClassVar[int]
    HEAP_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    BUSIEST_CONSUMER_FIELD_NUMBER: _ClassVar[int]
    BUSIEST_CONSUMER_BUSY_NS_FIELD_NUMBER: _ClassVar[int]
    JIT_NS_FIELD_NUMBER: _ClassVar[int]
    second: int
    from_mono_ns: int
    until_mono_ns: int
    scheduled_msgs_per_s: float
    sent: int
    acked: int
    failed: int
    acked_bytes: int
    in_flight: int
    blocked_ns: int
    own_lag_ns_max: int
    response: bytes
    service: bytes
    delay: bytes
    subscriptions: _containers.RepeatedCompositeFieldContainer[SubscriptionSecond]
    worker_cpu_ns: int
    gc_pause_ns: int
    heap_used_bytes: int
    busiest_consumer: str
    busiest_consumer_busy_ns: int
    jit_ns: int
    def __init__(self, second: _Optional[int] = ..., from_mono_ns: _Optional[int] = ..., until_mono_ns: _Optional[int] = ..., scheduled_msgs_per_s: _Optional[float] = ..., sent: _Optional[int] = ..., acked: _Optional[int] = ..., failed: _Optional[int] = ..., acked_bytes: _Optional[int] = ..., in_flight: _Optional[int] = ..., blocked_ns: _Optional[int] = ..., own_lag_ns_max: _Optional[int] = ..., response: _Optional[bytes] = ..., service: _Optional[bytes] = ..., delay: _Optional[bytes] = ..., subscriptions: _Optional[_Iterable[_Union[SubscriptionSecond, _Mapping]]] = ..., worker_cpu_ns: _Optional[int] = ..., gc_pause_ns: _Optional[int] = ..., heap_used_bytes: _Optional[int] = ..., busiest_consumer: _Optional[str] = ..., busiest_consumer_busy_ns: _Optional[int] = ..., jit_ns: _Optional[int] = ...) -> None: ...

class SubscriptionSecond(_message.Message):
    __slots__ = ("name", "received", "received_bytes", "backlog", "duplicated", "reordered", "corrupt", "end_to_end", "unique")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_BYTES_FIELD_NUMBER: _ClassVar[int]
    BACKLOG_FIELD_NUMBER: _ClassVar[int]
    DUPLICATED_FIELD_NUMBER: _ClassVar[int]
    REORDERED_FIELD_NUMBER: _ClassVar[int]
    CORRUPT_FIELD_NUMBER: _ClassVar[int]
    END_TO_END_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    received: int
    received_bytes: int
    backlog: int
    duplicated: int
    reordered: int
    corrupt: int
    end_to_end: bytes
    unique: int
    def __init__(self, name: _Optional[str] = ..., received: _Optional[int] = ..., received_bytes: _Optional[int] = ..., backlog: _Optional[int] = ..., duplicated: _Optional[int] = ..., reordered: _Optional[int] = ..., corrupt: _Optional[int] = ..., end_to_end: _Optional[bytes] = ..., unique: _Optional[int] = ...) -> None: ...

class StopProducersRequest(_message.Message):
    __slots__ = ("grace_ms",)
    GRACE_MS_FIELD_NUMBER: _ClassVar[int]
    grace_ms: int
    def __init__(self, grace_ms: _Optional[int] = ...) -> None: ...

class StopProducersReply(_message.Message):
    __slots__ = ("unresolved", "stopped_mono_ns")
    UNRESOLVED_FIELD_NUMBER: _ClassVar[int]
    STOPPED_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    unresolved: int
    stopped_mono_ns: int
    def __init__(self, unresolved: _Optional[int] = ..., stopped_mono_ns: _Optional[int] = ...) -> None: ...

class TotalsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TotalFigures(_message.Message):
    __slots__ = ("sent", "acked", "failed", "unresolved", "window", "subscriptions", "errors", "worker_cpu_ns", "gc_pause_ns", "resident_bytes", "seconds")
    SENT_FIELD_NUMBER: _ClassVar[int]
    ACKED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    UNRESOLVED_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    WORKER_CPU_NS_FIELD_NUMBER: _ClassVar[int]
    GC_PAUSE_NS_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    sent: int
    acked: int
    failed: int
    unresolved: int
    window: WindowFigures
    subscriptions: _containers.RepeatedCompositeFieldContainer[SubscriptionTotals]
    errors: _containers.RepeatedCompositeFieldContainer[ErrorCount]
    worker_cpu_ns: int
    gc_pause_ns: int
    resident_bytes: int
    seconds: int
    def __init__(self, sent: _Optional[int] = ..., acked: _Optional[int] = ..., failed: _Optional[int] = ..., unresolved: _Optional[int] = ..., window: _Optional[_Union[WindowFigures, _Mapping]] = ..., subscriptions: _Optional[_Iterable[_Union[SubscriptionTotals, _Mapping]]] = ..., errors: _Optional[_Iterable[_Union[ErrorCount, _Mapping]]] = ..., worker_cpu_ns: _Optional[int] = ..., gc_pause_ns: _Optional[int] = ..., resident_bytes: _Optional[int] = ..., seconds: _Optional[int] = ...) -> None: ...

class WindowFigures(_message.Message):
    __slots__ = ("from_mono_ns", "until_mono_ns", "intended", "acked", "failed", "acked_bytes", "response", "service", "delay", "own_lag", "own_lag_over_tolerance", "blocked_ns", "acked_within", "worker_cpu_ns", "gc_pause_ns", "cpu_wait_ns", "records", "last_outcome_mono_ns")
    FROM_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    INTENDED_FIELD_NUMBER: _ClassVar[int]
    ACKED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    ACKED_BYTES_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    DELAY_FIELD_NUMBER: _ClassVar[int]
    OWN_LAG_FIELD_NUMBER: _ClassVar[int]
    OWN_LAG_OVER_TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_NS_FIELD_NUMBER: _ClassVar[int]
    ACKED_WITHIN_FIELD_NUMBER: _ClassVar[int]
    WORKER_CPU_NS_FIELD_NUMBER: _ClassVar[int]
    GC_PAUSE_NS_FIELD_NUMBER: _ClassVar[int]
    CPU_WAIT_NS_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    LAST_OUTCOME_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    from_mono_ns: int
    until_mono_ns: int
    intended: int
    acked: int
    failed: int
    acked_bytes: int
    response: bytes
    service: bytes
    delay: bytes
    own_lag: bytes
    own_lag_over_tolerance: int
    blocked_ns: int
    acked_within: int
    worker_cpu_ns: int
    gc_pause_ns: int
    cpu_wait_ns: int
    records: _containers.RepeatedCompositeFieldContainer[RecordFigures]
    last_outcome_mono_ns: int
    def __init__(self, from_mono_ns: _Optional[int] = ..., until_mono_ns: _Optional[int] = ..., intended: _Optional[int] = ..., acked: _Optional[int] = ..., failed: _Optional[int] = ..., acked_bytes: _Optional[int] = ..., response: _Optional[bytes] = ..., service: _Optional[bytes] = ..., delay: _Optional[bytes] = ..., own_lag: _Optional[bytes] = ..., own_lag_over_tolerance: _Optional[int] = ..., blocked_ns: _Optional[int] = ..., acked_within: _Optional[int] = ..., worker_cpu_ns: _Optional[int] = ..., gc_pause_ns: _Optional[int] = ..., cpu_wait_ns: _Optional[int] = ..., records: _Optional[_Iterable[_Union[RecordFigures, _Mapping]]] = ..., last_outcome_mono_ns: _Optional[int] = ...) -> None: ...

class RecordFigures(_message.Message):
    __slots__ = ("intended", "acked", "failed", "acked_within", "response", "service", "delay")
    INTENDED_FIELD_NUMBER: _ClassVar[int]
    ACKED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    ACKED_WITHIN_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    DELAY_FIELD_NUMBER: _ClassVar[int]
    intended: int
    acked: int
    failed: int
    acked_within: int
    response: bytes
    service: bytes
    delay: bytes
    def __init__(self, intended: _Optional[int] = ..., acked: _Optional[int] = ..., failed: _Optional[int] = ..., acked_within: _Optional[int] = ..., response: _Optional[bytes] = ..., service: _Optional[bytes] = ..., delay: _Optional[bytes] = ...) -> None: ...

class SubscriptionTotals(_message.Message):
    __slots__ = ("name", "received", "unique", "lost", "duplicated", "reordered", "corrupt", "corrupt_unattributed", "foreign", "negative_latency", "end_to_end", "window_received", "lost_examples", "record_end_to_end", "first_received_mono_ns", "last_received_mono_ns", "verified", "received_bytes", "duplicated_examples", "reordered_examples", "corrupt_examples", "apart", "discarded_max", "in_consumer", "processed", "processing_ns", "processing_cpu_ns")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    DUPLICATED_FIELD_NUMBER: _ClassVar[int]
    REORDERED_FIELD_NUMBER: _ClassVar[int]
    CORRUPT_FIELD_NUMBER: _ClassVar[int]
    CORRUPT_UNATTRIBUTED_FIELD_NUMBER: _ClassVar[int]
    FOREIGN_FIELD_NUMBER: _ClassVar[int]
    NEGATIVE_LATENCY_FIELD_NUMBER: _ClassVar[int]
    END_TO_END_FIELD_NUMBER: _ClassVar[int]
    WINDOW_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    LOST_EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    RECORD_END_TO_END_FIELD_NUMBER: _ClassVar[int]
    FIRST_RECEIVED_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    LAST_RECEIVED_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_BYTES_FIELD_NUMBER: _ClassVar[int]
    DUPLICATED_EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    REORDERED_EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    CORRUPT_EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    APART_FIELD_NUMBER: _ClassVar[int]
    DISCARDED_MAX_FIELD_NUMBER: _ClassVar[int]
    IN_CONSUMER_FIELD_NUMBER: _ClassVar[int]
    PROCESSED_FIELD_NUMBER: _ClassVar[int]
    PROCESSING_NS_FIELD_NUMBER: _ClassVar[int]
    PROCESSING_CPU_NS_FIELD_NUMBER: _ClassVar[int]
    name: str
    received: int
    unique: int
    lost: int
    duplicated: int
    reordered: int
    corrupt: int
    corrupt_unattributed: int
    foreign: int
    negative_latency: int
    end_to_end: bytes
    window_received: int
    lost_examples: _containers.RepeatedScalarFieldContainer[str]
    record_end_to_end: _containers.RepeatedScalarFieldContainer[bytes]
    first_received_mono_ns: int
    last_received_mono_ns: int
    verified: int
    received_bytes: int
    duplicated_examples: _containers.RepeatedScalarFieldContainer[str]
    reordered_examples: _containers.RepeatedScalarFieldContainer[str]
    corrupt_examples: _containers.RepeatedScalarFieldContainer[str]
    apart: _containers.RepeatedCompositeFieldContainer[ApartLatency]
    discarded_max: int
    in_consumer: bytes
    processed: bytes
    processing_ns: int
    processing_cpu_ns: int
    def __init__(self, name: _Optional[str] = ..., received: _Optional[int] = ..., unique: _Optional[int] = ..., lost: _Optional[int] = ..., duplicated: _Optional[int] = ..., reordered: _Optional[int] = ..., corrupt: _Optional[int] = ..., corrupt_unattributed: _Optional[int] = ..., foreign: _Optional[int] = ..., negative_latency: _Optional[int] = ..., end_to_end: _Optional[bytes] = ..., window_received: _Optional[int] = ..., lost_examples: _Optional[_Iterable[str]] = ..., record_end_to_end: _Optional[_Iterable[bytes]] = ..., first_received_mono_ns: _Optional[int] = ..., last_received_mono_ns: _Optional[int] = ..., verified: _Optional[int] = ..., received_bytes: _Optional[int] = ..., duplicated_examples: _Optional[_Iterable[str]] = ..., reordered_examples: _Optional[_Iterable[str]] = ..., corrupt_examples: _Optional[_Iterable[str]] = ..., apart: _Optional[_Iterable[_Union[ApartLatency, _Mapping]]] = ..., discarded_max: _Optional[int] = ..., in_consumer: _Optional[bytes] = ..., processed: _Optional[bytes] = ..., processing_ns: _Optional[int] = ..., processing_cpu_ns: _Optional[int] = ...) -> None: ...

class ApartLatency(_message.Message):
    __slots__ = ("worker", "end_to_end", "before")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    END_TO_END_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    worker: int
    end_to_end: bytes
    before: bytes
    def __init__(self, worker: _Optional[int] = ..., end_to_end: _Optional[bytes] = ..., before: _Optional[bytes] = ...) -> None: ...

class ErrorCount(_message.Message):
    __slots__ = ("where", "message", "count")
    WHERE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    where: str
    message: str
    count: int
    def __init__(self, where: _Optional[str] = ..., message: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class SequencesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SequencesPart(_message.Message):
    __slots__ = ("sent", "received")
    SENT_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    sent: SentSequences
    received: ReceivedSequences
    def __init__(self, sent: _Optional[_Union[SentSequences, _Mapping]] = ..., received: _Optional[_Union[ReceivedSequences, _Mapping]] = ...) -> None: ...

class SentSequences(_message.Message):
    __slots__ = ("producer", "sent", "unknown")
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    producer: int
    sent: int
    unknown: bytes
    def __init__(self, producer: _Optional[int] = ..., sent: _Optional[int] = ..., unknown: _Optional[bytes] = ...) -> None: ...

class ReceivedSequences(_message.Message):
    __slots__ = ("subscription", "producer", "received")
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    subscription: str
    producer: int
    received: bytes
    def __init__(self, subscription: _Optional[str] = ..., producer: _Optional[int] = ..., received: _Optional[bytes] = ...) -> None: ...

class LeftResultsRequest(_message.Message):
    __slots__ = ("trial_id", "share")
    TRIAL_ID_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    trial_id: int
    share: Share
    def __init__(self, trial_id: _Optional[int] = ..., share: _Optional[_Union[Share, _Mapping]] = ...) -> None: ...

class RemoveLeftResultsReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResultsPart(_message.Message):
    __slots__ = ("header", "second", "sequences", "totals")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SECOND_FIELD_NUMBER: _ClassVar[int]
    SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    header: ResultsHeader
    second: SecondFigures
    sequences: SequencesPart
    totals: TotalFigures
    def __init__(self, header: _Optional[_Union[ResultsHeader, _Mapping]] = ..., second: _Optional[_Union[SecondFigures, _Mapping]] = ..., sequences: _Optional[_Union[SequencesPart, _Mapping]] = ..., totals: _Optional[_Union[TotalFigures, _Mapping]] = ...) -> None: ...

class ResultsHeader(_message.Message):
    __slots__ = ("started_mono_ns", "reason")
    STARTED_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    started_mono_ns: int
    reason: str
    def __init__(self, started_mono_ns: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class FinishRequest(_message.Message):
    __slots__ = ("delete_topics",)
    DELETE_TOPICS_FIELD_NUMBER: _ClassVar[int]
    delete_topics: bool
    def __init__(self, delete_topics: _Optional[bool] = ...) -> None: ...

class FinishReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DeleteTopicsRequest(_message.Message):
    __slots__ = ("connection", "topics", "kept_topics", "trial_id")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    KEPT_TOPICS_FIELD_NUMBER: _ClassVar[int]
    TRIAL_ID_FIELD_NUMBER: _ClassVar[int]
    connection: Connection
    topics: _containers.RepeatedScalarFieldContainer[str]
    kept_topics: _containers.RepeatedScalarFieldContainer[str]
    trial_id: int
    def __init__(self, connection: _Optional[_Union[Connection, _Mapping]] = ..., topics: _Optional[_Iterable[str]] = ..., kept_topics: _Optional[_Iterable[str]] = ..., trial_id: _Optional[int] = ...) -> None: ...

class DeleteTopicsReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReadBackRequest(_message.Message):
    __slots__ = ("order", "subscription", "file", "timeout_ms", "node", "last")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    order: PrepareRequest
    subscription: str
    file: str
    timeout_ms: int
    node: int
    last: _containers.RepeatedCompositeFieldContainer[LastPosition]
    def __init__(self, order: _Optional[_Union[PrepareRequest, _Mapping]] = ..., subscription: _Optional[str] = ..., file: _Optional[str] = ..., timeout_ms: _Optional[int] = ..., node: _Optional[int] = ..., last: _Optional[_Iterable[_Union[LastPosition, _Mapping]]] = ...) -> None: ...

class LastPosition(_message.Message):
    __slots__ = ("topic", "partition", "position")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    topic: int
    partition: int
    position: int
    def __init__(self, topic: _Optional[int] = ..., partition: _Optional[int] = ..., position: _Optional[int] = ...) -> None: ...

class ReadBackReply(_message.Message):
    __slots__ = ("began_mono_ns", "ended_mono_ns", "partitions")
    BEGAN_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    ENDED_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    began_mono_ns: int
    ended_mono_ns: int
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionRead]
    def __init__(self, began_mono_ns: _Optional[int] = ..., ended_mono_ns: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[PartitionRead, _Mapping]]] = ...) -> None: ...

class PartitionRead(_message.Message):
    __slots__ = ("topic", "partition", "messages", "complete", "why", "first", "end")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    topic: int
    partition: int
    messages: int
    complete: bool
    why: str
    first: str
    end: str
    def __init__(self, topic: _Optional[int] = ..., partition: _Optional[int] = ..., messages: _Optional[int] = ..., complete: _Optional[bool] = ..., why: _Optional[str] = ..., first: _Optional[str] = ..., end: _Optional[str] = ...) -> None: ...

class TraceRequest(_message.Message):
    __slots__ = ("order", "subscription", "timeout_ms", "whole")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    order: PrepareRequest
    subscription: str
    timeout_ms: int
    whole: bool
    def __init__(self, order: _Optional[_Union[PrepareRequest, _Mapping]] = ..., subscription: _Optional[str] = ..., timeout_ms: _Optional[int] = ..., whole: _Optional[bool] = ...) -> None: ...

class TracePart(_message.Message):
    __slots__ = ("present", "read")
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    present: ReceivedSequences
    read: ReadBackReply
    def __init__(self, present: _Optional[_Union[ReceivedSequences, _Mapping]] = ..., read: _Optional[_Union[ReadBackReply, _Mapping]] = ...) -> None: ...

class CommittedPositionsRequest(_message.Message):
    __slots__ = ("order",)
    ORDER_FIELD_NUMBER: _ClassVar[int]
    order: PrepareRequest
    def __init__(self, order: _Optional[_Union[PrepareRequest, _Mapping]] = ...) -> None: ...

class CommittedPositionsReply(_message.Message):
    __slots__ = ("asked_mono_ns", "answered_mono_ns", "positions")
    ASKED_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_MONO_NS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    asked_mono_ns: int
    answered_mono_ns: int
    positions: _containers.RepeatedCompositeFieldContainer[CommittedPosition]
    def __init__(self, asked_mono_ns: _Optional[int] = ..., answered_mono_ns: _Optional[int] = ..., positions: _Optional[_Iterable[_Union[CommittedPosition, _Mapping]]] = ...) -> None: ...

class CommittedPosition(_message.Message):
    __slots__ = ("subscription", "topic", "partition", "position")
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    subscription: str
    topic: int
    partition: int
    position: int
    def __init__(self, subscription: _Optional[str] = ..., topic: _Optional[int] = ..., partition: _Optional[int] = ..., position: _Optional[int] = ...) -> None: ...

class ShutdownRequest(_message.Message):
    __slots__ = ("write_archive",)
    WRITE_ARCHIVE_FIELD_NUMBER: _ClassVar[int]
    write_archive: bool
    def __init__(self, write_archive: _Optional[bool] = ...) -> None: ...

class ShutdownReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

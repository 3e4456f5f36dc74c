"""The worker package's parts: generated code, class path, log reading, JVM flags, conversion of messages."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from doubles_compared import differences

from tidegauge.agent.api import Host, ProcessSpec, ProcessStatus
from tidegauge.distribution.java import JavaRuntime
from tidegauge.distribution.login_libraries import has_login_library
from tidegauge.errors import RunFailedError, UserError
from tidegauge.model.load import SecondFigures, SubscriptionTotals, TotalFigures, WindowFigures
from tidegauge.model.message import CommittedPosition, CommittedPositions, PartitionRead, ReadBack
from tidegauge.model.processing import QUANTILES, Processing, ProcessingKind
from tidegauge.model.server import Setting
from tidegauge.model.workload import (
    Arrival,
    ClientSettings,
    Compression,
    KeyFile,
    Keys,
    Payload,
    RatePhase,
    RateSchedule,
    SubscriptionType,
    Workload,
)
from tidegauge.worker import launch, messages, site
from tidegauge.worker.api import LoadOrder, Share
from tidegauge.worker.archive import worker_class_path
from tidegauge.worker.client import cause_from_log, memory_exhausted
from tidegauge.worker.generated import worker_pb2 as pb
from tidegauge.worker.launch import WorkerOptions, jvm_flags

ROOT = Path(__file__).resolve().parents[3]


def test_generated_code_is_current(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "generate_proto.py", tmp_path], check=True)
    checked_in = ROOT / "src" / "tidegauge" / "worker" / "generated"
    fresh = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert {path.name: path.read_text() for path in checked_in.glob("*.py*")} == fresh, "run `make proto`"


def make_jars(directory: Path, *names: str) -> list[Path]:
    directory.mkdir(parents=True)
    for name in names:
        (directory / name).touch()
    return [directory / name for name in sorted(names)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without what was fetched on this machine."""
    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_libraries_for_logins_are_on_the_class_path_of_their_driver(tmp_path: Path, cache: Path) -> None:
    core = make_jars(tmp_path / "_worker" / "core", "a.jar")
    kafka = make_jars(tmp_path / "_worker" / "kafka", "k.jar")
    null = make_jars(tmp_path / "_worker" / "null", "n.jar")
    fetched = make_jars(cache / "distributions" / "by-iris-1.0", "iris.jar", "b.jar")
    assert not has_login_library("kafka", "by-iris")
    (cache / "login-libraries" / "kafka").mkdir(parents=True)
    (cache / "login-libraries" / "kafka" / "by-iris").symlink_to(fetched[0].parent)
    assert has_login_library("kafka", "by-iris")
    jars = [jar.name for jar in worker_class_path("kafka", tmp_path)]
    assert jars == [*(jar.name for jar in core + kafka), "b.jar", "iris.jar"]
    assert worker_class_path("null", tmp_path) == core + null


def test_class_path_in_a_checkout(tmp_path: Path) -> None:
    package = tmp_path / "src" / "tidegauge"
    core = make_jars(tmp_path / "worker" / "app" / "target" / "dist" / "core", "b.jar", "a.jar", "notes.txt")[:2]
    null = make_jars(tmp_path / "worker" / "null" / "target" / "dist", "n.jar")
    kafka = make_jars(tmp_path / "worker" / "kafka" / "target" / "dist", "k.jar")
    assert worker_class_path("null", package) == core + null
    assert worker_class_path("kafka", package) == core + kafka
    with pytest.raises(UserError, match=r"no driver 'kafak' \(did you mean 'kafka'\?\)") as caught:
        worker_class_path("kafak", package)
    assert "Drivers built: kafka, null." in caught.value.hint


def test_class_path_in_a_wheel(tmp_path: Path) -> None:
    core = make_jars(tmp_path / "_worker" / "core", "a.jar")
    null = make_jars(tmp_path / "_worker" / "null", "n.jar")
    assert worker_class_path("null", tmp_path) == core + null
    with pytest.raises(UserError, match="no driver 'pulsar'") as caught:
        worker_class_path("pulsar", tmp_path)
    assert caught.value.hint == "Drivers built: null. A wheel of `make wheel` has all."


def test_class_path_not_built(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not built") as caught:
        worker_class_path("null", tmp_path / "src" / "tidegauge")
    assert "make build" in caught.value.hint


def test_cause_from_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert cause_from_log(log) == ""
    log.write_text("starting\n\nbye\n")
    assert cause_from_log(log) == "bye"
    log.write_text(
        "a\njava.lang.RuntimeException: x\n\tat A.b(A.java:1)\nCaused by: java.io.IOException: disk\n\tat C\nend\n"
    )
    assert cause_from_log(log) == "Caused by: java.io.IOException: disk"
    log.write_text(
        "Unrecognized VM option 'X'\nError: Could not create the Java Virtual Machine.\n"
        "Error: A fatal exception has occurred. Program will exit.\n"
    )
    assert cause_from_log(log) == "Unrecognized VM option 'X'"
    log.write_text("\x1b[1;31mERROR\x1b[0m \x1b]52;c;aGk=\x1b\\the disk\x07 is full\n")
    assert cause_from_log(log) == "ERROR the disk is full"


def test_memory_exhausted_says_which() -> None:
    assert memory_exhausted("Terminating due to java.lang.OutOfMemoryError: Java heap space") == "Java heap space"
    assert memory_exhausted("java.lang.OutOfMemoryError") == "no more is known"
    assert memory_exhausted("java.io.IOException: disk") == ""


class RefusingHost:
    """A host that fails at one of its calls."""

    def __init__(self, fails_at: str) -> None:
        self.fails_at = fails_at
        self.calls: list[str] = []

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self.fails_at:
            raise RunFailedError("The agent is gone.")

    def track_directory(self, path: Path) -> None:
        self._call("track")

    def make_directories(self, *paths: Path, mode: int | None = None) -> None:
        for path in paths:
            path.mkdir()

    def remove_directory(self, path: Path) -> None:
        if path.exists():
            path.rmdir()

    def read_end(self, path: Path, bytes_max: int) -> str:
        return ""

    def start(self, spec: ProcessSpec) -> ProcessStatus:
        self._call("start")
        return self.status(spec.name)

    def status(self, name: str) -> ProcessStatus:
        return ProcessStatus(name, 1, False, 1, 0.0, 0)

    def stop(self, name: str) -> ProcessStatus:
        self._call("stop")
        return self.status(name)


@pytest.mark.parametrize(
    ("fails_at", "calls"), [("track", ["track"]), ("start", ["track", "start"]), ("", ["track", "start", "stop"])]
)
def test_a_worker_that_does_not_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: str, calls: list[str]
) -> None:
    monkeypatch.setattr(site.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(site, "worker_class_path", lambda _driver: [tmp_path / "x.jar"])
    host: Any = RefusingHost(fails_at)
    with pytest.raises(RunFailedError):
        launch.start_worker(host, "null", tmp_path)
    assert host.calls == calls
    assert list(tmp_path.iterdir()) == []


def test_several_workers_are_named_with_their_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(site, "worker_class_path", lambda _driver: [tmp_path / "x.jar"])
    host: Any = RefusingHost("")
    host.name = "load-7"
    with pytest.raises(RunFailedError, match=r"^Load generator 1 of 2 on load-7 ended while starting"):
        launch.start_workers(host, "null", tmp_path, count=2)


def test_flags_by_java_version_and_own_flags_win() -> None:
    options = WorkerOptions(heap_mb=64, jvm={"UseZGC": "true"})
    old = jvm_flags(JavaRuntime(Path("/j"), "17.0.1", 17), options, Path("/tmp/s"))
    new = jvm_flags(JavaRuntime(Path("/j"), "25", 25), options, Path("/tmp/s"))
    assert "-Xmx64m" in old
    assert old[-1] == "-XX:+UseZGC"
    assert "-XX:+UseG1GC" not in old
    bounded = "-Djdk.nio.maxCachedBufferSize=262144"
    assert set(new) - set(old) == {"--sun-misc-unsafe-memory-access=allow", bounded}


def test_native_copies_of_reads_are_bounded_only_where_that_costs_nothing() -> None:
    def bounded(major: int) -> bool:
        flags = jvm_flags(JavaRuntime(Path("/j"), f"{major}.0.1", major), WorkerOptions(), Path("/tmp/s"))
        return any("maxCachedBufferSize" in flag for flag in flags)

    assert {major: bounded(major) for major in (17, 21, 24, 25, 26)} == {
        17: False,
        21: False,
        24: False,
        25: True,
        26: True,
    }


def order() -> LoadOrder:
    workload = Workload(
        topics=2,
        partitions=3,
        producers=4,
        subscriptions=5,
        consumers=6,
        payload=Payload(100, 0.5, "/f", 7),
        keys=Keys.ROUND_ROBIN,
        distinct_keys=8,
        zipf_exponent=0.5,
        key_file=KeyFile("/k", 9, 8, 0.25),
        arrival=Arrival.POISSON,
        client=ClientSettings(9, 1.5, Compression.ZSTD, 10, 11, 12),
        producer_overrides={"kafka": {"a": "1"}, "pulsar": {"b": "2"}},
        consumer_overrides={"kafka": {"c": "3"}},
        subscription_type=SubscriptionType.SHARED,
        existing_topics=("t1", "t2"),
    )
    return LoadOrder(
        connection={"bootstrap.servers": "h:1"},
        driver="kafka",
        system="kafka@4.3.1",
        topic_names=("t1", "t2"),
        replication_factor=3,
        topic_settings={"flush.messages": "1"},
        acks="all",
        workload=workload,
        msgs_per_s=1000.5,
        trial_number=13,
        seed=14,
        own_lag_tolerance_ms=2.5,
        consumers_start_paused=True,
        subscriptions_start_paused=1,
        schedule=RateSchedule((RatePhase(10, 20, 1.5, 0),), ("ramp",), repeat=True),
        history_directory="/kept",
        outcome_timeout_s=7.5,
    )


def test_large_messages_are_bounded_by_their_bytes_before_the_worker_is_told() -> None:
    client = ClientSettings(in_flight_messages_max=5000, receive_queue_messages=5000)
    large = Workload(producers=2, consumers=4, payload=Payload(1 << 20), client=client)
    sent = messages.prepare_request(replace(order(), workload=large)).client
    assert sent.in_flight_messages_max == large.in_flight_messages() == 32 // 2
    assert sent.receive_queue_messages == large.receive_queue_messages() == 32 // 4


def test_prepare_request_carries_everything() -> None:
    processing = Processing(ProcessingKind.EXPONENTIAL, 0.02, on_cpu=True)
    workload = replace(order().workload, processing=processing, consumer_msgs_per_s_max=1_000.0)
    whole = replace(order(), workload=workload, share=Share(1, 3), window_messages=77)
    request = messages.prepare_request(whole, 0.25, 20_000)
    assert request.window_messages == 77
    assert (len(request.processing_ns), sum(request.processing_ns)) == (
        QUANTILES,
        pytest.approx(QUANTILES * 2e7, rel=0.01),
    )
    assert (request.processing_on_cpu, request.consumer_msgs_per_s_max) == (True, 1_000.0)
    assert not messages.prepare_request(order()).processing_ns
    assert (request.share.worker, request.share.workers) == (1, 3)
    assert not messages.prepare_request(order()).HasField("share")
    assert (request.spin_share_max, request.grain_ns) == (0.25, 20_000)
    assert [(t.name, t.partitions, t.replication_factor, dict(t.settings)) for t in request.topics] == [
        ("t1", 3, 3, {"flush.messages": "1"}),
        ("t2", 3, 3, {"flush.messages": "1"}),
    ]
    assert (request.producers_per_topic, request.subscriptions_per_topic, request.consumers_per_subscription) == (
        4,
        5,
        6,
    )
    assert (request.keys, request.arrival, request.distinct_keys) == (pb.ROUND_ROBIN, pb.POISSON, 8)
    assert (request.zipf_exponent, request.key_file) == (0.5, "/k")
    assert request.own_lag_tolerance_ns == 2_500_000
    (phase,) = request.schedule.phases
    assert (phase.from_msgs_per_s, phase.to_msgs_per_s, phase.length_ns, request.schedule.repeat) == (
        10,
        20,
        1_500_000_000,
        True,
    )
    assert request.subscription_type == pb.SUBSCRIBE_SHARED
    client = request.client
    assert (client.batch_bytes_max, client.batch_delay_us_max, client.compression) == (9, 1500, pb.ZSTD)
    assert (client.in_flight_messages_max, client.receive_queue_messages, client.connections_per_broker) == (10, 11, 12)
    assert (dict(client.producer_overrides), dict(client.consumer_overrides)) == ({"a": "1"}, {"c": "3"})
    assert {f.name for f, _ in request.ListFields()} == set(pb.PrepareRequest.DESCRIPTOR.fields_by_name)
    assert {f.name for f, _ in client.ListFields()} == set(pb.ClientOptions.DESCRIPTOR.fields_by_name)


def test_a_history_and_bounded_outcomes_are_asked_for_only_if_the_order_says_so() -> None:
    plain = messages.prepare_request(replace(order(), history_directory="", outcome_timeout_s=0.0))
    assert (plain.history_directory, plain.client.outcome_timeout_ms) == ("", 0)
    kept = messages.prepare_request(order())
    assert (kept.history_directory, kept.client.outcome_timeout_ms) == ("/kept", 7500)


def test_a_worker_that_was_given_no_precision_keeps_its_own() -> None:
    assert not messages.prepare_request(order()).HasField("spin_share_max")
    assert messages.prepare_request(order(), 0.0).HasField("spin_share_max"), "never spinning is a choice, too"


def test_a_worker_that_was_given_no_grain_keeps_its_own() -> None:
    assert not messages.prepare_request(order()).HasField("grain_ns")
    assert messages.prepare_request(order(), None, 0).HasField("grain_ns"), "each when it is due is a choice, too"


def test_what_was_read_back_and_committed(tmp_path: Path) -> None:
    reply = pb.ReadBackReply(
        began_mono_ns=1,
        ended_mono_ns=2,
        partitions=[
            pb.PartitionRead(topic=0, partition=1, messages=9, complete=True, first="offset 0", end="offset 9"),
            pb.PartitionRead(topic=3, partition=4, messages=5, why="no time"),
        ],
    )
    file = tmp_path / "pass.read"
    assert messages.read_back_of(reply, file) == ReadBack(
        file, 1, 2, (PartitionRead(0, 1, 9, True, "", "offset 0", "offset 9"), PartitionRead(3, 4, 5, False, "no time"))
    )
    reply = pb.CommittedPositionsReply(
        asked_mono_ns=3,
        answered_mono_ns=4,
        positions=[pb.CommittedPosition(subscription="sub-0", topic=5, partition=6, position=7)],
    )
    assert messages.positions_of(reply) == CommittedPositions(3, 4, (CommittedPosition("sub-0", 5, 6, 7),))


def test_whose_copy_is_to_be_read_back(tmp_path: Path) -> None:
    file = tmp_path / "node.read"
    last = {(1, 0): 7, (0, 1): 41}
    request = messages.read_back_request(order(), "sub-1", file, 1.5, node=2, last=last)
    assert (request.subscription, request.file, request.timeout_ms, request.node) == ("sub-1", str(file), 1500, 2)
    assert [(position.topic, position.partition, position.position) for position in request.last] == [
        (0, 1, 41),
        (1, 0, 7),
    ]
    whatever = messages.read_back_request(order(), "sub-1", file, 1.5, node=0, last={})
    assert (whatever.node, list(whatever.last), whatever.order) == (0, [], request.order)


def test_every_choice_has_a_message() -> None:
    base = order()
    for arrival in Arrival:
        assert messages.prepare_request(replace(base, workload=replace(base.workload, arrival=arrival))).arrival != 0
    for keys in Keys:
        assert messages.prepare_request(replace(base, workload=replace(base.workload, keys=keys))).keys != 0
    for compression in Compression:
        client = replace(base.workload.client, compression=compression)
        request = messages.prepare_request(replace(base, workload=replace(base.workload, client=client)))
        assert request.client.compression != 0


def test_settings_keep_whether_a_default_is_known() -> None:
    reply = pb.DescribeReply(
        settings=[
            pb.EffectiveSetting(scope="broker 1", name="a", value="1", is_default=False),
            pb.EffectiveSetting(scope="broker 1", name="b", value="2"),
        ]
    )
    assert messages.settings_of(reply) == [Setting("broker 1", "a", "1", False), Setting("broker 1", "b", "2", None)]


@pytest.mark.parametrize(
    ("convert", "message", "plain", "absent"),
    [
        (messages.second_of, pb.SecondFigures, SecondFigures, {"workers"}),
        (messages.totals_of, pb.TotalFigures, TotalFigures, {"seconds", "workers", "clocks"}),
        (lambda m: messages.totals_of(pb.TotalFigures(window=m)).window, pb.WindowFigures, WindowFigures, set()),
        (
            lambda m: messages.totals_of(pb.TotalFigures(subscriptions=[m])).subscriptions[0],
            pb.SubscriptionTotals,
            SubscriptionTotals,
            {"backlog", "end_to_end_low", "end_to_end_high"},
        ),
    ],
)
def test_no_figure_is_lost_or_swapped(convert, message, plain, absent) -> None:  # type: ignore[no-untyped-def]
    assert {field.name for field in fields(plain)} - absent == set(message.DESCRIPTOR.fields_by_name) - absent
    filled = message()
    scalars = [f for f in message.DESCRIPTOR.fields if f.message_type is None and not f.is_repeated]
    for number, field in enumerate(scalars, 1):
        value = {field.TYPE_BYTES: b"%d" % number, field.TYPE_STRING: str(number)}.get(field.type, number)
        setattr(filled, field.name, value)
    converted = convert(filled)
    for field in scalars:
        if field.name not in absent:
            assert getattr(converted, field.name) == getattr(filled, field.name), field.name


def test_the_double_is_no_wider_than_a_host() -> None:
    assert differences(RefusingHost, Host) == []

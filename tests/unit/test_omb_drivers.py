"""OMB's driver files: each key becomes the system's own, is reported as having no effect, or is refused by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegauge.campaign.read.attach import read_secrets
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Setting
from tidegauge.model.workload import SubscriptionType
from tidegauge.omb.files import ReadDriver, read_driver, without_secrets
from tidegauge.systems.attach import SecretReference, TlsChoice
from tidegauge.systems.kafka.deployment import Node, server_properties
from tidegauge.systems.kafka.level import derive_level

CLASS = "io.openmessaging.benchmark.driver"
KAFKA = f"""\
name: K
driverClass: {CLASS}.kafka.KafkaBenchmarkDriver
replicationFactor: 3
topicConfig: |
  min.insync.replicas=2
commonConfig: |
  bootstrap.servers=h1:9092,h2:9092
  request.timeout.ms=1000
producerConfig: |
  acks=all
  linger.ms=2
  batch.size=4096
  compression.type=lz4
  max.request.size=4194304
consumerConfig: |
  max.partition.fetch.bytes=1000
"""
PULSAR = f"""\
name: P
driverClass: {CLASS}.pulsar.PulsarBenchmarkDriver
client:
  serviceUrl: pulsar://h:6650
  httpUrl: http://h:8080
  ioThreads: 16
  connectionsPerBroker: 4
  namespacePrefix: benchmark/ns
  persistence:
    ensembleSize: 3
    writeQuorum: 3
    ackQuorum: 2
    deduplicationEnabled: false
  authentication:
    plugin:
    data:
producer:
  batchingEnabled: true
  batchingMaxPublishDelayMs: 3
  batchingMaxBytes: 131072
  pendingQueueSize: 0
consumer:
  receiverQueueSize: 500
  subscriptionType: Shared
"""
RABBITMQ = f"""\
name: R
driverClass: {CLASS}.rabbitmq.RabbitMqBenchmarkDriver
producerCreationDelay: 100
amqpUris:
  - amqp://user:pass%21word@h
messagePersistence: true
queueType: QUORUM
"""


def read(tmp_path: Path, text: str, managed: bool = False) -> ReadDriver:
    path = tmp_path / "d.yaml"
    path.write_text(text)
    found, source = read_driver(path, managed)
    assert found is not None, source.problems
    return found


def refused(tmp_path: Path, text: str, managed: bool = False) -> str:
    path = tmp_path / "d.yaml"
    path.write_text(text)
    found, source = read_driver(path, managed)
    assert found is None
    return "\n".join(str(problem).partition("d.yaml:")[2] for problem in source.problems)


def test_kafka(tmp_path: Path) -> None:
    driver = read(tmp_path, KAFKA)
    terms = driver.terms
    assert driver.attach is not None
    assert driver.attach.addresses == {"bootstrap-servers": "h1:9092,h2:9092"}
    assert (terms.level, terms.copies, terms.nodes) == (LevelChoice(2), 3, 3)
    assert (terms.client.batch_bytes_max, terms.client.batch_delay_ms_max, terms.client.compression) == (4096, 2, "lz4")
    assert terms.producer == {"request.timeout.ms": "1000", "max.request.size": "4194304"}
    assert terms.consumer == {"request.timeout.ms": "1000", "max.partition.fetch.bytes": "1000"}


@pytest.mark.parametrize(
    ("old", "new", "level"),
    [
        ("min.insync.replicas=2", "min.insync.replicas=2\n  flush.messages=1\n  flush.ms=0", LevelChoice(1)),
        ("acks=all", "acks=1", LevelChoice(4)),
        ("min.insync.replicas=2", "min.insync.replicas=1", LevelChoice(4)),
        ("min.insync.replicas=2", "flush.messages=1", LevelChoice(3, as_found=True)),
        ("min.insync.replicas=2", "# none", LevelChoice(4, as_found=True)),
    ],
)
def test_the_level_that_kafkas_settings_mean(tmp_path: Path, old: str, new: str, level: LevelChoice) -> None:
    terms = read(tmp_path, KAFKA.replace(old, new)).terms
    assert terms.level == level
    if level.level >= 3:
        assert terms.producer["acks"] == ("1" if new == "acks=1" else "all")


@pytest.mark.parametrize("minimum", ["# none", "min.insync.replicas=1", "min.insync.replicas=2"])
def test_brokers_of_our_own_give_the_level_that_kafkas_settings_mean(tmp_path: Path, minimum: str) -> None:
    terms = read(tmp_path, KAFKA.replace("min.insync.replicas=2", minimum), managed=True).terms
    nodes = [Node(number, 9092, 9192, 9292, ()) for number in (1, 2, 3)]
    in_force = server_properties(nodes[0], nodes, terms.settings)["min.insync.replicas"]
    settings = [
        Setting("topic t", "min.insync.replicas", in_force),
        Setting("topic t", "replication.factor", str(terms.copies)),
        Setting("producer", "acks", terms.producer.get("acks", "all")),
    ]
    finding = derive_level(settings, terms.level, terms.nodes)
    assert (finding.level, finding.problems) == (terms.level.level, ())


def test_pulsar(tmp_path: Path) -> None:
    driver = read(tmp_path, PULSAR)
    terms = driver.terms
    assert driver.attach is not None
    assert driver.attach.addresses == {"service-url": "pulsar://h:6650", "admin-url": "http://h:8080"}
    assert (terms.level, terms.nodes) == (LevelChoice(2, as_found=True), 3)
    assert (terms.client.batch_delay_ms_max, terms.client.connections_per_broker) == (3, 4)
    assert terms.consumer == {"receiverQueueSize": "500"}
    assert terms.subscription_type is SubscriptionType.SHARED
    text_of_notes = " ".join(terms.notes)
    assert "ioThreads has no effect" in text_of_notes
    assert "namespacePrefix" in text_of_notes
    managed = read(tmp_path, PULSAR.replace("deduplicationEnabled: false", "deduplicationEnabled: true"), managed=True)
    assert managed.terms.settings == {"brokerDeduplicationEnabled": "true"}
    assert (managed.terms.level, managed.attach) == (LevelChoice(2), None)


def test_pulsars_encryption(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("x")
    secure = PULSAR.replace("pulsar://h:6650", "pulsar+ssl://h:6651").replace("http://h:8080", "https://h:8443")
    text = secure.replace("  ioThreads: 16", "  tlsTrustCertsFilePath: ca.pem\n  tlsEnableHostnameVerification: true")
    driver = read(tmp_path, text)
    assert driver.attach is not None
    assert driver.attach.tls == TlsChoice(ca=str(tmp_path / "ca.pem"), verify_host=True)
    assert "client.tlsTrustCertsFilePath: 'none.pem': there is no such file" in refused(
        tmp_path, text.replace("ca.pem", "none.pem")
    )


def test_batching_that_is_off_is_off(tmp_path: Path) -> None:
    assert (
        read(tmp_path, PULSAR.replace("batchingEnabled: true", "batchingEnabled: false")).terms.client.batch_bytes_max
        == 1
    )


def test_rabbitmqs_password_stays_in_memory_and_out_of_what_is_kept(tmp_path: Path) -> None:
    driver = read(tmp_path, RABBITMQ)
    assert driver.attach is not None
    assert driver.attach.addresses == {"uris": "amqp://h:5672", "management-url": "http://h:15672"}
    assert driver.attach.auth.user == "user"
    assert isinstance(driver.attach.auth.password, SecretReference)
    assert read_secrets(driver.attach, "rabbitmq") == {"password": "pass!word"}
    assert driver.terms.level == LevelChoice(1, "quorum", as_found=True)
    assert "word" not in repr(driver).replace("password", "")
    kept = without_secrets(RABBITMQ)
    assert "pass" not in kept
    assert "amqp://(hidden)@h" in kept
    assert kept.replace("(hidden)", "user:pass%21word") == RABBITMQ


@pytest.mark.parametrize(
    ("queue", "persistent", "level"),
    [
        ("CLASSIC", "true", LevelChoice(4, "classic", as_found=True)),
        ("CLASSIC", "false", LevelChoice(4, "transient", as_found=True)),
        ("QUORUM", "false", LevelChoice(3, "quorum")),
        ("STREAM", "true", LevelChoice(4, "stream")),
    ],
)
def test_rabbitmqs_queues_on_a_node_of_our_own(tmp_path: Path, queue: str, persistent: str, level: LevelChoice) -> None:
    text = RABBITMQ.replace("QUORUM", queue).replace("Persistence: true", f"Persistence: {persistent}")
    assert read(tmp_path, text, managed=True).terms.level == level


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (KAFKA, "  acks=all", "  acks=0", ["10: producerConfig.acks: '0'"]),
        (
            KAFKA,
            "request.timeout.ms=1000",
            "sasl.jaas.config=hunter2",
            ["8: commonConfig.sasl.jaas.config", "attach.auth"],
        ),
        (KAFKA, "request.timeout.ms=1000", "security.protocol=SASL_SSL", ["security.protocol", "attach.auth"]),
        (KAFKA, "request.timeout.ms=1000", "acks=all", ["8: commonConfig.acks", "producerConfig"]),
        (KAFKA, "min.insync.replicas=2", "min.insync.replica=2", ["5: topicConfig.min.insync.replica", "did you mean"]),
        (KAFKA, "min.insync.replicas=2", "flush.messages=1000", ["topicConfig.flush.messages: '1000'"]),
        (KAFKA, "min.insync.replicas=2", "flush.ms=5", ["topicConfig.flush.ms"]),
        (
            KAFKA,
            "replicationFactor: 3",
            "replicationFactor: 1",
            ["min.insync.replicas: '2' is above"],
        ),
        (KAFKA, "batch.size=4096", "batch.size=big", ["batch.size: 'big': must be a whole number"]),
        (KAFKA, "compression.type=lz4", "compression.type=rar", ["compression.type: 'rar'"]),
        (KAFKA, "max.partition.fetch.bytes=1000", "group.id=mine", ["consumerConfig.group.id", "group of its own"]),
        (KAFKA, "  bootstrap.servers=h1:9092,h2:9092\n", "", ["bootstrap.servers is missing"]),
        (KAFKA, "replicationFactor", "replicationFaktor", ["3: replicationFaktor: unknown key", "did you mean"]),
        (KAFKA, "kafka.KafkaBench", "kafka.KafkaBenhc", ["2: driverClass", "did you mean"]),
        (KAFKA, "kafka.KafkaBench", "nats.NatsBench", ["2: driverClass", "a system that is not known here; known: "]),
        (PULSAR, "ioThreads", "ioThread", ["6: client.ioThread: unknown key"]),
        (PULSAR, "ackQuorum: 2", "ackQuorum: 3", ["ackQuorum: '3'"]),
        (PULSAR, "writeQuorum: 3", "writeQuorum: 2", ["writeQuorum: '2'", "ensembleSize"]),
        (PULSAR, "deduplicationEnabled: false", "deduplicationEnabled: true", ["deduplicationEnabled", "--managed"]),
        (PULSAR, "subscriptionType: Shared", "subscriptionType: Sharde", ["subscriptionType", "Key_Shared"]),
        (PULSAR, "plugin:", "plugin: org.Basic", ["client.authentication", "attach.auth"]),
        (PULSAR, "  ioThreads: 16", "  topicType: non-persistent", ["topicType", "durability"]),
        (PULSAR, "  ioThreads: 16", "  tlsAllowInsecureConnection: true", ["tlsAllowInsecureConnection"]),
        (RABBITMQ, "QUORUM", "QUORAM", ["queueType", "did you mean 'QUORUM'?"]),
        (RABBITMQ, "QUORUM", "STREAM", ["queueType", "stream-uris"]),
        (RABBITMQ, "amqp://user", "http://user", ["5: amqpUris[0]", "amqp://host:5672"]),
    ],
)
def test_what_cannot_be_carried_out_is_refused_by_name(
    tmp_path: Path, text: str, old: str, new: str, words: list[str]
) -> None:
    assert old in text
    problems = refused(tmp_path, text.replace(old, new))
    for word in words:
        assert word in problems, problems
    assert "hunter2" not in problems
    assert "pass%21word" not in problems


def test_a_token_is_taken_from_its_file_only(tmp_path: Path) -> None:
    plugin = "plugin: org.apache.pulsar.client.impl.auth.AuthenticationToken\n    data:"
    (tmp_path / "token").write_text("hunter2\n")
    driver = read(tmp_path, PULSAR.replace("plugin:\n    data:", f"{plugin} file://{tmp_path}/token"))
    assert driver.attach is not None
    assert read_secrets(driver.attach, "pulsar") == {"token": "hunter2"}
    assert "hunter2" not in refused(tmp_path, PULSAR.replace("plugin:\n    data:", f"{plugin} token:hunter2"))

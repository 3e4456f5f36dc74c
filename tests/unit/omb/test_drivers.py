"""OMB's driver files: each key becomes the system's own, is reported as having no effect, or is refused by its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tidegauge.campaign.read.auth import read_secrets
from tidegauge.model.level import AS_FOUND, LevelChoice
from tidegauge.model.server import Setting
from tidegauge.model.workload import SubscriptionType
from tidegauge.omb.files import ReadDriver, kept_driver, read_driver
from tidegauge.systems.attach import SecretReference, TlsChoice
from tidegauge.systems.kafka.deployment import KafkaNode, server_properties
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
TOKEN = "plugin: org.apache.pulsar.client.impl.auth.AuthenticationToken\n    data:"
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


def test_a_block_that_is_a_mapping_is_refused_once_with_what_to_write(tmp_path: Path) -> None:
    mapping = KAFKA.replace("topicConfig: |", "topicConfig:").replace("min.insync.replicas=2", "min.insync.replicas: 2")
    (problem,) = refused(tmp_path, mapping).splitlines()
    assert "topicConfig: must be text: write '|' after the name" in problem


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


@pytest.mark.parametrize(
    ("copies", "topic", "level", "note"),
    [
        (5, "min.insync.replicas=3", LevelChoice(2), ""),
        (5, "min.insync.replicas=2", LevelChoice(4), "min.insync.replicas=2 of 5 copies is no majority"),
        (3, "min.insync.replicas=3", LevelChoice(2), "min.insync.replicas=3 of 3 copies: one node that is lost stops"),
        (3, "min.insync.replicas=2\n  flush.ms=1000", LevelChoice(2), "flush.ms=1000: the level is one without fsync"),
        (3, "min.insync.replicas=2\n  flush.messages=10000", LevelChoice(2), "flush.messages=10000: at most 10,000"),
        (1, "diskless.enable=true\n  retention.ms=3600000", AS_FOUND, "diskless.enable=true: mess"),
        (
            3,
            "min.insync.replicas=2\n  remote.storage.enable=true\n  local.retention.ms=60000\n  segment.bytes=10485760",
            LevelChoice(2),
            "remote.storage.enable=true: what share",
        ),
    ],
)
def test_topics_of_a_cluster_of_others_are_made_as_the_file_says(
    tmp_path: Path, copies: int, topic: str, level: LevelChoice, note: str
) -> None:
    text = KAFKA.replace("replicationFactor: 3", f"replicationFactor: {copies}")
    terms = read(tmp_path, text.replace("min.insync.replicas=2", topic)).terms
    assert terms.level == level
    assert terms.topic == dict(line.strip().split("=") for line in topic.splitlines())
    assert not note or any(said.startswith(note) for said in terms.notes)


@pytest.mark.parametrize(
    "topic",
    [
        "flush.messages=1\n  flush.ms=1000",
        "flush.messages=9223372036854775807\n  flush.ms=9223372036854775807",
        "retention.ms=-1\n  retention.bytes=-1",
    ],
    ids=["flushed at once, and by time", "never flushed", "kept for ever"],
)
def test_what_a_setting_does_not_do_is_not_noted(tmp_path: Path, topic: str) -> None:
    terms = read(tmp_path, KAFKA.replace("min.insync.replicas=2", f"min.insync.replicas=2\n  {topic}")).terms
    assert terms.notes == read(tmp_path, KAFKA).terms.notes


TLS = """\
security.protocol=SSL
  ssl.keystore.type=PEM
  ssl.keystore.location=/etc/bench/client.pem
  ssl.truststore.type=PEM
  ssl.truststore.location=/etc/bench/ca.pem
  client.id=bench-az={zone.id}
  client.rack={zone.id}
  metadata.recovery.strategy=rebootstrap"""


def test_a_diskless_clusters_encryption_is_taken_over(tmp_path: Path) -> None:
    text = KAFKA.replace("request.timeout.ms=1000", TLS).replace("min.insync.replicas=2", "diskless.enable=true")
    driver = read(tmp_path, text.replace("replicationFactor: 3", "replicationFactor: 1"))
    pem = "/etc/bench/client.pem"
    assert driver.attach and driver.attach.tls == TlsChoice("/etc/bench/ca.pem", pem, pem)
    for client in (driver.terms.producer, driver.terms.consumer):
        assert client["metadata.recovery.strategy"] == "rebootstrap"
        assert "client.rack" not in client
    assert any("client.rack={zone.id} is left out" in note for note in driver.terms.notes)
    checked = read(
        tmp_path, text.replace("client.rack={zone.id}", "client.rack=a\n  ssl.endpoint.identification.algorithm=")
    )
    assert checked.terms.consumer["client.rack"] == "a"
    assert checked.attach and checked.attach.tls and not checked.attach.tls.verify_host


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("ssl.keystore.type=PEM", "ssl.keystore.type=JKS", "ssl.keystore.type: 'JKS': only PEM is read"),
        ("  ssl.truststore.type=PEM\n", "", "ssl.truststore.location: 'JKS': only PEM is read"),
        ("=/etc/bench/ca.pem", "=ca.pem", "ssl.truststore.location: 'ca.pem': must be an absolute path"),
        ("ssl.keystore.type=PEM", "ssl.keystore.password=hunter2", "ssl.keystore.password: must not come from"),
    ],
)
def test_encryption_that_can_not_be_taken_over_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "driver.yaml"
    path.write_text(KAFKA.replace("request.timeout.ms=1000", TLS.replace(old, new)))
    _, source = read_driver(path, managed=False)
    assert any(words in str(problem.text) or words in f"{problem}" for problem in source.problems), source.problems


def test_encryption_that_is_not_switched_on_is_said(tmp_path: Path) -> None:
    text = KAFKA.replace("request.timeout.ms=1000", "ssl.truststore.location=/ca.pem")
    driver = read(tmp_path, text)
    assert driver.attach and driver.attach.tls is None
    assert any("without security.protocol=SSL no effect" in note for note in driver.terms.notes)


@pytest.mark.parametrize(
    ("topic", "settings", "nodes"),
    [
        ("min.insync.replicas=3", {"min.insync.replicas": "3"}, 5),
        ("min.insync.replicas=2", {}, 5),
        ("# none", {"min.insync.replicas": "1"}, 5),
    ],
)
def test_five_copies_on_brokers_of_our_own(tmp_path: Path, topic: str, settings: dict[str, str], nodes: int) -> None:
    text = KAFKA.replace("replicationFactor: 3", "replicationFactor: 5").replace("min.insync.replicas=2", topic)
    terms = read(tmp_path, text, managed=True).terms
    assert (terms.settings, terms.nodes, terms.copies) == (settings, nodes, 5)


@pytest.mark.parametrize("topic", ["diskless.enable=true", "remote.storage.enable=true", "local.retention.ms=6"])
def test_what_brokers_of_our_own_can_not_is_refused_with_the_reason(tmp_path: Path, topic: str) -> None:
    path = tmp_path / "driver.yaml"
    path.write_text(KAFKA.replace("min.insync.replicas=2", topic))
    _, source = read_driver(path, managed=True)
    (problem,) = source.problems
    assert "attach to a cluster that has, without --managed" in problem.text


@pytest.mark.parametrize(
    ("quorums", "level", "settings", "nodes"),
    [
        ((3, 3, 2), 2, None, 3),
        ((3, 3, 1), 4, None, 3),
        ((1, 1, 1), 4, None, 1),
        ((2, 2, 2), 2, ("2", "2", "2"), 3),
        ((2, 2, 1), 4, ("2", "2", "1"), 3),
        ((3, 3, 3), 2, ("3", "3", "3"), 3),
        ((5, 3, 2), 2, ("5", "3", "2"), 5),
        ((5, 5, 2), 4, ("5", "5", "2"), 5),
        ((5, 5, 3), 2, ("5", "5", "3"), 5),
    ],
)
def test_pulsars_quorums_are_taken_as_they_are(
    tmp_path: Path, quorums: tuple[int, int, int], level: int, settings: tuple[str, ...] | None, nodes: int
) -> None:
    text = PULSAR
    for name, usual, value in zip(("ensembleSize", "writeQuorum", "ackQuorum"), (3, 3, 2), quorums, strict=True):
        text = text.replace(f"{name}: {usual}", f"{name}: {value}")
    of_others = read(tmp_path, text).terms
    assert of_others.level == LevelChoice(level, as_found=True)
    assert of_others.settings == {}, "brokers of others are told nothing"
    terms = read(tmp_path, text, managed=True).terms
    names = ("managedLedgerDefaultEnsembleSize", "managedLedgerDefaultWriteQuorum", "managedLedgerDefaultAckQuorum")
    assert (terms.level, terms.nodes) == (LevelChoice(level), nodes)
    assert terms.settings == (dict(zip(names, settings, strict=True)) if settings else {})


@pytest.mark.parametrize("minimum", ["# none", "min.insync.replicas=1", "min.insync.replicas=2"])
def test_brokers_of_our_own_give_the_level_that_kafkas_settings_mean(tmp_path: Path, minimum: str) -> None:
    terms = read(tmp_path, KAFKA.replace("min.insync.replicas=2", minimum), managed=True).terms
    nodes = [KafkaNode(number, 9092, 9192, 9292, ()) for number in (1, 2, 3)]
    in_force = server_properties(nodes[0], nodes, terms.settings)["min.insync.replicas"]
    settings = [
        Setting("topic t", "flush.messages", "9223372036854775807"),
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
    assert YAML(typ="safe").load(kept_driver(driver)) == {
        **YAML(typ="safe").load(RABBITMQ),
        "amqpUris": ["amqp://h:5672"],
    }


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
            "security.protocol=SASL_SSL",
            ["security.protocol: 'GSSAPI'", "attach.auth"],
        ),
        (KAFKA, "request.timeout.ms=1000", "security.protocol=TLS", ["8: commonConfig.security.protocol: 'TLS': must"]),
        (KAFKA, "request.timeout.ms=1000", "acks=all", ["8: commonConfig.acks", "producerConfig"]),
        (KAFKA, "min.insync.replicas=2", "min.insync.replica=2", ["5: topicConfig.min.insync.replica", "did you mean"]),
        (KAFKA, "min.insync.replicas=2", "flush.messages=few", ["topicConfig.flush.messages: 'few': must be a whole"]),
        (KAFKA, "min.insync.replicas=2", "diskless.enable=yes", ["diskless.enable: 'yes': must be true or false"]),
        (KAFKA, "min.insync.replicas=2", "min.insync.replicas=0", ["min.insync.replicas: '0' must be at least 1"]),
        (
            KAFKA,
            "replicationFactor: 3",
            "replicationFactor: 1",
            ["min.insync.replicas: '2' is above"],
        ),
        (KAFKA, "acks=all", "acks=2", ["10: producerConfig.acks: '2': must be one of all, -1, 0, 1"]),
        (KAFKA, "linger.ms=2", "linger.ms=-1", ["11: producerConfig.linger.ms: '-1'", "at least 0"]),
        (KAFKA, "linger.ms=2", f"linger.ms={'9' * 400}", ["11: producerConfig.linger.ms: '999"]),
        (KAFKA, "max.request.size=4194304", "max.request.size=4M", ["14: producerConfig.max.request.size: '4M'"]),
        (
            KAFKA,
            "fetch.bytes=1000",
            "fetch.bytes=9999999999",
            ["16: consumerConfig.max.partition", "2147483647"],
        ),
        (KAFKA, "request.timeout.ms=1000", "request.timeout.ms=1s", ["8: commonConfig.request.timeout.ms: '1s'"]),
        (KAFKA, "batch.size=4096", "batch.size=big", ["batch.size: 'big': must be a whole number"]),
        (KAFKA, "batch.size=4096", f"batch.size={'9' * 5000}", ["batch.size: '999", "must be a whole number"]),
        (KAFKA, "compression.type=lz4", "compression.type=rar", ["compression.type: 'rar'"]),
        (
            KAFKA,
            "max.partition.fetch.bytes=1000",
            "transactional.id=t",
            ["consumerConfig.transactional.id", "leave it"],
        ),
        (KAFKA, "  bootstrap.servers=h1:9092,h2:9092\n", "", ["bootstrap.servers is missing"]),
        (KAFKA, "replicationFactor", "replicationFaktor", ["3: replicationFaktor: unknown key", "did you mean"]),
        (KAFKA, "kafka.KafkaBench", "kafka.KafkaBenhc", ["2: driverClass", "did you mean"]),
        (
            KAFKA,
            "kafka.KafkaBench",
            "artemis.ArtemisBench",
            ["2: driverClass", "a system that is not known here; known: "],
        ),
        (
            KAFKA,
            "kafka.KafkaBench",
            "redpanda.tx.RedpandaTxBench",
            ["sends in transactions, which are not measured: write", "redpanda.RedpandaBenchmarkDriver"],
        ),
        (KAFKA, "kafka.KafkaBench", "kop.KopBench", ["sends and reads over two protocols: write one file for"]),
        (
            KAFKA,
            "kafka.KafkaBench",
            "automq.AutoMqBench",
            ["a product that speaks Apache Kafka's protocol: write"],
        ),
        (PULSAR, "ioThreads", "ioThread", ["6: client.ioThread: unknown key"]),
        (
            PULSAR,
            "pendingQueueSize: 0",
            "pendingQueueSize: 9999999999",
            ["producer.pendingQueueSize", "at most 2147483647"],
        ),
        (PULSAR, "ackQuorum: 2", "ackQuorum: 4", ["ackQuorum: '4' is above writeQuorum (3)"]),
        (PULSAR, "writeQuorum: 3", "writeQuorum: 4", ["writeQuorum: '4' is above ensembleSize (3)"]),
        (PULSAR, "deduplicationEnabled: false", "deduplicationEnabled: true", ["deduplicationEnabled", "--managed"]),
        (PULSAR, "subscriptionType: Shared", "subscriptionType: Sharde", ["subscriptionType", "Key_Shared"]),
        (PULSAR, "plugin:", "plugin: org.Basic", ["client.authentication", "attach.auth"]),
        (PULSAR, "  ioThreads: 16", "  topicType: non-persistent", ["topicType", "durability"]),
        (PULSAR, "  ioThreads: 16", "  tlsAllowInsecureConnection: true", ["tlsAllowInsecureConnection"]),
        (RABBITMQ, "QUORUM", "QUORAM", ["queueType", "did you mean 'QUORUM'?"]),
        (RABBITMQ, "QUORUM", "STREAM", ["queueType", "stream-uris"]),
        (RABBITMQ, "amqp://user", "http://user", ["5: amqpUris[0]", "amqp://host:5672"]),
        (RABBITMQ, "amqpUris:\n  -", "amqpUris:", ["amqpUris: 'amqp://(hidden)@h': must be a list"]),
        *(
            (RABBITMQ, "user:pass%21word@h", text, ["%2F"])
            for text in ("u:1/hunter2@h", "u:1?hunter2@h", "u:1#hunter2@h")
        ),
        (PULSAR, "pulsar://h", "pulsar://u:hunter2@h", ["client.serviceUrl", "attach.auth"]),
        (PULSAR, "http://h", "http://u:hunter2@h", ["client.httpUrl", "attach.auth"]),
        (PULSAR, "http://h:8080", "http://h:8080/?token=hunter2", ["client.httpUrl", "attach.auth"]),
        (PULSAR, "plugin:\n    data:", f"{TOKEN} token:hunter2", ["client.authentication", "attach.auth"]),
        (PULSAR, "plugin:\n    data:", f"{TOKEN} {{hunter2: hunter2}}", ["client.authentication", "attach.auth"]),
        *(
            (KAFKA, old, f"{old}\n  {line}", ["attach.auth"])
            for old in ("acks=all", "max.partition.fetch.bytes=1000")
            for line in (
                'sasl.jaas.config=org.P required username="u" password="hunter2";',
                "ssl.keystore.password=hunter2",
                "my.ssl.keystore.password: hunter2",
                "basic.auth.user.info u:hunter2",
                "schema.registry.url=http://u:hunter2@h:8081",
                'interceptor.configs=u="x" password="hunter2"',
            )
        ),
        (KAFKA, "h1:9092,", "u:hunter2@h1:9092,", ["commonConfig.bootstrap.servers", "attach.auth"]),
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


@pytest.mark.parametrize(
    ("old", "line", "said"),
    [
        ("acks=all", "lingr.ms=5", "d.yaml:11: producerConfig.lingr.ms is left out: producers of kafka-clients"),
        ("acks=all", "fork.tier=hot", "d.yaml:11: producerConfig.fork.tier is left out"),
        ("fetch.bytes=1000", "acks=1", "d.yaml:17: consumerConfig.acks is left out: consumers of"),
        ("request.timeout.ms=1000", "fork.tier=hot", "d.yaml:9: commonConfig.fork.tier is left out: clients of"),
        # What a comment's line break left of a value, which is no name of anything.
        ("acks=all", '"hunter2!";', "d.yaml:11: producerConfig: what stands here is left out: producers of"),
        ("request.timeout.ms=1000", "MIIEvhunter2QQ==", "d.yaml:9: commonConfig: what stands here is left out"),
    ],
)
def test_settings_that_no_client_of_here_has_are_left_out_as_the_client_would_and_noted(
    tmp_path: Path, old: str, line: str, said: str
) -> None:
    terms = read(tmp_path, KAFKA.replace(old, f"{old}\n  {line}")).terms
    (note,) = [note for note in terms.notes if "is left out: " in note and "have no such setting" in note]
    assert said in note
    assert "hunter2" not in note
    assert ("did you mean 'linger.ms'?" in note) is line.startswith("lingr")
    assert note.endswith("and ignore it.")
    without = read(tmp_path, KAFKA).terms
    assert (terms.producer, terms.consumer, terms.kept) == (without.producer, without.consumer, without.kept)


def test_a_token_is_taken_from_its_file_only(tmp_path: Path) -> None:
    plugin = "plugin: org.apache.pulsar.client.impl.auth.AuthenticationToken\n    data:"
    (tmp_path / "token").write_text("hunter2\n")
    driver = read(tmp_path, PULSAR.replace("plugin:\n    data:", f"{plugin} file://{tmp_path}/token"))
    assert driver.attach is not None
    assert read_secrets(driver.attach, "pulsar") == {"token": "hunter2"}
    assert "hunter2" not in refused(tmp_path, PULSAR.replace("plugin:\n    data:", f"{plugin} token:hunter2"))


@pytest.mark.parametrize("managed", [False, True])
@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (RABBITMQ, "amqp://user:pass%21word@h", 'amqp:\\/\\/user:hunter2@h"'.replace("amqp", '"amqp', 1)),
        (RABBITMQ, "user:pass%21word@h", "user:x@hunter2@h"),
        (RABBITMQ, "user:pass%21word@h", "user:hunter2@h # hunter2"),
        (RABBITMQ, "user:pass%21word@h", '"hunter2"@h'),
        (RABBITMQ, "user:pass%21word@h", "user:hunter%32@h"),
        (RABBITMQ, "amqp://user:pass%21word@h", '"amqp://user:hunter\\x32@h"'),
        (RABBITMQ, "amqp://user:pass%21word@h", "amqps://user:hunter2@h/vhost\n# amqp://user:hunter2@h"),
        (KAFKA, "request.timeout.ms=1000", 'client.id=x\n  #sasl.jaas.config=p required password="hunter2";'),
        (KAFKA, "acks=all", "acks=all\n  ! ssl.keystore.password=hunter2"),
        (KAFKA, "name: K", "# hunter2\nname: K # hunter2"),
        (KAFKA, "producerConfig: |", "# hunter2\nproducerConfig: | # hunter2"),
        (PULSAR, "plugin:\n    data:", "data: token:hunter2"),
        (PULSAR, "plugin:\n    data:", "plugin: ''\n    data: {token: hunter2}"),
        (PULSAR, "plugin:\n    data:", "plugin:\n    data: # token:hunter2"),
    ],
)
def test_no_secret_is_in_what_is_kept(tmp_path: Path, text: str, old: str, new: str, managed: bool) -> None:
    assert old in text
    secret_file = text.replace(old, new)
    driver = read(tmp_path, secret_file, managed)
    kept = kept_driver(driver)
    assert "hunter" not in kept
    # What is kept can be run again, and means the same.
    again = read(tmp_path, kept, managed)
    assert replace(again.terms, password="", user="") == replace(driver.terms, password="", user="")


@pytest.mark.parametrize("text", [KAFKA, PULSAR.replace("plugin:\n    data:", f"{TOKEN} file:///srv/token")])
def test_a_file_without_secrets_is_kept_whole(tmp_path: Path, text: str) -> None:
    kept = YAML(typ="safe").load(kept_driver(read(tmp_path, text)))
    assert kept == YAML(typ="safe").load(text)

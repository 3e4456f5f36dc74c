"""Keys that public forks and older versions of OMB have in their files, and what becomes of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omb_samples import DRIVER, GOOD, write

from tidegauge.campaign.read.auth import read_secrets
from tidegauge.config.units import ScheduleRule
from tidegauge.errors import UserError
from tidegauge.model.level import AS_FOUND
from tidegauge.model.workload import Keys, Payload
from tidegauge.omb.files import kept_driver, read_driver
from tidegauge.omb.translate import Translation, translate_all

CLASS = "io.openmessaging.benchmark.driver"
KAFKA = DRIVER + "consumerConfig: |\n  auto.offset.reset=earliest\ntopicConfig: |\n  # none\n"
PULSAR = f"""\
name: P
driverClass: {CLASS}.pulsar.PulsarBenchmarkDriver
client:
  serviceUrl: pulsar://h:6650
  httpUrl: http://h:8080
producer:
  batchingEnabled: true
consumer:
  subscriptionType: Failover
"""
RABBITMQ = f"name: R\ndriverClass: {CLASS}.rabbitmq.RabbitMqBenchmarkDriver\nmessagePersistence: true\n"
URIS = "amqpUris: [amqp://h]\n"

DONE, NOTED, REFUSED = "carried out", "noted", "refused"
WORKLOAD_KEYS: dict[str, tuple[Any, str]] = {
    "backlogProducerRate": (500, REFUSED),
    "consumerOnly": ("true", REFUSED),
    "existingConsumeTopicList": ("[a]", REFUSED),
    "existingProduceTopicList": ("[a]", REFUSED),
    "existingTopicList": ("[orders]", NOTED),
    "fanout": (2, REFUSED),
    "fractionTopicsChange": (0.2, REFUSED),
    "indexConfig": ("{indexType: GEOHASH}", REFUSED),
    "keyDistributor": ("FIXED_KEY", DONE),
    "logIntervalMillis": (1000, DONE),
    "messageSizeDistribution": ('{"0-256": 234, "256-1024": 456}', NOTED),
    "nameFormat": ("x", REFUSED),
    "numClients": (3, REFUSED),
    "partitionsPerTopicList": ("[1, 4]", REFUSED),
    "producerInitialRate": (500, NOTED),
    "producerRate": (-1, NOTED),
    "producerRateList": ("[[4, 0, 500], [4, 30, 1000]]", NOTED),
    "producerRateTimelineIntervalSeconds": (5, NOTED),
    "producersPerTopicList": ("[1, 2]", REFUSED),
    "randomTopicNames": ("true", NOTED),
    "sampleRateMillis": (2000, DONE),
    "schemaFile": ("user.avsc", REFUSED),
    "topicChangeIntervalSeconds": (30.0, REFUSED),
    "topicNames": ("orders;payments", NOTED),
    "warmupProducerRate": (100, NOTED),
    "warmupProducerRateSeparationMinutes": (1, NOTED),
}
DRIVER_KEYS = [
    (KAFKA, "reset: true", "reset", NOTED),
    (KAFKA, "topicPrefix: mine-", "topicPrefix", DONE),
    (KAFKA, "requestsPerTransaction: 2", "requestsPerTransaction", REFUSED),
    (KAFKA, "useTransactions: true", "useTransactions", REFUSED),
    (KAFKA, "maxConcurrentTransactions: 100", "maxConcurrentTransactions", NOTED),
    (KAFKA, "batchSize: 1", "batchSize", NOTED),
    (KAFKA, "skipCreateTopic: true", "skipCreateTopic", REFUSED),
    (KAFKA, "useMyTopic: true", "useMyTopic", REFUSED),
    (KAFKA, "topics: a,b", "topics", REFUSED),
    (KAFKA, "useSharedConsumerGroup: true", "useSharedConsumerGroup", REFUSED),
    (KAFKA, "streamConfig: |\n  application.id=x", "streamConfig", REFUSED),
    (KAFKA, "consumerConfig: |\n  group.id=benchGroup", "consumerConfig: group.id", NOTED),
    (KAFKA, "consumerConfig: |\n  offsetCommitLingerMs=5000", "consumerConfig.offsetCommitLingerMs", NOTED),
    (KAFKA, "producerConfig: |\n  acks=0", "producerConfig.acks", REFUSED),
    (KAFKA, "producerConfig: |\n  transactional.id=t", "producerConfig.transactional.id", REFUSED),
    (KAFKA, "topicConfig: |\n  write.caching=true", "write.caching", DONE),
    (PULSAR, "client.cluster: local", "client.cluster", NOTED),
    (PULSAR, "client.createNamespace: true", "client.createNamespace", NOTED),
    (PULSAR, "client.useMyTopic: true", "client.useMyTopic", REFUSED),
    (PULSAR, "client.topics: persistent://a/b/c", "client.topics", REFUSED),
    (PULSAR, "consumer.ackDelayInMs: 5", "consumer.ackDelayInMs", REFUSED),
    (PULSAR, "enableTiering: true", "enableTiering", REFUSED),
    (PULSAR, "producer.maxPendingMessagesAcrossPartitions: 5", "producer.maxPendingMessagesAcrossPartitions", NOTED),
    (PULSAR, "producer.batchingPartitionSwitchFrequencyByPublishDelay: 2", "FrequencyByPublishDelay", DONE),
    (
        PULSAR,
        "consumer.maxTotalReceiverQueueSizeAcrossPartitions: 5",
        "consumer.maxTotalReceiverQueueSizeAcrossPartitions",
        NOTED,
    ),
    (RABBITMQ, "brokerAddress: localhost", "brokerAddress", NOTED),
    (RABBITMQ + URIS, "brokerAddress: localhost", "brokerAddress has no effect", NOTED),
    (RABBITMQ + URIS, "brokers: [h1, h2]", "brokers", REFUSED),
    (RABBITMQ + URIS, "exchangeType: DIRECT", "exchangeType", REFUSED),
    (RABBITMQ + URIS, "exclusive: true", "exclusive", NOTED),
    (RABBITMQ + URIS, "routingKeyLength: 7", "routingKeyLength", NOTED),
    (RABBITMQ + URIS, "singleNode: true", "singleNode", NOTED),
    (RABBITMQ + URIS, "topicPrefix: mine-", "topicPrefix", DONE),
]


def translate(tmp_path: Path, driver: str = DRIVER, *, managed: bool = False, **workload: Any) -> Translation:
    (tmp_path / "d.yaml").write_text(driver)
    (one,) = translate_all([write(tmp_path, **workload)], [tmp_path / "d.yaml"], managed, 1.0)
    return one


def with_line(text: str, line: str) -> str:
    """A driver file with one more key: below a block of it where there is one of that name."""
    first, *more = line.split("\n")
    block, dot, key = first.partition(".") if first.split(":")[0].count(".") else (first.removesuffix(" |"), "", "")
    header = f"{block}:\n" if dot else f"{block} |\n"
    if header not in text:
        return f"{text}{line}\n"
    return text.replace(header, header + (f"  {key}\n" if dot else "\n".join(more) + "\n"))


def check_outcome(outcome: str, key: str, notes: str, problems: str) -> None:
    assert "unknown key" not in problems
    assert (key in problems) == (outcome == REFUSED), problems
    if outcome != REFUSED:
        assert (key in notes) == (outcome == NOTED), notes


@pytest.mark.parametrize("key", WORKLOAD_KEYS)
def test_every_key_of_a_forks_workload(tmp_path: Path, key: str) -> None:
    value, outcome = WORKLOAD_KEYS[key]
    notes = problems = ""
    try:
        notes = " ".join(translate(tmp_path, **{key: value}).notes)
    except UserError as error:
        problems = str(error)
    check_outcome(outcome, key, notes, problems)


@pytest.mark.parametrize(("text", "line", "key", "outcome"), DRIVER_KEYS)
def test_every_key_of_a_forks_driver(tmp_path: Path, text: str, line: str, key: str, outcome: str) -> None:
    (tmp_path / "d.yaml").write_text(with_line(text, line))
    driver, source = read_driver(tmp_path / "d.yaml", managed=False)
    notes = " ".join(driver.terms.notes) if driver else ""
    check_outcome(outcome, key, notes, "\n".join(str(problem) for problem in source.problems))


@pytest.mark.parametrize("key", [key for key, (_, outcome) in WORKLOAD_KEYS.items() if outcome == REFUSED])
def test_a_key_that_is_off_asks_for_nothing(tmp_path: Path, key: str) -> None:
    assert not any(key in note for note in translate(tmp_path, **{key: "false"}).notes)


@pytest.mark.parametrize(
    ("name", "product"),
    [("redpanda.Redpanda", "Redpanda"), ("redpanda.swarm.Redpanda", "Redpanda"), ("gateway.Kafka", "Conduktor")],
)
def test_a_forks_driver_for_a_product_is_measured_over_its_protocol(tmp_path: Path, name: str, product: str) -> None:
    text = DRIVER.replace("kafka.Kafka", name).replace("acks=all", "acks=all\n  linger.ms=1")
    found = translate(tmp_path, text)
    assert found.campaign.durability == AS_FOUND
    assert found.notes[0].startswith("driverClass: ") or product in " ".join(found.notes)
    with pytest.raises(UserError, match=f"are Apache Kafka's, not {product}"):
        translate(tmp_path, text, managed=True)


def test_a_mistyped_key_hides_no_problem_of_the_blocks(tmp_path: Path) -> None:
    text = KAFKA.replace("topicConfig", "topicConfg").replace("acks=all", "acks=maybe")
    with pytest.raises(UserError) as error:
        translate(tmp_path, text.replace("auto.offset.reset=earliest", "transactional.id=t"))
    for words in ("did you mean 'topicConfig'?", "'maybe': must be one of", "consumerConfig.transactional.id"):
        assert words in str(error.value)


JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="{}";'


def kafka_login(password: str) -> str:
    login = f"security.protocol=SASL_SSL\n  sasl.mechanism=SCRAM-SHA-256\n  sasl.jaas.config={JAAS.format(password)}"
    return DRIVER.replace("bootstrap.servers=localhost:9092", f"bootstrap.servers=localhost:9092\n  {login}")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (kafka_login("${env:SECRET_OF_TEST}"), "password"),
        (
            PULSAR.replace(
                "producer:",
                "  authentication: {plugin: org.apache.pulsar.client.impl.auth.AuthenticationToken, "
                "data: 'token:${env:SECRET_OF_TEST}'}\nproducer:",
            ),
            "token",
        ),
        (RABBITMQ + "amqpUris: ['amqp://u:${env:SECRET_OF_TEST}@h']\n", "password"),
    ],
)
def test_a_secret_is_taken_from_the_variable_that_the_file_names(
    tmp_path: Path, text: str, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_TEST", "hunter2")
    driver = translate(tmp_path, text).driver
    assert driver.attach is not None
    assert read_secrets(driver.attach, "x") == {secret: "hunter2"}
    assert "hunter2" not in kept_driver(driver) + repr(driver)


def test_a_password_in_kafkas_file_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"sasl.jaas.config: needs .*\$\{env:VARIABLE\}") as error:
        translate(tmp_path, kafka_login("hunter2"))
    assert "hunter2" not in str(error.value)


def spans(found: Translation) -> list[tuple[float, float, float]]:
    """Each part's length in seconds, and its rates at both ends."""
    rate = getattr(found.campaign.experiments[0].options, "rate", None)
    assert isinstance(rate, ScheduleRule)
    return [(span.length_s, span.from_rate.msgs_per_s or 0, span.to_rate.msgs_per_s or 0) for span in rate.spans]


TIMELINE = "[{timeSeconds: 120, rate: 500}, {timeSeconds: 60, rate: 1000}]"


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        (
            {"producerRateTimeline": TIMELINE, "producerInitialRate": 200},
            [(60, 200, 200), (60, 1000, 500), (180, 500, 500)],
        ),
        (
            {"producerRateTimeline": TIMELINE, "producerInitialRate": 0},
            [(60, 0, 0), (60, 1000, 500), (180, 500, 500)],
        ),
        ({"producerRateList": "[[4, 0, 500], [4, 2, 1000]]"}, [(120, 500, 1000), (180, 1000, 1000)]),
        ({"producerRateList": "[[4, 10, 1000], [4, 0, 500]]"}, [(300, 500, 750)]),
        ({"producerRateList": "[[1, 100], [2, 0]]"}, [(60, 100, 100), (60, 100, 0), (180, 0, 0)]),
    ],
)
def test_rates_that_change_with_time(tmp_path: Path, rates: dict[str, Any], expected: list[Any]) -> None:
    found = translate(tmp_path, **rates, testDurationMinutes=5)
    assert spans(found) == expected


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ({"producerRateTimeline": TIMELINE}, "producerRateTimeline: needs producerInitialRate"),
        ({"producerRateList": "[[25, 0, 10]]"}, r"producerRateList\[0\]: must be \[HOUR, MINUTE, RATE\]"),
        ({"producerRateList": "[[1, 10], [4, 0, 10]]"}, r"producerRateList\[1\]: must be \[HOUR"),
        ({"producerRateList": "[[1, 10]]", "consumerBacklogSizeGB": 1}, "is built and read away at one rate"),
        ({"producerRateList": "[[1, 0], [2, 0]]"}, "producerRateList: sends nothing: every rate is 0"),
        ({"producerRateList": str([[n, 1] for n in range(99)])}, "has more than 98 entries"),
    ],
)
def test_rates_that_can_not_be_a_schedule(tmp_path: Path, rates: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        translate(tmp_path, **rates)


def test_topics_that_are_there_are_used_and_read(tmp_path: Path) -> None:
    found = translate(tmp_path, topicNames="[orders, payments]", consumerOnly="true")
    workload = found.campaign.workload
    assert (workload.existing_topics, workload.topics, workload.producers) == (("orders", "payments"), 2, 0)
    assert (found.campaign.experiments[0].name, found.campaign.durability.as_found) == ("read", True)
    written = translate(tmp_path, existingTopicList="[orders]", topics=0, partitionsPerTopic=0)
    assert (written.campaign.workload.producers, written.campaign.experiments[0].name) == (4, "latency")
    with pytest.raises(UserError, match="topicNames: servers that are started here have no topics yet"):
        translate(tmp_path, topicNames="orders", managed=True)
    with pytest.raises(UserError, match="a backlog is built in new topics"):
        translate(tmp_path, topicNames="orders", consumerBacklogSizeGB=1)


def test_one_key_no_payload_and_periods(tmp_path: Path) -> None:
    found = translate(tmp_path, keyDistributor="FIXED_KEY", useRandomizedPayloads="false", logIntervalMillis=2500)
    workload = found.campaign.workload
    assert (workload.keys, workload.distinct_keys, workload.payload) == (Keys.ROUND_ROBIN, 1, Payload(1024, 0.0))
    assert found.workload.fields.period_s == 2
    text = " ".join(found.notes)
    assert "messages are made of zeros" in text
    assert "logIntervalMillis: 2500 becomes 2000" in text
    assert translate(tmp_path, keyDistributor="ROUND_ROBIN").campaign.workload.keys is Keys.ROUND_ROBIN


def test_a_payload_is_found_in_any_directory_above(tmp_path: Path) -> None:
    deep = tmp_path / "workloads" / "set" / "100b"
    deep.mkdir(parents=True)
    (tmp_path / "payload.data").write_bytes(bytes(GOOD["messageSize"]))
    (tmp_path / "d.yaml").write_text(DRIVER)
    path = write(deep, useRandomizedPayloads="false", payloadFile="payload.data")
    (one,) = translate_all([path], [tmp_path / "d.yaml"], False, 1.0)
    assert one.campaign.workload.payload.file == str(tmp_path / "payload.data")

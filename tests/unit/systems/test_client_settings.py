"""Settings of clients are checked before anything is started, against the list of the client's own library."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegauge.campaign.read.one_line import AB, CommandLine, compose_line
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.errors import UserError
from tidegauge.fairness import Case
from tidegauge.model.level import AS_FOUND, LevelChoice
from tidegauge.model.workload import SubscriptionType, Workload
from tidegauge.systems.client_settings import CONSUMER, PRODUCER, ClientSetting
from tidegauge.systems.kafka import clients as kafka
from tidegauge.systems.pulsar import clients as pulsar
from tidegauge.systems.rabbitmq import clients as rabbitmq
from tidegauge.systems.registry import all_systems, system_named

ROOT = Path(__file__).resolve().parents[3]
CASE = Case("1", 1, AS_FOUND)


@pytest.mark.parametrize(
    ("setting", "good", "bad", "allowed"),
    [
        (ClientSetting("boolean"), "True", "yes", "must be true or false"),
        (ClientSetting("int", least=0), "2147483647", "2147483648", "must be a whole number from 0 to 2147483647"),
        (ClientSetting("int", least=0), "0", "-1", "must be a whole number of at least 0"),
        (ClientSetting("long", least=0), "2147483648", "abc", "must be a whole number of at least 0"),
        (ClientSetting("int", least=1, most=17), "17", "18", "must be a whole number from 1 to 17"),
        (ClientSetting("short"), "-32768", "5.0", "must be a whole number"),
        (ClientSetting("double", least=0.5, most=1.0), "1e0", "0.4", "must be a number from 0.5 to 1.0"),
        (ClientSetting("double"), "-3", "nan", "must be a number"),
        (ClientSetting(allowed=("all", "-1", "0", "1")), " all ", "7", "must be one of all, -1, 0, 1"),
        (ClientSetting(allowed=("all", "one")), "all", "al", "must be one of all, one (did you mean 'all'?)"),
        (ClientSetting(allowed=("NONE", "LZ4")), "LZ4", "lz4", "must be one of NONE, LZ4"),
        (ClientSetting(allowed=("CLASSIC",), any_case=True), "classic", "new", "must be one of CLASSIC"),
        (ClientSetting(allowed=("none", "by:")), "by:PT1S", "by", "must be one of none, by:..."),
        (ClientSetting("structure"), None, "{}", "can't be given: it is no single value"),
        (ClientSetting(), "anything", None, ""),
    ],
)
def test_a_value_is_of_its_type_and_within_its_bounds(
    setting: ClientSetting, good: str | None, bad: str | None, allowed: str
) -> None:
    if good is not None:
        assert setting.problem_of(good) == ""
    if bad is not None:
        assert setting.problem_of(bad).startswith(allowed)


def test_the_lists_are_of_the_clients_that_the_load_generator_has() -> None:
    versions = dict(re.findall(r"<(\w+)\.version>([^<]+)<", (ROOT / "worker/pom.xml").read_text()))
    for system, library in (("kafka", "kafka-clients"), ("pulsar", "pulsar-client")):
        listed = (ROOT / f"src/tidegauge/systems/{system}/client_settings.json").read_text()
        assert f'"library": "{library} {versions[system]}"' in listed


@pytest.mark.parametrize(
    ("system", "role", "name", "value", "problem"),
    [
        ("kafka", PRODUCER, "linger.ms", "20", ""),
        ("kafka", PRODUCER, "liner.ms", "2", "producers of Apache Kafka have no such setting (did you mean "
         "'linger.ms'?)"),
        ("kafka", PRODUCER, "linger.ms", "abc", "'abc': must be a whole number of at least 0"),
        ("kafka", PRODUCER, "compression.gzip.level", "0", "'0': must be one of -1, 1, 2, 3, 4, 5, 6, 7, 8, 9"),
        ("kafka", PRODUCER, "key.serializer", "a.B", "can't be given: it is set by Tidegauge"),
        ("kafka", PRODUCER, "transactional.id", "a", "can't be given: it begins transactions, and none are measured"),
        ("kafka", PRODUCER, "security.protocol", "SSL", "can't be given: it says how clients connect, and all do so "
         "alike: give it under 'attach'"),
        ("kafka", CONSUMER, "linger.ms", "1", "is a setting of producers: give it under 'producer'"),
        ("kafka", CONSUMER, "auto.offset.reset", "by_duration:PT1H", ""),
        ("kafka", CONSUMER, "group.protocol", "consumer", ""),
        ("pulsar", PRODUCER, "batchingMaxByte", "1", "producers of Apache Pulsar have no such setting (did you mean "
         "'batchingMaxBytes'?)"),
        ("kafka", PRODUCER, "acks", "7", "'7': must be one of all, -1, 1"),
        ("kafka", PRODUCER, "acks", "0", f"'0': {kafka.NO_ACKNOWLEDGEMENT}"),
        ("pulsar", PRODUCER, "compressionType", "lz4", "'lz4': must be one of NONE, LZ4, ZLIB, ZSTD, SNAPPY"),
        ("pulsar", PRODUCER, "properties", "a", "'a': can't be given: it is no single value"),
        ("pulsar", CONSUMER, "subscriptionName", "a", "can't be given: it is set by Tidegauge"),
        ("rabbitmq", CONSUMER, "prefetch", "0", "'0': must be a whole number of at least 1"),
        ("rabbitmq", CONSUMER, "initialCredits", "1", "consumers of RabbitMQ's queues have no such setting; they have "
         "ackEvery, ackIntervalMs, autoAck, prefetch"),
    ],
)  # fmt: skip
def test_what_clients_of_a_system_take(system: str, role: str, name: str, value: str, problem: str) -> None:
    known = system_named(system)
    settings = known.client_settings(CASE)
    assert settings is not None
    assert settings.problem_of(known.title, role, name, value) == problem


def test_share_groups_have_fewer_settings() -> None:
    shared = kafka.client_settings(Case("1", 1, AS_FOUND, Workload(subscription_type=SubscriptionType.SHARED)))
    assert "can't be given: it is none of share groups" in shared.problem_of("x", CONSUMER, "isolation.level", "a")
    assert shared.problem_of("x", CONSUMER, "max.poll.records", "5") == ""
    assert shared.problem_of("x", PRODUCER, "interceptor.classes", "") == ""


def test_streams_have_another_client_than_queues() -> None:
    streams = rabbitmq.client_settings(Case("4.3.6", 1, LevelChoice(4, "stream")))
    queues = rabbitmq.client_settings(Case("4.3.6", 1, LevelChoice(4, "classic")))
    as_told = rabbitmq.client_settings(Case("4.3.6", 1, LevelChoice(4), topic={"queue.type": "stream"}))
    unknown = rabbitmq.client_settings(Case("4.3.6", 1, LevelChoice(4), Workload(existing_topics=("a",))))
    assert streams.names_of(CONSUMER) == as_told.names_of(CONSUMER) == ["initialCredits"]
    assert "prefetch" in queues.names_of(CONSUMER)
    assert {"prefetch", "initialCredits"} <= set(unknown.names_of(CONSUMER))


def test_rabbitmqs_names_are_the_drivers() -> None:
    sources = ROOT / "worker/rabbitmq/src/main/java/io/tidegauge/worker/rabbitmq"
    stream = (sources / "StreamOptions.java").read_text()

    def listed(constant: str) -> set[str]:
        (names,) = re.findall(rf"{constant} =\s+List\.of\(([^)]*)\)", stream)
        return set(re.findall(r'"(\w+)"', names))

    def constants(file: str, *names: str) -> set[str]:
        text = (sources / file).read_text()
        return {re.findall(rf'String {name} = "(\w+)"', text)[0] for name in names}

    assert listed("PRODUCER_KEYS") == set(rabbitmq.OF_STREAMS.names_of(PRODUCER))
    assert listed("CONSUMER_KEYS") == set(rabbitmq.OF_STREAMS.names_of(CONSUMER))
    assert constants("ProducerOptions.java", "MANDATORY") == set(rabbitmq.OF_QUEUES.names_of(PRODUCER))
    of_consumers = constants("ConsumerOptions.java", "PREFETCH", "ACK_EVERY", "ACK_INTERVAL", "AUTO_ACK")
    assert of_consumers == set(rabbitmq.OF_QUEUES.names_of(CONSUMER))


def complaint(path: Path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        parse_campaign(path, {}, sorted(all_systems()))
    assert caught.value.exit_code == 2
    return caught.value.message


def test_a_campaign_is_refused_on_the_line(tmp_path: Path) -> None:
    message = complaint(
        tmp_path / "c.yaml",
        "name: c\nsystems:\n  - name: kafka\n    producer:\n      linger.ms: 5.0\n      lingr.ms: 5\n"
        "    consumer: {fetch.min.bytes: 1, autoAck: true}\n  - {name: rabbitmq, consumer: {autoAck: maybe}}\n"
        "experiments: [peak]\n",
    )
    assert "4 problems" in message
    assert "c.yaml:5: systems[0].producer.linger.ms: '5.0': must be a whole number of at least 0" in message
    assert "c.yaml:6: systems[0].producer.lingr.ms: producers of Apache Kafka have no such setting" in message
    assert "c.yaml:7: systems[0].consumer.autoAck: consumers of Apache Kafka have no such setting" in message
    assert "c.yaml:8: systems[1].consumer.autoAck: 'maybe': must be true or false" in message


@pytest.mark.parametrize(
    "block",
    [
        "sweep: {systems.kafka.producer.linger.ms: [1, abc]}",
        "variants: [{name: a, producer: {linger.ms: 1}}, {name: b, producer: {linger.ms: abc}}]",
    ],
)
def test_each_point_is_checked(tmp_path: Path, block: str) -> None:
    message = complaint(tmp_path / "c.yaml", f"name: c\nsystems: [kafka]\nexperiments: [peak]\n{block}\n")
    assert message.startswith(f"{tmp_path / 'c.yaml'}:4: ")
    assert message.endswith("linger.ms: 'abc': must be a whole number of at least 0" if "variants" in block else
                            ": 'abc': must be a whole number of at least 0")  # fmt: skip


def test_an_option_is_named_once() -> None:
    line = CommandLine(AB, "kafka", vary=("producer.liner.ms=5,10",))
    composed = compose_line(line)
    with pytest.raises(UserError) as caught:
        composed.campaign(Path("tidegauge ab"), composed.text())
    assert caught.value.message == (
        "-L producer.liner.ms=5,10: producers of Apache Kafka have no such setting (did you mean 'linger.ms'?)"
    )


def test_pulsars_settings_that_are_no_single_value_are_said_to_be_none() -> None:
    settings = pulsar.client_settings(CASE).by_role
    assert settings[PRODUCER]["encryptionKeys"].type == settings[CONSUMER]["deadLetterPolicy"].type == "structure"

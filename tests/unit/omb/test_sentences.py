"""Every note on OMB's files, and every problem of a workload file: where it is said, and where it would be false."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omb_samples import DRIVER, GOOD, write
from sentence_scenes import Scene, Stage, make_tests
from sentence_templates import Claim, claims_of, modules_of

from tidegauge.errors import UserError
from tidegauge.omb.files import OF_FORKS as OF_WORKLOADS
from tidegauge.omb.translate import Chosen, translate_all
from tidegauge.systems.kafka.omb import OF_FORKS as OF_KAFKA
from tidegauge.systems.omb import NAMES_OF_TOPICS, TOPICS_THAT_ARE_THERE
from tidegauge.systems.pulsar.omb import OF_FORKS as OF_PULSAR
from tidegauge.systems.rabbitmq.omb import OF_FORKS as OF_RABBITMQ

MODULES = [*modules_of("omb"), *(f"systems/{system}/omb.py" for system in ("kafka", "pulsar", "rabbitmq"))]
NO_SENTENCES = (
    # What each run is called.
    "OMB workload {} on driver {}",
    # Where advice finds its key in the files; `test_advice.py` has each.
    "batch.size in producerConfig",
    "linger.ms in producerConfig",
    "compression.type in producerConfig",
    # Only errors about what a driver file asks for have it; `test_drivers.py` has each.
    "the key 'driverClass' is missing",
    "there is no cluster of {} that could be attached",
    "it belongs into commonConfig",
    "Tidegauge writes ",
    "Tidegauge reads ",
    "no transactions are measured: leave it out",
    "Apache Kafka has no such setting",
    "brokers that are started here have no remote",
    "is given twice; keep one",
    "must ",
    "'{}': must be a whole number",
    "'{}': must be true or false",
    "'{}': must be one of {}",
    "'{}': must be an absolute path",
    "is none of the settings that topics",
    "{}: attach to a cluster that has",
    "is above replicationFactor",
    "bootstrap.servers is missing",
    "put it into producerConfig",
    "'{}': taken over are {}",
    "needs a username, and as the password",
    "sends in transactions, which",
    "sends and reads over two protocols",
    "'{}': only PEM is read",
    "can't be set: {}",
    "topics that are kept nowhere",
    "servers are always verified",
    "{} is missing: which cluster",
    "'{}' is above ensembleSize",
    "'{}' is above writeQuorum",
    "is a policy of a namespace",
    "only the token plugin",
    "'{}': there is no such file (looked for",
    "streams are read over their own protocol",
    # `test_forks.py` has what becomes of each key.
    *{
        text: None
        for keys in (OF_WORKLOADS, OF_KAFKA, OF_PULSAR, OF_RABBITMQ)
        for text in {**keys.noted, **keys.refused}.values()
        if text not in (NAMES_OF_TOPICS, TOPICS_THAT_ARE_THERE) and not text.startswith("no transactions")
    },
    "servers that are started here have no topics",
    "the servers that are started here are",
    "producers go on while a backlog is read: write false",
    "has more than {} entries",
    "needs producerInitialRate",
    "sends nothing: every rate is 0",
    "must be [HOUR, MINUTE, RATE]",
    "a backlog (consumerBacklogSizeGB) is built and read",
    "'{}': a backlog is built in new topics",
)
CLASS = "io.openmessaging.benchmark.driver"
PULSAR = f"name: P\ndriverClass: {CLASS}.pulsar.PulsarBenchmarkDriver\n"
PULSAR_CLIENT = {"serviceUrl": "pulsar://h:6650", "httpUrl": "http://h:8080"}
RABBITMQ = f"name: R\ndriverClass: {CLASS}.rabbitmq.RabbitMqBenchmarkDriver\namqpUris: [{{}}]\n"
CHUNK = 1 << 20


def said_of(
    driver: str = DRIVER, *, managed: bool = False, time_scale: float = 1.0, level: int = 0, **workload: Any
) -> Scene:
    """The notes on a workload on a driver, or why it is refused. `workload`: keys that differ; None = left out."""

    def scene(stage: Stage) -> Any:
        (stage.path / "d.yaml").write_text(driver)
        for name, length in (("whole.data", GOOD["messageSize"]), ("short.data", 3)):
            (stage.path / name).write_bytes(bytes(length))
        path = write(stage.path, **workload)
        try:
            (one,) = translate_all([path], [stage.path / "d.yaml"], managed, time_scale, Chosen(level=level))
        except UserError as error:
            return [str(error)]
        return one.notes

    return scene


def on_fleet(stage: Stage) -> Any:
    """The notes of a run whose servers are on hosts of a fleet."""
    (stage.path / "d.yaml").write_text(DRIVER)
    (stage.path / "fleet.yaml").write_text("launcher: ray\nroles: {s: {label: {role: server}, count: 3}}\n")
    chosen = Chosen(fleet=str(stage.path / "fleet.yaml"))
    (one,) = translate_all([write(stage.path)], [stage.path / "d.yaml"], True, 1.0, chosen)
    return one.notes


def no_file(stage: Stage) -> Any:
    """What is said of a driver file that is not there."""
    try:
        return translate_all([write(stage.path)], [stage.path / "none.yaml"], False, 1.0)
    except UserError as error:
        return [str(error), error.hint]


def kafka(changes: Mapping[str, str] | None = None, *, copies: int = 1, **more: Any) -> Scene:
    """Of a driver file with these lines in its blocks."""
    text = DRIVER.replace("replicationFactor: 1", f"replicationFactor: {copies}").replace("producerConfig: |\n", "")
    blocks = {"commonConfig": "bootstrap.servers=h:1", "producerConfig": "acks=all\n  linger.ms=0", **(changes or {})}
    head = "".join(line for line in text.splitlines(keepends=True) if not line.startswith((" ", "commonConfig")))
    return said_of(head + "".join(f"{name}: |\n  {lines}\n" for name, lines in blocks.items()), **more)


def topic(settings: str, copies: int = 3) -> Scene:
    return kafka({"topicConfig": settings}, copies=copies)


def common(settings: str) -> Scene:
    return kafka({"commonConfig": f"bootstrap.servers=h:1\n  {settings}"})


def pulsar(managed: bool = False, consumer: str = "", keys: str = "NO_KEY", consumers: int = 1, **client: Any) -> Scene:
    lines = {**PULSAR_CLIENT, **client}
    text = PULSAR + "client:\n" + "".join(f"  {key}: {value}\n" for key, value in lines.items())
    text += f"consumer: {{subscriptionType: {consumer}}}\n" if consumer else ""
    return said_of(text, managed=managed, keyDistributor=keys, consumerPerSubscription=consumers)


def rabbitmq(more: str = "", managed: bool = True) -> Scene:
    return said_of(RABBITMQ.format("amqp://h") + more, managed=managed)


PLAIN = {"useRandomizedPayloads": "false", "randomBytesRatio": None, "randomizedPayloadPoolSize": None}
BACKLOG = {"consumerBacklogSizeGB": 2}
SCENES: dict[str, Scene] = {
    "files": said_of(),
    "files, to be managed": said_of(managed=True),
    "files, at a level": said_of(managed=True, level=3),
    "files, on a fleet": on_fleet,
    "no driver file": no_file,
    # Of workloads.
    "no topic": said_of(topics=0),
    "too many topics": said_of(topics=10_000_001),
    "no end": said_of(testDurationMinutes=0),
    "nobody reads": said_of(subscriptionsPerTopic=0),
    "tiny messages": said_of(messageSize=7),
    "messages of two sizes": said_of(messageSize=None, messageSizeDistribution='{"100-100": 1, "200-300": 1}'),
    "messages of two sizes, and of one": said_of(messageSizeDistribution='{"100-100": 1, "200-300": 1}'),
    "several sizes of one body": said_of(
        messageSizeDistribution='{"100-100": 1, "200-300": 1}', useRandomizedPayloads="false", payloadFile="whole.data"
    ),
    "short messages": said_of(messageSize=15),
    "no bodies": said_of(randomizedPayloadPoolSize=0),
    "random bodies, and a file": said_of(payloadFile="whole.data"),
    "no file of payloads": said_of(**PLAIN),
    "no number of consumers": said_of(consumerPerSubscription=None),
    "topics of others": said_of(topicNames="orders"),
    "topics of others, to be read": said_of(topicNames="orders", consumerOnly="true"),
    "a rate to begin with": said_of(producerInitialRate=100),
    "keys by turns, as they were called": said_of(keyDistributor="ROUND_ROBIN"),
    "periods of half seconds": said_of(logIntervalMillis=2500),
    "rates by time": said_of(producerInitialRate=1, producerRateTimeline="[{timeSeconds: 9, rate: 5}]"),
    "rates by the clock": said_of(producerRate=0, producerRateList="[[4, 0, 5], [5, 0, 0]]"),
    "no limit of the rate": said_of(producerRate=-1),
    "a file of payloads": said_of(**PLAIN, payloadFile="whole.data"),
    "a file that is not there": said_of(**PLAIN, payloadFile="none.data"),
    "a file of another size": said_of(**PLAIN, payloadFile="short.data"),
    "a file beside a ratio": said_of(**{**PLAIN, "randomBytesRatio": 0.5}, payloadFile="whole.data"),
    "many bodies of 1 MiB": said_of(messageSize=CHUNK, randomizedPayloadPoolSize=60_000),
    "a ratio without a backlog": said_of(backlogDrainRatio=0.9),
    "a backlog": said_of(**BACKLOG),
    "a backlog of a second": said_of(**BACKLOG, testDurationMinutes=1, time_scale=0.01),
    "a backlog without a rate": said_of(**BACKLOG, producerRate=0),
    "a backlog that nobody reads": said_of(**BACKLOG, subscriptionsPerTopic=0),
    "a backlog of a zettabyte": said_of(consumerBacklogSizeGB=10**9),
    "a backlog to half of its end": said_of(**BACKLOG, backlogDrainRatio=0.5),
    "a backlog to a thousandth": said_of(**BACKLOG, backlogDrainRatio=0.001),
    "a backlog as far as it goes": said_of(**BACKLOG, backlogDrainRatio=0.0),
    "half as long": said_of(time_scale=0.5),
    "days": said_of(testDurationMinutes=50_000),
    "no warm-up": said_of(warmupDurationMinutes=0),
    "a rate of 0": said_of(producerRate=0),
    "a rate of 0 for a second": said_of(producerRate=0, testDurationMinutes=1, time_scale=0.1),
    "a second and a half": said_of(testDurationMinutes=1, time_scale=0.1),
    "a rate without an end": said_of(producerRate=10_000_000),
    # Of drivers.
    "Kafka": kafka(),
    "a driver that is nearly known": said_of(DRIVER.replace("kafka.Kafka", "kafak.Kafka")),
    "another's protocol": said_of(DRIVER.replace("kafka.Kafka", "automq.AutoMq")),
    "a product's driver": said_of(DRIVER.replace("kafka.Kafka", "redpanda.Redpanda")),
    "a login without SASL": common("sasl.mechanism=PLAIN"),
    "a driver that nobody knows": said_of(DRIVER.replace("kafka.Kafka", "redis.Redis")),
    "two of three in sync": topic("min.insync.replicas=2"),
    "two of five in sync": topic("min.insync.replicas=2", 5),
    "three of three in sync": topic("min.insync.replicas=3"),
    "flushed by number": topic("flush.messages=100"),
    "flushed by time": topic("flush.ms=100"),
    "flushed at once": topic("flush.messages=1\n  flush.ms=1000"),
    "never flushed": topic("flush.messages=9223372036854775807\n  flush.ms=9223372036854775807"),
    "kept for ever": topic("retention.ms=-1"),
    "diskless": topic("diskless.enable=true"),
    "tiered": topic("remote.storage.enable=true"),
    "short-lived": topic("retention.ms=1000"),
    "named clients": common("client.id=x"),
    "a named producer": kafka({"producerConfig": "acks=all\n  linger.ms=0\n  client.id=x"}),
    "a group": kafka({"consumerConfig": "group.id=x"}),
    "more settings than clients have": kafka({"producerConfig": "\n  ".join(f"k{n}=1" for n in range(501))}),
    "a fork's setting": kafka({"producerConfig": "acks=all\n  linger.ms=0\n  linger.mss=1"}),
    "keys without encryption": common("ssl.truststore.location=/ca.pem\n  ssl.truststore.type=PEM"),
    "keys with encryption": common(
        "ssl.truststore.location=/ca.pem\n  ssl.truststore.type=PEM\n  security.protocol=SSL"
    ),
    "OMB's zone": common("client.rack={zone.id}"),
    "a rack": common("client.rack=a"),
    "acks alone": kafka({"producerConfig": "acks=all"}),
    "linger alone": kafka({"producerConfig": "linger.ms=5"}),
    "no batches": kafka({"producerConfig": "acks=all\n  batch.size=0"}),
    "commits by OMB": kafka({"consumerConfig": "enable.auto.commit=false"}),
    "commits by the client": kafka({"consumerConfig": "enable.auto.commit=true"}),
    "Pulsar": pulsar(),
    "Pulsar, to be managed": pulsar(managed=True),
    "Pulsar's threads": pulsar(ioThreads=4),
    "Pulsar's lookups": pulsar(maxConcurrentLookupRequests=4),
    "Pulsar's memory": pulsar(clientMemoryLimitMB=64),
    "Pulsar's namespace": pulsar(namespacePrefix="a/b"),
    "a certificate without TLS": pulsar(tlsTrustCertsFilePath="short.data"),
    "a certificate with TLS": pulsar(serviceUrl="pulsar+ssl://h:6651", tlsTrustCertsFilePath="short.data"),
    "keys shared without keys": pulsar(consumer="Key_Shared"),
    "keys shared": pulsar(consumer="Key_Shared", keys="RANDOM_NANO"),
    "five exclusive consumers": pulsar(consumer="Exclusive", consumers=5),
    "an exclusive consumer": pulsar(consumer="Exclusive"),
    "RabbitMQ": rabbitmq(),
    "RabbitMQ of others": rabbitmq(managed=False),
    "RabbitMQ's one address": said_of(RABBITMQ.replace("amqpUris: [{}]", "brokerAddress: h")),
    "RabbitMQ's address beside others": rabbitmq("brokerAddress: h\n"),
    "RabbitMQ's pace": rabbitmq("producerCreationDelay: 5\n"),
    "a quorum queue of transient messages": rabbitmq("queueType: QUORUM\n"),
    "a quorum queue of persistent messages": rabbitmq("queueType: QUORUM\nmessagePersistence: true\n"),
}
CLAIMS = [
    # omb/files.py
    Claim(" (did you mean '{}'?)", "a driver that is nearly known", "a driver that nobody knows"),
    Claim(" is OMB's driver for a product that speaks {}'s", "another's protocol", "a driver that nobody knows"),
    Claim(" is OMB's driver for a system that", "a driver that nobody knows", "a driver that is nearly known"),
    Claim("Nobody reads: nothing is known", "nobody reads", "files"),
    Claim("messageSizeDistribution: the messages of a range", "messages of two sizes", "files"),
    Claim("messageSize has no effect beside", "messages of two sizes, and of one", "messages of two sizes"),
    Claim("is one body, and {} asks for several", "several sizes of one body", "messages of two sizes, and of one"),
    Claim("payloadFile has no effect", "random bodies, and a file", "a file of payloads"),
    Claim("{}: no effect without useRandomizedPayloads", "a file beside a ratio", "a file of payloads"),
    Claim("randomizedPayloadPoolSize: {} becomes", "many bodies of 1 MiB", "files"),
    Claim("backlogDrainRatio has no effect", "a ratio without a backlog", "a backlog to half of its end"),
    Claim("'{}': must be at least 1: OMB's topics", "no topic", "files"),
    Claim("'{}': must be at most {}", "too many topics", "files"),
    Claim("'0': OMB then never ends", "no end", "files"),
    Claim("'{}': nobody reads: whose backlog", "a backlog that nobody reads", "nobody reads"),
    Claim("'{}': must be at most {}", "a backlog of a zettabyte", "a backlog"),
    Claim("'{}': a backlog (consumerBacklogSizeGB) is built", "a backlog without a rate", "a rate of 0"),
    Claim("'{}': must be 0 (what is drained", "a backlog to a thousandth", "a backlog as far as it goes"),
    Claim("'{}': must be {}", "tiny messages", "files"),
    Claim("'{}': must be from 1 to {}", "no bodies", "files"),
    Claim("driverClass: {} speaks {}'s protocol", "a product's driver", "Kafka"),
    Claim("Neither payloadFile nor useRandomized", "no file of payloads", "a file of payloads"),
    Claim("consumerPerSubscription is left out", "no number of consumers", "files"),
    Claim("{}: topics of the cluster are used", "topics of others", "files"),
    Claim("producerInitialRate has no effect", "a rate to begin with", "rates by time"),
    Claim("keyDistributor: ROUND_ROBIN is what", "keys by turns, as they were called", "files"),
    Claim("{}: {} becomes {}: periods have whole", "periods of half seconds", "files"),
    Claim("'{}': there is no such file beside", "a file that is not there", "a file of another size"),
    Claim("{} has {} bytes, but messageSize", "a file of another size", "a file of payloads"),
    # omb/translate.py
    Claim("publishLatency in OMB's JSON", "files", "days"),
    Claim("endToEndLatency is from the intended time", "files", "short messages"),
    Claim("endToEndLatency is empty: messages so short", "short messages", "files"),
    *claims_of(
        "files, at a level", "files, to be managed",
        "level {}, which the settings of {} mean", "{}: instead of {}; checked by reading back",
    ),
    Claim("'Key_Shared' needs messages with keys", "keys shared without keys", "keys shared"),
    Claim("'Exclusive': a subscription has one", "five exclusive consumers", "an exclusive consumer"),
    Claim("'{}': must be at most {} (times --time-scale)", "days", "files"),
    Claim("Each producer has at most {} in flight", "files", "days"),
    Claim("Durations of the files are multiplied", "half as long", "files"),
    Claim("{}: {} becomes {} s, the shortest there is", "no warm-up", "half as long"),
    Claim("{}: {} becomes {} s, the shortest there is", "a rate of 0 for a second", "a second and a half"),
    Claim("producerRate: {} is {}: measured as `peak`", "a rate without an end", "a rate of 0"),
    Claim("no rate that anything reaches", "a rate without an end", "no limit of the rate"),
    Claim("the way of Pravega's fork", "no limit of the rate", "a rate without an end"),
    Claim("consumerOnly: nobody sends", "topics of others, to be read", "topics of others"),
    Claim("{} becomes a schedule of `latency`", "rates by time", "files"),
    Claim("{}: the first of these times of the day", "rates by the clock", "rates by time"),
    Claim("producerRate has no effect beside", "rates by time", "rates by the clock"),
    Claim("producerRate: 0 becomes `max-throughput`", "a rate of 0", "a rate without an end"),
    Claim("backlogDrainRatio: 0 asks for no more", "a backlog as far as it goes", "a backlog"),
    Claim("OMB waits for ever", "a backlog", "a backlog as far as it goes"),
    Claim("consumerBacklogSizeGB: {}{} becomes", "a backlog", "files"),
    Claim("testDurationMinutes: with a backlog {}", "a backlog", "files"),
    Claim("{} s, the shortest there is,", "a backlog of a second", "a backlog"),
    Claim("1/{} of it ({} s)", "a backlog", "a backlog of a second"),
    *claims_of("Pulsar", "Pulsar, to be managed", "are expected to mean", "what is in force is read back"),
    Claim("checked by reading back", "Pulsar, to be managed", "Pulsar"),
    Claim("Durability: OMB asks for none; the settings", "files, to be managed", "files, at a level"),
    Claim("Durability: OMB asks for none; the settings", "files, to be managed", "diskless"),
    Claim("Durability: OMB asks for none, and the settings", "diskless", "tiered"),
    Claim("--managed: {} is started {} on {}", "files, to be managed", "files"),
    Claim("on the fleet's hosts", "files, on a fleet", "files, to be managed"),
    Claim("docs/omb.md names some of OMB's", "no driver file", "files"),
    # systems/kafka/omb.py
    Claim("{}={} of {} copies is no majority", "two of five in sync", "two of three in sync"),
    Claim("{}={} of {} copies: one node that is lost", "three of three in sync", "two of three in sync"),
    Claim("flush.messages={}: at most", "flushed by number", "flushed at once"),
    Claim("flush.messages={}: at most", "flushed by number", "never flushed"),
    Claim("flush.ms={}: the level is one", "flushed by time", "flushed at once"),
    Claim("flush.ms={}: the level is one", "flushed by time", "never flushed"),
    Claim("diskless.enable=true: messages", "diskless", "tiered"),
    Claim("remote.storage.enable=true: what share", "tiered", "diskless"),
    Claim("topicConfig: messages that retention", "short-lived", "tiered"),
    Claim("topicConfig: messages that retention", "short-lived", "kept for ever"),
    Claim("{}: {} has no effect here: {}.", "named clients", "Kafka"),
    Claim("each client has a name of its own", "a named producer", "a group"),
    Claim("each subscription has a group of its own", "a group", "a named producer"),
    Claim("commonConfig: without security.protocol=SASL_SSL", "a login without SASL", "named clients"),
    Claim("{}: {}{} is left out: {} of {}", "a fork's setting", "a named producer"),
    Claim("has more than {} settings", "more settings than clients have", "a fork's setting"),
    Claim("commonConfig: without security.protocol=SSL", "keys without encryption", "keys with encryption"),
    Claim("commonConfig: {}={} is left out, since no zone", "OMB's zone", "a rack"),
    Claim("producerConfig: linger.ms is left out", "acks alone", "linger alone"),
    Claim("producerConfig: linger.ms is left out", "acks alone", "no batches"),
    Claim("producerConfig: acks is left out", "linger alone", "acks alone"),
    Claim("consumerConfig: enable.auto.commit=false", "commits by OMB", "commits by the client"),
    # systems/pulsar/omb.py
    Claim("client.{} has no effect here: {}.", "Pulsar's threads", "Pulsar"),
    Claim("the client has its own default", "Pulsar's threads", "Pulsar's lookups"),
    Claim("topics are opened before the load", "Pulsar's lookups", "Pulsar's memory"),
    Claim("the window of messages in flight", "Pulsar's memory", "Pulsar's threads"),
    Claim("client.namespacePrefix and client.clusterName", "Pulsar's namespace", "Pulsar"),
    Claim("client.persistence is not imposed", "Pulsar", "Pulsar, to be managed"),
    Claim("client.tlsTrustCertsFilePath has no effect", "a certificate without TLS", "a certificate with TLS"),
    # systems/rabbitmq/omb.py
    Claim("brokerAddress, which OMB had before", "RabbitMQ's one address", "RabbitMQ's address beside others"),
    Claim("brokerAddress has no effect beside", "RabbitMQ's address beside others", "RabbitMQ's one address"),
    Claim("{}: no effect here, clients are made", "RabbitMQ's pace", "RabbitMQ"),
    Claim("The management plugin is looked for", "RabbitMQ of others", "RabbitMQ"),
    Claim(
        "messagePersistence: false has no effect",
        "a quorum queue of transient messages", "a quorum queue of persistent messages",
    ),
]  # fmt: skip

texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS, NO_SENTENCES
)


def test_every_scene_is_of_a_claim() -> None:
    assert SCENES.keys() == {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}

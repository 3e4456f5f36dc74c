"""Files of the OpenMessaging Benchmark on a real Kafka that others (here: the test) run and a driver file names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Place
from deployments import ready

from tidegauge.systems.api import LevelChoice

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

DRIVER = """\
name: Kafka-one-copy
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver
replicationFactor: 1
topicConfig: |
  min.insync.replicas=1
commonConfig: |
  bootstrap.servers={address}
producerConfig: |
  acks=all
  linger.ms=1
  batch.size=131072
consumerConfig: |
  auto.offset.reset=earliest
  enable.auto.commit=false
"""

STEADY: dict[str, Any] = {
    "name": "steady rate",
    "topics": 1,
    "partitionsPerTopic": 2,
    "messageSize": 1024,
    "useRandomizedPayloads": True,
    "randomBytesRatio": 0.5,
    "randomizedPayloadPoolSize": 100,
    "subscriptionsPerTopic": 2,
    "producersPerTopic": 1,
    "consumerPerSubscription": 1,
    "producerRate": 1000,
    "consumerBacklogSizeGB": 0,
    "testDurationMinutes": 1,
}
PAYLOAD = {"useRandomizedPayloads": False, "payloadFile": "payload/200b.data", "messageSize": 200}

# What OMB's own files vary, each in a small form.
DOZEN: dict[str, dict[str, Any]] = {
    "1-topic-1-partition": {"partitionsPerTopic": 1, "subscriptionsPerTopic": 1},
    "1-topic-1-partition-payload-file": {**PAYLOAD, "partitionsPerTopic": 1},
    "1-topic-16-partitions": {"partitionsPerTopic": 16},
    "1-topic-100-partitions-4p-4c": {"partitionsPerTopic": 100, "producersPerTopic": 4, "consumerPerSubscription": 4},
    "1-topic-3-partitions-3-producers": {"partitionsPerTopic": 3, "producersPerTopic": 3},
    "10-topics-1-partition": {"topics": 10, "partitionsPerTopic": 1, "subscriptionsPerTopic": 1},
    "20-topics-2-partitions": {"topics": 20, "subscriptionsPerTopic": 1},
    "64kb": {"messageSize": 65536, "producerRate": 100},
    "keys-by-turns": {"keyDistributor": "KEY_ROUND_ROBIN"},
    "keys-at-random": {"keyDistributor": "RANDOM_NANO", "consumerPerSubscription": 2},
    "three-subscriptions": {"subscriptionsPerTopic": 3},
    "max-rate": {"producerRate": 10_000_000, "subscriptionsPerTopic": 1},
    "a-backlog": {"producerRate": 5000, "consumerBacklogSizeGB": 1},
}
EXPERIMENTS = {"max-rate": "peak", "a-backlog": "catch-up"}


def workload_file(directory: Path, label: str, **changes: Any) -> Path:
    path = directory / f"{label}.yaml"
    path.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in {**STEADY, **changes}.items()))
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("omb"))
    (place.root / "payload").mkdir()
    (place.root / "payload/200b.data").write_bytes(b"x" * 200)
    (place.root / "results").mkdir()
    return place


@pytest.fixture(scope="module")
def driver(place: Place) -> Iterator[Path]:
    """A driver file that names a Kafka of one node."""
    with ready("kafka", LevelChoice(4), place.root / "kafka") as running:
        yield place.write(DRIVER.format(address=running.deployment.connection["bootstrap.servers"]), "driver.yaml")


@pytest.fixture(scope="module")
def steady(place: Place, driver: Path) -> dict[str, Any]:
    """The report of one workload at a fixed rate: 21 s measured."""
    workload = workload_file(place.root, "steady")
    done = place.run(
        *("omb", str(workload), "--driver", str(driver), "--time-scale", "0.35"),
        *("--output-directory", str(place.root / "results"), "--json"),
    )
    # 3: on a machine that is short of CPU a trial may rightly be INVALID; everything else must hold all the same.
    assert done.returncode in (0, 3), done.stdout + done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    found: dict[str, Any] = run
    return found


def test_the_rate_is_measured_at_the_level_of_the_files_settings(steady: dict[str, Any]) -> None:
    (experiment,) = steady["report"]["experiments"]
    (result,) = experiment["results"]
    assert (experiment["experiment"], result["offered_msgs_per_s"]) == ("latency", 1000)
    assert result["level"]["level"] == 4
    assert len(result["subscriptions"]) == 2
    assert all(one["received"] == result["acked"] > 0 and one["lost"] == 0 for one in result["subscriptions"])


def test_the_json_has_the_same_figures_as_the_run(steady: dict[str, Any], place: Place) -> None:
    in_run, beside = map(Path, steady["omb_results"])
    assert beside.parent == place.root / "results"
    assert beside.name.startswith("steady-Kafka-one-copy-20")
    written = json.loads(beside.read_text())
    assert written == json.loads(in_run.read_text())
    (experiment,) = steady["report"]["experiments"]
    (result,) = experiment["results"]
    assert (written["workload"], written["driver"]) == ("steady rate", "Kafka-one-copy")
    assert len(written["publishRate"]) == 2
    assert written["publishRate"][0] == pytest.approx(1000, rel=0.2)
    assert written["consumeRate"][0] == pytest.approx(2000, rel=0.2)
    assert written["aggregatedPublishLatency99pct"] == pytest.approx(result["service"]["p99_ms"], rel=0.01)
    assert written["aggregatedPublishDelayLatencyAvg"] == pytest.approx(result["delay"]["mean_ms"] * 1000, rel=0.01)
    slowest = max(one["end_to_end"]["max_ms"] for one in result["subscriptions"])
    assert written["aggregatedEndToEndLatencyMax"] == pytest.approx(slowest, rel=0.01)


def test_the_run_keeps_the_files_and_tells_what_differs(steady: dict[str, Any], place: Place, driver: Path) -> None:
    run = Path(steady["report"]["run"]["path"])
    assert (run / "omb/driver-driver.yaml").read_text() == driver.read_text()
    assert (run / "omb/workload-steady.yaml").read_text() == (place.root / "steady.yaml").read_text()
    notes = " ".join(steady["report"]["run"]["notes"])
    for word in ("enable.auto.commit", "level 4", "--time-scale", "publishLatency"):
        assert word in notes


@pytest.mark.slow
def test_a_dozen_workloads_run_one_after_the_other(place: Place, driver: Path) -> None:
    files = [str(workload_file(place.root, label, **changes)) for label, changes in DOZEN.items()]
    done = place.run("omb", *files, "--driver", str(driver), "--time-scale", "0.05", "--json", timeout_s=500)
    assert done.returncode in (0, 3), done.stdout[-3000:] + done.stderr[-3000:]
    runs = json.loads(done.stdout)["runs"]
    assert [Path(run["workload_file"]).stem for run in runs] == sorted(DOZEN)
    for run in runs:
        (experiment,) = run["report"]["experiments"]
        assert experiment["experiment"] == EXPERIMENTS.get(Path(run["workload_file"]).stem, "latency")
        (result,) = experiment["results"]
        assert result["acked"] > 0
        assert all(one["lost"] == one["corrupt"] == 0 for one in result["subscriptions"]), run["workload_file"]
        written = json.loads(Path(run["omb_results"][0]).read_text())
        assert written["publishRate"][0] > 0
        assert max(written["consumeRate"]) > 0
        assert written["aggregatedEndToEndLatencyQuantiles"]["100.0"] == written["aggregatedEndToEndLatencyMax"]


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_told_and_the_next_driver_goes_on(place: Place, driver: Path) -> None:
    absent = place.write(DRIVER.format(address="127.0.0.1:9").replace("one-copy", "absent"), "absent.yaml")
    workload = workload_file(place.root, "both")
    done = place.run(
        *("omb", str(workload), "--driver", str(absent), "--driver", str(driver), "--time-scale", "0.05", "--json"),
    )
    assert done.returncode == 1
    first, second = json.loads(done.stdout)["runs"]
    assert first["omb_results"] == []
    assert "Kafka" in first["error"]["message"] or "kafka" in first["error"]["message"]
    assert second["omb_results"]


PULSAR = """\
name: Pulsar-one-bookie
driverClass: io.openmessaging.benchmark.driver.pulsar.PulsarBenchmarkDriver
client:
  serviceUrl: pulsar://nowhere.invalid:6650
  httpUrl: http://nowhere.invalid:8080
  persistence: {ensembleSize: 1, writeQuorum: 1, ackQuorum: 1, deduplicationEnabled: true}
producer: {batchingEnabled: true, batchingMaxPublishDelayMs: 1, batchingMaxBytes: 131072, pendingQueueSize: 0}
consumer: {receiverQueueSize: 1000, subscriptionType: Failover}
"""
RABBITMQ = """\
name: RabbitMQ
driverClass: io.openmessaging.benchmark.driver.rabbitmq.RabbitMqBenchmarkDriver
amqpUris: ["amqp://admin:hunter2@nowhere.invalid"]
messagePersistence: false
queueType: QUORUM
"""
MANAGED = {
    "kafka": (DRIVER.format(address="nowhere.invalid:9092"), 4),
    "pulsar": (PULSAR, 4),
    "rabbitmq": (RABBITMQ, 3),
}


@pytest.mark.parametrize("system", [pytest.param(name, marks=pytest.mark.slow) for name in MANAGED])
def test_servers_are_started_here_with_managed(place: Place, system: str) -> None:
    text, level = MANAGED[system]
    driver = place.write(text, f"driver-of-{system}.yaml")
    workload = workload_file(place.root, f"managed-{system}", subscriptionsPerTopic=1)
    done = place.run("omb", str(workload), "--driver", str(driver), "--managed", "--time-scale", "0.05", "--json")
    assert done.returncode in (0, 3), done.stdout[-3000:] + done.stderr[-3000:]
    (run,) = json.loads(done.stdout)["runs"]
    (result,) = run["report"]["experiments"][0]["results"]
    assert result["level"]["level"] == level
    assert result["subscriptions"][0]["received"] == result["acked"] > 0
    assert json.loads(Path(run["omb_results"][0]).read_text())["publishRate"][0] > 0
    kept = [path for path in Path(run["report"]["run"]["path"]).rglob("*") if path.is_file()]
    assert [path for path in kept if b"hunter2" in path.read_bytes()] == []

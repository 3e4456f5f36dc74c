"""Files of the OpenMessaging Benchmark with `--managed`: servers of each system are started for them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command import Place, valid_unless_starved

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

OWN = Path(__file__).parents[1] / "omb_files/workloads"
WORKLOADS = ["10-topics-1-partition", "keys-at-random"]
KAFKA = """\
name: Kafka-one-copy
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver
replicationFactor: 1
commonConfig: |
  bootstrap.servers=nowhere.invalid:9092
producerConfig: |
  acks=all
  linger.ms=1
consumerConfig: |
  auto.offset.reset=earliest
"""
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
    "kafka": (KAFKA, 4),
    "pulsar": (PULSAR, 4),
    "rabbitmq": (RABBITMQ, 3),
}


@pytest.mark.slow
@pytest.mark.parametrize("system", ["kafka", "pulsar", "rabbitmq"])
def test_servers_are_started_here_with_managed(tmp_path: Path, system: str) -> None:
    if system == "rabbitmq" and shutil.which("apt-get") is None:
        pytest.skip("RabbitMQ comes from Debian's packages")
    place = Place(tmp_path)
    text, level = MANAGED[system]
    driver = place.write(text, f"driver-of-{system}.yaml")
    files = [str(OWN / f"{label}.yaml") for label in WORKLOADS]
    options = ("--driver", str(driver), "--managed", "--time-scale", "0.02", "--json")
    done = place.run("omb", *files, *options, timeout_s=500)
    valid_unless_starved(done, place)
    runs = json.loads(done.stdout)["runs"]
    assert [Path(run["workload_file"]).stem for run in runs] == WORKLOADS
    for run in runs:
        (result,) = run["report"]["experiments"][0]["results"]
        assert result["level"]["level"] == level
        assert result["acked"] > 0
        assert all(one["received"] == result["acked"] for one in result["subscriptions"])
        assert all(one["lost"] == one["corrupt"] == 0 for one in result["subscriptions"])
        written = json.loads(Path(run["omb_results"][0]).read_text())
        assert written["publishRate"]
        assert written["aggregatedPublishLatencyMax"] > 0
        kept = [path for path in Path(run["report"]["run"]["path"]).rglob("*") if path.is_file()]
        assert [path for path in kept if b"hunter2" in path.read_bytes()] == []
    assert place.left_behind() == []

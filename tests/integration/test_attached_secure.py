"""Campaigns against a Kafka with TLS, SASL and ACLs, through the command line: who gets in, and what is never shown."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Place, shown_by_processes, valid_unless_starved, wait_until_measuring
from kafka_names import broker_names
from secure_kafka import PASSWORD, Broker, broker

pytestmark = [pytest.mark.integration, pytest.mark.slow]
__all__ = ["broker"]

CAMPAIGN = """
name: borrowed
systems:
  - name: kafka
    attach:
      bootstrap-servers: 127.0.0.1:{port}
      tls: {{ca: {ca}}}
      auth: {{method: scram-sha-512, user: {user}, password: {{env: KAFKA_PASSWORD}}}}
durability: 4
workload: {{message-size: 200B}}
experiments:
  - {{name: latency, rate: 500, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 8s}}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    place = Place(tmp_path)
    yield place
    for line in place.strays():
        os.kill(int(line.split()[0]), signal.SIGKILL)


def campaign(broker: Broker, place: Place, user: str) -> str:
    ca = broker.secured.authority.certificate_path
    return str(place.write(CAMPAIGN.format(port=broker.ports["SECURE"], ca=ca, user=user)))


def nothing_reported(place: Place, *texts: str) -> None:
    """The password is in no file of the run or the state, whatever its spelling, and in nothing that was said."""
    for path in (path for path in place.root.rglob("*") if path.is_file()):
        assert b"battery" not in path.read_bytes(), path
    for text in texts:
        assert "battery" not in text


def test_a_user_with_rights_measures_and_no_secret_is_reported(broker: Broker, place: Place) -> None:
    process = place.start("run", campaign(broker, place, "alice"))
    wait_until_measuring(place, process)
    shown_by = shown_by_processes(process)
    done = process.finish()
    valid_unless_starved(done, place)
    shown = place.run("show", "last")
    assert "level 4 for kafka@attached, as asked" in " ".join(shown.stdout.split())
    nothing_reported(place, done.stdout, done.stderr, shown.stdout, *shown_by)
    (settings,) = (json.loads(path.read_text())["server"] for path in place.only_run().glob("trials/*/settings.json"))
    unknown = [setting["value"] for setting in settings if setting["value"].startswith("unknown: no right to read")]
    assert any("the configuration of broker 1" in text for text in unknown)
    assert list((place.state / "attached").glob("*")) == []
    assert [name for _, name in broker_names(broker.on("PLAINTEXT")["bootstrap.servers"]) if "-borrowed-" in name] == []


@pytest.mark.parametrize(
    ("user", "password", "says"),
    [
        ("alice", "not the one", "wrong password or unknown user"),
        ("bob", PASSWORD, "could not create topic"),
    ],
)
def test_who_is_kept_out_is_reported_once(broker: Broker, place: Place, user: str, password: str, says: str) -> None:
    os.environ["KAFKA_PASSWORD"] = password  # The fixture of `place` puts it back.
    done = place.run("run", campaign(broker, place, user))
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert "may remain" not in done.stdout + done.stderr
    assert list((place.state / "attached").glob("*")) == []
    nothing_reported(place, done.stdout, done.stderr)


def test_a_variable_that_is_not_set_is_named(broker: Broker, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_PASSWORD")
    done = place.run("run", campaign(broker, place, "alice"))
    assert done.returncode == 2
    assert "attach.auth.password: the environment variable KAFKA_PASSWORD is not set" in done.stderr
    assert not place.runs.exists()


DRIVER = """\
name: mutual
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver
replicationFactor: 1
topicConfig: |
  min.insync.replicas=1
commonConfig: |
  bootstrap.servers=127.0.0.1:{port}
  security.protocol=SSL
  ssl.truststore.type=PEM
  ssl.truststore.location={ca}
  ssl.keystore.type=PEM
  ssl.keystore.location={client}
producerConfig: |
  acks=all
  linger.ms=1
consumerConfig: |
  auto.offset.reset=earliest
"""
WORKLOAD = """\
name: steady
topics: 1
partitionsPerTopic: 1
messageSize: 200
useRandomizedPayloads: true
randomBytesRatio: 0.5
randomizedPayloadPoolSize: 10
subscriptionsPerTopic: 1
producersPerTopic: 1
consumerPerSubscription: 1
producerRate: 300
consumerBacklogSizeGB: 0
warmupDurationMinutes: 0
testDurationMinutes: 1
"""


@pytest.mark.timeout(600)
def test_a_driver_file_of_omb_shows_a_certificate(broker: Broker, place: Place) -> None:
    """With the key beside the certificate in one file, as Kafka's own clients take it."""
    ca, client = broker.secured.authority.certificate_path, broker.client.both
    driver, workload = place.root / "driver.yaml", place.root / "workload.yaml"
    driver.write_text(DRIVER.format(port=broker.ports["MUTUAL"], ca=ca, client=client))
    workload.write_text(WORKLOAD)
    arguments = ("omb", str(workload), "--driver", str(driver), "--time-scale", "0.2")
    done = place.run(*arguments, timeout_s=400)
    valid_unless_starved(done, place)
    key = client.read_text().splitlines()[1]
    for path in (path for path in place.root.rglob("*") if path.is_file()):
        assert key.encode() not in path.read_bytes(), path
    driver.write_text(driver.read_text().replace(f"  ssl.keystore.location={client}\n", ""))
    refused = place.run(*arguments)
    assert refused.returncode == 1
    assert "wants a client certificate" in refused.stderr

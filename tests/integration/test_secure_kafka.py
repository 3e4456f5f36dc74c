"""A real Kafka broker with TLS, SASL and ACLs: who gets in, who does not, and what he is answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from certificates import make_authority
from secure_kafka import Broker, broker

from tidegauge.errors import AccessRefusedError

__all__ = ["broker"]
pytestmark = pytest.mark.integration


@pytest.mark.parametrize("method", ["scram-sha-512", "plain"])
def test_a_user_with_a_password_gets_in(broker: Broker, method: str) -> None:
    ready = broker.secured.ready(broker.as_user("alice", method))
    assert ready.load(f"tidegauge-{method}", {}) > 0
    values = {(s.scope, s.name): s.value for s in ready.read_back(f"tidegauge-{method}")}
    assert values[(f"topic tidegauge-{method}", "replication.factor")] == "1"
    assert values[("broker 1", "configuration")].startswith("unknown: no right to read the configuration of broker 1")


def test_a_client_certificate_is_enough(broker: Broker) -> None:
    own = {"tls__certificate__path": str(broker.client.certificate), "tls__key__path": str(broker.client.key)}
    connection = broker.tls("MUTUAL", auth__method="tls", **own)
    assert broker.secured.ready(connection).load("tidegauge-mutual", {}) > 0
    assert "wants a client certificate" in broker.secured.refusal(broker.tls("MUTUAL"))


def test_wrong_credentials(broker: Broker) -> None:
    refusal = broker.secured.refusal
    for method in ("scram-sha-512", "plain"):
        assert "wrong password or unknown user" in refusal(broker.as_user("alice", method, "not the one"))
        assert "wrong password or unknown user" in refusal(broker.as_user("nobody", method))
    assert "does not take this SASL mechanism" in refusal(broker.as_user("alice", "scram-sha-256"))
    assert "this listener wants SASL" in refusal(broker.tls("SECURE"))
    assert "this listener wants SASL" in refusal(broker.on("SASL"))


def test_a_controllers_port_is_called_one(broker: Broker) -> None:
    assert "A KRaft controller listens at this port" in broker.secured.refusal(broker.on("CONTROLLER"))


def test_the_servers_certificate(broker: Broker, tmp_path: Path) -> None:
    refusal, other = broker.secured.refusal, make_authority(tmp_path)
    assert "the server's certificate has expired" in refusal(broker.tls("EXPIRED"))
    assert "for another host name" in refusal(broker.tls("ELSEWHERE"))
    # The name alone was at fault.
    assert broker.secured.probe(broker.tls("ELSEWHERE", tls__verify__host="false")) > 0
    foreign = {**broker.as_user("alice"), "tls.ca.path": str(other.certificate_path)}
    assert "the server's certificate is not trusted" in refusal(foreign)
    # Without an authority of our own those that Java trusts count.
    assert "is not trusted" in refusal(broker.on("EXPIRED", tls__enabled="true"))


def test_the_clients_certificate(broker: Broker, tmp_path: Path) -> None:
    stale = broker.secured.authority.issue("stale", days=-1)
    files = {"tls__certificate__path": str(stale.certificate), "tls__key__path": str(stale.key)}
    assert f"the certificate in {stale.certificate} expired on" in broker.secured.refusal(broker.tls("MUTUAL", **files))
    foreign = make_authority(tmp_path).issue("foreign")
    files = {"tls__certificate__path": str(foreign.certificate), "tls__key__path": str(foreign.key)}
    assert "client certificate" in broker.secured.refusal(broker.tls("MUTUAL", **files))
    absent = {"tls__certificate__path": str(tmp_path / "none.crt"), "tls__key__path": str(foreign.key)}
    assert f"there is no file {tmp_path}/none.crt" in broker.secured.failure(broker.tls("MUTUAL", **absent))


def test_tls_on_one_side_only(broker: Broker) -> None:
    assert "wants TLS" in broker.secured.refusal(broker.on("EXPIRED"))
    assert "speaks no TLS at this port" in broker.secured.refusal(broker.tls("PLAINTEXT"))
    nowhere = {**broker.as_user("alice"), "bootstrap.servers": "127.0.0.1:1"}
    assert "127.0.0.1:1 (connection refused)" in broker.secured.failure(nowhere)
    unknown = {**broker.as_user("alice"), "bootstrap.servers": "no-such-host.invalid:9092"}
    assert "(unknown host)" in broker.secured.failure(unknown)


def test_rights(broker: Broker) -> None:
    message = broker.secured.refusal(broker.as_user("bob"))
    assert "could not create topic tidegauge-probe-" in message
    assert "no right to do that" in message
    message = broker.secured.refusal(broker.as_user("dora"))
    assert "could not send a message to topic" in message
    assert "no right to do that" in message


def test_topics_of_another_process_are_deleted(broker: Broker) -> None:
    """As after a crash: nothing that the worker remembers helps it."""
    connection, topic = broker.as_user("alice"), "tidegauge-left"
    broker.secured.ready(connection).load(topic, {})
    values = {s.scope for s in broker.secured.worker.describe("kafka", connection, [topic])}
    assert f"topic {topic}" in values
    with pytest.raises(AccessRefusedError, match="could not delete topic tidegauge-left"):
        broker.secured.worker.delete_topics("kafka", broker.as_user("bob"), [topic])
    broker.secured.worker.delete_topics("kafka", connection, [topic, "tidegauge-never-was"])
    with pytest.raises(Exception, match=topic):
        broker.secured.worker.describe("kafka", connection, [topic])


def test_no_secret_is_reported(broker: Broker) -> None:
    """Neither in the settings given back, nor in the worker's log of all that this module did."""
    order = broker.secured.ready(broker.as_user("alice")).order("tidegauge-secrets", {})
    settings = broker.secured.worker.prepare(order)
    broker.secured.worker.finish(delete_topics=True)
    shown = {s.name: s.value for s in settings if s.scope == "producer"}
    assert shown["sasl.jaas.config"] == "[hidden]"
    assert shown["security.protocol"] == "SASL_SSL"
    broker.secured.assert_no_secret("\n".join(f"{s.name}={s.value}" for s in settings))
    broker.secured.assert_no_secret(broker.secured.worker_log.read_text())

"""A real Kafka broker with TLS, SASL and ACLs: who gets in, who does not, and what he is answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from certificates import ELSEWHERE, Authority, Issued, make_authority
from java_source import run_java_source
from secure import Secured, Start, eventually, secured

from tidegauge.errors import AccessRefusedError
from tidegauge.model.level import LevelChoice
from tidegauge.systems import registry

pytestmark = pytest.mark.integration

PASSWORD = 'correct horse "battery" \\ staple'
LISTENERS = ("PLAINTEXT", "SECURE", "MUTUAL", "EXPIRED", "ELSEWHERE", "SASL", "CONTROLLER")
PROTOCOLS = dict(
    zip(LISTENERS, ("PLAINTEXT", "SASL_SSL", "SSL", "SSL", "SSL", "SASL_PLAINTEXT", "PLAINTEXT"), strict=True)
)
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass
class Broker:
    """The broker, with an address for each of its listeners."""

    secured: Secured
    ports: Mapping[str, int]
    client: Issued

    def on(self, listener: str, **settings: str) -> dict[str, str]:
        """A connection to a listener; "__" in a keyword stands for the dot of a setting's name."""
        named = {key.replace("__", "."): value for key, value in settings.items()}
        return {"bootstrap.servers": f"127.0.0.1:{self.ports[listener]}", **named}

    def tls(self, listener: str, **settings: str) -> dict[str, str]:
        """The same with TLS and the tests' authority."""
        ca = str(self.secured.authority.certificate_path)
        return self.on(listener, tls__enabled="true", tls__ca__path=ca, **settings)

    def as_user(self, user: str, method: str = "scram-sha-512", password: str = PASSWORD) -> dict[str, str]:
        """A connection to the listener with SASL and TLS."""
        return self.tls("SECURE", auth__method=method, auth__user=user, auth__password=password)


def broker_settings(authority: Authority, ports: Mapping[str, int]) -> dict[str, str]:
    """What a broker needs for one listener of each kind."""
    addresses = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
    quoted = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    settings = {
        "listeners": ",".join(addresses.values()),
        "advertised.listeners": ",".join(a for name, a in addresses.items() if name != "CONTROLLER"),
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/",
    }
    for name in ("secure", "sasl"):
        settings |= {
            f"listener.name.{name}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            f"listener.name.{name}.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="{quoted}";',
            f"listener.name.{name}.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        }
    issued = {
        "secure": authority.issue("broker"),
        "mutual": authority.issue("broker-mutual"),
        "expired": authority.issue("broker-expired", days=-1),
        "elsewhere": authority.issue("broker-elsewhere", hosts=ELSEWHERE),
    }
    for name, certificate in issued.items():
        settings |= {
            f"listener.name.{name}.ssl.keystore.type": "PEM",
            f"listener.name.{name}.ssl.keystore.location": str(certificate.both),
            f"listener.name.{name}.ssl.truststore.type": "PEM",
            f"listener.name.{name}.ssl.truststore.location": str(authority.certificate_path),
        }
    return settings


def make_users(bootstrap: str) -> None:
    """alice may do what a benchmark needs, bob may only look at topics, the client's certificate is alice's equal."""
    kafka = registry.system_named("kafka")
    jars = kafka.provision(kafka.default_version, lambda _: None).directory
    rights = [
        *("allow", "alice", "topic", "tidegauge", "all", "allow", "alice", "group", "tidegauge", "all"),
        *("allow", "carol", "topic", "tidegauge", "all", "allow", "carol", "group", "tidegauge", "all"),
        *("allow", "bob", "topic", "tidegauge", "describe", "allow", "dora", "topic", "tidegauge", "create"),
        *("allow", "dora", "topic", "tidegauge", "describe", "allow", "dora", "topic", "tidegauge", "delete"),
        *("allow", "dora", "group", "tidegauge", "all", "allow", "dora", "topic", "tidegauge", "read"),
    ]
    users = [word for user in ("alice", "bob", "dora") for word in ("scram", user, PASSWORD)]
    run_java_source("KafkaUsers.java", jars, bootstrap, *users, *rights)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    directory = tmp_path_factory.mktemp("kafka")
    authority = make_authority(directory / "tls")

    def settings(free: list[int]) -> dict[str, str]:
        return broker_settings(authority, dict(zip(LISTENERS, free, strict=True)))

    secrets = (PASSWORD, PASSWORD.replace('"', '\\"'), "battery")
    start = Start("kafka", LevelChoice(4), directory, authority, secrets)
    with secured(start, len(LISTENERS), settings) as (server, free):
        found = Broker(server, dict(zip(LISTENERS, free, strict=True)), authority.issue("carol"))
        eventually(lambda: server.probe(found.on("PLAINTEXT")))
        make_users(found.on("PLAINTEXT")["bootstrap.servers"])
        yield found


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
    assert "does not take this auth.method" in refusal(broker.as_user("alice", "scram-sha-256"))
    assert "this listener wants auth.method" in refusal(broker.tls("SECURE"))
    assert "this listener wants auth.method" in refusal(broker.on("SASL"))


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
    assert "wants TLS: set tls.enabled" in broker.secured.refusal(broker.on("EXPIRED"))
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

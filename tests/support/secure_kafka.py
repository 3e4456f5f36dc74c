"""A real Kafka broker with a listener for each way of securing one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from certificates import ELSEWHERE, Authority, Issued, make_authority
from java_source import run_java_source
from secure import Secured, Start, eventually, secured

from tidegauge.model.level import LevelChoice
from tidegauge.systems import registry

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

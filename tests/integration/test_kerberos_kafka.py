"""A real Kafka broker that lets in whom a server of Kerberos vouches for."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from certificates import make_authority
from kerberos import REALM, Realm, kerberos
from secure import Secured, Start, eventually, secured

from tidegauge.agent.local import LocalHost
from tidegauge.model.level import LevelChoice

pytestmark = [pytest.mark.integration, pytest.mark.slow]

LISTENERS = ("PLAINTEXT", "KERBEROS", "CONTROLLER")
# Java asks for the name that the address has on this machine.
SERVER, CLIENT = f"kafka/{socket.getfqdn('127.0.0.1')}@{REALM}", f"bench@{REALM}"


def broker_settings(realm: Realm, free: list[int]) -> dict[str, str]:
    ports = dict(zip(LISTENERS, free, strict=True))
    addresses = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
    protocols = zip(LISTENERS, ("PLAINTEXT", "SASL_PLAINTEXT", "PLAINTEXT"), strict=True)
    module = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
    return {
        "listeners": ",".join(addresses.values()),
        "advertised.listeners": ",".join(a for name, a in addresses.items() if name != "CONTROLLER"),
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols),
        "sasl.kerberos.service.name": "kafka",
        "listener.name.kerberos.sasl.enabled.mechanisms": "GSSAPI",
        "listener.name.kerberos.gssapi.sasl.jaas.config": f'{module} keyTab="{realm.keytab}" principal="{SERVER}";',
    }


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with LocalHost.open() as host:
        (port,) = host.free_ports(1)
    with kerberos(tmp_path_factory.mktemp("kerberos") / "realm", port, SERVER, CLIENT) as found:
        yield found


@pytest.fixture(scope="module")
def broker(realm: Realm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Secured, int]]:
    directory = tmp_path_factory.mktemp("kafka")
    start = Start("kafka", LevelChoice(4), directory, make_authority(directory / "tls"), ())
    flags = [f"-Djava.security.krb5.conf={realm.config}"]
    with secured(start, len(LISTENERS), lambda free: broker_settings(realm, free), flags) as (server, free):
        eventually(lambda: server.probe({"bootstrap.servers": f"127.0.0.1:{free[0]}"}))
        yield server, free[1]


def test_a_client_with_a_key_gets_in(broker: tuple[Secured, int], realm: Realm, tmp_path: Path) -> None:
    server, port = broker
    connection = {
        "bootstrap.servers": f"127.0.0.1:{port}",
        "auth.method": "kerberos",
        "auth.principal": CLIENT,
        "auth.keytab": str(realm.keytab),
        "auth.krb5": str(realm.config),
        "auth.service": "kafka",
    }
    assert server.ready(connection).load("tidegauge-kerberos", {}) > 0
    assert "no login" in server.refusal({**connection, "auth.principal": f"nobody@{REALM}"})
    other = tmp_path / "other.keytab"
    other.write_bytes(b"\x05\x02")
    assert "no login" in server.refusal({**connection, "auth.keytab": str(other)})

"""A real Pulsar with TLS, tokens and authorisation: who gets in, who does not, and what he is answered."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import shutil
import ssl
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from certificates import ELSEWHERE, Issued, make_authority
from patience import Patience
from secure import Secured, Start, eventually, secured

from tidegauge.errors import AccessRefusedError
from tidegauge.model.level import LevelChoice

pytestmark = [pytest.mark.integration, pytest.mark.slow]

KEY = b"a key of thirty-two bytes or more"
PORTS = ("brokerServicePort", "webServicePort", "brokerServicePortTls", "webServicePortTls")
PROVIDERS = "org.apache.pulsar.broker.authentication.AuthenticationProvider"
RELOAD_S_MAX = 30.0


def token_of(user: str, key: bytes = KEY, **claims: object) -> str:
    """A JSON Web Token (RFC 7519) for a user, signed with HMAC SHA-256."""

    def part(content: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    signed = f"{part({'alg': 'HS256'})}.{part({'sub': user, **claims})}"
    mac = hmac.new(key, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


ADMIN, LIMITED = token_of("admin"), token_of("limited")
FORGED = token_of("admin", b"another key of thirty-two bytes or more")
STALE = token_of("admin", exp=1)


@dataclass
class Broker:
    """The broker, with its ports and the certificate that it shows."""

    secured: Secured
    ports: Mapping[str, int]
    shown: Issued

    def at(self, service: str, admin: str, **settings: str) -> dict[str, str]:
        """A connection by the names of the ports; "__" in a keyword stands for the dot of a setting's name."""
        urls = {
            "serviceUrl": f"{'pulsar+ssl' if service.endswith('Tls') else 'pulsar'}://127.0.0.1:{self.ports[service]}",
            "adminUrl": f"{'https' if admin.endswith('Tls') else 'http'}://127.0.0.1:{self.ports[admin]}",
        }
        return {**urls, **{key.replace("__", "."): value for key, value in settings.items()}}

    def tls(self, **settings: str) -> dict[str, str]:
        """Both ports with TLS and the tests' authority."""
        ca = str(self.secured.authority.certificate_path)
        return self.at("brokerServicePortTls", "webServicePortTls", tls__enabled="true", tls__ca__path=ca, **settings)

    def as_holder(self, token: str) -> dict[str, str]:
        """With TLS and a token."""
        return self.tls(auth__method="token", auth__token=token)

    def show(self, certificate: Issued) -> None:
        """Make the server show another certificate, which it reads again every second, on both ports."""
        shutil.copyfile(certificate.key, self.shown.key)
        shutil.copyfile(certificate.certificate, self.shown.certificate)
        wanted = ssl.PEM_cert_to_DER_cert(certificate.certificate.read_text())
        patience = Patience(RELOAD_S_MAX)
        for port in (self.ports["brokerServicePortTls"], self.ports["webServicePortTls"]):
            while ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", port))) != wanted:
                assert not patience.is_over(), "Pulsar did not take the new certificate"
                time.sleep(0.2)


def broker_settings(ports: Mapping[str, int], shown: Issued, ca: Path) -> dict[str, str]:
    """What a broker needs to let nobody in without a token or a certificate."""
    return {
        **{name: str(port) for name, port in ports.items()},
        "tlsCertificateFilePath": str(shown.certificate),
        "tlsKeyFilePath": str(shown.key),
        "tlsTrustCertsFilePath": str(ca),
        "tlsCertRefreshCheckDurationSec": "1",
        "authenticationEnabled": "true",
        "authenticationProviders": f"{PROVIDERS}Token,{PROVIDERS}Tls",
        "authorizationEnabled": "true",
        "superUserRoles": "admin,carol",
        "tokenSecretKey": f"data:;base64,{base64.b64encode(KEY).decode()}",
        "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": f"token:{ADMIN}",
    }


def grant(port: int, user: str, *actions: str) -> None:
    """Let a user do these things in the default namespace, and nothing else."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/admin/v2/namespaces/public/default/permissions/{user}",
        json.dumps(actions).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {ADMIN}"},
    )
    urllib.request.urlopen(request).close()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    directory = tmp_path_factory.mktemp("pulsar")
    authority = make_authority(directory / "tls")
    shown = authority.issue("shown")

    def settings(free: list[int]) -> dict[str, str]:
        return broker_settings(dict(zip(PORTS, free, strict=True)), shown, authority.certificate_path)

    secrets = (ADMIN, LIMITED, FORGED, STALE, base64.b64encode(KEY).decode())
    start = Start("pulsar", LevelChoice(4, "journal"), directory, authority, secrets)
    with secured(start, len(PORTS), settings) as (server, free):
        found = Broker(server, dict(zip(PORTS, free, strict=True)), shown)
        eventually(lambda: server.probe(found.as_holder(ADMIN)))
        grant(found.ports["webServicePort"], "limited", "produce", "consume")
        yield found


def test_a_token_gets_in(broker: Broker) -> None:
    ready = broker.secured.ready(broker.as_holder(ADMIN))
    assert ready.load("tidegauge-token", {}) > 0
    finding = ready.system.derive_level(ready.read_back("tidegauge-token"), ready.choice, 1)
    assert (finding.level, finding.problems) == (4, ())


def test_a_client_certificate_gets_in(broker: Broker) -> None:
    own = broker.secured.authority.issue("carol")
    files = {"tls__certificate__path": str(own.certificate), "tls__key__path": str(own.key)}
    connection = broker.tls(auth__method="tls", **files)
    assert broker.secured.ready(connection).load("tidegauge-mutual", {}) > 0


def test_wrong_credentials(broker: Broker) -> None:
    for connection in (broker.tls(), broker.as_holder(FORGED), broker.as_holder(STALE), broker.as_holder("no.token.x")):
        assert "credentials are missing, wrong or expired" in broker.secured.refusal(connection)
    own = broker.secured.authority.issue("nobody")
    files = {"tls__certificate__path": str(own.certificate), "tls__key__path": str(own.key)}
    assert "no right to do that" in broker.secured.refusal(broker.tls(auth__method="tls", **files))


def test_certificates(broker: Broker, tmp_path: Path) -> None:
    other, authority = make_authority(tmp_path), broker.secured.authority
    foreign = {**broker.as_holder(ADMIN), "tls.ca.path": str(other.certificate_path)}
    assert "the server's certificate is not trusted" in broker.secured.refusal(foreign)
    stale = authority.issue("stale", days=-1)
    files = {"tls__certificate__path": str(stale.certificate), "tls__key__path": str(stale.key)}
    assert f"the certificate in {stale.certificate} expired on" in broker.secured.refusal(broker.tls(**files))
    try:
        broker.show(authority.issue("elsewhere", hosts=ELSEWHERE))
        assert "for another host name" in broker.secured.refusal(broker.as_holder(ADMIN))
        assert broker.secured.probe({**broker.as_holder(ADMIN), "tls.verify.host": "false"}) > 0
        broker.show(stale)
        assert "the server's certificate has expired" in broker.secured.refusal(broker.as_holder(ADMIN))
    finally:
        broker.show(authority.issue("shown-again"))
    assert broker.secured.probe(broker.as_holder(ADMIN)) > 0


def test_tls_on_one_side_only(broker: Broker) -> None:
    token, ca = {"auth__method": "token", "auth__token": ADMIN}, str(broker.secured.authority.certificate_path)
    urls = broker.at("brokerServicePort", "webServicePort", **token)
    secured_port, plain_port = broker.ports["brokerServicePortTls"], broker.ports["brokerServicePort"]
    wrong = {**urls, "serviceUrl": f"pulsar://127.0.0.1:{secured_port}"}
    assert "wants TLS" in broker.secured.refusal(wrong)
    wrong = {**urls, "adminUrl": f"http://127.0.0.1:{broker.ports['webServicePortTls']}"}
    assert "adminUrl must begin with https://" in broker.secured.refusal(wrong)
    secured_urls = broker.as_holder(ADMIN)
    wrong = {**secured_urls, "serviceUrl": f"pulsar+ssl://127.0.0.1:{plain_port}"}
    assert "speaks no TLS at this port" in broker.secured.refusal(wrong)
    wrong = {**secured_urls, "adminUrl": f"https://127.0.0.1:{broker.ports['webServicePort']}"}
    assert "speaks no TLS at this port" in broker.secured.refusal(wrong)
    assert "write pulsar+ssl://" in broker.secured.failure({**urls, "tls.ca.path": ca})
    nowhere = {**secured_urls, "serviceUrl": "pulsar+ssl://127.0.0.1:1"}
    assert "127.0.0.1:1 (connection refused)" in broker.secured.failure(nowhere)


def test_rights(broker: Broker) -> None:
    connection, topic = broker.as_holder(LIMITED), "tidegauge-rights"
    message = broker.secured.refusal(connection)
    assert "could not create topic tidegauge-probe-" in message
    assert "no right to do that" in message
    broker.secured.ready(broker.as_holder(ADMIN)).load(topic, {})
    values = {(s.scope, s.name): s.value for s in broker.secured.worker.describe("pulsar", connection, [topic])}
    assert values[("cluster", "brokers")] == "unknown: no right to read the list of brokers"
    assert values[(f"topic {topic}", "partitions")] == "1"
    with pytest.raises(AccessRefusedError, match=f"could not delete topic {topic}: the user has no right"):
        broker.secured.worker.delete_topics("pulsar", connection, [topic])
    broker.secured.worker.delete_topics("pulsar", broker.as_holder(ADMIN), [topic, "tidegauge-never-was"])
    with pytest.raises(Exception, match=topic):
        broker.secured.worker.describe("pulsar", broker.as_holder(ADMIN), [topic])


def test_no_secret_is_reported(broker: Broker) -> None:
    """Neither in the settings given back, nor in the worker's log of all that this module did."""
    order = broker.secured.ready(broker.as_holder(ADMIN)).order("tidegauge-secrets", {})
    settings = broker.secured.worker.prepare(order)
    broker.secured.worker.finish(delete_topics=True)
    assert {s.value for s in settings if s.name == "authParams"} == {"(hidden)"}
    broker.secured.assert_no_secret("\n".join(f"{s.name}={s.value}" for s in settings))
    broker.secured.assert_no_secret(broker.secured.worker_log.read_text())

"""A real Pulsar that lets in who shows a token: of an issuer, or from a file, and when it expires."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from certificates import make_authority
from command import Place, valid_unless_starved
from cryptography.hazmat.primitives import serialization
from secure import Secured, Start, eventually, secured
from token_endpoint import CLIENT, CLIENT_SECRET, TokenEndpoint, serving_tokens

from tidegauge.model.level import LevelChoice

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PORTS = ("brokerServicePort", "webServicePort")
LIFETIME_S = 6.0
CAMPAIGN = """
name: renewed
systems:
  - name: pulsar
    attach:
      service-url: pulsar://127.0.0.1:{brokerServicePort}
      admin-url: http://127.0.0.1:{webServicePort}
      auth: {{{auth}}}
durability: 4
workload: {{message-size: 200B}}
experiments:
  - {{name: latency, rate: 200, warm-up-min: 1s, warm-up-max: 2s, measure: 20s, drain-max: 8s}}
"""


@dataclass
class Broker:
    """The broker, and who gives tokens for it."""

    secured: Secured
    ports: Mapping[str, int]
    endpoint: TokenEndpoint

    def connection(self, **settings: str) -> dict[str, str]:
        """A connection; "__" in a keyword stands for the dot of a setting's name."""
        return {
            "serviceUrl": f"pulsar://127.0.0.1:{self.ports['brokerServicePort']}",
            "adminUrl": f"http://127.0.0.1:{self.ports['webServicePort']}",
            **{f"auth.{key.replace('__', '.')}": value for key, value in settings.items()},
        }

    def as_client(self, secret: str = CLIENT_SECRET) -> dict[str, str]:
        """A connection of the issuer's client."""
        return self.connection(
            method="oauth2", token__endpoint=self.endpoint.url, client__id=CLIENT, client__secret=secret
        )


def broker_settings(endpoint: TokenEndpoint, ports: Mapping[str, int]) -> dict[str, str]:
    public = endpoint.key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return {
        **{name: str(port) for name, port in ports.items()},
        "authenticationEnabled": "true",
        "authenticationProviders": "org.apache.pulsar.broker.authentication.AuthenticationProviderToken",
        # Who shows no new token when asked for one is cut off.
        "authenticationRefreshCheckSeconds": "1",
        "tokenPublicKey": f"data:;base64,{base64.b64encode(public).decode()}",
        "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": f"token:{endpoint.token_of('admin', 3600.0)}",
    }


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    directory = tmp_path_factory.mktemp("pulsar")
    with serving_tokens(TokenEndpoint()) as endpoint:
        start = Start(
            "pulsar", LevelChoice(4, "journal"), directory, make_authority(directory / "tls"), (CLIENT_SECRET,)
        )

        def settings(free: list[int]) -> dict[str, str]:
            return broker_settings(endpoint, dict(zip(PORTS, free, strict=True)))

        with secured(start, len(PORTS), settings) as (server, free):
            found = Broker(server, dict(zip(PORTS, free, strict=True)), endpoint)
            eventually(lambda: server.probe(found.connection(method="token", token=endpoint.token_of("admin"))))
            endpoint.given.pop(0)  # The server's own, which is in its configuration.
            yield found


def test_a_client_gets_a_token_by_its_secret(broker: Broker) -> None:
    assert broker.secured.ready(broker.as_client()).load("tidegauge-tokens", {}) > 0
    message = broker.secured.refusal(broker.as_client("not the secret"))
    assert "invalid_client" in message or "no such client" in message


def test_a_token_is_taken_from_a_file(broker: Broker, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(broker.endpoint.token_of("admin") + "\n")
    connection = broker.connection(method="token", token__path=str(file))
    assert broker.secured.ready(connection).load("tidegauge-file", {}) > 0
    file.write_text(TokenEndpoint().token_of("forger"))
    assert "credentials are missing, wrong or expired" in broker.secured.refusal(connection)


def test_the_endpoint_shows_a_certificate_of_its_own_authority(broker: Broker) -> None:
    authority, endpoint = broker.secured.authority, broker.endpoint
    copied = TokenEndpoint(claims=endpoint.claims, key=endpoint.key)
    with serving_tokens(copied, authority.issue("endpoint").both) as asked:
        connection = {**broker.as_client(), "auth.token.endpoint": asked.url}
        assert broker.secured.probe({**connection, "auth.endpoint.ca.path": str(authority.certificate_path)}) > 0
        assert copied.asked
        assert "certif" in broker.secured.refusal(connection)


def test_no_secret_is_reported(broker: Broker) -> None:
    """Neither in the settings given back, nor in the worker's log of all that this module did."""
    settings = broker.secured.worker.prepare(broker.secured.ready(broker.as_client()).order("tidegauge-secrets", {}))
    broker.secured.worker.finish(delete_topics=True)
    shown = "\n".join(f"{s.name}={s.value}" for s in settings)
    assert "authParams=(hidden)" in shown
    for text in (shown, broker.secured.worker_log.read_text()):
        broker.secured.assert_no_secret(text)
        assert base64.b64encode(CLIENT_SECRET.encode()).decode()[:-4] not in text
        assert not [token for token in broker.endpoint.given if token in text]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("BENCH_SECRET", CLIENT_SECRET)
    (tmp_path / "place").mkdir()
    place = Place(tmp_path / "place")
    yield place
    assert not place.strays()


def run_with(auth: str, broker: Broker, place: Place) -> None:
    """A trial longer than a token lives, after which no secret is left anywhere."""
    done = place.run("run", str(place.write(CAMPAIGN.format(auth=auth, **broker.ports))))
    valid_unless_starved(done, place)
    contents = [path.read_bytes() for path in place.root.rglob("*") if path.is_file()]
    contents += [done.stdout.encode(), done.stderr.encode()]
    canaries = [CLIENT_SECRET, *broker.endpoint.given]
    assert not [canary for canary in canaries if any(canary.encode() in content for content in contents)]


def test_tokens_of_an_issuer_are_renewed_within_a_trial(broker: Broker, place: Place) -> None:
    before, broker.endpoint.lifetime_s = len(broker.endpoint.given), LIFETIME_S
    try:
        source = f'issuer-url: "{broker.endpoint.url}", client-id: {CLIENT}, client-secret: {{env: BENCH_SECRET}}'
        run_with(f"method: oauth2, {source}", broker, place)
    finally:
        broker.endpoint.lifetime_s = 3600.0
    assert len(broker.endpoint.given) - before > 4


def test_a_file_with_a_token_is_read_again_within_a_trial(broker: Broker, place: Place, tmp_path: Path) -> None:
    file, is_over = tmp_path / "token", threading.Event()

    def write_token() -> None:
        """As those do that renew tokens beside a program: a new file in the place of the old one."""
        new = file.with_suffix(".new")
        new.write_text(broker.endpoint.token_of("admin", LIFETIME_S))
        new.replace(file)

    def renew() -> None:
        while not is_over.wait(1.0):
            write_token()

    write_token()
    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        run_with(f"method: token, token: {{file: {file}}}", broker, place)
    finally:
        is_over.set()
        renewing.join()

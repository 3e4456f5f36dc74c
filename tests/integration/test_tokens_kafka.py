"""A real Kafka broker that lets in who shows a token: from an endpoint, from a file, and when it expires."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from certificates import make_authority
from command import Place, shown_by_processes, valid_unless_starved, wait_until_measuring
from secure import Secured, Start, eventually, secured
from token_endpoint import CLIENT, CLIENT_SECRET, TokenEndpoint, serving_tokens

from tidegauge.model.level import LevelChoice

pytestmark = pytest.mark.integration

LISTENERS = ("PLAINTEXT", "TOKENS", "CONTROLLER")
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
LIFETIME_S = 6.0
CAMPAIGN = """
name: renewed
systems:
  - name: kafka
    attach:
      bootstrap-servers: 127.0.0.1:{port}
      auth: {{method: oauthbearer, {source}}}
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
        """A connection to the listener that wants tokens; "__" in a keyword stands for the dot of a setting's name."""
        return {
            "bootstrap.servers": f"127.0.0.1:{self.ports['TOKENS']}",
            "auth.method": "oauthbearer",
            **{f"auth.{key.replace('__', '.')}": value for key, value in settings.items()},
        }

    def as_client(self, secret: str = CLIENT_SECRET, **settings: str) -> dict[str, str]:
        """A connection of the endpoint's client."""
        url = f"{self.endpoint.url}/token"
        return self.connection(token__endpoint=url, client__id=CLIENT, client__secret=secret, **settings)


def broker_settings(endpoint: TokenEndpoint, ports: Mapping[str, int]) -> dict[str, str]:
    addresses = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
    protocols = zip(LISTENERS, ("PLAINTEXT", "SASL_PLAINTEXT", "PLAINTEXT"), strict=True)
    return {
        "listeners": ",".join(addresses.values()),
        "advertised.listeners": ",".join(a for name, a in addresses.items() if name != "CONTROLLER"),
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols),
        # A client that shows no new token in time is cut off.
        "connections.max.reauth.ms": "3600000",
        "sasl.oauthbearer.jwks.endpoint.url": f"{endpoint.url}/keys",
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.clock.skew.seconds": "0",
        "listener.name.tokens.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.tokens.oauthbearer.sasl.jaas.config": f"{MODULE} required;",
        "listener.name.tokens.oauthbearer.sasl.server.callback.handler.class": VALIDATOR,
    }


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    directory = tmp_path_factory.mktemp("kafka")
    with serving_tokens(TokenEndpoint(claims={"aud": "kafka"})) as endpoint:
        start = Start("kafka", LevelChoice(4), directory, make_authority(directory / "tls"), (CLIENT_SECRET,))

        def settings(free: list[int]) -> dict[str, str]:
            return broker_settings(endpoint, dict(zip(LISTENERS, free, strict=True)))

        flags = [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={endpoint.url}/keys"]
        with secured(start, len(LISTENERS), settings, flags) as (server, free):
            found = Broker(server, dict(zip(LISTENERS, free, strict=True)), endpoint)
            eventually(lambda: server.probe({"bootstrap.servers": f"127.0.0.1:{found.ports['PLAINTEXT']}"}))
            yield found


def test_a_client_gets_a_token_by_its_secret(broker: Broker) -> None:
    assert broker.secured.ready(broker.as_client(scope="a b")).load("tidegauge-tokens", {}) > 0
    assert broker.endpoint.asked[-1] == {"grant_type": "client_credentials", "scope": "a b"}


def test_a_token_is_taken_from_a_file(broker: Broker, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(broker.endpoint.token_of("carol") + "\n")
    assert broker.secured.ready(broker.connection(token__path=str(file))).load("tidegauge-file", {}) > 0


def test_who_gets_no_token_or_shows_a_wrong_one(broker: Broker, tmp_path: Path) -> None:
    refusal = broker.secured.refusal
    message = refusal(broker.as_client("not the secret"))
    assert "no login" in message
    assert "invalid_client" in message
    file = tmp_path / "token"
    file.write_text(TokenEndpoint(claims={"aud": "kafka"}).token_of("forger"))
    assert "the broker does not accept the token" in refusal(broker.connection(token__path=str(file)))
    file.write_text("")
    assert f"auth.token.path: the file {file} is empty" in broker.secured.failure(
        broker.connection(token__path=str(file))
    )


def test_the_endpoint_shows_a_certificate_of_its_own_authority(broker: Broker) -> None:
    authority, endpoint = broker.secured.authority, broker.endpoint
    copied = TokenEndpoint(claims=endpoint.claims, key=endpoint.key)
    with serving_tokens(copied, authority.issue("endpoint").both) as asked:
        connection = {**broker.as_client(), "auth.token.endpoint": f"{asked.url}/token"}
        assert broker.secured.probe({**connection, "auth.endpoint.ca.path": str(authority.certificate_path)}) > 0
        assert copied.asked
        assert "certif" in broker.secured.refusal(connection)


def test_no_secret_is_reported(broker: Broker) -> None:
    """Neither in the settings given back, nor in the worker's log of all that this module did."""
    settings = broker.secured.worker.prepare(broker.secured.ready(broker.as_client()).order("tidegauge-secrets", {}))
    broker.secured.worker.finish(delete_topics=True)
    shown = "\n".join(f"{s.name}={s.value}" for s in settings)
    log = broker.secured.worker_log.read_text()
    assert "sasl.oauthbearer.client.credentials.client.secret=[hidden]" in shown
    for text in (shown, log):
        broker.secured.assert_no_secret(text)
        assert not [token for token in broker.endpoint.given if token in text]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("BENCH_SECRET", CLIENT_SECRET)
    (tmp_path / "place").mkdir()
    place = Place(tmp_path / "place")
    yield place
    assert not place.strays()


def assert_no_secret_left(place: Place, broker: Broker, *texts: str) -> None:
    """No secret and no token is in a file of the run or the state, nor in what was said."""
    canaries = [CLIENT_SECRET, *broker.endpoint.given]
    for path in (path for path in place.root.rglob("*") if path.is_file()):
        content = path.read_bytes()
        assert not [canary for canary in canaries if canary.encode() in content], path
    for text in texts:
        assert not [canary for canary in canaries if canary in text]


@pytest.mark.slow
def test_tokens_of_an_endpoint_are_renewed_within_a_trial(broker: Broker, place: Place) -> None:
    source = f'token-endpoint: "{broker.endpoint.url}/token", client-id: {CLIENT}, client-secret: {{env: BENCH_SECRET}}'
    campaign = place.write(CAMPAIGN.format(port=broker.ports["TOKENS"], source=source))
    before, broker.endpoint.lifetime_s = len(broker.endpoint.given), LIFETIME_S
    try:
        process = place.start("run", str(campaign))
        wait_until_measuring(place, process)
        shown_by = shown_by_processes(process)
        done = process.finish()
    finally:
        broker.endpoint.lifetime_s = 3600.0
    valid_unless_starved(done, place)
    assert len(broker.endpoint.given) - before > 4
    assert_no_secret_left(place, broker, done.stdout, done.stderr, *shown_by)


@pytest.mark.slow
def test_a_file_with_a_token_is_read_again_within_a_trial(broker: Broker, place: Place, tmp_path: Path) -> None:
    file, is_over = tmp_path / "token", threading.Event()

    def write_token() -> None:
        """As those do that renew tokens beside a program: a new file in the place of the old one."""
        new = file.with_suffix(".new")
        new.write_text(broker.endpoint.token_of("carol", LIFETIME_S))
        new.replace(file)

    def renew() -> None:
        while not is_over.wait(1.0):
            write_token()

    write_token()
    campaign = place.write(CAMPAIGN.format(port=broker.ports["TOKENS"], source=f"token: {{file: {file}}}"))
    renewing = threading.Thread(target=renew)
    renewing.start()
    began_s = time.monotonic()
    try:
        done = place.run("run", str(campaign))
    finally:
        is_over.set()
        renewing.join()
    assert time.monotonic() - began_s > 2 * LIFETIME_S
    valid_unless_starved(done, place)
    assert_no_secret_left(place, broker, done.stdout, done.stderr)

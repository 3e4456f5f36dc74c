"""A real RabbitMQ that lets in who shows a token of an endpoint, and goes on when the token expires."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from certificates import make_authority
from command import Place, valid_unless_starved
from rabbitmq_tools import RabbitTools
from secure import Secured, Start, eventually, secured
from token_endpoint import CLIENT, CLIENT_SECRET, TokenEndpoint, serving_tokens

from tidegauge.errors import AccessRefusedError, UserError
from tidegauge.model.level import LevelChoice
from tidegauge.systems import registry

pytestmark = [pytest.mark.integration, pytest.mark.slow]

LIFETIME_S = 8.0
RIGHTS = [f"rabbitmq.{right}:*/*" for right in ("configure", "write", "read")]
# Settings of plugins that are not started with the node can't be in its file.
TAKE_TOKENS = """
application:set_env(rabbit, auth_backends, [rabbit_auth_backend_internal, rabbit_auth_backend_oauth2]),
application:set_env(rabbitmq_auth_backend_oauth2, resource_server_id, <<"rabbitmq">>),
application:set_env(rabbitmq_auth_backend_oauth2, key_config,
    [{{default_key, <<"tests">>}}, {{signing_keys, #{{<<"tests">> => {{pem, <<"{pem}">>}}}}}}]).
"""
CAMPAIGN = """
name: renewed
systems:
  - name: rabbitmq
    attach:
      {addresses}
      auth: {{{auth}}}
durability: {{level: as-found, form: {form}}}
workload: {{message-size: 200B}}
experiments:
  - {{name: latency, rate: 200, warm-up-min: 1s, warm-up-max: 2s, measure: 20s, drain-max: 8s}}
"""


class Broker(RabbitTools):
    """The node, and who gives tokens for it."""

    def __init__(self, node: Secured, endpoint: TokenEndpoint) -> None:
        super().__init__(node)
        self.endpoint = endpoint

    def as_client(self, secret: str = CLIENT_SECRET) -> dict[str, str]:
        """A connection of the endpoint's client."""
        addresses = {key: without_user(value) for key, value in self.plain.items()}
        url = f"{self.endpoint.url}/token"
        named = {"method": "oauth2", "token.endpoint": url, "client.id": CLIENT, "client.secret": secret}
        return {**addresses, **{f"auth.{name}": value for name, value in named.items()}}


def without_user(address: str) -> str:
    """An address without the user that it names."""
    return address.replace("guest:guest@", "")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    rabbitmq = registry.system_named("rabbitmq")
    try:
        rabbitmq.provision(rabbitmq.default_version, lambda _: None)
    except UserError as error:
        pytest.skip(f"RabbitMQ is not available here: {error.message}")
    directory = tmp_path_factory.mktemp("rabbitmq")
    claims = {"aud": "rabbitmq", "scope": [*RIGHTS, "rabbitmq.tag:administrator"]}
    with serving_tokens(TokenEndpoint(claims=claims)) as endpoint:
        start = Start(
            "rabbitmq", LevelChoice(3, "quorum"), directory, make_authority(directory / "tls"), (CLIENT_SECRET,)
        )
        with secured(start, 0, lambda _: {}) as (server, _):
            found = Broker(server, endpoint)
            eventually(lambda: server.probe(found.plain))
            found.tool("rabbitmq-plugins", "enable", "rabbitmq_auth_backend_oauth2")
            pem = endpoint.public_key_pem().decode().replace("\n", "\\n")
            found.tool("rabbitmqctl", "eval", TAKE_TOKENS.format(pem=pem))
            yield found


@pytest.mark.parametrize("choice", [LevelChoice(3, "quorum"), LevelChoice(4, "stream")])
def test_a_client_gets_a_token_by_its_secret(broker: Broker, choice: LevelChoice) -> None:
    topic, ready = f"tidegauge-{choice.form}", broker.secured.ready(broker.as_client())
    if choice not in ready.system.possible_levels(ready.system.default_version, 1):
        pytest.skip(f"not offered: {choice}")
    assert ready.load(topic, ready.system.topic_settings(choice)) > 0
    finding = ready.system.derive_level(ready.read_back(topic), choice, 1)
    assert (finding.level, finding.problems) == (choice.level, ())


def test_who_gets_no_token_or_a_wrong_one(broker: Broker) -> None:
    assert "could not get a token: no token" in broker.secured.refusal(broker.as_client("not the secret"))
    with pytest.raises(AccessRefusedError, match="no token"):
        broker.secured.worker.describe("rabbitmq", broker.as_client("not the secret"), [])
    broker.endpoint.claims["aud"] = "another"
    try:
        assert "wrong password or unknown user" in broker.secured.refusal(broker.as_client())
    finally:
        broker.endpoint.claims["aud"] = "rabbitmq"


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
    for text in ("\n".join(f"{s.name}={s.value}" for s in settings), broker.secured.worker_log.read_text()):
        broker.secured.assert_no_secret(text)
        assert not [token for token in broker.endpoint.given if token in text]


@pytest.mark.parametrize("form", ["quorum", "stream"])
def test_tokens_are_renewed_within_a_trial(
    broker: Broker, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_SECRET", CLIENT_SECRET)
    keys = {"uris": "uri", "management-url": "managementUrl", "stream-uris": "streamUri"}
    addresses = "\n      ".join(f"{key}: {without_user(broker.plain[name])}" for key, name in keys.items())
    url = f"{broker.endpoint.url}/token"
    auth = f'method: oauth2, token-endpoint: "{url}", client-id: {CLIENT}, client-secret: {{env: BENCH_SECRET}}'
    place = Place(tmp_path)
    campaign = place.write(CAMPAIGN.format(addresses=addresses, auth=auth, form=form))
    before, broker.endpoint.lifetime_s = len(broker.endpoint.given), LIFETIME_S
    try:
        done = place.run("run", str(campaign))
    finally:
        broker.endpoint.lifetime_s = 3600.0
    valid_unless_starved(done, place)
    assert len(broker.endpoint.given) - before > 4
    contents = [path.read_bytes() for path in place.root.rglob("*") if path.is_file()]
    contents += [done.stdout.encode(), done.stderr.encode()]
    canaries = [CLIENT_SECRET, *broker.endpoint.given]
    assert not [canary for canary in canaries if any(canary.encode() in content for content in contents)]
    assert not place.strays()

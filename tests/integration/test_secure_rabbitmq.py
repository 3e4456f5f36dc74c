"""A real RabbitMQ with TLS on all its protocols and users of few rights: who gets in, what the others are answered."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from certificates import ELSEWHERE, Issued, make_authority
from command import Place, valid_unless_starved
from rabbitmq_tools import RabbitTools
from secure import Start, eventually, secured

from tidegauge.errors import AccessRefusedError, RunFailedError, UserError
from tidegauge.model.level import LevelChoice
from tidegauge.systems import registry

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PASSWORD = "correct-horse-battery"
PORTS = ("amqps", "https", "streams")
MINE = "^(tidegauge|carol).*"


@dataclass
class Broker(RabbitTools):
    """The node, with its ports for TLS and the certificate that it shows on all of them."""

    ports: Mapping[str, int]
    shown: Issued

    def tls(self, **settings: str) -> dict[str, str]:
        """A connection with TLS and the tests' authority; "__" in a keyword stands for the dot of a setting's name."""
        return {
            "uri": f"amqps://127.0.0.1:{self.ports['amqps']}",
            "streamUri": f"rabbitmq-stream+tls://127.0.0.1:{self.ports['streams']}",
            "managementUrl": f"https://127.0.0.1:{self.ports['https']}",
            "queueType": "quorum",
            "tls.ca.path": str(self.secured.authority.certificate_path),
            **{key.replace("__", "."): value for key, value in settings.items()},
        }

    def as_user(self, user: str, password: str = PASSWORD) -> dict[str, str]:
        """With TLS and a password."""
        return self.tls(auth__method="password", auth__user=user, auth__password=password)

    def add_user(self, name: str, tags: str, configure: str, write: str) -> None:
        """A user of the default virtual host with these rights."""
        self.manage("PUT", f"/api/users/{name}", {"password": PASSWORD, "tags": tags})
        rights = {"configure": configure, "write": write, "read": ".*"}
        self.manage("PUT", f"/api/permissions/%2F/{name}", rights)

    def show(self, certificate: Issued) -> None:
        """Make the server show another certificate."""
        shutil.copyfile(certificate.key, self.shown.key)
        shutil.copyfile(certificate.certificate, self.shown.certificate)
        self.tool("rabbitmqctl", "eval", "ssl:clear_pem_cache().")


def broker_settings(ports: Mapping[str, int], shown: Issued, ca: Path) -> dict[str, str]:
    """A listener with TLS for each protocol."""
    files = {"cacertfile": str(ca), "certfile": str(shown.certificate), "keyfile": str(shown.key)}
    return {
        "listeners.ssl.default": f"127.0.0.1:{ports['amqps']}",
        **{f"ssl_options.{key}": path for key, path in files.items()},
        "ssl_options.verify": "verify_peer",
        "ssl_options.fail_if_no_peer_cert": "false",
        "management.ssl.ip": "127.0.0.1",
        "management.ssl.port": str(ports["https"]),
        **{f"management.ssl.{key}": path for key, path in files.items()},
        "stream.listeners.ssl.1": f"127.0.0.1:{ports['streams']}",
        "stream.advertised_tls_host": "127.0.0.1",
        "stream.advertised_tls_port": str(ports["streams"]),
        "auth_mechanisms.1": "PLAIN",
        "auth_mechanisms.2": "EXTERNAL",
        "ssl_cert_login_from": "common_name",
    }


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    rabbitmq = registry.system_named("rabbitmq")
    try:
        rabbitmq.provision(rabbitmq.default_version, lambda _: None)
    except UserError as error:
        pytest.skip(f"RabbitMQ is not available here: {error.message}")
    directory = tmp_path_factory.mktemp("rabbitmq")
    authority = make_authority(directory / "tls")
    shown = authority.issue("shown")

    def settings(free: list[int]) -> dict[str, str]:
        return broker_settings(dict(zip(PORTS, free, strict=True)), shown, authority.certificate_path)

    start = Start("rabbitmq", LevelChoice(3, "quorum"), directory, authority, (PASSWORD,))
    with secured(start, len(PORTS), settings) as (server, free):
        found = Broker(server, dict(zip(PORTS, free, strict=True)), shown)
        eventually(lambda: server.probe(found.plain))
        found.add_user("alice", "monitoring,policymaker", MINE, ".*")
        found.add_user("bob", "management", "^$", ".*")
        found.add_user("carol", "", MINE, ".*")
        found.add_user("dora", "management", MINE, "^$")
        yield found


@pytest.mark.parametrize("choice", [LevelChoice(3, "quorum"), LevelChoice(4, "stream")])
def test_a_user_with_a_password_gets_in(broker: Broker, choice: LevelChoice) -> None:
    topic, ready = f"tidegauge-{choice.form}", broker.secured.ready(broker.as_user("alice"))
    if choice not in ready.system.possible_levels(ready.system.default_version, 1):
        pytest.skip(f"not offered: {choice}")
    assert ready.load(topic, ready.system.topic_settings(choice)) > 0
    finding = ready.system.derive_level(ready.read_back(topic), choice, 1)
    assert (finding.level, finding.problems) == (choice.level, ())


def test_a_client_certificate_gets_in(broker: Broker) -> None:
    """Without the management API, which knows passwords only; topics are then found by asking for one queue each."""
    broker.tool("rabbitmq-plugins", "enable", "rabbitmq_auth_mechanism_ssl")
    own = broker.secured.authority.issue("carol")
    files = {"tls__certificate__path": str(own.certificate), "tls__key__path": str(own.key)}
    connection = broker.tls(auth__method="tls", **files)
    del connection["managementUrl"], connection["streamUri"]
    ready = broker.secured.ready(connection)
    assert ready.load("tidegauge-external", {}) > 0
    broker.secured.worker.delete_topics("rabbitmq", connection, ["tidegauge-external", "tidegauge-never-was"])
    left = broker.secured.worker.describe("rabbitmq", broker.plain, ["tidegauge-external"])
    assert {s.name: s.value for s in left if s.scope == "topic tidegauge-external"}["queues"] == "0"


CAMPAIGN = """
name: certified
systems:
  - name: rabbitmq
    attach:
      uris: amqps://127.0.0.1:{amqps}
      management-url: https://127.0.0.1:{https}
      topic-prefix: carol-
      tls: {{ca: {ca}, certificate: {certificate}, key: {key}}}
      auth: {{method: external, user: alice, password: {{env: RABBIT_PASSWORD}}}}
durability: {{level: as-found, form: quorum}}
workload: {{message-size: 200B}}
experiments:
  - {{name: latency, rate: 200, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 8s}}
"""


def test_a_campaign_shows_a_certificate_and_a_password_to_management(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.tool("rabbitmq-plugins", "enable", "rabbitmq_auth_mechanism_ssl")
    monkeypatch.setenv("RABBIT_PASSWORD", PASSWORD)
    own, ca = broker.secured.authority.issue("carol"), broker.secured.authority.certificate_path
    place = Place(tmp_path)
    text = CAMPAIGN.format(ca=ca, certificate=own.certificate, key=own.key, **broker.ports)
    done = place.run("run", str(place.write(text)))
    valid_unless_starved(done, place)
    contents = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(PASSWORD.encode() in content for content in [done.stdout.encode(), done.stderr.encode(), *contents])


def test_wrong_credentials(broker: Broker) -> None:
    for connection in (broker.as_user("alice", "not the one"), broker.as_user("nobody"), broker.tls()):
        # Without a user it is "guest", who gets in over loopback: hence a password that is not his.
        wrong = {**connection, "auth.user": connection.get("auth.user", "guest"), "auth.password": "not the one"}
        assert "wrong password or unknown user" in broker.secured.refusal(wrong)
    with pytest.raises(AccessRefusedError, match="wrong password or unknown user"):
        broker.secured.worker.describe("rabbitmq", broker.as_user("alice", "not the one"), [])


def test_certificates(broker: Broker, tmp_path: Path) -> None:
    other, authority = make_authority(tmp_path), broker.secured.authority
    foreign = {**broker.as_user("alice"), "tls.ca.path": str(other.certificate_path)}
    assert "the server's certificate is not trusted" in broker.secured.refusal(foreign)
    # An address that begins with amqps, and nothing said about TLS: those count that Java trusts, not everybody.
    bare = {"uri": f"amqps://guest:guest@127.0.0.1:{broker.ports['amqps']}"}
    assert "the server's certificate is not trusted" in broker.secured.refusal(bare)
    stale = authority.issue("stale", days=-1)
    files = {"tls__certificate__path": str(stale.certificate), "tls__key__path": str(stale.key)}
    assert f"the certificate in {stale.certificate} expired on" in broker.secured.refusal(broker.tls(**files))
    try:
        broker.show(authority.issue("elsewhere", hosts=ELSEWHERE))
        assert "for another host name" in broker.secured.refusal(broker.as_user("alice"))
        assert broker.secured.probe({**broker.as_user("alice"), "tls.verify.host": "false"}) > 0
        broker.show(stale)
        assert "the server's certificate has expired" in broker.secured.refusal(broker.as_user("alice"))
        with pytest.raises(AccessRefusedError, match="certificate has expired"):
            broker.secured.worker.describe("rabbitmq", broker.as_user("alice"), [])
    finally:
        broker.show(authority.issue("shown-again"))
    assert broker.secured.probe(broker.as_user("alice")) > 0


def test_tls_on_one_side_only(broker: Broker) -> None:
    amqp, management = broker.plain["uri"], broker.plain["managementUrl"]
    wrong = {**broker.plain, "uri": f"amqp://guest:guest@127.0.0.1:{broker.ports['amqps']}"}
    assert "must begin with amqps://" in broker.secured.refusal(wrong)
    wrong = {**broker.plain, "managementUrl": f"http://127.0.0.1:{broker.ports['https']}"}
    with pytest.raises(AccessRefusedError, match="managementUrl must begin with https://"):
        broker.secured.worker.describe("rabbitmq", wrong, [])
    right = broker.as_user("alice")
    assert "speaks no TLS at this port" in broker.secured.refusal({**right, "uri": f"amqps{amqp[4:]}"})
    wrong = {**right, "managementUrl": f"https{management[4:]}"}
    with pytest.raises(AccessRefusedError, match="speaks no TLS at this port"):
        broker.secured.worker.describe("rabbitmq", wrong, [])
    assert "write amqps://" in broker.secured.failure({**right, "uri": amqp})
    assert "127.0.0.1:1 (connection refused)" in broker.secured.failure({**right, "uri": "amqps://127.0.0.1:1"})
    assert "unknown host" in broker.secured.failure({"uri": "amqp://no-such-host.invalid:5672"})


def test_rights(broker: Broker) -> None:
    message = broker.secured.refusal(broker.as_user("bob"))
    assert "could not create exchange tidegauge-probe-" in message
    assert "no right to do that" in message
    message = broker.secured.refusal(broker.as_user("dora"))
    assert "no right to do that" in message
    seen = broker.secured.worker.describe("rabbitmq", broker.as_user("bob"), [])
    values = {(s.scope, s.name): s.value for s in seen}
    assert values[("cluster", "nodes")] == "unknown: no right to read the nodes (tag monitoring)"
    broker.secured.ready(broker.as_user("alice")).load("tidegauge-rights", {})
    with pytest.raises(AccessRefusedError, match="no right to do that"):
        broker.secured.worker.delete_topics("rabbitmq", broker.as_user("bob"), ["tidegauge-rights"])
    broker.secured.worker.delete_topics("rabbitmq", broker.as_user("alice"), ["tidegauge-rights"])


def test_queues_that_only_the_management_api_could_name_are_reported(broker: Broker) -> None:
    topic, connection = "tidegauge-two", broker.as_user("alice")
    broker.secured.ready(connection).load(topic, {})
    broker.manage("PUT", f"/api/queues/%2F/{topic}.0@tg-1-sub-1", {"durable": True})
    broker.manage("POST", f"/api/bindings/%2F/e/{topic}/q/{topic}.0@tg-1-sub-1", {"routing_key": "0"})
    blind = {key: value for key, value in connection.items() if key != "managementUrl"}
    with pytest.raises(RunFailedError, match="queues may be bound to it that only managementUrl can name"):
        broker.secured.worker.delete_topics("rabbitmq", blind, [topic])
    broker.secured.worker.delete_topics("rabbitmq", connection, [topic])
    broker.secured.worker.delete_topics("rabbitmq", blind, [topic])


def test_no_secret_is_reported(broker: Broker) -> None:
    """Neither in the settings given back, nor in the worker's log of all that this module did."""
    order = broker.secured.ready(broker.as_user("alice")).order("tidegauge-secrets", {})
    settings = broker.secured.worker.prepare(order)
    broker.secured.worker.finish(delete_topics=True)
    broker.secured.assert_no_secret("\n".join(f"{s.name}={s.value}" for s in settings))
    broker.secured.assert_no_secret(broker.secured.worker_log.read_text())
    assert "not usable" in broker.secured.failure({"uri": f"http://alice:{PASSWORD}@127.0.0.1:1"})

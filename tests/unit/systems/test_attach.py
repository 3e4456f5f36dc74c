"""The `attach` block: what it may say, what is refused, and that no secret is ever repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.errors import UserError
from tidegauge.systems.attach import (
    AttachChoice,
    AuthChoice,
    KerberosChoice,
    SecretReference,
    TlsChoice,
    TokenEndpoint,
    secure_addresses,
)
from tidegauge.systems.attached import connection_settings
from tidegauge.systems.kafka import RULES as KAFKA_RULES
from tidegauge.systems.pulsar import RULES

SECRET = "hunter2"
ENDPOINT = "token-endpoint: 'https://h/t', client-id: b, client-secret: {env: S}"


def systems(directory: Path, *blocks: str) -> tuple[SystemChoice, ...]:
    for name in ("ca.pem", "client.pem", "client.key"):
        (directory / name).write_text("PEM")
    listed = "".join(f"  - {block.strip()}\n" for block in blocks)
    path = directory / "campaign.yaml"
    path.write_text(f"name: example\nsystems:\n{listed}experiments: [peak]\n")
    return parse_campaign(path, {}, ["kafka", "null", "pulsar", "rabbitmq"]).systems


def attached(directory: Path, block: str) -> AttachChoice:
    (system,) = systems(directory, block)
    assert system.attach is not None
    return system.attach


def complaint(directory: Path, *blocks: str) -> str:
    with pytest.raises(UserError) as caught:
        systems(directory, *blocks)
    assert SECRET not in caught.value.message + caught.value.hint
    return caught.value.message


def kafka(more: str = "", address: str = "host1:9093,host2:9093") -> str:
    """A Kafka on line 3 whose attach block has one more entry."""
    tail = f", {more}" if more else ""
    return f'{{name: kafka, attach: {{bootstrap-servers: "{address}"{tail}}}}}'


def pulsar(more: str) -> str:
    """A Pulsar on line 3 whose attach block has one more entry."""
    return f"{{name: pulsar, attach: {{service-url: 'pulsar://h:6650', admin-url: 'http://h:80', {more}}}}}"


def test_everything_can_be_said_of_kafka(tmp_path: Path) -> None:
    choice = attached(
        tmp_path,
        kafka(
            "tls: {ca: ca.pem, certificate: client.pem, key: client.key, verify-host: false}, topic-prefix: bench., "
            "auth: {method: scram-sha-512, user: bench, password: {env: KAFKA_PASSWORD}}, label: staging"
        ),
    )
    assert choice == AttachChoice(
        {"bootstrap-servers": "host1:9093,host2:9093"},
        TlsChoice(
            str(tmp_path / "ca.pem"), str(tmp_path / "client.pem"), str(tmp_path / "client.key"), verify_host=False
        ),
        AuthChoice("scram-sha-512", "bench", SecretReference("env", "KAFKA_PASSWORD")),
        "bench.",
        "staging",
    )


def test_endpoints_of_servers_and_hosts_are_a_list_or_text(tmp_path: Path) -> None:
    urls = ("http://broker1:9404/metrics", "https://broker1:9100/metrics")
    for given in (f"metrics: ['{urls[0]}', '{urls[1]}']", f"metrics: '{urls[0]}, {urls[1]}'"):
        choice = attached(tmp_path, kafka(given))
        assert choice is not None
        assert choice.metrics == urls


def test_the_least_that_can_be_said(tmp_path: Path) -> None:
    assert attached(tmp_path, kafka()) == AttachChoice({"bootstrap-servers": "host1:9093,host2:9093"})


def test_pulsar_and_rabbitmq_have_keys_of_their_own(tmp_path: Path) -> None:
    pulsar, rabbitmq = systems(
        tmp_path,
        "{name: pulsar, attach: {service-url: 'pulsar+ssl://h:6651', admin-url: 'https://h:8443', "
        "auth: {method: token, token: {file: token.txt}}}}",
        "{name: rabbitmq, attach: {uris: 'amqps://h1:5671/vhost, amqps://h2:5671/vhost', "
        "management-url: 'https://h1:15671', tls: {}, auth: {method: password, user: u, password: {env: P}}}}",
    )
    assert pulsar.attach is not None
    assert rabbitmq.attach is not None
    assert pulsar.attach.auth.token == SecretReference("file", str(tmp_path / "token.txt"))
    assert rabbitmq.attach.addresses["uris"] == "amqps://h1:5671/vhost,amqps://h2:5671/vhost"
    assert rabbitmq.attach.tls == TlsChoice()


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ("{name: kafka, attach: host:9092}", "attach: must be a mapping such as {bootstrap-servers: host1:9092"),
        ("{name: kafka, attach: {}}", "the key 'bootstrap-servers' is missing"),
        ("{name: kafka, attach: {bootstrap-server: 'h:1'}}", "did you mean 'bootstrap-servers'?"),
        (kafka("tsl: {}"), "did you mean 'tls'?"),
        (kafka(address="host1"), "'host1': must have a host and a port from 1 to 65535"),
        (kafka(address="host1:99999"), "must have a host and a port"),
        (kafka(address="kafka://host1:9092"), "must be host:port"),
        (kafka("tls: true"), "tls: must be a mapping"),
        (kafka("tls: {ca: none.pem}"), "tls.ca: 'none.pem': there is no such file (looked for "),
        (kafka("tls: {certificate: client.pem}"), "'certificate' and 'key' belong together"),
        (kafka("tls: {verifyhost: false}"), "did you mean 'verify-host'?"),
        (kafka("auth: {method: scram}"), "must be one of plain, scram-sha-256, scram-sha-512, tls, oauthbearer"),
        (kafka("auth: {method: token, token: {env: T}}"), "'token': must be one of plain"),
        (kafka("auth: {method: plain, user: u}"), "auth.password: the method 'plain' needs it"),
        (kafka("auth: {method: plain, password: {env: P}}"), "auth.user: the method 'plain' needs it"),
        (
            kafka("auth: {method: oauth}"),
            "'oauth': must be one of plain, scram-sha-256, scram-sha-512, tls, oauthbearer",
        ),
        (kafka("auth: {method: oauthbaerer}"), "(did you mean 'oauthbearer'?)"),
        (
            kafka("auth: {method: oauthbearer}"),
            "'oauthbearer' needs token-endpoint with client-id and client-secret, or",
        ),
        (
            kafka(f"auth: {{method: oauthbearer, {ENDPOINT}, audience: a}}"),
            "auth.audience: clients of this system have",
        ),
        (kafka(f"auth: {{method: oauthbearer, {ENDPOINT}, token: {{file: t}}}}"), "is given beside token-endpoint"),
        (kafka("auth: {method: oauthbearer, token: {env: T}}"), "auth.token: must be {file: PATH}: a token of this"),
        (kafka(f"auth: {{method: oauthbearer, {ENDPOINT}, extensions: {{a: 'b,c'}}}}"), "must have names of letters"),
        (kafka(f"auth: {{method: oauthbearer, {ENDPOINT}, endpoint-ca: no.pem}}"), "'no.pem': there is no such file"),
        (
            kafka("auth: {method: oauthbearer, token-endpoint: 'h:1', client-id: b, client-secret: {env: S}}"),
            "auth.token-endpoint: must be an address that begins with https:// or http://",
        ),
        (
            kafka("auth: {method: oauthbearer, token-endpont: 'https://h/t', client-id: b, client-secret: {env: S}}"),
            "did you mean 'token-endpoint'?",
        ),
        (kafka("auth: {method: kerberos, keytab: client.key}"), "auth.principal: the method 'kerberos' needs it"),
        (kafka("auth: {method: kerberos, principal: p, keytab: client.key}"), "'p': must be NAME@REALM"),
        (kafka("auth: {method: kerberos, principal: p@R, keytab: no.keytab}"), "'no.keytab': there is no such file"),
        (kafka("auth: {method: aws-msk-iam, user: u}"), "'user' and 'password' belong together"),
        (
            pulsar(f"auth: {{method: oauth2, {ENDPOINT}}}"),
            "auth.token-endpoint: clients of this system have no use for it; they have for issuer-url",
        ),
        (
            "{name: rabbitmq, attach: {uris: 'amqps://h:5671', management-url: 'https://h:1', tls: {}, "
            "auth: {method: external, user: u, password: {env: P}}}}",
            "'external' needs the client's certificate: tls.certificate",
        ),
        (kafka("auth: {method: tls}"), "'tls' needs the client's certificate: tls.certificate"),
        (kafka("auth: {method: none, user: u}"), "auth.user: the method has no use for it"),
        (kafka("auth: {methd: plain}"), "did you mean 'method'?"),
        (kafka("auth: {method: plain, user: u, password: }"), "auth.password: is empty: say where it is"),
        (kafka("auth: {method: plain, user: '', password: {env: P}}"), "auth.user: '': must be the name of a user"),
        (kafka("auth: {method: 5}"), "'5': must be one of plain, scram-sha-256, scram-sha-512, tls, oauthbearer"),
        (
            "{name: kafka, heap: big, attach: {bootstrap-servers: 'h:1'}}",
            "heap: has no effect on an attached cluster, whose servers others run: remove it",
        ),
        (kafka("topic-prefix: 'a b'"), "must be made of letters, digits"),
        (kafka("metrics: 9404"), "metrics: must be a list of URLs such as [http://broker1:9404/metrics,"),
        (kafka("metrics: [broker1:9404]"), "metrics: 'broker1:9404': must be http(s)://host:port/path"),
        (kafka("metrics: ['http://broker1/metrics']"), "'http://broker1/metrics': must be http(s)://host:port/path"),
        (kafka("metrics: ['http://u:pw@broker1:9404/']"), "metrics: must hold no user, no password"),
        (kafka("metrics: ['http://b:1/m', 'http://b:1/m']"), "metrics: 'http://b:1/m' is given twice"),
        (kafka("label: 'A b'"), "must be made of lower-case letters"),
        ("{name: kafka, heap: 2GiB, attach: {bootstrap-servers: 'h:1'}}", "heap: has no effect on an attached cluster"),
        ("{name: kafka, settings: {a: 1}, attach: {bootstrap-servers: 'h:1'}}", "settings: has no effect"),
        ("{name: 'null', attach: {}}", "there is no cluster of Null"),
        ("{name: pulsar, attach: {service-url: 'h:6650', admin-url: 'http://h:80'}}", "must begin with pulsar://"),
        (
            "{name: pulsar, attach: {service-url: 'pulsar://h:6650', admin-url: 'http://h:80', tls: {}}}",
            "tls: is given, but no address is encrypted: begin encrypted addresses with pulsar+ssl:// or https://",
        ),
        ("{name: rabbitmq, attach: {uris: 'amqp://h:5672'}}", "the key 'management-url' is missing"),
    ],
)
def test_what_is_wrong_is_shown_with_its_line(tmp_path: Path, block: str, says: str) -> None:
    message = complaint(tmp_path, block)
    assert says in message
    assert "campaign.yaml:3: systems[0].attach" in message or "campaign.yaml:3: systems[0]." in message


def test_tokens_keytabs_and_amazons_keys_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "b.keytab").write_bytes(b"\x05\x02")
    blocks = {
        "oauthbearer": kafka(
            f"auth: {{method: oauthbearer, {ENDPOINT}, scope: 'a b', endpoint-ca: ca.pem, "
            "extensions: {logicalCluster: lkc-1}}"
        ),
        "from a file": kafka("auth: {method: oauthbearer, token: {file: t}}"),
        "kerberos": kafka("auth: {method: kerberos, principal: b/h@R, keytab: b.keytab, service: k}"),
        "aws": kafka("auth: {method: aws-msk-iam, profile: p, user: u, password: {env: P}, token: {env: T}}"),
        "issuer": pulsar(f"auth: {{method: oauth2, {ENDPOINT.replace('token-endpoint', 'issuer-url')}, audience: a}}"),
    }
    choices = {name: attached(tmp_path, block).auth for name, block in blocks.items()}
    secret = SecretReference("env", "S")
    assert choices == {
        "oauthbearer": AuthChoice(
            "oauthbearer",
            endpoint=TokenEndpoint("https://h/t", "b", secret, "a b", ca=str(tmp_path / "ca.pem")),
            extensions={"logicalCluster": "lkc-1"},
        ),
        "from a file": AuthChoice("oauthbearer", token=SecretReference("file", str(tmp_path / "t"))),
        "kerberos": AuthChoice("kerberos", kerberos=KerberosChoice("b/h@R", str(tmp_path / "b.keytab"), service="k")),
        "aws": AuthChoice(
            "aws-msk-iam",
            "u",
            SecretReference("env", "P"),
            SecretReference("env", "T"),
            aws_profile="p",
        ),
        "issuer": AuthChoice("oauth2", endpoint=TokenEndpoint("https://h/t", "b", secret, audience="a")),
    }


def test_the_driver_is_told_where_tokens_come_from_and_shows_no_secret() -> None:
    file = AuthChoice("oauthbearer", token=SecretReference("file", "/t"))
    settings = connection_settings(AttachChoice({}, auth=file), KAFKA_RULES, {"token": SECRET})
    assert settings == {"tls.enabled": "false", "auth.method": "oauthbearer", "auth.token.path": "/t"}
    endpoint = TokenEndpoint("https://h/t", "b", SecretReference("env", "S"), "a")
    asked = AuthChoice("oauthbearer", endpoint=endpoint, extensions={"a": "b", "c": "d"})
    settings = connection_settings(AttachChoice({}, auth=asked), KAFKA_RULES, {"client-secret": SECRET})
    assert settings == {
        "tls.enabled": "false",
        "auth.method": "oauthbearer",
        "auth.token.endpoint": "https://h/t",
        "auth.client.id": "b",
        "auth.client.secret": SECRET,
        "auth.scope": "a",
        "auth.extensions": "a=b,c=d",
    }
    assert SECRET not in f"{settings} {settings!r} {asked}"


@pytest.mark.parametrize(
    ("block", "says"),
    [
        (kafka(f"auth: {{method: oauthbearer, {ENDPOINT.replace('{env: S}', SECRET)}}}"), "a client-secret must not"),
        (kafka(f"auth: {{method: oauthbearer, {ENDPOINT.replace('/t', f'/t?key={SECRET}')}}}"), "nothing after '?'"),
        (kafka(f"auth: {{method: oauthbearer, {ENDPOINT.replace('h/t', f'u:{SECRET}@h/t')}}}"), "must hold no user"),
        (kafka(f"auth: {{method: plain, user: u, password: {SECRET}}}"), "a password must not stand in a campaign"),
        (kafka("auth: {method: plain, user: u, password: 12345}"), "a password must not stand in a campaign"),
        (kafka(f"auth: {{method: plain, user: u, password: {{{SECRET}}}}}"), "{file: PATH} or {properties: PATH} only"),
        (kafka(f"auth: {{method: plain, user: u, password: {{env: '{SECRET}!'}}}}"), "name of an environment variable"),
        (kafka("auth: {method: plain, user: u, password: {}}"), "one of the keys 'env', 'file' and 'properties'"),
        (kafka("auth: {method: plain, user: u, password: {envv: P}}"), "unknown key 'envv' (did you mean 'env'?)"),
        (
            kafka("auth: {method: plain, user: u, password: {env: P, file: p}}"),
            "one of the keys 'env', 'file' and 'properties'",
        ),
        (kafka(f"auth: {SECRET}"), "auth: must be a mapping"),
        (kafka(address=f"u:{SECRET}@host1:9092"), "must hold no user and no password"),
        (
            f"{{name: rabbitmq, attach: {{uris: 'amqp://u:{SECRET}@h:5672', management-url: 'http://h:15672'}}}}",
            "uris: must hold no user and no password",
        ),
        *(
            (
                f"{{name: pulsar, attach: {{service-url: 'pulsar://h:1', admin-url: 'http://h:2/{mark}t={SECRET}'}}}}",
                "admin-url: must have nothing after '?' or '#'",
            )
            for mark in "?#"
        ),
        (
            f"{{name: kafka, producer: {{sasl.jaas.config: '{SECRET}'}}, attach: {{bootstrap-servers: 'h:1'}}}}",
            "producer.sasl.jaas.config: a secret must not stand in a campaign",
        ),
        (
            f"{{name: kafka, consumer: {{ssl.key.password: '{SECRET}'}}}}",
            "consumer.ssl.key.password: a secret must not",
        ),
    ],
)
def test_a_secret_is_refused_and_not_repeated(tmp_path: Path, block: str, says: str) -> None:
    message = complaint(tmp_path, block)
    assert says in message
    assert "campaign.yaml:3: " in message


def test_two_clusters_of_one_system_need_labels(tmp_path: Path) -> None:
    assert "'kafka@attached' is listed twice; give one of them a 'label'" in complaint(tmp_path, kafka(), kafka())
    both = systems(tmp_path, kafka(), kafka("label: other"), "kafka@4.3.1")
    assert [system.attach.label if system.attach else system.version for system in both] == [
        "attached",
        "other",
        "4.3.1",
    ]


class TestSeveralBrokers:
    """Pulsar writes the scheme once, before all brokers; its client reads a second one as a host."""

    @pytest.mark.parametrize("scheme", ["pulsar", "pulsar+ssl"])
    @pytest.mark.parametrize("again", ["", "{scheme}://"])
    def test_the_scheme_is_handed_on_once(self, tmp_path: Path, scheme: str, again: str) -> None:
        admin = "http://h:80" if scheme == "pulsar" else "https://h:80"
        url = f"{scheme}://h1:6650, {again.format(scheme=scheme)}h2:6650,{again.format(scheme=scheme)}[::1]:6650"
        choice = attached(tmp_path, f"{{name: pulsar, attach: {{service-url: '{url}', admin-url: '{admin}'}}}}")
        assert choice.addresses["service-url"] == f"{scheme}://h1:6650,h2:6650,[::1]:6650"
        handed = connection_settings(choice, RULES, {})
        assert handed["serviceUrl"] == f"{scheme}://h1:6650,h2:6650,[::1]:6650"
        secure = scheme == "pulsar+ssl"
        assert bool(secure_addresses(choice.addresses, RULES)) == secure
        assert handed.get("tls.enabled") == ("true" if secure else None), "the plain scheme speaks for itself"

    @pytest.mark.parametrize(
        ("url", "admin", "problem"),
        [
            ("pulsar://h1:6650,pulsar+ssl://h2:6651", "http://h:80", "must have one scheme for all addresses"),
            ("h1:6650,pulsar://h2:6650", "http://h:80", "must have one scheme for all addresses"),
            ("h1:6650,h2:6650", "http://h:80", "must begin with pulsar:// or pulsar+ssl://"),
            ("pulsar://h1:6650,h2", "http://h:80", "'pulsar://h2': must have a host and a port"),
            ("pulsar://h1:6650,,h2:6650", "http://h:80", "must be text: addresses separated by commas"),
            ("pulsar://h1:6650", "http://h1:80,h2:80", "must be one address, such as https://host:8443"),
        ],
    )
    def test_what_the_client_would_not_understand_is_refused(
        self, tmp_path: Path, url: str, admin: str, problem: str
    ) -> None:
        block = f"{{name: pulsar, attach: {{service-url: '{url}', admin-url: '{admin}'}}}}"
        assert problem in complaint(tmp_path, block)

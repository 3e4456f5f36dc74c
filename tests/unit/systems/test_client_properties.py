"""What the file of Kafka's own tools says of a cluster, in a campaign's words."""

from __future__ import annotations

from typing import Any

import pytest

from tidegauge.config.properties import parse_properties
from tidegauge.systems.attach import ClientProperties
from tidegauge.systems.registry import system_named

SECURED = """\
bootstrap.servers=h1:9093,h2:9093
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
  username="bench" password="hunter \\\\"2";
ssl.truststore.type=PEM
ssl.truststore.location=/ca.pem
ssl.endpoint.identification.algorithm=
linger.ms=20
fetch.min.bytes=9
request.timeout.ms=1000
"""


def translated(text: str) -> ClientProperties:
    terms = system_named("kafka").client_properties(list(parse_properties(text)), "/etc/client.properties")
    assert terms is not None
    return terms


def values(text: str) -> dict[str, Any]:
    terms = translated(text)
    assert terms.problems == []
    return {".".join(at): value for at, (value, _) in terms.values.items()}


def problems(text: str) -> list[str]:
    return [f"{one.line} {one.key}: {why}" for one, why in translated(text).problems]


def notes(text: str) -> list[str]:
    return [f"{one.line} {one.key} {why}" for one, why in translated(text).notes]


def test_all_that_an_attached_cluster_needs_is_taken_over_and_the_password_stays() -> None:
    assert values(SECURED) == {
        "attach.bootstrap-servers": "h1:9093,h2:9093",
        "attach.tls": {},
        "attach.tls.ca": "/ca.pem",
        "attach.tls.verify-host": False,
        "attach.auth.method": "scram-sha-512",
        "attach.auth.user": "bench",
        "attach.auth.password": {"properties": "/etc/client.properties"},
        "producer.linger.ms": "20",
        "consumer.fetch.min.bytes": "9",
        "producer.request.timeout.ms": "1000",
        "consumer.request.timeout.ms": "1000",
    }
    assert notes(SECURED) == []
    lines = {one.line for _, one in translated(SECURED).values.values()}
    assert lines == {1, 2, 4, 7, 8, 9, 10, 11}, "those of the keys"


def test_a_certificate_says_who_the_client_is_unless_a_password_does() -> None:
    pem = "security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location=c.pem\n"
    assert values(pem) == {
        "attach.tls": {},
        "attach.tls.certificate": "c.pem",
        "attach.tls.key": "c.pem",
        "attach.auth.method": "tls",
    }
    both = values(f"{SECURED}ssl.keystore.type=PEM\nssl.keystore.location=c.pem\n")
    assert both["attach.auth.method"] == "scram-sha-512"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("security.protocol=SASL", "1 security.protocol: 'SASL': must be one of PLAINTEXT, SSL, SASL_PLAINTEXT"),
        (
            "security.protocol=SASL_SSL",
            "1 security.protocol: sasl.mechanism is not given, so it is GSSAPI, which needs a principal",
        ),
        ("security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER", "2 sasl.mechanism: 'OAUTHBEARER' needs sasl.oau"),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN", "1 security.protocol: PLAIN needs a username and"),
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=X required password=hunter2;",
            "3 sasl.jaas.config: PLAIN needs a username and a password in sasl.jaas.config",
        ),
        (
            "security.protocol=SSL\nssl.truststore.location=/t.jks\nssl.truststore.password=hunter2",
            "2 ssl.truststore.location: 'JKS': only PEM is read. Convert it (keytool -list -rfc -keystore /t.jks >",
        ),
        (
            "security.protocol=SSL\nssl.keystore.type=PKCS12\nssl.keystore.location=k.p12",
            "2 ssl.keystore.type: 'PKCS12': only PEM is read. Convert it (openssl pkcs12 -nodes -in k.p12 -out",
        ),
        (
            "security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location=k\nssl.key.password=hunter2",
            "4 ssl.key.password: can't be taken over: a key is read that is not encrypted",
        ),
        ("sasl.oauthbearer.token.endpont.url=https://h", "1 sasl.oauthbearer.token.endpont.url: can't be taken over"),
        ("config.providers=file", "1 config.providers: can't be taken over"),
        ("securty.protocol=SASL_SSL", "1 securty.protocol: no client of kafka-clients"),
    ],
)
def test_what_can_not_be_taken_over_is_named_with_its_line(text: str, problem: str) -> None:
    (said,) = problems(text)
    assert said.startswith(problem)
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("key.serializer=X", "1 key.serializer has no effect: Tidegauge sets it"),
        ("group.id=mine", "1 group.id has no effect: every subscription has a group of its own"),
        (
            "ssl.truststore.password=hunter2",
            "1 ssl.truststore.password has no effect since security.protocol is not given",
        ),
        ("group.protocl=consumer", "1 group.protocl is left out: no client of kafka-clients"),
        ("lingr.ms=5", "1 lingr.ms is left out: no client of kafka-clients"),
        ("basic.auth.user.info=u:hunter2", "1 basic.auth.user.info is left out: no client of"),
        # Pieces of a value whose lines are not joined, as after a comment.
        ('# sasl.jaas.config=X \\\n"hunter2!";', "2 what stands here is left out: no client of"),
        ("MIIEvhunter2QQ==", "1 what stands here is left out: no client of"),
    ],
)
def test_what_has_no_effect_is_noted(text: str, note: str) -> None:
    (said,) = notes(text)
    assert said.startswith(note)
    assert ("did you mean 'linger.ms'?" in said) is text.startswith("lingr")
    assert "hunter2" not in said
    assert values(text) == {}


def test_of_a_key_that_is_given_twice_the_last_counts() -> None:
    assert values("linger.ms=1\nlinger.ms=2") == {"producer.linger.ms": "2"}


def test_other_systems_tools_have_no_such_files() -> None:
    assert system_named("pulsar").client_properties([], "f") is None

"""`--client-properties`: a cluster and its clients by the file that Kafka's own tools take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.read.auth import read_secrets
from tidegauge.campaign.read.fingerprint import meaning_of_campaign
from tidegauge.campaign.read.one_line import BENCH, CommandLine, Composed, compose_line
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.cli.main import run_command
from tidegauge.errors import UserError
from tidegauge.systems.attach import AttachChoice, AuthChoice, KerberosChoice, SecretReference, TokenEndpoint
from tidegauge.systems.registry import all_systems

SECURED = """\
bootstrap.servers=h1:9093
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="bench" password="hunter2";
linger.ms=20
schema.registry.url=https://u:hunter2@h
"""
CAMPAIGN = """\
name: orders
systems: [kafka, pulsar]
experiments: [{name: latency, rate: 100}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.write_text(SECURED)
    return path


def composed(file: Path, address: str | None = None, *settings: str) -> Composed:
    line = CommandLine(BENCH, "kafka", address, partitions=1, rate="5", settings=settings, client_properties=file)
    return compose_line(line)


def campaign_of_line(made: Composed) -> Campaign:
    return made.campaign(Path("tidegauge bench"), made.text())


def campaign_of_file(tmp_path: Path, file: Path, text: str = CAMPAIGN, **more: Any) -> Campaign:
    path = tmp_path / "orders.yaml"
    path.write_text(text)
    return parse_campaign(path, {"client-properties": str(file), **more}, sorted(all_systems()))


def attach_of(campaign: Campaign) -> AttachChoice:
    (system,) = campaign.systems
    assert system.attach is not None
    return system.attach


@pytest.mark.parametrize("by_line", [True, False])
def test_the_cluster_and_its_clients_are_as_the_file_says(tmp_path: Path, file: Path, by_line: bool) -> None:
    campaign = campaign_of_line(composed(file)) if by_line else campaign_of_file(tmp_path, file)
    attach = attach_of(campaign)
    assert attach.addresses == {"bootstrap-servers": "h1:9093"}
    assert attach.tls is not None
    assert (attach.auth.method, attach.auth.user) == ("plain", "bench")
    assert campaign.systems[0].producer == {"linger.ms": "20"}
    assert read_secrets(attach, "kafka") == {"password": "hunter2"}
    (note,) = [note.text for note in campaign.notes if "schema.registry" in note.text]
    assert note.startswith(f"{file}:6: schema.registry.url is left out: no client of kafka-clients")
    assert "hunter2" not in note


def test_no_secret_is_in_what_a_run_keeps(tmp_path: Path, file: Path) -> None:
    made = composed(file)
    assert "hunter2" not in made.text()
    assert f"password: {{properties: {file}}}" in made.text() or str(file) in made.text()
    assert "hunter2" not in str(meaning_of_campaign(campaign_of_file(tmp_path, file)))


def test_a_printed_campaign_means_the_same(tmp_path: Path, file: Path) -> None:
    made = composed(file)
    printed = tmp_path / "printed.yaml"
    printed.write_text(made.text())
    campaign = parse_campaign(printed, {}, sorted(all_systems()))
    assert campaign.systems == campaign_of_line(made).systems
    assert read_secrets(attach_of(campaign), "kafka") == {"password": "hunter2"}


def test_what_the_line_says_wins(file: Path) -> None:
    campaign = campaign_of_line(composed(file, "h9:1", "producer.linger.ms=0"))
    assert attach_of(campaign).addresses == {"bootstrap-servers": "h9:1"}
    assert campaign.systems[0].producer == {"linger.ms": "0"}


def test_an_address_may_stand_elsewhere(tmp_path: Path, file: Path) -> None:
    file.write_text("acks=all\n")
    assert attach_of(campaign_of_line(composed(file, "h9"))).addresses == {"bootstrap-servers": "h9:9092"}
    of_others = CAMPAIGN.replace("[kafka, pulsar]", "[{name: kafka, attach: {bootstrap-servers: 'h2:1', tls: {}}}]")
    attach = attach_of(campaign_of_file(tmp_path, file, of_others))
    assert (attach.addresses, attach.tls) == ({"bootstrap-servers": "h2:1"}, None)
    for wrong in (lambda: composed(file), lambda: campaign_of_file(tmp_path, file)):
        with pytest.raises(UserError, match=r"client.properties:1: bootstrap.servers is missing"):
            wrong()


TOKENS = """\
bootstrap.servers=h1:9093
security.protocol=SASL_SSL
sasl.mechanism=OAUTHBEARER
sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler
sasl.oauthbearer.token.endpoint.url=https://h/token
"""
MODULE = "sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
OPTIONS = MODULE + 'clientId="bench" clientSecret="hunter2" scope="a" extension_logicalCluster="lkc-1";\n'
SETTINGS = """\
sasl.oauthbearer.client.credentials.client.id=bench
sasl.oauthbearer.client.credentials.client.secret=hunter2
sasl.oauthbearer.scope=a
"""


@pytest.mark.parametrize(
    ("more", "extensions"), [(OPTIONS, {"logicalCluster": "lkc-1"}), (SETTINGS + MODULE + ";\n", {})]
)
def test_a_token_endpoint_is_taken_over(file: Path, more: str, extensions: dict[str, str]) -> None:
    file.write_text(TOKENS + more)
    campaign = campaign_of_line(composed(file))
    attach = attach_of(campaign)
    secret = SecretReference("properties", str(file))
    endpoint = TokenEndpoint("https://h/token", "bench", secret, "a")
    assert attach.auth == AuthChoice("oauthbearer", endpoint=endpoint, extensions=extensions)
    assert read_secrets(attach, "kafka") == {"client-secret": "hunter2"}
    assert "hunter2" not in str(meaning_of_campaign(campaign)) + composed(file).text()


def test_a_file_with_a_token_a_keytab_and_amazons_profile_are_taken_over(tmp_path: Path, file: Path) -> None:
    (tmp_path / "b.keytab").write_bytes(b"\x05\x02")
    options = "sasl.jaas.config=X required"
    contents = {
        TOKENS.replace("https://h/token", f"file://{tmp_path}/token"): AuthChoice(
            "oauthbearer", token=SecretReference("file", str(tmp_path / "token"))
        ),
        "security.protocol=SASL_SSL\nsasl.kerberos.service.name=kafka\n"
        f'{options} keyTab="{tmp_path}/b.keytab" principal="b@R";\n': AuthChoice(
            "kerberos", kerberos=KerberosChoice("b@R", str(tmp_path / "b.keytab"), service="kafka")
        ),
        f'security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\n{options} awsProfileName="p";\n': AuthChoice(
            "aws-msk-iam", aws_profile="p"
        ),
    }
    for content, auth in contents.items():
        file.write_text(content + "bootstrap.servers=h1:9093\n")
        assert attach_of(campaign_of_line(composed(file))).auth == auth


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (TOKENS, "3: sasl.mechanism: 'OAUTHBEARER' needs sasl.oauthbearer.token.endpoint.url with"),
        (
            "security.protocol=SASL_SSL\n",
            "1: security.protocol: sasl.mechanism is not given, so it is GSSAPI, which needs a principal",
        ),
        ("security.protocol=SASL_SSL\nsasl.mechanism=X\n", "2: sasl.mechanism: 'X': can't be taken over"),
    ],
)
def test_what_says_not_who_the_client_is_is_refused(file: Path, content: str, problem: str) -> None:
    file.write_text(content)
    with pytest.raises(UserError) as caught:
        composed(file)
    assert f"{file}:{problem}" in caught.value.message


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("linger.ms=soon", "linger.ms: 'soon': must be a whole number"),
        ("sasl.login.class=X", "sasl.login.class: can't be taken over"),
        ("bootstrap.servers=h1", "bootstrap.servers: 'h1': must have a host and a port"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, file: Path, line: str, problem: str) -> None:
    file.write_text(f"# mine\nbootstrap.servers=h:1\n{line}\n")
    for wrong in (lambda: campaign_of_line(composed(file)), lambda: campaign_of_file(tmp_path, file)):
        with pytest.raises(UserError) as caught:
            wrong()
        assert f"{file}:3: {problem}" in caught.value.message


def test_a_file_of_more_settings_than_clients_have_is_refused_at_once(file: Path) -> None:
    file.write_text("\n".join(f"k{number}=1" for number in range(501)))
    with pytest.raises(UserError, match="more than 500 settings, so it is no such file"):
        composed(file)


def test_a_password_that_is_gone_is_named(file: Path) -> None:
    attach = attach_of(campaign_of_line(composed(file)))
    file.write_text("bootstrap.servers=h1:9093\n")
    with pytest.raises(UserError, match=r"kafka: attach.auth.password: .*client.properties has no password in sasl"):
        read_secrets(attach, "kafka")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("bench", "pulsar", "h"), "the tools of Apache Pulsar have no such files"),
        (("bench", "kafka", "h", "--attach", "{file}"), "one file is enough"),
        (("run", "{campaign}", "--attach", "{file}"), "one file is enough"),
        (("run", "{pulsar}"), "no system of the campaign has such files; only kafka may."),
    ],
)
def test_where_it_has_no_place_it_is_refused(
    tmp_path: Path, file: Path, arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.yaml").write_text(CAMPAIGN)
    (tmp_path / "p.yaml").write_text(CAMPAIGN.replace("kafka, ", ""))
    places = {"file": str(file), "campaign": str(tmp_path / "c.yaml"), "pulsar": str(tmp_path / "p.yaml")}
    given = [word.format(**places) for word in arguments]
    assert run_command([*given, "--client-properties", str(file), "--dry-run", "--runs-dir", str(tmp_path)]) == 2
    assert words in " ".join(capsys.readouterr().err.split())

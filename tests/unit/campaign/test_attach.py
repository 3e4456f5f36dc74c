"""`--attach FILE`: any campaign on clusters that a file names; what it says of servers is noted, not refused."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tidegauge.agent.client import launch_arguments
from tidegauge.campaign.model import Campaign
from tidegauge.campaign.read.auth import read_secrets
from tidegauge.campaign.read.fingerprint import differences_in_meaning, meaning_of_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.cli.main import run_command
from tidegauge.errors import UserError
from tidegauge.model.level import AS_FOUND
from tidegauge.systems.attach import AttachChoice, AuthChoice, SecretReference
from tidegauge.systems.registry import all_systems

CAMPAIGNS = Path(__file__).parents[3] / "campaigns"
CAMPAIGN = """\
name: example
systems:
  - {name: kafka, heap: 640MiB, direct-memory: 384MiB, settings: {num.io.threads: 4},\
     producer: {client.dns.lookup: use_all_dns_ips}}
  - {name: pulsar, shape: {brokers: 2}}
  - rabbitmq
heap: 2GiB
nodes: 3
durability: 1
experiments: [peak]
"""
CLUSTERS = """\
systems:
  - name: kafka
    producer: {metadata.max.age.ms: 60000}
    attach:
      bootstrap-servers: h1:9092
      tls: {ca: ca.pem}
      auth: {method: plain, user: u, password: {file: secret.txt}}
  - name: pulsar
    version: "4.0.6"
    attach: {service-url: "pulsar://h1:6650,h2:6650", admin-url: "http://h1:8080"}
"""


def parse(directory: Path, clusters: str = CLUSTERS, text: str = CAMPAIGN, **overrides: Any) -> Campaign:
    """The campaign on clusters; these are in a directory of their own."""
    there = directory / "ops"
    there.mkdir(exist_ok=True)
    (there / "ca.pem").write_text("PEM")
    (there / "clusters.yaml").write_text(clusters)
    path = directory / "campaign.yaml"
    path.write_text(text)
    given = {"attach": str(there / "clusters.yaml"), **overrides}
    return parse_campaign(path, given, sorted(all_systems()))


def complaint(directory: Path, clusters: str = CLUSTERS, text: str = CAMPAIGN, **overrides: Any) -> str:
    with pytest.raises(UserError) as caught:
        parse(directory, clusters, text, **overrides)
    assert caught.value.exit_code == 2
    return caught.value.message


def test_systems_are_attached_and_keep_what_is_said_of_their_clients(tmp_path: Path) -> None:
    kafka, pulsar = parse(tmp_path).systems
    assert kafka.attach is not None
    assert pulsar.attach is not None
    assert kafka.producer == {"client.dns.lookup": "use_all_dns_ips", "metadata.max.age.ms": "60000"}
    assert (kafka.settings, pulsar.shape, pulsar.version) == ({}, {}, "4.0.6")
    assert kafka.attach.tls is not None
    assert kafka.attach.tls.ca == str(tmp_path / "ops" / "ca.pem"), "paths are relative to the file of clusters"
    assert kafka.attach.auth.password == SecretReference("file", str(tmp_path / "ops" / "secret.txt"))
    assert not parse(tmp_path).starts_servers


def test_what_has_no_effect_is_reported(tmp_path: Path) -> None:
    notes = " ".join(note.text for note in parse(tmp_path).notes)
    assert "kafka: without effect on an attached cluster" in notes
    assert "settings num.io.threads=4; heap 640MiB; direct-memory 384MiB" in notes
    assert "pulsar: without effect on an attached cluster, whose servers others run: shape brokers=2." in notes
    assert "The campaign: without effect on an attached cluster, whose servers others run: heap 2GiB." in notes
    assert f"rabbitmq is left out: {tmp_path / 'ops' / 'clusters.yaml'} has no cluster of it." in notes
    without = CAMPAIGN.replace("  - {name: pulsar, shape: {brokers: 2}}\n", "")
    notes = " ".join(note.text for note in parse(tmp_path, text=without).notes)
    assert "the campaign does not measure pulsar: its cluster is not used." in notes


def test_the_level_may_be_left_to_the_cluster(tmp_path: Path) -> None:
    assert parse(tmp_path, durability="as-found").durability == AS_FOUND
    assert "--level: durability: 'found': must be a durability level from 1 to 4, or 'as-found'" in complaint(
        tmp_path, durability="found"
    )
    said = CLUSTERS.replace(
        "    producer", "    topic-settings: {retention.ms: 1}\n    replication-factor: 2\n    producer"
    )
    kafka = parse(tmp_path, said, durability="as-found").systems[0]
    assert (kafka.topic, kafka.copies) == ({"retention.ms": "1"}, 2)


def test_two_clusters_of_one_system_are_kept_apart_by_their_labels(tmp_path: Path) -> None:
    two = "systems:\n" + "".join(
        f"  - {{name: kafka, attach: {{bootstrap-servers: {label}:9092, label: {label}}}}}\n"
        for label in ("old", "new")
    )
    assert [system.attach.label for system in parse(tmp_path, two).systems if system.attach] == ["old", "new"]
    file = tmp_path / "ops" / "clusters.yaml"
    twice = complaint(tmp_path, two.replace("label: new", "label: old"))
    assert twice.startswith(f"{file}:3: systems[1]: 'kafka@old' is listed twice")


def test_a_product_behind_the_protocol_can_be_said(tmp_path: Path) -> None:
    said = CLUSTERS.replace("bootstrap-servers: h1:9092", "bootstrap-servers: h1:9092\n      product: redpanda")
    kafka, pulsar = parse(tmp_path, said).systems
    assert kafka.attach and pulsar.attach
    assert (kafka.attach.product, pulsar.attach.product) == ("redpanda", "")
    wrong = complaint(tmp_path, said.replace("product: redpanda", "product: redpander"))
    assert "clusters.yaml:6: systems[0].attach.product: 'redpander': must be one of automq, bufstream" in wrong
    assert "(did you mean 'redpanda'?)" in wrong
    elsewhere = CLUSTERS.replace('admin-url: "http://h1:8080"', 'admin-url: "http://h1:8080", product: redpanda')
    assert "attach.product: no products of others are known that speak the protocol" in complaint(tmp_path, elsewhere)


def test_messages_name_the_file_of_clusters_and_not_the_campaign(tmp_path: Path) -> None:
    for clusters in ("- kafka\n", "", "systems: []\n", CLUSTERS.replace("method: plain", "method: plane")):
        with pytest.raises(UserError) as caught:
            parse(tmp_path, clusters)
        assert "clusters file" in f"{caught.value.message} {caught.value.hint}"
        assert "campaign" not in caught.value.hint.replace("campaigns/", "campaign")
    with pytest.raises(UserError, match="campaign") as caught:
        parse(tmp_path, text=CAMPAIGN.replace("[peak]", "[peek]"))
    assert caught.value.hint.startswith("Fix the campaign")


def test_a_mistake_is_reported_at_its_place_in_the_file_of_clusters(tmp_path: Path) -> None:
    file = tmp_path / "ops" / "clusters.yaml"
    wrong = CLUSTERS.replace("method: plain", "method: plane")
    assert f"{file}:7: systems[0].attach.auth.method: 'plane': must be one of" in complaint(tmp_path, wrong)
    assert f"{file}:5: systems[0].attach.bootstrap-servers: " in complaint(tmp_path, CLUSTERS.replace("h1:9092", "h1"))
    assert f"{file}:2: systems[0].name: unknown system 'kafak' (did you mean" in complaint(
        tmp_path, CLUSTERS.replace("kafka", "kafak")
    )
    heap = CLUSTERS.replace("    producer", "    heap: 1GiB\n    producer")
    assert f"{file}:3: systems[0].heap: unknown key 'heap'" in complaint(tmp_path, heap)
    assert f"{file}:8: systems[1].attach: this key is missing" in complaint(
        tmp_path, CLUSTERS[: CLUSTERS.index("    version")]
    )
    assert "has no cluster of the campaign's systems: kafka" in complaint(
        tmp_path, text=CAMPAIGN.replace("  - {name: pulsar, shape: {brokers: 2}}\n  - rabbitmq\n", ""),
        clusters=CLUSTERS[: CLUSTERS.index("  - name: kafka")] + CLUSTERS[CLUSTERS.index("  - name: pulsar") :],
    )  # fmt: skip


def test_a_cluster_that_is_not_used_is_checked_too(tmp_path: Path) -> None:
    without = CAMPAIGN.replace("  - {name: pulsar, shape: {brokers: 2}}\n", "")
    wrong = complaint(tmp_path, CLUSTERS.replace("service-url", "servic-url"), without)
    assert "clusters.yaml:10" in wrong
    assert "servic-url" in wrong


def test_memory_that_the_command_line_gives_is_refused(tmp_path: Path) -> None:
    assert complaint(tmp_path, heap="3GiB").startswith("--heap: heap: has no effect on attached clusters")


def test_systems_that_are_named_beside_it_select(tmp_path: Path) -> None:
    assert [system.name for system in parse(tmp_path, systems=["pulsar"]).systems] == ["pulsar"]


def test_a_run_is_gone_on_with_on_the_same_clusters_only(tmp_path: Path) -> None:
    before = meaning_of_campaign(parse(tmp_path))
    now = meaning_of_campaign(parse(tmp_path, CLUSTERS.replace("h1:9092", "h9:9092")))
    assert any("h1:9092 and is h9:9092 now" in difference for difference in differences_in_meaning(before, now))


@pytest.mark.parametrize("path", sorted((CAMPAIGNS / "published").glob("*.yaml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("scale", ["original", "brief"])
def test_published_campaigns_can_be_attached(tmp_path: Path, path: Path, scale: str) -> None:
    rabbitmq = "  - {name: rabbitmq, attach: {uris: 'amqp://r:5672', management-url: 'http://r:15672'}}\n"
    text = path.read_text()
    clusters = tmp_path / "clusters.yaml"
    clusters.write_text(
        CLUSTERS.replace("      tls: {ca: ca.pem}\n", "").replace('    version: "4.0.6"\n', "") + rabbitmq
    )
    # What a sweep changes of servers can't be dropped: it is what the campaign asks about.
    swept = any(f"systems.{name}.{key}" in text for name in all_systems() for key in ("settings", "shape"))
    if swept:
        with pytest.raises(UserError, match="this sweep changes the servers of pulsar") as caught:
            parse_campaign(path, {"attach": str(clusters), "scale": scale}, sorted(all_systems()))
        # The error is of the campaign's sweep, whose line it names, and not of the file of clusters.
        (line,) = re.findall(rf"^{re.escape(str(path))}:(\d+): .*sweep", caught.value.message)
        assert "systems.pulsar" in text.splitlines()[int(line) - 1]
        assert str(clusters) not in caught.value.message
        assert "no --attach" in caught.value.hint
        return
    campaign = parse_campaign(path, {"attach": str(clusters), "scale": scale}, sorted(all_systems()))
    assert campaign.systems
    assert not campaign.starts_servers


def test_the_plan_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = "    producer: {metadata.max.age.ms: 60000}\n"
    assert own in CLUSTERS
    parse(
        tmp_path,
        CLUSTERS.replace(own, ""),
        CAMPAIGN.replace("producer: {client.dns.lookup: use_all_dns_ips}", "producer: {}"),
    )
    clusters = str(tmp_path / "ops" / "clusters.yaml")
    # Nobody is at these addresses.
    assert run_command(["run", str(tmp_path / "campaign.yaml"), "--attach", clusters, "--dry-run"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "kafka@attached" in shown
    assert "Warning: kafka: without effect on an attached cluster" in shown
    assert run_command(["run", "quick", "--attach", str(tmp_path / "none.yaml"), "--dry-run"]) == 2


def test_a_variable_with_a_secret_is_kept_from_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_SECRET", "hunter2")
    monkeypatch.setenv("BENCH_OTHER", "seen")
    choice = AttachChoice({}, auth=AuthChoice("plain", "u", password=SecretReference("env", "BENCH_SECRET")))
    assert read_secrets(choice, "kafka") == {"password": "hunter2"}
    environment = launch_arguments("agent", 1.0)["env"]
    assert environment["BENCH_OTHER"] == "seen"
    assert "BENCH_SECRET" not in environment
    assert read_secrets(choice, "kafka") == {"password": "hunter2"}, "as often as it is asked for"


def test_a_password_that_no_regular_file_holds_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "held").write_text("hunter2\n")
    (tmp_path / "link").symlink_to("held")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "long").write_text("x" * 65_537)

    def password(name: str) -> str:
        reference = SecretReference("file", str(tmp_path / name))
        choice = AttachChoice({}, auth=AuthChoice("plain", "u", password=reference))
        return read_secrets(choice, "kafka")["password"]

    assert password("link") == "hunter2", "as orchestrators hand out secrets"
    for name, why in (
        ("fifo", "fifo can't be read: no regular file but a FIFO"),
        ("/dev/zero", "/dev/zero can't be read: no regular file but a device"),
        ("loop", "loop: its links lead nowhere"),
        ("long", "long can't be read: larger than 65,536 bytes"),
    ):
        with pytest.raises(UserError, match=why):
            password(name)

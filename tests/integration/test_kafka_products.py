"""Clusters that refuse settings of topics, and products that speak Kafka's protocol, as campaigns measure them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Done, Place, valid_unless_starved
from deployments import Ready, ready
from kafka_products import DESCRIBE_CONFIGS, Pretence, jars_with_policy
from kafka_proxy import proxied

from tidegauge.distribution.resolve import fetched_jars
from tidegauge.model.level import LevelChoice
from tidegauge.systems.kafka import DEFAULT_VERSION, SYSTEM, recipe

pytestmark = pytest.mark.integration

CAMPAIGN = """
name: service
systems:
  - name: kafka
    attach: {{bootstrap-servers: "{servers}", topic-prefix: {kind}-{product}}}
    producer: {{batch.size: {batch}}}
durability: {level}
workload: {{message-size: 200B, partitions: 2}}
experiments:
  - {{name: latency, rate: 200, warm-up-min: 1s, warm-up-max: 2s, measure: 2s, drain-max: 8s}}
"""
REDPANDA = Pretence(
    frozenset({"flush.messages", "flush.ms", "min.insync.replicas"}),
    {"write.caching": "false", "flush.ms": "100"},
    "redpanda.06fecd6e-6ba5-46a1-9f1e-1d2c3b4a5968",
)
EVENT_HUBS = Pretence(unanswered=frozenset({DESCRIBE_CONFIGS}))
RUN_S_MAX = 900
"""Much longer than it takes: other tests may run beside."""
NO_BROKERS_DEFAULTS = Pretence(frozenset({"log.flush.interval.messages", "min.insync.replicas"}))


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    directory = tmp_path_factory.mktemp("kafka")
    SYSTEM.provision(DEFAULT_VERSION, lambda _: None)
    jars = fetched_jars(recipe(DEFAULT_VERSION))
    assert jars is not None
    settings = {"create.topic.policy.class.name": "TopicPolicy"}
    version = str(jars_with_policy(jars, tmp_path_factory.mktemp("policy")))
    with ready("kafka", LevelChoice(3), directory, settings, version=version) as started:
        yield started


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for line in place.strays():
        os.kill(int(line.split()[0]), signal.SIGKILL)


def servers_of(kafka: Ready) -> str:
    return kafka.deployment.connection["bootstrap.servers"]


def measure(place: Place, servers: str, kind: str, level: int | str, *, product: str = "", batch: int = 16384) -> Done:
    said = f", product: {product}" if product else ""
    text = CAMPAIGN.format(servers=servers, kind=kind, level=level, product=said, batch=batch)
    return place.run("run", str(place.write(text)), timeout_s=RUN_S_MAX)


def topic_settings(place: Place) -> dict[str, str]:
    (settings,) = (json.loads(path.read_text()) for path in place.only_run().glob("trials/*/settings.json"))
    return {one["name"]: one["value"] for one in settings["server"] if one["scope"].startswith(("topic ", "cluster"))}


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("silent", "size")]


@pytest.mark.parametrize("kind", ["list", *SLOW])
def test_nothing_is_asked_for_that_is_not_needed(kafka: Ready, place: Place, kind: str) -> None:
    valid_unless_starved(measure(place, servers_of(kafka), kind, 4), place)
    assert topic_settings(place)["max.message.bytes"] == "1048588"


@pytest.mark.parametrize("kind", ["list", SLOW[0]])
def test_a_level_that_is_refused_is_said_in_one_sentence(kafka: Ready, place: Place, kind: str) -> None:
    done = measure(place, servers_of(kafka), kind, 3)
    said = " ".join(done.stderr.split())
    assert done.returncode == 1
    assert "level 3 was asked for, the settings give level 4 (less durable)" in said
    assert "Not set on topics, since the cluster refuses it: flush.messages=1 (" in said
    assert ("'flush.messages' can't be set [" if kind == "list" else "no settings of their own [") in said


@pytest.mark.slow
def test_a_limit_that_batches_need_is_said_too(kafka: Ready, place: Place) -> None:
    done = measure(place, servers_of(kafka), "size", 4, batch=9_000_000)
    said = " ".join(done.stderr.split())
    assert done.returncode == 1
    assert "max.message.bytes=9000000 is needed, and topic size-" in said
    assert "has 1048588. Not set on topics, since the cluster refuses it" in said


@pytest.mark.slow
def test_a_cluster_that_makes_no_topic_is_asked_once(kafka: Ready, place: Place) -> None:
    done = measure(place, servers_of(kafka), "closed", "as-found")
    assert done.returncode == 1
    assert "refused a topic: " in done.stderr
    assert "Topics are made by an operator [1]" in " ".join(done.stderr.split())
    assert "name topics that exist" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_a_default_that_no_broker_reports_suffices_where_a_setting_is_refused(kafka: Ready, place: Place) -> None:
    """The topic itself says in the end what it has."""
    given = Pretence(NO_BROKERS_DEFAULTS.hidden | {"flush.messages"}, {"flush.messages": "1"})
    with proxied(servers_of(kafka), given.change) as servers:
        valid_unless_starved(measure(place, servers, "list", 3), place)
    notes = json.loads((place.only_run() / "run.json").read_text())["notes"]
    assert any("not set on topics, since the cluster refuses it: flush.messages=1" in note for note in notes)


def test_a_product_is_known_and_measured_by_its_own_promises(kafka: Ready, place: Place) -> None:
    with proxied(servers_of(kafka), REDPANDA.change) as servers:
        done = measure(place, servers, "silent", 3)
    valid_unless_starved(done, place)
    assert topic_settings(place)["product"] == "Redpanda"
    assert topic_settings(place)["product.known.by"] == f"cluster id {REDPANDA.cluster_id}"
    shown = " ".join(place.run("show", "last").stdout.split())
    assert "level 3 for kafka@attached, as asked" in shown


def test_a_product_that_tells_no_settings_is_measured_at_an_unknown_level(kafka: Ready, place: Place) -> None:
    with proxied(servers_of(kafka), EVENT_HUBS.change) as servers:
        done = measure(place, servers, "silent", "as-found", product="event-hubs")
    assert done.returncode in (0, 3), done.printed
    assert topic_settings(place)["product"] == "Azure Event Hubs"
    shown = " ".join(place.run("show", "last").stdout.split())
    assert "the durability level is unknown" in shown

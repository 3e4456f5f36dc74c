"""A campaign that reads topics which others made, and one whose rate changes, as a user runs them."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from command import PATIENCE_S, Place, valid_unless_starved, wait_for
from deployments import Ready, ready
from kafka_names import broker_names
from loads import SMALL, order_for, run_load

from tidegauge.model.level import LevelChoice

pytestmark = pytest.mark.integration

READ = """
name: reading
systems:
  - {{name: kafka, attach: {{bootstrap-servers: "{servers}"}}}}
workload: {{producers: 0, existing-topics: [{topics}], subscriptions: 2}}
experiments: [{{name: read, measure: {measure}, idle: {idle}}}]
"""
STEPS = """
name: steps
systems: ["null"]
durability: 4
workload: {message-size: 200B, subscriptions: 2}
experiments:
  - name: latency
    rate: {steps: [{rate: 1000, for: 2s}, {from: 1k, to: 3k, over: 2s}]}
    warm-up-min: 1s
    warm-up-max: 2s
    drain-max: 8s
"""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    with ready("kafka", LevelChoice(4), tmp_path_factory.mktemp("kafka")) as started:
        yield started


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for line in place.strays():
        os.kill(int(line.split()[0]), signal.SIGKILL)


def servers(kafka: Ready) -> str:
    return kafka.deployment.connection["bootstrap.servers"]


def groups(kafka: Ready) -> set[str]:
    return {name for kind, name in broker_names(servers(kafka)) if kind == "group" and "-tg-" in name}


def campaign(kafka: Ready, place: Place, topics: str, measure: str = "30s", idle: str = "2s") -> str:
    return str(place.write(READ.format(servers=servers(kafka), topics=topics, measure=measure, idle=idle)))


@pytest.mark.slow
def test_a_campaign_reads_what_is_there_and_leaves_only_that(kafka: Ready, place: Place) -> None:
    order = order_for(kafka, "orders", replace(SMALL, topics=2, partitions=2, subscriptions=0))
    sent = run_load(kafka, order, keep=True).acked
    done = place.run("run", campaign(kafka, place, ", ".join(order.topic_names)))
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = (json.loads(path.read_text())["result"] for path in place.only_run().glob("trials/*/result.json"))
    assert [(sub["received"], sub["verified"], sub["foreign"]) for sub in result["subscriptions"]] == [
        (sent, sent, 0)
    ] * 2
    assert result["msgs_per_s"] > 0
    shown = " ".join(place.run("show", "last").stdout.split())
    assert "consumers alone" in shown
    assert f"Of {2 * sent:,} messages {2 * sent:,} were of an earlier run, and their checksums were checked." in shown
    assert groups(kafka) == set()
    assert {name for kind, name in broker_names(servers(kafka)) if kind == "topic"} >= set(order.topic_names)
    assert list((place.state / "attached").glob("*.json")) == []


@pytest.mark.slow
def test_after_a_kill_the_next_start_removes_our_groups_and_not_the_topic(kafka: Ready, place: Place) -> None:
    order = order_for(kafka, "payments", replace(SMALL, subscriptions=0))
    run_load(kafka, order, 0.3, keep=True)
    process = place.start("run", campaign(kafka, place, order.topic_names[0], "60s", "50s"))
    wait_for(lambda: bool(groups(kafka)), PATIENCE_S, "reading", process.check)
    process.kill()
    process.communicate()
    wait_for(lambda: not place.left_behind(), PATIENCE_S, "the agent ended everything")
    done = place.run("clean")
    assert done.returncode == 0, done.stdout + done.stderr
    assert groups(kafka) == set()
    assert order.topic_names[0] in {name for kind, name in broker_names(servers(kafka)) if kind == "topic"}


# In `make test`: test_workload_shapes.py has one on a real Kafka, tests/simulated/test_trial_shapes.py its table.
@pytest.mark.slow
def test_a_schedule_is_measured_step_by_step(place: Place) -> None:
    done = place.run("run", str(place.write(STEPS)))
    valid_unless_starved(done, place)
    (result,) = (json.loads(path.read_text())["result"] for path in place.only_run().glob("trials/*/result.json"))
    assert [round(record["intended"]) for record in result["records"]][:2] == [2000, 220]
    assert sum(record["intended"] for record in result["records"]) == 6000
    assert result["offered_msgs_per_s"] == pytest.approx(1500)
    assert all(record["end_to_end"]["count"] == record["intended"] for record in result["records"])
    shown = place.run("show", "last").stdout
    assert re.search(r"null@1 0 to 2 s +1,000 ", shown)
    assert re.search(r"null@1 2 to 2.2 s +1,100 ", shown)

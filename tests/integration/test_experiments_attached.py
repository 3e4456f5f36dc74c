"""`bench`, `ab`, `read` and a sweep on each system, in short, on servers of the test that a campaign attaches to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Place, valid_unless_starved
from deployments import Ready, ready
from loads import fill

from tidegauge.model.level import LevelChoice
from tidegauge.systems.rabbitmq.config import PASSWORD, USER

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

HEAD = """
name: lent
systems: [{{name: {system}, attach: {attach}}}]
durability: 4
"""
READ = (
    HEAD
    + """
workload: {{producers: 0, existing-topics: [{topic}]}}
experiments: [{{name: read, measure: 60s, idle: 3s}}]
"""
)
SWEEP = (
    HEAD
    + """
workload: {{message-size: 200B}}
sweep: {{partitions: [1, 3]}}
experiments: [{{name: latency, rate: 500, warm-up-min: 1s, warm-up-max: 1s, measure: 1s, drain-max: 30s}}]
"""
)


def _kafka(known: Any) -> str:
    return f"{{bootstrap-servers: '{known['bootstrap.servers']}'}}"


def _pulsar(known: Any) -> str:
    return f"{{service-url: '{known['serviceUrl']}', admin-url: '{known['adminUrl']}'}}"


def _rabbitmq(known: Any) -> str:
    uris = known["uri"].replace(f"{USER}:{PASSWORD}@", "")
    auth = f"{{method: password, user: {USER}, password: {{env: RABBITMQ_PASSWORD}}}}"
    return f"{{uris: '{uris}', management-url: '{known['managementUrl']}', auth: {auth}}}"


LEVEL_FOUND = {"kafka": 4, "pulsar": None, "rabbitmq": 3}
"""Of what clusters make of a topic unasked: RabbitMQ's quorum queues sync; nobody says where Pulsar's bookies tell."""

ATTACH: dict[str, Callable[[Any], str]] = {"kafka": _kafka, "pulsar": _pulsar, "rabbitmq": _rabbitmq}


@pytest.fixture(scope="module", params=["kafka", "pulsar", "rabbitmq"])
def lent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    """Servers of the test."""
    with ready(request.param, LevelChoice(4), tmp_path_factory.mktemp(request.param)) as started:
        yield started


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("RABBITMQ_PASSWORD", PASSWORD)
    return Place(tmp_path)


def results(lent: Ready, place: Place, text: str, **more: str) -> list[dict[str, Any]]:
    """Every trial's result of a campaign on these servers."""
    attach = ATTACH[lent.system.name](lent.deployment.connection)
    done = place.run("run", str(place.write(text.format(system=lent.system.name, attach=attach, **more))))
    valid_unless_starved(done, place)
    assert place.left_behind() == []
    assert list((place.state / "attached").glob("*.json")) == []
    return [json.loads(path.read_text())["result"] for path in sorted(place.only_run().glob("trials/*/result.json"))]


def one_line(lent: Ready, place: Place, verb: str, *more: str) -> list[dict[str, Any]]:
    """Every trial's result of a verb that makes the campaign itself."""
    attach = ATTACH[lent.system.name](lent.deployment.connection)
    clusters = place.root / "clusters.yaml"
    clusters.write_text(f"systems: [{{name: {lent.system.name}, attach: {attach}}}]\n")
    short = [word for pair in ("warm-up-min=1s", "warm-up-max=2s", "drain-max=8s") for word in ("--set", pair)]
    done = place.run(
        verb, lent.system.name, "--attach", str(clusters), "--rate", "300", "--duration", "3s", *short, *more
    )
    valid_unless_starved(done, place)
    assert place.left_behind() == []
    assert list((place.state / "attached").glob("*.json")) == []
    return [json.loads(path.read_text())["result"] for path in sorted(place.only_run().glob("trials/*/result.json"))]


def test_one_line_measures_it_at_the_level_that_it_has(lent: Ready, place: Place) -> None:
    (result,) = one_line(lent, place, "bench")
    assert result["spec"]["choice"]["as_found"] is True
    assert result["level"]["level"] == LEVEL_FOUND[lent.system.name], result["level"]
    (sub,) = result["subscriptions"]
    assert sub["received"] >= result["acked"] > 0
    assert (sub["lost"], sub["duplicated"], sub["corrupt"]) == (0, 0, 0)


def test_one_line_compares_two_sizes_of_messages(lent: Ready, place: Place) -> None:
    found = one_line(lent, place, "ab", "-L", "message-size=100B,2KiB", "--repeat", "2")
    sizes = sorted(one["spec"]["workload"]["payload"]["message_bytes"] for one in found)
    assert sizes == [100, 100, 2048, 2048]
    comparisons = json.loads(place.run("show", "last", "--json").stdout)
    assert "message-size" in json.dumps(comparisons)


def test_read_finds_everything_that_is_there(lent: Ready, place: Place) -> None:
    (topic,), sent = fill(lent, "orders")
    (result,) = results(lent, place, READ, topic=topic)
    (sub,) = result["subscriptions"]
    assert (sub["received"], sub["verified"], sub["foreign"], sub["corrupt"]) == (sent, sent, 0, 0)
    assert result["msgs_per_s"] > 0
    lent.worker.delete_topics(lent.system.driver, lent.deployment.connection, [topic])


def test_a_sweep_measures_every_point_with_its_own_values(lent: Ready, place: Place) -> None:
    found = results(lent, place, SWEEP)
    assert sorted(one["spec"]["workload"]["partitions"] for one in found) == [1, 3], "in an order drawn at random"
    for result in found:
        (sub,) = result["subscriptions"]
        assert result["acked"] > 0
        assert sub["received"] >= result["acked"]
        assert (sub["lost"], sub["duplicated"], sub["reordered"], sub["corrupt"]) == (0, 0, 0, 0)

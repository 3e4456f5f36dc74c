"""A Pulsar and a RabbitMQ that somebody else started, measured by campaign: what is read back, and what is left."""

from __future__ import annotations

import base64
import json
import os
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Place, valid_unless_starved
from deployments import ready

from tidegauge.model.level import LevelChoice
from tidegauge.systems.rabbitmq.config import PASSWORD, USER

pytestmark = pytest.mark.integration

EXPERIMENT = "{name: latency, rate: 500, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 8s}"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("RABBITMQ_PASSWORD", PASSWORD)
    place = Place(tmp_path)
    yield place
    for line in place.strays():
        os.kill(int(line.split()[0]), signal.SIGKILL)


def run(place: Place, system: str, attach: str) -> tuple[str, dict[str, object]]:
    """What is shown of it, and the one result."""
    text = (
        f"name: borrowed\nsystems: [{{name: {system}, attach: {attach}}}]\ndurability: 3\nexperiments: [{EXPERIMENT}]\n"
    )
    done = place.run("run", str(place.write(text)))
    valid_unless_starved(done, place)
    assert list((place.state / "attached").glob("*")) == []
    newest = max(place.runs.glob("*/trials/*/result.json"), key=lambda path: path.stat().st_mtime)
    result: dict[str, object] = json.loads(newest.read_text())["result"]
    return " ".join(place.run("show", "last").stdout.split()), result


def asked(url: str) -> str:
    """What a server's HTTP API lists."""
    request = urllib.request.Request(url)
    request.add_header("Authorization", "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode())
    with urllib.request.urlopen(request) as reply:
        return str(reply.read().decode())


@pytest.mark.slow
def test_pulsar(tmp_path_factory: pytest.TempPathFactory, place: Place) -> None:
    with ready("pulsar", LevelChoice(3), tmp_path_factory.mktemp("pulsar")) as pulsar:
        known = pulsar.deployment.connection
        urls = f"service-url: '{known['serviceUrl']}', admin-url: '{known['adminUrl']}'"
        said, result = run(place, "pulsar", f"{{{urls}}}")
        assert result["validity"] == "doubtful"
        assert "Durability is UNKNOWN (pulsar@attached, declared" in said
        assert "no bookie-http-urls were given" in said
        (bookie,) = pulsar.deployment.bookies.values()  # type: ignore[attr-defined]
        said, result = run(place, "pulsar", f"{{{urls}, bookie-http-urls: '{bookie}'}}")
        assert "level 3 for pulsar@attached, as asked" in said
        for kind in ("", "/partitioned"):
            assert "-borrowed-" not in asked(f"{known['adminUrl']}/admin/v2/persistent/public/default{kind}")


@pytest.mark.slow
def test_rabbitmq(tmp_path_factory: pytest.TempPathFactory, place: Place) -> None:
    with ready("rabbitmq", LevelChoice(3), tmp_path_factory.mktemp("rabbitmq")) as rabbitmq:
        known = rabbitmq.deployment.connection
        uris = known["uri"].replace(f"{USER}:{PASSWORD}@", "")
        auth = f"{{method: password, user: {USER}, password: {{env: RABBITMQ_PASSWORD}}}}"
        attach = f"{{uris: '{uris}', management-url: '{known['managementUrl']}', auth: {auth}}}"
        said, result = run(place, "rabbitmq", attach)
        assert "level 3 for rabbitmq@attached (quorum), as asked" in said
        assert result["server_cpu_s"] > 0
        for kind in ("queues", "exchanges"):
            assert "-borrowed-" not in asked(f"{known['managementUrl']}/api/{kind}")

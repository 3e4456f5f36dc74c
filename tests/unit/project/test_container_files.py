"""The image and the Compose file: what they name is there, and fits the wheel, the command and the exporter."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.cli.main import run_command
from tidegauge.cli.output import EXIT_FAILED
from tidegauge.live.exporter import GAUGES, WORKER_GAUGES
from tidegauge.systems import registry

ROOT = Path(__file__).parents[3]
CONTAINER = ROOT / "deploy/container"
COMPOSE: dict[str, Any] = yaml.safe_load((CONTAINER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
CONTAINERFILE = (CONTAINER / "Containerfile").read_text()


def sources_and_targets(service: str) -> dict[str, str]:
    return dict(volume.split(":")[:2] for volume in SERVICES[service].get("volumes", ()))


@pytest.mark.parametrize("service", SERVICES)
def test_what_is_mounted_is_there(service: str) -> None:
    for source in sources_and_targets(service):
        assert (CONTAINER / source).is_file() if source.startswith(".") else source in COMPOSE["volumes"]


def test_the_image_is_made_of_the_wheel_with_an_extra_that_there_is() -> None:
    build = SERVICES["tidegauge"]["build"]
    assert (CONTAINER / build["context"]).resolve() == ROOT
    assert ROOT / build["dockerfile"] == CONTAINER / "Containerfile"
    (extra,) = re.findall(r"^ARG EXTRAS=\[(\w+)\]$", CONTAINERFILE, re.MULTILINE)
    assert extra in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert "COPY dist/tidegauge-*.whl" in CONTAINERFILE


def test_what_the_image_writes_is_in_volumes() -> None:
    (volumes,) = re.findall(r"^VOLUME (.*)$", CONTAINERFILE, re.MULTILINE)
    assert "TIDEGAUGE_RUNS=/runs TIDEGAUGE_CACHE=/cache" in CONTAINERFILE
    assert json.loads(volumes) == ["/runs", "/cache"]
    assert {"/runs", "/cache"} <= set(sources_and_targets("tidegauge").values())


def test_the_campaign_measures_the_broker_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    path = CONTAINER / "campaign.yaml"
    campaign = parse_campaign(path, {}, sorted(registry.all_systems()))
    (system,) = campaign.systems
    assert system.attach is not None
    host, _, port = system.attach.addresses["bootstrap-servers"].partition(":")
    assert host in SERVICES
    assert f"PLAINTEXT://{host}:{port}" == SERVICES[host]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    command = SERVICES["tidegauge"]["command"]
    assert sources_and_targets("tidegauge")["./campaign.yaml"] == command[1]
    # Its name is known beside it only.
    assert run_command([command[0], str(path), *command[2:], "--dry-run"]) == EXIT_FAILED
    shown = capsys.readouterr().out
    assert "Not reached: " in shown
    assert "2 trials" in shown


def test_prometheus_reaches_the_endpoint_on_loopback_and_grafana_prometheus() -> None:
    assert SERVICES["tidegauge"]["network_mode"] == "service:prometheus"
    command = SERVICES["tidegauge"]["command"]
    (scraped,) = yaml.safe_load((CONTAINER / "prometheus.yaml").read_text())["scrape_configs"]
    port = command[command.index("--prometheus") + 1]
    assert scraped["static_configs"] == [{"targets": [f"127.0.0.1:{port}"]}]
    (source,) = yaml.safe_load((CONTAINER / "grafana/datasource.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    dashboard = json.loads((CONTAINER / "grafana/dashboard.json").read_text())
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} == {source["uid"]}


def test_the_dashboard_shows_figures_that_are_exposed() -> None:
    dashboard = json.loads((CONTAINER / "grafana/dashboard.json").read_text())
    shown = {target["expr"] for panel in dashboard["panels"] for target in panel["targets"]}
    assert shown
    assert shown <= {*GAUGES, *WORKER_GAUGES}
    provider = yaml.safe_load((CONTAINER / "grafana/dashboards.yaml").read_text())["providers"][0]
    mounted = sources_and_targets("grafana")["./grafana/dashboard.json"]
    assert str(Path(mounted).parent) == provider["options"]["path"]

"""Libraries with which clients log in: fetched when somebody asks for one, and asked for where one is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidegauge.cli.main import run_command
from tidegauge.distribution import login_libraries
from tidegauge.distribution.cache import Report
from tidegauge.distribution.coordinates import Recipe
from tidegauge.distribution.login_libraries import login_jars
from tidegauge.model.server import Distribution

CAMPAIGN = """
name: on-msk
systems:
  - {name: kafka, attach: {bootstrap-servers: "127.0.0.1:1", tls: {}, auth: {method: aws-msk-iam}}}
durability: 2
experiments: [{name: latency, rate: 100, measure: 10s}]
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_library_is_fetched_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "iam.jar").write_bytes(b"jar")

    def provision(recipe: Recipe, report: Report) -> Distribution:
        return Distribution(recipe.system, recipe.version, jars, None, "", "0", "a test")

    monkeypatch.setattr(login_libraries, "provision", provision)
    for _ in range(2):
        assert run_command(["fetch", "aws-msk-iam", "--json"]) == 0
        (fetched,) = json.loads(capsys.readouterr().out)["systems"]
        assert (fetched["system"], fetched["directory"]) == ("aws-msk-iam", str(jars))
        assert [jar.name for jar in login_jars("kafka")] == ["iam.jar"]
    assert login_jars("pulsar") == []


def test_a_run_that_needs_one_says_how_to_fetch_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = tmp_path / "campaign.yaml"
    campaign.write_text(CAMPAIGN)
    assert run_command(["run", str(campaign), "--runs-dir", str(tmp_path / "runs")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "Kafka's clients need a library for auth.method aws-msk-iam, and it is not here" in said
    assert "tidegauge fetch aws-msk-iam" in said
    assert not (tmp_path / "runs").exists()

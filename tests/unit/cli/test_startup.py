"""What a command loads before it answers: heavy libraries are for measuring and reporting, not for help and plans."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from report_samples import sample_run

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.plan import Plan
from tidegauge.cli import planning
from tidegauge.cli.main import run_command

MEASURING = {"scipy", "MLRsearch", "grpc", "google", "prometheus_client", "matplotlib", "jinja2", "pyarrow", "psutil"}
"""Needed by a run or its report; no plan needs any of them."""
READING = {"numpy", "hdrh", "ruamel", "rich"}
"""Needed by a plan or by what shows it; the help needs none of them. (Typer loads pydantic for the verbs' options.)"""
OMB = Path(__file__).parents[2] / "omb_files"

SCRIPT = """
import contextlib, io, json, sys
from tidegauge.cli.main import run_command
with contextlib.redirect_stdout(io.StringIO()):
    code = run_command(sys.argv[1:])
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def loaded(tmp_path: Path, *arguments: str) -> set[str]:
    """The packages that a command line loads in a Python of its own."""
    command = [sys.executable, "-c", SCRIPT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    code, packages = json.loads(done.stdout)
    assert code == 0, done.stderr
    return set(packages)


@pytest.mark.parametrize("verb", [(), ("quick",), ("omb",), ("run",)])
def test_help_loads_no_heavy_library(tmp_path: Path, verb: tuple[str, ...]) -> None:
    assert not loaded(tmp_path, *verb, "--help") & (MEASURING | READING)


def test_a_plan_loads_nothing_that_only_measuring_needs(tmp_path: Path) -> None:
    assert not loaded(tmp_path, "quick", "--systems", "kafka", "--dry-run") & MEASURING


def test_so_does_a_plan_of_attest(tmp_path: Path) -> None:
    assert not loaded(tmp_path, "attest", "kafka", "--level", "3", "--dry-run") & MEASURING


def test_so_does_a_plan_of_omb_files(tmp_path: Path) -> None:
    workload, driver = OMB / "workloads/1-topic-1-partition.yaml", OMB / "drivers/kafka-every-key.yaml"
    packages = loaded(tmp_path, "omb", str(workload), "--driver", str(driver), "--managed", "--dry-run")
    assert not packages & MEASURING


def test_an_index_of_runs_loads_nothing_that_draws(tmp_path: Path) -> None:
    sample_run(tmp_path)
    packages = loaded(tmp_path, "index", "--runs-dir", str(tmp_path))
    assert "jinja2" in packages
    assert "matplotlib" not in packages


def test_a_campaign_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[Plan] = []
    plan_campaign = planning.plan_campaign

    def counted(campaign: Campaign) -> Plan:
        planned.append(plan_campaign(campaign))
        return planned[-1]

    monkeypatch.setattr(planning, "plan_campaign", counted)
    assert run_command(["quick", "--systems", "kafka", "--dry-run"]) == 0
    assert len(planned) == 1

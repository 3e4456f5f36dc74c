"""The verb `attest` before anything is started: what it plans, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidegauge.cli.main import run_command
from tidegauge.cli.planning import AttestRequest, attest_overrides
from tidegauge.errors import UserError
from tidegauge.hosts import fuse_disk, loop_disk
from tidegauge.model.attest import FileSystem


def asked(**changes: Any) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "system": "kafka",
        "level": 3,
        "form": "",
        "nodes": None,
        "cuts": 20,
        "scenarios": (),
        "second_cut": False,
        "file_system": FileSystem.EXT4,
        "crash": False,
        "seed": None,
    }
    return attest_overrides(AttestRequest(**{**wanted, **changes}))


@pytest.mark.parametrize(("level", "nodes"), [(1, 3), (2, 3), (3, 1), (4, 1)])
def test_the_level_decides_the_nodes_unless_they_are_given(level: int, nodes: int) -> None:
    assert asked(level=level)["nodes"] == nodes
    assert asked(level=level, nodes=5)["nodes"] == 5


@pytest.mark.parametrize("system", ["rabbitmq@attached", "amqp://localhost:5672"])
def test_no_power_of_a_cluster_of_others_is_cut(system: str) -> None:
    with pytest.raises(UserError, match="Clusters of others can't be attested"):
        asked(system=system)


def test_options_become_the_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    code = run_command(
        [
            "attest",
            "kafka",
            "--level",
            "2",
            "--scenario",
            "one",
            "--scenario",
            "rolling",
            "--cuts",
            "6",
            "--dry-run",
            "--json",
        ]
    )
    assert code == 0
    plan = json.loads(capsys.readouterr().out)
    (trial,) = plan["trials"]
    scenarios = [cycle["scenario"] for cycle in trial["attest"]["cycles"]]
    assert scenarios == ["none", *["one"] * 6, *["rolling"] * 2, *["all"] * 3]
    assert trial["nodes"] == 3


def test_without_root_or_loop_devices_it_says_so_and_offers_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loop_disk, "refusal", lambda *_: "needs root")
    runs = tmp_path / "runs"
    code = run_command(["attest", "kafka", "--level", "3", "--runs-dir", str(runs)])
    message = capsys.readouterr().err
    assert code == 2
    assert "needs root" in message
    assert "--crash" in message
    assert "process crash, not a power cut" in message
    assert not runs.exists()


def test_where_libfuse_is_present_it_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loop_disk, "refusal", lambda *_: "needs root")
    monkeypatch.setattr(fuse_disk, "refusal", lambda: "")
    command = ["attest", "kafka", "--level", "3", "--runs-dir", str(tmp_path / "runs")]
    assert run_command(command) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "--file-system fuse" in message
    assert "less than a power cut" in message
    assert "--crash" in message
    assert run_command([*command, "--file-system", "fuse", "--dry-run"]) == 0
    monkeypatch.setattr(fuse_disk, "refusal", lambda: "passthrough_ll can't be found")
    assert run_command([*command, "--file-system", "fuse"]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "passthrough_ll can't be found" in message
    assert "--file-system fuse" not in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kafka", "--level", "3", "--scenario", "one"], "needs several nodes"),
        (["kafka", "--level", "1", "--nodes", "1"], "can't give level 1"),
        (["kafak", "--level", "3"], "kafka"),
        (["kafka"], "--level"),
        (["kafka", "--level", "3", "--scenario", "al"], "al"),
        (["kafka", "--level", "3", "--cuts", "0"], "cuts"),
    ],
)
def test_mistakes_are_reported_before_anything_is_started(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_command(["attest", *arguments, "--runs-dir", str(tmp_path / "runs")])
    assert code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()

"""The fairness check on the command line: refused, or allowed and marked. What runs a campaign is replaced."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_samples import result, second, totals

from tidegauge import store
from tidegauge.campaign.plan.fairness import FairnessWatch, wanted_tilts
from tidegauge.campaign.plan.plan import Plan
from tidegauge.cli import running
from tidegauge.cli.main import run_command
from tidegauge.model.events import Observer, RunStarted, TrialEnded
from tidegauge.model.level import LevelFinding

EQUAL = """\
name: mine
systems: [kafka, pulsar]
workload: {partitions: 4}
experiments: [{name: latency, rate: 1000, warm-up-min: 7s, warm-up-max: 8s, measure: 5s}]
"""
LINGER = "[{name: kafka, producer: {linger.ms: 10}}, pulsar]"
LEVELS = "[{name: kafka, durability: 4}, pulsar]"


class _Host:
    agent_pid = 1

    def __enter__(self) -> _Host:
        return self

    def __exit__(self, *_: object) -> None:
        return None


@pytest.fixture(autouse=True)
def replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every planned trial gets a result at the level asked for; planning, checking and storing are real."""

    def execute(
        plan: Plan,
        run: store.RunStore,
        _host: object,
        observer: Observer,
        _recorded: object,
        **_more: object,
    ) -> None:
        run.write_plan(plan.trials)
        observer(RunStarted(str(run.path), plan.trials, 10.0))
        FairnessWatch(plan, wanted_tilts(plan), run, observer)
        for trial in plan.trials:
            directory = run.open_trial(trial)
            directory.append_second(second())
            found = replace(result(trial), level=LevelFinding(trial.choice.level, ("as asked",)))
            directory.finish(found, totals())
            observer(TrialEnded(trial, found, ""))
        run.finish("finished")

    monkeypatch.setattr(running, "execute", execute)
    monkeypatch.setattr(running.LocalHost, "open", _Host)
    monkeypatch.setenv("TIDEGAUGE_REPORT", "off")
    monkeypatch.setenv("TIDEGAUGE_CEILINGS", "off")
    monkeypatch.setattr(running, "clean_leftovers", lambda: [])
    monkeypatch.setattr(running, "_interruption_words", lambda _agents: "")
    monkeypatch.setenv("TIDEGAUGE_RUNS", str(tmp_path / "runs"))


def written(tmp_path: Path, systems: str = "[kafka, pulsar]") -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(EQUAL.replace("[kafka, pulsar]", systems))
    return str(path)


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert run_command([*arguments, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_an_unequal_run_is_refused_with_every_finding_and_its_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    systems = "[{name: kafka, heap: 2GiB, producer: {linger.ms: 10}}, pulsar]"
    assert run_command(["run", written(tmp_path, systems)]) == 2
    shown = capsys.readouterr().err
    assert "2 settings make this comparison unequal" in shown
    assert "heap: kafka@4.3.1 heap=2048MiB, pulsar@4.2.4 heap=1024MiB" in shown
    assert "batch-delay: kafka@4.3.1 linger.ms=10" in shown
    assert shown.count("To put it right: ") == 2
    assert "--allow-unequal" in shown
    assert not (tmp_path / "runs").exists(), "nothing was begun"


def test_the_refusal_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json_of(capsys, "run", written(tmp_path, LINGER), code=2)
    assert (found["schema"], found["exit_code"]) == ("tidegauge.error/1", 2)
    (tilt,) = found["unequal"]
    assert (tilt["rule"], tilt["severity"], tilt["stage"]) == ("batch-delay", "unequal", "wanted")
    assert tilt["systems"] == ["kafka@4.3.1", "pulsar@4.2.4"]
    assert tilt["remedy"]


def test_a_plan_shows_what_would_be_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, LINGER)
    assert run_command(["run", path, "--dry-run"]) == 2
    shown = capsys.readouterr().out
    assert "UNEQUAL comparison. It is refused unless --allow-unequal is given:" in shown
    assert "batch-delay" in shown
    assert "Nothing was started." in shown
    assert max(map(len, shown.splitlines())) <= 100
    assert run_command(["run", path, "--dry-run", "--allow-unequal"]) == 0
    assert "It will run, marked as unequal:" in capsys.readouterr().out
    assert [tilt["rule"] for tilt in json_of(capsys, "run", path, "--dry-run", code=2)["unequal"]] == ["batch-delay"]


def test_an_equal_run_is_marked_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path)
    found = json_of(capsys, "run", path, "--dry-run")
    assert (found["unequal"], found["advice"], found["unequal_allowed"]) == ([], [], False)
    assert run_command(["run", path]) == 0
    assert run_command(["show"]) == 0
    assert run_command(["runs"]) == 0
    assert "UNEQUAL" not in capsys.readouterr().out
    assert run_command(["run", path, "--allow-unequal"]) == 0, "allowed is not yet unequal"
    assert "UNEQUAL" not in capsys.readouterr().out


def test_an_allowed_run_is_marked_in_every_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", written(tmp_path, LINGER), "--allow-unequal"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("UNEQUAL: batch-delay"))
    ended = next(number for number, line in enumerate(lines) if "0001-latency" in line and "msg/s" in line)
    assert first < ended, "shown while it goes, before any figure"
    assert run_command(["show"]) == 0
    shown = capsys.readouterr().out
    assert "UNEQUAL comparison (1 difference, allowed with --allow-unequal)." in shown
    assert shown.index("UNEQUAL comparison") < shown.index("msg/s")
    assert "  - UNEQUAL: latency: pulsar@4.2.4's" in shown
    assert run_command(["runs"]) == 0
    assert "finished, UNEQUAL" in capsys.readouterr().out
    (stored,) = store.list_runs(tmp_path / "runs")
    head = json.loads((stored.path / "run.json").read_text())
    assert [tilt["rule"] for tilt in head["unequal"]] == ["batch-delay"]
    assert head["unequal_allowed"] is True
    report = json_of(capsys, "show")
    assert [tilt["rule"] for tilt in report["unequal"]] == ["batch-delay"]
    assert report["run"]["unequal"] is True
    assert all(comparison["unequal"] for block in report["experiments"] for comparison in block["comparisons"])
    assert [run["unequal"] for run in json_of(capsys, "runs")["runs"]] == [True]


def test_quick_has_the_option_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["quick", "--help"]) == 0
    assert "--allow-unequal" in capsys.readouterr().out
    assert run_command(["quick", "--allow-unequal", "--dry-run"]) == 0


def test_a_campaign_can_not_allow_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(written(tmp_path, LINGER))
    path.write_text(path.read_text() + "allow-unequal: true\n")
    assert run_command(["run", str(path)]) == 2
    assert "unknown key 'allow-unequal'" in capsys.readouterr().err


def test_systems_of_different_levels_are_ranked_only_if_that_was_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, LEVELS)
    assert run_command(["run", path]) == 2
    assert "level: kafka@4.3.1 level 4, pulsar@4.2.4 level 3" in capsys.readouterr().err
    report = json_of(capsys, "run", path, "--allow-unequal")
    assert {result["spec"]["choice"]["level"] for result in report["experiments"][0]["results"]} == {3, 4}
    assert report["durability"]["equal"] is False
    assert report["experiments"][0]["comparisons"]
    assert run_command(["show"]) == 0
    shown = capsys.readouterr().out
    assert "Durability is NOT EQUAL" in shown
    assert "UNEQUAL: latency:" in shown


def test_a_systems_own_level_is_checked_like_the_campaigns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", written(tmp_path, "[{name: kafka, durability: 5}, pulsar]")]) == 2
    assert "systems[0].durability: '5': must be a durability level from 1 to 4" in capsys.readouterr().err
    assert run_command(["run", written(tmp_path, "[{name: kafka, durability: 1}, pulsar]")]) == 2
    assert "can't give level 1" in capsys.readouterr().err
    same = written(tmp_path, "[{name: kafka, durability: 3}, pulsar]")
    assert run_command(["run", same, "--dry-run"]) == 0


def test_a_systems_own_partitions_are_its_topics_and_make_the_comparison_unequal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "name: own\nsystems: [{name: kafka, partitions: 24}, pulsar]\nworkload: {partitions: 100}\n"
        "experiments: [{name: latency, rate: 1000}]\n"
    )
    path = tmp_path / "own.yaml"
    path.write_text(text)
    assert run_command(["run", str(path), "--dry-run", "--json"]) == 2
    content = json.loads(capsys.readouterr().out)
    partitions = {trial["system"].partition("@")[0]: trial["workload"]["partitions"] for trial in content["trials"]}
    assert partitions == {"kafka": 24, "pulsar": 100}
    (tilt,) = [tilt for tilt in content["unequal"] if tilt["rule"] == "partitions"]
    assert "partitions=24" in tilt["what"]
    path.write_text(text.replace("24", "0"))
    assert run_command(["run", str(path), "--dry-run"]) == 2
    assert "own.yaml:2: systems[0].partitions" in capsys.readouterr().err
    attached = text.replace("partitions: 24", "partitions: 24, attach: {bootstrap-servers: h:9092}")
    path.write_text(attached.replace("partitions: 100", "existing-topics: [a]").replace(", pulsar]", "]"))
    assert run_command(["run", str(path), "--dry-run"]) == 2
    assert "systems: kafka: partitions: can't be given beside 'existing-topics'" in capsys.readouterr().err


def test_a_single_system_is_no_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "[{name: kafka, producer: {linger.ms: 10, max.in.flight.requests.per.connection: 1}}]")
    found = json_of(capsys, "run", path, "--dry-run")
    assert found["unequal"] == []
    assert [tilt["rule"] for tilt in found["advice"]] == ["requests-in-flight", "waits-for-batches"]


def test_a_finding_that_can_not_be_read_still_marks_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", written(tmp_path, LINGER), "--allow-unequal"]) == 0
    (stored,) = store.list_runs(tmp_path / "runs")
    path = stored.path / "run.json"
    path.write_text(path.read_text().replace('"rule": "batch-delay"', '"rule_of_the_future": 1'))
    assert store.load_run(stored.path).terms.unequal
    assert run_command(["show"]) == 0
    assert "UNEQUAL comparison" in capsys.readouterr().out

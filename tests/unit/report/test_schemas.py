"""JSON Schemas: generated from the types, shown on request, and true of what is really written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from report_samples import interrupted_run, sample_run
from schema_checks import check_content

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.cli.output import error_content
from tidegauge.errors import UserError
from tidegauge.model.host import Joined
from tidegauge.plain import plain_value
from tidegauge.report.fleet import joined_content
from tidegauge.report.layout import shown_path
from tidegauge.report.lists import ShownPlan
from tidegauge.report.schemas import file_name, json_schemas
from tidegauge.report.summary import plan_summary, run_summary, runs_summary

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    directory = tmp_path_factory.mktemp("runs")
    return [sample_run(directory, trials=1), interrupted_run(directory)]


def schema_of(name: str) -> dict[str, Any]:
    return json_schemas()[name]


def check(content: dict[str, Any]) -> None:
    """It is valid, and every key at its top is described by the schema."""
    schema = schema_of(content["schema"])
    check_content(content)
    if content["schema"] not in ("tidegauge.witness/1", "tidegauge.environment/1"):  # both have what else is known
        assert set(content) <= set(schema["properties"])


def test_they_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["schema"]) == 0
    assert capsys.readouterr().out.split() == list(json_schemas())
    assert run_command(["schema", "--json"]) == 0
    check(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("name", ["run", "run/1", "run-1", "run-1.json", "tidegauge.run/1"])
def test_one_is_printed(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run_command(["schema", name]) == 0
    assert json.loads(capsys.readouterr().out) == json_schemas()["tidegauge.run/1"]


def test_all_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["schema", "--output", str(tmp_path / "new")]) == 0
    assert shown_path(tmp_path / "new/run-1.json") in capsys.readouterr().out
    written = {path.name: json.loads(path.read_text()) for path in (tmp_path / "new").iterdir()}
    assert written == {file_name(name): schema for name, schema in json_schemas().items()}


def test_one_that_is_not_there_is_an_error_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["schema", "reslt"]) == 2
    error = capsys.readouterr().err
    assert "There is no schema 'reslt' (did you mean 'result'?)." in error
    assert "There are: run, campaign, plan," in error


def test_they_are_sound_schemas() -> None:
    for schema in json_schemas().values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_json_file_of_runs_is_valid(runs: list[Path]) -> None:
    seen = set()
    for run in runs:
        for path in run.rglob("*.json"):
            content = json.loads(path.read_text())
            check(content)
            seen.add(content["schema"])
    files = (
        "run",
        "plan",
        "environment",
        "trial",
        "settings",
        "distribution",
        "witness",
        "result",
        "finding",
        "ceilings",
    )
    assert seen == {f"tidegauge.{name}/1" for name in files}


def test_what_verbs_print_is_valid(runs: list[Path]) -> None:
    stored = [store.load_run(path) for path in runs]
    for run in stored:
        check(run_summary(run))
        check(plan_summary(ShownPlan(run.planned, 10.0, ["slow"])))
    check(runs_summary(stored))
    check(error_content(UserError("no")))


def test_every_schema_that_is_written_is_published() -> None:
    source = ROOT / "src/tidegauge"
    written = {
        name for path in source.rglob("*.py") for name in re.findall(r'"(tidegauge\.[a-z]+/\d+)"', path.read_text())
    }
    assert written - set(json_schemas()) == {"tidegauge.seconds/1", "tidegauge.workers/1"}  # columns of Parquet files


def test_what_a_host_says_that_joined_a_fleet_is_valid() -> None:
    check(joined_content(Joined("10.0.0.1", "10.0.0.1:6379", "servers", "/log", "/token", ("6379",), "no nft")))


def test_histograms_are_in_no_schema() -> None:
    """They are in .hlog files; a trial with a schedule has one for each of its records too."""
    assert "binary" not in json.dumps(json_schemas())


def test_a_comparison_is_valid(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["compare", str(runs[0]), str(runs[1]), "--json"]) == 0
    check(json.loads(capsys.readouterr().out))


def test_numbers_without_a_word_in_json_are_valid(runs: list[Path]) -> None:
    content = run_summary(store.load_run(runs[0]))
    content["experiments"][0]["results"][0]["msgs_per_s"] = plain_value(float("nan"))
    check(content)


@pytest.mark.parametrize(
    ("path", "value"), [(("status",), "done"), (("name",), 7), (("unequal",), [{"rule": "x"}]), (("notes",), None)]
)
def test_what_is_wrong_is_not_valid(runs: list[Path], path: tuple[str], value: object) -> None:
    content = json.loads((runs[0] / "run.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        check({**content, path[0]: value})


def test_a_key_that_is_not_described_is_noticed(runs: list[Path]) -> None:
    content = json.loads((runs[0] / "run.json").read_text())
    with pytest.raises(AssertionError):
        check({**content, "unheard_of": 1})

"""Names and tags on the command line: kept with the run, shown, and refused before anything begins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compared_runs import BEFORE, blocks_of
from run_samples import totals

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.model.labels import RunLabels


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with the tag "main", the second named "nightly-2", and one without labels."""
    runs = tmp_path_factory.mktemp("runs")
    for labels in (RunLabels("nightly-1", ("main",)), RunLabels("nightly-2", ("main", "ci")), RunLabels()):
        run = store.create_run(runs, "quick", "", labels=labels)
        for result in blocks_of("kafka@4.3.1", *BEFORE[:1]):
            run.open_trial(result.spec).finish(result, totals())
        run.finish("finished")
    return runs


def test_verbs_show_them(runs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    at = ["--runs-dir", str(runs)]
    assert run_command(["runs", *at]) == 0
    listed = capsys.readouterr().out
    assert "name [tags]" in listed
    assert "nightly-2 [main, ci]" in listed
    assert run_command(["show", "nightly-2", *at, "--markdown", str(tmp_path / "run.md")]) == 0
    assert "Labels: name nightly-2; tags main, ci." in capsys.readouterr().out
    assert "Labels: name nightly-2; tags main, ci." in (tmp_path / "run.md").read_text()
    assert run_command(["report", "nightly-1", *at, "--output", str(tmp_path / "run.html")]) == 0
    assert "nightly-1 [main]" in (tmp_path / "run.html").read_text()
    assert run_command(["index", *at, "--output", str(tmp_path / "index.html")]) == 0
    assert "nightly-2 [main, ci]" in (tmp_path / "index.html").read_text()


def test_the_run_that_is_taken_is_said_apart_from_the_results(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["show", "main", "--json", "--runs-dir", str(runs)]) == 0
    shown = capsys.readouterr()
    head = json.loads(shown.out)["run"]
    assert (head["label"], head["tags"]) == ("nightly-2", ["main", "ci"])
    assert "'main' is a tag of 2 runs" in shown.err


def test_runs_without_labels_are_listed_as_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store.create_run(tmp_path, "quick", "").finish("finished")
    assert run_command(["runs", "--runs-dir", str(tmp_path)]) == 0
    assert "tags" not in capsys.readouterr().out


@pytest.mark.parametrize("verb", [["quick"], ["run", "quick"], ["attest", "kafka", "--level", "4"], ["omb", "w.yaml"]])
def test_an_empty_tag_is_refused_before_anything_begins(
    verb: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run_command([*verb, "--tag", "", "--runs-dir", str(tmp_path)]) == 2
    assert "--tag: it is empty (on a detached HEAD" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_run_keeps_its_labels(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "--resume", "nightly-1", "--tag", "other", "--runs-dir", str(runs)]) == 2
    assert "its name or its tags can be given with --resume" in " ".join(capsys.readouterr().err.split())

"""The CSV tables of a run, and the code that the documentation reads them with."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from run_samples import result, second, spec, totals

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.model.finding import Finding
from tidegauge.model.labels import RunLabels
from tidegauge.model.trial import Validity
from tidegauge.report.csv_tables import findings_csv, results_csv, seconds_csv
from tidegauge.statistics.figures import FIGURES

PAGE = Path(__file__).resolve().parents[3] / "docs/pandas-and-duckdb.md"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> store.StoredRun:
    """A run with two trials of a sweep, one that failed, and a finding."""
    written = store.create_run(tmp_path_factory.mktemp("x") / "runs", "quick", "", labels=RunLabels("n,1", ("a", "b")))
    for number, linger in enumerate(("1ms", "20ms"), 1):
        trial_spec = replace(spec(number=number), point={"producer.linger.ms": linger})
        trial = written.open_trial(trial_spec)
        trial.append_second(second(0), "warm-up")
        trial.append_second(second(1), "measure")
        trial.finish(replace(result(trial_spec, number), validity=Validity.DOUBTFUL), totals())
    written.open_trial(spec(number=3)).fail('kafka-1 ended: "exit 1",\nsee its log', False)
    written.write_finding(
        Finding("0004-max", "max-throughput", "kafka@4.3.1", 0, True, ("it sustains 5k",), figures={"chase_s": 2.5})
    )
    written.finish("finished")
    return store.load_run(written.path)


def rows_of(table: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.decode())))


def test_every_trial_has_a_row_with_every_figure(run: store.StoredRun) -> None:
    first, other, failed = rows_of(results_csv(run))
    assert (first["run"], first["label"], first["tags"]) == (run.path.name, "n,1", "a;b")
    assert (first["point_producer_linger_ms"], other["point_producer_linger_ms"]) == ("1ms", "20ms")
    assert (first["validity"], first["exploratory"], first["durability_level"]) == ("doubtful", "false", "3")
    stored = run.measured[1]
    for figure in FIGURES.values():
        column = f"{figure.name}_msgs" if figure.unit == "" else figure.name
        value = figure.value_in(stored)
        assert other[column] == ("" if value is None else str(value)), column
    assert float(other["response_ms_p99"]) == 15.6
    assert failed["status"] == "failed"
    assert "kafka-1 ended" in failed["reasons"]
    assert failed["msgs_per_s"] == failed["validity"] == ""


def test_every_second_has_a_row_that_says_whose_it_is(run: store.StoredRun) -> None:
    rows = rows_of(seconds_csv(run, lambda trial: store.read_seconds(trial.directory)))
    assert [(row["trial_id"], row["phase"]) for row in rows] == [
        ("0001-latency-kafka", "warm-up"),
        ("0001-latency-kafka", "measure"),
        ("0002-latency-kafka", "warm-up"),
        ("0002-latency-kafka", "measure"),
    ]
    (parquet_row, *_) = store.read_seconds(run.trials[0].directory)
    assert float(rows[0]["response_p99_ms"]) == parquet_row["response_p99_ms"]
    assert rows[0]["acked_msgs"] == str(parquet_row["acked_msgs"])


def test_findings_have_a_table_of_their_own(run: store.StoredRun) -> None:
    (row,) = rows_of(findings_csv(run))
    assert (row["decided"], row["chase_s"], row["sustainable_msgs_per_s"]) == ("true", "2.5", "")


def test_two_axes_never_share_a_column(tmp_path: Path) -> None:
    written = store.create_run(tmp_path, "quick", "")
    trial_spec = replace(spec(), point={"a.b": "1", "a-b": "2"})
    written.open_trial(trial_spec).finish(result(trial_spec), totals())
    written.finish("finished")
    (row,) = rows_of(results_csv(store.load_run(written.path)))
    assert (row["point_a_b"], row["point_a_b_2"]) == ("1", "2")


def test_a_run_without_a_trial_has_heads_alone(tmp_path: Path) -> None:
    empty = store.create_run(tmp_path, "quick", "")
    empty.finish("failed", "x")
    run = store.load_run(empty.path)
    assert results_csv(run).startswith(b"run,label,tags,campaign,trial_id,")
    assert rows_of(findings_csv(run)) == []


def code_blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def library_of(code: str) -> str:
    return re.search(r"^(?:import|from) (\w+)", code, re.MULTILINE)[1]  # type: ignore[index]


def test_the_page_has_code_for_each_library() -> None:
    assert {library_of(code) for code in code_blocks()} == {"pandas", "duckdb", "pyarrow"}


@pytest.mark.parametrize("place", range(len(code_blocks())))
def test_the_documented_code_runs(
    place: int, run: store.StoredRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """pandas and DuckDB are too large for a test alone: their code runs where they are installed."""
    code, directory = code_blocks()[place], run.path.parent.parent
    if importlib.util.find_spec(library_of(code)) is None:
        pytest.skip(f"{library_of(code)} is not installed")
    monkeypatch.chdir(directory)
    assert run_command(["report", "latest", "--csv", "tables"]) == 0
    assert re.search(r"3 tables in \S", capsys.readouterr().out)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"0001-latency-kafka|kafka@4\.3\.1", ran.stdout), ran.stdout


@pytest.mark.parametrize(
    ("label", "cell"),
    [
        ("=HYPERLINK(A1)", "'=HYPERLINK(A1)"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-1+cmd|'x'!A0", "'-1+cmd|'x'!A0"),
        ("-1.5e-3", "-1.5e-3"),
        ("a=b", "a=b"),
    ],
)
def test_no_text_of_a_run_is_a_formula_of_a_spreadsheet(run: store.StoredRun, label: str, cell: str) -> None:
    assert {row["label"] for row in rows_of(results_csv(replace(run, labels=RunLabels(label))))} == {cell}

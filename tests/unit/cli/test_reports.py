"""The verbs `report` and `index`, and the report that every run leaves, whatever becomes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from report_samples import interrupted_run

from tidegauge import store
from tidegauge.cli import reports
from tidegauge.cli.main import run_command
from tidegauge.cli.output import Output
from tidegauge.errors import RunFailedError
from tidegauge.report.layout import shown_path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs")
    interrupted_run(directory, "a")
    interrupted_run(directory, "b")
    return directory


def test_a_report_is_written_beside_the_run_and_named(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = store.list_runs(runs)[0].path
    assert run_command(["report", run.name, "--runs-dir", str(runs)]) == 0
    assert shown_path(run / "report.html") in capsys.readouterr().out
    assert (run / "report.html").read_text().startswith("<!doctype html>")
    assert run_command(["show", run.name, "--runs-dir", str(runs)]) == 0
    assert shown_path(run / "report.html") in capsys.readouterr().out.splitlines()[-1]


def test_plots_as_files(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = store.list_runs(runs)[1].path
    page, plots = tmp_path / "deep" / "page.html", tmp_path / "plots"
    wanted = ["--output", str(page), "--svg", str(plots), "--png", str(plots), "--json"]
    assert run_command(["report", run.name, "--runs-dir", str(runs), *wanted]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "tidegauge.files/1"
    assert found["files"][0] == str(page)
    assert sorted(found["files"][1:]) == sorted(map(str, plots.iterdir()))
    kinds = {path.suffix: path.read_bytes() for path in plots.iterdir()}
    assert kinds[".png"].startswith(b"\x89PNG")
    assert b"<svg" in kinds[".svg"]


def test_mistakes_are_one_message(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["report", "nothing-like-it", "--runs-dir", str(runs)]) == 2
    assert "No run 'nothing-like-it'" in capsys.readouterr().err
    assert run_command(["report", "last", "--runs-dir", str(runs), "--output", str(tmp_path)]) == 2
    assert "is a directory" in capsys.readouterr().err
    assert run_command(["index", "--runs-dir", str(tmp_path / "none")]) == 2
    assert "There is no directory" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert run_command(["report", "last", "--runs-dir", str(runs), "--output", str(tmp_path / "file" / "x.html")]) == 1


def test_a_report_is_examined_over_the_newest_results_of_each_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer run of one system hides nothing that an older one alone has of the others."""

    def run_of(campaign: str, *systems: str, scale: str = "shares") -> SimpleNamespace:
        specs = [
            SimpleNamespace(experiment="peak", system=name, choice=3, point={"partitions": "1"}) for name in systems
        ]
        published = SimpleNamespace(report="confluent-2020", scale=scale)
        return SimpleNamespace(
            name=campaign, results=[SimpleNamespace(spec=spec) for spec in specs], published=published
        )

    whole, other_scale = run_of("rates", "kafka", "pulsar"), run_of("rates", "rabbitmq", scale="brief")
    older, newer, newest = run_of("rates", "kafka"), run_of("latency", "kafka"), run_of("rates", "pulsar")
    for stored, chosen in (
        ([whole, newer, newest], [whole, newer, newest]),
        ([older, whole, newer, newest], [whole, newer, newest]),
        ([newest, newer, whole], [newer, whole]),
        ([other_scale, newest], [newest]),
    ):
        monkeypatch.setattr(reports.store, "list_runs", lambda _, stored=stored: stored)
        assert reports._newest_runs_of_report("confluent-2020", tmp_path, Output(as_json=False)) == chosen


def test_an_index_leads_to_reports_wherever_it_is(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (run.path for run in store.list_runs(runs))
    (first / "report.html").write_text("x")
    (second / "report.html").unlink(missing_ok=True)
    assert run_command(["index", "--runs-dir", str(runs)]) == 0
    shown = capsys.readouterr().out
    assert "1 run without a report" in shown
    page = (runs / "index.html").read_text()
    assert f'href="{first.name}/report.html"' in page
    assert page.index(second.name) < page.index(first.name)  # the newest first
    elsewhere = tmp_path / "index.html"
    assert run_command(["index", "--runs-dir", str(runs), "--output", str(elsewhere)]) == 0
    # From the table of runs, and from that of figures.
    (link,) = {part.split('"')[0] for part in elsewhere.read_text().split('href="')[1:] if "report.html" in part}
    assert (elsewhere.parent / link).resolve() == (first / "report.html").resolve()


class TestAfterARun:
    def test_it_is_written(self, tmp_path: Path) -> None:
        run = interrupted_run(tmp_path)
        reports.keep_report(store.load_run(run), Output(as_json=False))
        assert "interrupted" in (run / "report.html").read_text()

    def test_unless_it_is_switched_off(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        run = interrupted_run(tmp_path)
        monkeypatch.setenv(reports.SWITCH, "off")
        reports.keep_report(store.load_run(run), Output(as_json=False))
        assert not (run / "report.html").exists()

    def test_a_full_disk_is_reported_and_harms_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def full(*_: object) -> Path:
            raise RunFailedError("Can't write report.html: the disk is full.")

        run = interrupted_run(tmp_path)
        monkeypatch.setattr(store, "write_page", full)
        reports.keep_report(store.load_run(run), Output(as_json=False))
        assert "the disk is full" in capsys.readouterr().err

    def test_a_defect_of_the_report_harms_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run = interrupted_run(tmp_path)
        monkeypatch.setattr(store, "details_of", lambda run: 1 / 0)
        reports.keep_report(store.load_run(run), Output(as_json=False))
        assert "Error" in capsys.readouterr().err
        assert "ZeroDivisionError" in (run / "crash.txt").read_text()


def test_no_command_waits_for_what_draws() -> None:
    code = "import sys, tidegauge.cli.running; print([one for one in ('matplotlib', 'jinja2') if one in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_names_of_plots_lead_out_of_no_directory() -> None:
    """A stranger's run may call an experiment, a host or a disk what it likes, and a disk here is /dev/mapper/data."""
    ids = ["01-../../x-rate", "01-..-..-x-rate", "02-disk-written-to-/dev/mapper/data", "n" * 300, "03-latency-rate"]
    names = reports._file_names(ids)
    assert names[0] == "01-..-..-x-rate"
    assert names[2:] == ["02-disk-written-to--dev-mapper-data", "n" * 200, "03-latency-rate"]
    assert len(set(names)) == len(ids), "none replaces another"

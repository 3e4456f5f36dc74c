"""The verb `history`: runs chosen by campaign and tag, what is printed, the page and the JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from run_samples import result, spec, totals
from schema_checks import check_content

from tidegauge import store
from tidegauge.cli.completing import complete_campaigns_of_runs, complete_tags
from tidegauge.cli.main import run_command
from tidegauge.model.labels import RunLabels


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve nights, of which the last six take half as long again, and a run of another campaign."""
    directory = tmp_path_factory.mktemp("runs")
    for night in range(13):
        campaign, tags = ("nightly", ("main",)) if night < 12 else ("other", ("branch",))
        run = store.create_run(directory, campaign, f"name: {campaign}\n", labels=RunLabels("", tags))
        made = result(spec(), (1.0 if night < 6 else 1.5) + night / 1000)
        run.write_plan([made.spec])
        run.open_trial(made.spec).finish(made, totals())
        run.finish("finished")
        head = json.loads((run.path / "run.json").read_text())
        (run.path / "run.json").write_text(
            json.dumps({**head, "started_at": f"2026-11-{night + 1:02d}T02:00:00+00:00"})
        )
    return directory


def test_a_history_is_printed_and_written(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "deep" / "page.html"
    chosen = ["--campaign", "nightly", "--tag", "main"]
    assert run_command(["history", "--runs-dir", str(runs), *chosen, "--output", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "response p99    12    11.8 ms  1.50x since" in shown
    assert "worse" in shown and "nothing that was recorded changed with it" in shown
    assert "page.html" in shown.splitlines()[-1]
    text = page.read_text()
    assert "4 changes in 4 series" in text
    assert "nightly, tag main" in text


def test_its_json_has_every_point_and_change(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["history", "--runs-dir", str(runs), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    check_content(found)
    assert found["page"] == str(runs / "history.html")
    assert [(part["campaign"], len(part["runs"])) for part in found["parts"]] == [("nightly", 12), ("other", 1)]
    p99 = next(figure for figure in found["parts"][0]["figures"] if figure["name"] == "response_ms_p99")
    assert [round(point["value"], 2) for point in p99["points"]][::11] == [7.8, 11.79]
    (change,) = p99["changes"]
    assert (change["runs_before"], change["runs_since"], change["verdict"]) == (6, 6, "worse")
    assert found["parts"][1]["figures"][0]["untested"] == "few runs"


def test_mistakes_are_one_message(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["history", "--runs-dir", str(runs), "--tag", "mian"]) == 2
    assert "--tag 'mian': no run in" in (said := capsys.readouterr().err) and "did you mean 'main'?" in said
    assert run_command(["history", "--runs-dir", str(runs), "--campaign", "x"]) == 2
    assert "There are: nightly, other." in capsys.readouterr().err
    assert run_command(["history", "--runs-dir", str(tmp_path / "none")]) == 2
    assert "There is no directory" in capsys.readouterr().err
    assert run_command(["history", "--runs-dir", str(runs), "--output", str(tmp_path)]) == 2
    assert "is a directory" in capsys.readouterr().err


def test_without_what_draws_no_page_is_written(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tidegauge.cli.history.has_package", lambda name: False)
    page = tmp_path / "page.html"
    assert run_command(["history", "--runs-dir", str(runs), "--output", str(page)]) == 0
    printed = capsys.readouterr()
    assert "No page was written." in printed.err
    assert "1.50x since" in printed.out
    assert not page.exists()


def test_campaigns_and_tags_of_runs_are_offered(runs: Path) -> None:
    class Context:
        params = {"runs_dir": runs}  # noqa: RUF012

    assert complete_campaigns_of_runs(Context(), "") == ["nightly", "other"]  # type: ignore[arg-type]
    assert complete_tags(Context(), "m") == ["main"]  # type: ignore[arg-type]

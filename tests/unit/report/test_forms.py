"""The form in which a system gives its durability level: part of its label in every output."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, RenderableType
from run_samples import result, spec, totals

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.trial import LoadResult
from tidegauge.report.facts import RunFacts
from tidegauge.report.html.page import report_page
from tidegauge.report.junit import run_junit
from tidegauge.report.lists import ShownPlan, plan_list
from tidegauge.report.markdown import run_markdown
from tidegauge.report.names import SystemNames
from tidegauge.report.summary import plan_summary, run_summary
from tidegauge.report.terminal import run_report
from tidegauge.report.verdicts import verdicts

PULSAR = "pulsar@4.2.4"


def trial(number: int, system: str, form: str = "", at: str = "") -> LoadResult:
    made = replace(spec(system, number=number), choice=LevelChoice(2, form), point={"durability": at} if at else {})
    made = replace(made, trial_id=f"{made.trial_id}{at.replace(' ', '-')}")
    return replace(result(made, float(number)), level=LevelFinding(2, ("as set",)))


def found(one: LoadResult) -> Finding:
    figures = {"sustainable_msgs_per_s": 1000.0}
    return Finding(
        f"f-{one.spec.trial_id}", "max-throughput", one.spec.system, 0, True, ("Sustains 1,000.",),
        rows=({"msg/s": 1000.0},), figures=figures, point=one.spec.point,
    )  # fmt: skip


def stored(runs: Path, name: str, *results: LoadResult, searched: bool = True) -> store.StoredRun:
    run = store.create_run(runs, name, "", "c.yaml")
    run.write_plan([result.spec for result in results])
    for measured in results:
        run.open_trial(measured.spec).finish(measured, totals())
        if searched:
            run.write_finding(found(measured))
    run.finish("finished")
    return store.load_run(run.path)


def text(part: RenderableType) -> str:
    console = Console(width=100, markup=False, highlight=False)
    with console.capture() as capture:
        console.print(part)
    return capture.get()


@pytest.fixture
def both(tmp_path: Path) -> store.StoredRun:
    """A sweep over the two forms of one level: only the form tells Pulsar's trials apart."""
    return stored(
        tmp_path / "runs", "both", trial(1, "kafka@4.3.1", at="2"), trial(2, PULSAR, "journal", "2"),
        trial(3, "kafka@4.3.1", at="2 bypass"), trial(4, PULSAR, "bypass", "2 bypass"),
    )  # fmt: skip


def test_the_plan_shows_it_also_where_the_default_was_taken(both: store.StoredRun) -> None:
    lines = text(plan_list(ShownPlan(both.planned, 60.0))).splitlines()
    assert any("pulsar@4.2.4  2 journal " in line for line in lines)
    assert any("pulsar@4.2.4  2 bypass " in line for line in lines)
    assert len([line for line in lines if "  kafka@4.3.1   2   " in line]) == 2, "it has no form"
    assert max(map(len, lines)) <= 100
    forms = [trial["choice"]["form"] for trial in plan_summary(ShownPlan(both.planned, 60.0))["trials"]]
    assert forms == ["", "journal", "", "bypass"]


@pytest.mark.parametrize("form", ["journal", "bypass"])
def test_every_output_of_a_run_shows_it(tmp_path: Path, form: str) -> None:
    run = stored(tmp_path / "runs", "one", trial(1, "kafka@4.3.1"), trial(2, PULSAR, form))
    label = f"pulsar@4.2.4 ({form})"
    shown = text(run_report(run))
    assert f"\n{label} " in shown, "in the table of figures"
    assert f"{label}: Sustains 1,000." in shown
    assert f"{label}'s rate is" in shown or f"{label}'s " in shown.replace("\n", " ")
    assert f"level 2 for every measured system (pulsar@4.2.4: {form})" in shown.replace("\n", " ")
    assert max(map(len, shown.splitlines())) <= 100
    assert f"| {label} |" in run_markdown(run)
    assert f"{label}: " in run_junit(run).decode()
    page = report_page(run, store.details_of(run))
    assert page.count(label) >= 3
    assert all(f"Pulsar ({form})" in verdict.sentence for verdict in verdicts(RunFacts(run)))
    summary = run_summary(run)
    assert summary["durability"]["systems"][PULSAR]["asked"]["form"] == form
    assert summary["experiments"][0]["comparisons"][0]["forms"] == [form, ""]
    assert label in summary["finding_comparisons"][0]["sentence"]


def test_one_system_alone_needs_no_name_beside_its_form(tmp_path: Path) -> None:
    run = stored(tmp_path / "runs", "alone", trial(1, PULSAR, "bypass"))
    assert "level 2 for pulsar@4.2.4 (bypass), as asked" in text(run_report(run)).replace("\n", " ")


def test_a_sweep_over_forms_distinguishes_each_point(both: store.StoredRun) -> None:
    shown = text(run_report(both))
    assert "2           pulsar@4.2.4 (journal)" in shown
    assert "2           pulsar@4.2.4 (bypass)" in shown
    assert "2           kafka@4.3.1" in shown
    assert "2 bypass    kafka" not in shown, "it has no form"
    assert "durability=2 bypass: pulsar@4.2.4 (bypass): Sustains" in shown
    latency = next(verdict.sentence for verdict in verdicts(RunFacts(both)) if verdict.experiment == "latency")
    assert "(durability=2, journal)" in latency
    assert "(durability=2 bypass)" in latency


def test_compared_runs_show_the_forms_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEGAUGE_RUNS", str(tmp_path / "runs"))
    pair = [(form, trial(1, PULSAR, form)) for form in ("journal", "bypass")]
    names = [stored(tmp_path / "runs", form, one, searched=False).path.name for form, one in pair]
    run_command(["compare", *names, "--markdown", str(tmp_path / "c.md")])
    shown = capsys.readouterr()
    out = " ".join(shown.out.split())
    assert not shown.err
    assert "pulsar@4.2.4 (bypass) against pulsar@4.2.4 (journal), B against A" in out
    assert "pulsar@4.2.4 (bypass) against pulsar@4.2.4 (journal)" in (tmp_path / "c.md").read_text()
    run_command(["compare", *names, "--json"])
    assert {tuple(comparison["forms"]) for comparison in json.loads(capsys.readouterr().out)["comparisons"]} == {
        ("bypass", "journal")
    }


def test_what_an_attached_cluster_decides_is_not_called_a_form(tmp_path: Path) -> None:
    expected = trial(1, PULSAR, "journal")
    there = replace(expected, spec=replace(expected.spec, choice=LevelChoice(2, "journal", as_found=True)))
    assert "(journal)" not in text(run_report(stored(tmp_path / "runs", "one", there)))


def test_a_point_that_names_the_form_does_not_name_it_twice() -> None:
    names = SystemNames((PULSAR,), {PULSAR: {"durability=2 journal": "journal", "durability=2": "bypass", "1": ""}})
    assert names.where(PULSAR, "durability=2 journal") == "durability=2 journal"
    assert names.where(PULSAR, "durability=2") == "durability=2, bypass"
    assert names.where(PULSAR, "1") == "1"

"""A run stored when trials of all kinds had the fields of all kinds: it can still be read, shown and resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_samples import totals
from schema_checks import check_content

from tidegauge import store
from tidegauge.cli.resuming import recorded_of
from tidegauge.model.trial import AttestResult, AttestSpec, LoadResult, LoadSpec, ReadResult, ReadSpec
from tidegauge.report.html.answer import BAD, DOUBT, _message_badge
from tidegauge.report.html.page import report_page
from tidegauge.report.junit import run_junit
from tidegauge.report.markdown import run_markdown
from tidegauge.report.summary import run_summary
from tidegauge.statistics.figures import FIGURES
from tidegauge.store.details import details_of

RUN = Path(__file__).parents[2] / "old_run"
LOAD, PEAK, CATCH_UP, READ, ATTEST, CONTROL = (
    "0001-latency-kafka",
    "0002-peak-kafka",
    "0003-catch-up-kafka",
    "0004-read-kafka",
    "0005-attest-kafka-cuts",
    "0005-attest-kafka-positive-control",
)


@pytest.fixture(scope="module")
def run() -> store.StoredRun:
    return store.load_run(RUN)


def test_every_trial_is_read_with_what_it_found(run: store.StoredRun) -> None:
    assert [trial.problem for trial in run.trials] == [""] * 6
    results = {result.spec.trial_id: result for result in run.results}
    assert [*results] == [LOAD, PEAK, CATCH_UP, READ, ATTEST]
    assert (results[LOAD].msgs_per_s, results[LOAD].response.p99_ms) == (20_000.0, 7.8)
    assert results[PEAK].offered_msgs_per_s is None
    assert (results[CATCH_UP].catch_up.chase_s, results[CATCH_UP].spec.late.backlog_msgs) == (2.5, 1000)
    assert [sub.received for sub in results[READ].subscriptions] == [4000, 4000]
    assert [cycle.lost for cycle in results[ATTEST].attest.cycles] == [0, 0, 2]
    control = next(trial for trial in run.trials if trial.trial_id == CONTROL)
    assert (control.status, control.spec.attest.control) == ("interrupted", True)
    assert control.cycles.cycles[1].lost == 9


def test_the_page_says_what_reading_alone_can_know(run: store.StoredRun) -> None:
    reading = next(trial for trial in run.trials if trial.trial_id == READ)
    others = _message_badge(replace(run, trials=(reading,)))
    assert (others.state, others.text) == (DOUBT, "Messages not checked")
    assert "Of 8,000 messages read 0 carry checksums" in others.sentence
    ours = tuple(replace(subscription, verified=4000) for subscription in reading.result.subscriptions)
    whole = replace(reading, result=replace(reading.result, subscriptions=ours))
    assert _message_badge(replace(run, trials=(whole,))).text == "8,000 messages checked: corrupt 0"
    bad = replace(reading.result, subscriptions=(replace(ours[0], corrupt=7),))
    alone = _message_badge(replace(run, trials=(replace(reading, result=bad),)))
    assert (alone.state, alone.text) == (BAD, "4,000 messages checked: corrupt 7")
    load = next(trial for trial in run.trials if trial.trial_id == LOAD)
    beside = _message_badge(replace(run, trials=(load, replace(reading, result=bad))))
    assert beside.state == BAD
    assert "corrupt 7" in beside.text


def test_what_a_kind_of_trial_does_not_measure_is_no_figure_of_it(run: store.StoredRun) -> None:
    reading = next(result for result in run.results if result.spec.trial_id == READ)
    assert FIGURES["msgs_per_s"].value_in(reading) == reading.msgs_per_s > 0
    assert FIGURES["response_ms_p99"].value_in(reading) is None
    assert FIGURES["end_to_end_ms_p99"].value_in(reading) is None
    assert FIGURES["lost"].value_in(reading) is None


def test_it_is_shown_everywhere(run: store.StoredRun) -> None:
    page = report_page(run, details_of(run))
    markdown, junit = run_markdown(run), run_junit(run).decode()
    for name in (LOAD, PEAK, CATCH_UP, READ, ATTEST, CONTROL):
        assert name in page
    for experiment in ("latency", "peak", "catch-up", "read"):
        assert experiment in markdown
        assert f'name="{experiment}"' in junit
    summary = run_summary(run)
    assert [found["experiment"] for found in summary["experiments"]] == ["latency", "peak", "catch-up", "read"]
    assert [result["spec"]["trial_id"] for result in summary["exploratory_trials"]] == [ATTEST]


def test_it_can_be_gone_on_with(run: store.StoredRun) -> None:
    recorded = recorded_of(run)
    planned = {spec.trial_id: spec for spec in run.planned}
    for result in run.results:
        assert recorded.result_of(planned[result.spec.trial_id]) == result
    assert recorded.cycles_of(planned[CONTROL]) is not None


def test_each_trial_is_of_its_kind(run: store.StoredRun) -> None:
    assert [type(spec) for spec in run.planned] == [LoadSpec, LoadSpec, LoadSpec, ReadSpec, AttestSpec, AttestSpec]
    assert [type(trial.spec) for trial in run.trials] == [type(spec) for spec in run.planned]
    assert [type(result) for result in run.results] == [LoadResult, LoadResult, LoadResult, ReadResult, AttestResult]
    assert [result.spec.trial_id for result in run.measured] == [LOAD, PEAK, CATCH_UP, READ]


def keys_of(path: Path, name: str, part: str) -> set[str]:
    content: Any = json.loads((path / "trials" / name / "result.json").read_text())["result"]
    return set(content[part] if part else content)


def test_it_is_written_again_with_the_fields_of_its_kind_only(run: store.StoredRun, tmp_path: Path) -> None:
    again = store.create_run(tmp_path, "again", run.campaign_text, run.campaign_path)
    again.write_plan(run.planned)
    for result in run.results:
        again.open_trial(result.spec).finish(result, totals())
    read = store.load_run(again.path)
    assert (read.planned, read.results) == (run.planned, run.results)
    kept = {"spec", "msgs_per_s", "mb_per_s", "subscriptions", "measured_s", "validity"}
    assert keys_of(again.path, LOAD, "") == keys_of(RUN, LOAD, "") - {"attest"}
    assert kept <= keys_of(again.path, READ, "") < keys_of(RUN, READ, "") - {"response", "acked", "attest", "catch_up"}
    assert keys_of(again.path, ATTEST, "").isdisjoint({"msgs_per_s", "response", "subscriptions", "limiting"})
    # `apart` is newer than the run.
    assert keys_of(again.path, LOAD, "spec") == keys_of(RUN, LOAD, "spec") - {"attest"} | {"apart"}
    assert keys_of(again.path, READ, "spec").isdisjoint({"msgs_per_s", "late", "warmup_s_min", "attest"})
    for path in (*RUN.rglob("*.json"), *again.path.rglob("*.json")):
        content = json.loads(path.read_text())
        check_content(content)


@pytest.mark.parametrize("spec", [None, {}, {"workload": "x"}, {"attest": {}}, {"workload": {"producers": 0}}])
def test_a_trial_that_is_no_trial_is_a_problem_of_its_file(spec: object, tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "broken", "", "")
    run.finish("finished")
    directory = run.path / "trials" / LOAD
    directory.mkdir(parents=True)
    (directory / "trial.json").write_text(json.dumps({"schema": "tidegauge.trial/1", "spec": spec}))
    (directory / "result.json").write_text(json.dumps({"schema": "tidegauge.result/1", "result": {"spec": spec}}))
    (trial,) = store.load_run(run.path).trials
    assert (trial.spec, trial.result) == (None, None)
    assert "result.json" in trial.problem

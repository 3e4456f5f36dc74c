"""A run stored when trials of all kinds had the fields of all kinds: it is still read, shown, and gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegauge import store
from tidegauge.cli.resuming import recorded_of
from tidegauge.report.html.page import report_page
from tidegauge.report.junit import run_junit
from tidegauge.report.markdown import run_markdown
from tidegauge.report.summary import run_summary
from tidegauge.statistics.figures import FIGURES
from tidegauge.store.details import read_details

RUN = Path(__file__).parent / "old_run"
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


def test_what_a_kind_of_trial_does_not_measure_is_no_figure_of_it(run: store.StoredRun) -> None:
    reading = next(result for result in run.results if result.spec.trial_id == READ)
    assert FIGURES["msgs_per_s"].of(reading) == reading.msgs_per_s > 0
    assert FIGURES["response_ms_p99"].of(reading) is None
    assert FIGURES["end_to_end_ms_p99"].of(reading) is None
    assert FIGURES["lost"].of(reading) == 0


def test_it_is_shown_everywhere(run: store.StoredRun) -> None:
    page = report_page(run, {trial.trial_id: read_details(trial) for trial in run.trials})
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

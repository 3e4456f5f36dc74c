"""Faults in reports: each with what it did, in terminal, page and plots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gallery_samples
import pytest
from fault_samples import KILL, PAUSED, faulted
from page_scenes import run_named
from reasons import texts_of
from report_samples import KAFKA, PULSAR, sample_run
from run_samples import result, spec
from shown_runs import rendered

from tidegauge import store
from tidegauge.comparison.compared_trials import ComparedTrials, sort_compared_trials
from tidegauge.model.trial import LoadResult, TrialResult
from tidegauge.plain import plain_value, typed_value
from tidegauge.report.ending import ending
from tidegauge.report.findings import NOTE, fault_notes, faults_table, planned_faults
from tidegauge.report.html.sections import sections
from tidegauge.report.loads import load_words
from tidegauge.report.plots.draw import page_drawing
from tidegauge.report.plots.model import Details
from tidegauge.report.plots.timeline import MAIN, timelines
from tidegauge.report.screen import COLUMNS, run_screen
from tidegauge.statistics.classify import Evidence, judge_evidence
from tidegauge.store.read import load_run


def shown(block: ComparedTrials) -> list[str]:
    table = faults_table(block)
    assert table is not None
    return [" ".join(line.split()) for lines in table.lines(200) for line in lines]


def test_each_fault_has_a_row_with_what_it_did() -> None:
    block = ComparedTrials(
        "latency", (faulted(KAFKA, 1, PAUSED), faulted(PULSAR, 2, replace(PAUSED, normal_after_s=None, nodes=(3,))))
    )
    text = " ".join(shown(block))
    assert "kafka@4.3.1 1. pause, 2.0 3.5 1.0 2.0 4.20 1,530 4.0 0 0 5 1 node 2" in text
    assert "not seen" in text
    assert fault_notes(block) == ["The faults: 1. pause of the leader for 1.5 s, at 2 s.", NOTE]


def test_of_repeated_trials_the_median_is_reported_and_never_seen_is_longest() -> None:
    gaps = [replace(PAUSED, publish_gap_s=gap, normal_after_s=after) for gap, after in ((1, 2.0), (9, None), (3, None))]
    text = " ".join(
        shown(ComparedTrials("latency", tuple(faulted(KAFKA, place, one) for place, one in enumerate(gaps))))
    )
    assert " 3.0 2.0 " in text
    assert "not seen" in text


def test_of_two_trials_the_median_lies_between_them() -> None:
    both = [faulted(KAFKA, place, replace(PAUSED, normal_after_s=after)) for place, after in enumerate((2.0, 5.0))]
    assert " 3.5 " in " ".join(shown(ComparedTrials("latency", tuple(both))))


def test_a_loss_that_nobody_can_assign_is_a_question_mark() -> None:
    unknown = replace(PAUSED, lost=None)
    block = ComparedTrials("latency", (faulted(KAFKA, 1, unknown, replace(unknown, fault=KILL)),))
    assert any(" ? " in line for line in shown(block))
    assert "which of several faults" in fault_notes(block)[2]


def test_a_loss_that_nobody_can_assign_is_not_hidden_by_trials_without_one() -> None:
    found = (replace(PAUSED, lost=0), replace(PAUSED, lost=None))
    block = ComparedTrials("latency", tuple(faulted(KAFKA, place, one) for place, one in enumerate(found)))
    assert any(" ? " in line for line in shown(block))


def test_a_loss_that_nobody_could_look_for_is_not_none() -> None:
    one = faulted(KAFKA, 1, PAUSED)
    (sub,) = one.subscriptions
    for behind, row in ((0, "0 0 5 1"), (7, "0 - 5 1")):
        left = replace(one, subscriptions=(replace(sub, backlog=behind),))
        assert any(line.endswith(row) for line in shown(ComparedTrials("latency", (left,))))


def test_without_faults_nothing_is_said() -> None:
    block = ComparedTrials("latency", (result(spec(KAFKA, "latency", 1, 0), 1.0),))
    assert faults_table(block) is None
    assert fault_notes(block) == []
    assert planned_faults([result.spec for result in block.results]) == []
    assert "fault" not in load_words(block.results[0])


def test_plans_and_loads_name_them() -> None:
    one = faulted(KAFKA, 1, PAUSED, replace(PAUSED, fault=KILL))
    assert planned_faults([one.spec, one.spec]) == [
        "Faults while latency measures: pause of the leader for 1.5 s, at 2 s; kill of a random node for 2 s, at 6 s."
    ]
    assert load_words(one).endswith("measured, with 2 faults")


def test_trials_with_other_faults_are_not_compared() -> None:
    assert len(sort_compared_trials([faulted(KAFKA, 1, PAUSED), faulted(PULSAR, 2, PAUSED)])) == 1
    assert len(sort_compared_trials([faulted(KAFKA, 1, PAUSED), faulted(PULSAR, 2)])) == 2


def test_results_are_read_back_as_they_were_written() -> None:
    written = faulted(KAFKA, 1, PAUSED)
    assert typed_value(LoadResult, plain_value(written)).faults == (PAUSED,)


def test_plots_mark_them() -> None:
    run, details = run_named("sample")
    block = next(block for block in sort_compared_trials(run.results) if block.experiment == "latency")
    marked = ComparedTrials("latency", tuple(replace(result, faults=(PAUSED,)) for result in block.results))
    plot = timelines(marked, details, "x", MAIN)[0]
    assert [(span.label, span.begin, span.end) for span in plot.spans if span.inner] == [("pause", 2.01, 3.52)]
    assert plot.description.endswith("Faults: pause from 2.0 to 3.5 s.")
    assert ">pause<" in page_drawing(plot, {KAFKA: 0, PULSAR: 1}).svg
    # A node that takes longer to be started again: the fault lasts longer there, and is marked for both.
    slow = [
        replace(one, faults=(replace(PAUSED, until_s=3.6 + 5 * number),)) for number, one in enumerate(marked.results)
    ]
    plot = timelines(ComparedTrials("latency", tuple(slow[:2])), details, "x", MAIN)[0]
    assert [(span.label, span.end) for span in plot.spans if span.inner] == [("pause", 3.6), ("", 8.6)]
    assert plot.description.endswith("Faults: pause from 2.0 to 3.6 s, elsewhere to 8.6 s.")
    assert any("system and fault" in tables for tables in _tables(run, details))


def test_each_point_of_a_sweep_has_its_faults(tmp_path: Path) -> None:
    run = store.load_run(sample_run(tmp_path, trials=1))
    swept = tuple(_at(trial, str(place % 2)) for place, trial in enumerate(run.trials))
    parts = _tables(replace(run, trials=swept, findings=()), store.details_of(run))
    assert (
        sum("system and fault" in tables for tables in parts) == sum(part == ["system", "system"] for part in parts) * 2
    )


def _tables(run: store.StoredRun, details: Details) -> list[list[str]]:
    """The heads of the tables of each part of the page, if all trials had a fault."""
    faulty = replace(run, trials=tuple(_with_fault(trial) for trial in run.trials))
    return [
        [table.label_head for table in part.tables] for section in sections(faulty, details) for part in section.parts
    ]


def _at(trial: store.StoredTrial, partitions: str) -> store.StoredTrial:
    assert trial.result is not None
    return replace(
        trial, result=replace(trial.result, spec=replace(trial.result.spec, point={"partitions": partitions}))
    )


def _with_fault(trial: store.StoredTrial) -> store.StoredTrial:
    return replace(trial, result=replace(trial.result, faults=(PAUSED,)) if trial.result else None)


@pytest.mark.parametrize(("lost", "status"), [(0, "ok"), (3, "failed check")])
def test_a_fault_is_no_doubt_about_figures_but_a_loss_is(lost: int, status: str) -> None:
    made = result(spec(KAFKA, "latency", 1, 0), 1.0)
    evidence = Evidence(
        closed_loop=False,
        offered_msgs_per_s=1000.0,
        achieved_msgs_per_s=500.0,
        window_intended=10_000,
        failed=4000,
        unresolved=100,
        own_lag=replace(made.own_lag, p50_ms=0.0, p95_ms=0.0, p99_ms=0.0),
        response=made.response,
        subscriptions=[replace(subscription, lost=lost) for subscription in made.subscriptions[:1]],
        unsteady="",
        drain_end="drained",
        cpu_wait_share=0.0,
        blocked_share=0.0,
        gc_share=0.0,
        backlog_grew=True,
        drift="rate fell",
    )
    verdict = judge_evidence(replace(evidence, faults=1))
    assert verdict.status == status
    assert verdict.validity.value == ("doubtful" if lost else "valid")
    assert str(verdict.warnings[0]).startswith("a fault was made while it was measured")
    assert "4,000 messages failed and 100 never had an outcome" in texts_of(verdict.warnings)
    assert not any("keep up" in warning or "steady" in warning for warning in texts_of(verdict.warnings))
    assert judge_evidence(evidence).validity.value == "doubtful"


def test_a_leader_that_was_another_node_each_time_was_not_drawn_at_random() -> None:
    trials = [faulted("kafka@4.3.1", number, replace(PAUSED, nodes=(node,))) for number, node in ((1, 3), (2, 1))]
    (block,) = sort_compared_trials([replace(one, spec=replace(one.spec, block=n)) for n, one in enumerate(trials)])
    table = faults_table(block)
    assert table is not None
    (label,) = table.labels
    assert label.endswith("node 1 or 3")


def test_the_last_screen_says_what_each_fault_did(tmp_path: Path) -> None:
    run = load_run(gallery_samples.faults(tmp_path))
    lines = rendered(run_screen(run, ending(run), 0)).splitlines()
    assert any(
        line.split() == ["kafka@4.3.1", "1.", "pause,", "node", "2", "1.0", "2.0", "4.20", "1,530", "4.0"]
        for line in lines
    )
    assert max(map(len, lines)) <= COLUMNS
    many = replace(run, trials=[replace(trial, result=_faulted_often(trial.result)) for trial in run.trials])
    assert "... each fault in `show`" in rendered(run_screen(many, ending(many), 0))


def _faulted_often(load: TrialResult | None) -> TrialResult:
    assert isinstance(load, LoadResult)
    return replace(load, faults=load.faults * 4)

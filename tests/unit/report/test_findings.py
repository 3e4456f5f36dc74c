"""Findings: stored as they are, shown in words and as a table, shown as the run goes, and part of the exit code."""

from __future__ import annotations

import io
import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from rich.console import Console, Group
from run_samples import result, spec, totals

from tidegauge import store
from tidegauge.cli.output import EXIT_FAILED, EXIT_GOOD, EXIT_INVALID
from tidegauge.cli.running import CODES
from tidegauge.experiments.procedure import seconds_expected
from tidegauge.model.events import Decided, FindingReached, RunStarted
from tidegauge.model.finding import Above, Finding, curve_details, search_details
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.plain import plain_value
from tidegauge.report.ending import ending
from tidegauge.report.findings import by_experiment, finding_parts, finding_remarks
from tidegauge.report.live import LiveState, advance, is_lasting, plain_lines, seconds_left
from tidegauge.report.names import SystemNames
from tidegauge.report.summary import run_summary
from tidegauge.report.terminal import run_report

NAMES = SystemNames(("kafka@4.3.1",))
FINDING = Finding(
    finding_id="0002-max-throughput-kafka",
    experiment="max-throughput",
    system="kafka@4.3.1",
    block=0,
    decided=True,
    summary=("sustains 81,250 msg/s",),
    rows=({"goal": "no limit", "msg/s": 81_250.4, "p99, ms": 7.25, "trials": 9, "clause": None},),
    details={"goals": [{"sustainable_msgs_per_s": 81_250.4}]},
)
OPEN = replace(FINDING, finding_id="0003-max-throughput-pulsar", system="pulsar@4.2.4", decided=False, summary=("?",))


def text_of(*renderables: object) -> str:
    stream = io.StringIO()
    Console(file=stream, width=100, markup=False, highlight=False).print(Group(*renderables))  # type: ignore[arg-type]
    return stream.getvalue()


def run_with(tmp_path: Path, *found: Finding, results: tuple[LoadResult, ...] = (result(),)) -> store.StoredRun:
    run = store.create_run(tmp_path / "runs", "quick", "")
    for one in results:
        run.open_trial(one.spec).finish(one, totals())
    for finding in found:
        run.write_finding(finding)
    run.finish("finished")
    return store.load_run(run.path)


def exploratory(**changes: object) -> LoadResult:
    return result(replace(spec(number=7), exploratory=True), **changes)


def test_a_finding_reads_back_as_it_was(tmp_path: Path) -> None:
    run = run_with(tmp_path, OPEN, FINDING)
    assert run.findings == (FINDING, OPEN)
    path = run.path / "findings" / "0002-max-throughput-kafka.json"
    assert json.loads(path.read_text())["schema"] == "tidegauge.finding/1"
    path.write_text("{")
    assert store.load_run(run.path).findings == (OPEN,)


def test_a_finding_is_words_and_a_table() -> None:
    text = text_of(*finding_parts(by_experiment([FINDING]), NAMES, ()))
    assert "kafka@4.3.1: sustains 81,250 msg/s" in text
    head, row = text.splitlines()[-2:]
    assert head.split() == ["system", "goal", "msg/s", "p99,", "ms", "trials", "clause"]
    assert row.split() == ["kafka@4.3.1", "no", "limit", "81,250", "7.25", "9", "-"]


def test_repeated_findings_name_their_block() -> None:
    both = [FINDING, replace(FINDING, block=1)]
    assert "kafka@4.3.1, block 2: " in text_of(*finding_parts(by_experiment(both), NAMES, ()))


def test_of_a_search_each_goal_is_doubtful_by_itself() -> None:
    sure, doubted = exploratory(), result(spec(number=8), validity=Validity.DOUBTFUL)
    goals = [
        {"goal": "no limit", "decided": True, "confirmation_trial_id": sure.spec.trial_id},
        {"goal": "prompt", "decided": True, "confirmation_trial_id": doubted.spec.trial_id},
        {"goal": "quick", "decided": False},
    ]
    search = replace(FINDING, decided=False, summary=("no limit", "prompt", "quick"), details={"goals": goals})
    remarks = finding_remarks([search], NAMES, (sure, doubted))
    assert [remark.validity for remark in remarks] == [None, Validity.DOUBTFUL, Validity.DOUBTFUL]


def test_what_rests_on_one_trial_is_doubtful_where_that_is() -> None:
    for validity, expected in ((Validity.VALID, None), (Validity.DOUBTFUL, Validity.DOUBTFUL)):
        trial = exploratory(validity=validity)
        found = replace(FINDING, details={"trial_id": trial.spec.trial_id})
        assert [remark.validity for remark in finding_remarks([found], NAMES, (trial,))] == [expected]


def test_exploratory_trials_have_no_table_of_their_own_and_stay_in_the_json(tmp_path: Path) -> None:
    step = exploratory(msgs_per_s=987_654.0)
    run = run_with(tmp_path, FINDING, results=(result(), step))
    assert "987,654" not in text_of(run_report(run))
    assert "max-throughput: what was found" in text_of(run_report(run))
    summary = run_summary(run)
    assert [one["spec"]["trial_id"] for one in summary["exploratory_trials"]] == [step.spec.trial_id]
    assert summary["findings"][0]["details"] == FINDING.details
    assert len(summary["experiments"]) == 1


@pytest.mark.parametrize(
    ("found", "step", "code"),
    [
        (FINDING, exploratory(validity=Validity.INVALID), EXIT_GOOD),
        (FINDING, result(validity=Validity.INVALID), EXIT_INVALID),
        (OPEN, exploratory(), EXIT_INVALID),
        (FINDING, exploratory(subscriptions=(replace(result().subscriptions[0], lost=3),)), EXIT_GOOD),
        (FINDING, result(subscriptions=(replace(result().subscriptions[0], lost=3),)), EXIT_FAILED),
        (FINDING, result(subscriptions=(replace(result().subscriptions[0], corrupt=2),)), EXIT_FAILED),
    ],
)
def test_the_exit_code_heeds_findings_and_not_the_steps_to_them(
    tmp_path: Path, found: Finding, step: LoadResult, code: int
) -> None:
    assert CODES[ending(run_with(tmp_path, found, results=(step,))).end] == code


def test_decisions_and_findings_are_lines_that_stay() -> None:
    left = (spec(number=2), spec(number=3))
    event = Decided("40,000 msg/s: pass.", (spec(), *left), 2, 75.0)
    assert plain_lines(LiveState(), event, 0.0) == ["40,000 msg/s: pass. About 2 more trials, 1 min 15 s."]
    assert plain_lines(LiveState(), replace(event, trials_left=0), 0.0) == ["40,000 msg/s: pass."]
    assert plain_lines(LiveState(), FindingReached(FINDING), 0.0) == [
        "0002-max-throughput-kafka: sustains 81,250 msg/s"
    ]
    assert is_lasting(event)
    assert is_lasting(FindingReached(FINDING))
    assert not is_lasting(RunStarted("", (), 0.0))


def test_the_time_left_follows_what_is_expected() -> None:
    state = advance(LiveState(), RunStarted("runs/x", (spec(),), 50.0), 0.0)
    state = advance(state, Decided("", (spec(), spec(number=2)), 1, 50.0), 1.0)
    assert seconds_left(state, 1.0) == 2 * seconds_expected(spec())


STORED_GOAL = {
    "goal": "10 ms",
    "limits": ["response p99 <= 10 ms"],
    "decided": True,
    "sustainable_msgs_per_s": 52_000.0,
    "lower_msgs_per_s": 52_000.0,
    "upper_msgs_per_s": 54_000.0,
    "above": {"kind": "rate", "clause": "achieved 90 % of the offered rate", "outcome": "fail"},
    "confirmation_trial_id": "0001-max-throughput-kafka-s09-confirm",
    "confirmation_mb_per_s": 53.2,
    "stepped_down": 1,
    "problem": "",
    "remark": "",
}
STORED_POINT = {
    "share": 0.1,
    "trial_id": "0002-curve-kafka-s01",
    "offered_msgs_per_s": 5_200.0,
    "msgs_per_s": 5_199.0,
    "response_p50_ms": 1.0,
    "response_p99_ms": 4.0,
    "end_to_end_p99_ms": None,
    "state": "sustained",
    "validity": "valid",
}


def test_answers_are_stored_in_the_form_in_which_they_always_were() -> None:
    found = replace(FINDING, details={"trials": 9, "goals": [STORED_GOAL], "points": [STORED_POINT]})
    (goal,), (point,) = found.goals, found.points
    assert (goal.above, goal.limits) == (Above(**STORED_GOAL["above"]), ("response p99 <= 10 ms",))  # type: ignore[arg-type]
    assert (goal.upper_msgs_per_s, point.response_p99_ms, point.state) == (54_000.0, 4.0, "sustained")
    assert plain_value(search_details(9, [goal])) == {"trials": 9, "goals": [STORED_GOAL]}
    assert plain_value(curve_details(52_000.0, [point])) == {"full_rate_msgs_per_s": 52_000.0, "points": [STORED_POINT]}
    assert plain_value(found.with_goals([goal]).details) == found.details
    assert list(STORED_GOAL) == [one.name for one in fields(goal)]


def test_answers_that_other_versions_stored_are_read(tmp_path: Path) -> None:
    old = {"goals": [{"sustainable_msgs_per_s": 40_000, "of_a_later_version": 1}, "no goal"], "points": "none"}
    (found,) = run_with(tmp_path, replace(FINDING, details=old)).findings
    (goal,) = found.goals
    assert (goal.sustainable_msgs_per_s, goal.decided, goal.confirmation_trial_id) == (40_000, False, None)
    assert found.points == ()
    assert found.figure("sustainable_msgs_per_s") == 40_000.0
    late = replace(FINDING, details={"trial_id": "0003-catch-up-kafka", "chase_s": 12.0})
    assert (late.figure("chase_s"), late.figure("drain_msgs_per_s")) == (12.0, None)
    assert late.published_trial_id == "0003-catch-up-kafka"
    assert replace(late, figures={"chase_s": 13.0}).figure("chase_s") == 13.0


def test_only_the_model_reads_what_is_stored_of_a_finding() -> None:
    source = Path(__file__).resolve().parents[3] / "src/tidegauge"
    untyped = re.compile(r"\.details(\[|\.get\()")
    assert untyped.search('goal = finding.details["goals"]')
    assert [path.name for path in source.rglob("*.py") if untyped.search(path.read_text())] == ["finding.py"]

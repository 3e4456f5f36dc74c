"""Reasons and warnings of a trial are stored as texts, as they always were, and with their kinds beside them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from run_samples import result, spec, totals
from schema_checks import check_content

from tidegauge import store
from tidegauge.model.disturbance import Disturbance, Disturbed, Harm
from tidegauge.model.events import left_out_note
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.model.use import Limiting, NearLimit, Resource
from tidegauge.plain import plain_value

QUOTA = Disturbance(Disturbed.QUOTA, Harm.DOUBTFUL, "the load generator was held back", "raise or remove the quota")
REASONS = (
    Reason(ReasonKind.OWN_LAG, "the load generator itself was late: its own lag", "give it more CPU"),
    Reason(ReasonKind.LOST, "3 acknowledged messages got lost (sub-0)"),
)
WARNINGS = (Reason(ReasonKind.CPU_WAIT, "load threads waited for a CPU", conclusion="they were short of CPU"),)
RESULT = result(validity=Validity.INVALID, reasons=REASONS, warnings=WARNINGS, disturbances=(QUOTA,))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = store.create_run(tmp_path, "sample", "", "")
    run.open_trial(spec()).finish(RESULT, totals())
    run.finish("finished")
    return run.path


def file_of(run: Path) -> Path:
    (path,) = run.glob("trials/*/result.json")
    return path


def read_result(run: Path) -> LoadResult:
    (stored,) = store.load_run(run).trials
    assert isinstance(stored.result, LoadResult), stored.problem
    return stored.result


def rewrite(run: Path, *, reasons: object, **changes: object) -> None:
    """Make a file of the run as another Tidegauge may have left it; what is None is left out."""
    content = json.loads(file_of(run).read_text())
    content["result"]["reasons"] = reasons
    whole = {key: value for key, value in {**content, **changes}.items() if value is not None}
    file_of(run).write_text(json.dumps(whole))


def test_older_versions_find_the_texts_and_this_one_all(run: Path) -> None:
    content = json.loads(file_of(run).read_text())
    assert content["result"]["reasons"] == [
        "the load generator itself was late: its own lag (give it more CPU)",
        "3 acknowledged messages got lost (sub-0)",
    ]
    assert content["result"]["warnings"] == ["load threads waited for a CPU: they were short of CPU"]
    check_content(content)
    assert read_result(run) == RESULT


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "the load generator itself was late, not the system: its own lag (give it more CPU, or offer a lower rate)",
            Reason(
                ReasonKind.OWN_LAG,
                "the load generator itself was late, not the system: its own lag",
                "give it more CPU, or offer a lower rate",
            ),
        ),
        (
            "the load generator was held back (raise or remove the quota)",
            Reason(ReasonKind.OTHER, "the load generator was held back", "raise or remove the quota"),
        ),
        (
            "load threads waited for a CPU for 0.3 s in each second: this host is short of CPU",
            Reason(
                ReasonKind.CPU_WAIT,
                "load threads waited for a CPU for 0.3 s in each second",
                conclusion="this host is short of CPU",
            ),
        ),
        (
            "the system did not keep up: 8 of 9 msg/s",
            Reason(ReasonKind.NOT_KEPT_UP, "the system did not keep up: 8 of 9 msg/s"),
        ),
        ("what nobody says any more (see there)", Reason(ReasonKind.OTHER, "what nobody says any more (see there)")),
    ],
)
def test_of_a_run_without_kinds_they_are_told_by_the_texts(run: Path, text: str, reason: Reason) -> None:
    rewrite(run, reasons=[text], remarks=None)
    assert read_result(run).reasons == (reason,)
    assert str(reason) == text


def test_a_kind_that_a_later_version_added_is_some_other(run: Path) -> None:
    reasons = [{"kind": "phase of the moon", "text": "the moon was full", "since": 2031}]
    rewrite(run, reasons=["the moon was full"], remarks={"reasons": reasons})
    assert read_result(run).reasons == (Reason(ReasonKind.OTHER, "the moon was full"),)
    assert read_result(run).warnings == WARNINGS, "kinds that are not stored are found by the texts"


@pytest.mark.parametrize("reasons", ["late", 7, [7], [["late"]], {"late": 1}])
def test_what_is_no_list_of_texts_is_a_problem_of_its_file(run: Path, reasons: object) -> None:
    rewrite(run, reasons=reasons, remarks=None)
    (stored,) = store.load_run(run).trials
    assert stored.result is None
    assert "reasons" in stored.problem


def test_why_a_trial_failed_is_known_without_the_log_that_it_names(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "failed", "", "")
    run.open_trial(spec()).fail("The worker ended.", False, Path("/logs/worker.log"))
    run.finish("failed")
    (path,) = run.path.glob("trials/*/trial.json")
    content = json.loads(path.read_text())
    check_content(content)
    (trial,) = store.load_run(run.path).trials
    assert trial.reason == "The worker ended. (log: /logs/worker.log)"
    assert (trial.cause, trial.log_path) == ("The worker ended.", "/logs/worker.log")
    del content["cause"], content["log_path"]
    path.write_text(json.dumps(content))
    assert store.load_run(run.path).trials == (trial,), "as of a run of before"


def test_which_trials_a_run_has_its_reason_from_is_known(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "failed", "", "")
    run.open_trial(spec()).fail("The worker ended.", False)
    run.open_trial(spec(number=2)).fail("No disk.", False)
    run.open_trial(spec(number=3))
    run.finish("failed", "The worker ended.", [spec().trial_id])
    head = run.path / "run.json"
    content = json.loads(head.read_text())
    check_content(content)
    stored = store.load_run(run.path)
    assert stored.reason_trials == (spec().trial_id, spec(number=3).trial_id), "the last was open, and ended with it"
    del content["reason_trials"]
    head.write_text(json.dumps(content))
    assert store.load_run(run.path) == stored, "as of a run of before"


def test_which_system_was_left_out_is_known(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "left", "", "")
    note = left_out_note("kafka@4.3.1", "it is too\n large", "nodes=3")
    assert note.text == "kafka@4.3.1 at nodes=3 is left out: it is too large"
    run.add_note("something else")
    run.add_note(note.text, note.left_out)
    run.finish("finished")
    assert store.load_run(run.path).left_out == (note,)
    head = run.path / "run.json"
    content = json.loads(head.read_text())
    check_content(content)
    assert content["notes"] == ["something else", note.text]
    del content["left_out"]
    head.write_text(json.dumps(content))
    assert store.load_run(run.path).left_out == (note,), "as of a run of before"
    again = store.resume_run(run.path)
    again.finish("finished")
    assert store.load_run(run.path).left_out == (note,)


FULL_HOST = Limiting(
    Resource.HOST_CPU,
    "",
    0.97,
    "97% of 2 CPUs (servers 1.20, everything else 0.74); tasks waited for a CPU 40% of the time",
    (NearLimit("disk vda", " (97 %): busy 97% of the time"),),
    used="97% of 2 CPUs",
    users="servers 1.20, everything else 0.74",
)


@pytest.mark.parametrize(
    ("without", "limiting"),
    [
        ((), FULL_HOST),
        (("used", "users"), FULL_HOST),
        ((), replace(FULL_HOST, resource=Resource.MEMORY, used="", users="")),
    ],
    ids=["as it is", "of before", "of another resource"],
)
def test_what_limited_a_trial_is_read_with_who_used_it(run: Path, without: tuple[str, ...], limiting: Limiting) -> None:
    """An older version has the evidence alone, which then says it."""
    stored = {key: value for key, value in plain_value(limiting).items() if key not in without}
    assert stored["others"] == ["disk vda (97 %): busy 97% of the time"]
    content = json.loads(file_of(run).read_text())
    content["result"]["limiting"] = stored
    file_of(run).write_text(json.dumps(content))
    assert read_result(run).limiting == limiting

"""The command line: verbs, --json, errors, exit codes. What runs a campaign is replaced; the rest is real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from reasons import reasons_of
from ruamel.yaml import YAML
from run_samples import result, second, totals

import tidegauge
from tidegauge import store
from tidegauge.campaign.plan.plan import Plan
from tidegauge.cli import running
from tidegauge.cli.ending import error_of_crash
from tidegauge.cli.main import run_command
from tidegauge.errors import RunFailedError
from tidegauge.experiments.procedure import experiments
from tidegauge.model.events import Observer, RunStarted, TrialEnded
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.report.layout import shown_path

Change = Callable[[LoadResult], LoadResult]


class _Host:
    agent_pid = os.getpid()

    def __enter__(self) -> _Host:
        return self

    def __exit__(self, *_: object) -> None:
        return None


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No agent, nothing to clean up, no terminal colours, runs in a directory of the test's own."""
    monkeypatch.setattr(running.LocalHost, "open", _Host)
    monkeypatch.setattr(running, "clean_leftovers", lambda: ["Ended processes left by an earlier run: kafka-1."])
    monkeypatch.setenv("TIDEGAUGE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("TIDEGAUGE_REPORT", "off")  # test_reports.py has its tests
    monkeypatch.setenv("TIDEGAUGE_CEILINGS", "off")
    monkeypatch.delenv("TIDEGAUGE_DEBUG", raising=False)


def measured(
    monkeypatch: pytest.MonkeyPatch, change: Change = lambda run: run, fails: BaseException | None = None
) -> None:
    """Replace the execution: every planned trial gets a result (changed by `change`); then `fails` is raised."""

    def execute(
        plan: Plan,
        run: store.RunStore,
        _host: object,
        observer: Observer,
        _recorded: object,
        **_more: object,
    ) -> None:
        trials = plan.trials
        run.write_plan(trials)
        observer(RunStarted(str(run.path), trials, 10.0))
        for trial in trials:
            directory = run.open_trial(trial)
            directory.append_second(second())
            found = change(result(replace(trial, msgs_per_s=trial.msgs_per_s or 20_000.0)))
            directory.finish(found, totals())
            observer(TrialEnded(trial, found, ""))
            if fails is not None:
                raise fails
        run.finish("finished")

    monkeypatch.setattr(running, "execute", execute)


def the_object(text: str) -> dict[str, Any]:
    """Standard output as the one JSON object that it must be."""
    found = json.loads(text)
    assert isinstance(found, dict)
    assert next(iter(found)) == "schema"
    return found


def test_quick_measures_stores_and_reports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # From there a path is shown as a part of itself, wherever the tests are: else a whole one counts as a long line.
    monkeypatch.chdir("/")
    measured(monkeypatch)
    assert run_command(["quick"]) == 0
    shown = capsys.readouterr().out
    assert "Note: Ended processes left by an earlier run: kafka-1." in shown
    assert "Kafka" in shown
    (run,) = store.list_runs(tmp_path / "runs")
    assert not [line for line in shown.splitlines() if len(line) > 100 and shown_path(run.path) not in line]
    assert str(run.path) in shown
    assert run.status == "finished"
    assert run.campaign_text.startswith("#")
    assert run.environment["host"]["cpus"] >= 1
    assert run.environment["packages"]["numpy"]
    assert run.environment["campaign"]["seed"] == 1
    assert run.environment["tidegauge"]["version"] == tidegauge.__version__


@pytest.mark.parametrize(
    ("arguments", "schema", "code"),
    [
        (["--version", "--json"], "tidegauge.version/1", 0),
        (["quick", "--json"], "tidegauge.report/1", 0),
        (["quick", "--dry-run", "--json"], "tidegauge.plan/1", 0),
        (["run", "quick", "--json"], "tidegauge.report/1", 0),
        (["runs", "--json"], "tidegauge.runs/1", 0),
        (["show", "last", "--json"], "tidegauge.report/1", 0),
        (["clean", "--json"], "tidegauge.clean/1", 0),
        (["show", "nothing-like-it", "--json"], "tidegauge.error/1", 2),
        (["quick", "--level", "5", "--json"], "tidegauge.error/1", 2),
        (["nonsense", "--json"], "tidegauge.error/1", 2),
    ],
)
def test_json_is_one_object_with_a_schema(
    arguments: list[str], schema: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tidegauge.agent.reap.clean_leftovers", lambda: [])
    monkeypatch.setattr(sys, "argv", ["tidegauge", *arguments])
    measured(monkeypatch)
    if "show" in arguments:
        run_command(["quick"])
        capsys.readouterr()
    assert run_command(arguments) == code
    assert the_object(capsys.readouterr().out)["schema"] == schema


def test_options_override_the_campaign(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run_command(["quick", "--level", "4", "--systems", "kafka@3.9.2", "--repeat", "2", "--dry-run", "--json"]) == 0
    )
    trials = the_object(capsys.readouterr().out)["trials"]
    assert {(trial["system"], trial["choice"]["level"], trial["block"]) for trial in trials} == {
        ("kafka@3.9.2", 4, 0),
        ("kafka@3.9.2", 4, 1),
    }


def _changed(**changes: object) -> Change:
    return lambda run: replace(run, **changes)  # type: ignore[arg-type]


def _lossy(one: LoadResult) -> LoadResult:
    return replace(one, subscriptions=(replace(one.subscriptions[0], lost=1),), validity=Validity.DOUBTFUL)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (_changed(), 0),
        (_changed(validity=Validity.DOUBTFUL), 0),
        (_changed(validity=Validity.INVALID, reasons=reasons_of("late")), 3),
        (_lossy, 1),
    ],
)
def test_exit_codes_of_a_run_that_ended(
    change: Change, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(monkeypatch, change)
    assert run_command(["quick"]) == code


def test_a_failure_keeps_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    measured(monkeypatch, fails=RunFailedError("kafka-1 ended.", "Look at its log.", Path("/x/kafka-1.log")))
    assert run_command(["quick"]) == 1
    shown = capsys.readouterr()
    assert "1 of 6 trials finished, failed" in shown.out
    assert shown.err == "Error: kafka-1 ended.\n  Look at its log.\n  Log: /x/kafka-1.log\n"
    (run,) = store.list_runs(tmp_path / "runs")
    assert (run.status, len(run.results)) == ("failed", 1)


def test_a_failure_in_json_is_still_one_object(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(monkeypatch, fails=RunFailedError("kafka-1 ended."))
    assert run_command(["quick", "--json"]) == 1
    found = the_object(capsys.readouterr().out)
    assert (found["run"]["status"], found["run"]["reason"]) == ("failed", "kafka-1 ended.")


def test_an_interruption_keeps_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    measured(monkeypatch, fails=KeyboardInterrupt())
    assert run_command(["quick"]) == 130
    (run,) = store.list_runs(tmp_path / "runs")
    assert (run.status, len(run.results)) == ("interrupted", 1)
    assert str(run.path) in capsys.readouterr().out
    assert run_command(["show"]) == 0


def test_a_defect_is_a_short_message_with_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    measured(monkeypatch, fails=ZeroDivisionError("division by zero"))
    assert run_command(["quick"]) == 1
    shown = capsys.readouterr().err
    assert "Tidegauge itself failed (ZeroDivisionError: division by zero)." in shown
    assert "please report it" in shown
    assert "Traceback" not in shown
    (run,) = store.list_runs(tmp_path / "runs")
    assert "ZeroDivisionError" in (run.path / "crash.txt").read_text()
    assert str(run.path / "crash.txt") in shown


def test_a_defect_outside_a_run_is_reported_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def broken(_path: object) -> list[store.StoredRun]:
        raise KeyError("x")

    monkeypatch.setattr(store, "list_runs", broken)
    assert run_command(["runs"]) == 1
    assert "Traceback" not in capsys.readouterr().err
    (report,) = tmp_path.glob("tidegauge-crash-*.txt")
    assert "KeyError" in report.read_text()


def test_debug_shows_the_trace(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TIDEGAUGE_DEBUG", "1")
    assert run_command(["show", "nothing"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_unreadable_campaigns_name_file_and_cure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nsystems: [kafka]\nworklod: {}\nexperiments: [peak]\n")
    assert run_command(["run", str(path)]) == 2
    shown = capsys.readouterr().err
    assert "mine.yaml:3" in shown
    assert "workload" in shown
    assert run_command(["run", str(tmp_path / "mien.yaml")]) == 2
    assert "did you mean 'mine.yaml'" in capsys.readouterr().err
    assert run_command(["run", "quik"]) == 2
    assert "did you mean 'quick'" in capsys.readouterr().err
    assert run_command(["run", str(tmp_path)]) == 2
    assert "is a directory" in capsys.readouterr().err


def test_a_runs_directory_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run_command(["quick", "--runs-dir", str(tmp_path / "file" / "runs")]) == 2
    shown = capsys.readouterr().err
    assert "this can't be used: Not a directory" in shown
    assert "--runs-dir" in shown


@pytest.mark.parametrize("option", ["--runs-dir", "--data-dir", "--junit"])
def test_an_empty_path_is_not_the_working_directory(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["quick", "--dry-run", option, ""]) == 2
    shown = capsys.readouterr().err
    assert option in shown
    assert "no path is given ('.' is the working directory)" in shown


@pytest.mark.parametrize("verb", ["quick", "run", "runs", "show", "clean"])
def test_every_verb_has_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([verb, "--help"]) == 0
    assert f"Example: tidegauge {verb}" in capsys.readouterr().out


def test_the_help_of_run_shows_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "--help"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert experiments()
    for name, experiment in experiments().items():
        assert f"{name}: {experiment.summary}" in output


def test_help_loads_no_heavy_library() -> None:
    heavy = ("numpy", "pyarrow", "grpc", "pydantic", "ruamel.yaml")
    code = f"import sys, tidegauge.cli.main; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_verb_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([]) == 2
    assert "Usage: tidegauge" in capsys.readouterr().out


def test_a_data_directory_that_is_not_there_is_refused_and_not_made(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    disk = tmp_path / "not-mounted"
    assert run_command(["quick", "--data-dir", str(disk)]) == 2
    assert f"The data directory {disk} does not exist." in capsys.readouterr().err
    assert not disk.exists()
    disk.write_text("")
    assert run_command(["quick", "--data-dir", str(disk)]) == 2
    assert "is no directory" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m tidegauge.cli show --help | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == ""
    for index in range(300):
        store.create_run(tmp_path / "runs", f"run-with-a-long-name-{index}", "")
    command = f"{sys.executable} -m tidegauge.cli runs --runs-dir {tmp_path}/runs | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize(("warm_up_max", "warned"), [("4s", True), ("7s", False)])
def test_a_plan_warns_of_a_warm_up_too_short_to_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], warm_up_max: str, warned: bool
) -> None:
    path = tmp_path / "short.yaml"
    path.write_text(
        "name: short\nsystems: [kafka]\nexperiments:\n"
        f"  - {{name: latency, rate: 10, warm-up-min: 1s, warm-up-max: {warm_up_max}}}\n"
    )
    assert run_command(["run", str(path), "--dry-run"]) == 0
    assert ("Warning: A warm-up-max of 4 s is too short to judge" in capsys.readouterr().out) == warned
    assert run_command(["run", str(path), "--dry-run", "--json"]) == 0
    assert len(the_object(capsys.readouterr().out)["warnings"]) == warned


def test_what_the_user_was_shown_is_kept(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    measured(monkeypatch)
    assert run_command(["quick", "--json"]) == 0
    assert the_object(capsys.readouterr().out)["run"]["notes"] == ["Ended processes left by an earlier run: kafka-1."]


def with_thresholds(directory: Path, *thresholds: str) -> str:
    path = directory / "mine.yaml"
    listed = "".join(f"  - {threshold}\n" for threshold in thresholds)
    text = "name: mine\nsystems: [kafka]\nexperiments: [{name: latency, rate: 20k}]\n"
    path.write_text(f"{text}thresholds:\n{listed}" if thresholds else text)
    return str(path)


def without_loss(one: LoadResult) -> LoadResult:
    return replace(one, response=replace(one.response, p99_ms=None))


@pytest.mark.parametrize(
    ("thresholds", "change", "code"),
    [
        (("response_ms_p99 < 10", "lost == 0"), _changed(), 0),
        (("response_ms_p99 < 5", "lost == 0"), _changed(), 4),
        (("response_ms_p99 < 10",), without_loss, 3),
        (("lost == 0",), _lossy, 4),
        (("lost < 2",), _lossy, 1),
        (("response_ms_p99 < 5",), _changed(validity=Validity.INVALID, reasons=reasons_of("late")), 3),
    ],
)
def test_thresholds_decide_the_exit_code_and_the_files(
    *,
    thresholds: tuple[str, ...],
    change: Change,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    measured(monkeypatch, change)
    junit, markdown = tmp_path / "junit.xml", tmp_path / "summary.md"
    arguments = ["run", with_thresholds(tmp_path, *thresholds), "--junit", str(junit), "--markdown", str(markdown)]
    assert run_command([*arguments, "--json"]) == code
    found = the_object(capsys.readouterr().out)["thresholds"]
    assert len(found["rulings"]) == len(thresholds)
    assert found["outcome"] == {0: "met", 1: "met", 3: "not decided", 4: "missed"}[code]
    suites = ElementTree.fromstring(junit.read_text())
    assert (int(suites.attrib["failures"]) + int(suites.attrib["errors"]) > 0) is (code != 0)
    assert "### Thresholds: " in markdown.read_text()
    assert run_command(["show", "last", "--junit", str(tmp_path / "again.xml")]) == 0, "showing is not judging"
    assert (tmp_path / "again.xml").read_text() == junit.read_text()
    shown = capsys.readouterr().out
    assert "Thresholds: " in shown
    assert ("MISSED" in shown) is (code == 4)


def test_thresholds_are_checked_with_file_and_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wrong = with_thresholds(tmp_path, "lost == 0", "response_p99 < 10", "lost == 0 of pulsar")
    assert run_command(["run", wrong]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert "mine.yaml:6: thresholds[1]: unknown figure 'response_p99' (did you mean 'response_ms_p99'?)" in shown
    assert "mine.yaml:7: thresholds[2]: the campaign has no system 'pulsar'" in shown


@pytest.mark.parametrize(
    ("asked", "usual"), [(["help"], ["--help"]), (["help", "run"], ["run", "--help"]), (["-V"], ["--version"])]
)
def test_help_and_version_are_given_as_they_are_asked_for_elsewhere(
    capsys: pytest.CaptureFixture[str], asked: list[str], usual: list[str]
) -> None:
    assert run_command(usual) == 0
    expected = capsys.readouterr().out
    assert expected
    assert run_command(asked) == 0
    assert capsys.readouterr().out == expected


def test_help_of_what_is_no_verb_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["help", "rum"]) == 2
    assert "No such command 'rum'" in capsys.readouterr().err


def test_a_plan_shows_a_ramp_from_its_first_rate_to_its_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ramp.yaml"
    rate = "{from: 1k, to: 50k, over: 30s}"
    path.write_text(f"name: ramp\nsystems: [kafka]\nexperiments: [{{name: latency, rate: {rate}}}]\n")
    assert run_command(["run", str(path), "--dry-run"]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("0001"))
    assert "  1,000 to 50,000 msg/s  " in row


def test_a_plan_heads_a_swept_setting_by_its_whole_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sweep.yaml"
    sweep = "{systems.kafka.producer.linger.ms: [0, 10]}"
    path.write_text(f"name: s\nsystems: [kafka]\nexperiments: [{{name: latency, rate: 1k}}]\nsweep: {sweep}\n")
    assert run_command(["run", str(path), "--dry-run"]) == 0
    (head,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("step"))
    assert " linger.ms " in head
    assert "  ms" not in head


def test_a_plan_of_a_sweep_says_once_what_is_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sweep.yaml"
    sweep = "{systems.kafka.producer.linger.ms: [0, 10, 20]}"
    path.write_text(f"name: s\nsystems: [kafka]\nexperiments: [{{name: latency, rate: 1k}}]\nsweep: {sweep}\n")
    assert run_command(["run", str(path), "--dry-run"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("1 KiB messages; 1 topic of") == 1
    orders = [text.index(f"- linger.ms {value}: Clients, as asked: batches to") for value in (0, 10, 20)]
    assert orders == sorted(orders)
    assert "in force" not in text


def test_quick_measures_clusters_that_run_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("tidegauge.cli.main._run_campaign_file", lambda *given: asked.append(given) or 0)
    monkeypatch.chdir(tmp_path)
    Path("clusters.yaml").write_text("systems: []\n")
    assert run_command(["quick", "--attach", "clusters.yaml", "--level", "4"]) == 0
    ((campaign, overrides, *_),) = asked
    assert campaign.name == "quick.yaml"
    assert overrides == {"attach": str(tmp_path / "clusters.yaml"), "durability": 4}


def test_the_line_that_a_campaign_keeps_is_one_line_without_passwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["ab", "kafka", "-L", "version=3.9.2,4.3.1", "--rate", "5", "--print-campaign"]
    arguments += ["--prometheus-push", "http://me:hunter2@gateway:9091", "--runs-dir", f"{tmp_path}/a\nb\u2028c\udcff"]
    monkeypatch.setattr(sys, "argv", ["/opt/bin/tidegauge", *arguments])
    assert run_command(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# tidegauge ab kafka -L version=3.9.2,4.3.1 --rate 5 --prometheus-push")
    assert "http://(hidden)@gateway:9091" in printed.splitlines()[0]
    assert "hunter2" not in printed
    assert YAML(typ="safe").load(printed)["name"] == "ab-kafka"
    crash = error_of_crash(ZeroDivisionError("x"), tmp_path)
    assert crash.log_path is not None
    assert "hunter2" not in crash.log_path.read_text()

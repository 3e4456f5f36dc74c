"""`tidegauge run --resume`: what is kept, what is shown, and what is refused with the reason."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_samples import result, second, totals

from tidegauge import store
from tidegauge.campaign.plan.plan import Plan
from tidegauge.campaign.read.fingerprint import meaning_of_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.recorded import OtherwiseError, Recorded, TrialWithResult
from tidegauge.cli import resuming, running
from tidegauge.cli.main import run_command
from tidegauge.errors import UserError
from tidegauge.hosts.facts import host_facts
from tidegauge.model.events import Observer
from tidegauge.model.tilt import Severity, Stage, Tilt
from tidegauge.model.trial import RateRule
from tidegauge.report.html.page import report_page
from tidegauge.systems import registry

TEXT = """name: tiny
systems: [kafka]
workload: w.yaml
experiments:
  - {name: latency, rate: 1k, warm-up-min: 7s, warm-up-max: 9s, measure: 3s}
repeat: 3
"""
Made = list[str]


class _Host:
    agent_pid = os.getpid()

    def __enter__(self) -> _Host:
        return self

    def __exit__(self, *_: object) -> None:
        return None


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Made:
    """Trials as they are made; each session makes two and is interrupted, until nothing is left."""
    names: Made = []
    monkeypatch.setattr(running.LocalHost, "open", _Host)
    monkeypatch.setattr(running, "clean_leftovers", list)
    monkeypatch.setattr(running, "keep_report", lambda *_: None)  # Plots take their time.
    monkeypatch.setenv("TIDEGAUGE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("TIDEGAUGE_CEILINGS", "off")
    monkeypatch.delenv("TIDEGAUGE_DEBUG", raising=False)

    def execute(
        plan: Plan,
        run: store.RunStore,
        _host: object,
        _observer: Observer,
        recorded: Recorded,
        **_more: object,
    ) -> None:
        trials = plan.trials
        run.write_plan(trials)
        for number, trial in enumerate(trial for trial in trials if recorded.result_of(trial) is None):
            directory = run.open_trial(trial)
            directory.append_second(second())
            if number == 2:
                directory.fail("interrupted", True)
                raise KeyboardInterrupt
            directory.finish(result(trial), totals())
            names.append(trial.trial_id)
        run.finish("finished")

    monkeypatch.setattr(running, "execute", execute)
    return names


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    (tmp_path / "w.yaml").write_text("message-size: 200B\n")
    path = tmp_path / "tiny.yaml"
    path.write_text(TEXT)
    return path


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_command(["run", *arguments]) == 2
    return " ".join(capsys.readouterr().err.split())


def run_json(path: Path) -> dict[str, Any]:
    found = json.loads((path / "run.json").read_text())
    assert isinstance(found, dict)
    return found


def test_finished_trials_are_kept_and_the_report_is_whole(
    made: Made, campaign: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run_command(["run", str(campaign)]) == 130
    shown = capsys.readouterr().out
    assert "2 of 3 trials are kept. To go on with it: tidegauge run --resume" in " ".join(shown.split())
    assert run_command(["run", "--resume", "last"]) == 0
    assert made == ["0001-latency-kafka", "0002-latency-kafka", "0003-latency-kafka"]
    (stored,) = store.list_runs(tmp_path / "runs")
    assert stored.status == "finished"
    assert [(trial.trial_id[:4], trial.status, trial.session) for trial in stored.trials] == [
        ("0001", "finished", 1),
        ("0002", "finished", 1),
        ("0003", "finished", 2),
    ]
    assert [(session.number, session.status) for session in stored.sessions] == [(1, "interrupted"), (2, "finished")]
    assert (stored.path / "earlier/0003-latency-kafka-1/seconds.jsonl").exists(), "nothing measured is lost"
    assert run_command(["show"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Session 2 of this run: its 2 finished trials are kept." in text
    assert "interrupted, 2 trials finished (0001-latency-kafka to 0002-latency-kafka)" in text
    assert "finished, 1 trial finished (0003-latency-kafka)" in text
    page = report_page(stored, store.details_of(stored))
    assert "Session 2, started" in page
    assert re.search("<th[^>]*>session</th>", page), "each trial says in which it was made"
    assert run_command(["show", "--json"]) == 0
    sessions = json.loads(capsys.readouterr().out)["run"]["sessions"]
    assert [session["trials"] for session in sessions] == [made[:2], made[2:]]


def test_a_finished_run_is_shown_and_not_made_again(
    made: Made, campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["run", str(campaign), "--repeat", "2"]) == 0
    assert run_command(["run", "--resume", "last"]) == 0
    assert "there is nothing to go on with" in capsys.readouterr().out
    assert len(made) == 2


def test_files_for_ci_are_written_of_a_finished_run_too(made: Made, campaign: Path, tmp_path: Path) -> None:
    assert run_command(["run", str(campaign), "--repeat", "1"]) == 0
    assert run_command(["run", "--resume", "last", "--junit", str(tmp_path / "junit.xml")]) == 0
    assert "<testsuite" in (tmp_path / "junit.xml").read_text()


def test_what_was_unequal_stays_marked_however_early_a_session_ends(made: Made, campaign: Path, tmp_path: Path) -> None:
    run_command(["run", str(campaign)])
    (stored,) = store.list_runs(tmp_path / "runs")
    tilt = Tilt("heap", Severity.UNEQUAL, Stage.IN_FORCE, ("kafka",), "w", "y", "a", "s", "r")
    before = store.resume_run(stored.path)
    before.write_tilts((tilt,))
    before.finish("interrupted", "Ctrl-C")
    store.resume_run(stored.path).finish("interrupted", "before anything was looked at")
    assert [tilt["rule"] for tilt in run_json(stored.path)["unequal"]] == ["heap"]


def test_a_share_of_a_rate_that_came_out_otherwise_is_measured_again_and_reported() -> None:
    done = replace(
        result().spec,
        trial_id="0003-latency-kafka",
        rate_rule=RateRule("50% of lowest peak", is_share=True),
        msgs_per_s=50_000.0,
    )
    recorded = Recorded({done.trial_id: TrialWithResult(done, result(done))})
    other = replace(done, msgs_per_s=10_000.0)
    assert recorded.result_of(other) is None
    assert "its rate, 50% of lowest peak, was 50,000 msg/s and is 10,000 now" in recorded.why_stale(other)
    assert recorded.result_of(done) is recorded.trials[done.trial_id].found
    assert recorded.why_stale(done) == ""
    with pytest.raises(OtherwiseError, match="measure_s was"):
        recorded.result_of(replace(other, measure_s=1.0))
    absolute = replace(done, rate_rule=RateRule("50k"))
    fixed = Recorded({done.trial_id: TrialWithResult(absolute, result(absolute))})
    with pytest.raises(OtherwiseError, match="msgs_per_s was 50000"):
        fixed.result_of(replace(absolute, msgs_per_s=10_000.0))


def test_a_new_run_of_an_unfinished_campaign_says_how_to_go_on(
    made: Made, campaign: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run_command(["run", str(campaign)])
    capsys.readouterr()
    run_command(["run", str(campaign)])
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("The newest run of this campaign, ")
    assert "is interrupted. To go on with it (2 of 3 trials are finished and would be kept): tidegauge run" in text
    assert len(store.list_runs(tmp_path / "runs")) == 2
    campaign.write_text(TEXT + "# another text\n")
    run_command(["run", str(campaign)])
    assert "The newest run" not in capsys.readouterr().out


def test_a_dry_run_shows_what_is_left(made: Made, campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(["run", str(campaign)])
    capsys.readouterr()
    assert run_command(["run", "--resume", "last", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "1 trial, in this order" in shown
    assert "0003  latency     kafka@" in shown
    assert "2 finished trials are kept" in shown


def test_changed_surroundings_are_reported(
    made: Made, campaign: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "a1"

    def facts(_campaign: object, places: list[Path]) -> dict[str, object]:
        return {"tidegauge": {"git_commit": commit}, "host": host_facts(places), "load_average": [1.0]}

    monkeypatch.setattr(running, "environment_facts", facts)
    run_command(["run", str(campaign)])
    commit = "b2"
    assert run_command(["run", "--resume", "last"]) == 0
    capsys.readouterr()
    run_command(["show"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Changed between sessions 1 and 2: tidegauge.git_commit: a1 -> b2." in text


class TestRefused:
    @pytest.fixture(autouse=True)
    def interrupted(self, made: Made, campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run_command(["run", str(campaign)])
        capsys.readouterr()

    def stored(self, tmp_path: Path) -> Path:
        return store.list_runs(tmp_path / "runs")[0].path

    def test_another_campaign(self, campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run_command(["run", str(campaign), "--resume", "last", "--dry-run"]) == 0
        capsys.readouterr()
        campaign.write_text(TEXT.replace("1k", "2k"))
        assert "is not the campaign that the run" in error_of(capsys, str(campaign), "--resume", "last")
        assert run_command(["run", "--resume", "last", "--dry-run"]) == 0, "the run's own copy counts"

    def test_a_workload_file_that_changed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "w.yaml").write_text("message-size: 300B\n")
        text = error_of(capsys, "--resume", "last")
        assert "means something else now: workload.payload.message_bytes was 200 and is 300 now." in text

    def test_another_version(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(resuming, "__version__", "9.9")
        text = error_of(capsys, "--resume", "last")
        assert "was begun by Tidegauge 0.1.0; this is 9.9, which may measure otherwise" in text

    def test_a_run_that_goes_on(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        head = run_json(self.stored(tmp_path))
        (self.stored(tmp_path) / "run.json").write_text(json.dumps({**head, "status": "running"}))
        assert "is still in progress" in error_of(capsys, "--resume", "last")

    def test_a_run_that_somebody_else_goes_on_with(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        stored = self.stored(tmp_path)
        with store.writing(stored):
            text = error_of(capsys, "--resume", "last")
            assert f"Run {stored.name} is still in progress: another process writes it." in text
            assert run_command(["run", "--resume", "last", "--dry-run"]) == 0, "which writes nothing"
        with store.writing(stored):
            assert run_json(stored)["status"] == "interrupted", "and nothing was written"

    def test_a_run_without_its_meaning(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (self.stored(tmp_path) / "campaign.json").unlink()
        assert "has no record of its campaign's settings" in error_of(capsys, "--resume", "last")

    def test_options_that_change_the_campaign(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "none that changes the campaign" in error_of(capsys, "--resume", "last", "--repeat", "5")
        assert "none that changes the campaign" in error_of(capsys, "--resume", "last", "--allow-unequal")

    def test_no_such_run(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "No run 'nothing'" in error_of(capsys, "--resume", "nothing")

    def test_neither_campaign_nor_run(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "A campaign is needed, or --resume" in error_of(capsys)

    def test_processes_that_are_still_being_ended(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(resuming, "await_agents", lambda *_: False)
        assert "are still being ended" in error_of(capsys, "--resume", "last")

    def test_a_fleet_for_what_began_here(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        fleet = fleet_file(tmp_path, "one", 3)
        assert "began on this host, and not on a fleet" in error_of(capsys, "--resume", "last", "--fleet", str(fleet))

    def test_a_plan_with_other_steps(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        real = resuming.recorded_of

        def other(stored: store.StoredRun) -> Recorded:
            found = real(stored)
            trials = {
                name: replace(one, spec=replace(one.spec, system="pulsar@4.2.4")) for name, one in found.trials.items()
            }
            return replace(found, trials=trials)

        monkeypatch.setattr(resuming, "recorded_of", other)
        text = error_of(capsys, "--resume", "last")
        assert "0001-latency-kafka was latency on pulsar@4.2.4 in block 1 and is latency on kafka@4.3.1 in bl" in text


def verdict(capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run_command(["show", "last", "--json"]) == 0
    (claim,) = json.loads(capsys.readouterr().out)["published"]["claims"]
    return str(claim["parts"][0]["sides"][0]["values"])


def test_a_resumed_run_examines_its_published_claims_with_all_trials(
    made: Made, campaign: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One that was killed when it had measured everything, but before it had a verdict, gets it too."""
    published = "published: {report: streamnative-2020, claims: [pulsar-publish-p99-near-15-ms]}\n"
    workload = "workload: {message-size: 200B, partitions: 100}\nnodes: 3\ndurability: 1\n"
    text = TEXT.replace("[kafka]", "[pulsar]").replace("workload: w.yaml\n", workload)
    campaign.write_text(text + published)
    assert run_command(["run", str(campaign)]) == 130
    assert verdict(capsys).count(",") == 1
    assert run_command(["run", "--resume", "last"]) == 0
    assert verdict(capsys).count(",") == 2
    (kept,) = (tmp_path / "runs").glob("*/published.json")
    kept.unlink()
    assert run_command(["run", "--resume", "last"]) == 0
    assert verdict(capsys).count(",") == 2


def fleet_file(directory: Path, name: str, servers: int) -> Path:
    path = directory / f"{name}.yaml"
    path.write_text(
        f"launcher: ray\nroles: {{s: {{label: {{role: server}}, count: {servers}, nodes-per-host: {4 - servers}}}}}\n"
    )
    return path


def test_a_run_goes_on_with_another_fleet_of_the_same_shape(made: Made, campaign: Path, tmp_path: Path) -> None:
    assert run_command(["run", str(campaign)]) == 130
    one, other, smaller = (fleet_file(tmp_path, name, count) for name, count in (("a", 3), ("b", 3), ("c", 2)))
    stored = store.load_run(store.find_run(tmp_path / "runs", "last"))
    began = parse_campaign(campaign, {"fleet": str(one)}, sorted(registry.all_systems()))
    on_one = replace(stored, overrides={"fleet": str(one)}, meaning=meaning_of_campaign(began))
    assert resuming._same_campaign(on_one, None, "").fleet == str(one)
    assert resuming._same_campaign(on_one, None, str(other)).fleet == str(other)
    with pytest.raises(UserError, match="nodes_per_host was 1 and is 2 now"):
        resuming._same_campaign(on_one, None, str(smaller))


@pytest.mark.parametrize("place", ["data", "trials", "findings", "earlier", "trials/0003-latency-kafka/telemetry"])
def test_a_run_with_a_link_in_it_is_not_written_on(
    made: Made, campaign: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str
) -> None:
    """A run from others may have any: `trials` that lead to a directory of this user's, whose files would go."""
    assert run_command(["run", str(campaign)]) == 130
    (run,) = (tmp_path / "runs").iterdir()
    link, elsewhere = run / place, tmp_path / "elsewhere"
    if link.exists():
        link.rename(elsewhere)
    link.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    capsys.readouterr()
    assert re.search("a link, (which is not followed|and what is written)", error_of(capsys, "--resume", "last"))
    assert sorted(elsewhere.rglob("*")) == before
    assert made == ["0001-latency-kafka", "0002-latency-kafka"]


def test_links_among_what_servers_kept_do_not_hinder(made: Made, campaign: Path, tmp_path: Path) -> None:
    assert run_command(["run", str(campaign)]) == 130
    (run,) = (tmp_path / "runs").iterdir()
    (run / "data" / "node").mkdir(parents=True)
    (run / "data" / "node" / "current").symlink_to("1")
    assert run_command(["run", "--resume", "last"]) == 0
    assert made[-1] == "0003-latency-kafka"

"""A workload on a driver as a campaign, and the command around it; nothing is started."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from omb_samples import DRIVER, WORKLOAD
from run_samples import result, second, spec, totals

from tidegauge import store
from tidegauge.campaign.model import AUTO
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.auth import read_secrets
from tidegauge.campaign.run.running_trial import RunningTrial
from tidegauge.campaign.run.trial.order import load_order
from tidegauge.campaign.run.witnessing import LevelMismatchError, checked_level
from tidegauge.cli import omb as command
from tidegauge.cli import running
from tidegauge.cli.main import run_command
from tidegauge.durability import doubts_of, no_level
from tidegauge.errors import UserError
from tidegauge.experiments.chasing import ChaseOptions
from tidegauge.experiments.latency import LatencyOptions
from tidegauge.experiments.max_throughput import MaxThroughputOptions
from tidegauge.model.finding import Finding
from tidegauge.model.level import AS_FOUND, LevelChoice, LevelFinding
from tidegauge.model.server import Setting
from tidegauge.omb import translate
from tidegauge.omb.files import read_driver
from tidegauge.omb.translate import Chosen, Translation, translate_all
from tidegauge.report import levels
from tidegauge.systems import registry
from tidegauge.systems.api import Deployment
from tidegauge.systems.attach import AttachChoice, AuthChoice, SecretReference


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    (tmp_path / "d.yaml").write_text(DRIVER)


def translated(tmp_path: Path, time_scale: float = 1.0, managed: bool = False, **changes: Any) -> Translation:
    text = WORKLOAD
    for key, value in changes.items():
        text = "".join(f"{key}: {value}\n" if line.startswith(key) else f"{line}\n" for line in text.splitlines())
    (tmp_path / "w.yaml").write_text(text)
    (one,) = translate_all([tmp_path / "w.yaml"], [tmp_path / "d.yaml"], managed, time_scale)
    return one


FLEET = "launcher: ray\nroles: {s: {label: {role: server}, count: 3}, l: {label: {role: load}, count: 4}}\n"


def test_servers_and_load_generators_may_be_on_the_hosts_of_a_fleet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    files = ["omb", str(tmp_path / "w.yaml"), "--driver", str(tmp_path / "d.yaml"), "--managed"]
    more = ["--fleet", str(tmp_path / "fleet.yaml"), "--dry-run"]
    assert run_command([*files, *more]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "is started on the fleet's hosts on" in shown and "4 load generators on 4 hosts of role load" in shown
    assert run_command([*files, "--dry-run"]) == 0
    assert "is started here on" in " ".join(capsys.readouterr().out.split())
    assert run_command([*files, *more, "--workers", "3"]) == 2
    assert "--workers 3: the fleet's hosts have 4 load generators." in capsys.readouterr().err


def test_of_a_diskless_topic_no_note_says_or_expects_a_level(tmp_path: Path) -> None:
    settings = "topicConfig: |\n  diskless.enable=true\n  min.insync.replicas=2\n  flush.messages=9\n"
    (tmp_path / "d.yaml").write_text(DRIVER.replace("Factor: 1\n", f"Factor: 5\n{settings}"))
    translation = translated(tmp_path)
    about_levels = [note for note in translation.notes if "level" in note]
    assert translation.campaign.durability == AS_FOUND
    assert [note.partition(":")[0] for note in about_levels] == ["diskless.enable=true", "Durability"]
    assert "decide no level; what is in force is read back" in about_levels[1]
    (trial,) = plan_campaign(translation.campaign).trials
    (doubt,) = doubts_of(trial.choice, no_level("diskless"))
    assert "expected" not in doubt


PULSAR = """\
name: My Pulsar
driverClass: io.openmessaging.benchmark.driver.pulsar.PulsarBenchmarkDriver
client: {serviceUrl: "pulsar://h:6650", httpUrl: "http://h:8080"}
"""


class TestChosen:
    """What the command line says instead of the files, of servers started here."""

    def chosen(self, tmp_path: Path, driver: str = PULSAR, **values: Any) -> Translation:
        (tmp_path / "d.yaml").write_text(driver)
        (one,) = translate_all([tmp_path / "w.yaml"], [tmp_path / "d.yaml"], True, 1.0, Chosen(**values))
        plan_campaign(one.campaign)
        return one

    @pytest.mark.parametrize(
        ("level", "form", "expected"),
        [(1, "", ""), (2, "", "journal"), (2, "bypass", "bypass"), (4, "bypass", "bypass")],
    )
    def test_a_level_and_its_form(self, tmp_path: Path, level: int, form: str, expected: str) -> None:
        one = self.chosen(tmp_path, level=level, form=form)
        (trial,) = plan_campaign(one.campaign).trials
        assert trial.choice == LevelChoice(level, expected)
        assert any(note.startswith(f"--level {level}") and "instead of level 2" in note for note in one.notes)
        assert not any("OMB asks for none" in note for note in one.notes)

    def test_what_producers_wait_for_is_the_levels(self, tmp_path: Path) -> None:
        one_ack = DRIVER.replace("acks=all", "acks=1")
        assert self.chosen(tmp_path, one_ack).campaign.systems[0].producer == {"acks": "1"}
        chosen = self.chosen(tmp_path, one_ack, level=1).campaign
        assert (chosen.systems[0].producer, chosen.nodes, chosen.systems[0].copies) == ({}, 3, 0)
        assert chosen.durability == LevelChoice(1)

    def test_a_system_says_which_settings_of_its_drivers_a_level_decides(self, tmp_path: Path) -> None:
        (tmp_path / "d.yaml").write_text(DRIVER.replace("acks=all", "acks=1"))
        read, _ = read_driver(tmp_path / "d.yaml", managed=True)
        assert read is not None
        assert read.terms.of_level == ("acks", "min.insync.replicas", "flush.messages", "flush.ms")
        both = {"waits": "1", "acks": "1"}
        own = replace(read, terms=replace(read.terms, producer=both, settings=both, of_level=("waits",)))
        at_level = translate._at_level(own, Chosen(level=1)).terms
        assert at_level.producer == at_level.settings == {"acks": "1"}

    def test_a_form_is_a_word_of_the_systems_that_have_several(self, tmp_path: Path) -> None:
        (tmp_path / "k.yaml").write_text(DRIVER)
        (tmp_path / "p.yaml").write_text(PULSAR)
        both = [tmp_path / "k.yaml", tmp_path / "p.yaml"]
        found = translate_all([tmp_path / "w.yaml"], both, True, 1.0, Chosen(level=2, form="bypass"))
        assert [translation.campaign.durability.form for translation in found] == ["", "bypass"]
        with pytest.raises(UserError, match=r"--form bypas: .* \(did you mean 'bypass'\?\); it has journal, bypass"):
            translate_all([tmp_path / "w.yaml"], both, True, 1.0, Chosen(level=2, form="bypas"))
        with pytest.raises(UserError, match="--form nonsense: Apache Kafka can give level 2 in one way only") as caught:
            translate_all([tmp_path / "w.yaml"], both[:1], True, 1.0, Chosen(level=2, form="nonsense"))
        assert caught.value.exit_code == 2

    def test_memory_and_window(self, tmp_path: Path) -> None:
        campaign = self.chosen(tmp_path, heap_mb=3072, direct_memory_mb=512, in_flight=50_000).campaign
        assert (campaign.systems[0].heap_mb, campaign.systems[0].direct_memory_mb) == (3072, 512)
        assert campaign.workload.in_flight_messages() == 50_000
        assert self.chosen(tmp_path, heap_mb=AUTO).campaign.systems[0].heap_mb > 128

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (("--level", "1"), "--level is only for servers that Tidegauge starts: it needs --managed"),
            (("--heap", "1GiB"), "--heap is only for servers that Tidegauge starts: it needs --managed"),
            (("--managed", "--form", "bypass"), "--form is one of a durability level: it needs --level"),
            (("--managed", "--level", "2", "--form", "bypas"), "it has journal, bypass"),
            (("--managed", "--heap", "1B"), "--heap 1B: must be from 128MiB to 1024GiB, or 'auto'"),
            (("--managed", "--direct-memory", "x"), "--direct-memory x: must be"),
        ],
    )
    def test_what_has_no_effect_or_is_wrong_is_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], message: str
    ) -> None:
        (tmp_path / "d.yaml").write_text(PULSAR)
        assert run(tmp_path, *more, "--dry-run") == 2
        assert message in " ".join(capsys.readouterr().err.split())


def run(tmp_path: Path, *more: str) -> int:
    return run_command(
        [
            "omb",
            str(tmp_path / "w.yaml"),
            "--driver",
            str(tmp_path / "d.yaml"),
            "--runs-dir",
            str(tmp_path / "runs"),
            *more,
        ]
    )


class TestTheCampaign:
    def test_a_rate_becomes_latency_with_the_files_minutes(self, tmp_path: Path) -> None:
        campaign = translated(tmp_path).campaign
        (experiment,) = campaign.experiments
        options = cast(LatencyOptions, experiment.options)
        assert (campaign.name, experiment.name) == ("omb-w-my-kafka", "latency")
        assert options.rate.msgs_per_s == 1000
        assert (options.warm_up_min, options.warm_up_max, options.measure) == (120, 120, 240)
        assert campaign.systems[0].attach is not None
        assert campaign.durability == LevelChoice(4)

    def test_times_are_scaled_and_said_to_be(self, tmp_path: Path) -> None:
        one = translated(tmp_path, time_scale=0.1)
        options = cast(LatencyOptions, one.campaign.experiments[0].options)
        assert (options.warm_up_min, options.measure) == (pytest.approx(12), pytest.approx(24))
        assert any("multiplied by 0.1" in note for note in one.notes)

    def test_a_backlog_becomes_catch_up_for_each_subscription(self, tmp_path: Path) -> None:
        one = translated(tmp_path, consumerBacklogSizeGB=2, subscriptionsPerTopic=4)
        (experiment,) = one.campaign.experiments
        options = cast(ChaseOptions, experiment.options)
        assert (experiment.name, options.rate.msgs_per_s, options.drained) == ("catch-up", 1000, 1.0)
        assert options.backlog.msgs == math.ceil((2 << 30) / 100 / 4)
        assert (options.warm_up_max, options.measure, options.drain_max) == (120, 60, 960)
        assert any("consumerBacklogSizeGB: 2 becomes `catch-up`" in note for note in one.notes)

    def test_a_backlog_is_scaled_with_the_times_and_its_ratio_kept(self, tmp_path: Path) -> None:
        text = WORKLOAD.replace("SizeGB: 0", "SizeGB: 2") + "backlogDrainRatio: 0.75\n"
        (tmp_path / "w.yaml").write_text(text)
        (one,) = translate_all([tmp_path / "w.yaml"], [tmp_path / "d.yaml"], False, 0.01)
        options = cast(ChaseOptions, one.campaign.experiments[0].options)
        assert options.backlog.msgs == math.ceil((2 << 30) * 0.01 / 100)
        assert (options.drained, options.drain_max) == (0.75, 60)
        assert any("2 times --time-scale" in note for note in one.notes)

    def test_best_effort_gives_draining_up_in_time(self, tmp_path: Path) -> None:
        text = WORKLOAD.replace("SizeGB: 0", "SizeGB: 2") + "backlogDrainRatio: 0.0\n"
        (tmp_path / "w.yaml").write_text(text)
        (one,) = translate_all([tmp_path / "w.yaml"], [tmp_path / "d.yaml"], False, 0.5)
        options = cast(ChaseOptions, one.campaign.experiments[0].options)
        assert (options.drained, options.drain_max) == (1.0, 120)
        assert any("backlogDrainRatio: 0 asks for no more" in note for note in one.notes)

    def test_rate_0_becomes_a_search(self, tmp_path: Path) -> None:
        one = translated(tmp_path, producerRate=0)
        (experiment,) = one.campaign.experiments
        options = cast(MaxThroughputOptions, experiment.options)
        assert (experiment.name, options.confirm, options.measure) == ("max-throughput", 240, 20)
        assert any("producerRate: 0" in note for note in one.notes)

    def test_a_rate_that_nothing_reaches_becomes_a_closed_loop(self, tmp_path: Path) -> None:
        one = translated(tmp_path, producerRate=10_000_000)
        assert one.campaign.experiments[0].name == "peak"
        assert any("10000000" in note for note in one.notes)

    def test_no_warm_up_is_reported(self, tmp_path: Path) -> None:
        one = translated(tmp_path, warmupDurationMinutes=0)
        assert any("warmupDurationMinutes: 0" in note for note in one.notes)

    def test_managed_servers_are_not_attached_to(self, tmp_path: Path) -> None:
        one = translated(tmp_path, managed=True)
        assert (one.campaign.systems[0].attach, one.campaign.nodes) == (None, 1)
        assert any("--managed" in note for note in one.notes)

    def test_copies_reach_the_topics(self, tmp_path: Path) -> None:
        trial = plan_campaign(translated(tmp_path).campaign).trials[0]
        assert trial.copies == 1
        deployment = cast(Deployment, type("Cluster", (), {"connection": {}})())
        order = load_order(replace(trial, nodes=3), registry.system_named("kafka"), deployment, ["t"], tmp_path)
        assert order.replication_factor == 1
        assert load_order(spec(), registry.system_named("kafka"), deployment, ["t"], tmp_path).replication_factor == 1
        three = replace(spec(), nodes=3)
        assert load_order(three, registry.system_named("kafka"), deployment, ["t"], tmp_path).replication_factor == 3

    def test_every_problem_of_every_file_is_reported_at_once(self, tmp_path: Path) -> None:
        (tmp_path / "d.yaml").write_text(DRIVER.replace("acks=all", "acks=0"))
        with pytest.raises(UserError) as caught:
            translated(tmp_path, topics=0, testDurationMinutes=50_000)
        for words in ("w.yaml:2: topics", "w.yaml:14: testDurationMinutes: '50000'", "d.yaml:7: producerConfig.acks"):
            assert words in str(caught.value)
        assert "docs/omb.md lists every key" in caught.value.hint


class TestALevelAsFound:
    SETTINGS = (Setting("topic t", "flush.messages", "9223372036854775807"),)

    def test_is_reported_and_nothing_is_refused(self) -> None:
        def checked(choice: LevelChoice) -> LevelFinding:
            subject, trial = SimpleNamespace(system=registry.system_named("kafka")), replace(spec(), choice=choice)
            session = SimpleNamespace(spec=trial, subject=subject, deployment=None)
            return checked_level(cast(RunningTrial, session), list(self.SETTINGS))

        finding = checked(LevelChoice(3, as_found=True))
        assert (finding.level, finding.problems) == (4, ())
        with pytest.raises(LevelMismatchError):
            checked(LevelChoice(3))

    def test_is_not_called_as_asked(self) -> None:
        found = LevelFinding(4, ("reason",))
        trial = result(replace(spec(), choice=LevelChoice(3, as_found=True)), level=found)
        assert "as found" in levels.headline([trial])
        assert "NOT AS ASKED" in levels.headline([result(level=found)])


def test_a_secret_in_memory_ends_with_its_process() -> None:
    choice = AttachChoice({}, auth=AuthChoice("password", "u", SecretReference("memory", "of another process")))
    with pytest.raises(UserError, match="process that has ended"):
        read_secrets(choice, "rabbitmq@attached")


class TestTheCommand:
    def test_dry_run_shows_what_becomes_of_the_files(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(tmp_path, "--dry-run", "--json") == 0
        content = json.loads(capsys.readouterr().out)
        (only,) = content["runs"]
        assert (content["schema"], only["workload"], only["driver"]) == ("tidegauge.omb/1", "a workload", "My Kafka")
        assert only["plan"]["trials"][0]["msgs_per_s"] == 1000
        assert any("level 4" in note for note in only["notes"])
        assert run(tmp_path, "--dry-run") == 0
        text = capsys.readouterr().out
        assert "Workload a workload on driver My Kafka" in text
        assert "Nothing was started" in text
        assert not (tmp_path / "runs").exists()

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            (["--time-scale", "2"], "--time-scale 2: must be from 0.001 to 1"),
            (["--output-directory", "/dev/null/out"], "--output-directory /dev/null/out"),
            (["--threshold", "p99 < 10"], "--threshold: unknown figure 'p99' (did you mean 'response_ms_p99'?)"),
            (["--threshold", "lost == 0 in peak"], "--threshold: the campaign has no experiment 'peak'"),
            (["--junit", "/nowhere/r.xml"], "--junit /nowhere/r.xml: there is no directory /nowhere"),
            (["--worker-heap", "much"], "--worker-heap much: must be"),
            (["--worker-heap", "1MiB"], "--worker-heap 1MiB: must be from 32MiB to 1024GiB"),
            (["--driver", "/nowhere.yaml"], "/nowhere.yaml: there is no such driver file"),
        ],
    )
    def test_mistakes_are_reported(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], words: str
    ) -> None:
        assert run(tmp_path, *more) == 2
        assert words in capsys.readouterr().err

    def test_a_file_that_is_not_there_is_no_campaign(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run_command(["omb", "/nowhere.yaml", "--driver", str(tmp_path / "d.yaml")]) == 2
        assert "Check the path; docs/omb.md names some of OMB's." in capsys.readouterr().err

    def test_a_plan_has_the_repeats_and_thresholds_that_were_asked_for(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(tmp_path, "--dry-run", "--json", "--repeat", "3", "--threshold", "lost  ==  0") == 0
        (only,) = json.loads(capsys.readouterr().out)["runs"]
        assert [trial["block"] for trial in only["plan"]["trials"]] == [0, 1, 2]
        assert only["plan"]["thresholds"] == ["lost == 0"]

    def test_a_driver_is_needed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run_command(["omb", str(tmp_path / "w.yaml")]) == 2
        assert "--driver" in capsys.readouterr().err


class TestTheResult:
    """What runs a campaign is replaced; the files are real."""

    def carried_out(self, monkeypatch: pytest.MonkeyPatch, confirmed: str) -> None:
        """A search of two trials, of which `confirmed` is the confirmation."""

        def run_prepared(_ready: object, run: store.RunStore, _out: object, notes: Any, **_more: object) -> None:
            for note in notes:
                run.add_note(note.text)
            for number in (1, 2):
                trial = run.open_trial(replace(spec(experiment="max-throughput", number=number), exploratory=True))
                trial.append_second(second())
                trial.finish(result(replace(trial.spec)), totals())
            goals = [{"goal": "no limit", "confirmation_trial_id": confirmed}]
            run.write_finding(
                Finding("0001-max-throughput", "max-throughput", "kafka", 0, True, (), (), {"goals": goals})
            )
            run.finish("finished")

        monkeypatch.setattr(running, "run_prepared", run_prepared)

    def test_a_searchs_confirmation_is_the_result(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.carried_out(monkeypatch, "0002-max-throughput-kafka")
        assert run(tmp_path, "--json", "--output-directory", str(tmp_path / "out")) == 0
        (only,) = json.loads(capsys.readouterr().out)["runs"]
        assert len(only["omb_results"]) == 2
        (beside,) = (tmp_path / "out").iterdir()
        assert beside.name.startswith("w-My Kafka-2")
        assert json.loads(beside.read_text())["workload"] == "a workload"
        assert any("OMB's JSON" in note for note in only["report"]["run"]["notes"])
        kept = Path(only["report"]["run"]["path"])
        assert (kept / "omb/workload-w.yaml").read_text() == WORKLOAD
        assert WORKLOAD in (kept / "campaign.yaml").read_text()
        assert DRIVER in (kept / "campaign.yaml").read_text()

    def test_each_repeat_and_each_run_has_files_of_its_own(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        watched = []

        def run_prepared(ready: Any, run: store.RunStore, *_: object, watchers: Sequence[object]) -> None:
            watched.append(len(watchers))
            for made in ready.plan.trials:
                trial = run.open_trial(made)
                trial.append_second(second())
                trial.finish(result(made), totals())
            run.finish("finished")

        monkeypatch.setattr(running, "run_prepared", run_prepared)
        (tmp_path / "second.yaml").write_text(DRIVER)
        files = ("--junit", str(tmp_path / "r.xml"), "--markdown", str(tmp_path / "r.md"), "--prometheus", "0")
        asked = ("--driver", str(tmp_path / "second.yaml"), "--repeat", "2", "--threshold", "msgs_per_s > 1e9")
        assert run(tmp_path, "--json", *asked, *files) == 4
        runs = json.loads(capsys.readouterr().out)["runs"]
        assert [[Path(path).stem[-2:] == "-2" for path in each["omb_results"]] for each in runs] == [[False, True]] * 2
        assert sorted(path.name for path in tmp_path.glob("r*.*")) == ["r-1.md", "r-1.xml", "r-2.md", "r-2.xml"]
        assert 'failures="1"' in (tmp_path / "r-2.xml").read_text()
        assert watched == [1, 1]

    def test_without_a_confirmed_rate_there_is_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.carried_out(monkeypatch, "")
        assert run(tmp_path) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert "No JSON for OMB was written: no rate was confirmed." in printed
        assert "max-throughput: Kafka: no verdict." in printed


@pytest.mark.parametrize(("codes", "worst"), [((1, 0), 1), ((0, 3), 3), ((3, 1, 0), 1), ((0, 0), 0)])
def test_the_worst_of_several_runs_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, codes: tuple[int, ...], worst: int
) -> None:
    ends = iter(codes)
    monkeypatch.setattr(command, "translate_all", lambda *_: [SimpleNamespace(campaign=None)] * len(codes))
    monkeypatch.setattr(command, "prepare_campaign", lambda *_, **__: None)
    monkeypatch.setattr(command, "_run_translation", lambda *_: (next(ends), {}))
    request = command.OmbRequest([Path("w.yaml")], [Path("d.yaml")], True, 1.0, Path("runs"), None, False)
    assert command.run_omb(request, SimpleNamespace(as_json=False)) == worst  # type: ignore[arg-type]

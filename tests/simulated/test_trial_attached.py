"""A trial on a cluster of others: what is left out, what is recorded before it is made, and what is deleted."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from attached_scenes import CHOICE, SECRET, AttachedScene, recorded_topics, refuse
from reasons import texts_of
from trial_scenes import SPEC

from tidegauge.campaign.run import running_trial, topics
from tidegauge.campaign.run.topics import TopicLedger, delete_leftover_topics
from tidegauge.campaign.run.trial import load as trial
from tidegauge.campaign.run.witnessing import LevelMismatchError
from tidegauge.errors import AccessRefusedError, RunFailedError, StartFailedError
from tidegauge.model.level import LevelFinding, SettingChange
from tidegauge.model.reason import ReasonKind
from tidegauge.model.server import Setting
from tidegauge.model.trial import Validity
from tidegauge.worker.brief_worker import BriefWorkers


def state_files() -> list[str]:
    return sorted(path.name for path in (topics.state_directory() / "attached").glob("*"))


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AttachedScene:
    monkeypatch.setattr(trial, "_IDLE_S", 0.2)
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("KAFKA_PASSWORD", SECRET)
    made = AttachedScene(tmp_path)
    made.prepare_worker(monkeypatch)
    return made


def test_nothing_is_started_and_topics_are_recorded_before_they_are_made_and_deleted(
    scene: AttachedScene,
) -> None:
    result = scene.run_attached()
    entries = scene.journal.entries
    assert "deploy" not in entries
    assert "page cache dropped" not in entries
    end = ["result stored", "left results removed", "finish", "delete 2 topics", "worker closed"]
    assert entries[entries.index("result stored") :] == end
    assert scene.worker.order is not None
    (topic,) = scene.worker.order.topic_names
    assert scene.probed[0] in scene.recorded[0]
    assert topic in scene.recorded[1]
    assert scene.worker.deleted == [scene.probed[0], topic]
    assert topic.startswith("bench.")
    assert scene.probed[0].startswith("bench.")
    assert state_files() == []
    assert result.server_cpu_s is None
    assert result.spec.nodes == 3
    assert scene.worker.order.replication_factor == 3
    assert result.validity is Validity.VALID


def test_two_trials_never_use_the_same_names(scene: AttachedScene) -> None:
    scene.run_attached()
    first = scene.worker.deleted
    other = AttachedScene(scene.path / "other")
    with pytest.MonkeyPatch.context() as patch:
        other.prepare_worker(patch)
        other.run_attached()
    assert not set(first) & set(other.worker.deleted)


def test_no_secret_is_stored_or_shown(scene: AttachedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[Any] = []
    monkeypatch.setattr(scene.store, "write_settings", lambda *given: stored.extend(given))
    monkeypatch.setattr(scene.worker, "delete_topics", refuse("no right to delete"))
    scene.run_attached()
    kept = "".join(path.read_text() for path in (scene.path / "state/attached").glob("*.json"))
    order = scene.worker.order
    assert order is not None
    assert order.connection["auth.password"] == SECRET
    assert "(hidden)" in str(stored)
    assert "KAFKA_PASSWORD" in kept
    for text in (str(stored), kept, repr(order), repr(order.connection), f"{order.connection}", scene.notes()):
        assert SECRET not in text


def test_a_result_is_kept_though_its_topics_can_not_be_deleted(
    scene: AttachedScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene.worker, "delete_topics", refuse("no right to delete."))
    assert scene.run_attached().validity is Validity.VALID
    assert scene.worker.order is not None
    (topic,) = scene.worker.order.topic_names
    assert topic in scene.notes()
    assert "kafka@attached (far:9092)" in scene.notes()
    assert "no right to delete. `tidegauge clean` tries again" in scene.notes()
    assert topic in recorded_topics()


def test_a_failing_trial_deletes_its_topics_too(scene: AttachedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene.worker, "start", refuse("the worker failed"))
    with pytest.raises(RunFailedError, match="the worker failed"):
        scene.run_attached()
    assert scene.journal.index("finish") < scene.journal.index("delete 2 topics") < scene.journal.index("worker closed")
    assert state_files() == []


def test_who_is_not_let_in_makes_no_topic(scene: AttachedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_trial, "ATTACHED_READY_S_MAX", 0.3)
    monkeypatch.setattr(scene.worker, "describe", refuse("wrong password"))
    with pytest.raises(StartFailedError, match=r"kafka@attached was not ready within .* wrong password") as caught:
        scene.run_attached()
    assert "Check address, TLS, authentication" in caught.value.hint
    assert scene.probed == []
    assert scene.notes() == ""
    assert state_files() == []


def test_who_is_refused_is_not_kept_waiting(scene: AttachedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = refuse("wrong password or unknown user", AccessRefusedError)
    asked: list[object] = []
    monkeypatch.setattr(scene.worker, "describe", lambda *given: asked.append(given) or refused(*given))
    with pytest.raises(StartFailedError, match="kafka@attached refused access: wrong password"):
        scene.run_attached()
    assert len(asked) == 1, "who was refused does not ask again"
    assert state_files() == []


def test_a_topic_that_was_refused_does_not_remain(scene: AttachedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_trial, "ATTACHED_READY_S_MAX", 0.3)
    refused = refuse("Kafka could not create topic bench.probe: not authorized", topic_refused=True)
    monkeypatch.setattr(scene.worker, "probe", refused)
    monkeypatch.setattr(scene.worker, "delete_topics", refuse("not authorized either"))
    with pytest.raises(StartFailedError, match="could not create topic") as caught:
        scene.run_attached()
    # It was reached, and let us in.
    assert "see what it allows (settings, copies, names, rights)" in caught.value.hint
    assert "TLS" not in caught.value.hint
    assert scene.notes() == ""
    assert state_files() == []


def test_a_topic_of_the_trial_that_was_refused_is_no_riddle(
    scene: AttachedScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = refuse("Kafka could not create topic bench-0: 'min.insync.replicas' can't be set", topic_refused=True)
    monkeypatch.setattr(scene.worker, "prepare", refused)
    with pytest.raises(RunFailedError, match="could not create topic") as caught:
        scene.run_attached()
    assert "see what it allows (settings, copies, names, rights)" in caught.value.hint


def test_a_known_level_that_is_not_the_one_asked_for_stops_the_run(scene: AttachedScene) -> None:
    scene.system.finding = LevelFinding(4, ("flush.messages is the default",), ("level 3 was asked for, level 4",))
    with pytest.raises(LevelMismatchError, match="level 3 was asked for, level 4") as caught:
        scene.run_attached()
    # Nothing of the campaign changed it.
    assert "Ask for the level that the cluster gives" in caught.value.hint
    assert "campaign, or" not in caught.value.hint
    assert state_files() == []


def test_what_others_do_not_report_leaves_the_level_unknown_and_is_measured(scene: AttachedScene) -> None:
    scene.system.finding = LevelFinding(None, ("topic a: x",), undecided=("topic a: flush.messages is not reported",))
    result = scene.run_attached()
    assert (result.level.level, result.validity) == (None, Validity.DOUBTFUL)
    assert texts_of(result.reasons) == (
        "the durability level is unknown, declared 3, and so is what an acknowledgement means "
        "(topic a: flush.messages is not reported)",
    )


def test_a_level_that_may_not_be_read_is_unknown_and_makes_the_figures_doubtful(scene: AttachedScene) -> None:
    scene.described.append(Setting("topic bench.x", "configuration", "unknown: no right to read the configuration"))
    scene.system.finding = LevelFinding(4, ("guessed",), ("level 3 was asked for",))
    result = scene.run_attached()
    why = ("topic bench.x: configuration is unknown: no right to read the configuration",)
    assert result.level == LevelFinding(None, why, undecided=why)
    assert result.validity is Validity.DOUBTFUL
    assert "the durability level is unknown, declared 3" in str(result.reasons[0])


class TestSettingsThatChangeMeanwhile:
    """What servers report is read back again when everything was received, and compared."""

    def changing(self, scene: AttachedScene, monkeypatch: pytest.MonkeyPatch, *after: Setting) -> None:
        """The topic's flush.messages is 1 until consumers have everything."""
        topic = Setting("topic bench.x", "flush.messages", "1")
        scene.described.append(topic)

        def derive(settings: list[Setting], *_: Any) -> LevelFinding:
            return LevelFinding(3 if topic in settings else 4, ("by flush.messages",))

        stop = scene.worker.stop_producers

        def stopping(grace_s: float) -> int:
            scene.described = [setting for setting in scene.described if setting != topic] + list(after)
            return stop(grace_s)

        monkeypatch.setattr(scene.system, "derive_level", derive)
        monkeypatch.setattr(scene.worker, "stop_producers", stopping)

    def test_another_level_at_the_end_is_none(self, scene: AttachedScene, monkeypatch: pytest.MonkeyPatch) -> None:
        self.changing(scene, monkeypatch, Setting("topic bench.x", "flush.messages", "100"))
        result = scene.run_attached()
        assert (result.level.level, result.validity) == (None, Validity.DOUBTFUL)
        assert result.level.changes == (SettingChange("topic bench.x", "flush.messages", "1", "100"),)
        assert texts_of(result.reasons) == (
            "settings changed while it was measured: topic bench.x: flush.messages was 1, is 100 "
            "(level 3 until then, level 4 after)",
        )

    @pytest.mark.parametrize(
        ("after", "words"),
        [
            ("2, 2", "leaders of 1 of 2 partitions moved"),
            ("1, 2", ""),
        ],
    )
    def test_leaders_that_moved_are_remarked_on(
        self, scene: AttachedScene, monkeypatch: pytest.MonkeyPatch, after: str, words: str
    ) -> None:
        """A broker that others restarted is back at the end, and what it led is led by others."""
        scene.described.append(Setting("topic bench.x", "leaders.by.partition", "1, 2"))
        self.changing(scene, monkeypatch, Setting("topic bench.x", "flush.messages", "1"))
        stop = scene.worker.stop_producers

        def restarted(grace_s: float) -> int:
            stopped = stop(grace_s)
            scene.described = [each for each in scene.described if each.name != "leaders.by.partition"]
            scene.described.append(Setting("topic bench.x", "leaders.by.partition", after))
            return stopped

        monkeypatch.setattr(scene.worker, "stop_producers", restarted)
        result = scene.run_attached()
        assert (result.level.level, result.level.changes) == (3, ()), "the level is read again, and stands"
        found = [warning for warning in result.warnings if warning.kind is ReasonKind.SERVERS_MOVED]
        said = "servers did not stay as they were while it was measured, as by a restart: "
        assert texts_of(found) == ((f"{said}{words}: what that took is in the figures",) if words else ())

    def test_a_change_that_leaves_the_level_is_a_doubt(
        self, scene: AttachedScene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        same = Setting("topic bench.x", "flush.messages", "1")
        self.changing(scene, monkeypatch, same, Setting("topic bench.x", "retention.ms", "5"))
        result = scene.run_attached()
        assert (result.level.level, result.validity) == (3, Validity.DOUBTFUL)
        assert texts_of(result.reasons) == (
            "settings changed while it was measured: topic bench.x: retention.ms was not reported, is 5",
        )

    def test_what_can_not_be_asked_again_is_a_doubt(
        self, scene: AttachedScene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stop = scene.worker.stop_producers

        def stopping(grace_s: float) -> int:
            monkeypatch.setattr(scene.worker, "describe", refuse("Kafka could not describe topic x: timed out."))
            return stop(grace_s)

        monkeypatch.setattr(scene.worker, "stop_producers", stopping)
        result = scene.run_attached()
        assert (result.level.level, result.validity) == (3, Validity.DOUBTFUL)
        assert "could not be read back at its end" in str(result.reasons[0])
        assert "timed out" in str(result.reasons[0])

    def test_secrets_are_in_no_change(self, scene: AttachedScene, monkeypatch: pytest.MonkeyPatch) -> None:
        self.changing(scene, monkeypatch, Setting("topic bench.x", "flush.messages", f"x{SECRET}"))
        assert SECRET not in str(scene.run_attached())


def test_a_setting_that_decides_nothing_may_be_unknown(scene: AttachedScene) -> None:
    scene.described.append(Setting("broker 1", "configuration", "unknown: no right to read the configuration"))
    assert scene.run_attached().validity is Validity.VALID


class TestAfterACrash:
    @pytest.fixture
    def left(self, scene: AttachedScene) -> TopicLedger:
        ledger = TopicLedger.open("kafka", "kafka@attached", CHOICE, SPEC.choice, str(scene.path / "run-1"))
        ledger.add("bench.abc-0", "bench.abc-1")
        return ledger

    def clean(self, scene: AttachedScene, run: Path | None = None, forget: bool = False) -> topics.Cleaned:
        scene.system.attach_rules = "some"
        host: Any = scene.host
        workers = BriefWorkers(lambda: nullcontext(host), scene.start_worker)
        return delete_leftover_topics({"kafka": scene.system}, workers, run, forget)  # type: ignore[dict-item]

    def test_topics_are_deleted_with_the_secrets_read_again(self, scene: AttachedScene, left: TopicLedger) -> None:
        left.close()
        cleaned = self.clean(scene)
        assert cleaned.deleted == ("Deleted 2 topics of the run run-1 on kafka@attached (far:9092).",)
        assert cleaned.remaining == ()
        assert scene.worker.deleted == ["bench.abc-0", "bench.abc-1"]
        assert state_files() == []
        assert self.clean(scene) == topics.Cleaned()

    def test_a_living_trial_is_never_touched(self, scene: AttachedScene, left: TopicLedger) -> None:
        assert self.clean(scene) == topics.Cleaned()
        assert recorded_topics() == ["bench.abc-0", "bench.abc-1"]
        left.close()

    def test_another_runs_topics_wait(self, scene: AttachedScene, left: TopicLedger) -> None:
        left.close()
        assert self.clean(scene, scene.path / "run-2") == topics.Cleaned()
        assert self.clean(scene, scene.path / "run-1").deleted

    def test_a_missing_secret_says_what_remains_where(
        self, scene: AttachedScene, left: TopicLedger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        left.close()
        monkeypatch.delenv("KAFKA_PASSWORD")
        (text,) = self.clean(scene).remaining
        assert "bench.abc-0, bench.abc-1 of the run run-1" in text
        assert "kafka@attached (far:9092)" in text
        assert "the environment variable KAFKA_PASSWORD is not set" in text
        assert recorded_topics() == ["bench.abc-0", "bench.abc-1"]

    def test_an_unreachable_cluster_says_what_remains_where(
        self, scene: AttachedScene, left: TopicLedger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        left.close()
        monkeypatch.setattr(scene.worker, "delete_topics", refuse("No Kafka broker reachable at far:9092"))
        (text,) = self.clean(scene).remaining
        assert "No Kafka broker reachable" in text
        assert recorded_topics()

    def test_what_can_not_be_deleted_can_be_forgotten(
        self, scene: AttachedScene, left: TopicLedger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        left.close()
        monkeypatch.setattr(scene.worker, "delete_topics", refuse("No Kafka broker reachable at far:9092"))
        (text,) = self.clean(scene, forget=True).remaining
        assert "bench.abc-0, bench.abc-1" in text
        assert "They are forgotten now" in text
        assert state_files() == []

    def test_a_worker_that_still_sends_is_waited_for(self, scene: AttachedScene, left: TopicLedger) -> None:
        left.used_by(os.getpid())
        left.close()
        (text,) = self.clean(scene).remaining
        assert "the load generator of that run still runs" in text

    def test_any_of_several_workers_is_waited_for(self, scene: AttachedScene, left: TopicLedger) -> None:
        with subprocess.Popen(["sleep", "60"]) as first:
            left.used_by(first.pid, os.getpid())
            first.kill()
        left.close()
        assert len(json.loads(left.path.read_text())["workers"]) == 2
        assert "still runs" in self.clean(scene).remaining[0]

    def test_a_record_that_knows_one_worker_only_is_read(self, scene: AttachedScene, left: TopicLedger) -> None:
        left.used_by(os.getpid())
        left.close()
        content = json.loads(left.path.read_text())
        (content["worker"],) = content.pop("workers")
        left.path.write_text(json.dumps(content))
        assert "still runs" in self.clean(scene).remaining[0]
        content["worker"] = None
        left.path.write_text(json.dumps(content))
        assert self.clean(scene).remaining == ()

    def test_a_damaged_record_is_named(self, scene: AttachedScene, left: TopicLedger) -> None:
        left.close()
        left.path.write_text("{")
        (text,) = self.clean(scene).remaining
        assert left.path.stem in text
        assert self.clean(scene, forget=True).remaining
        assert state_files() == []

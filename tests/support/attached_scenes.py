"""A trial on a cluster that others run, on doubles."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import pytest
from campaign_doubles import FakeResources
from trial_scenes import SPEC, Scene

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.run import topics
from tidegauge.campaign.run.running_trial import Subject
from tidegauge.campaign.run.topics import Attachment
from tidegauge.campaign.run.trial.run import run_trial
from tidegauge.errors import RunFailedError
from tidegauge.model.events import Note
from tidegauge.model.server import Setting
from tidegauge.model.trial import LoadResult
from tidegauge.systems.attach import AttachChoice, AuthChoice, SecretReference

SECRET = "hunter2-hunter2"
CHOICE = AttachChoice(
    {"bootstrap-servers": "far:9092"}, auth=AuthChoice("plain", "bench", SecretReference("env", "KAFKA_PASSWORD"))
)
ATTACHED = replace(SPEC, system="kafka@attached", attached=True)


class AttachedScene(Scene):
    """A scene whose Kafka is a cluster of three brokers that others run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.worker.pids = (os.getpid(),)
        self.probed: list[str] = []
        self.recorded: list[list[str]] = []
        self.described = [Setting("cluster", "brokers", "3")]

    def prepare_worker(self, monkeypatch: pytest.MonkeyPatch) -> None:
        prepare, probe = self.worker.prepare, self.worker.probe

        def probing(
            driver: str, connection: Any, timeout_s: float, topic: str = "", *, copies_of_cluster: bool = False
        ) -> float:
            # Some clusters take no topic of one copy.
            assert copies_of_cluster
            self.probed.append(topic)
            self.recorded.append(recorded_topics())
            return probe(driver, connection, timeout_s, topic)

        def preparing(order: Any, on_progress: Any) -> list[Setting]:
            self.recorded.append(recorded_topics())
            return [*prepare(order, on_progress), Setting("producer", "sasl.jaas.config", f"password={SECRET}")]

        monkeypatch.setattr(self.worker, "probe", probing)
        monkeypatch.setattr(self.worker, "prepare", preparing)
        monkeypatch.setattr(self.worker, "describe", lambda *_: list(self.described))

    def run_attached(self) -> LoadResult:
        attachment = Attachment(CHOICE, "bench.", str(self.path / "run-1"), {"password": SECRET})
        subject = Subject(self.system, attachment.distribution(self.system), SystemChoice("kafka"), attachment)
        resources = FakeResources(self.host, self.start_worker, self.drop_page_cache, self.events.append)
        return run_trial(ATTACHED, subject, resources, self.store)

    def notes(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Note))


def recorded_topics() -> list[str]:
    return [
        topic
        for path in (topics.state_directory() / "attached").glob("*.json")
        for topic in json.loads(path.read_text())["topics"]
    ]


def refuse(why: str, kind: type[RunFailedError] = RunFailedError, *, topic_refused: bool = False) -> Any:
    def raising(*_args: Any, **_keywords: Any) -> None:
        error = kind(why)
        error.topic_refused = topic_refused
        raise error

    return raising

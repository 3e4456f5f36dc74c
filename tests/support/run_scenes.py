"""A campaign carried out on doubles."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from campaign_doubles import FakeHost, FakeResources, FakeRunStore, FakeSystem, FakeWorker, Journal

from tidegauge.campaign.model import Campaign, ExperimentChoice, SystemChoice
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.run.execute import run_plan
from tidegauge.config.fields import Fields
from tidegauge.errors import RunFailedError, SettingsRefusedError
from tidegauge.experiments.latency import LatencyOptions
from tidegauge.experiments.procedure import TrialOptions
from tidegauge.model.events import Event, TrialEnded
from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import Workload
from tidegauge.worker.api import LoadOrder, WorkerLostError


def options(model: type[Fields], **more: Any) -> Any:
    # Shorter than a campaign file may ask for: these are no measurements.
    return model.model_construct(warm_up_min=0.2, warm_up_max=0.4, measure=0.2, drain_max=1.0, **more)


class Scene:
    def __init__(self, path: Path) -> None:
        self.journal = Journal()
        self.events: list[Event] = []
        self.store = FakeRunStore(path, self.journal)
        self.systems = {
            "kafka": FakeSystem(self.journal, "kafka"),
            "pulsar": FakeSystem(self.journal, "pulsar", default_version="4.2.4"),
        }
        self.workers = 0
        rate = LatencyOptions.model_validate({"rate": "50% of lowest peak"}).rate
        self.campaign = Campaign(
            name="example",
            description="",
            systems=(SystemChoice("kafka"), SystemChoice("pulsar")),
            durability=LevelChoice(3),
            nodes=1,
            workload=Workload(),
            experiments=(
                ExperimentChoice("peak", options(TrialOptions)),
                ExperimentChoice("latency", options(LatencyOptions, rate=rate)),
            ),
            repeat=1,
            seed=1,
            data_directory="",
            source_path=Path("campaign.yaml"),
        )

    def start_worker(self, host: Any, driver: str, log_directory: Path, *_: Any) -> Any:
        self.workers += 1
        return FakeWorker(self.journal)

    def run(self) -> Any:
        plan = plan_campaign(self.campaign, self.systems.__getitem__)
        resources = FakeResources(FakeHost(self.journal), self.start_worker, lambda _: "", self.events.append)
        return run_plan(plan, self.store, resources, self.systems.__getitem__)

    def ended(self) -> dict[str, str]:
        return {event.spec.trial_id: event.failure for event in self.events if isinstance(event, TrialEnded)}


def refuse_settings(worker: FakeWorker, order: LoadOrder, *_: Any) -> Any:
    """In the place of `FakeWorker.prepare`: producers of Kafka don't take that they are given `acks`."""
    if "acks" in order.workload.producer_overrides.get("kafka", {}):
        error = SettingsRefusedError("Kafka could not create a producer: acks must be all.")
        error.role = "producer"
        raise error
    worker.finished, worker.order = threading.Event(), order
    return []


class Losing(Scene):
    """The load generators of the first so many trials fail after some seconds."""

    lost = 1
    dies_of: type[RunFailedError] = WorkerLostError

    def start_worker(self, *_: Any) -> Any:
        self.workers += 1
        lost = self.workers <= self.lost
        return FakeWorker(self.journal, dies_after_seconds=3 if lost else None, dies_of=self.dies_of)

"""Campaigns and the systems that they are planned for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidegauge.campaign.model import Campaign, ExperimentChoice, SystemChoice
from tidegauge.experiments.procedure import experiments
from tidegauge.fairness import Case, ClientFacts
from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import Workload


class Known:
    """What a plan asks of a system."""

    has_servers = True

    def __init__(self, name: str, version: str, levels: list[LevelChoice]) -> None:
        self.name = name
        self.title = name.title()
        self.default_version = version
        self.levels = levels

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        return self.levels

    def shape_problem(self, shape: Mapping[str, str], nodes: int) -> str:
        return f"'{next(iter(shape))}' is no option of layout" if shape else ""

    def message_limit(self, case: Case) -> None:
        return None

    def client_facts(self, case: Case) -> ClientFacts:
        return ClientFacts({}, frozenset())


SYSTEMS: dict[str, Any] = {
    "kafka": Known("kafka", "4.3.1", [LevelChoice(3), LevelChoice(4)]),
    "pulsar": Known("pulsar", "4.2.4", [LevelChoice(3), LevelChoice(4, "journal"), LevelChoice(4, "bypass")]),
    "rabbitmq": Known("rabbitmq", "4.3.6", [LevelChoice(3), LevelChoice(4)]),
}


def choice(name: str, **options: str) -> ExperimentChoice:
    return ExperimentChoice(name, experiments()[name].options.model_validate(options))


CAMPAIGN = Campaign(
    name="example",
    description="",
    systems=(SystemChoice("kafka"), SystemChoice("pulsar"), SystemChoice("rabbitmq")),
    durability=LevelChoice(3),
    nodes=1,
    workload=Workload(),
    experiments=(choice("peak", measure="20s"), choice("latency", rate="50% of lowest peak", measure="30s")),
    repeat=1,
    seed=1,
    data_directory="",
    source_path=Path("campaign.yaml"),
)


MANY = Campaign(
    name="many",
    description="",
    systems=(SystemChoice("kafka"), SystemChoice("pulsar")),
    durability=LevelChoice(4),
    nodes=1,
    workload=Workload(partitions=10_000),
    experiments=(),
    repeat=1,
    seed=1,
    data_directory="",
    source_path=Path("c.yaml"),
)

"""Systems on equal terms but for what a test changes."""

from __future__ import annotations

from dataclasses import replace

from tidegauge.fairness import Case, ComparedSystem
from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import ClientSettings, Compression, Workload
from tidegauge.systems import registry

CLIENT = {"batch_bytes_max": 65_536, "batch_delay_ms_max": 2.0, "in_flight_messages_max": 1000}
WORKLOAD = Workload(partitions=4, client=ClientSettings(**CLIENT, compression=Compression.LZ4))  # type: ignore[arg-type]


def contender(label: str, case: Case) -> ComparedSystem:
    system = registry.system_named(label.partition("@")[0])
    own = system.client_facts(case)
    clients = {name: value for name, value in {**case.producer, **case.consumer}.items() if name not in own.judged}
    servers = {name: value for name, value in case.settings.items() if name not in own.judged}
    return ComparedSystem(label, own.facts, tuple(system.hazards(case)), clients, servers)


def case(level: int = 3, form: str = "", **changes: object) -> Case:
    made = Case("1", 1, LevelChoice(level, form), WORKLOAD)
    return replace(made, **changes)  # type: ignore[arg-type]

"""Systems as planned and as read back, for the published mistakes of comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidegauge.fairness import Case
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Setting
from tidegauge.model.workload import Workload


def case(level: int = 3, form: str = "", nodes: int = 1, partitions: int = 4, **changes: object) -> Case:
    made = Case("4.3.6", nodes, LevelChoice(level, form), Workload(partitions=partitions))
    return replace(made, **changes)  # type: ignore[arg-type]


def read(one: Case, **scopes: Mapping[str, str]) -> Case:
    """As if these were read back: by scope, with _ for a blank."""
    settings = [
        Setting(scope.replace("_", " "), name, value)
        for scope, named in scopes.items()
        for name, value in named.items()
    ]
    return replace(one, in_force=tuple(settings))

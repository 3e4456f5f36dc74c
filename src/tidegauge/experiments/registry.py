"""Finds the experiments: every module of this package that exposes `EXPERIMENT`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

import tidegauge.experiments as package
from tidegauge.experiments.procedure import Experiment


@cache
def experiments() -> dict[str, Experiment[Any]]:
    """All experiments by name, sorted. Two of one name are a programming error."""
    found: dict[str, Experiment[Any]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        experiment = getattr(module, "EXPERIMENT", None)
        if isinstance(experiment, Experiment):
            if experiment.name in found:
                raise ValueError(f"two experiments are called '{experiment.name}'")
            found[experiment.name] = experiment
    return dict(sorted(found.items()))

"""Finds the systems: every package in this folder that exposes `SYSTEM`."""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tidegauge.errors import UserError, nearest
from tidegauge.systems.api import System
from tidegauge.systems.omb import OmbDriver

VERSION = re.compile(r"\d[\w.\-+~]*")
"""What a version looks like: never a path, a blank or an option."""


@cache
def all_systems() -> dict[str, System]:
    """Every system by name."""
    found: dict[str, System] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.ispkg:
            system = getattr(import_module(f"{__package__}.{module.name}"), "SYSTEM", None)
            if system is not None:
                found[system.name] = system
    return found


@cache
def omb_drivers() -> dict[str, OmbDriver]:
    """By the value of `driverClass`, the systems that read their driver files of the OpenMessaging Benchmark."""
    found: dict[str, OmbDriver] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        name = f"{__package__}.{module.name}"
        if module.ispkg and find_spec(f"{name}.omb") is not None:
            driver: OmbDriver = import_module(f"{name}.omb").OMB
            found[driver.driver_class] = driver
    return found


def get(name: str) -> System:
    """The system of a name. Raises `UserError` naming the nearest one."""
    systems = all_systems()
    if name not in systems:
        names = sorted(systems)
        raise UserError(f"There is no system '{name}'{nearest(name, names)}.", f"Systems: {', '.join(names)}.")
    return systems[name]

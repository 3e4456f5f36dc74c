"""Finds the systems: every package in this folder that exposes `SYSTEM`."""

from __future__ import annotations

import pkgutil
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from tidegauge.errors import UserError, nearest
from tidegauge.systems.api import System

VERSION = re.compile(r"\d[\w.\-+]*")


@dataclass(frozen=True)
class SystemRef:
    """A system and the version asked for: "4.3.1", or a directory with its files."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


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


def get(name: str) -> System:
    """The system of a name. Raises `UserError` naming the nearest one."""
    systems = all_systems()
    if name not in systems:
        names = sorted(systems)
        raise UserError(f"There is no system '{name}'{nearest(name, names)}.", f"Systems: {', '.join(names)}.")
    return systems[name]


def parse_system(text: str) -> SystemRef:
    """ "kafka@4.3.1", "kafka@/opt/kafka", or "kafka" for the default version. Raises `UserError`."""
    name, at, version = text.strip().partition("@")
    system = get(name.strip())
    if at and not version.strip():
        raise UserError(
            f"'{text}' names no version after the @.", f"Write {name} alone, or {name}@{system.default_version}."
        )
    version = version.strip() or system.default_version
    if "/" not in version and not VERSION.fullmatch(version):
        raise UserError(
            f"'{version}' in '{text}' is no version.",
            f"Write a version like {system.default_version}, or the path of a directory (with a slash).",
        )
    return SystemRef(system.name, version)

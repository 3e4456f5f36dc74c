"""Finds the systems: every package in this folder that exposes `SYSTEM`, and those that other packages bring."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path

from tidegauge.distribution.extensions import installed_extensions, package_of
from tidegauge.errors import UserError, did_you_mean
from tidegauge.systems.api import System
from tidegauge.systems.omb import OmbDriver

VERSION = re.compile(r"\d[\w.\-+~]{0,99}")
"""What a version looks like: never a path, a blank or an option, and as long as people write them."""


@cache
def all_systems() -> dict[str, System]:
    """Every system by name. Raises `UserError` if an installed package does not bring what it says."""
    built_in = (getattr(import_module(package), "SYSTEM", None) for package in _own_packages())
    systems: dict[str, System] = {system.name: system for system in built_in if system is not None}
    for point in installed_extensions().values():
        if point.name in systems:
            raise UserError(
                f"The system '{point.name}' of the package {package_of(point)} has the name of one that is built in.",
                "Uninstall the package, or let it choose another name.",
            )
        # The system of an installed package. Whatever goes wrong in others' code is said, with whose it is.
        try:
            loaded = point.load()
        except Exception as error:
            raise _unusable_package_error(point, f"{type(error).__name__}: {error}") from error
        system = getattr(loaded, "SYSTEM", None) if hasattr(loaded, "__path__") else None
        if not isinstance(system, System):
            raise _unusable_package_error(
                point, f"'{point.value}' is no package with a SYSTEM derived from tidegauge.systems.api.System"
            )
        missing = [name for name in ("name", "title", "driver", "default_version") if not hasattr(system, name)]
        if missing:
            raise _unusable_package_error(point, f"its SYSTEM has no {' and no '.join(missing)}")
        if system.name != point.name:
            raise _unusable_package_error(point, f"its SYSTEM is called '{system.name}'")
        systems[point.name] = system
    return systems


def _own_packages() -> Iterator[str]:
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.ispkg:
            yield f"{__package__}.{module.name}"


def _unusable_package_error(point: EntryPoint, reason: str) -> UserError:
    return UserError(
        f"The system '{point.name}' of the package {package_of(point)} can't be used: {reason}.",
        "Uninstall the package, or correct it.",
    )


@cache
def omb_drivers() -> dict[str, OmbDriver]:
    """The systems that read driver files of the OpenMessaging Benchmark, by the value of `driverClass` in these."""
    all_systems()  # Whose packages can't be used is said there.
    drivers: dict[str, OmbDriver] = {}
    for package in _own_packages():
        drivers |= _omb_driver(package)
    for point in installed_extensions().values():
        try:
            drivers |= _omb_driver(point.module)
        except Exception as error:
            raise _unusable_package_error(point, f"its module omb: {type(error).__name__}: {error}") from error
    return drivers


def _omb_driver(package: str) -> dict[str, OmbDriver]:
    if find_spec(f"{package}.omb") is None:
        return {}
    driver: OmbDriver = import_module(f"{package}.omb").OMB
    return {driver.driver_class: driver}


def system_names_for_users(names: Iterable[str]) -> list[str]:
    """Returns these names without those of systems that users are not told of (`System.is_listed`)."""
    systems = all_systems()
    return [name for name in names if name not in systems or systems[name].is_listed]


def unknown_system_complaint(name: str, names: Iterable[str]) -> str:
    """The complaint about a system that is none of these names."""
    listed = system_names_for_users(names)
    return f"unknown system '{name}'{_meant_system(name, listed)}; known: {', '.join(listed)}"


def _meant_system(name: str, listed: list[str]) -> str:
    """Which of these systems an unknown name may mean, as a phrase to append, or "".

    A product that speaks the protocol of one of them can be attached as that one.
    """
    systems = all_systems()
    for spoken in listed:
        if spoken in systems and name.lower() in systems[spoken].spoken_by:
            title, rules = systems[spoken].title, systems[spoken].attach_rules
            if rules and name.lower() in rules.products:
                product = f"with 'product: {name.lower()}'"
                return f" (it speaks {title}'s protocol: attach a cluster of it as '{spoken}', {product})"
            return f" (it speaks {title}'s protocol: attach a cluster of it as '{spoken}'; that has not been tried)"
    return did_you_mean(name, listed)


def system_named(name: str) -> System:
    """The system of a name. Raises `UserError` naming the nearest one."""
    systems = all_systems()
    if name not in systems:
        names = system_names_for_users(sorted(systems))
        raise UserError(f"There is no system '{name}'{_meant_system(name, names)}.", f"Systems: {', '.join(names)}.")
    return systems[name]

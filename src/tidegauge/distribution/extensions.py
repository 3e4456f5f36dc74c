"""Packages by which others add systems: those installed with an entry point of the group `tidegauge.systems`.

The entry point's name is the system's, its value the package. Beside its Python code a package may have the jars of a
driver, of the same name, in a folder `worker`; and a module `omb`.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from tidegauge.errors import UserError

GROUP = "tidegauge.systems"


@cache
def installed_extensions() -> dict[str, EntryPoint]:
    """The entry points of installed packages, by the name of their system. Raises `UserError` if two bring the same."""
    points_by_system: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        other = points_by_system.setdefault(point.name, point)
        if other != point:
            raise UserError(
                f"The system '{point.name}' is brought by two packages: {package_of(other)} and {package_of(point)}.",
                "Uninstall one of them.",
            )
    return points_by_system


def package_of(point: EntryPoint) -> str:
    """The distribution that brings it, for messages: "toylog 1.0"."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def driver_directory(driver: str) -> Path | None:
    """Where an installed package has the jars of this driver; None if none brings it."""
    point = installed_extensions().get(driver)
    spec = find_spec(point.module) if point else None
    folders = [Path(place) / "worker" for place in (spec.submodule_search_locations or ())] if spec else []
    return next((folder for folder in folders if folder.is_dir()), None)

"""Libraries with which clients log in where few do: fetched once, and then on the class path of a driver's workers."""

from __future__ import annotations

from pathlib import Path

from tidegauge.atomic import replacing
from tidegauge.distribution.cache import Report, cache_directory, make_directory
from tidegauge.distribution.coordinates import Recipe
from tidegauge.distribution.resolve import provision
from tidegauge.model.server import Distribution


def fetch_login_library(driver: str, recipe: Recipe, report: Report) -> Distribution:
    """Fetch a library for a driver, if it is not there, and let workers find it. Raises `UserError` as `provision`."""
    fetched = provision(recipe, report)
    link = _directory_of(driver) / recipe.system
    make_directory(link.parent)
    # Another process may be starting a worker.
    with replacing(link, shared=True) as new:
        new.symlink_to(fetched.directory)
    return fetched


def login_jars(driver: str) -> list[Path]:
    """The jars of the libraries that were fetched for a driver, in a fixed order."""
    return sorted(_directory_of(driver).glob("[!.]*/*.jar"))


def has_login_library(driver: str, name: str) -> bool:
    """Whether a library of this name was fetched for a driver."""
    return any((_directory_of(driver) / name).glob("*.jar"))


def _directory_of(driver: str) -> Path:
    return cache_directory() / "login-libraries" / driver

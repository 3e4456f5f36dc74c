"""A system's files in a local directory, taken as they are: `kafka@/opt/kafka`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tidegauge.distribution import manifest
from tidegauge.distribution.java import find_java
from tidegauge.errors import UserError
from tidegauge.model.server import Distribution

JAR_FOLDERS = ("libs", "lib", ".")


def provision_directory(system: str, directory: Path, jar_pattern: str, java_min: int) -> Distribution:
    """The distribution in a directory.

    `jar_pattern` matches the file name of the jar that tells the version, in its group 1.
    Raises `UserError` if there is no such directory or it does not hold the system.
    """
    if not directory.is_dir():
        raise UserError(
            f"{system}@{directory}: there is no such directory.", "Give the folder that the archive unpacks to."
        )
    folders = [directory / name for name in JAR_FOLDERS]
    found = [(folder, version) for folder in folders if (version := version_of(_jar_names(folder), jar_pattern))]
    if not found:
        raise UserError(
            f"{directory} does not hold {system}: no jar named like {jar_pattern} in it or in its libs or lib folder.",
            "Give the folder that the archive unpacks to.",
        )
    folder, version = found[0]
    java = find_java(f"{system} {version}", java_min)
    sums = {path.name: manifest.sha256_of(path) for path in sorted(folder.glob("*.jar"))}
    return Distribution(
        system=system,
        version=version,
        directory=folder.absolute(),
        java_home=java.home,
        java_version=java.version,
        digest=manifest.digest_of(sums),
        source=f"directory {directory.absolute()}",
    )


def version_of(jar_names: Iterable[str], jar_pattern: str) -> str:
    """The version that the matching jar's name tells, "" if none matches. Pure."""
    matches = (re.fullmatch(jar_pattern, name) for name in sorted(jar_names))
    return next((match.group(1) for match in matches if match), "")


def _jar_names(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*.jar")]

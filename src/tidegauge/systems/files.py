"""Writing configuration files of servers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tidegauge.errors import StartFailedError


def properties_text(settings: Mapping[str, str]) -> str:
    """Java properties, sorted by name. Pure. Line breaks and backslashes in values are escaped."""
    escaped = {key: value.replace("\\", "\\\\").replace("\n", "\\n") for key, value in settings.items()}
    return "".join(f"{key}={value}\n" for key, value in sorted(escaped.items()))


def write_text(path: Path, text: str) -> Path:
    """Write a file and the folders above it. Raises `StartFailedError` if it can't be.

    Durably: a node whose power is cut is to find its own configuration again.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StartFailedError(
            f"{path} can't be written: {error.strerror}.",
            "Free space or permissions there, or choose another directory.",
        ) from error
    return path


def make_directories(*paths: Path) -> None:
    """Create directories. Raises `StartFailedError` if they can't be."""
    for path in paths:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StartFailedError(
                f"{path} can't be created: {error.strerror}.",
                "Free space or permissions there, or choose another directory.",
            ) from error

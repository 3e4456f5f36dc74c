"""Files that the user asked for beside the run's directory: JUnit XML and Markdown."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tidegauge.errors import UserError


@dataclass(frozen=True)
class WantedFiles:
    """Where to write them; None where nobody asked."""

    junit: Path | None = None
    markdown: Path | None = None

    def check(self) -> None:
        """Say now, and not after an hour of measuring, that a file could not be written. Raises `UserError`."""
        for option, path in (("--junit", self.junit), ("--markdown", self.markdown)):
            if path is None:
                continue
            if path.is_dir():
                raise UserError(f"{option} {path}: this is a directory.", "Name a file in it.")
            if not path.parent.is_dir():
                raise UserError(f"{option} {path}: there is no directory {path.parent}.", "Create it first.")
            if not os.access(path if path.exists() else path.parent, os.W_OK):
                raise UserError(f"{option} {path}: no permission to write it.", "Choose another place.")

    def write(self, junit: Callable[[], bytes], markdown: Callable[[], str]) -> None:
        """Write those that were asked for. Raises `UserError`."""
        if self.junit is not None:
            _write(self.junit, junit())
        if self.markdown is not None:
            _write(self.markdown, markdown().encode())


NO_FILES = WantedFiles()


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UserError(f"{path} can't be written: {error.strerror}.", "Choose another place.") from error

"""The agent's side of files: what servers find on their host, and what they write there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tidegauge.errors import StartFailedError
from tidegauge.fleet.wire import Message

_HINT = "Free space or permissions there, or choose another directory."
_OWNERS_ONLY = 0o600
_USUAL = 0o666
"""What the umask leaves of it."""


def write(path: Path, text: str, mode: int | None) -> None:
    """See `Host.write`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A secret is nobody else's at any moment.
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _USUAL if mode is None else _OWNERS_ONLY)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(number)
            if mode is not None:
                os.fchmod(number, mode)
    except OSError as error:
        raise StartFailedError(f"{path} can't be written: {error.strerror}.", _HINT) from error


def make_directories(paths: Sequence[Path]) -> None:
    """See `Host.make_directories`."""
    for path in paths:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StartFailedError(f"{path} can't be created: {error.strerror}.", _HINT) from error


def read_end(path: Path, bytes_max: int) -> str:
    """See `Host.read_end`."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - bytes_max))
            return file.read(bytes_max).decode("utf-8", "replace")
    except OSError:
        return ""


CALLS: dict[str, Callable[[Message], Any]] = {
    "write": lambda m: write(Path(m["path"]), m["text"], m["mode"]),
    "make_directories": lambda m: make_directories([Path(path) for path in m["paths"]]),
    "read_end": lambda m: read_end(Path(m["path"]), int(m["bytes_max"])),
}

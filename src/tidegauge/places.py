"""Paths as people write them: with ~ and a user's name, or so long that no file can have them."""

from __future__ import annotations

import os
from pathlib import Path

from tidegauge.errors import UserError


def expand_path(place: str | Path) -> Path:
    """A path with the home directory in the place of `~` or `~user`.

    Raises `UserError` if nobody has that name here, and for what can be no path at all.
    """
    try:
        path = Path(place).expanduser()
    except RuntimeError as error:
        raise UserError(
            f"{place}: the home directory of '{Path(place).parts[0]}' is not known here.", "Write the path out."
        ) from error
    check_path(path)
    return path


def resolve_path(path: Path) -> Path:
    """A path without links. Raises `UserError` for what can be no path, and for links that lead to each other."""
    check_path(path)
    try:
        return path.resolve()
    except (RuntimeError, OSError) as error:
        # A loop of links is one or the other, by the version of Python.
        raise UserError(f"{_shortened_path(path)}: its links lead nowhere but to each other.", "Mend them.") from error


def check_path(path: Path) -> None:
    """Raise `UserError` for what can be the path of nothing: with a name too long, or a character that none may have.

    That there is nothing, or that nobody may look, is no matter here.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    except ValueError as error:
        raise UserError(f"{_shortened_path(path)}: no path has such characters.", "Check the path.") from error
    except OSError as error:
        raise UserError(
            f"{_shortened_path(path)}: no such path can be: {error.strerror}.", "Check the path."
        ) from error


def _shortened_path(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 120 else f"{text[:80]}... ({len(text):,} characters)"


def is_file(path: Path) -> bool:
    """Whether there is a file, as far as anybody can tell: no file has a name that is too long."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_directory(path: Path) -> bool:
    """Whether there is a directory, as far as anybody can tell: nobody may look into those that are closed to them."""
    try:
        return path.is_dir()
    except OSError:
        return False


def entries_of_directory(directory: Path, ending: str = "") -> list[Path]:
    """What a directory holds, by name; nothing of what is none."""
    try:
        return sorted(path for path in directory.iterdir() if path.name.endswith(ending))
    except OSError:
        return []

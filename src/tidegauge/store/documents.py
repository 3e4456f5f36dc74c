"""The JSON documents of a run, which may come from anywhere: read within bounds, and checked for their shape.

A part of a run that can't be read is damaged: the reason is reported, and the other parts are read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from tidegauge.places import entries_of_directory
from tidegauge.plain import typed_value
from tidegauge.regular import read_regular

T = TypeVar("T")

DOCUMENT_BYTES_MAX = 64 << 20
"""The plan and the results of thousands of trials with thousands of load generators have some millions."""
_DEPTH_MAX = 64
_DIGITS_MAX = 20
"""Of a whole number: nothing that is measured or drawn has more than 64 bits."""
_MAGNITUDE_MAX = 1e30
"""Of any other: beyond what is measured in any unit, and sums of such numbers and their squares are numbers still."""
_NUMBER = re.compile(r"\s*[-+]?[\d_]+(\.[\d_]*)?\s*")
_NUMBER_CHARS_MAX = 100
"""Of a number that is written as text."""


class DamagedError(ValueError):
    """A file of a run is there and can't be read; its text says why."""


def read_document(path: Path) -> dict[str, Any] | None:
    """The object in a file; None if there is none. Raises `DamagedError`."""
    try:
        text = read_regular(path, DOCUMENT_BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise DamagedError(words_of(error)) from error
    try:
        content = json.loads(
            text, parse_float=_parse_finite, parse_int=_parse_whole_number, parse_constant=_refuse_constant
        )
    except RecursionError as error:
        raise DamagedError("nested too deeply") from error
    except ValueError as error:
        raise DamagedError(f"not JSON as Tidegauge writes it ({error})") from error
    if not isinstance(content, dict):
        raise DamagedError("no JSON object")
    _check_parts(content)
    # Half of a character can be written as JSON, and nowhere else.
    if b"\\u" in text:
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise DamagedError("text that is no Unicode") from error
    return content


def words_of(error: OSError | ValueError) -> str:
    """Why a file can't be read."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _parse_finite(text: str) -> float:
    number = float(text)
    if not abs(number) <= _MAGNITUDE_MAX:
        raise ValueError(f"{text[:_DIGITS_MAX]} is no number that there is")
    return number


def _parse_whole_number(text: str) -> int:
    if len(text) > _DIGITS_MAX:
        raise ValueError(f"a whole number of {len(text):,} digits")
    return int(text)


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _check_parts(content: dict[str, Any]) -> None:
    """Refuse what is nested too deeply, and texts of huge numbers, which would be taken for such."""
    level: list[dict[str, Any] | list[Any]] = [content]
    for _ in range(_DEPTH_MAX):
        inner: list[Any] = []
        for whole in level:
            inner += whole.values() if isinstance(whole, dict) else whole
        # JSON has no other types, and histories of many runs have millions of parts.
        for part in inner:
            if type(part) is str and len(part) > _NUMBER_CHARS_MAX and _NUMBER.fullmatch(part):
                raise DamagedError(f"a number of {len(part):,} characters")
        level = [part for part in inner if type(part) is dict or type(part) is list]
        if not level:
            return
    raise DamagedError("nested too deeply")


class Documents:
    """Reads the documents of one run, and remembers in words what of it is damaged."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self.damage: list[str] = []

    def read(self, path: Path, shape: type[T]) -> T | None:
        """What a file holds, as one of a kind; None if there is none, or it can't be read."""
        try:
            content = read_document(path)
            return None if content is None else typed_value(shape, content)
        except ValueError as error:
            self.note_damage(path, str(error))
            return None

    def read_part(self, path: Path, name: str, shape: type[T]) -> T | None:
        """What the object in a file has by this name, likewise; None too if it says nothing by it."""
        try:
            part = (read_document(path) or {}).get(name)
            return None if part is None else typed_value(shape, part, name)
        except ValueError as error:
            self.note_damage(path, str(error))
            return None

    def note_damage(self, path: Path, why: str) -> None:
        """Remember that a file of the run can't be read, and why."""
        sentence = f"{path.relative_to(self._run)} can't be read: {why}"
        if sentence not in self.damage:
            self.damage.append(sentence)

    def entries_of(self, directory: Path, ending: str = "") -> list[Path]:
        """What is in a directory of the run, as `entries_of_directory`; links are not followed, but remembered."""
        entries = [] if directory.is_symlink() else entries_of_directory(directory, ending)
        for path in (directory, *entries):
            if path.is_symlink():
                self.note_damage(path, "a link, which is not followed")
        return [path for path in entries if not path.is_symlink()]

    def look_for_others(self, directory: Path, endings: tuple[str, ...]) -> None:
        """Remember what has the name of a file that is read, and is none: a FIFO, a link, a device."""
        try:
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except (OSError, ValueError):
            return
        for entry in entries:
            if entry.name.endswith(endings) and not entry.is_file(follow_symlinks=False):
                try:
                    read_regular(Path(entry.path), 0)
                except OSError as error:
                    self.note_damage(Path(entry.path), words_of(error))


def read_object(path: Path) -> dict[str, Any] | None:
    """The object in a file; None if there is none, or it can't be read."""
    try:
        return read_document(path)
    except DamagedError:
        return None


def part_of(path: Path, name: str) -> Any:
    """What the object in a file has by this name; None if there is none, or it can't be read."""
    return (read_object(path) or {}).get(name)


def typed_or_none(kind: type[T], content: object) -> T | None:
    """What was stored as one of a kind; None if there is none, or it can't be read."""
    try:
        return typed_value(kind, content)
    except ValueError:
        return None


def all_readable(kind: type[T], content: object) -> tuple[T, ...]:
    """The items of a stored list that can be read."""
    parts = (typed_or_none(kind, item) for item in (content if isinstance(content, list) else ()))
    return tuple(item for item in parts if item is not None)


def mapping_of(value: object) -> Mapping[str, Any]:
    """An object that was stored; empty for anything else."""
    return value if isinstance(value, Mapping) else {}

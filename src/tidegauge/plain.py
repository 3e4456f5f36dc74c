"""Typed objects to plain JSON values and back; nested values as flat ones, and what differs between or belongs to them.

Numbers that JSON has no word for are written as the strings "NaN", "Infinity" and "-Infinity" and read back from them.
"""

from __future__ import annotations

import dataclasses
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Self, TypeVar

from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import core_schema

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class AsText(ABC):
    """What is written as the text that `str` makes of it, whatever fields it has, and can be read back from it."""

    @classmethod
    @abstractmethod
    def from_text(cls, text: str) -> Self:
        """What was written as this text, as far as a text can tell."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Lets `typed_value` read it."""
        return core_schema.no_info_before_validator_function(
            lambda value: cls.from_text(value) if isinstance(value, str) else value, handler(source)
        )


def plain_value(value: object) -> Any:
    """`value` as dicts, lists, strings and numbers. Histograms (bytes) are left out: they belong into .hlog files.

    So are fields with the metadata `if_any` that have nothing in them.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type | AsText):
        fields = [(field, getattr(value, field.name)) for field in dataclasses.fields(value)]
        return {
            field.name: plain_value(content)
            for field, content in fields
            if not _is_histogram(content) and (content or not field.metadata.get("if_any"))
        }
    if isinstance(value, Mapping):
        return {str(key): plain_value(content) for key, content in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain_value(content) for content in value]
    return _plain_scalar(value)


def _is_histogram(value: object) -> bool:
    """Whether it is one, or several."""
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_histogram, value))
    return isinstance(value, bytes)


def _plain_scalar(value: object) -> str | bool | int | float | None:
    if isinstance(value, Enum):
        return _plain_scalar(value.value)
    if getattr(value, "shape", None) == ():  # A number of numpy, which is not loaded for this.
        return _plain_scalar(value.item())  # type: ignore[attr-defined]
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


_ADAPTERS: dict[object, TypeAdapter[Any]] = {}


def typed_value(kind: type[T], content: object, *place: str) -> T:
    """The inverse of `plain_value` for a dataclass. Keys that a later version added are ignored.

    `place`: of the content in what holds it, for messages.

    Raises:
        ValueError: the content does not fit, with what is wrong in words.
    """
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    try:
        result: T = _ADAPTERS[kind].validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, (*place, *first["loc"])))
        raise ValueError(f"{where}: {first['msg']}") from error
    return result


def is_unicode(text: str) -> bool:
    """Whether it can be written: half of a character, as JSON and names of files may have it, can't."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


Parts = Sequence[tuple[str, Any]]


def json_parts(value: Any) -> Parts | None:
    """What a JSON value is made of, by name; None if it is one."""
    if isinstance(value, Mapping):
        return [(str(key), part) for key, part in value.items()]
    if isinstance(value, list | tuple):
        return [(f"[{index}]", part) for index, part in enumerate(value)]
    return None


def flatten(value: Any, parts: Callable[[Any], Parts | None] = json_parts, path: str = "") -> Iterator[tuple[str, Any]]:
    """All values that have no parts, by their paths: "workload.partitions", "experiments[1].rate"."""
    children = parts(value)
    if children is None:
        yield path, value
    for name, part in children or ():
        dot = "." if path and not name.startswith("[") else ""
        yield from flatten(part, parts, f"{path}{dot}{name}")


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key, all in the order in which they come."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def differing(sides: Sequence[Mapping[str, str]], missing: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What is not the same on all sides: its name, and the value of each side or `missing`."""
    for name in dict.fromkeys(name for side in sides for name in side):
        values = tuple(side.get(name, missing) for side in sides)
        if len(set(values)) > 1:
            yield name, values

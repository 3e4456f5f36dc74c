"""Data of a file held against a model: every error becomes a line with the key, the value and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tidegauge.config.fields import Fields
from tidegauge.config.source import KeyPath, Source
from tidegauge.errors import nearest

_Model = TypeVar("_Model", bound=Fields)

_WANTED = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must hold keys and values",
    "model_type": "must hold keys and values",
    "finite_number": "must be a finite number",
}
_LIMITS = {
    "greater_than_equal": ("ge", "must be at least {}"),
    "greater_than": ("gt", "must be above {}"),
    "less_than_equal": ("le", "must be at most {}"),
    "less_than": ("lt", "must be below {}"),
    "string_pattern_mismatch": ("pattern", "must match {}"),
    "string_too_long": ("max_length", "must have at most {} characters"),
    "string_too_short": ("min_length", "must have at least {} characters"),
}


def validate(model: type[_Model], data: Mapping[str, Any], source: Source, at: KeyPath) -> _Model | None:
    """The model's object, or None after noting each problem in `source`. `at` is where `data` sits in the file."""
    try:
        return model.model_validate(dict(data), by_alias=True, by_name=False)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            where = tuple(part for part in detail["loc"] if isinstance(part, str | int))
            source.complain((*at, *where), _describe(detail, model))
        return None


def keys_of(model: type[Fields]) -> list[str]:
    """The keys that a file may use for this model, in the model's order."""
    return [field.alias or name for name, field in model.model_fields.items()]


def unknown_key(key: str, allowed: list[str]) -> str:
    """The complaint about a key that doesn't exist."""
    return f"unknown key '{key}'{nearest(key, allowed)}; allowed: {', '.join(allowed)}"


def _describe(detail: ErrorDetails, model: type[Fields]) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        return unknown_key(str(detail["loc"][-1]), keys_of(model))
    if kind == "missing":
        return "this key is missing"
    value = _show(detail["input"])
    if kind == "value_error":
        return f"{value}: {context['error']}"
    if kind in _LIMITS:
        name, text = _LIMITS[kind]
        return f"{value}: {text.format(context[name])}"
    return f"{value}: {_WANTED.get(kind, detail['msg'])}"


def _show(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return f"'{text[:60]}...'" if len(text) > 60 else f"'{text}'"

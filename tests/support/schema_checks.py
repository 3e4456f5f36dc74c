"""Whether what Tidegauge wrote is as its JSON Schema says. That the schemas are right is `test_schemas.py`'s."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from tidegauge.report.schemas import json_schemas


def check_content(content: Mapping[str, Any]) -> None:
    """Raises `jsonschema.ValidationError` if it is not as the schema that it names says."""
    _validator_of(content["schema"]).validate(content)


@cache
def _validator_of(name: str) -> Draft202012Validator:
    """Returns one validator for all that is of a schema: making it, and checking the schema, takes longest."""
    return Draft202012Validator(json_schemas()[name])

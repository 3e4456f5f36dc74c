"""JSON Schemas of everything that Tidegauge writes as JSON, generated from the types that write it.

No schema forbids further keys, since some may be added within its number, and none demands one that has a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticOmit, core_schema
from typing_extensions import is_typeddict

from tidegauge.errors import UserError, did_you_mean
from tidegauge.plain import AsText
from tidegauge.report import envelopes as reports
from tidegauge.store import envelopes as files

DIALECT = "https://json-schema.org/draft/2020-12/schema"

ENVELOPES: tuple[Any, ...] = tuple(
    kind
    for module in (files, reports)
    for kind in vars(module).values()
    if is_typeddict(kind) and "schema" in kind.__annotations__ and kind.__module__ == module.__name__
)
"""Types of all that stands by itself, and so says which schema it is of."""


class _Generator(GenerateJsonSchema):
    """Values as Tidegauge writes them: numbers that JSON has no word for are strings, histograms are in .hlog files."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """A number, or its name."""
        return {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """The schema of an object, or of the text that is written of it."""
        return {"type": "string"} if issubclass(schema["cls"], AsText) else super().dataclass_schema(schema)

    def encode_default(self, dft: Any) -> Any:
        """A default as it is written."""
        return str(dft) if isinstance(dft, AsText) else super().encode_default(dft)

    def dataclass_field_schema(self, schema: core_schema.DataclassField) -> JsonSchemaValue:
        """The schema of a field; a histogram (bytes), or several of them, has none."""
        field_schema = super().dataclass_field_schema(schema)
        if "binary" in (field_schema.get("format"), field_schema.get("items", {}).get("format")):
            raise PydanticOmit
        return field_schema


@cache
def json_schemas() -> Mapping[str, dict[str, Any]]:
    """Returns all schemas by name ("tidegauge.run/1"). They are made once: that takes seconds of a CPU."""
    schemas = {}
    for envelope in ENVELOPES:
        content = TypeAdapter(envelope).json_schema(schema_generator=_Generator)
        name = str(content["properties"]["schema"]["const"])
        schemas[name] = {"$schema": DIALECT, "$id": f"urn:{name.replace('.', ':').replace('/', ':')}", **content}
    return schemas


def schema_named(requested: str) -> dict[str, Any]:
    """The schema of that name, which may be short: "tidegauge.run/1", "run/1", "run-1" or "run".

    Raises:
        UserError: there is none.
    """
    schemas = {short_name(name): schema for name, schema in json_schemas().items()}
    short = requested.removeprefix("tidegauge.").removesuffix(".json").replace("-", "/")
    short = short if "/" in short else f"{short}/1"
    if short not in schemas:
        names = [name.removesuffix("/1") for name in schemas]
        raise UserError(
            f"There is no schema '{requested}'{did_you_mean(requested, names)}.", f"There are: {', '.join(names)}."
        )
    return schemas[short]


def short_name(schema: str) -> str:
    """ "run/1" of "tidegauge.run/1"."""
    return schema.removeprefix("tidegauge.")


def file_name(schema: str) -> str:
    """The file that a schema is written to: "run-1.json"."""
    return short_name(schema).replace("/", "-") + ".json"

"""JSON Schemas of everything that Tidegauge writes as JSON, generated from the models that write and read it."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from tidegauge.report.schemas import files, verbs

DIALECT = "https://json-schema.org/draft/2020-12/schema"

ENVELOPES: tuple[Any, ...] = (
    files.RunFile,
    files.CampaignFile,
    files.PlanFile,
    files.EnvironmentFile,
    files.CeilingsFile,
    files.TrialFile,
    files.SettingsFile,
    files.WitnessFile,
    files.DistributionFile,
    files.ResultFile,
    files.CyclesFile,
    files.FindingFile,
    files.AttestationFile,
    files.PublishedFile,
    verbs.Report,
    verbs.Runs,
    verbs.Compare,
    verbs.Claims,
    verbs.Omb,
    verbs.Doctor,
    verbs.Clean,
    verbs.Files,
    verbs.Live,
    verbs.Version,
    verbs.ErrorObject,
)


class _Generator(GenerateJsonSchema):
    """Numbers as Tidegauge writes them: what JSON has no word for is a string."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """A number, or its name."""
        return {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}


def json_schemas() -> dict[str, dict[str, Any]]:
    """All schemas by name: "tidegauge.run/1"."""
    found = {}
    for envelope in ENVELOPES:
        content = TypeAdapter(envelope).json_schema(schema_generator=_Generator)
        name = str(content["properties"]["schema"]["const"])
        _without_histograms(content)
        found[name] = {"$schema": DIALECT, "$id": f"urn:{name.replace('.', ':').replace('/', ':')}", **content}
    return found


def file_name(schema: str) -> str:
    """The file that a schema is published in: "run-1.json"."""
    return schema.removeprefix("tidegauge.").replace("/", "-") + ".json"


def _without_histograms(content: object) -> None:
    """Histograms (bytes) are never written as JSON: they are in .hlog files."""
    if isinstance(content, list):
        for one in content:
            _without_histograms(one)
        return
    if not isinstance(content, dict):
        return
    properties = content.get("properties")
    if isinstance(properties, dict):
        for name in [
            name for name, one in properties.items() if isinstance(one, dict) and one.get("format") == "binary"
        ]:
            del properties[name]
            content["required"] = [one for one in content.get("required", ()) if one != name]
    for one in content.values():
        _without_histograms(one)

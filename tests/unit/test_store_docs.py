"""The reference and the glossary keep up with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegauge.campaign.read.attach import AttachFields, AuthFields, TlsFields
from tidegauge.campaign.read.parse import campaign_keys
from tidegauge.cli import fleet
from tidegauge.cli.main import app
from tidegauge.config.source import keys_of
from tidegauge.config.workload import WorkloadFields
from tidegauge.experiments.procedure import experiments
from tidegauge.fairness import OWN_CLIENT_SETTINGS, OWN_SERVER_SETTINGS, Property
from tidegauge.model.use import Resource
from tidegauge.statistics.figures import known_names
from tidegauge.store.seconds import columns
from tidegauge.store.telemetry import COLUMNS as TELEMETRY_COLUMNS
from tidegauge.systems.registry import all_systems

DOCS = Path(__file__).resolve().parents[2] / "docs"
REFERENCE = (DOCS / "reference.md").read_text()
GLOSSARY = (DOCS / "glossary.md").read_text()


def missing(words: list[str], text: str) -> list[str]:
    return [word for word in words if f"`{word}`" not in text]


def test_every_key_of_campaigns_workloads_and_experiments_is_documented() -> None:
    keys = [*campaign_keys(), *(name.replace("_", "-") for name in WorkloadFields.model_fields)]
    keys += [key for model in (AttachFields, TlsFields, AuthFields) for key in keys_of(model)]
    keys += [key.name for system in all_systems().values() if system.attach_rules for key in system.attach_rules.keys]
    for name, experiment in experiments().items():
        keys += [name, *(key.replace("_", "-") for key in experiment.options.model_fields)]
    assert missing(keys, REFERENCE) == []


def test_every_column_of_the_seconds_is_documented() -> None:
    names = [name for name in columns().names if not re.match(r"(response|service|delay|end_to_end)_", name)]
    assert missing(names, REFERENCE) == []


def figures_not_documented(names: list[str], text: str) -> list[str]:
    """Times are named by their series and their percentile: `response_ms_p50`, `..._p99`, likewise `service_ms_`."""

    def known(name: str) -> bool:
        series, of_times, which = name.partition("_ms_")
        mentioned = len(missing([f"{series}_ms_", f"{series}_ms_p50"], text)) < 2
        return not missing([name], text) or bool(
            of_times and mentioned and (which == "p50" or f"`..._{which}`" in text)
        )

    return [name for name in names if not known(name)]


def test_every_figure_of_thresholds_is_documented() -> None:
    assert figures_not_documented(known_names(), REFERENCE) == []
    assert figures_not_documented(["gc_share", "delay_ms_p98", "gc_ms_p99", "lost"], REFERENCE) == [
        "gc_share",
        "delay_ms_p98",
        "gc_ms_p99",
    ]


def test_every_verb_is_documented() -> None:
    verbs = [command.callback.__name__ for command in app.registered_commands if command.callback]
    verbs += [f"fleet {command.callback.__name__}" for command in fleet.app.registered_commands if command.callback]
    assert [verb for verb in verbs if f"tidegauge {verb}" not in REFERENCE] == []


def test_every_schema_is_documented() -> None:
    source = Path(__file__).resolve().parents[2] / "src/tidegauge"
    schemas = {
        name for path in source.rglob("*.py") for name in re.findall(r'"(tidegauge\.[a-z]+/\d+)"', path.read_text())
    }
    assert len(schemas) > 10
    assert missing(sorted(schemas), REFERENCE) == []


def test_every_rule_of_the_fairness_check_is_documented() -> None:
    methodology = (DOCS / "methodology.md").read_text()
    folder = Path(__file__).resolve().parents[2] / "src/tidegauge/systems"
    hazards = {
        name
        for path in folder.glob("*/fairness.py")
        for name in re.findall(r'Hazard\(\s*"([a-z-]+)"', path.read_text())
    }
    assert len(hazards) > 10
    names = [*hazards, *Property, OWN_CLIENT_SETTINGS, OWN_SERVER_SETTINGS]
    assert missing(sorted(names), methodology) == []


def test_missing_words_are_found() -> None:
    assert missing(["name", "no-such-key"], REFERENCE) == ["no-such-key"]


def test_each_word_is_defined_once() -> None:
    words = re.findall(r"^\| ([^|]+?) \|", GLOSSARY, re.MULTILINE)
    words = [word for word in words if word not in ("word", "---")]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    "word", ["system", "distribution", "deployment", "durability level", "workload", "worker", "fleet", "trial"]
)
def test_the_words_of_the_design_are_defined(word: str) -> None:
    assert f"\n| {word} | " in GLOSSARY


TELEMETRY = (DOCS / "telemetry.md").read_text()


def test_every_column_of_the_telemetry_is_documented() -> None:
    names = [name for table in TELEMETRY_COLUMNS.values() for name in table]
    assert missing(names, TELEMETRY) == []


def test_every_figure_of_servers_own_is_documented() -> None:
    names = [metric.name for system in all_systems().values() for metric in system.metrics]
    assert len(names) > 30
    assert missing(names, TELEMETRY) == []


def test_every_limiting_resource_is_documented() -> None:
    assert missing([resource.value for resource in Resource], TELEMETRY) == []

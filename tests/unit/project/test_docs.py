"""The reference and the glossary keep up with the code."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest
import typer

from tidegauge.campaign.read.attach import AttachFields, TlsFields
from tidegauge.campaign.read.auth import AwsFields, EndpointFields, KerberosFields, PasswordFields, TokenFields
from tidegauge.campaign.read.parse import campaign_keys
from tidegauge.cli import fleet
from tidegauge.cli.main import app
from tidegauge.config.source import keys_of
from tidegauge.config.workload import WorkloadFields
from tidegauge.experiments.procedure import experiments
from tidegauge.fairness import OWN_CLIENT_SETTINGS, OWN_SERVER_SETTINGS, Property
from tidegauge.model.use import Resource
from tidegauge.omb.files import OF_FORKS, WorkloadFile
from tidegauge.statistics.figures import known_names
from tidegauge.store.seconds import columns
from tidegauge.store.telemetry import COLUMNS as TELEMETRY_COLUMNS
from tidegauge.systems.omb import DriverFields, OmbFields
from tidegauge.systems.registry import all_systems, omb_drivers

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
REFERENCE = (DOCS / "reference.md").read_text()
GLOSSARY = (DOCS / "glossary.md").read_text()
COLUMNS = (DOCS / "tables/columns.md").read_text()


def missing(words: list[str], text: str) -> list[str]:
    return [word for word in words if f"`{word}`" not in text]


def test_every_key_of_campaigns_workloads_and_experiments_is_documented() -> None:
    keys = [*campaign_keys(), *(name.replace("_", "-") for name in WorkloadFields.model_fields)]
    auth_fields = (PasswordFields, TokenFields, EndpointFields, KerberosFields, AwsFields)
    keys += [key for model in (AttachFields, TlsFields, *auth_fields) for key in keys_of(model)]
    keys += [key.name for system in all_systems().values() if system.attach_rules for key in system.attach_rules.keys]
    for name, experiment in experiments().items():
        keys += [name, *(key.replace("_", "-") for key in experiment.options.model_fields)]
    assert missing(keys, REFERENCE) == []


def test_every_column_of_the_seconds_is_documented() -> None:
    names = [name for name in columns().names if not re.match(r"(response|service|delay|end_to_end)_", name)]
    assert missing(names, COLUMNS) == []
    assert missing([*names, "no_such_column"], COLUMNS) == ["no_such_column"]


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
    assert figures_not_documented(known_names(), COLUMNS) == []
    assert figures_not_documented(["gc_share", "delay_ms_p98", "gc_ms_p99", "lost"], COLUMNS) == [
        "gc_share",
        "delay_ms_p98",
        "gc_ms_p99",
    ]


def test_every_verb_is_documented() -> None:
    verbs = [command.callback.__name__ for command in app.registered_commands if command.callback]
    verbs += [f"fleet {command.callback.__name__}" for command in fleet.app.registered_commands if command.callback]
    assert [verb for verb in verbs if f"tidegauge {verb}" not in REFERENCE] == []


MEASURING = {"quick", "run", "bench", "ab", "attest", "omb"}


def verbs_by_option() -> dict[str, set[str]]:
    """The verbs that take each option, by the command line itself."""
    verbs: dict[str, set[str]] = {}
    group = typer.main.get_command(app)
    commands = {**group.commands, **{f"fleet {name}": one for name, one in group.commands["fleet"].commands.items()}}
    for verb, command in commands.items():
        for option in (name for one in command.params for name in one.opts if name.startswith("-")):
            verbs.setdefault(option, set()).add(verb)
    return verbs


def tables_of(text: str, heading: str) -> list[list[str]]:
    """The rows of the tables below a heading, up to the next heading, by cells."""
    section = re.split(r"^#", text.partition(f"\n{heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def documented_verbs(all_verbs: set[str], reference: str = REFERENCE) -> dict[str, set[str]]:
    """The verbs that take each option, by the tables of the reference and of OMB's page."""
    verbs: dict[str, set[str]] = {}

    def note(options: str, names: set[str]) -> None:
        for option in re.findall(r"`(--?[A-Za-z][\w-]*)", options):
            verbs.setdefault(option, set()).update(names)

    for heading, everything in (("### Options", MEASURING), ("### Options of other verbs", all_verbs)):
        for options, of, _ in tables_of(reference, heading):
            named = set(re.findall(r"`([^`]+)`", of))
            note(options, everything - named if "all but" in of else named | (everything if "all" in of else set()))
    for options, _, meaning in tables_of(reference, "### bench and ab"):
        note(options, {"ab"} if meaning.startswith("of `ab`") else {"bench", "ab"})
    for options, _ in tables_of((DOCS / "omb.md").read_text(), "## Options"):
        note(options, {"omb"})
    return verbs


def test_every_option_is_documented_with_the_verbs_that_take_it() -> None:
    taken = verbs_by_option()
    documented = documented_verbs(taken["--json"])
    assert len(taken) > 60
    without_runs = {"campaigns", "fetch", "schema", "clean", *(verb for verb in taken["--json"] if "fleet" in verb)}
    assert documented["--runs-dir"] - without_runs == taken["--runs-dir"]
    del documented["--runs-dir"], taken["--runs-dir"]
    assert documented == taken
    without_scale = documented_verbs(set(), REFERENCE.replace("| `--scale S` |", "| |"))
    assert "--scale" in documented
    assert "--scale" not in without_scale


def keys_of_omb(model: type[OmbFields]) -> list[str]:
    """The keys of a file of the OpenMessaging Benchmark, and those of the mappings in it."""
    keys = keys_of(model)
    for field in model.model_fields.values():
        if isinstance(field.annotation, type) and issubclass(field.annotation, OmbFields):
            keys += keys_of_omb(field.annotation)
    return [key for key in keys if key not in ("client", "producer", "consumer")]


def test_every_key_of_omb_is_documented() -> None:
    """A message says of an unknown key that docs/omb.md lists every one."""
    text = (DOCS / "omb.md").read_text()
    assert len(omb_drivers()) >= 3
    models: list[type[OmbFields]] = [WorkloadFile]
    models += [model for model in DriverFields.__subclasses__() if "tidegauge" in model.__module__]
    assert len(models) > 3
    assert [missing(keys_of_omb(model), text) for model in models] == [[] for _ in models]
    assert missing([*keys_of_omb(models[1]), "resets"], text) == ["resets"]
    forks = [OF_FORKS, *(sys.modules[model.__module__].OF_FORKS for model in models[1:])]
    keys = [
        place.split(".")[-1] for keys_of_forks in forks for place in {**keys_of_forks.noted, **keys_of_forks.refused}
    ]
    assert missing(keys, text) == []


def crowded_sections(text: str) -> list[str]:
    """The headings below which there is more than one table."""
    sections = re.split(r"^#+ ", text, flags=re.MULTILINE)
    return [part.splitlines()[0] for part in sections if len(re.findall(r"^\| --- ", part, re.MULTILINE)) > 1]


def test_a_heading_of_the_reference_has_one_table() -> None:
    assert crowded_sections(REFERENCE) == []
    table = "| key | meaning |\n| --- | --- |\n| a | b |\n\n"
    assert crowded_sections(f"# One\n{table}## Two\n{table}{table}") == ["Two"]


def words_of(text: str) -> int:
    """Words are what has a letter or a digit: lines of tables are none."""
    return sum(1 for word in text.split() if re.search(r"[^\W_]", word))


def test_the_documentation_can_be_read_in_a_day() -> None:
    """Decisions, measurements and generated claims are not counted: they are looked up."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md"), *(DOCS / "systems").glob("*.md")]
    assert words_of("| a key | --- | 5 % |") == 3
    assert sum(words_of(page.read_text()) for page in pages) <= 25_000


def test_every_schema_is_documented() -> None:
    source = Path(__file__).resolve().parents[3] / "src/tidegauge"
    schemas = {
        name for path in source.rglob("*.py") for name in re.findall(r'"(tidegauge\.[a-z]+/\d+)"', path.read_text())
    }
    assert len(schemas) > 10
    pages = "".join((DOCS / "tables" / page).read_text() for page in ("files.md", "json.md"))
    assert missing([*sorted(schemas), "tidegauge.nothing/1"], pages) == ["tidegauge.nothing/1"]


def test_every_rule_of_the_fairness_check_is_documented() -> None:
    rules = (ROOT / "benchmarks/fairness.md").read_text()
    folder = Path(__file__).resolve().parents[3] / "src/tidegauge/systems"
    hazards = {
        name
        for path in folder.glob("*/fairness.py")
        for name in re.findall(r'Hazard\(\s*"([a-z-]+)"', path.read_text())
    }
    assert len(hazards) > 10
    names = [*hazards, *Property, OWN_CLIENT_SETTINGS, OWN_SERVER_SETTINGS]
    assert missing([*sorted(names), "no-such-rule"], rules) == ["no-such-rule"]


def anchors_of(text: str) -> set[str]:
    """The anchors of a page: those given by hand, and those that GitHub makes of its headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    of_headings = {
        re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading.lower())).replace(" ", "-") for heading in headings
    }
    return of_headings | set(re.findall(r'<a id="([^"]+)"', text))


def broken_links(page: Path) -> list[str]:
    """The links of a page to files and headings of the project that are not there."""
    broken = []
    for file, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", page.read_text()):
        target = (page.parent / file).resolve() if file else page
        leads = "://" in file or (
            target.exists() and (not anchor or target.suffix != ".md" or anchor[1:] in anchors_of(target.read_text()))
        )
        if not leads:
            broken.append(f"{page.name}: {file}{anchor}")
    return broken


def test_every_link_of_the_documentation_leads_somewhere(tmp_path: Path) -> None:
    root = DOCS.parent
    pages = [
        *root.glob("*.md"),
        *DOCS.rglob("*.md"),
        *(root / "benchmarks").glob("*.md"),
        *(root / "tests").glob("*.md"),
        *(root / "campaigns").rglob("*.md"),
    ]
    assert len(pages) > 30
    assert [link for page in pages for link in broken_links(page)] == []
    (tmp_path / "page.md").write_text("# A title\n[good](#a-title) [gone](#no-title) [no file](other.md)\n")
    assert broken_links(tmp_path / "page.md") == ["page.md: #no-title", "page.md: other.md"]


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
    assert missing(names, COLUMNS) == []


def test_every_figure_of_servers_own_is_documented() -> None:
    names = [metric.name for system in all_systems().values() for metric in system.metrics]
    assert len(names) > 30
    tables = (DOCS / "tables/figures.md").read_text()
    assert missing(names, tables) == []
    assert runpy.run_path(str(ROOT / "scripts/generate_tables.py"))["text"]() == tables, "run make tables"


def test_every_limiting_resource_is_documented() -> None:
    assert missing([resource.value for resource in Resource], TELEMETRY) == []

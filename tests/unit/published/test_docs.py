"""What the documentation says of the published reports is what the campaigns do."""

from __future__ import annotations

import re
import runpy

from published_campaigns import FOLDER, NAMES, PATHS, plan_published, read_published

ROOT = FOLDER.parents[1]
PAGE = (FOLDER / "README.md").read_text()
HOW_TO = (ROOT / "docs/published.md").read_text()
COVERAGE = PAGE.partition("## Every test and figure\n")[2].partition("\n## ")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in COVERAGE.splitlines() if line.startswith("| ")
]
TESTS = [row for row in ROWS if row[0] not in ("test or figure", "---")]


def test_the_claims_are_those_of_the_reports_with_their_campaigns() -> None:
    assert runpy.run_path(str(ROOT / "scripts/generate_published.py"))["text"]() == PAGE, (
        "run scripts/generate_published.py"
    )


def test_every_test_of_a_report_has_a_campaign_or_a_reason() -> None:
    assert len(TESTS) > 30
    assert [what for what, campaigns, how in TESTS if campaigns == "-" and len(how) < 20] == []
    assert [what for what, campaigns, _ in TESTS if campaigns != "-" and not re.findall(r"`[\w-]+`", campaigns)] == []


def test_every_campaign_is_listed_at_the_tests_that_it_repeats() -> None:
    listed = {name for _, campaigns, _ in TESTS for name in re.findall(r"`([\w-]+)`", campaigns)}
    assert listed == set(NAMES)


def test_the_readme_counts_the_campaigns() -> None:
    assert f"one of {len(NAMES)} campaigns" in (ROOT / "README.md").read_text()


def test_how_long_a_first_look_takes_is_what_is_planned() -> None:
    """Minutes by plan, as the page says them."""
    minutes = [plan_published(path, scale="brief").seconds_expected / 60 for path in PATHS]
    assert f"a first look, {int(min(minutes))} to {round(max(minutes))} minutes by plan" in HOW_TO


def test_every_verdict_is_named_where_claims_are_explained() -> None:
    """A reader who meets "direction confirmed" must have been introduced to it."""
    for page in ("README.md", "docs/published.md", "docs/glossary.md", "docs/methodology.md"):
        text = " ".join((ROOT / page).read_text().split())
        assert re.search(
            r"confirmed[^.|]{0,80}(by its direction only|direction confirmed)[^.|]{0,80}contradicted", text
        ) or ("| direction confirmed |" in text), page


def test_campaigns_with_fewer_points_at_the_brief_scale_are_named() -> None:
    sentence = PAGE.partition("at fewer points (")[2].partition(")")[0]
    named: set[str] = set()
    report = ""
    for name in re.findall(r"`([\w-]+)`", sentence):
        report = report if name.startswith("-") else "-".join(name.split("-")[:2])
        named.add(f"{report}{name}" if name.startswith("-") else name)
    fewer = set()
    for path in PATHS:
        own, brief = (
            {tuple(point.values.items()) for point in read_published(path, scale=scale).points}
            for scale in ("shares", "brief")
        )
        if brief < own:
            fewer.add(path.stem)
    assert named == fewer


def test_batch_delays_are_those_that_the_page_says() -> None:
    delays = {path.stem: read_published(path).workload.client.batch_delay_ms_max for path in PATHS}
    of_pulsar = {
        path.stem
        for path in PATHS
        for system in read_published(path).systems
        if system.producer.get("batchingMaxPublishDelayMicros") == "50000"
    }
    assert "Confluent's Pulsar 50 ms, in `confluent-2020-as-run` and `-shapes`" in " ".join(PAGE.split())
    assert of_pulsar | {name for name, delay in delays.items() if delay == 50} == {
        "confluent-2020-as-run",
        "confluent-2020-shapes",
    }
    latency = {
        name
        for name in delays
        if re.search("latency|partitions|rates|check-delay|streamnative-2020-durability|2022", name)
    }
    assert {name for name, delay in delays.items() if delay == 1} == latency

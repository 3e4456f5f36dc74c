"""The main job in short: Kafka and Pulsar, real servers, same durability, every message checked, one comparison.

In `make test` at a rate that is given, in `make test-slow` at a share of what each can do, which is measured first.
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pyarrow.parquet
import pytest
from command import Place, valid_unless_starved

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CAMPAIGN = """
name: short
systems: [kafka, pulsar]
durability: 3
workload: {message-size: 1KiB, partitions: 4, producers: 2, consumers: 2, subscriptions: 2}
experiments:
  - {name: latency, rate: 1000, warm-up-min: 2s, warm-up-max: 4s, measure: 4s, drain-max: 30s}
"""
OF_PEAK = CAMPAIGN.replace("rate: 1000", "rate: 10% of lowest peak").replace(
    "experiments:", "experiments:\n  - {name: peak, warm-up-min: 2s, warm-up-max: 3s, measure: 3s, drain-max: 60s}"
)


@pytest.fixture(
    scope="module",
    params=[CAMPAIGN, pytest.param(OF_PEAK, marks=[pytest.mark.slow, pytest.mark.often])],
    ids=["at a rate", "of the peak"],
)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A finished run."""
    place = Place(tmp_path_factory.mktemp("main-job"), reports=True)
    done = place.run("run", str(place.write(request.param)), timeout_s=500)
    (place.root / "out.txt").write_text(done.stdout)
    valid_unless_starved(done, place)
    return place


@pytest.fixture(scope="module")
def report(place: Place) -> dict[str, Any]:
    done = place.run("show", "last", "--json")
    assert done.returncode == 0
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def experiments(place: Place) -> list[str]:
    """What the campaign asks for."""
    return [name for name in ("peak", "latency") if f"name: {name}" in (place.root / "campaign.yaml").read_text()]


def results(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [result for experiment in report["experiments"] for result in experiment["results"]]


def test_both_systems_have_each_experiment(report: dict[str, Any], experiments: list[str]) -> None:
    assert report["schema"] == "tidegauge.report/1"
    found = {(result["spec"]["experiment"], result["spec"]["system"].partition("@")[0]) for result in results(report)}
    assert found == set(product(experiments, ("kafka", "pulsar")))


def test_every_message_was_checked_for_each_subscription_and_none_was_lost(report: dict[str, Any]) -> None:
    for result in results(report):
        assert len(result["subscriptions"]) == 2
        for subscription in result["subscriptions"]:
            assert subscription["received"] >= result["acked"] > 0
            for anomaly in ("lost", "duplicated", "corrupt", "reordered", "backlog"):
                assert subscription[anomaly] == 0, (result["spec"]["trial_id"], anomaly)


def test_both_were_at_the_level_asked_for_as_read_back(report: dict[str, Any]) -> None:
    for result in results(report):
        assert result["level"]["level"] == 3
        assert result["level"]["problems"] == []
        assert result["level"]["reasoning"]


def test_what_was_in_force_was_on_equal_terms(report: dict[str, Any]) -> None:
    assert (report["unequal"], report["advice"], report["unequal_allowed"]) == ([], [], False)


def test_the_rate_is_the_same_for_both_and_as_given_or_a_tenth_of_the_lower_peak(report: dict[str, Any]) -> None:
    by_experiment: dict[str, list[dict[str, Any]]] = {}
    for result in results(report):
        by_experiment.setdefault(result["spec"]["experiment"], []).append(result)
    (offered,) = {result["offered_msgs_per_s"] for result in by_experiment["latency"]}
    if "peak" not in by_experiment:
        assert offered == pytest.approx(1000, rel=0.06)
        return
    lowest = min(result["msgs_per_s"] for result in by_experiment["peak"])
    assert offered == pytest.approx(0.1 * lowest, rel=0.06)


def test_the_table_fits_and_leads_to_the_run(place: Place) -> None:
    out = (place.root / "out.txt").read_text()
    assert max(len(line) for line in out.splitlines() if "directory" not in line) <= 100
    assert "…" not in out
    assert place.only_run().name in out


def test_the_run_directory_describes_itself(place: Place, experiments: list[str]) -> None:
    run = place.only_run()
    environment = json.loads((run / "environment.json").read_text())
    assert environment["host"]["kernel"]
    assert environment["java_runtimes"]
    trials = sorted((run / "trials").iterdir())
    assert len(trials) == 2 * len(experiments)
    for trial in trials:
        settings = json.loads((trial / "settings.json").read_text())
        names = {one["name"] for one in settings["server"]}
        assert ("flush.messages" in names) if "kafka" in trial.name else ("journalSyncData" in names)
        assert settings["client"]
        seconds = pyarrow.parquet.read_table(trial / "seconds.parquet")
        assert seconds.num_rows >= 5
        assert (trial / "response.hlog").stat().st_size > 0
        assert list((trial / "logs").glob("*.log"))
    assert not list(run.glob("data/*"))


def test_the_report_stands_beside_it_and_is_named(place: Place) -> None:
    page = (place.only_run() / "report.html").read_text()
    assert len(page.encode()) < 6_000_000
    assert page.count("<figure") >= 10
    for word in ("kafka@", "pulsar@", "flush.messages", "journalSyncData", "lost 0, duplicated 0"):
        assert word in page, word
    assert f"{place.only_run().name}/report.html" in (place.root / "out.txt").read_text()


def test_nothing_is_left(place: Place) -> None:
    assert place.left_behind() == []

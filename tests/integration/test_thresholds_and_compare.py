"""Thresholds, files for CI and `tidegauge compare` on runs that were really made, by a driver that speaks to nobody."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from command import NULL_CAMPAIGN, Done, Place, valid_unless_starved

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

THRESHOLDS = """
thresholds:
  - lost == 0
  - response_ms_p99 < 60000
  - response_ms_p99 < 0.000001
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Two runs, the second with another rate; the first misses a threshold."""
    return Place(tmp_path_factory.mktemp("thresholds"))


@pytest.fixture(scope="module")
def first(place: Place) -> Done:
    campaign = place.write(NULL_CAMPAIGN + THRESHOLDS)
    return place.run("run", str(campaign), "--junit", "first.xml", "--markdown", "first.md")


@pytest.fixture(scope="module")
def second(place: Place, first: Done) -> Done:
    campaign = place.write(NULL_CAMPAIGN.replace("rate: 1000", "rate: 2000"), "second.yaml")
    return place.run("run", str(campaign))


def is_missed(first: Done, place: Place) -> bool:
    """Whether it ended so; if not, then because the generator provably lacked CPU."""
    return first.returncode == 4 or valid_unless_starved(first, place)


def test_a_missed_threshold_ends_with_4_and_is_shown_everywhere(place: Place, first: Done) -> None:
    # An INVALID trial has no p99 to miss it by.
    assert is_missed(first, place) == ("Thresholds: 1 MISSED" in first.stdout)
    suites = ElementTree.fromstring((place.root / "first.xml").read_text())
    assert int(suites.attrib["failures"]) + int(suites.attrib["errors"]) >= 1
    assert "`lost == 0` | met" in (place.root / "first.md").read_text()


def test_what_was_stored_is_judged_alike_later(place: Place, first: Done) -> None:
    found = json.loads(place.run("show", "last", "--json").stdout)["thresholds"]
    assert found["outcome"] == ("missed" if is_missed(first, place) else "not decided")
    open_or = (lambda outcome: outcome) if is_missed(first, place) else (lambda _: "not decided")
    assert {one["threshold"]: one["outcome"] for one in found["rulings"]} == {
        "lost == 0": "met",
        "response_ms_p99 < 60000": open_or("met"),
        "response_ms_p99 < 0.000001": open_or("missed"),
    }


def test_two_runs_are_compared_and_only_what_was_changed_differs(place: Place, second: Done) -> None:
    valid_unless_starved(second, place)
    names = sorted(path.name for path in place.runs.iterdir())
    done = place.run("compare", *names, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    # What tests beside this one may change on the host at any moment: a disk that they throttle, CPUs that they use.
    by_others = {("host", "cgroup limits"), ("host", "other programs")}
    differing = {(one["kind"], one["what"]) for one in found["differences"]} - by_others
    expected = {("campaign", "experiments[0].rate")}
    expected |= {("campaign", f"thresholds[{place}]") for place in range(3)}
    assert differing == expected, "settings in force name no places of their own"
    (pair,) = found["comparisons"]
    assert "offered rate differs: 1,000 in A, 2,000 in B" in pair["remarks"]
    assert all(one["comparison"]["verdict"] == "not decided" for one in pair["ratios"])
    shown = place.run("compare", *names).stdout
    assert re.search(r"Campaign: experiments\[0\]\.rate: 1000 in A, 2000 in B", shown)
    assert max(map(len, shown.splitlines())) <= 100


def test_nothing_is_left(place: Place) -> None:
    assert place.left_behind() == []

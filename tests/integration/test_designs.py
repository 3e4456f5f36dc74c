"""Designs of sweeps and `sizing` on the null system, whose answers are set: two effects are found, and the size."""

from __future__ import annotations

import json
import re

import pytest
from command import Place

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

TWO_EFFECTS = """
name: two-effects
systems: ["null"]
durability: 4
workload: {{message-size: 100B, partitions: 1}}
experiments: [{{name: peak, warm-up-min: 1s, warm-up-max: 1s, measure: 2s, drain-max: 6s}}]
deployment: shared
repeat: 2
sweep:
  design: {design}
  systems.null.settings.ack_delay_us: [20000, 40000, 80000]
  in-flight: [10, 40]
  partitions: [1, 2, 4]
  message-size: [100B, 1KiB]
  batch-size: [16KiB, 64KiB]
  keys: [none, random]
"""
"""In a closed loop the rate is what may be in flight, divided by the time of an acknowledgement: two effects of 4."""
EFFECT = re.compile(r"(\S+) \(([0-9.]+)x from (\S+) to (\S+)\)")

THREE_PRODUCERS = """
name: three-producers
systems: [{name: "null", settings: {ack_delay_us: 100000}}]
durability: 4
workload: {message-size: 100B, partitions: 8, in-flight: 10}
experiments:
  - {name: sizing, of: producers, rate: 250, largest: 8, measure: 8s, confirm: 10s, warm-up-min: 1s, warm-up-max: 2s}
"""
"""10 messages in flight for 100 ms each are 100 msg/s of each producer: 250 msg/s take three."""


def _skip_on_a_busy_machine(place: Place) -> None:
    """Trials beside which other programs took the CPUs are INVALID, and no answer comes of them."""
    results = [json.loads(path.read_text())["result"] for path in place.only_run().glob("trials/*/result.json")]
    assert results
    harms = [[one["harm"] for one in result.get("disturbances", ())] for result in results]
    disturbed = [result for result, harm in zip(results, harms, strict=True) if "invalid" in harm]
    if disturbed:
        pytest.skip(f"{len(disturbed)} of {len(results)} trials were disturbed: {disturbed[0]['reasons'][0]}")


@pytest.mark.parametrize(
    ("design", "points"),
    [("pairwise", "of 144 points (pairwise: "), ("one-at-a-time", "9 of 144 points (one at a time: ")],
    ids=["pairwise", "one-at-a-time"],
)
def test_two_effects_that_are_injected_are_found_and_no_other(
    tmp_path_factory: pytest.TempPathFactory, design: str, points: str
) -> None:
    place = Place(tmp_path_factory.mktemp("two-effects"))
    done = place.run("run", str(place.write(TWO_EFFECTS.format(design=design))), timeout_s=800)
    _skip_on_a_busy_machine(place)
    assert points in " ".join(place.run("show", "last").stdout.split())
    words = " ".join(done.stdout.split())
    (moved,) = re.findall("rate moved by [^;]*", words)
    effects = {name: (float(ratio), low, high) for name, ratio, low, high in EFFECT.findall(moved)}
    assert effects == {
        "ack_delay_us": (pytest.approx(4, rel=0.1), "80000", "20000"),
        "in-flight": (pytest.approx(4, rel=0.1), "10", "40"),
    }, words


def test_the_smallest_number_of_producers_is_found_and_confirmed(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = Place(tmp_path_factory.mktemp("sizing"))
    done = place.run("run", str(place.write(THREE_PRODUCERS)), timeout_s=800)
    _skip_on_a_busy_machine(place)
    (finding,) = json.loads(place.run("show", "last", "--json").stdout)["findings"]
    assert finding["details"]["smallest"] == 3, done.stdout
    assert finding["details"]["failed"] == 2
    assert "3 producers at least for 250 msg/s, confirmed over 10 s; 2 failed: achieved" in finding["summary"][0]
    assert finding["details"]["trial_id"].endswith("-confirm")

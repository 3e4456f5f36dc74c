"""`max-throughput` and `curve` on real servers: in short, and against a disk whose speed is known."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from command import NEVER_BROKEN, STARVED_SHARE, Place, valid_unless_starved
from throttled_disk import can_throttle, throttled_disk

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

SHORT = """
name: short
systems: ["{system}"]
durability: 4
workload: {{message-size: 1KiB, partitions: 2}}
experiments:
  - name: max-throughput
    goals:
      - {{name: no limit}}
      - {{name: quick, response-p99-max: 5s}}
    min-rate: 500
    max-rate: 1000
    width: 30%
    trials-max: 3
    measure: 8s
    confirm: 9s
    warm-up-min: 1s
    warm-up-max: 2s
  - {{name: curve, full-rate: 1000, shares: [50%, 100%], measure: 2s, warm-up-min: 1s, warm-up-max: 2s}}
"""


@pytest.fixture(
    scope="module",
    params=[
        # In `make test`: tests/simulated/test_search.py, and other experiments on the null system.
        pytest.param("null", marks=[pytest.mark.slow, pytest.mark.often]),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("kafka", "pulsar", "rabbitmq")),
    ],
)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A finished run of one system."""
    if request.param == "rabbitmq" and shutil.which("apt-get") is None:
        pytest.skip("RabbitMQ comes from Debian's packages")
    place = Place(tmp_path_factory.mktemp("max-throughput"))
    done = place.run("run", str(place.write(SHORT.format(system=request.param))), timeout_s=500)
    (place.root / "out.txt").write_text(done.stdout)
    valid_unless_starved(done, place, NEVER_BROKEN)
    return place


@pytest.fixture(scope="module")
def report(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.run("show", "last", "--json").stdout)
    return found


def trials(report: dict[str, Any], experiment: str) -> list[dict[str, Any]]:
    return [trial for trial in report["exploratory_trials"] if trial["spec"]["experiment"] == experiment]


def found(report: dict[str, Any], experiment: str) -> dict[str, Any]:
    """The one finding of an experiment."""
    (finding,) = (finding for finding in report["findings"] if finding["experiment"] == experiment)
    details: dict[str, Any] = finding["details"]
    return details


def test_the_search_came_to_a_finding_for_each_goal(report: dict[str, Any]) -> None:
    assert [goal["goal"] for goal in found(report, "max-throughput")["goals"]] == ["no limit", "quick"]
    assert [point["offered_msgs_per_s"] for point in found(report, "curve")["points"]] == [500, 1000]


def test_what_is_published_was_confirmed_on_fresh_servers(report: dict[str, Any]) -> None:
    made = {trial["spec"]["trial_id"]: trial for trial in trials(report, "max-throughput")}
    published = [goal for goal in found(report, "max-throughput")["goals"] if goal["sustainable_msgs_per_s"]]
    # A machine that is busy enough makes every trial INVALID; then nothing may be published.
    assert published or all(trial["validity"] == "invalid" for trial in made.values())
    for goal in published:
        confirmation = made[goal["confirmation_trial_id"]]
        assert confirmation["spec"]["servers"] == "fresh"
        assert confirmation["spec"]["measure_s"] == 9
        assert confirmation["offered_msgs_per_s"] == goal["sustainable_msgs_per_s"]
        assert confirmation["msgs_per_s"] >= 0.98 * goal["sustainable_msgs_per_s"]


def test_the_searchs_trials_shared_their_servers_and_lost_nothing(place: Place, report: dict[str, Any]) -> None:
    run = place.only_run()
    shared = [trial for trial in trials(report, "max-throughput") if trial["spec"]["servers"] == "shared"]
    assert len(shared) >= 2
    ids = [trial["spec"]["trial_id"] for trial in shared]
    assert [name for name in ids if list((run / "trials" / name / "logs").iterdir())] == ids[:1]
    for trial in shared:
        assert trial["level"]["level"] == 4
        assert all(sub["lost"] == sub["foreign"] == sub["corrupt"] == 0 for sub in trial["subscriptions"])


def test_nothing_is_left_of_shared_servers(place: Place) -> None:
    assert place.left_behind() == []


def test_each_step_was_printed_as_it_was_decided(place: Place) -> None:
    output = (place.root / "out.txt").read_text()
    assert "500 msg/s: " in output
    assert "more trial" in output
    assert "max-throughput: " in output
    assert "curve: " in output
    assert all(len(line) <= 100 for line in output.splitlines() if "/" not in line)


DISK_BYTES_PER_S = 6_000_000
KAFKA_RECORD_BYTES = 12
"""Length, attributes, time and offset deltas, key and value lengths and header count of a record; 1 KiB values."""

THROTTLED = """
name: throttled
systems: [kafka]
durability: 3
data-directory: {disk}
workload:
  {{message-size: 1KiB, batch-size: 512KiB, batch-delay: 80ms}}
experiments:
  - name: max-throughput
    min-rate: 2500
    max-rate: 12k
    measure: 15s
    confirm: 20s
    warm-up-min: 5s
    warm-up-max: 9s
    drain-max: 20s
"""


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.skipif(not can_throttle(), reason="needs root and the blkio controller of cgroup v1")
def test_a_disk_of_known_speed_gives_the_rate_that_it_takes(tmp_path: Any) -> None:
    place = Place(tmp_path)
    with throttled_disk(tmp_path, 3 << 30, DISK_BYTES_PER_S) as disk:
        done = place.run("run", str(place.write(THROTTLED.format(disk=disk))), "--json", timeout_s=800)
    if not valid_unless_starved(done, place):
        pytest.skip(f"this machine was too busy ({done.starved:.0%} starved) to find a rate")
    (goal,) = json.loads(done.stdout)["findings"][0]["details"]["goals"]
    expected = DISK_BYTES_PER_S / (1024 + KAFKA_RECORD_BYTES)
    assert goal["sustainable_msgs_per_s"] <= 1.07 * expected, goal
    assert goal["lower_msgs_per_s"] <= expected * 1.02
    assert goal["above"]["kind"] == "rate"
    if done.starved < STARVED_SHARE:
        # On a machine without CPU for the server less than the disk takes is sustained, and rightly found.
        assert goal["sustainable_msgs_per_s"] >= 0.93 * expected, goal

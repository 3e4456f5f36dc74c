"""`catch-up` and `mixed` on real servers, in short; and that device reads tell disk from cache."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from command import Place, valid_unless_starved, wait_for

from tidegauge.hosts import cgroups, loop_disk

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

SHORT = """
name: short
systems: [{system}]
durability: 4
deployment: shared
workload: {{message-size: 1KiB, partitions: 2}}
experiments:
  - {{name: catch-up, rate: 2000, backlog: 5000 messages, {times}}}
  - {{name: mixed, rate: 2000, backlog: 5000 messages, {times}}}
"""
TIMES = "warm-up-min: 1s, warm-up-max: 2s, measure: 2s, drain-max: 20s"


@pytest.fixture(scope="module", params=["kafka", "pulsar", "rabbitmq"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A finished run of one system."""
    if request.param == "rabbitmq" and shutil.which("apt-get") is None:
        pytest.skip("RabbitMQ comes from Debian's packages")
    place = Place(tmp_path_factory.mktemp("catching-up"))
    done = place.run("run", str(place.write(SHORT.format(system=request.param, times=TIMES))), timeout_s=300)
    (place.root / "out.txt").write_text(done.stdout)
    valid_unless_starved(done, place)
    return place


@pytest.fixture(scope="module")
def report(place: Place) -> dict[str, Any]:
    return report_of(place)


def report_of(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.run("show", "last", "--json").stdout)
    return found


def result_of(report: dict[str, Any], experiment: str) -> dict[str, Any]:
    (found,) = (one for one in report["experiments"] if one["experiment"] == experiment)
    result: dict[str, Any] = found["results"][0]
    return result


def test_a_backlog_is_built_read_away_and_nothing_is_lost(report: dict[str, Any]) -> None:
    result = result_of(report, "catch-up")
    found = result["catch_up"]
    assert found["backlog_msgs"] >= 5000
    assert found["chase_s"] is not None
    assert found["drain_msgs_per_s"] > 0
    assert found["peak_read_msgs_per_s"] > 2000
    for sub in result["subscriptions"]:
        assert sub["received"] == result["acked"] > 0
        assert sub["lost"] == sub["duplicated"] == sub["corrupt"] == sub["backlog"] == 0


def test_nobody_read_before_the_backlog_was_built(place: Place, report: dict[str, Any]) -> None:
    trial = result_of(report, "catch-up")["spec"]["trial_id"]
    rows = pyarrow.parquet.read_table(place.only_run() / "trials" / trial / "seconds.parquet").to_pylist()
    assert {"warm-up", "before", "during", "after"} <= {row["phase"] for row in rows}
    assert sum(row["received_msgs"] for row in rows if row["phase"] in ("warm-up", "before")) == 0
    behind = [row["backlog_msgs"] for row in rows if row["phase"] == "before"]
    assert behind == sorted(behind)


def test_readers_that_keep_up_are_apart_from_the_one_that_catches_up(report: dict[str, Any]) -> None:
    result = result_of(report, "mixed")
    tailing, late = result["subscriptions"]
    assert late["end_to_end"]["max_ms"] > 2000, "it was made to wait"
    for phase in result["catch_up"]["phases"]:
        assert phase["tailing_end_to_end"]["count"] > 0, phase["phase"]
    before = result["catch_up"]["phases"][0]
    assert before["late_msgs_per_s"] == 0
    assert before["tailing_end_to_end"]["p50_ms"] < late["end_to_end"]["max_ms"]
    assert tailing["lost"] == late["lost"] == 0
    assert late["received"] == result["acked"]


def test_a_small_backlog_from_cache_is_doubted(place: Place, report: dict[str, Any]) -> None:
    reads = result_of(report, "catch-up")["catch_up"]["reads"]
    assert reads["read_bytes"] is not None
    assert reads["read_bytes"] < 16 << 20
    output = " ".join(place.run("show", "last").stdout.split())
    said = r"DOUBTFUL: (\d+% of the backlog was read from the device, the rest from cache|the servers read )"
    assert re.search(said, output)
    assert "catch-up: what was found" in output
    assert "mixed: what was found" in output


def test_nothing_is_left_behind(place: Place) -> None:
    assert place.left_behind() == []


LIMITED = """
name: limited
systems: [{name: kafka, heap: 192MiB, direct-memory: 64MiB}]
durability: 4
workload: {message-size: 8KiB, partitions: 2, producers: 2}
experiments:
  - name: catch-up
    rate: 5000
    backlog: 120% of server memory
    server-memory: 448MiB
    disk: direct-io
    warm-up-min: 1s
    warm-up-max: 2s
    measure: 2s
    drain-max: 60s
"""


@pytest.mark.root
@pytest.mark.skipif(
    bool(cgroups.memory_refusal() or loop_disk.refusal()), reason="needs root, cgroups for memory and loop devices"
)
def test_a_backlog_larger_than_memory_is_read_from_the_device(tmp_path: Path) -> None:
    place = Place(tmp_path)
    others = deserted_groups()
    done = place.run("run", str(place.write(LIMITED)), timeout_s=400)
    valid_unless_starved(done, place)
    found = result_of(report_of(place), "catch-up")["catch_up"]
    assert found["limits"] == []
    assert found["backlog_bytes"] >= 1.2 * (448 << 20)
    # By the kernel's own counters for the broker's process: not served from memory.
    assert found["reads"]["read_bytes"] >= 0.8 * found["backlog_bytes"]
    shown = " ".join(place.run("show", "last").stdout.split())
    assert "device reads: " in shown
    assert "the rest from cache" not in shown
    assert place.left_behind() == []
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
    wait_for(lambda: not set(deserted_groups()) - set(others), 10, "the removal of memory groups")


def deserted_groups() -> list[Path]:
    """Groups that hold no process: those of other runs that go on beside hold theirs."""
    groups = Path("/sys/fs/cgroup").rglob("tidegauge-*")
    return [group for group in groups if not (group / cgroups.MEMBERS).read_text().strip()]

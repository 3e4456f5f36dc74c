"""A sweep killed with kill -9 in the middle and resumed: nothing finished is made again, real servers are shared."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import NEVER_BROKEN, PATIENCE_S, Place, valid_unless_starved, wait_for

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

SWEEP = """
name: swept
systems: [kafka]
durability: 4
workload: {message-size: 200B}
sweep: {partitions: [1, 3]}
experiments:
  - {name: latency, rate: 1000, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 8s}
"""
SHARED = f"{SWEEP}deployment: shared\n"
SEARCH = """
name: searched
systems: ["null"]
durability: 4
workload: {message-size: 200B}
experiments:
  - {name: max-throughput, min-rate: 1k, max-rate: 4k, width: 50%, warm-up-min: 1s, warm-up-max: 2s, measure: 8s,
     confirm: 8s, drain-max: 8s}
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for line in place.strays():
        os.kill(int(line.split()[0]), signal.SIGKILL)


def finished(place: Place) -> dict[str, tuple[int, int]]:
    """The results there are, each with what would change if it were written again."""
    results = place.runs.glob("*/trials/*/result.json")
    return {path.parent.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in results}


def in_trial(place: Place, number: int) -> bool:
    """Whether the trial of a number, from 0, has figures already."""
    seconds = sorted(place.runs.glob("*/trials/*/seconds.jsonl"))
    return len(finished(place)) == number and any(path.stat().st_size > 0 for path in seconds)


def killed(place: Place, campaign: str, number: int) -> dict[str, tuple[int, int]]:
    """Start a campaign and kill -9 the command in the trial of a number. Returns what was finished."""
    process = place.start("run", str(place.write(campaign)))
    wait_for(lambda: in_trial(place, number), 2 * PATIENCE_S, "measuring", process.check)
    process.kill()
    process.communicate()
    return finished(place)


def report(place: Place, *arguments: str) -> dict[str, Any]:
    done = place.run(*arguments, "--json")
    valid_unless_starved(done, place, NEVER_BROKEN)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sessions(place: Place) -> dict[str, int]:
    records = place.only_run().glob("trials/*/trial.json")
    return {path.parent.name: json.loads(path.read_text())["session"] for path in sorted(records)}


def test_a_killed_sweep_goes_on_and_its_report_is_whole(place: Place) -> None:
    before = killed(place, SWEEP.replace("[kafka]", '["null"]'), 1)
    (first,) = before
    found = report(place, "run", "--resume", "last")
    assert finished(place)[first] == before[first], "not made again"
    assert len(finished(place)) == 2
    assert found["run"]["status"] == "finished"
    assert [one["trials"] for one in found["run"]["sessions"]] == [[first], [n for n in finished(place) if n != first]]
    assert found["run"]["sessions"][0]["status"] == "unfinished (killed)"
    assert [one["point"]["partitions"] for one in found["experiments"]] in (["1", "3"], ["3", "1"])
    assert found["trials_without_result"] == []
    assert sorted(sessions(place).values()) == [1, 2]
    assert len(list((place.only_run() / "earlier").iterdir())) == 1, "what the killed trial measured is kept"
    shown = place.run("show", "last").stdout
    rows = [line.split()[:2] for line in shown.splitlines() if line.startswith(("1 ", "3 "))]
    assert rows[:2] == [["1", "null@1"], ["3", "null@1"]], shown
    assert place.left_behind() == []


@pytest.mark.slow
def test_points_share_servers_that_go_on(place: Place) -> None:
    found = report(place, "run", str(place.write(SHARED)))
    logs = [path.name for path in place.only_run().glob("trials/*/logs/kafka-1.log")]
    assert len(logs) == 1, "the servers of the first trial went on"
    counts = [one["lost"] for block in found["experiments"] for r in block["results"] for one in r["subscriptions"]]
    assert counts == [0, 0]
    records = sorted(place.only_run().glob("trials/*/trial.json"))
    reasons = [json.loads(path.read_text())["page_cache"]["reason"] for path in records]
    assert "go on, and their logs are there" in reasons[1]
    plan = json.loads((place.only_run() / "plan.json").read_text())
    assert [(one["block"], one["trials"]) for one in plan["blocks"]] == [(0, [path.parent.name for path in records])]
    assert plan["blocks"][0]["seed"] == plan["trials"][0]["seed"]
    assert place.left_behind() == []


@pytest.mark.slow
def test_a_killed_search_goes_on_from_its_trials(place: Place) -> None:
    before = killed(place, SEARCH, 2)
    found = report(place, "run", "--resume", "last")
    after = finished(place)
    assert {name: after[name] for name in before} == before
    (finding,) = found["findings"]
    assert finding["details"]["trials"] == len(after)
    assert set(sessions(place).values()) == {1, 2}
    assert not any("interrupted" in sentence for sentence in finding["summary"])
    assert place.left_behind() == []

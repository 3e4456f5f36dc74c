"""The controller is killed right after the measured window: --resume finds what was measured."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import PATIENCE_S, Done, Place, stored_result, valid_unless_starved, wait_for
from null_worker import BUILT, null_server
from patience import sleep_until

from tidegauge.model.reason import ReasonKind

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not BUILT, reason="the worker is not built: run `make build`"),
]
CAMPAIGN = """
name: left
systems: [{{name: "null", settings: {{{settings}}}}}]
durability: 4
workload: {{message-size: 200B, producers: 3}}
worker: {{count: {workers}}}
experiments:
  - {{name: latency, rate: 1000, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 8s}}
"""
TRIAL = "0001-latency-null"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for line in place.strays():
        os.kill(int(line.split()[0]), signal.SIGKILL)


def kill_after_window(place: Place, workers: int, settings: str) -> dict[str, Any]:
    """Run a campaign and kill -9 the command when the window is over, which it does not live to see."""
    campaign = place.write(CAMPAIGN.format(workers=workers, settings=settings))
    process = place.start("run", str(campaign))
    record = "*/trials/*/measuring.json"
    wait_for(lambda: list(place.runs.glob(record)), 2 * PATIENCE_S, "measuring", process.check)
    (path,) = place.runs.glob(record)
    known: dict[str, Any] = json.loads(path.read_text())["measuring"]
    sleep_until(known["until_mono_ns"] - 500_000_000)
    process.check()
    process.send_signal(signal.SIGSTOP)
    sleep_until(known["until_mono_ns"] + 300_000_000)
    process.kill()
    process.communicate()
    assert not list(place.runs.glob("*/trials/*/result.json")), "killed before it had a result"
    return known


def left(place: Place) -> list[str]:
    return sorted(path.name.partition("-")[2] for path in (place.state / "results").glob("*.results"))


def resumed(place: Place) -> tuple[Done, dict[str, Any]]:
    done = place.run("run", "--resume", "last", "--json")
    assert done.stdout, done.printed
    found: dict[str, Any] = json.loads(done.stdout)
    return done, found


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_figures_are_found_and_stored(place: Place, workers: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    with null_server(tmp_path_factory.mktemp("null")) as address:
        known = kill_after_window(place, workers, f'address: "{address}"')
        names = [f"{number}-of-{workers}.results" for number in range(1, workers + 1)]
        wait_for(lambda: left(place) == names, PATIENCE_S, "the load generators write")
        done, found = resumed(place)
    assert found["run"]["status"] == "finished"
    (result,) = [result for block in found["experiments"] for result in block["results"]]
    trial = place.only_run() / "trials" / TRIAL
    assert stored_result(trial)["kinds"][-1] is ReasonKind.COLLECTED, found["run"]["notes"]
    if valid_unless_starved(done, place):
        assert result["validity"] == "doubtful"
    assert result["sent"] == result["acked"] > 3_000
    (subscription,) = result["subscriptions"]
    assert (subscription["received"], subscription["lost"]) == (result["sent"], 0)
    assert result["response"]["count"] == 3_000
    stored = json.loads((trial / "result.json").read_text())
    assert len(stored["totals"]["workers"]) == (workers if workers > 1 else 0), "what each saw is kept"
    assert stored["totals"]["window"]["until_mono_ns"] == known["until_mono_ns"]
    assert (trial / "settings.json").exists(), "of the session that measured"
    assert json.loads((trial / "trial.json").read_text())["session"] == 1
    assert (trial / "seconds.parquet").exists() and (trial / "window.hlog").exists()
    assert not (place.only_run() / "earlier").exists(), "not made again"
    assert left(place) == [], "removed once they are stored"
    assert place.left_behind() == []


@pytest.mark.slow
def test_what_was_not_received_makes_the_trial_again(place: Place) -> None:
    kill_after_window(place, 1, 'lose: "at:100"')
    wait_for(lambda: left(place) == ["1-of-1.results"], PATIENCE_S, "the load generator writes")
    _, found = resumed(place)
    (note,) = [note for note in found["run"]["notes"] if "is made again" in note]
    assert "3 acknowledged messages had not been received" in note
    earlier = place.only_run() / "earlier" / f"{TRIAL}-1" / "result.json"
    assert json.loads(earlier.read_text())["result"]["validity"] == "invalid", "kept with all its figures"
    assert ReasonKind.COLLECTED not in stored_result(place.only_run() / "trials" / TRIAL)["kinds"]
    assert json.loads((place.only_run() / "trials" / TRIAL / "trial.json").read_text())["session"] == 2


@pytest.mark.slow
def test_without_them_the_trial_is_made_again(place: Place) -> None:
    kill_after_window(place, 1, "")
    wait_for(lambda: left(place) == ["1-of-1.results"], PATIENCE_S, "the load generator writes")
    for path in (place.state / "results").iterdir():
        path.unlink()
    _, found = resumed(place)
    notes = " ".join(found["run"]["notes"])
    assert f"{TRIAL} is made again: it had been measured, but its load generators left no figures." in notes
    assert ReasonKind.COLLECTED not in stored_result(place.only_run() / "trials" / TRIAL)["kinds"]

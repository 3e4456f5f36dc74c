"""A worker is killed while its trial is measured: the trial is void, and made again if the campaign says so."""

from __future__ import annotations

import json
import os
import signal
import socket
from pathlib import Path

import pytest
from command import PATIENCE_S, Done, Place, measuring, wait_for
from null_worker import BUILT, null_server

from tidegauge.store.seconds import read_seconds

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BUILT, reason="the worker is not built: run `make build`"),
]
KILLED = f"Load generator 2 of 3 on {socket.gethostname()} was killed by signal 9"
CAMPAIGN = """
name: losing
systems: [{{name: "null", settings: {{address: "{address}"}}}}]
durability: 4
workload: {{message-size: 200B, producers: 3}}
worker: {{count: 3}}
experiments:
  - {{name: latency, rate: 1000, warm-up-min: 1s, warm-up-max: 2s, measure: 4s, drain-max: 8s}}
  - {{name: latency, rate: 500, warm-up-min: 1s, warm-up-max: 2s, measure: 2s, drain-max: 8s}}
"""


def run_and_kill(place: Place, more: str = "") -> Done:
    """Run it, and kill the second of three workers once the first trial has figures."""
    with null_server(place.root) as address:
        campaign = place.write(CAMPAIGN.format(address=address) + more)
        process = place.start("run", str(campaign), "--json")
        wait_for(lambda: measuring(place), PATIENCE_S, "measuring", process.check)
        os.kill(place.held()["worker-2"], signal.SIGKILL)
        return process.finish(2 * PATIENCE_S)


@pytest.mark.slow
def test_the_trial_is_made_again_and_the_run_goes_on(tmp_path: Path) -> None:
    place = Place(tmp_path)
    done = run_and_kill(place, "retry: 1\n")
    found = json.loads(done.stdout)
    assert found["run"]["status"] == "finished", done.printed
    (note,) = [note for note in found["run"]["notes"] if "is made again" in note]
    assert note.startswith(f"0001-latency-null is made again: {KILLED}"), note
    assert note.endswith("What it had measured is in earlier/0001-latency-null-1."), note
    run = place.only_run()
    trials = sorted(path.name for path in (run / "trials").iterdir())
    assert trials == ["0001-latency-null", "0002-latency-null"], "at the same place of the order"
    assert all((run / "trials" / name / "result.json").exists() for name in trials)
    void = run / "earlier" / "0001-latency-null-1"
    seconds = read_seconds(void)
    assert seconds and sum(second["acked_msgs"] for second in seconds) > 0, "what all had measured before is kept"
    assert json.loads((void / "trial.json").read_text())["status"] == "failed"
    assert (void / "logs" / "worker-2.log").exists()
    assert place.left_behind() == []


@pytest.mark.slow
def test_else_it_is_void_and_named(tmp_path: Path) -> None:
    place = Place(tmp_path)
    done = run_and_kill(place)
    assert done.returncode == 1, done.printed
    found = json.loads(done.stdout)
    (void,) = found["trials_without_result"]
    assert KILLED in json.dumps(void)
    assert read_seconds(place.only_run() / "trials" / "0001-latency-null")
    assert len(list(place.only_run().glob("trials/*/result.json"))) == 1, "the run goes on"
    assert place.left_behind() == []

"""Faults while a real Kafka is measured: made at their times, told by fault, and lifted whatever happens."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import Place, wait_for

from tidegauge.fleet.agent_rig import refusals

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

CAMPAIGN = """
name: faulted
systems: [{name: kafka, heap: 384MiB, direct-memory: 128MiB}]
durability: LEVEL
nodes: NODES
workload: {message-size: 200B, partitions: 3}
experiments:
  - name: latency
    rate: 300
    warm-up-min: 2s
    warm-up-max: 3s
    measure: MEASURE
    drain-max: 90s
    faults:
FAULTS
"""


def campaign(measure: str, *faults: str, nodes: int = 1) -> str:
    listed = "\n".join(f"      - {{{fault}}}" for fault in faults)
    text = CAMPAIGN.replace("MEASURE", measure).replace("FAULTS", listed)
    return text.replace("NODES", str(nodes)).replace("LEVEL", "1" if nodes > 1 else "3")


def carried_out(place: Place, text: str) -> tuple[dict[str, Any], str]:
    """The one trial's result, and what was shown."""
    done = place.run("run", str(place.write(text)), timeout_s=350)
    # 3: on a busy machine the generator may spoil the figures, which are not asked for here.
    assert done.returncode in (0, 3), done.stderr
    (path,) = place.only_run().glob("trials/*/result.json")
    assert place.left_behind() == []
    result: dict[str, Any] = json.loads(path.read_text())["result"]
    return result, done.stdout


def test_a_pause_and_a_crash_are_told_fault_by_fault(tmp_path: Path) -> None:
    place = Place(tmp_path)
    result, shown = carried_out(
        place,
        campaign(
            "16s", "at: 2s, kind: pause, target: leader, duration: 2s", "at: 7s, kind: kill, target: all, duration: 1s"
        ),
    )
    pause, kill = result["faults"]
    assert (pause["fault"]["kind"], kill["fault"]["kind"]) == ("pause", "kill")
    assert pause["nodes"] == kill["nodes"] == [1]
    assert pause["from_s"] >= 2.0
    assert pause["until_s"] - pause["from_s"] >= 2.0
    assert kill["from_s"] >= 7.0
    # The only node was gone for a second and then started: nobody can publish, or wait for less than that.
    assert kill["publish_gap_s"] >= 1.0
    assert pause["p99_worst_ms"] >= 1000.0
    assert (pause["lost"], kill["lost"]) == (0, 0)
    assert any("2 faults were made" in warning for warning in result["warnings"])
    text = " ".join(shown.split())
    assert "with 2 faults" in text
    # The rest of a label stands below it.
    assert "1. pause of" in text
    assert "2. kill of" in text


@pytest.mark.slow
def test_a_kill_of_tidegauge_leaves_no_fault_in_force(tmp_path: Path) -> None:
    place = Place(tmp_path)
    process = place.start("run", str(place.write(campaign("60s", "at: 1s, kind: pause, target: all, duration: 50s"))))

    def paused() -> bool:
        pid = place.held().get("kafka-1")
        return pid is not None and psutil.pid_exists(pid) and psutil.Process(pid).status() == psutil.STATUS_STOPPED

    wait_for(paused, 150, "the pause")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    wait_for(lambda: not place.left_behind(), 90, "the agent's clean-up")


def test_what_this_machine_can_not_do_is_refused_before_anything_starts(tmp_path: Path) -> None:
    place = Place(tmp_path)
    text = campaign("60s", "at: 1s, kind: partition, duration: 2s").replace("name: kafka,", "name: rabbitmq,")
    done = place.run("run", str(place.write(text)), "--dry-run")
    told = " ".join(done.stderr.split())
    assert done.returncode == 2
    assert "partition can't be made" in told
    assert not place.runs.exists()


@pytest.mark.slow
def test_three_nodes_take_over_from_each_other(tmp_path: Path) -> None:
    result, _ = carried_out(
        Place(tmp_path),
        campaign(
            "100s",
            "at: 3s, kind: kill, target: leader, duration: 5s",
            "at: 30s, kind: restart, target: random",
            "at: 60s, kind: rolling-restart",
            nodes=3,
        ),
    )
    assert [fault["fault"]["kind"] for fault in result["faults"]] == ["kill", "restart", "rolling-restart"]
    assert result["faults"][2]["nodes"] == [1, 2, 3]
    assert all(fault["lost"] == 0 for fault in result["faults"])


@pytest.mark.slow
@pytest.mark.skipif(bool(refusals()), reason=f"can't be done here: {refusals()}")
def test_disks_are_slowed_hung_and_cut_off(tmp_path: Path) -> None:
    result, _ = carried_out(
        Place(tmp_path),
        campaign(
            "60s",
            "at: 2s, kind: slow-disk, target: all, duration: 2s, operations: 20",
            "at: 10s, kind: hung-disk, target: all, duration: 2s",
            "at: 20s, kind: power-cut, target: all, duration: 1s",
        ),
    )
    assert [fault["lost"] for fault in result["faults"]] == [0, 0, 0]
    assert result["faults"][1]["publish_gap_s"] >= 1.0
    assert result["faults"][2]["publish_gap_s"] >= 1.0

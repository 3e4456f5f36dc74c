"""Faults while real servers are measured: made at their times, reported by fault, and lifted whatever happens."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import PATIENCE_S, Place, valid_unless_starved, wait_for
from rigs import refused

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

NO_NETWORK = refused("network", "partition", "packet_loss", "rate_limit")
NO_DISK = refused("slow_disk", "hung_disk", "power_cut")

CAMPAIGN = """
name: faulted
systems: [{name: SYSTEM, heap: HEAP, direct-memory: DIRECT}]
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


def campaign(measure: str, *faults: str, nodes: int = 1, system: str = "kafka") -> str:
    listed = "\n".join(f"      - {{{fault}}}" for fault in faults)
    text = CAMPAIGN.replace("MEASURE", measure).replace("FAULTS", listed)
    text = text.replace("NODES", str(nodes)).replace("LEVEL", "1" if nodes > 1 else "3")
    # A bookie is given a third of it, and ends itself when it has too little to replay what a restart left.
    heap, direct = ("640MiB", "384MiB") if system == "pulsar" else ("384MiB", "128MiB")
    return text.replace("SYSTEM", system).replace("HEAP", heap).replace("DIRECT", direct)


def carried_out(place: Place, text: str) -> tuple[dict[str, Any], str]:
    """The one trial's result, and what was shown."""
    done = place.run("run", str(place.write(text)), timeout_s=800 if "nodes: 3" in text else 350)
    valid_unless_starved(done, place)
    (path,) = place.only_run().glob("trials/*/result.json")
    assert place.left_behind() == []
    result: dict[str, Any] = json.loads(path.read_text())["result"]
    return result, place.run("show", "last").stdout


@pytest.mark.slow
def test_a_pause_and_a_crash_are_reported_fault_by_fault(tmp_path: Path) -> None:
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
    assert "1. pause" in text
    assert "2. kill" in text
    assert "The faults: 1. pause of the leader for 2 s, at 2 s; 2. kill of all nodes for 1 s, at 7 s." in text


@pytest.mark.slow
def test_a_kill_of_tidegauge_leaves_no_fault_in_force(tmp_path: Path) -> None:
    place = Place(tmp_path)
    process = place.start("run", str(place.write(campaign("60s", "at: 1s, kind: pause, target: all, duration: 50s"))))

    def paused() -> bool:
        pid = place.held().get("kafka-1")
        return pid is not None and psutil.pid_exists(pid) and psutil.Process(pid).status() == psutil.STATUS_STOPPED

    wait_for(paused, 2 * PATIENCE_S, "the pause", process.check)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_for(lambda: not place.left_behind(), PATIENCE_S, "the agent's clean-up")


def test_what_can_not_be_done_is_refused_before_anything_starts(tmp_path: Path) -> None:
    place = Place(tmp_path)
    text = campaign("60s", "at: 1s, kind: kill, target: 2, duration: 2s", system="rabbitmq")
    done = place.run("run", str(place.write(text)), "--dry-run")
    output = " ".join(done.stderr.split())
    assert done.returncode == 2
    assert "fault 1: there is no node 2: rabbitmq@" in output
    assert not place.runs.exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("system", ["kafka", "pulsar", "rabbitmq"])
def test_three_nodes_take_over_from_each_other(system: str, tmp_path: Path) -> None:
    result, _ = carried_out(
        Place(tmp_path),
        campaign(
            "100s",
            "at: 3s, kind: kill, target: leader, duration: 5s",
            "at: 30s, kind: restart, target: random",
            "at: 60s, kind: rolling-restart",
            nodes=3,
            system=system,
        ),
    )
    assert [fault["fault"]["kind"] for fault in result["faults"]] == ["kill", "restart", "rolling-restart"]
    assert result["faults"][2]["nodes"] == [1, 2, 3]
    assert all(fault["lost"] == 0 for fault in result["faults"])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(NO_NETWORK), reason=f"can't be done here: {NO_NETWORK}")
@pytest.mark.parametrize("system", ["kafka", "kafka@2.8.2", "pulsar", "rabbitmq"])
def test_networks_are_parted_lossy_and_slow(system: str, tmp_path: Path) -> None:
    name, _, version = system.partition("@")
    text = campaign(
        "60s",
        "at: 3s, kind: partition, target: leader, duration: 5s",
        "at: 25s, kind: packet-loss, target: all, share: 20%, duration: 3s",
        "at: 38s, kind: rate-limit, target: leader, bandwidth: 128KiB, duration: 3s",
        nodes=3,
        system=name,
    )
    if version:
        text = text.replace(f"name: {name},", f"name: {name}, version: {version},")
    result, _ = carried_out(Place(tmp_path), text)
    parted = result["faults"][0]
    # Clients of the leader wait for its return, or for another leader.
    assert parted["p99_worst_ms"] > parted["p99_before_ms"]
    assert [fault["lost"] for fault in result["faults"]] == [0, 0, 0]


@pytest.mark.slow
@pytest.mark.skipif(bool(NO_DISK), reason=f"can't be done here: {NO_DISK}")
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
    # Of the two seconds one lies between two looks; a look's second may be some microseconds short.
    assert result["faults"][1]["publish_gap_s"] >= 0.9
    assert result["faults"][2]["publish_gap_s"] >= 1.0

"""Programs beside real trials are found by name: busy loops, in a group of their own too, disk writers, memory hogs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from command import Place
from cpu_quota import needs_cpu_limit, quota
from deployments import ready
from disturbance import busy_loops
from patience import wait_for

from tidegauge.agent.api import ProcessSpec
from tidegauge.agent.local import LocalHost
from tidegauge.hosts.procfs import short_file
from tidegauge.model.level import LevelChoice
from tidegauge.model.use import Sample

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(300)]

# As many producers as take what CPUs others leave: only a full machine's rate is disturbed by them.
CAMPAIGN = """
name: disturbed
systems: ["null"]
durability: 4
workload: {message-size: 100B, partitions: 4, producers: 4, consumers: 4}
experiments:
  - {name: peak, warm-up-min: 2s, warm-up-max: 3s, measure: 5s, drain-max: 6s}
"""
LOOP = "tg-busy-loop"
THREADS = """
import threading, time
def spin():
    open('/proc/thread-self/comm', 'w').write('held-back')
    while True: pass
threading.Thread(target=spin, daemon=True).start()
time.sleep(600)
"""


def only_result(place: Place) -> dict[str, Any]:
    (kept,) = place.only_run().glob("trials/*/result.json")
    result: dict[str, Any] = json.loads(kept.read_text())["result"]
    return result


def loops_on_all_cpus(directory: Path) -> AbstractContextManager[list[subprocess.Popen[bytes]]]:
    """As many programs of one name as there are CPUs."""
    return busy_loops(os.cpu_count() or 1, shutil.copy("/bin/sh", directory / LOOP))


def test_busy_loops_beside_a_closed_loop_are_named_and_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many loops as CPUs have a tenth of these at the very least, whatever else runs."""
    monkeypatch.setenv("TIDEGAUGE_DISTURBANCE", "decide")
    place = Place(tmp_path)
    with loops_on_all_cpus(tmp_path):
        done = place.run("run", str(place.write(CAMPAIGN)))
    result = only_result(place)
    (account,) = result["accounts"]
    programs = {program["name"]: program["cpus"] for program in account["programs"]}
    assert programs[LOOP] > 0.1 * account["cpus"], account
    assert account["others"] >= programs[LOOP] - 0.01
    assert account["generators"] > 0
    assert result["validity"] in ("doubtful", "invalid"), result["reasons"]
    assert any(LOOP in reason for reason in result["reasons"]), result["reasons"]
    assert {disturbance["what"] for disturbance in result["disturbances"]} >= {"CPU"}
    assert "for other programs to end" in "".join(json.loads((place.only_run() / "run.json").read_text())["notes"])
    assert place.left_behind() == []
    assert LOOP in done.printed


@needs_cpu_limit
def test_loops_of_another_tenant_are_named_with_their_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have a quarter of the machine, as their quota gives them, or less where others are at work, too."""
    monkeypatch.setenv("TIDEGAUGE_DISTURBANCE", "decide")
    place = Place(tmp_path)
    cpus = 0.25 * (os.cpu_count() or 1)
    with quota(f"tidegauge-tenant-{os.getpid()}", cpus) as group, loops_on_all_cpus(tmp_path) as loops:
        # Before everybody else, so that they have what their quota allows on a full machine, too.
        shares = group / "cpu.shares"
        priority, highest = (shares, 262_144) if shares.exists() else (group / "cpu.weight", 10_000)
        priority.write_text(str(highest))
        for loop in loops:
            (group / "cgroup.procs").write_text(str(loop.pid))
        place.run("run", str(place.write(CAMPAIGN)))
    result = only_result(place)
    (account,) = result["accounts"]
    (program,) = [program for program in account["programs"] if program["name"] == LOOP]
    assert program["cgroup"].endswith(f"/{group.name}")
    assert 0 < program["cpus"] <= 1.1 * cpus, account
    assert result["validity"] in ("doubtful", "invalid"), result["reasons"]
    # Where others leave the loops no more than that, these are named first.
    if program["cpus"] > 0.8 * cpus:
        assert any(group.name in reason for reason in result["reasons"]), result["reasons"]


WRITER = "tg-disk-writer"
SYNCED_CAMPAIGN = """
name: disturbed-disk
systems: [kafka]
durability: 3
workload: {message-size: 1KiB}
experiments:
  - {name: latency, rate: 50, warm-up-min: 2s, warm-up-max: 4s, measure: 8s, drain-max: 20s}
"""


def test_a_writer_on_the_disk_of_synced_data_is_named_and_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGAUGE_DISTURBANCE", "decide")
    place = Place(tmp_path)
    program = tmp_path / WRITER
    shutil.copy("/bin/dd", program)
    file = tmp_path / "written"
    # Synced block by block, so that it moves what it says, again and again on the same half of a gigabyte.
    script = f"while :; do {program} if=/dev/zero of={file} bs=4M count=128 oflag=dsync conv=notrunc; done"
    writer = subprocess.Popen(["/bin/sh", "-c", script], stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        place.run("run", str(place.write(SYNCED_CAMPAIGN)))
    finally:
        os.killpg(writer.pid, signal.SIGKILL)
        writer.wait()
    result = only_result(place)
    (disk,) = [one for one in result["disturbances"] if one["what"] == "disk"]
    assert WRITER in disk["words"]
    assert disk["harm"] in ("doubtful", "invalid")
    assert result["validity"] in ("doubtful", "invalid"), result["reasons"]
    assert any(WRITER in reason for reason in result["reasons"]), result["reasons"]


HOG, HOG_BYTES = "tg-memory-hog", 1 << 30
HOLD = f"""
import time
open("/proc/self/comm", "w").write("{HOG}")
held = bytearray({HOG_BYTES})
held[::4096] = b"x" * ({HOG_BYTES} // 4096)
print("held", flush=True)
time.sleep(600)
"""


def test_what_holds_memory_beside_a_trial_is_in_its_account(tmp_path: Path) -> None:
    """Nobody waits for memory on a machine with enough of it, so it is accounted for and disturbs nothing."""
    place = Place(tmp_path)
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE) as hog:
        try:
            assert hog.stdout is not None
            hog.stdout.readline()
            place.run("run", str(place.write(CAMPAIGN)))
        finally:
            hog.kill()
    result = only_result(place)
    (account,) = result["accounts"]
    (program,) = [program for program in account["programs"] if program["name"] == HOG]
    assert HOG_BYTES <= program["resident_bytes"] < 1.2 * HOG_BYTES
    # Where nothing disturbed a trial, its result does not have the key.
    assert all(one["what"] != "memory" for one in result.get("disturbances", ()))


ATTACHED_CAMPAIGN = """
name: disturbed-attached
systems:
  - name: kafka
    attach: {{bootstrap-servers: "{servers}"}}
durability: 4
workload: {{message-size: 1KiB}}
experiments:
  - {{name: peak, warm-up-min: 3s, warm-up-max: 5s, measure: 6s, drain-max: 30s}}
"""


def test_loops_beside_servers_of_others_are_told_from_these(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGAUGE_DISTURBANCE", "decide")
    place = Place(tmp_path)
    with ready("kafka", LevelChoice(4), tmp_path / "kafka") as kafka:
        servers = kafka.deployment.connection["bootstrap.servers"]
        with loops_on_all_cpus(tmp_path):
            place.run("run", str(place.write(ATTACHED_CAMPAIGN.format(servers=servers))))
    result = only_result(place)
    (account,) = result["accounts"]
    programs = {program["name"]: program["cpus"] for program in account["programs"]}
    assert programs[LOOP] > 0.1 * account["cpus"], account
    assert account["servers"] > 0.05, account
    assert result["server_cpu_s"] > 0
    # The broker is no other program.
    assert account["others"] < programs[LOOP] + 0.3 * account["cpus"], account
    assert any(LOOP in reason for reason in result["reasons"]), result["reasons"]


@needs_cpu_limit
def test_a_thread_that_a_quota_of_its_own_holds_back_is_seen_to_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    path = os.environ["PATH"]
    spec = ProcessSpec("worker", ("python3", "-c", THREADS), {"PATH": path}, str(tmp_path), str(tmp_path / "log"))
    with quota(f"tidegauge-test-{os.getpid()}", 0.05) as group, LocalHost.open() as host:
        pid = host.start(spec).pid
        tasks = Path(f"/proc/{pid}/task")
        held: list[str] = []

        def thread_runs() -> bool:
            held[:] = [task.name for task in tasks.iterdir() if b"held-back" in short_file(f"{task}/comm")]
            return bool(held)

        wait_for(thread_runs, 60.0, "the thread")
        (group / "tasks").write_text(held[0])
        looks: list[Sample] = []

        def waited() -> bool:
            looks.extend(host.samples(looks[-1].number if looks else 0))
            waiting = [thread for look in looks for use in look.processes for thread in use.waiting]
            limited = [thread for thread in waiting if thread.quota_cpus == pytest.approx(0.05)]
            return any(thread.name == "held-back" and thread.wait_s > 5 * thread.cpu_s for thread in limited)

        wait_for(waited, 60.0, "a look in which it waited")
        # Its process is not held back.
        assert all(use.cpu_throttled_s is None for look in looks for use in look.processes)

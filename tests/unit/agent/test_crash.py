"""Whatever is killed, in whatever way: no process and no directory stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fleet_samples import controller, read_number, runs, slow_to_read, spec, wait_until

from tidegauge.agent import registry
from tidegauge.agent.local import LocalHost
from tidegauge.agent.reap import RESULTS_AGE_S, await_agents, clean_leftovers
from tidegauge.errors import RunFailedError
from tidegauge.hosts.storage import results_directory

CONTROLLER = """
import sys, time
from pathlib import Path
from fleet_samples import spec
from tidegauge.agent.local import LocalHost
from tidegauge.cli.ending import interruptible
tmp = Path(sys.argv[1])
(tmp / "data").mkdir()
escape = "(setsid sh -c 'echo $$ > orphan; exec sleep 1000' &)"
with interruptible(), LocalHost.open(lease_s=float(sys.argv[2])) as host:
    host.track_directory(tmp / "data")
    host.start(spec(tmp, f"echo $$ > main; trap '' TERM; {escape}; sleep 1000 & wait; sleep 1000", grace_s=0.5))
    while not (tmp / "orphan").exists():
        time.sleep(0.02)
    print(host.agent_pid, flush=True)
    time.sleep(1000)
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "state"
    monkeypatch.setenv("TIDEGAUGE_STATE", str(directory))
    return directory


def start_controller(
    state: Path, tmp_path: Path, lease_s: float = 15.0
) -> tuple[subprocess.Popen[str], int, list[int]]:
    """A controller, its agent's number, and the numbers of a process and of an orphan below it."""
    running = controller(state, CONTROLLER, str(tmp_path), str(lease_s))
    assert running.stdout is not None
    agent = int(running.stdout.readline())
    pids = [read_number(tmp_path / "main"), read_number(tmp_path / "orphan")]
    assert all(runs(pid) for pid in [agent, *pids])
    return running, agent, pids


def assert_all_gone(agent: int, pids: list[int], tmp_path: Path) -> None:
    wait_until(lambda: not any(runs(pid) for pid in [agent, *pids]), "agent and processes ended")
    assert not (tmp_path / "data").exists()
    assert list((tmp_path / "state" / "agents").glob("*.json")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_controller_ended_by_a_signal(state: Path, tmp_path: Path, number: int) -> None:
    running, agent, pids = start_controller(state, tmp_path)
    running.send_signal(number)
    running.wait()
    assert_all_gone(agent, pids, tmp_path)


TERMINAL_CONTROLLER = """
import fcntl, sys, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # the terminal on standard input is now ours: its Ctrl-C and its end reach us
from pathlib import Path
from fleet_samples import spec
from tidegauge.agent.local import LocalHost
from tidegauge.cli.ending import interruptible
tmp = Path(sys.argv[1])
(tmp / "data").mkdir()
script = "trap 'echo INT >> signals' INT; trap 'echo HUP >> signals' HUP; trap 'echo TERM >> signals; exit' TERM"
try:
    with LocalHost.open() as host, interruptible():
        host.track_directory(tmp / "data")
        host.start(spec(tmp, script + "; echo $$ > main; while :; do sleep 0.05; done"))
        while not (tmp / "main").exists():
            time.sleep(0.02)
        (tmp / "agent").write_text(str(host.agent_pid))
        time.sleep(1000)
except KeyboardInterrupt as interruption:
    (tmp / "how").write_text(str(interruption))
"""


@pytest.mark.parametrize("how", ["SIGINT", "SIGHUP"])
def test_terminal(state: Path, tmp_path: Path, how: str) -> None:
    """Ctrl-C typed, or the terminal closed: only the controller hears of it; its processes are asked to end once."""
    master, slave = os.openpty()
    running = subprocess.Popen(
        [sys.executable, "-c", TERMINAL_CONTROLLER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "support")},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    agent, main = read_number(tmp_path / "agent"), read_number(tmp_path / "main")
    if how == "SIGINT":
        os.write(master, b"\x03")
        running.wait(60)
    os.close(master)
    running.wait(60)
    assert (tmp_path / "how").read_text() == how
    assert (tmp_path / "signals").read_text() == "TERM\n"
    assert_all_gone(agent, [main], tmp_path)


def test_controller_that_hangs_loses_its_lease(state: Path, tmp_path: Path) -> None:
    running, agent, pids = start_controller(state, tmp_path, lease_s=1.0)
    running.send_signal(signal.SIGSTOP)
    try:
        assert_all_gone(agent, pids, tmp_path)
    finally:
        running.kill()
        running.wait()


def test_a_host_that_stands_still_loses_no_lease(state: Path, tmp_path: Path) -> None:
    running, agent, pids = start_controller(state, tmp_path, lease_s=4.0)
    try:
        for pid in (running.pid, agent):
            os.kill(pid, signal.SIGSTOP)
        time.sleep(5.0)
        os.kill(agent, signal.SIGCONT)
        time.sleep(0.2)
        running.send_signal(signal.SIGCONT)
        time.sleep(1.5)
        assert [runs(pid) for pid in [running.pid, agent, *pids]] == [True] * 4
    finally:
        os.kill(agent, signal.SIGCONT)
        running.kill()
        running.wait()
    assert_all_gone(agent, pids, tmp_path)


def test_an_agent_says_that_its_lease_was_over(state: Path, tmp_path: Path) -> None:
    with LocalHost.open(lease_s=0.5) as host:
        host.start(spec(tmp_path, "exec sleep 1000"))
        host._closing.set()  # Its thread renews no more.
        wait_until(lambda: not runs(host.agent_pid), "the agent's end")
        with pytest.raises(
            RunFailedError, match="ended since it heard nothing from this command for some time, or was"
        ):
            host.status("p")


def test_controller_that_renews_keeps_its_lease(state: Path, tmp_path: Path) -> None:
    with LocalHost.open(lease_s=0.5) as host:
        host.start(spec(tmp_path, "exec sleep 1000"))
        time.sleep(1.5)
        assert host.status("p").running


def test_a_lease_lasts_while_the_agent_does_what_takes_long(state: Path, tmp_path: Path) -> None:
    with LocalHost.open(lease_s=0.5) as host:
        host.start(spec(tmp_path, "exec sleep 1000"))
        with slow_to_read(tmp_path, 1.5) as pipe:
            assert host.read_end(pipe, 100) == ""
        assert host.status("p").running


def test_agent_and_controller_killed(state: Path, tmp_path: Path) -> None:
    running, agent, pids = start_controller(state, tmp_path)
    running.send_signal(signal.SIGSTOP)
    os.kill(agent, signal.SIGKILL)
    running.kill()
    running.wait()
    wait_until(lambda: not runs(agent), "the agent's death")
    assert (tmp_path / "data").exists()
    assert runs(pids[1]), "the orphan in another session is what must be found"
    notes = clean_leftovers()
    assert_all_gone(agent, pids, tmp_path)
    assert any("Ended processes left by an earlier run" in note and str(pids[1]) in note for note in notes)
    assert any(str(tmp_path / "data") in note for note in notes)
    assert clean_leftovers() == []


def test_agent_killed_under_a_living_controller(state: Path, tmp_path: Path) -> None:
    host = LocalHost.open()
    (tmp_path / "data").mkdir()
    host.track_directory(tmp_path / "data")
    pid = host.start(spec(tmp_path, "(setsid sh -c 'echo $$ > orphan; exec sleep 1000' &); exec sleep 1000")).pid
    orphan = read_number(tmp_path / "orphan")
    os.kill(host.agent_pid, signal.SIGKILL)
    with pytest.raises(RunFailedError, match="agent that holds this run's processes was killed by signal 9"):
        host.stop("p")
    with pytest.raises(RunFailedError, match="was killed by signal 9"):
        host.free_ports(1)
    host.close()
    assert_all_gone(host.agent_pid, [pid, orphan], tmp_path)


def test_sigterm_to_the_agent_ends_everything(state: Path, tmp_path: Path) -> None:
    host = LocalHost.open()
    pid = host.start(spec(tmp_path, "exec sleep 1000")).pid
    os.kill(host.agent_pid, signal.SIGTERM)
    wait_until(lambda: not runs(pid), "its process ended")
    host.close()
    assert_all_gone(host.agent_pid, [pid], tmp_path)


def test_a_living_agent_is_never_touched(state: Path, tmp_path: Path) -> None:
    with LocalHost.open() as host, LocalHost.open() as other:
        (tmp_path / "data").mkdir()
        host.track_directory(tmp_path / "data")
        host.start(spec(tmp_path, "exec sleep 1000"))
        other.start(spec(tmp_path, "exec sleep 1000", "q"))
        assert clean_leftovers() == []
        other.close()
        assert host.status("p").running
        assert (tmp_path / "data").exists()


def test_a_number_given_to_another_process_is_left_alone(state: Path, tmp_path: Path) -> None:
    running, agent, pids = start_controller(state, tmp_path)
    os.kill(agent, signal.SIGKILL)
    running.kill()
    running.wait()
    wait_until(lambda: not runs(agent), "the agent's death")
    bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        record = next((state / "agents").glob("*.json"))
        data = json.loads(record.read_text())
        data["processes"].append({"name": "old", "identity": {"pid": bystander.pid, "start_ticks": 1}})
        record.write_text(json.dumps(data))
        clean_leftovers()
        assert bystander.poll() is None
        assert_all_gone(agent, pids, tmp_path)
    finally:
        bystander.kill()
        bystander.wait()


def test_a_record_of_an_earlier_boot_gives_up_its_directories_only(state: Path, tmp_path: Path) -> None:
    bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        stat = registry.procfs.read_stat(bystander.pid)
        assert stat is not None
        (tmp_path / "data").mkdir()
        process = registry.ProcessRecord("server", stat.identity)
        registry.write_record(
            registry.AgentRecord(
                "a" * 16, stat.identity, "another boot", "pid:[1]", (process,), (str(tmp_path / "data"),)
            )
        )
        # Tests beside this one leave things as well.
        assert len([note for note in clean_leftovers() if str(tmp_path) in note]) == 1
        assert bystander.poll() is None
        assert not (tmp_path / "data").exists()
    finally:
        bystander.kill()
        bystander.wait()


def test_a_directory_too_dangerous_to_remove_is_left_and_reported(state: Path, tmp_path: Path) -> None:
    nobody = registry.Identity(1, 1)
    registry.write_record(registry.AgentRecord("b" * 16, nobody, "another boot", "", (), (str(Path.home()),)))
    notes = clean_leftovers()
    assert any("too much would be removed" in note for note in notes)
    assert Path.home().exists()


def test_a_damaged_record_still_leads_to_its_processes(state: Path, tmp_path: Path) -> None:
    running, agent, pids = start_controller(state, tmp_path)
    running.send_signal(signal.SIGSTOP)
    os.kill(agent, signal.SIGKILL)
    running.kill()
    running.wait()
    record = next((state / "agents").glob("*.json"))
    record.write_text("{")
    wait_until(lambda: not runs(pids[0]), "the kernel ends what the agent started itself")
    assert runs(pids[1])
    assert len(clean_leftovers()) == 1
    wait_until(lambda: not runs(pids[1]), "the orphan ended")
    assert not record.exists()


def test_who_goes_on_with_a_run_waits_for_the_agent_of_the_command_that_was_killed(tmp_path: Path) -> None:
    run = tmp_path / "2026-11-21T17-00-00-tiny"
    data = run / "data" / "0001-peak-kafka"
    data.mkdir(parents=True)
    with LocalHost.open() as host:
        assert await_agents(run.name, 0.1), "it holds nothing yet"
        host.track_directory(data)
        assert not await_agents(run.name, 0.3)
        assert await_agents("2026-11-21T18-00-00-other", 0.1)
    assert await_agents(run.name, 5.0)


def test_what_load_generators_left_stays_for_a_week(state: Path) -> None:
    results = results_directory()
    results.mkdir(parents=True)
    old, new = results / "1-1-of-1.results", results / "2-1-of-1.results"
    for path in (old, new):
        path.write_bytes(b"figures")
    long_ago_s = time.time() - RESULTS_AGE_S
    os.utime(old, (long_ago_s - 60, long_ago_s - 60))
    os.utime(new, (long_ago_s + 3600, long_ago_s + 3600))
    assert clean_leftovers() == ["Removed figures of 1 load generator, left 7 days ago or earlier."]
    assert list(results.iterdir()) == [new]

"""Interrupted at any moment, in whatever way: no mount, loop device, namespace, limit, frozen disk or process stays."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import Patience
from rigs import leftovers, steps

from tidegauge.agent import registry
from tidegauge.agent.local import LocalHost
from tidegauge.agent.reap import clean_leftovers
from tidegauge.errors import RunFailedError
from tidegauge.hosts import cgroups, loop_disk, network

REFUSAL = (
    loop_disk.refusal() or network.network_refusal("nft", "tc") or cgroups.disk_refusal() or cgroups.memory_refusal()
)
pytestmark = [
    pytest.mark.root,
    pytest.mark.integration,
    pytest.mark.skipif(bool(REFUSAL), reason=REFUSAL),
]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A state of its own. What a failed test leaves is undone: a frozen disk would stop every sync of this machine."""
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    yield
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in (one for one in points if one.startswith(f"{tmp_path}/")):
        subprocess.run(["fsfreeze", "--unfreeze", point], check=False, capture_output=True)
        subprocess.run(["umount", "--lazy", point], check=False, capture_output=True)


def interrupt(tmp_path: Path, chance: random.Random) -> str:
    """Kill the agent in a random step, a moment after it began; the leftovers after what a next start does."""
    tmp_path.mkdir()
    host = LocalHost.open()
    agent_id = host.agent_id
    todo = steps(host, tmp_path)
    last = chance.randrange(len(todo))
    killer = threading.Timer(chance.choice((0.0, 0.002, 0.01, 0.05, 0.2)), os.kill, (host.agent_pid, signal.SIGKILL))
    try:
        for step in todo[:last]:
            step()
        killer.start()
        todo[last]()
    except RunFailedError:
        pass
    killer.join()
    host.close()
    clean_leftovers()
    return "; ".join([*leftovers(tmp_path, agent_id), *map(str, registry.agents_directory().glob("*.json"))])


def run_interruptions(tmp_path: Path, count: int, seed: int) -> None:
    chance = random.Random(seed)
    found = {number: interrupt(tmp_path / str(number), chance) for number in range(count)}
    assert {number: left for number, left in found.items() if left} == {}


def test_kills_of_the_agent_at_random_moments(tmp_path: Path) -> None:
    run_interruptions(tmp_path, 4, seed=int(time.time()))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_hundred_kills_of_the_agent_at_random_moments(tmp_path: Path) -> None:
    run_interruptions(tmp_path, 100, seed=6)


CONTROLLER = """
import sys, time
from pathlib import Path
from rigs import steps
from tidegauge.agent.local import LocalHost
from tidegauge.cli.ending import interruptible
with interruptible(), LocalHost.open() as host:
    for step in steps(host, Path(sys.argv[1]))[:8]:
        step()
    print(host.agent_id, host.agent_pid, flush=True)
    time.sleep(1000)
"""
"""Leaves it with a slow disk that hangs under a writer, and a network with every fault."""


# In `make test`: an agent that is killed, above, and one whose controller ends.
@pytest.mark.parametrize(
    "how", ["Ctrl-C", *(pytest.param(how, marks=pytest.mark.slow) for how in ("kill -9", "kill -9 of everything"))]
)
def test_nothing_is_left_of_a_faulted_run(tmp_path: Path, how: str) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "support")},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stdout is not None
    agent_id, agent_pid = running.stdout.readline().split()
    assert len(leftovers(tmp_path, agent_id)) > 8, "the search finds what is there"
    if how == "kill -9 of everything":
        running.send_signal(signal.SIGSTOP)
        os.kill(int(agent_pid), signal.SIGKILL)
    running.send_signal(signal.SIGINT if how == "Ctrl-C" else signal.SIGKILL)
    running.wait()
    running.stdout.close()
    # An agent that lives ends by itself once its controller is gone; one that was killed may not be reaped at once.
    patience = Patience(120.0)
    notes: list[str] = []
    while list(registry.agents_directory().glob("*.json")):
        assert not patience.is_over()
        if how == "kill -9 of everything":
            notes += clean_leftovers()
        time.sleep(0.05)
    if how == "kill -9 of everything":
        assert f"Removed the disk {tmp_path / 'disk'}, left by an earlier run." in notes
        assert any("Removed the network" in note for note in notes)
    # The agent itself ends a moment after its record.
    while (left := leftovers(tmp_path, agent_id)) and not patience.is_over():
        time.sleep(0.05)
    assert left == []


def test_nothing_is_left_after_an_error_in_the_controller(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), LocalHost.open() as host:
        for step in steps(host, tmp_path)[:8]:
            step()
        assert leftovers(tmp_path, host.agent_id) != [], "the search finds what is there"
        raise ZeroDivisionError
    assert leftovers(tmp_path, host.agent_id) == []
    assert list(registry.agents_directory().glob("*.json")) == []

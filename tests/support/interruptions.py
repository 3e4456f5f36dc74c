"""Interrupts attestations and faulted runs at random moments, starts Tidegauge again, and looks for what is left.

`python tests/support/interruptions.py --count 100 --seed 6` makes so many and prints a line for
each; the slow test of the same name makes a few. Needs root. What is interrupted is as small as it can be, on one node
at level 4.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import psutil
from command import Place
from patience import Patience, wait_for
from rigs import leftovers

END_S_MAX = 180.0
"""Until a command that was asked to end has: it lifts faults, ends servers and writes what was measured."""
CLEAN_S_MAX = 120.0
"""Until nothing is left any more, after Tidegauge was started again. Agents end what they hold by themselves."""
FAULTED = """
name: interrupted
systems: [{name: SYSTEM, heap: 256MiB, direct-memory: 64MiB}]
durability: 4
workload: {message-size: 200B}
experiments:
  - name: latency
    rate: 200
    warm-up-min: 1s
    warm-up-max: 2s
    measure: 22s
    drain-max: 10s
    faults:
"""
DISKS = """
      - {at: 1s, kind: slow-disk, target: all, duration: 2s, operations: 50, bandwidth: 1MiB}
      - {at: 4s, kind: hung-disk, target: all, duration: 2s}
      - {at: 7s, kind: power-cut, target: all, duration: 1s}
"""
PROCESSES = """
      - {at: 12s, kind: pause, target: all, duration: 1s}
      - {at: 14s, kind: kill, target: all, duration: 1s}
"""
NETWORK = """
      - {at: 16s, kind: partition, target: all, duration: 1s}
      - {at: 18s, kind: packet-loss, share: 30%, duration: 1s}
      - {at: 20s, kind: rate-limit, bandwidth: 64KiB, duration: 1s}
"""
ATTEST = ("--level", "4", "--cuts", "1")


@dataclass(frozen=True)
class Sort:
    """What is interrupted. `length_s`: about how long it takes from its agent on; moments are drawn from that."""

    name: str
    length_s: float
    arguments: tuple[str, ...] = ()
    campaign: str = ""


SORTS = (
    Sort("attest kafka", 35.0, ("attest", "kafka", *ATTEST)),
    Sort("attest kafka, xfs", 35.0, ("attest", "kafka", *ATTEST, "--file-system", "xfs")),
    Sort("attest rabbitmq", 45.0, ("attest", "rabbitmq", *ATTEST)),
    Sort("faults kafka", 40.0, campaign=FAULTED.replace("SYSTEM", "kafka") + DISKS + PROCESSES + NETWORK),
    Sort("faults rabbitmq", 45.0, campaign=FAULTED.replace("SYSTEM", "rabbitmq") + DISKS + PROCESSES),
)
CTRL_C, TERM, KILL, KILL_ALL, TWICE = "Ctrl-C", "SIGTERM", "kill -9", "kill -9 of command and agent", "Ctrl-C twice"
WAYS = (CTRL_C, TERM, KILL, KILL_ALL, TWICE)


@dataclass
class Interruption:
    """One interruption and what was found. `left`: what should not be there, () if all is well."""

    number: int
    sort: str
    way: str
    after_s: float
    """After its agent was there; negative: so long after its own beginning."""
    had_ended: bool = False
    held: list[str] = field(default_factory=list)
    """What the agent held in that moment: names of processes, disks, "network"."""
    clean_s: float = 0.0
    left: list[str] = field(default_factory=list)

    def line(self) -> str:
        """As it is reported."""
        found = f"LEFT: {'; '.join(self.left)}" if self.left else "nothing left"
        ended = " (it had ended)" if self.had_ended else ""
        held = ", ".join(self.held) or "nothing"
        moment = (
            f"{self.after_s:.2f} s after its agent began"
            if self.after_s >= 0
            else f"{-self.after_s:.2f} s after it began"
        )
        return (
            f"{self.number:3d}. {self.sort}, {self.way} {moment}{ended}, "
            f"holding {held}: {found} after {self.clean_s:.1f} s"
        )


def interrupt(root: Path, number: int, seed: int) -> Interruption:
    """Interrupt once, below a directory that is made and, if nothing was left, removed."""
    chance = random.Random(f"{seed} {number}")
    sort, way = chance.choice(SORTS), chance.choice(WAYS)
    # Measuring the machine and writing a report may be interrupted, too.
    place = Place(root, ceilings=chance.random() < 0.1, reports=chance.random() < 0.2)
    after_s = chance.uniform(0.0, sort.length_s + (8.0 if place.ceilings else 0.0))
    if chance.random() < 0.1:
        after_s = chance.uniform(-5.0, -0.5)
    made = Interruption(number, sort.name, way, after_s)
    (root / "tmp").mkdir(parents=True)
    with mock.patch.dict(os.environ, TIDEGAUGE_DATA=str(root / "data"), TMPDIR=str(root / "tmp")):
        arguments = sort.arguments or ("run", str(place.write(sort.campaign)))
        with (root / "shown").open("w") as shown:
            command = subprocess.Popen(
                [sys.executable, "-m", "tidegauge.cli", *arguments],
                env=place.environment(),
                cwd=root,
                stdout=shown,
                stderr=shown,
                start_new_session=True,
            )
        agent_ids = _strike(place, command, made)
        began_s = time.monotonic()
        made.left = _after(place, command, made, agent_ids)
    made.clean_s = time.monotonic() - began_s
    if not made.left:
        shutil.rmtree(root)
    return made


def _strike(place: Place, command: subprocess.Popen[bytes], made: Interruption) -> set[str]:
    """Wait for the moment and interrupt. The identifiers of all agents that there were."""
    agent_ids: set[str] = set()
    until_s = time.monotonic() - made.after_s if made.after_s < 0 else None
    while (until_s is None or time.monotonic() < until_s) and command.poll() is None:
        agent_ids |= {agent["agent_id"] for agent in place.agents()}
        if until_s is None and agent_ids:
            until_s = time.monotonic() + made.after_s
        time.sleep(0.05 if until_s is None else min(0.1, max(0.0, until_s - time.monotonic())))
    made.had_ended = command.poll() is not None
    if made.way == KILL_ALL:
        # So that it can't clean up when it sees its agent gone.
        command.send_signal(signal.SIGSTOP)
    agents = place.agents()
    for agent in agents:
        made.held += [one["name"] for one in agent["processes"]]
        made.held += [f"disk {Path(disk).name}" for disk in agent["disks"]] + ["network"] * bool(agent["network"])
    if made.way == KILL_ALL:
        for agent in agents:
            with contextlib.suppress(ProcessLookupError):
                os.kill(agent["agent"]["pid"], signal.SIGKILL)
        command.kill()
        _await_end([agent["agent"]["pid"] for agent in agents])
    elif made.way == KILL:
        command.kill()
    elif made.way == TERM:
        command.terminate()
    else:
        for _ in range(2 if made.way == TWICE else 1):
            # As a terminal does it: to the whole group.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(command.pid, signal.SIGINT)
            time.sleep(0.3)
    return agent_ids | {agent["agent_id"] for agent in agents}


def _after(place: Place, command: subprocess.Popen[bytes], made: Interruption, agent_ids: set[str]) -> list[str]:
    """Let it end, start Tidegauge once more, and look until nothing is left or time is up."""
    try:
        wait_for(lambda: command.poll() is not None, END_S_MAX, "its end")
    except AssertionError:
        command.kill()
        return [f"the command did not end within {END_S_MAX:.0f} s"]
    wrong = []
    if "Traceback" in (text := (place.root / "shown").read_text()):
        wrong.append(f"it printed: {text[-2000:]}")
    again = place.run("clean")
    if again.returncode or "Could not" in again.stdout + again.stderr or "Traceback" in again.stderr:
        wrong.append(f"the next start printed: {again.stdout}{again.stderr}")
    patience = Patience(CLEAN_S_MAX)
    while (left := found_left(place, agent_ids)) and not patience.is_over():
        time.sleep(0.2)
    return [*wrong, *left]


def found_left(place: Place, agent_ids: set[str]) -> list[str]:
    """Everything that should not be there once a run is over and Tidegauge was started again."""
    found = place.left_behind()
    for agent_id in sorted(agent_ids) or ["no agent at all"]:
        found += leftovers(place.root, agent_id)
    found += [f"temporary file {path}" for path in (place.root / "tmp").rglob("*") if path.is_file()]
    found += [f"file of an agent {path}" for path in (place.state / "agents").glob("*") if path.suffix != ".lock"]
    return list(dict.fromkeys(found))


def _await_end(pids: list[int]) -> None:
    """What was killed is gone a moment later."""
    patience = Patience(10.0)
    while not patience.is_over() and any(map(_lives, pids)):
        time.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def main() -> int:
    """Make the interruptions that were asked for; the exit code is 1 if anything was left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=1, help="number of the first one, to go on where one stopped")
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--seconds-max", type=float, default=float("inf"), help="begin none after that")
    parser.add_argument("--root", type=Path, default=None, help="where runs go")
    asked = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="tidegauge-interruptions-", dir=asked.root))
    made: list[Interruption] = []
    began_s = time.monotonic()
    for number in range(asked.first, asked.first + asked.count):
        if time.monotonic() - began_s > asked.seconds_max:
            break
        made.append(interrupt(root / str(number), number, asked.seed))
        print(made[-1].line(), flush=True)
    with contextlib.suppress(OSError):
        root.rmdir()
    left = [one.number for one in made if one.left]
    ways = Counter(one.way for one in made)
    print(json.dumps({"made": len(made), "left": left, "had_ended": sum(one.had_ended for one in made), "ways": ways}))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())

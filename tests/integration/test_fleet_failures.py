"""Hosts, agents, links, Ray and the controller fail in every phase of a run: it ends, names the host, leaves nothing.

By chance some of all pairs of a failure and a phase, TIDEGAUGE_TEST_FAILURES of them: "all" takes 45 minutes.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import psutil
import pytest
from fleet_hosts import NEEDS, Namespace, ip, join, namespaces, started
from patience import wait_for

pytestmark = [*NEEDS, pytest.mark.slow]

FAILURES = ("agent killed", "agent stopped", "host killed", "link", "raylet", "head", "controller")
PHASES = {
    "agents": "",
    "links": "Servers: node 1",
    "start": "starting kafka",
    "ready": "waiting until kafka",
    "prepare": "creating",
    "warm-up": "warming up",
    "measure": "kafka: measuring",
    "drain": "draining",
}
"""What a run says when a phase begins; nothing before its agents are there."""
WANTED = os.environ.get("TIDEGAUGE_TEST_FAILURES", "4")
PAIRS = list(product(FAILURES, PHASES))
CHOSEN = PAIRS if WANTED == "all" else random.Random(time.time_ns() >> 40).sample(PAIRS, int(WANTED))
"""The same in every process that collects the tests."""
CAMPAIGN = """\
name: failing
systems: [{name: kafka, heap: 512MiB, direct-memory: 256MiB}]
durability: 2
nodes: 3
workload: {message-size: 1KiB, partitions: 2, producers: 2, consumers: 2}
experiments:
  - {name: latency, rate: 200, warm-up-min: 3s, warm-up-max: 5s, measure: 15s, drain-max: 10s}
"""
FLEET = """\
launcher: ray
network: 10.213.6.0/24
roles: {servers: {label: {role: server}, count: 3}, load: {label: {role: load}, count: 2}}
"""
ROLES = ["controller", "load", "load", "server", "server", "server"]
RUNS = Path(f"/tmp/tidegauge-failing-{os.getpid()}")
"""On each host a file system of its own."""
SAID_S_MAX = 40.0
"""A busy machine's; the agent's silence is noticed after 10 s."""
ENDED_S_MAX = 240.0
"""Servers of hosts that are well are given time to end."""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Namespace]]:
    places = [tmp_path_factory.mktemp(role) for role in ROLES]
    private = ("unshare", "--mount", "--fork", "sh", "-c", 'mount -t tmpfs tmpfs "$0" && exec "$@"', str(RUNS))
    RUNS.mkdir()
    try:
        with namespaces(places, "10.213.6", [(), *[private] * 5]) as made:
            join(made, ROLES)
            yield made
    finally:
        shutil.rmtree(RUNS)


@dataclass
class Run:
    """One that was started, and what it said."""

    process: subprocess.Popen[str]
    lines: list[str]

    def says(self, words: str, since: int = 0) -> bool:
        """`since`: without so many lines."""
        return words in " ".join(" ".join(self.lines[since:]).split())


@pytest.fixture
def run(hosts: list[Namespace], tmp_path: Path) -> Iterator[Run]:
    path, fleet = tmp_path / "failing.yaml", tmp_path / "fleet.yaml"
    path.write_text(CAMPAIGN)
    fleet.write_text(FLEET)
    process = hosts[0].start("run", str(path), "--fleet", str(fleet), "--runs-dir", str(RUNS))
    made = Run(process, [])
    streams = (process.stdout, process.stderr)
    readers = [threading.Thread(target=lambda s=stream: made.lines.extend(iter(s.readline, ""))) for stream in streams]
    for reader in readers:
        reader.start()
    yield made
    process.kill()
    process.wait()
    for reader in readers:
        reader.join()


def agents(host: Namespace) -> list[psutil.Process]:
    return [process for process in started(host) if "tidegauge.agent.main" in process.cmdline()]


def rejoin(host: Namespace, role: str) -> None:
    """What Ray had of it is gone."""
    host.tidegauge("fleet", "down")
    done = host.tidegauge("fleet", "join", "10.213.6.1:6379", "--token", str(host.state / "copied"), "--role", role)
    assert done.returncode == 0, done.stderr


def fail(how: str, host: Namespace, run: Run) -> None:
    """The failure, which is over for the host when the run has ended."""
    if how == "controller":
        psutil.Process(run.process.pid).kill()
    elif how == "link":
        ip(f"-n {host.name} link set eth0 down")
    elif how == "host killed":
        # Servers last: whoever is to see that they end may not have seen that they did.
        for process in sorted(host.processes, key=lambda process: "java" in process.name()):
            with contextlib.suppress(psutil.Error):
                process.kill()
    elif how in ("raylet", "head"):
        for process in host.processes:
            if process.name() == ("raylet" if how == "raylet" else "gcs_server"):
                process.kill()
    else:
        for agent in agents(host):
            (agent.kill if how == "agent killed" else agent.suspend)()


def again(hosts: list[Namespace], how: str, at: int) -> None:
    """What a failure has left of Ray is made whole."""
    if how == "head":
        for host in hosts:
            host.tidegauge("fleet", "down")
        join(hosts, ROLES)
    elif how in ("host killed", "link", "raylet"):
        rejoin(hosts[at], ROLES[at])


@pytest.mark.parametrize(("how", "phase"), CHOSEN)
def test_whatever_fails_in_whatever_phase(hosts: list[Namespace], run: Run, how: str, phase: str) -> None:
    # At another host and moment each time: which it was is in the assertions.
    chance = random.Random(time.time_ns())
    at = 0 if how == "head" else chance.randint(1, len(hosts) - 1)
    host, after_s = hosts[at], chance.uniform(0.0, 2.0)
    wait_for(lambda: run.says(PHASES[phase]) or run.process.poll() is not None, 240.0, f"{phase} in {run.lines}")
    what = f"{how} at {host.address}, {after_s:.1f} s after {phase} began"
    stopped: list[psutil.Process] = []
    try:
        time.sleep(after_s)
        stopped = agents(host) if how == "agent stopped" else []
        # An agent that is not there yet, or not any more, can't fail.
        real = how not in ("agent killed", "agent stopped") or bool(agents(host))
        late = run.process.poll() is not None or run.says("draining")
        # Who runs where was said before.
        before, begun_s = len(run.lines), time.monotonic()

        def named() -> bool:
            return run.says("Ray's control service at" if how == "head" else host.address, before)

        fail(how, host, run)
        # Ray is left when all is set up; from then on its head's end concerns nobody.
        needed = how == "head" and phase in ("agents", "links")
        if needed or (real and not late and how in ("agent killed", "agent stopped", "host killed", "link")):
            wait_for(lambda: named() or run.process.poll() is not None, SAID_S_MAX, f"{what}: it is said")
        said_s = time.monotonic() - begun_s
        code = run.process.wait(ENDED_S_MAX)
        print(f"{what}: named after {said_s:.1f} s, ended after {time.monotonic() - begun_s:.1f} s with {code}")
    finally:
        for agent in stopped:
            with contextlib.suppress(psutil.Error):
                agent.resume()
        if how == "link":
            ip(f"-n {host.name} link set eth0 up")
        again(hosts, how, at)
    wait_for(lambda: not any(started(each) for each in hosts), 90.0, f"everything has ended after {what}")
    if code == 1:
        assert real, f"{what}: nothing failed, and yet: {run.lines}"
        assert named(), f"{what}: not named in {run.lines}"
    elif how != "controller":
        assert code in (0, 3), f"{what}: exit code {code}, {run.lines}"
        assert late or not real or how in ("raylet", "head"), f"{what}: unnoticed: {run.lines}"

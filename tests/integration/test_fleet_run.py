"""A campaign whose servers are on the hosts of a fleet: network namespaces, over Ray, with real servers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from fleet_hosts import NEEDS, Namespace, ip, join, namespaces, started
from patience import wait_for

pytestmark = [*NEEDS, pytest.mark.slow]

CAMPAIGN = """\
name: apart
systems: [{{name: {system}, heap: 512MiB, direct-memory: 256MiB}}]
durability: 2
nodes: {nodes}
workload: {{message-size: 1KiB, partitions: 2}}
experiments:
  - {{name: latency, rate: 500, warm-up-min: 2s, warm-up-max: 4s, measure: {measure}, drain-max: 10s}}
"""
FLEET = """\
launcher: ray
network: 10.213.8.0/24
roles: {servers: {label: {role: server}, count: 3}}
"""


RUNS = Path(f"/tmp/tidegauge-fleet-{os.getpid()}")
"""On each host a file system of its own."""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Namespace]]:
    places = [tmp_path_factory.mktemp(name) for name in ("load", "server-1", "server-2", "server-3")]
    # The servers' clocks are years of uptime ahead: nothing may compare them with the load generator's.
    ahead = ("unshare", "--time", "--monotonic", "100000000", "--mount", "--fork")
    private = ("sh", "-c", 'mount -t tmpfs tmpfs "$0" && exec "$@"', str(RUNS))
    RUNS.mkdir()
    try:
        with namespaces(places, "10.213.8", [(), *[(*ahead, *private)] * 3]) as made:
            join(made, ["controller", "server", "server", "server"])
            yield made
    finally:
        shutil.rmtree(RUNS)


def campaign(directory: Path, system: str, nodes: int = 3, measure: str = "4s") -> list[str]:
    """The arguments of a run of it at level 1."""
    path = directory / "apart.yaml"
    path.write_text(CAMPAIGN.format(system=system, nodes=nodes, measure=measure))
    fleet = directory / "fleet.yaml"
    fleet.write_text(FLEET)
    return ["run", str(path), "--fleet", str(fleet), "--runs-dir", str(RUNS)]


def newest_trial() -> Path:
    run = max(RUNS.glob("*-apart"), key=lambda path: path.stat().st_mtime)
    (trial,) = (run / "trials").iterdir()
    return trial


def agent_of(host: Namespace) -> psutil.Process:
    (agent,) = [process for process in started(host) if "tidegauge.agent.main" in process.cmdline()]
    return agent


@pytest.mark.parametrize(
    ("system", "process"), [("kafka", "kafka"), ("rabbitmq", "rabbitmq"), ("pulsar", "pulsar-bookie")]
)
def test_a_node_is_on_each_host_and_nothing_stays(
    hosts: list[Namespace], tmp_path: Path, system: str, process: str
) -> None:
    load, *others = hosts
    done = load.tidegauge(*campaign(tmp_path, system))
    # A machine that is busy with other things may spoil figures, not counts.
    assert done.returncode in (0, 3), done.stderr + done.stdout
    assert "node 1 on 10.213.8.2, node 2 on 10.213.8.3, node 3 on 10.213.8.4; load generator here." in " ".join(
        (done.stdout + done.stderr).split()
    )
    stored = newest_trial()
    result = json.loads((stored / "result.json").read_text())["result"]
    assert (result["failed"], result["unresolved"], result["subscriptions"][0]["lost"]) == (0, 0, 0)
    assert result["subscriptions"][0]["received"] == result["sent"] > 0
    settings = (stored / "settings.json").read_text()
    assert all(address in settings for address in ("10.213.8.2", "10.213.8.3", "10.213.8.4"))
    assert json.loads((stored / "trial.json").read_text())["page_cache"] == {"dropped": True, "reason": ""}
    environment = json.loads((stored.parents[1] / "environment.json").read_text())
    assert {address: at_work["nodes"] for address, at_work in environment["hosts"].items()} == {
        "10.213.8.2": [1],
        "10.213.8.3": [2],
        "10.213.8.4": [3],
    }
    assert all(min(at_work["link"].values()) > 0 for at_work in environment["hosts"].values())
    (disk,) = environment["hosts"]["10.213.8.2"]["facts"]["disks"].values()
    assert disk["file_system"] == "tmpfs"
    # Written on the hosts, and brought here.
    assert all((stored / "logs" / f"{process}-{number}.log").stat().st_size for number in (1, 2, 3))
    assert [started(host) for host in others] == [[], [], []]
    shown = load.tidegauge("show", str(stored.parents[1])).stdout
    assert "Clients ran on it, servers on other hosts." in " ".join(shown.split())


@dataclass
class Going:
    """A run that measures, and the lines that it says."""

    process: subprocess.Popen[str]
    lines: list[str]

    def until(self, words: str, seconds_max: float) -> float:
        """Wait for a line; how long it took."""
        begun_s = time.monotonic()
        wait_for(lambda: any(words in line for line in self.lines), seconds_max, f"{words!r} in {self.lines}")
        return time.monotonic() - begun_s


@pytest.fixture
def going(hosts: list[Namespace], tmp_path: Path) -> Iterator[Going]:
    process = hosts[0].start(*campaign(tmp_path, "kafka", measure="60s"))
    run = Going(process, [])
    reader = threading.Thread(target=lambda: run.lines.extend(iter(process.stdout.readline, "")), daemon=True)  # type: ignore[union-attr]
    reader.start()
    try:
        run.until("kafka: measuring", 300.0)
        yield run
    finally:
        process.kill()
        process.wait()
        reader.join()
        wait_for(lambda: not any(started(host) for host in hosts), 60.0, "everything has ended")


def test_data_in_memory_is_never_on_disk(hosts: list[Namespace], tmp_path: Path) -> None:
    """The runs of this module are in memory on every server's host."""
    arguments = campaign(tmp_path, "kafka")
    path = tmp_path / "apart.yaml"
    path.write_text(path.read_text().replace("durability: 2", "durability: 1"))
    done = hosts[0].tidegauge(*arguments)
    assert done.returncode == 2, done.stdout
    said = " ".join(done.stderr.split())
    assert "at durability level 1 needs a disk" in said
    assert f"on 10.213.8.2 is in memory (tmpfs at {RUNS})" in said


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_an_agent_that_is_lost_is_named_and_voids_the_trial(
    hosts: list[Namespace], going: Going, how: signal.Signals
) -> None:
    agent = agent_of(hosts[2])
    agent.send_signal(how)
    going.until("The host 10.213.8.3 is lost", 30.0)
    going.until("To go on with it", 200.0)
    # One that is stopped is ended by its watchdog, and what it left with it: nobody has to make it go on.
    assert going.process.wait(60) == 1
    assert any("0001-latency-kafka" in line and "failed" in line for line in going.lines)


def test_a_trial_goes_on_without_ray(hosts: list[Namespace], tmp_path: Path) -> None:
    """Its part of a host is killed while servers run there, and its control service, without which it gives up."""
    process = hosts[0].start(*campaign(tmp_path, "kafka", measure="75s"))
    wait_for(lambda: any("java" in each.name() for each in started(hosts[3])), 200.0, "servers run")
    for host, name in ((hosts[3], "raylet"), (hosts[0], "gcs_server")):
        (part,) = [each for each in host.processes if each.name() == name]
        part.kill()
    out, err = process.communicate(timeout=400)
    assert process.returncode in (0, 3), err
    assert "intact" in out
    for host in hosts:
        host.tidegauge("fleet", "down")
    join(hosts, ["controller", "server", "server", "server"])


def test_with_its_controller_everything_ends_and_the_run_can_go_on(hosts: list[Namespace], going: Going) -> None:
    psutil.Process(going.process.pid).kill()
    wait_for(lambda: not any(started(host) for host in hosts[1:]), 60.0, "everything has ended")
    run = newest_trial().parents[1]
    # With the hosts that there are, on the fleet that it began on.
    resumed = hosts[0].tidegauge("run", "--resume", str(run), "--runs-dir", str(RUNS))
    assert resumed.returncode in (0, 3), resumed.stderr
    assert json.loads((newest_trial() / "result.json").read_text())["result"]["sent"] > 0


def test_a_host_whose_link_is_cut_is_named(hosts: list[Namespace], going: Going) -> None:
    """The last one: to Ray the host is dead afterwards."""
    ip(f"-n {hosts[1].name} link set eth0 down")
    going.until("The host 10.213.8.2 is lost", 30.0)
    going.until("To go on with it", 200.0)
    # On the host itself nothing reaches its agent either.
    wait_for(lambda: not started(hosts[1]), 60.0, "its servers have ended with the lease")
    ip(f"-n {hosts[1].name} link set eth0 up")


def test_a_fleet_that_is_too_small_is_refused(hosts: list[Namespace], tmp_path: Path) -> None:
    done = hosts[0].tidegauge(*campaign(tmp_path, "kafka", nodes=4))
    assert done.returncode == 2
    assert "it needs 4 hosts for its servers, and the file has 3" in " ".join(done.stderr.split())

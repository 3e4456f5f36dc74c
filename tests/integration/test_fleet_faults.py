"""Faults, power cuts and ceilings of disks on the hosts of a fleet: network namespaces, over Ray, with real servers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet_hosts import NEEDS, Namespace, join, namespaces, started
from rigs import refused

from tidegauge.distribution.cache import cache_directory
from tidegauge.hosts.syscalls import watch_syncs
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.systems.kafka.metrics import find_jmx_exporter

WHY_NOT = refused("partition", "packet_loss", "power_cut", "slow_disk", "hung_disk")
pytestmark = [*NEEDS, pytest.mark.slow, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]

RUNS = Path(f"/tmp/tidegauge-fleet-{os.getpid()}")
"""On each host a directory of its own."""
HEAD = """\
name: faulted
systems: [{{name: {system}, heap: 512MiB, direct-memory: 256MiB}}]
durability: {level}
nodes: 3
workload: {{message-size: 1KiB, partitions: 3}}
experiments:
"""
LATENCY = "  - {{name: latency, rate: 300, warm-up-max: 4s, measure: {measure}, drain-max: 90s{more}}}\n"
FLEET = """\
launcher: ray
network: 10.213.12.0/24
roles: {servers: {label: {role: server}, count: 3}}
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Namespace]]:
    places = [tmp_path_factory.mktemp(name) for name in ("load", "server-1", "server-2", "server-3")]
    ahead = ("unshare", "--time", "--monotonic", "100000000", "--mount", "--fork")
    RUNS.mkdir()
    enter: list[tuple[str, ...]] = [()]
    for place in places[1:]:
        (place / "disk").mkdir()
        (place / "cache").mkdir()
        binds = 'mount --bind "$0/disk" "$1" && mount --bind "$0/cache" "$2" && shift 2 && exec "$@"'
        enter.append((*ahead, "sh", "-c", binds, str(place), str(RUNS), str(cache_directory())))
    try:
        with namespaces(places, "10.213.12", enter) as made:
            join(made, ["controller", "server", "server", "server"])
            yield made
    finally:
        shutil.rmtree(RUNS)


def run(hosts: list[Namespace], directory: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Carry out a campaign; nothing of it stays."""
    path, fleet = directory / "faulted.yaml", directory / "fleet.yaml"
    path.write_text(text)
    fleet.write_text(FLEET)
    devices, rules = loops(), [tables(host) for host in hosts]
    done = hosts[0].tidegauge("run", str(path), "--fleet", str(fleet), "--runs-dir", str(RUNS), **environment)
    assert [started(host) for host in hosts] == [[], [], [], []]
    assert loops() == devices
    assert [tables(host) for host in hosts] == rules
    return done


def loops() -> str:
    return subprocess.run(["losetup", "--all"], check=True, capture_output=True, text=True).stdout


def tables(host: Namespace) -> str:
    line = ["ip", "netns", "exec", host.name, "nft", "list", "tables"]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def newest() -> Path:
    return max(RUNS.glob("*-faulted"), key=lambda path: path.stat().st_mtime)


def only_result() -> dict[str, Any]:
    (path,) = newest().glob("trials/*/result.json")
    result: dict[str, Any] = json.loads(path.read_text())["result"]
    return result


def campaign(system: str, measure: str, *faults: str, level: int = 1) -> str:
    listed = ", ".join(f"{{{fault}}}" for fault in faults)
    latency = LATENCY.format(measure=measure, more=f", faults: [{listed}]" if faults else "")
    return HEAD.format(system=system, level=level) + latency


def test_faults_of_disks_and_links_hit_one_host_and_are_lifted(hosts: list[Namespace], tmp_path: Path) -> None:
    done = run(
        hosts,
        tmp_path,
        campaign(
            "kafka",
            "110s",
            "at: 4s, kind: hung-disk, target: 2, duration: 4s",
            "at: 25s, kind: partition, target: leader, duration: 6s",
            "at: 50s, kind: power-cut, target: 3, duration: 4s",
            "at: 85s, kind: packet-loss, target: 1, share: 20%, duration: 5s",
        ),
    )
    assert done.returncode in (0, 3), done.stderr
    result = only_result()
    assert [fault["fault"]["kind"] for fault in result["faults"]] == [
        "hung-disk",
        "partition",
        "power-cut",
        "packet-loss",
    ]
    hung, parted, cut, lossy = result["faults"]
    assert (hung["nodes"], cut["nodes"], lossy["nodes"]) == ([2], [3], [1])
    # Nobody who waits for the leader, or for what it has, goes on meanwhile.
    assert parted["p99_worst_ms"] > 1000
    assert lossy["p99_worst_ms"] > lossy["p99_before_ms"]
    assert result["subscriptions"][0]["lost"] == 0
    assert result["acked"] > 0


@pytest.mark.parametrize("system", ["kafka", "rabbitmq", "pulsar"])
def test_faults_of_servers_hit_one_host_and_are_lifted(hosts: list[Namespace], tmp_path: Path, system: str) -> None:
    done = run(
        hosts,
        tmp_path,
        campaign(
            system,
            "120s",
            "at: 4s, kind: pause, target: leader, duration: 4s",
            "at: 25s, kind: kill, target: 2, duration: 4s",
            "at: 60s, kind: partition, target: 3, ways: out, duration: 4s",
            "at: 85s, kind: power-cut, target: 1, duration: 4s",
        ),
    )
    assert done.returncode in (0, 3), done.stderr
    result = only_result()
    paused, killed, parted, cut = result["faults"]
    assert [fault["fault"]["kind"] for fault in result["faults"]] == ["pause", "kill", "partition", "power-cut"]
    assert (killed["nodes"], parted["nodes"], cut["nodes"]) == ([2], [3], [1])
    # Nobody who waits for the leader goes on meanwhile.
    assert paused["p99_worst_ms"] > 1000
    assert result["subscriptions"][0]["lost"] == 0
    assert result["acked"] > 0


@pytest.mark.parametrize("system", ["kafka", "rabbitmq", "pulsar"])
def test_power_cuts_of_all_hosts_lose_nothing_at_level_1_and_something_without_syncs(
    hosts: list[Namespace], tmp_path: Path, system: str
) -> None:
    attest = "  - {name: attest, scenarios: [all], cuts: 2, disk-size: 1GiB, rate: 1000}\n"
    done = run(hosts, tmp_path, HEAD.format(system=system, level=1) + attest)
    assert done.returncode == 0, done.stderr + done.stdout
    results = newest().glob("trials/*/result.json")
    trials = {path.parent.name: json.loads(path.read_text())["result"] for path in results}
    cuts = next(result for name, result in trials.items() if name.endswith("-cuts"))["attest"]["cycles"]
    assert [cut["nodes"] for cycle in cuts for cut in cycle["cuts"]] == [[1, 2, 3]] * 2
    assert all(cycle["figures"]["broken"] == 0 for cycle in cuts)
    control = next(result for name, result in trials.items() if name.endswith("-control"))["attest"]["cycles"]
    assert control[-1]["figures"]["broken"] > 0


def test_files_are_sent_once(hosts: list[Namespace], tmp_path: Path) -> None:
    """To hosts that have nothing in their caches, and no way to a registry."""
    for host in hosts[1:3]:
        for entries in ("distributions", "tools"):
            shutil.rmtree(host.state / "cache" / entries, ignore_errors=True)
    text = campaign("kafka", "5s")
    first = " ".join(run(hosts, tmp_path, text).stdout.split())
    assert "Sent kafka 4.3.1 to 10.213.12.2, 10.213.12.3" in first
    if jar := find_jmx_exporter():
        assert f"Sent {jar.stem} to 10.213.12.2, 10.213.12.3" in first
    second = " ".join(run(hosts, tmp_path, text).stdout.split())
    assert "Sent" not in second
    assert "intact" in second


def test_disks_of_the_hosts_are_measured_and_syncs_are_seen(hosts: list[Namespace], tmp_path: Path) -> None:
    done = run(hosts, tmp_path, campaign("kafka", "5s"), TIDEGAUGE_CEILINGS="on")
    assert done.returncode in (0, 3), done.stderr
    ceilings = json.loads((newest() / "ceilings.json").read_text())["ceilings"]
    addresses = ["10.213.12.2", "10.213.12.3", "10.213.12.4"]
    assert [device.split()[0] for device in ceilings["data_devices"]] == addresses
    assert all(disk["name"].endswith(f" of {disk['device'].split()[0]}") for disk in ceilings["ceilings"]["disks"])
    syncs = only_result()["level"]["syncs"]
    try:
        with watch_syncs({"self": os.getpid()}):
            assert syncs["agreement"] == "agrees"
    except NoTraceError as error:
        assert syncs["words"] == f"not watched: {error}"

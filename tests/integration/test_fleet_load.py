"""Servers and load generators on hosts of a fleet: network namespaces whose clocks are seconds and hours apart."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cpu_quota import needs_cpu_limit, quota
from fleet_hosts import NEEDS, Namespace, ip, join, namespaces, started
from patience import wait_for

from tidegauge.hosts.network import NAMED, can_connect
from tidegauge.model.reason import ReasonKind
from tidegauge.model.use import Resource
from tidegauge.store.telemetry import HOSTS, METRICS, read_telemetry
from tidegauge.systems.kafka.metrics import find_jmx_exporter

pytestmark = [*NEEDS, pytest.mark.slow]

CAMPAIGN = """\
name: across
systems: [{{name: {system}, heap: 512MiB, direct-memory: 256MiB}}]
durability: 2
nodes: 3
workload: {{message-size: 1KiB, partitions: 2, producers: 2, consumers: 2}}
experiments:
  - {experiment}
"""
LATENCY = "{name: latency, rate: 200, warm-up-min: 5s, warm-up-max: 8s, measure: %s, drain-max: 10s}"
PEAK = "{name: peak, warm-up-min: 5s, warm-up-max: 8s, measure: 8s, drain-max: 20s}"
FLEET = """\
launcher: ray
network: 10.213.9.0/24
roles: {servers: {label: {role: server}, count: 3}, load: {label: {role: load}, count: 2}}
"""
AHEAD_S = {"load-1": 5, "load-2": 7200}
NODE_EXPORTER = "prometheus-node-exporter"
RUNS = Path(f"/tmp/tidegauge-across-{os.getpid()}")
"""On each host a file system of its own."""
CGROUPS = (
    "mount -t tmpfs tmpfs /sys/fs/cgroup && mkdir /sys/fs/cgroup/cpu"
    " && mount -t cgroup -o cpu cgroup /sys/fs/cgroup/cpu"
)
"""`ip netns exec` mounts a /sys of its own, which has none. Where there is no version 1 of them, it stays so."""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Namespace]]:
    names = ["controller", *AHEAD_S, "server-1", "server-2", "server-3"]
    places = [tmp_path_factory.mktemp(name) for name in names]
    private = ("sh", "-c", f'mount -t tmpfs tmpfs "$0" && {CGROUPS}; exec "$@"', str(RUNS))

    def ahead(seconds: int) -> tuple[str, ...]:
        return ("unshare", "--time", "--monotonic", str(seconds), "--mount", "--fork", *private)

    RUNS.mkdir()
    try:
        enter = [(), *(ahead(AHEAD_S.get(name, 100_000_000)) for name in names[1:])]
        with namespaces(places, "10.213.9", enter) as made:
            join(made, ["controller", "load", "load", "server", "server", "server"])
            yield made
    finally:
        shutil.rmtree(RUNS)


def arguments(directory: Path, system: str, experiment: str) -> list[str]:
    """Of a run on the fleet."""
    path, fleet = directory / "across.yaml", directory / "fleet.yaml"
    path.write_text(CAMPAIGN.format(system=system, experiment=experiment))
    fleet.write_text(FLEET)
    return ["run", str(path), "--fleet", str(fleet), "--runs-dir", str(RUNS)]


def newest_run() -> Path:
    return max(RUNS.glob("*-across"), key=lambda each: each.stat().st_mtime)


@pytest.mark.parametrize("system", ["kafka", "rabbitmq", "pulsar"])
def test_messages_from_host_to_host_are_measured_within_bounds(
    hosts: list[Namespace], tmp_path: Path, system: str
) -> None:
    done = hosts[0].tidegauge(*arguments(tmp_path, system, LATENCY % "5s"))
    # On the CPUs of one machine load generators may be late, which is said.
    assert done.returncode in (0, 3), done.stdout + done.stderr
    assert "load generators: one on each of 10.213.9.2, 10.213.9.3." in " ".join((done.stdout + done.stderr).split())
    run = newest_run()
    (trial,) = (run / "trials").iterdir()
    result = json.loads((trial / "result.json").read_text())["result"]
    (subscription,) = result["subscriptions"]
    assert (result["failed"], result["unresolved"], subscription["lost"]) == (0, 0, 0)
    assert subscription["received"] == result["sent"] > 0
    assert [worker["received_msgs_per_s"] > 0 for worker in result["workers"]] == [True, True]
    # The clocks' offset is known, and lies within the bounds.
    (clock,) = result["clocks"]
    ahead_ns = (AHEAD_S["load-2"] - AHEAD_S["load-1"]) * 1e9
    assert clock["low_ns"] <= ahead_ns <= clock["high_ns"]
    assert subscription["negative_latency"] == 0
    low, high = subscription["end_to_end_low"], subscription["end_to_end_high"]
    assert 0 < low["p50_ms"] <= high["p50_ms"]
    # Written on its host, and brought here.
    assert all((trial / "logs" / f"worker-{number}.log").exists() for number in (1, 2))
    if system != "kafka" or find_jmx_exporter() is not None:
        assert len({row["process"] for row in read_telemetry(trial, METRICS)}) >= 3, "each server's own figures"
    shown = " ".join(hosts[0].tidegauge("show", str(run)).stdout.split())
    assert "2 load generators are on several hosts: how far their clocks are apart is known to within" in shown
    assert "Servers and clients ran on the hosts of a fleet." in shown


def to_send(run: Path) -> list[float]:
    """Messages of the window that each load generator had to send, by its schedule."""
    (trial,) = (run / "trials").iterdir()
    result = json.loads((trial / "result.json").read_text())["result"]
    return [round(worker["offered_msgs_per_s"] * result["measured_s"], 6) for worker in result["workers"]]


def test_the_same_is_to_be_sent_as_on_one_host(hosts: list[Namespace], tmp_path: Path) -> None:
    given = arguments(tmp_path, "kafka", LATENCY % "5s")
    assert hosts[0].tidegauge(*given).returncode in (0, 3)
    assert to_send(newest_run()) == [500, 500]
    assert hosts[0].tidegauge(*given[:2], "--workers", "2", *given[4:]).returncode in (0, 3)
    assert to_send(newest_run()) == [500, 500]
    shown = " ".join(hosts[0].tidegauge("show", str(newest_run())).stdout.split())
    assert "Servers and clients ran on it together." in shown


def test_values_of_a_file_are_sent_to_load_hosts_once(hosts: list[Namespace], tmp_path: Path) -> None:
    given = arguments(tmp_path, "kafka", LATENCY % "5s")
    values = tmp_path / "values.bin"
    # No other test's: what hosts have is not sent.
    values.write_bytes(os.urandom(100_000))
    campaign = Path(given[1])
    campaign.write_text(campaign.read_text().replace("partitions: 2", f"partitions: 2, payload-file: {values}"))
    first, second = (" ".join(hosts[0].tidegauge(*given).stdout.split()) for _ in range(2))
    assert "Sent values.bin to 10.213.9." in first
    assert "intact" in first
    assert "Sent" not in second
    assert "intact" in second


@pytest.fixture
def cluster(hosts: list[Namespace], tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """A Kafka that others run, on one of the hosts; where clients find it, and where it and its host report figures."""
    host = hosts[3]
    program = str(Path(__file__).parents[1] / "support/serving.py")
    process = subprocess.Popen(
        ["ip", "netns", "exec", host.name, sys.executable, program, host.address, str(tmp_path)],
        env={**os.environ, "TIDEGAUGE_STATE": str(tmp_path / "state")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    servers, *metrics = process.stdout.readline().split()
    exporter = None
    if shutil.which(NODE_EXPORTER):
        address = f"{host.address}:19100"
        line = ["ip", "netns", "exec", host.name, NODE_EXPORTER, f"--web.listen-address={address}"]
        exporter = subprocess.Popen(line, stderr=subprocess.DEVNULL)
        metrics.append(f"http://{address}/metrics")
    own = NAMED / hosts[0].name
    wait_for(lambda: can_connect(own, host.address, int(servers.split(":")[1]), 1.0), 120.0, f"{servers} answers")
    yield servers, metrics
    if exporter is not None:
        exporter.kill()
        exporter.wait()
    process.communicate("", timeout=120)


def test_a_cluster_of_others_is_measured_from_load_hosts(
    hosts: list[Namespace], cluster: tuple[str, list[str]], tmp_path: Path
) -> None:
    given = arguments(tmp_path, "kafka", LATENCY % "10s")
    path = Path(given[1])
    servers, metrics = cluster
    attached = f"{{name: kafka, attach: {{bootstrap-servers: '{servers}', metrics: {json.dumps(metrics)}}}}}"
    text = path.read_text().replace("{name: kafka, heap: 512MiB, direct-memory: 256MiB}", attached)
    path.write_text(text.replace("durability: 2\nnodes: 3\n", "durability: 3\n"))
    Path(given[3]).write_text("launcher: ray\nroles: {load: {label: {role: load}, count: 2}}\n")
    done = hosts[0].tidegauge(*given)
    assert done.returncode in (0, 3), done.stderr + done.stdout
    said = " ".join(done.stdout.split())
    assert "Others run the servers; load generators: one on each of 10.213.9.2, 10.213.9.3." in said
    assert "intact" in said
    (trial,) = (newest_run() / "trials").iterdir()
    result = json.loads((trial / "result.json").read_text())["result"]
    assert len(result["clocks"]) == 1
    assert result["subscriptions"][0]["received"] == result["sent"] > 0
    assert to_send(newest_run()) == [1000, 1000]
    # Its own figures, and those of its host; its process can be seen here, and what is seen counts.
    assert result["server_cpu_s"] > 0
    assert {row["process"] for row in read_telemetry(trial, METRICS)} == {urlsplit(metrics[0]).netloc}
    if shutil.which(NODE_EXPORTER):
        assert hosts[3].address in {row["host"] for row in read_telemetry(trial, HOSTS)}


def test_a_link_that_is_limited_is_named(hosts: list[Namespace], tmp_path: Path) -> None:
    slow = hosts[2]
    limit = ["tc", "qdisc", "add", "dev", "eth0", "root"]
    rate = ["tbf", "rate", "16mbit", "burst", "64kbit", "latency", "100ms"]
    subprocess.run(["ip", "netns", "exec", slow.name, *limit, *rate], check=True)
    try:
        done = hosts[0].tidegauge(*arguments(tmp_path, "kafka", PEAK))
        assert done.returncode in (0, 3), done.stdout + done.stderr
    finally:
        subprocess.run(["ip", "netns", "exec", slow.name, *limit[:2], "del", *limit[3:]], check=True)
    (trial,) = (newest_run() / "trials").iterdir()
    limiting = json.loads((trial / "result.json").read_text())["result"]["limiting"]
    found = [f"{limiting['resource']} {limiting['subject']}", *limiting["others"]]
    assert any(clause.startswith(f"network of {slow.address}") for clause in found), found
    assert not any(clause.startswith("network of") and slow.address not in clause for clause in found), found


def test_a_load_host_whose_link_holds_it_back_is_not_the_systems_fault(hosts: list[Namespace], tmp_path: Path) -> None:
    slow = hosts[2]
    limit = ["tc", "qdisc", "add", "dev", "eth0", "root"]
    rate = ["tbf", "rate", "800kbit", "burst", "16kbit", "latency", "200ms"]
    subprocess.run(["ip", "netns", "exec", slow.name, *limit, *rate], check=True)
    try:
        done = hosts[0].tidegauge(*arguments(tmp_path, "kafka", LATENCY.replace("200", "400") % "8s"))
        assert done.returncode == 3, done.stdout + done.stderr
    finally:
        subprocess.run(["ip", "netns", "exec", slow.name, *limit[:2], "del", *limit[3:]], check=True)
    (trial,) = (newest_run() / "trials").iterdir()
    stored = json.loads((trial / "result.json").read_text())
    (reason,) = (reason["text"] for reason in stored["remarks"]["reasons"] if reason["kind"] == ReasonKind.HELD_BACK)
    assert reason.startswith(f"load generator 2 of 2 on {slow.address} got through")
    assert stored["result"]["limiting"]["resource"] != Resource.REPLICATION
    assert ReasonKind.NOT_KEPT_UP not in {warning["kind"] for warning in stored["remarks"]["warnings"]}


@needs_cpu_limit
def test_a_host_whose_servers_are_limited_is_named(hosts: list[Namespace], tmp_path: Path) -> None:
    slow = hosts[4]
    earlier = set(RUNS.glob("*-across"))
    run = hosts[0].start(*arguments(tmp_path, "kafka", PEAK))

    def sends() -> bool:
        seconds = [
            file for each in set(RUNS.glob("*-across")) - earlier for file in each.glob("trials/*/seconds.jsonl")
        ]
        return run.poll() is not None or any(file.stat().st_size for file in seconds)

    wait_for(sends, 240.0, "the load")
    with quota(f"tidegauge-test-{os.getpid()}-host", 0.15) as group:
        for process in started(slow):
            if process.name() == "java":
                (group / "cgroup.procs").write_text(str(process.pid))
        said = " ".join(run.communicate(timeout=400))
    assert run.returncode in (0, 3), said
    (trial,) = (newest_run() / "trials").iterdir()
    limiting = json.loads((trial / "result.json").read_text())["result"]["limiting"]
    assert (limiting["resource"], limiting["subject"]) == ("server CPU", f"kafka-2 on {slow.address}"), limiting


def test_a_host_whose_disk_has_too_little_room_is_named(hosts: list[Namespace], tmp_path: Path) -> None:
    full = hosts[4]
    (there,) = {process.pid for process in full.processes if process.name() == "raylet"}

    def resize(size: str) -> None:
        line = ["nsenter", "--target", str(there), "--mount", "mount", "-o", f"remount,size={size}", str(RUNS)]
        subprocess.run(line, check=True)

    resize("1g")
    try:
        done = hosts[0].tidegauge(*arguments(tmp_path, "kafka", LATENCY % "5s"))
    finally:
        resize("8g")
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "Not enough room for" in said
    assert f"on {full.address} has 1.0 GiB free" in said


def test_a_load_host_that_is_lost_is_named_and_voids_the_trial(hosts: list[Namespace], tmp_path: Path) -> None:
    """The last one: to Ray the host is dead afterwards."""
    process = hosts[0].start(*arguments(tmp_path, "kafka", LATENCY % "60s"))
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)  # type: ignore[union-attr]
    reader.start()
    try:
        wait_for(lambda: any("kafka: measuring" in line for line in lines), 300.0, "it measures")
        ip(f"-n {hosts[2].name} link set eth0 down")
        wait_for(lambda: any("The host 10.213.9.3 is lost" in line for line in lines), 30.0, "the host is named")
        assert process.wait(300) == 1
    finally:
        process.kill()
        process.wait()
        reader.join()
        ip(f"-n {hosts[2].name} link set eth0 up")
    wait_for(lambda: not any(started(host) for host in hosts), 60.0, "everything has ended")
    assert any("failed" in line and "0001-latency-kafka" in line for line in lines)

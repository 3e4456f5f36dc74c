"""Real clusters of three: complete before they are measured, leaders spread, tampering caught, failures reported."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import NODES, Cluster, cluster, request_for
from command import PATIENCE_S, Place, wait_for
from patience import Patience
from rabbitmq_servers import manage

from tidegauge.agent.local import LocalHost
from tidegauge.errors import StartFailedError
from tidegauge.model.level import LevelChoice
from tidegauge.systems import registry
from tidegauge.systems.api import Deployment

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

CAMPAIGN = """
name: three
systems: [{name: kafka, heap: 384MiB, direct-memory: 128MiB, settings: SETTINGS}]
durability: 1
nodes: 3
experiments:
  - {name: latency, rate: 200, warm-up-min: 1s, warm-up-max: 2s, measure: 2s, drain-max: 20s}
"""
END_S_MAX = 60.0


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster("kafka", LevelChoice(1), tmp_path_factory.mktemp("kafka-cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster("rabbitmq", LevelChoice(1, "quorum"), tmp_path_factory.mktemp("rabbitmq-cluster")) as running:
        yield running


def configure(kafka: Cluster, topic: str, *change: str) -> None:
    """Change a topic with Kafka's own tool, behind Tidegauge's back."""
    bootstrap = kafka.deployment.connection["bootstrap.servers"]
    tool = ("kafka.admin.ConfigCommand", "--bootstrap-server", bootstrap, "--alter", "--entity-type", "topics")
    java = kafka.distribution.java_home
    assert java is not None
    argv = [java / "bin/java", "-cp", f"{kafka.distribution.directory}/*", *tool, "--entity-name", topic, *change]
    subprocess.run(argv, check=True, capture_output=True)


def assert_spread_and_on_own_disks(running: Cluster, setting: str, folder: str) -> None:
    topics = [f"narrow-{number}" for number in range(2 * NODES)]
    running.prepare(topics, partitions=1)
    finding = running.level(*topics)
    assert (finding.level, finding.problems) == (1, ())
    leaders = Counter(running.values(setting, topics))
    assert sorted(leaders.values()) == [2, 2, 2], leaders
    running.prepare(["wide"], partitions=NODES)
    assert sum(leader in running.values(setting, ["wide"])[0] for leader in leaders) == NODES
    for number, disk in enumerate(running.disks, 1):
        assert [path.name for path in disk.iterdir()] == [f"{folder}-{number}"]
        assert any((disk / f"{folder}-{number}").rglob("*"))


def test_kafka_spreads_its_leaders_over_nodes_on_their_own_disks(kafka: Cluster) -> None:
    assert_spread_and_on_own_disks(kafka, "leaders.by.broker", "kafka")


@pytest.mark.slow
def test_rabbitmq_spreads_its_leaders_over_nodes_on_their_own_disks(rabbitmq: Cluster) -> None:
    assert_spread_and_on_own_disks(rabbitmq, "queue.leaders", "rabbitmq")


def test_a_flush_removed_from_a_topic_is_named(kafka: Cluster) -> None:
    kafka.prepare(["flushed"], partitions=2)
    assert kafka.level("flushed").problems == ()
    configure(kafka, "flushed", "--delete-config", "flush.messages")
    finding = kafka.level("flushed")
    assert finding.level == 2
    assert (
        "the settings give level 2 (less durable): topic flushed: flush.messages=9223372036854775807"
        in finding.problems[0]
    )


def test_a_single_copy_that_suffices_is_named(kafka: Cluster) -> None:
    kafka.prepare(["copied"], partitions=2)
    configure(kafka, "copied", "--add-config", "min.insync.replicas=1")
    finding = kafka.level("copied")
    assert finding.level == 3
    assert "min.insync.replicas=1" in finding.problems[0]


@pytest.mark.slow
def test_a_classic_queue_in_place_of_a_quorum_queue_is_named(rabbitmq: Cluster) -> None:
    rabbitmq.prepare(["swapped"], partitions=2)
    assert rabbitmq.level("swapped").problems == ()
    queue = "/api/queues/%2F/swapped.1"
    manage(rabbitmq.deployment, "DELETE", queue)
    manage(rabbitmq.deployment, "PUT", queue, {"durable": True, "arguments": {"x-queue-type": "classic"}})
    manage(rabbitmq.deployment, "POST", "/api/bindings/%2F/e/swapped/q/swapped.1", {"routing_key": "1"})
    finding = rabbitmq.level("swapped")
    assert finding.level == 4
    assert "topic swapped queue swapped.1: queue.type=classic" in finding.problems[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("kafka", marks=pytest.mark.slow), "rabbitmq"])
def test_a_node_killed_on_purpose_comes_back_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    running: Cluster = request.getfixturevalue(name)
    deployment = running.deployment
    running.prepare(["returning"], partitions=NODES)
    leaders = deployment.leaders(running.read_back(["returning"]))
    assert sorted(leaders.values()) == [1, 2, 3]
    (node,) = [node for node in deployment.nodes if node.number == 2]
    deployment.kill_node(2)
    assert not any(running.host.status(process).running for process in node.processes)
    deployment.check_alive()
    running.await_missing({"kafka": "2 of 3 brokers have joined", "rabbitmq": "2 of 3 nodes are running"}[name])
    deployment.start_node(2)
    running.await_missing("", ["returning"])
    after = deployment.leaders(running.read_back(["returning"]))
    assert after.keys() == leaders.keys()
    assert all(path.is_relative_to(running.disks[1]) for path in node.directories)


@pytest.mark.slow
def test_a_broker_that_is_gone_is_missed_and_the_rest_ends_soon(kafka: Cluster) -> None:
    """The last test of this cluster."""
    kafka.prepare(["survivor"], partitions=NODES)
    os.kill(kafka.host.status("kafka-3").pid, signal.SIGKILL)
    kafka.await_missing("2 of 3 brokers have joined")
    with pytest.raises(StartFailedError, match=r"kafka-3\) was killed by signal 9"):
        kafka.deployment.check_alive()


@pytest.mark.slow
def test_a_member_that_is_gone_is_missed(rabbitmq: Cluster) -> None:
    """The last test of this cluster."""
    os.kill(rabbitmq.host.status("rabbitmq-3").pid, signal.SIGKILL)
    rabbitmq.await_missing("2 of 3 nodes are running")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "node", "place"), [("kafka", "kafka-2", 4), ("rabbitmq", "rabbitmq-2", 6)])
def test_a_port_stolen_before_the_start_is_reported(
    name: str, node: str, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`place` is where the node's port for clients stands among those that the host gives."""
    system = registry.system_named(name)
    request = request_for(system, LevelChoice(1), tmp_path)
    thieves: list[socket.socket] = []
    with LocalHost.open() as host:
        free_ports = host.free_ports

        def stolen(count: int) -> list[int]:
            ports = free_ports(count)
            thieves.append(socket.create_server(("127.0.0.1", ports[place])))
            return ports

        monkeypatch.setattr(host, "free_ports", stolen)
        deployment = system.deploy(request, host)
        try:
            error = ended(deployment)
        finally:
            deployment.stop()
            for thief in thieves:
                thief.close()
        assert node in error.message
        assert "a port that it needs is taken" in error.message
        assert not any(host.status(process).running for process in deployment.processes)


def ended(deployment: Deployment) -> StartFailedError:
    """What is reported once a node has ended by itself."""
    patience = Patience(END_S_MAX)
    while not patience.is_over():
        try:
            deployment.check_alive()
        except StartFailedError as error:
            return error
        time.sleep(0.1)
    raise AssertionError("no node ended")


@pytest.mark.slow
def test_a_node_killed_while_starting_ends_the_run_with_its_name(tmp_path: Path) -> None:
    place = Place(tmp_path)
    process = place.start("run", str(place.write(CAMPAIGN.replace("SETTINGS", "{}"))))
    pid = wait_for(lambda: place.held().get("kafka-2"), PATIENCE_S, "the start of kafka-2", process.check)
    os.kill(pid, signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode == 1
    assert "kafka-2) was killed by signal 9" in err
    assert "Traceback" not in err
    assert place.left_behind() == []


@pytest.mark.slow
def test_a_server_setting_that_weakens_the_level_stops_the_run(tmp_path: Path) -> None:
    place = Place(tmp_path)
    disks = [tmp_path / f"disk-{number}" for number in range(NODES)]
    for disk in disks:
        disk.mkdir()
    text = CAMPAIGN.replace("SETTINGS", "{min.insync.replicas: 1}") + f"data-directories: {[str(d) for d in disks]}\n"
    done = place.run("run", str(place.write(text)), timeout_s=300)
    assert done.returncode == 1
    assert "kafka@4.3.1 is not at durability level 1" in done.stderr
    assert "min.insync.replicas=1" in " ".join(done.stderr.split())
    assert place.left_behind() == []
    assert [list(disk.iterdir()) for disk in disks] == [[], [], []]


TOO_LARGE = CAMPAIGN.replace("SETTINGS", "{}").replace("heap: 384MiB", "heap: 900GiB")


def _says_what_memory_lacks(output: str) -> None:
    words = " ".join(output.split())
    assert "kafka@4.3.1 needs 2,76" in words
    assert "for 3 nodes" in words
    assert "MiB are available of the" in words


@pytest.mark.slow
def test_too_little_memory_is_refused_with_figures_before_anything_is_started(tmp_path: Path) -> None:
    place = Place(tmp_path)
    done = place.run("run", str(place.write(TOO_LARGE)))
    assert done.returncode == 2
    _says_what_memory_lacks(done.stderr)
    assert not place.runs.exists()


def test_a_plan_that_needs_more_memory_than_this_machine_has_is_shown_with_what_it_lacks(tmp_path: Path) -> None:
    """A plan is often made on another machine than the one that it is for."""
    place = Place(tmp_path)
    done = place.run("run", str(place.write(TOO_LARGE)), "--dry-run")
    assert done.returncode == 0
    assert "It can't run here: " in " ".join(done.stdout.split())
    _says_what_memory_lacks(done.stdout)
    assert not place.runs.exists()


def test_a_disk_that_is_not_there_is_refused(tmp_path: Path) -> None:
    place = Place(tmp_path)
    text = CAMPAIGN.replace("SETTINGS", "{}") + f"data-directories: [{tmp_path}, {tmp_path}/unmounted]\n"
    done = place.run("run", str(place.write(text)))
    assert done.returncode == 2
    assert "unmounted does not exist" in " ".join(done.stderr.split())

"""A real Pulsar cluster of three nodes: its level, spread partitions, tampering, and starts that fail."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from deployments import LOAD_S, Ready, listening_addresses
from live import await_ready, order_on
from patience import Patience

from tidegauge.agent.api import ProcessSpec
from tidegauge.agent.local import LocalHost
from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Setting
from tidegauge.model.workload import Payload, Workload
from tidegauge.systems import registry
from tidegauge.systems.api import DeployRequest
from tidegauge.systems.pulsar.bookie import is_writable
from tidegauge.systems.pulsar.deployment import PulsarDeployment
from tidegauge.worker.launch import start_worker

pytestmark = [pytest.mark.integration, pytest.mark.slow]

NODES = 3
PARTITIONS = 6
MEMORY_MB = 600
START_S_MAX = 120.0


def request_for(choice: LevelChoice, directory: Path, shape: Mapping[str, str]) -> DeployRequest:
    system = registry.system_named("pulsar")
    distribution = system.provision(system.default_version, lambda _: None)
    disks = tuple(directory / f"disk-{number}" for number in (1, 2))
    journals = (directory / "journals",)
    return DeployRequest(
        distribution,
        NODES,
        choice,
        directory / "data",
        directory / "logs",
        MEMORY_MB,
        MEMORY_MB,
        disks=disks,
        journal_disks=journals,
        shape=shape,
    )


@contextmanager
def cluster(choice: LevelChoice, directory: Path, shape: Mapping[str, str]) -> Iterator[Ready]:
    """Three nodes and a worker, once a message goes there and back."""
    system = registry.system_named("pulsar")
    with LocalHost.open() as host:
        deployment = system.deploy(request_for(choice, directory, shape), host)
        try:
            worker = start_worker(host, system.driver, directory / "logs")
            await_ready(deployment, worker, system.driver)
            yield Ready(system, choice, host, deployment, worker, host.status(deployment.processes[0]).pid)
            worker.close()
        finally:
            deployment.stop()


@pytest.fixture(scope="module")
def level_1(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    """The cluster that the tests below share, in their order."""
    with cluster(LevelChoice(1), tmp_path_factory.mktemp("pulsar"), {}) as pulsar:
        yield pulsar


def load(pulsar: Ready, topic: str) -> list[Setting]:
    """Produce and consume on a new topic, check every message, and return the settings read back meanwhile."""
    workload = Workload(partitions=PARTITIONS, producers=2, subscriptions=2, consumers=2, payload=Payload(1024))
    own = {"topic_names": (topic,), "topic_settings": {}, "acks": "all", "trial_number": len(topic)}
    order = order_on(pulsar.deployment, pulsar.system, pulsar.choice, NODES, workload=workload, **own)
    pulsar.worker.prepare(order)
    pulsar.worker.start()
    time.sleep(LOAD_S)
    pulsar.worker.stop_producers(30.0)
    patience = Patience(30)
    while any(s.backlog for s in pulsar.worker.totals().subscriptions) and not patience.is_over():
        time.sleep(0.05)
    totals = pulsar.worker.totals()
    settings = pulsar.read_back(topic)
    pulsar.worker.finish(delete_topics=True)
    assert totals.acked > 0
    assert (totals.failed, totals.unresolved, totals.errors) == (0, 0, ())
    for subscription in totals.subscriptions:
        assert subscription.unique == totals.acked
        assert (subscription.lost, subscription.duplicated, subscription.corrupt) == (0, 0, 0)
    return settings


def level_of(pulsar: Ready, settings: list[Setting]) -> LevelFinding:
    return pulsar.system.derive_level(settings, pulsar.choice, NODES)


def owners(settings: list[Setting]) -> dict[str, int]:
    (value,) = [s.value for s in settings if s.name == "partition.owners"]
    return dict(json.loads(value))


def test_level_1_holds_and_partitions_are_spread(level_1: Ready) -> None:
    settings = load(level_1, "level-1")
    finding = level_of(level_1, settings)
    assert (finding.level, finding.problems) == (1, ())
    assert level_1.system.incomplete(settings, NODES) == ""
    assert sorted(owners(settings).values()) == [2, 2, 2]
    assert sorted(level_1.deployment.leaders(settings).values()) == [1, 1, 2, 2, 3, 3]
    nodes = {node.number: node.processes for node in level_1.deployment.nodes}
    assert nodes == {number: (f"pulsar-bookie-{number}", f"pulsar-broker-{number}") for number in (1, 2, 3)}
    bookies = [s.value for s in settings if s.scope.startswith("bookie") and s.name == "journalSyncData"]
    assert bookies == ["true"] * NODES
    assert len(level_1.deployment.storage_processes) == NODES
    for name in level_1.deployment.processes:
        assert listening_addresses(level_1.host.status(name).pid) <= {"127.0.0.1"}, name


def test_journals_and_ledgers_are_on_the_disks_given(level_1: Ready) -> None:
    settings = level_1.read_back()
    journals = [s.value for s in settings if s.scope.startswith("bookie") and s.name == "journalDirectories"]
    ledgers = [s.value for s in settings if s.scope.startswith("bookie") and s.name == "ledgerDirectories"]
    assert all("/journals/pulsar-" in path for path in journals)
    assert [path.split("/")[-3] for path in ledgers] == ["disk-1", "disk-2", "disk-1"]
    assert all(any(Path(path).rglob("*.txn")) for path in journals)


def test_a_namespace_policy_behind_our_back_is_named(level_1: Ready) -> None:
    policy = {
        "bookkeeperEnsemble": 3,
        "bookkeeperWriteQuorum": 3,
        "bookkeeperAckQuorum": 1,
        "managedLedgerMaxMarkDeleteRate": 0.0,
    }
    admin(level_1, "POST", policy)
    try:
        finding = level_of(level_1, level_1.read_back())
        assert finding.level == 3
        assert "namespace public/default" in finding.problems[0]
        assert "bookkeeperAckQuorum=1" in finding.problems[0]
    finally:
        admin(level_1, "DELETE", None)


def test_a_bookie_restarted_without_fsync_is_named(level_1: Ready) -> None:
    deployment = level_1.deployment
    assert isinstance(deployment, PulsarDeployment)
    name = "pulsar-bookie-2"
    spec = spec_of(level_1, name)
    configuration = Path(spec.argv[-1])
    level_1.host.stop(name)
    with pytest.raises(RunFailedError, match="could not be read back"):
        level_1.read_back()
    configuration.write_text(configuration.read_text().replace("journalSyncData=true", "journalSyncData=false"))
    level_1.host.start(spec)
    patience = Patience(START_S_MAX)
    while not is_writable(deployment.bookies["pulsar-bookie-2"]):
        deployment.check_alive()
        assert not patience.is_over()
        time.sleep(0.1)
    finding = level_of(level_1, level_1.read_back())
    assert finding.level == 2
    assert "bookie 2: journalSyncData=false" in finding.problems[0]


def test_a_broker_that_died_is_reported(level_1: Ready) -> None:
    os.kill(level_1.host.status("pulsar-broker-3").pid, signal.SIGKILL)
    time.sleep(0.5)
    with pytest.raises(StartFailedError, match=r"pulsar-broker-3\) was killed by signal 9"):
        level_1.deployment.check_alive()


@pytest.mark.parametrize("choice", [LevelChoice(2, "bypass"), LevelChoice(4, "journal")])
@pytest.mark.slow
def test_local_async_with_bookies_apart_from_one_broker(tmp_path: Path, choice: LevelChoice) -> None:
    with cluster(choice, tmp_path, {"brokers": "1", "layout": "tiered"}) as pulsar:
        settings = load(pulsar, "local-async")
        finding = level_of(pulsar, settings)
        assert (finding.level, finding.problems) == (choice.level, ())
        assert list(owners(settings).values()) == [PARTITIONS]
        other = LevelChoice(choice.level, "journal" if choice.form == "bypass" else "bypass")
        assert f"bookies have '{choice.form}'" in pulsar.system.derive_level(settings, other, NODES).problems[0]
        pids = [pulsar.host.status(name).pid for name in pulsar.deployment.processes]
        pulsar.deployment.stop()
        assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_bookie_killed_while_starting_is_reported_and_nothing_is_left(tmp_path: Path) -> None:
    system = registry.system_named("pulsar")
    with LocalHost.open() as host:
        killer = threading.Thread(target=kill_when_started, args=(host, "pulsar-bookie-2"))
        killer.start()
        with pytest.raises(StartFailedError, match=r"pulsar-bookie-2\) was killed by signal 9") as caught:
            system.deploy(request_for(LevelChoice(1), tmp_path, {}), host)
        killer.join()
        assert caught.value.log_path == tmp_path / "logs" / "pulsar-bookie-2.log"
        for name in ("pulsar-zookeeper", "pulsar-setup", "pulsar-bookie-1", "pulsar-bookie-3"):
            assert not host.status(name).running
        agent = psutil.Process(host.agent_pid)
        assert agent.children(recursive=True) == []


def kill_when_started(host: LocalHost, name: str) -> None:
    patience = Patience(START_S_MAX)
    while not patience.is_over():
        try:
            os.kill(host.status(name).pid, signal.SIGKILL)
            return
        except RunFailedError:
            time.sleep(0.1)


def spec_of(pulsar: Ready, name: str) -> ProcessSpec:
    """How a running process was started, as somebody would find out who starts it again by hand."""
    process = psutil.Process(pulsar.host.status(name).pid)
    log_path = pulsar.deployment.log_path(name) if isinstance(pulsar.deployment, PulsarDeployment) else Path()
    return ProcessSpec(name, tuple(process.cmdline()), process.environ(), process.cwd(), str(log_path))


def admin(pulsar: Ready, method: str, body: Mapping[str, object] | None) -> None:
    """Set or remove the namespace's persistence policy."""
    url = f"{pulsar.deployment.connection['adminUrl']}/admin/v2/namespaces/public/default/persistence"
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request) as reply:
        assert reply.status // 100 == 2

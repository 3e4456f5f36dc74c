"""Slow and hung disks, paused and killed processes, networks that part, lose and slow down: each seen from outside."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import wait_for
from rigs import MIB, SIZE_BYTES, acknowledged, leftovers, writer

from tidegauge.agent.api import ProcessSpec
from tidegauge.agent.local import LocalHost
from tidegauge.errors import RunFailedError
from tidegauge.hosts import cgroups, loop_disk, network
from tidegauge.model.rig import CLIENTS

pytestmark = [pytest.mark.root, pytest.mark.integration]
needs_disks = pytest.mark.skipif(bool(loop_disk.refusal()), reason=loop_disk.refusal())
needs_networks = pytest.mark.skipif(
    bool(network.network_refusal("tc", "nft")), reason=network.network_refusal("tc", "nft")
)
DEADLINE_S = 120.0
ECHO = """
import socket, sys, threading
server = socket.create_server((sys.argv[1], 7000))
def echo(connection):
    while data := connection.recv(65536):
        connection.sendall(data)
print("ready", flush=True)
while True:
    threading.Thread(target=echo, args=(server.accept()[0],), daemon=True).start()
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHost]:
    root = tmp_path_factory.mktemp("rig")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEGAUGE_STATE", str(root / "state"))
        with LocalHost.open() as opened:
            yield opened
        assert leftovers(root, opened.agent_id) == []


@pytest.fixture
def disk(host: LocalHost, tmp_path: Path) -> Iterator[Path]:
    host.rig.make_disk(tmp_path / "disk", SIZE_BYTES["ext4"])
    yield tmp_path / "disk"
    host.rig.remove_disk(tmp_path / "disk")


def seconds_to_write(path: Path, size_bytes: int, pieces: int = 1) -> float:
    """Time to write and sync, in so many pieces."""
    before_s = time.monotonic()
    with path.open("wb") as file:
        for _ in range(pieces):
            file.write(os.urandom(size_bytes // pieces))
            file.flush()
            os.fdatasync(file.fileno())
    return time.monotonic() - before_s


@pytest.mark.alone
@needs_disks
@pytest.mark.skipif(bool(cgroups.disk_refusal()), reason=cgroups.disk_refusal())
def test_a_slow_disk_holds_its_rate_until_it_is_lifted(host: LocalHost, disk: Path) -> None:
    host.rig.throttle_disk(disk, bytes_per_s=2 * MIB)
    slow_s = seconds_to_write(disk / "a", 4 * MIB)
    host.rig.throttle_disk(disk, bytes_per_s=8 * MIB)
    faster_s = seconds_to_write(disk / "b", 4 * MIB)
    host.rig.throttle_disk(disk)
    free_s = seconds_to_write(disk / "c", 4 * MIB)
    # However busy the machine is, a limit is never exceeded; a burst may pass before it takes hold.
    assert slow_s > 1.5
    assert faster_s > 0.3
    assert slow_s > max(faster_s, free_s)
    # Each sync of an append takes two operations at least, data and journal.
    host.rig.throttle_disk(disk, ops_per_s=10)
    slow_s = seconds_to_write(disk / "d", 10 * 4096, pieces=10)
    host.rig.lift_all()
    free_s = seconds_to_write(disk / "e", 10 * 4096, pieces=10)
    assert slow_s > 0.9
    assert slow_s > free_s


@needs_disks
def test_limits_that_mean_nothing_are_refused(host: LocalHost, disk: Path) -> None:
    with pytest.raises(RunFailedError, match="0 operations a second: 1 or more"):
        host.rig.throttle_disk(disk, ops_per_s=0)
    with pytest.raises(RunFailedError, match="no disk that was made here"):
        host.rig.throttle_disk(Path("/"), bytes_per_s=1)
    with pytest.raises(RunFailedError, match="no disk that was made here"):
        host.rig.hang_disk(Path("/"))


@needs_disks
def test_a_hung_disk_holds_writers_until_it_goes_on(host: LocalHost, disk: Path, tmp_path: Path) -> None:
    host.start(writer(tmp_path, disk))
    wait_for(lambda: min(acknowledged(tmp_path).values()) > 5, DEADLINE_S, "records")
    for _ in range(2):  # Twice is fine.
        host.rig.hang_disk(disk)
    time.sleep(0.1)  # What was synced before may still be reported.
    before = acknowledged(tmp_path)
    time.sleep(0.5)
    assert acknowledged(tmp_path) == before
    for _ in range(2):
        host.rig.unhang_disk(disk)
    wait_for(lambda: min(acknowledged(tmp_path).values()) > max(before.values()), DEADLINE_S, "it goes on")
    host.rig.hang_disk(disk)
    host.rig.lift_all()
    host.stop("writer")


@needs_disks
def test_pause_resume_and_kill(host: LocalHost, disk: Path, tmp_path: Path) -> None:
    host.start(writer(tmp_path, disk, name="w"))
    wait_for(lambda: min(acknowledged(tmp_path, "w").values()) > 5, DEADLINE_S, "records")
    for _ in range(2):
        host.rig.pause(["w"])
    before = acknowledged(tmp_path, "w")
    time.sleep(0.5)
    assert acknowledged(tmp_path, "w") == before
    for _ in range(2):
        host.rig.resume(["w"])
    wait_for(lambda: min(acknowledged(tmp_path, "w").values()) > max(before.values()), DEADLINE_S, "it goes on")
    host.rig.pause(["w"])
    before = acknowledged(tmp_path, "w")
    host.rig.lift_all()
    wait_for(lambda: min(acknowledged(tmp_path, "w").values()) > max(before.values()), DEADLINE_S, "it goes on again")
    host.rig.kill(["w"])
    assert host.status("w").exit_code == -9
    host.rig.kill(["w"])
    # A crash is no power cut: what was written is there.
    assert all((disk / thread).stat().st_size // 512 >= count for thread, count in acknowledged(tmp_path, "w").items())
    host.start(writer(tmp_path, disk, name="w"))
    host.stop("w")


@contextmanager
def echoes(host: LocalHost, tmp_path: Path, nodes: tuple[str, ...]) -> Iterator[Mapping[str, str]]:
    """A network with an echo server on each node."""
    made = host.rig.make_network(nodes)
    try:
        for node, address in made.items():
            log = tmp_path / f"{node}.log"
            argv = (sys.executable, "-c", ECHO, address)
            host.start(ProcessSpec(node, argv, {}, str(tmp_path), str(log), network_node=node))
            wait_for(lambda log=log: "ready" in log.read_text(), DEADLINE_S, f"{node} is ready")
        yield made
    finally:
        host.rig.kill(nodes)
        host.rig.remove_network()


def reaches(host: LocalHost, made: Mapping[str, str], source: str, target: str, timeout_s: float = 3.0) -> bool:
    """Whether a connection can be made; `CLIENTS` is this process."""
    status = None if source == CLIENTS else host.status(source)
    return network.can_connect(Path(f"/proc/{status.pid}/ns/net") if status else None, made[target], 7000, timeout_s)


@needs_networks
def test_partitions_one_way_and_both(host: LocalHost, tmp_path: Path) -> None:
    nodes = ("a", "b", "c")
    with echoes(host, tmp_path, nodes) as made:
        everyone = [(source, target) for source in (*nodes, CLIENTS) for target in nodes if source != target]
        assert all(reaches(host, made, source, target) for source, target in everyone)
        host.rig.partition(["a"], ["b", "c"])
        cut = {("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")}
        seen = {pair for pair in everyone if not reaches(host, made, *pair, timeout_s=0.7)}
        assert seen == cut
        host.rig.heal()
        assert all(reaches(host, made, source, target) for source, target in everyone)
        # One way: what a connection was open already still carries what goes the other way.
        with socket.create_connection((made["a"], 7000), timeout=10) as connection:
            host.rig.partition(["a"], [CLIENTS], both_ways=False)
            connection.settimeout(0.5)
            connection.sendall(b"x")
            with pytest.raises(TimeoutError):
                connection.recv(1)
            host.rig.lift_all()
            connection.settimeout(DEADLINE_S)
            assert connection.recv(1) == b"x"
        host.rig.partition([CLIENTS], ["b"])
        assert not reaches(host, made, CLIENTS, "b", timeout_s=0.5)
        assert reaches(host, made, "a", "b")


@needs_networks
def test_lost_packets_and_a_limited_rate(host: LocalHost, tmp_path: Path) -> None:
    with echoes(host, tmp_path, ("a", "b")) as made:
        with socket.create_connection((made["a"], 7000), timeout=DEADLINE_S) as connection:
            free_s = seconds_to_echo(connection, 2 * MIB)
            host.rig.limit_rate("a", MIB)
            limited_s = seconds_to_echo(connection, 2 * MIB)
            host.rig.limit_rate("a", None)
        # Both ways are limited, at the same time; a burst of 128 KiB passes at once.
        assert limited_s > 1.5
        assert limited_s > free_s
        host.rig.lose_packets("a", 1)
        assert not reaches(host, made, CLIENTS, "a", timeout_s=0.5)
        assert reaches(host, made, CLIENTS, "b")
        assert 0.5 < arriving_share(host, made, 0.2, 400) < 0.98
        host.rig.lose_packets("a", 0)
        assert reaches(host, made, CLIENTS, "a")
        host.rig.limit_rate("b", 1000)
        host.rig.lift_all()
        assert reaches(host, made, CLIENTS, "b")


def seconds_to_echo(connection: socket.socket, size_bytes: int) -> float:
    before_s = time.monotonic()
    sender = threading.Thread(target=connection.sendall, args=(bytes(size_bytes),))
    sender.start()
    left = size_bytes
    while left:
        left -= len(connection.recv(65536))
    sender.join()
    return time.monotonic() - before_s


def arriving_share(host: LocalHost, made: Mapping[str, str], lost: float, count: int) -> float:
    """Which share of datagrams gets from here to a node that loses some."""
    namespace = Path(f"/proc/{host.status('a').pid}/ns/net")
    with network.inside_namespace(namespace):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with receiver, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        receiver.bind((made["a"], 7001))
        receiver.settimeout(1.0)
        host.rig.lose_packets("a", lost)
        for _ in range(count):
            sender.sendto(b"x", (made["a"], 7001))
        arrived = 0
        try:
            while receiver.recv(10):
                arrived += 1
        except TimeoutError:
            return arrived / count
    return 1.0


@needs_networks
def test_what_a_network_is_not_asked_for(host: LocalHost, tmp_path: Path) -> None:
    with pytest.raises(RunFailedError, match="There is no network"):
        host.rig.partition(["a"], ["b"])
    with pytest.raises(RunFailedError, match="needs nodes of different names"):
        host.rig.make_network(["a", "a"])
    with pytest.raises(RunFailedError, match="There is no network"):
        host.start(ProcessSpec("x", ("true",), {}, str(tmp_path), str(tmp_path / "log"), network_node="a"))
    host.rig.make_network(["kafka-1"])
    try:
        with pytest.raises(RunFailedError, match=r"kafka1 is no node of the network \(did you mean 'kafka-1'"):
            host.rig.lose_packets("kafka1", 0.5)
        with pytest.raises(RunFailedError, match="can't be 2: 0 to 1"):
            host.rig.lose_packets("kafka-1", 2)
        with pytest.raises(RunFailedError, match="There is a network already"):
            host.rig.make_network(["b"])
    finally:
        host.rig.remove_network()
    host.rig.remove_network()

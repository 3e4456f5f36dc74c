"""A fleet of two hosts that are network namespaces, from `fleet head` to `fleet down`, over Ray itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.root,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("unshare") is None,
        reason="hosts are network namespaces, and for those it takes root, ip and unshare",
    ),
]
AHEAD_S = 7200
"""So far is the monotonic clock of the second host ahead."""


@dataclass(frozen=True)
class Namespace:
    """A host: a network and a state directory of its own. `enter` is what a command line begins with there."""

    name: str
    address: str
    state: Path
    enter: tuple[str, ...] = ()

    def tidegauge(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        line = ["ip", "netns", "exec", self.name, *self.enter, sys.executable, "-m", "tidegauge.cli", *arguments]
        env = {**os.environ, "TIDEGAUGE_STATE": str(self.state), "COLUMNS": "100"}
        return subprocess.run(line, env=env, capture_output=True, text=True, timeout=240, check=False)

    def json(self, *arguments: str) -> Any:
        return json.loads(self.tidegauge(*arguments, "--json").stdout)


def run(line: str) -> None:
    subprocess.run(line.split(), check=True, capture_output=True)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Namespace]]:
    places = [tmp_path_factory.mktemp(f"host-{number}") for number in (1, 2)]
    # A pid of this process keeps the names apart from those of other tests' namespaces.
    made = [
        Namespace(f"tgf{os.getpid()}-1", "10.213.7.1", places[0]),
        Namespace(
            f"tgf{os.getpid()}-2", "10.213.7.2", places[1], ("unshare", "--time", "--monotonic", str(AHEAD_S), "--fork")
        ),
    ]
    try:
        for host in made:
            run(f"ip netns add {host.name}")
        run(f"ip link add eth0 netns {made[0].name} type veth peer name eth0 netns {made[1].name}")
        for host in made:
            for line in (f"addr add {host.address}/24 dev eth0", "link set eth0 up", "link set lo up"):
                run(f"ip -n {host.name} {line}")
        yield made
    finally:
        for host in made:
            host.tidegauge("fleet", "down")
            subprocess.run(["ip", "netns", "del", host.name], check=False, capture_output=True)


def ray_processes(host: Namespace) -> list[int]:
    """Processes in the host's network."""
    pids = subprocess.run(["ip", "netns", "pids", host.name], check=True, capture_output=True, text=True).stdout.split()
    return [int(pid) for pid in pids if psutil.pid_exists(int(pid))]


def test_two_hosts_become_a_fleet_and_leave_nothing(hosts: list[Namespace], tmp_path: Path) -> None:
    head, other = hosts
    begun = head.tidegauge("fleet", "head", "--role", "server")
    assert begun.returncode == 0, begun.stderr
    assert "fleet join 10.213.7.1:6379 --token token --role server" in begun.stdout

    # By the very command that was printed; another token, later, is not taken.
    wrong = tmp_path / "wrong"
    wrong.touch(mode=0o600)
    wrong.write_text("0" * 64)
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text((head.state / "fleet/token").read_text())
    joined = other.tidegauge("fleet", "join", "10.213.7.1:6379", "--token", str(token), "--role", "load")
    assert joined.returncode == 0, joined.stderr
    again = other.tidegauge("fleet", "join", "10.213.7.1:6379", "--token", str(wrong))
    assert again.returncode == 2
    assert "This host is in a fleet already: its head is 10.213.7.1:6379." in again.stderr
    assert (other.state / "fleet/token").read_text() == token.read_text()

    assert [(host["address"], host["role"], host["alive"]) for host in head.json("fleet", "status")["hosts"]] == [
        ("10.213.7.1", "server", True),
        ("10.213.7.2", "load", True),
    ]
    check(head, tmp_path)

    for host in reversed(hosts):
        assert host.tidegauge("fleet", "down").returncode == 0
        assert ray_processes(host) == []


def check(head: Namespace, tmp_path: Path) -> None:
    """Every host and link was looked at, and the clock that is ahead is so within the bound."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "launcher: ray\nnetwork: 10.213.7.0/24\nclock: {width-max: 1s}\n"
        "roles: {servers: {label: {role: server}, count: 1}, load: {label: {role: load}, count: 2}}\n"
    )
    found = head.json("fleet", "check", str(fleet))
    assert found["problems"] == [
        "The fleet has 1 host of role load, and needs 2: tidegauge fleet join ADDRESS --role load on 1 more host."
    ]
    assert set(found["disks"]) == {"10.213.7.1"}
    to_other, to_head = found["links"]
    assert (to_other["from_address"], to_other["to_address"]) == ("10.213.7.1", "10.213.7.2")
    assert all(link["bytes_per_s"] > 0 for link in found["links"])
    low_ns, high_ns = to_other["offset_ns"]
    assert low_ns <= AHEAD_S * 1e9 <= high_ns
    assert to_head["offset_ns"] == [-high_ns, -low_ns]

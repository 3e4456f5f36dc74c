"""A fleet of two hosts that are network namespaces, from `fleet head` to `fleet down`, over Ray itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_hosts import NEEDS, Namespace, namespaces

pytestmark = NEEDS
AHEAD_S = 7200
"""So far is the monotonic clock of the second host ahead."""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Namespace]]:
    places = [tmp_path_factory.mktemp(f"host-{number}") for number in (1, 2)]
    ahead = ("unshare", "--time", "--monotonic", str(AHEAD_S), "--fork")
    with namespaces(places, "10.213.7", [(), ahead]) as made:
        yield made


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
        assert host.processes == []


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

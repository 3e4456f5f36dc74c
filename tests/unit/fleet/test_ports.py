"""Ports of a fleet's hosts, here addresses of loopback: what is open, closed, and how it is said."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from loopback_fleet import Loopback

from tidegauge.agent.api import AGENT_PORTS
from tidegauge.agent.registry import find_free_ports
from tidegauge.errors import StartFailedError, UserError
from tidegauge.fleet import ports, ray_node
from tidegauge.fleet.check import link_ceilings
from tidegauge.fleet.ports import OpenPorts, Unreached, ranges_of
from tidegauge.fleet.ray_node import NODES_PORTS, OWN_PORTS, SERVER_PORTS, WORKER_PORTS
from tidegauge.model.host import FleetHost

ONE, OTHER = (f"127.{4 + os.getpid() % 250}.{os.getpid() // 250 % 250}.{number}" for number in (1, 2))
"""Of this process alone: other tests may run beside it."""
HOSTS = tuple(
    FleetHost(f"{ONE.rpartition('.')[0]}.{number}", role, f"node-{number}")
    for number, role in ((1, "controller"), (2, "server"), (3, "load"))
)


@pytest.fixture
def both() -> Iterator[tuple[OpenPorts, OpenPorts]]:
    with ExitStack() as ends:
        made = []
        for address in (ONE, OTHER):
            made.append(OpenPorts(address))
            ends.callback(made[-1].close)
        yield made[0], made[1]


def test_what_is_open_is_reached(both: tuple[OpenPorts, OpenPorts]) -> None:
    one, other = both
    assert set(other.tcp) <= set(OWN_PORTS) and set(other.udp) <= set(AGENT_PORTS)
    # So that what begins meanwhile finds some.
    for kind in (AGENT_PORTS, WORKER_PORTS, SERVER_PORTS):
        assert 0 < len(set(kind) & set(other.tcp)) <= len(kind) / 2 + 1
    assert one.unreached(OTHER, other.tcp, other.udp) == Unreached()


def test_a_port_that_refuses_though_somebody_listens_is_closed(both: tuple[OpenPorts, OpenPorts]) -> None:
    """As a firewall does that rejects. One that nobody has says nothing."""
    one, other = both
    other.close()
    found = one.unreached(OTHER, [7301, 7303, 7305], [7203])
    assert found == Unreached((7301, 7303, 7305), (7203,))
    assert str(found) == "7301, 7303, 7305, 7203/udp"


def test_a_port_of_rays_that_refuses_is_closed_where_ray_listens() -> None:
    with ExitStack() as ends:
        with socket.create_server((OTHER, NODES_PORTS[0])):
            one, other = OpenPorts(ONE), OpenPorts(OTHER)
            ends.callback(one.close)
            ends.callback(other.close)
            assert set(other.tcp) & set(NODES_PORTS) == {NODES_PORTS[0]}
            assert one.unreached(OTHER, other.tcp, other.udp) == Unreached()
        assert one.unreached(OTHER, other.tcp, other.udp) == Unreached((NODES_PORTS[0],))


def test_a_port_that_gives_no_answer_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens to a full queue: its kernel drops what comes, as a firewall does."""
    monkeypatch.setattr(ports, "_REACH_S_MAX", 0.3)
    with socket.create_server((ONE, 0), backlog=0) as full, socket.create_connection(full.getsockname()):
        port = full.getsockname()[1]
        assert ports._try_tcp_ports(ONE, [port]) == ({port}, set())


def test_ports_in_words() -> None:
    assert ranges_of([7201, 7300, 7301, 7302, 7500]) == ["7201", "7300 to 7302", "7500"]
    assert ranges_of([]) == []


def test_servers_get_ports_that_a_firewall_is_told_of() -> None:
    assert set(find_free_ports(50, (), SERVER_PORTS)) <= set(SERVER_PORTS)
    with pytest.raises(StartFailedError, match=r"Only \d of 3 TCP ports from 7998 to 7999 are free"):
        find_free_ports(3, (), range(7998, 8000))
    assert ray_node.ports_to_open(head=False)[-2:] == ["7200 to 7999", "7201 to 7219/udp"]


def test_a_firewall_between_hosts_of_a_run_is_named_before_anything_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also between them and the host of the controller, which has a prober for that alone."""

    def unreached(_: OpenPorts, address: str, *__: object) -> Unreached:
        return Unreached((7300, 7301)) if address == HOSTS[1].address else Unreached()

    monkeypatch.setattr(OpenPorts, "unreached", unreached)
    reached = f"{OTHER} can't be reached from {ONE} at ports 7300 to 7301: a firewall may be between"
    with pytest.raises(UserError, match=re.escape(reached)):
        link_ceilings(Loopback(HOSTS), HOSTS[1:2], HOSTS[0].address)
    assert set(link_ceilings(Loopback(HOSTS), HOSTS[2:], HOSTS[0].address)) == {HOSTS[2].address}

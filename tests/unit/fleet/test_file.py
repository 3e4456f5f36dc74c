"""Fleet files: what they say, and what is wrong with them."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from tidegauge.errors import UserError
from tidegauge.fleet.file import FleetFile, read_fleet_file

WHOLE = """
launcher: ray
address: 10.77.0.1:6379
network: 10.77.0.0/24
roles:
  servers: {label: {role: server}, count: 3}
  load: {label: {role: load}, count: 4}
clock: {drift-ppm: 40, width-max: 200us}
"""


def read(tmp_path: Path, text: str) -> FleetFile:
    path = tmp_path / "fleet.yaml"
    path.write_text(text)
    return read_fleet_file(path)


def test_a_whole_file(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert found.address == "10.77.0.1:6379"
    assert found.hosts_of_role == {"server": 3, "load": 4}
    assert found.network == ipaddress.IPv4Network("10.77.0.0/24")
    # Of a pair, in which both clocks drift.
    assert found.drift_ppm == 80
    assert found.clock_s_max == pytest.approx(200e-6)


def test_all_but_the_launcher_has_a_default(tmp_path: Path) -> None:
    assert read(tmp_path, "launcher: ray\naddress: auto\n") == FleetFile()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("launcher: rai\n", "fleet.yaml:1: launcher: 'rai'"),
        ("launcher: ray\nadress: auto\n", "fleet.yaml:2: adress: unknown key 'adress' (did you mean 'address'?)"),
        (
            "launcher: ray\naddress: host:6379\n",
            "fleet.yaml:2: address: 'host:6379': must be the head's address and port",
        ),
        ("launcher: ray\naddress: 10.0.0.1:70000\n", "fleet.yaml:2: address: '10.0.0.1:70000': must be the head's"),
        ("launcher: ray\nnetwork: 10.77.0.1/24\n", "fleet.yaml:2: network: '10.77.0.1/24': must be a network such as"),
        (
            "launcher: ray\nroles: {a: {label: {role: x}, count: 0}}\n",
            "fleet.yaml:2: roles.a.count: '0': must be at least 1",
        ),
        (
            "launcher: ray\nroles: {a: {label: {role: X}, count: 1}}\n",
            "fleet.yaml:2: roles.a.label.role: 'X': must match",
        ),
        (
            "launcher: ray\nroles:\n  a: {label: {role: x}, count: 1}\n  b: {label: {role: x}, count: 1}\n",
            "fleet.yaml:4: roles.b.label.role: 'x' is the label of 'a' already",
        ),
        (
            "launcher: ray\nroles: {k: {label: {role: keeper}, count: 1, nodes-per-host: 2}}\n",
            "fleet.yaml:2: roles.k.nodes-per-host: is for hosts with the label 'server', not others",
        ),
        ("launcher: ray\nclock: {width-max: 2m}\n", "fleet.yaml:2: clock.width-max: '2m': must be from 10us to 1s"),
        ("", "fleet.yaml:1: the fleet file is empty"),
        (
            "launcher: ray\naddress: '10.0.0.1:\u00b2'\n",
            "fleet.yaml:2: address: '10.0.0.1:\u00b2': must be the head's address",
        ),
        (
            "launcher: ray\naddress: 127.0.0.1:6379\n",
            "fleet.yaml:2: address: '127.0.0.1:6379': is reached by no other host",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        read(tmp_path, text)
    assert message in raised.value.message


def test_nodes_share_hosts_only_where_that_is_said(tmp_path: Path) -> None:
    alone = read(tmp_path, "launcher: ray\nroles: {s: {label: {role: server}, count: 3}}\n")
    assert (alone.server_hosts(5), alone.has_keeper) == (5, False)
    servers = "servers: {label: {role: server}, count: 3, nodes-per-host: 2}"
    found = read(tmp_path, f"launcher: ray\nroles: {{{servers}, k: {{label: {{role: keeper}}, count: 1}}}}\n")
    assert (found.server_hosts(5), found.server_hosts(6), found.has_keeper) == (3, 3, True)

"""The fleet file: which hosts there are to be, in which network, and how well their clocks must be known."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from tidegauge.config.fields import Duration, Fields, duration_between
from tidegauge.config.source import Source, raise_problems, read_source, validate
from tidegauge.model.host import KEEPER_ROLE, LOAD_ROLE, SERVER_ROLE
from tidegauge.statistics.clocks import DRIFT_PPM

WHAT = "fleet"
CLOCK_S_MAX = 0.001
_PORT_DIGITS_MAX = 5


@dataclass(frozen=True)
class FleetFile:
    """What a fleet file says.

    Attributes:
        address: the head's "host:port"; "" = that of the fleet which this host is in ("auto").
        hosts_of_role: how many hosts each role needs, by the label `role` that they joined with.
        workers_per_host: load generators on each host of the role "load".
        nodes_per_host: how many nodes of a system a host of the role "server" may have.
        network: in which every host's address lies; None = not said.
        clock_s_max: how wide the bounds of two hosts' offset may be, from the lower to the upper.
    """

    address: str = ""
    hosts_of_role: Mapping[str, int] = field(default_factory=dict)
    network: ipaddress.IPv4Network | None = None
    drift_ppm: float = DRIFT_PPM
    clock_s_max: float = CLOCK_S_MAX
    workers_per_host: int = 1
    nodes_per_host: int = 1

    @property
    def load_hosts(self) -> int:
        """Hosts that load generators are started on; 0 = none, but here."""
        return self.hosts_of_role.get(LOAD_ROLE, 0)

    @property
    def load_generators(self) -> int:
        """Load generators on all of them; 0 = none, but here."""
        return self.load_hosts * self.workers_per_host

    @property
    def has_keeper(self) -> bool:
        """Whether what belongs to no node, such as a ZooKeeper, has a host of its own."""
        return KEEPER_ROLE in self.hosts_of_role

    def server_hosts(self, nodes: int) -> int:
        """How many hosts so many nodes need."""
        return -(-nodes // self.nodes_per_host)


def head_address(value: str) -> str:
    """A head's address and port, as given. Raises `ValueError`."""
    host, _, port = value.rpartition(":")
    try:
        address = ipaddress.IPv4Address(host)
    except ValueError:
        port = ""
    if not (port.isascii() and port.isdecimal() and len(port) <= _PORT_DIGITS_MAX and 0 < int(port) < 65536):
        raise ValueError("must be the head's address and port, such as 10.77.0.1:6379")
    if address.is_loopback or address.is_unspecified:
        raise ValueError("is reached by no other host: name the head's address in the fleet's network")
    return value


def _parse_head(value: Any) -> str:
    try:
        return "" if value == "auto" else head_address(str(value))
    except ValueError as error:
        raise ValueError(f"{error}; or auto") from None


def _parse_network(value: Any) -> ipaddress.IPv4Network:
    try:
        return ipaddress.IPv4Network(str(value))
    except ValueError:
        raise ValueError("must be a network such as 10.77.0.0/24") from None


class _LabelFields(Fields):
    role: str = Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")


class _RoleFields(Fields):
    label: _LabelFields
    count: int = Field(ge=1, le=1000)
    workers_per_host: int = Field(default=1, ge=1, le=64)
    nodes_per_host: int = Field(default=1, ge=1, le=64)


class _ClockFields(Fields):
    drift_ppm: float = Field(default=DRIFT_PPM / 2, ge=1, le=1000)
    width_max: Annotated[Duration, duration_between("10us", "1s")] = CLOCK_S_MAX


class _FleetFields(Fields):
    launcher: Literal["ray"]
    address: Annotated[str, BeforeValidator(_parse_head)] = ""
    roles: dict[str, _RoleFields] = Field(default_factory=dict)
    network: Annotated[ipaddress.IPv4Network | None, BeforeValidator(_parse_network)] = None
    clock: _ClockFields = _ClockFields()


def read_fleet_file(path: Path) -> FleetFile:
    """Read a fleet file. Raises `UserError` with every problem in it, file and line."""
    source: Source = read_source(path, WHAT, example="docs/reference.md shows one under 'Fleets'")
    fields = validate(_FleetFields, source.data, source, ())
    if fields is not None:
        by_label: dict[str, str] = {}
        for name, role in fields.roles.items():
            first = by_label.setdefault(role.label.role, name)
            for key, count, label_needed in (
                ("workers-per-host", role.workers_per_host, LOAD_ROLE),
                ("nodes-per-host", role.nodes_per_host, SERVER_ROLE),
            ):
                if count != 1 and role.label.role != label_needed:
                    source.complain(("roles", name, key), f"is for hosts with the label '{label_needed}', not others")
            if first != name:
                source.complain(
                    ("roles", name, "label", "role"), f"'{role.label.role}' is the label of '{first}' already"
                )
    raise_problems([source], f"{WHAT} file")
    assert fields is not None
    return FleetFile(
        fields.address,
        {role.label.role: role.count for role in fields.roles.values()},
        fields.network,
        # Of each clock in the file, of a pair here.
        2 * fields.clock.drift_ppm,
        fields.clock.width_max,
        next((role.workers_per_host for role in fields.roles.values() if role.label.role == LOAD_ROLE), 1),
        next((role.nodes_per_host for role in fields.roles.values() if role.label.role == SERVER_ROLE), 1),
    )

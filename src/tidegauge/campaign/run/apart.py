"""Servers on hosts of a fleet, each node on one of its own; the load is generated on this host."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.limits import machines_of
from tidegauge.errors import RunFailedError, UserError
from tidegauge.fleet.api import Host, Launcher
from tidegauge.fleet.file import FleetFile
from tidegauge.fleet.remote import ManyHosts, agents_on
from tidegauge.model.events import Note, Observer
from tidegauge.model.fleet import SERVER_ROLE, FleetHost
from tidegauge.model.server import Distribution
from tidegauge.numbers import plural
from tidegauge.systems import registry
from tidegauge.systems.api import KEEPER, Seat

_FETCH_S_MAX = 1800.0


class Provisioner:
    """On a host of servers: gets the files of a system there, as it would be done here."""

    def provision(self, system: str, version: str) -> Distribution:
        """Raises `UserError` if the host can't have them."""
        return registry.get(system).provision(version, lambda _text: None)


@dataclass(frozen=True)
class Apart:
    """Where servers are started.

    Attributes:
        host: all hosts as one.
        seats: of each node, by number, and of what belongs to none.
        provision: gets a system's version on every host. Raises `RunFailedError` if the files there are others.
    """

    host: Host
    seats: Mapping[int, Seat]
    provision: Callable[[str, str, Distribution], None]


def chosen(
    hosts: Sequence[FleetHost], own_address: str, count: int, network: IPv4Network | None = None
) -> list[FleetHost]:
    """Hosts for the servers, one for each node, never the load generator's. Raises `UserError` if there are too few."""
    fit = [
        host
        for host in hosts
        if host.alive
        and host.role == SERVER_ROLE
        and host.address != own_address
        and (network is None or IPv4Address(host.address) in network)
    ]
    if len(fit) < count:
        raise UserError(
            f"The campaign needs {plural(count, 'host')} for its servers, and the fleet has {len(fit)} of role "
            f"{SERVER_ROLE} beside this one{f' in {network}' if network else ''}.",
            f"tidegauge fleet join ADDRESS --role {SERVER_ROLE} on each; tidegauge fleet status says what there is.",
        )
    return fit[:count]


@contextlib.contextmanager
def servers_apart(
    campaign: Campaign, fleet: FleetFile, launcher: Launcher, own: Host, own_address: str, *, observer: Observer
) -> Iterator[Apart]:
    """Agents on the hosts for a campaign's servers; with the block everything on them ends.

    Raises `UserError` if there are too few hosts, `StartFailedError` if an agent can't be started on one.
    """
    hosts = chosen(launcher.hosts(), own_address, machines_of(campaign, registry.get), fleet.network)
    with agents_on(hosts, launcher, lambda text: observer(Note(text))) as agents:
        seats = {
            number: Seat(agent.host.address, f"server-{number}", agent.interface)
            for number, agent in enumerate(agents, 1)
        }
        by_link = {seat.link: agent for seat, agent in zip(seats.values(), agents, strict=True)}
        # What belongs to no node is on the host of the first.
        seats[KEEPER] = seats[1]
        placed = ", ".join(f"node {number} on {agent.host.address}" for number, agent in enumerate(agents, 1))
        observer(
            Note(
                f"Servers: {placed}; load generator here. On those hosts neither syncs nor what disk and network can "
                "do at most are looked at, and the page cache is left as it is."
            )
        )
        yield Apart(ManyHosts(own, by_link), seats, lambda *wanted: _provision(hosts, launcher, *wanted))


def _provision(hosts: Sequence[FleetHost], launcher: Launcher, system: str, version: str, here: Distribution) -> None:
    def on(host: FleetHost) -> Distribution:
        remote = launcher.start(host, Provisioner)
        try:
            found: Distribution = remote.call("provision", system, version, timeout_s=_FETCH_S_MAX)
        except UserError as error:
            raise RunFailedError(f"{host.address}: {error.message}", error.hint) from error
        finally:
            remote.end()
        return found

    with ThreadPoolExecutor(len(hosts)) as pool:
        for host, found in zip(hosts, list(pool.map(on, hosts)), strict=True):
            if problem := difference(here, found):
                raise RunFailedError(
                    f"{system} {version} on {host.address} is not what it is here: {problem}.",
                    "Give all hosts the same Java, the same cache directory (TIDEGAUGE_CACHE) and the same files.",
                )


def difference(here: Distribution, there: Distribution) -> str:
    """What is not the same of a system's files on two hosts; "" if all is."""
    for name in ("digest", "directory", "java_version", "java_home"):
        own, other = getattr(here, name), getattr(there, name)
        if own != other:
            return f"its {name.replace('_', ' ')} is {other or 'none'} instead of {own or 'none'}"
    return ""

"""Servers on hosts of a fleet, each node on one of its own; load generators on others of its hosts, or on this one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network
from itertools import permutations
from pathlib import Path

from tidegauge.agent.api import AGENT_PORTS
from tidegauge.agent.authority import Authority, make_request
from tidegauge.agent.client import AgentHost
from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.generators import check_clients
from tidegauge.campaign.plan.limits import check_handles, machines_of
from tidegauge.campaign.plan.plan import Plan
from tidegauge.campaign.run.on_hosts import (
    OnHost,
    call_on_each_host,
    provision_on_hosts,
    send_to_each_host,
    workers_installed_on,
)
from tidegauge.distribution.sending import file_parcel, path_on_hosts
from tidegauge.errors import RunFailedError, UserError
from tidegauge.fleet.api import Launcher
from tidegauge.fleet.check import left_out, link_ceilings, slow_links
from tidegauge.fleet.clocks import HERE, ClockError, FleetClocks
from tidegauge.fleet.file import FleetFile
from tidegauge.fleet.ray_node import FLEET_PORTS, WORKER_PORTS
from tidegauge.fleet.remote import ManyHosts, RemoteHost, agents_on
from tidegauge.hosts.memory import Machine
from tidegauge.model.ceilings import RunCeilings
from tidegauge.model.events import Note, Observer
from tidegauge.model.host import KEEPER_ROLE, LOAD_ROLE, SERVER_ROLE, FleetHost, HostAtWork, HostLink
from tidegauge.model.server import Distribution
from tidegauge.numbers import mb_per_s, plural
from tidegauge.places import expand_path
from tidegauge.plain import grouped
from tidegauge.statistics.clocks import Offset
from tidegauge.systems import registry
from tidegauge.systems.api import KEEPER, Seat
from tidegauge.worker.site import Installed, Site, Tls


@dataclass(frozen=True)
class Apart:
    """Where servers are started, and load generators.

    Attributes:
        host: all hosts as one.
        seats: of each node, by number, and of what belongs to none.
        launcher: what the hosts were found by.
        servers, keepers: the hosts of nodes, in the order of these, and of what belongs to none.
        load: None where load generators are on this host.
        links: what the other hosts can send and receive at most, by address.
        machine: the hosts of load generators together, each taken for as large as the smallest; None without any.
    """

    host: ManyHosts
    seats: Mapping[int, Seat]
    launcher: Launcher
    servers: Sequence[FleetHost]
    keepers: Sequence[FleetHost]
    observer: Observer
    load: LoadHosts | None = None
    links: Mapping[str, HostLink] = field(default_factory=dict)
    machine: Machine | None = None

    def provision(self, distribution: Distribution) -> None:
        """Get a system's version on every host. Raises `RunFailedError` if the files there are others."""
        provision_on_hosts(
            self.launcher, [*self.servers, *self.keepers], distribution, lambda text: self.observer(Note(text))
        )

    def check_bounds(self, plan: Plan, campaign: Campaign) -> None:
        """Raise `UserError` if a host lets a server or a load generator have too little of files, threads or ports."""
        load_hosts = [agent.host for agent in self.load.agents] if self.load else []
        bounds = call_on_each_host(self.launcher, [*self.servers, *load_hosts], OnHost, "bounds")
        for host in self.servers:
            check_handles(campaign, replace(bounds[host.address], address=host.address))
        for host in load_hosts:
            check_clients(plan, campaign, replace(bounds[host.address], address=host.address))

    def hosts_at_work(self, places: Sequence[Path]) -> dict[str, HostAtWork]:
        """What each host that runs something is, and what it runs, by address: servers first, in the order of nodes.

        `places`: of servers' data and journals. Raises `RunFailedError`.
        """
        loads = [agent.host for agent in self.load.agents] if self.load else []
        with_data = [*self.servers, *self.keepers]
        only_load = [host for host in loads if host not in with_data]
        facts = {
            **call_on_each_host(self.launcher, with_data, OnHost, "facts", places),
            **call_on_each_host(self.launcher, only_load, OnHost, "facts", ()),
        }
        addresses = self.load.addresses() if self.load else []
        numbers = grouped((address, number) for number, address in enumerate(addresses, 1))
        return {
            address: HostAtWork(
                facts=facts_of_host,
                nodes=tuple(
                    number for number, seat in self.seats.items() if number != KEEPER and seat.address == address
                ),
                load_generators=tuple(numbers.get(address, ())),
                keeper=any(keeper.address == address for keeper in self.keepers),
                link=self.links.get(address),
            )
            for address, facts_of_host in facts.items()
        }

    def leave_launcher(self) -> None:
        """Leave what remains to agents, so that the launcher's end concerns no trial."""
        self.launcher.close()

    def ceilings(self, data: Sequence[Path], journals: Sequence[Path]) -> Mapping[str, RunCeilings]:
        """What the disks of the hosts of servers can do at most, by address in the order of their nodes.

        `data`, `journals`: the directories that nodes keep them in by turns. Raises `TidegaugeError`.
        """
        return call_on_each_host(self.launcher, self.servers, OnHost, "ceilings", data, journals)


@dataclass
class LoadHosts:
    """The hosts of load generators, each with as many; and their clocks (see `worker.group.MemberClocks`).

    Load generator n is on host n modulo their number, so that neighbours in a trial's order are on several hosts.

    Attributes:
        installed: by a host's address and a driver.
        sent_files: see `worker.site.Site`.
    """

    agents: Sequence[RemoteHost]
    workers_per_host: int
    clocks: FleetClocks
    installed: Mapping[tuple[str, str], Installed]
    sent_files: Mapping[str, str]
    authority: Authority

    def __post_init__(self) -> None:
        """Say which load generator is on which host."""
        self._hosts = [number % len(self.agents) for number in range(self.workers_per_host * len(self.agents))]
        self._key, self._certificate = self.authority.controller_keys()

    def sites(self, driver: str) -> list[Site]:
        """The site of each load generator, with this driver."""
        return [self._site_on_host(driver, number) for number in self._hosts]

    def addresses(self) -> list[str]:
        """The host of each load generator."""
        return [self.agents[host].host.address for host in self._hosts]

    def of_first(self, count: int) -> LoadHosts:
        """See `WorkerHosts.of_first`."""
        fewer = copy(self)
        fewer._hosts = self._hosts[:count]
        return fewer

    def _site_on_host(self, driver: str, number: int) -> Site:
        agent = self.agents[number]
        address = agent.host.address

        def new_server() -> tuple[str, str]:
            key, request = make_request()
            return key, self.authority.sign(request, address)

        tls = Tls(
            self.authority.certificate_pem.encode(),
            self._key.encode(),
            self._certificate.encode(),
            new_server,
            WORKER_PORTS,
        )
        return Site(agent, self.installed[address, driver], address, load_link(number), tls, self.sent_files)

    def ahead_ns(self) -> list[int]:
        """See `MemberClocks.ahead_ns`."""
        ahead_ns = self.clocks.ahead_ns()
        return [ahead_ns[host] for host in self._hosts]

    def clock_error_ns(self) -> float:
        """By how much instants of load generators may now be wrong by this host's clock. Raises `ClockError`."""
        return max(width_s for pair, width_s in self.clocks.widths_s().items() if HERE in pair) / 2 * 1e9

    def have_same_clock(self, one: int, other: int) -> bool:
        """See `MemberClocks.have_same_clock`."""
        return self._hosts[one] == self._hosts[other]

    def offsets_between(self, from_ns: int, until_ns: int) -> dict[tuple[int, int], Offset]:
        """See `MemberClocks.offsets_between`."""
        if len(self.agents) == 1:
            return {}
        bounds = self.clocks.bounds(from_ns, until_ns)
        names = [self.agents[host].host.address for host in self._hosts]
        return {
            (one, other): bounds[names[one], names[other]]
            for one, other in permutations(range(len(names)), 2)
            if not self.have_same_clock(one, other)
        }


def load_link(number: int) -> str:
    """The link that the processes of a load host name as theirs, by the host's number from 0."""
    return f"load-{number + 1}"


def hosts_of_role(
    hosts: Sequence[FleetHost], role: str, count: int, network: IPv4Network | None = None, *, not_on: str = ""
) -> list[FleetHost]:
    """So many fit hosts of a role, in the order of their addresses. Raises `UserError` if there are too few.

    `not_on`: the address of one that does not count.
    """
    suitable = [
        host
        for host in hosts
        if not host.problem
        and host.role == role
        and host.address != not_on
        and (network is None or IPv4Address(host.address) in network)
    ]
    if len(suitable) < count:
        purpose = {SERVER_ROLE: "servers", LOAD_ROLE: "load generators"}.get(role, "what belongs to no node")
        raise UserError(
            f"The campaign needs {plural(count, 'host')} for its {purpose}, and the fleet has {len(suitable)} of role "
            f"{role}{' beside this one' if not_on else ''}{f' in {network}' if network else ''}"
            f"{left_out(hosts, role)}.",
            f"tidegauge fleet join ADDRESS --role {role} on each; tidegauge fleet status says what there is.",
        )
    return suitable[:count]


def _choose_hosts(
    nodes: int, fleet: FleetFile, launcher: Launcher, own_address: str, observer: Observer
) -> tuple[list[FleetHost], ...]:
    """Hosts for so many nodes, for what belongs to none, and for load generators. Raises `UserError`."""
    fleet_hosts = launcher.hosts()
    chosen_hosts = (
        hosts_of_role(fleet_hosts, SERVER_ROLE, fleet.server_hosts(nodes), fleet.network, not_on=own_address),
        hosts_of_role(fleet_hosts, KEEPER_ROLE, int(fleet.has_keeper and nodes > 0), fleet.network, not_on=own_address),
        hosts_of_role(fleet_hosts, LOAD_ROLE, fleet.load_hosts, fleet.network),
    )
    for role in sorted({host.role for hosts in chosen_hosts for host in hosts}):
        if others := left_out(fleet_hosts, role):
            observer(Note(f"The fleet has other hosts of role {role}{others}.", left_out=role))
    return chosen_hosts


def _check_places(campaign: Campaign, launcher: Launcher, hosts: Sequence[FleetHost]) -> None:
    """Raise `RunFailedError` if a host lacks a directory that was chosen for data; as this host words them."""
    places = (*campaign.data_directories, *campaign.journal_directories, campaign.data_directory)
    if directories := [str(expand_path(place)) for place in places if place]:
        call_on_each_host(launcher, hosts, OnHost, "check_disks", directories)


@contextlib.contextmanager
def servers_apart(
    campaign: Campaign,
    fleet: FleetFile,
    launcher: Launcher,
    own_agent: AgentHost,
    own_address: str,
    *,
    directory: Path,
    observer: Observer,
) -> Iterator[Apart]:
    """Agents on the hosts for a campaign's servers and load generators; with the block everything on them ends.

    `directory`: of the run. Raises `UserError` if there are too few hosts, `StartFailedError` if an agent can't be
    started on one, `RunFailedError` if one lacks a directory that the campaign chose for data.
    """
    nodes = machines_of(campaign)

    def say(text: str) -> None:
        observer(Note(text))

    hosts, keepers, load_hosts = _choose_hosts(nodes, fleet, launcher, own_address, observer)
    _check_places(campaign, launcher, hosts)
    # First of all: what a firewall drops would be waited for.
    links = _measure_links(launcher, [*hosts, *keepers, *load_hosts], own_address, say)
    authority = Authority()
    with contextlib.ExitStack() as ends:
        agents = ends.enter_context(agents_on([*hosts, *keepers, *load_hosts], launcher, say, authority=authority))
        servers, others = agents[: len(hosts)], agents[len(hosts) :]
        keeper, loads = others[: len(keepers)], others[len(keepers) :]
        seated = Seated(nodes, servers, keeper)
        load: LoadHosts | None = None
        if loads:
            clocks = FleetClocks(
                own_agent, own_address, [(agent, agent.host.address) for agent in loads], fleet.drift_ppm, AGENT_PORTS
            )
            ends.callback(clocks.close)
            sent_files = _send_files_of_messages(campaign, launcher, load_hosts, say)
            _check_width(clocks, fleet.clock_s_max)
            installed = workers_installed_on(launcher, load_hosts, _drivers_of_systems(campaign))
            load = LoadHosts(loads, fleet.workers_per_host, clocks, installed, sent_files, authority=authority)
        say(f"{seated}; {_load_words(loads, fleet.workers_per_host)}.")
        yield Apart(
            ManyHosts(
                own_agent,
                own_address,
                seated.by_link,
                {load_link(number): agent for number, agent in enumerate(loads)},
                directory=directory,
                spared_ports=FLEET_PORTS,
                load_clocks_off_ns=load.clock_error_ns if load else lambda: 0.0,
            ),
            seated.seats,
            launcher,
            hosts,
            keepers,
            observer,
            load,
            links,
            _machine_of_all(call_on_each_host(launcher, load_hosts, OnHost, "machine").values()),
        )


def _machine_of_all(machines: Iterable[Machine]) -> Machine | None:
    known_machines = list(machines)
    if not known_machines:
        return None
    return Machine(
        len(known_machines) * min(host.cpus for host in known_machines),
        len(known_machines) * min(host.memory_mb for host in known_machines),
    )


def _drivers_of_systems(campaign: Campaign) -> set[str]:
    return {registry.system_named(choice.name).driver for _, choice in campaign.systems_at_points}


def _send_files_of_messages(
    campaign: Campaign, launcher: Launcher, hosts: Sequence[FleetHost], say: Callable[[str], None]
) -> Mapping[str, str]:
    """Send files of message values and keys to load hosts; where these have each, by where it is here."""
    places_by_file: dict[str, str] = {}
    workloads = [point.campaign.workload for point in campaign.all_points]
    keys = [workload.key_file.path for workload in workloads if workload.key_file]
    for file in sorted({*keys, *(workload.payload.file for workload in workloads)} - {""}):
        parcel = file_parcel(Path(file))
        send_to_each_host(launcher, hosts, parcel, say)
        places_by_file[file] = str(path_on_hosts(parcel))
    return places_by_file


def _measure_links(
    launcher: Launcher, hosts: Sequence[FleetHost], own_address: str, say: Callable[[str], None]
) -> Mapping[str, HostLink]:
    """What each host can send and receive; {} where that can't be measured, which is said.

    Raises `UserError` if a firewall is between them.
    """
    if not hosts:
        return {}
    try:
        links = link_ceilings(launcher, hosts, own_address)
    except RunFailedError as error:
        say(f"What the hosts' links can carry is not known: {error.message}")
        return {}
    if len(hosts) < 2:
        return {}
    sentences = [
        f"{address} sends {mb_per_s(most.sent_bytes_per_s)} and receives {mb_per_s(most.received_bytes_per_s)}"
        for address, most in links.items()
    ]
    say(f"Links: {'; '.join(sentences)}.")
    for sentence in slow_links(links):
        say(sentence)
    return links


class Seated:
    """Which node is on which host: by turns, so that those of one kind are on as many as there are.

    Attributes:
        seats: of each node, by number, and of what belongs to none: on a host of its own, else on that of node 1.
        by_link: the host of each seat, by the seat's link.
    """

    def __init__(self, nodes: int, servers: Sequence[RemoteHost], keeper: Sequence[RemoteHost]) -> None:
        self.by_link = {f"server-{number}": servers[(number - 1) % len(servers)] for number in range(1, nodes + 1)}
        self.seats = {number: self._seat_on_host(link) for number, link in enumerate(self.by_link, 1)}
        self.by_link.update(zip([KEEPER_ROLE], keeper, strict=False))
        if self.seats:
            self.seats[KEEPER] = self._seat_on_host(KEEPER_ROLE) if keeper else self.seats[1]

    def _seat_on_host(self, link: str) -> Seat:
        agent = self.by_link[link]
        return Seat(agent.host.address, link, agent.interface)

    def __str__(self) -> str:
        """ "Servers: node 1 on 10.77.0.2, node 2 on 10.77.0.3"."""
        if not self.seats:
            return "Others run the servers"
        nodes = (f"node {number} on {seat.address}" for number, seat in self.seats.items() if number != KEEPER)
        keeper = self.seats[KEEPER]
        keeper_words = f", what belongs to no node on {keeper.address}" if keeper.link == KEEPER_ROLE else ""
        return f"Servers: {', '.join(nodes)}{keeper_words}"


def _load_words(loads: Sequence[RemoteHost], each: int) -> str:
    if not loads:
        return "load generator here"
    number_words = f"{each} on each of" if each > 1 else "one on each of"
    return f"load generators: {number_words} {', '.join(agent.host.address for agent in loads)}"


def _check_width(clocks: FleetClocks, width_s_max: float) -> None:
    """Raise `ClockError` if two load hosts' clocks are not known as well as the fleet file wants."""
    widths_s = {pair: width_s for pair, width_s in clocks.widths_s().items() if HERE not in pair}
    pair, width_s = max(widths_s.items(), key=lambda item: item[1], default=(("", ""), 0.0))
    if width_s > width_s_max:
        raise ClockError(
            f"How far the clocks of {' and '.join(pair)} are apart is known within {width_s * 1e6:,.0f} us only, "
            f"and the fleet file wants {width_s_max * 1e6:,.0f} us.",
            "The network between them may be busy; or raise 'width-max' of 'clock' in the file.",
        )

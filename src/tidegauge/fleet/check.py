"""Whether a fleet can be used: every host, every pair, every clock, every server's disk, in less than 20 s."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import IPv4Address, IPv4Network
from statistics import median
from typing import Any, TypeVar

from tidegauge.errors import RunFailedError, TidegaugeError, UserError
from tidegauge.fleet.api import Launcher, Remote
from tidegauge.fleet.file import FleetFile
from tidegauge.fleet.probes import Prober
from tidegauge.fleet.ray_node import PROBE_PORT
from tidegauge.model.host import SERVER_ROLE, DiskState, FleetCheck, FleetHost, HostLink, HostState, NetworkPath
from tidegauge.numbers import mb_per_s, plural, rounded, trimmed
from tidegauge.plain import grouped
from tidegauge.statistics.clocks import (
    ClockContradictionError,
    Exchange,
    HostPair,
    Offset,
    offset_at,
    suspect_hosts,
    tightest_bounds,
)

_EXCHANGES = 40
_TRANSFER_S = 0.3
_CONNECTIONS = 4
"""At once, of a link whose most is asked for: one alone may not fill it."""
_START_S_MAX = 60.0
"""Of the first call: the host's Python starts, and imports."""
_CALL_S_MAX = 20.0
_PORTS_S_MAX = 60.0
"""Some seconds, where a firewall drops what comes to them."""
SLOW_SHARE = 0.2
"""Of what other hosts usually send, or receive: links are measured briefly, one after the other."""
FAR_TIMES, FAR_MS = 5.0, 1.0
_LET_THROUGH = "Let through between the fleet's hosts all ports that `tidegauge fleet head` and `join` printed."

_JOIN_AGAIN = "then, there, tidegauge fleet down and tidegauge fleet join."
_INSTALL_THERE = f"Install the same there; {_JOIN_AGAIN}"
_REACH_AGAIN = f"Start it, and let through there what `tidegauge fleet join` printed; {_JOIN_AGAIN}"
_Key = TypeVar("_Key")
Report = Callable[[str], None]


def check_fleet(launcher: Launcher, fleet_file: FleetFile, report: Report, java_major_min: int = 0) -> FleetCheck:
    """Look at every host and pair. What a host can't do is a problem in the result; nothing is raised for it.

    `java_major_min`: older JDKs don't count.
    """
    begun_s = time.monotonic()
    hosts = tuple(launcher.hosts())
    problems = [
        f"{host.address} can't be used: {host.problem}. {_INSTALL_THERE if host.alive else _REACH_AGAIN}"
        for host in hosts
        if host.problem
    ]
    problems += missing_hosts(hosts, fleet_file.hosts_of_role)
    problems += hosts_outside_network(hosts, fleet_file.network)
    living = [host for host in hosts if not host.problem]
    with _probers_on_hosts(launcher, living, problems) as fleet:
        report(f"asking {plural(len(living), 'host')} ...")
        states: dict[str, HostState] = fleet.on_each(living, "state", lambda _: (java_major_min,), _START_S_MAX)
        problems += disagreements(states)
        ready = [host for host in living if host.address in states]
        reachable = list(fleet.on_each(ready, "listen", lambda host: (host.address, PROBE_PORT)))
        report_of_pairs: Report = report if len(reachable) > 1 else lambda _: None
        report_of_pairs("trying every port of the fleet's from each host to each ...")
        problems += fleet.closed_ports(reachable)
        report_of_pairs("exchanging messages for clocks and round trips ...")
        exchanged, offsets = fleet.exchanges(reachable, fleet_file.drift_ppm)
        report_of_pairs(f"sending from each host to each for {trimmed(_TRANSFER_S)} s ...")
        rates = fleet.transfers(reachable)
        servers = [host for host in ready if host.role == SERVER_ROLE]
        if servers:
            report(f"trying the disks of {plural(len(servers), 'server')} at the same time ...")
        disks: dict[str, DiskState] = fleet.on_each(servers, "disk")
        problems += [f"{address}: {disk.problem}" for address, disk in disks.items() if disk.problem]
    remarks = (*slow_links(_most_of_hosts(reachable, rates)), *far_hosts(exchanged))
    bounds, doubts = clock_offsets_and_problems(offsets, fleet_file.clock_s_max / 2 * 1e9)
    links = tuple(_link_of_pair(pair, exchanged, rates, bounds) for pair in sorted(rates))
    return FleetCheck(hosts, states, disks, links, (*problems, *doubts), time.monotonic() - begun_s, remarks)


def link_ceilings(launcher: Launcher, hosts: Sequence[FleetHost], own_address: str = "") -> dict[str, HostLink]:
    """What each host can send and receive, by address, from each to each: most of what was seen with any other one.

    `own_address`: of the host of the controller in the fleet, which has to reach the ports of these, too.

    Raises `UserError` if ports of a host can't be reached from another one, which is known before anything waits for a
    server; `RunFailedError` if the links can't be measured.
    """
    problems: list[str] = []
    controller_hosts = [host for host in launcher.hosts() if host.address == own_address and host not in hosts]
    with _probers_on_hosts(launcher, [*hosts, *controller_hosts], problems) as fleet:
        closed = fleet.closed_ports([host.address for host in (*hosts, *controller_hosts)])
        if closed:
            raise UserError(closed[0], _LET_THROUGH)
        fleet.on_each(hosts, "listen", lambda host: (host.address, PROBE_PORT), _START_S_MAX)
        rates = fleet.transfers([host.address for host in hosts], _CONNECTIONS) if not problems else {}
    if problems:
        raise RunFailedError(problems[0])
    return _most_of_hosts([host.address for host in hosts], rates)


def _most_of_hosts(addresses: Iterable[str], rates: Mapping[HostPair, float]) -> dict[str, HostLink]:
    return {
        address: HostLink(
            max((rate for (sender, _), rate in rates.items() if sender == address), default=0.0),
            max((rate for (_, receiver), rate in rates.items() if receiver == address), default=0.0),
        )
        for address in addresses
    }


def slow_links(links: Mapping[str, HostLink]) -> list[str]:
    """Which hosts send or receive much less than the others can, a sentence each. Of two hosts nobody can tell."""
    sentences = []
    for way, rates in (
        ("sends", {address: most.sent_bytes_per_s for address, most in links.items()}),
        ("receives", {address: most.received_bytes_per_s for address, most in links.items()}),
    ):
        usual = median(rates.values()) if len(rates) > 2 else 0.0
        sentences += [
            f"{address} {way} {mb_per_s(rate)} at most, where others usually do {mb_per_s(usual)}: its link is slow, "
            "and limits what is measured over it."
            for address, rate in rates.items()
            if rate < SLOW_SHARE * usual
        ]
    return sentences


def far_hosts(exchanged: Mapping[HostPair, Sequence[Exchange]]) -> list[str]:
    """Which hosts are much farther from every other one than these from each other, a sentence each."""
    trips_ms = {pair: min(map(_round_trip_us, exchanges)) / 1e3 for pair, exchanges in exchanged.items() if exchanges}
    nearest_ms: dict[str, float] = {}
    for pair, trip_ms in trips_ms.items():
        for address in pair:
            nearest_ms[address] = min(trip_ms, nearest_ms.get(address, trip_ms))
    usual_ms = median(nearest_ms.values()) if len(nearest_ms) > 2 else float("inf")
    return [
        f"{address} is {rounded(trip_ms)} ms (there and back) from the nearest other host, where others have one "
        f"within {rounded(usual_ms)} ms: latencies measured from there are longer."
        for address, trip_ms in nearest_ms.items()
        if trip_ms > max(FAR_TIMES * usual_ms, FAR_MS)
    ]


def _round_trip_us(exchange: Exchange) -> float:
    """How long an exchange took: it bounds an offset to within its round trip."""
    return 2 * exchange.offset().half_width_ns / 1e3


def missing_hosts(hosts: Iterable[FleetHost], needed_by_role: Mapping[str, int]) -> list[str]:
    """Which roles have fewer hosts than they need."""
    hosts = list(hosts)
    usable = Counter(host.role for host in hosts if not host.problem)
    return [
        f"The fleet has {plural(usable[role], 'host')} of role {role}{left_out(hosts, role)}, and needs {count}: "
        f"tidegauge fleet join ADDRESS --role {role} on {plural(count - usable[role], 'more host')}."
        for role, count in needed_by_role.items()
        if usable[role] < count
    ]


def left_out(hosts: Iterable[FleetHost], role: str) -> str:
    """ " (10.77.0.6 is left out: it is lost)": why not all hosts of a role count; "" if they do."""
    reasons = [f"{host.address} is left out: {host.problem}" for host in hosts if host.role == role and host.problem]
    return f" ({'; '.join(reasons)})" if reasons else ""


def hosts_outside_network(hosts: Iterable[FleetHost], network: IPv4Network | None) -> list[str]:
    """Which hosts joined with an address that is not in the fleet's network."""
    return [
        f"{host.address} is not in the fleet's network {network}: tidegauge fleet down there, then join with --address."
        for host in hosts
        if host.alive and network is not None and IPv4Address(host.address) not in network
    ]


def disagreements(states: Mapping[str, HostState]) -> list[str]:
    """Versions that are not the same everywhere, and hosts without Java."""
    problems = []
    for name in sorted({name for state in states.values() for name in state.versions}):
        by_version = grouped((state.versions.get(name, "none"), address) for address, state in states.items())
        if len(by_version) > 1:
            versions_in_words = "; ".join(
                f"{version} on {', '.join(where)}" for version, where in sorted(by_version.items())
            )
            problems.append(f"Versions of {name} differ: {versions_in_words}. Install the same everywhere.")
    hosts_without_java = [address for address, state in states.items() if not state.java]
    if hosts_without_java:
        problems.append(
            f"No Java that load generators can use on {', '.join(hosts_without_java)}: install a JDK or JRE there."
        )
    return problems


def clock_offsets_and_problems(
    offsets: Mapping[HostPair, Offset], half_width_ns_max: float
) -> tuple[dict[HostPair, Offset], list[str]]:
    """The tightest bounds over all ways through the fleet, and what is wrong with the clocks."""
    try:
        bounds = tightest_bounds(offsets)
    except ClockContradictionError:
        blamed = suspect_hosts(offsets)
        who = f"one of {', '.join(blamed)}" if blamed else "more than one host's"
        return {}, [f"Clocks contradict each other: {who} was set or slewed during the check. Stop what does that."]
    wide = {pair: offset.half_width_ns for pair, offset in bounds.items() if offset.half_width_ns > half_width_ns_max}
    if not wide:
        return bounds, []
    (first, other), worst_ns = max(wide.items(), key=lambda item: item[1])
    return bounds, [
        f"How far the clocks of {first} and {other} are apart is known within {2 * worst_ns / 1e3:,.0f} us only "
        f"(width-max: {2 * half_width_ns_max / 1e3:,.0f} us): the way between them is slow or busy."
    ]


def rounds_of_pairs(hosts: Sequence[str]) -> list[list[HostPair]]:
    """Every pair once, in rounds in which no host is in two pairs (the circle method of round-robin tournaments)."""
    ring: list[str | None] = [*hosts] if len(hosts) % 2 == 0 else [*hosts, None]
    pairs_by_round = []
    for _ in range(len(ring) - 1):
        pairs = [(ring[at], ring[-1 - at]) for at in range(len(ring) // 2)]
        pairs_by_round.append([(first, other) for first, other in pairs if first is not None and other is not None])
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return pairs_by_round


@contextlib.contextmanager
def _probers_on_hosts(launcher: Launcher, hosts: Sequence[FleetHost], problems: list[str]) -> Iterator[_Fleet]:
    """A prober on each host; all end with the block. What fails is added to `problems`."""
    remotes: dict[str, Remote] = {}
    try:
        for host in hosts:
            remotes[host.address] = launcher.start(host, Prober)
        with ThreadPoolExecutor(max(1, len(hosts))) as pool:
            yield _Fleet(pool, remotes, problems)
    finally:
        for remote in remotes.values():
            remote.end()


class _Fleet:
    """Calls on many hosts at once; what fails is a problem, and the host is left out of the result."""

    def __init__(self, pool: ThreadPoolExecutor, remotes: Mapping[str, Remote], problems: list[str]) -> None:
        self._pool = pool
        self._remotes = remotes
        self._problems = problems

    def on_each(
        self,
        hosts: Iterable[FleetHost],
        method: str,
        arguments: Callable[[FleetHost], tuple[Any, ...]] = lambda _: (),
        timeout_s: float = _CALL_S_MAX,
    ) -> dict[str, Any]:
        """Call a method on each host at the same time; its results by address."""
        calls = {host.address: partial(self._remotes[host.address].call, method, *arguments(host)) for host in hosts}
        return self._call_together(calls, timeout_s)

    def closed_ports(self, addresses: Sequence[str]) -> list[str]:
        """Which ports of each host another one does not reach, in a sentence for each two."""
        opened = self._call_together(
            {address: partial(self._remotes[address].call, "open_ports", address) for address in addresses},
            _START_S_MAX,
        )
        sentences = []
        for pairs in rounds_of_pairs([address for address in addresses if address in opened]):
            for way in (pairs, [(other, first) for first, other in pairs]):
                calls = {
                    (first, other): partial(self._remotes[first].call, "unreached", other, *opened[other])
                    for first, other in way
                }
                for (first, other), ports in self._call_together(calls, _PORTS_S_MAX).items():
                    if ports.tcp or ports.udp:
                        sentences.append(
                            f"{other} can't be reached from {first} at ports {ports}: a firewall may be between."
                        )
        self._call_together(
            {address: partial(self._remotes[address].call, "close_ports") for address in opened}, _CALL_S_MAX
        )
        return sentences

    def exchanges(
        self, hosts: Sequence[str], drift_ppm: float
    ) -> tuple[dict[HostPair, list[Exchange]], dict[HostPair, Offset]]:
        """Each pair's exchanges, and its offset's bounds at the end of all."""
        exchanges_by_pair: dict[HostPair, list[Exchange]] = {}
        begun_s: dict[HostPair, float] = {}
        for pairs in rounds_of_pairs(hosts):
            begun_s |= dict.fromkeys(pairs, time.monotonic())
            exchanges_by_pair |= self._call_between_pairs(pairs, "exchange", _EXCHANGES)
        ended_s = time.monotonic()
        offsets = {}
        for pair, exchanges in exchanges_by_pair.items():
            # How long ago it was at the end is known by this host's clock alone, and too long rather than too short.
            end_ns = exchanges[0].asked_ns + (ended_s - begun_s[pair]) * 1e9
            try:
                offsets[pair] = offset_at(end_ns, [exchange.offset() for exchange in exchanges], drift_ppm)
            except ClockContradictionError as error:
                self._problems.append(
                    f"The clocks of {pair[0]} and {pair[1]} were set or slewed during the check: {error}."
                )
        return exchanges_by_pair, offsets

    def transfers(self, hosts: Sequence[str], connections: int = 1) -> dict[HostPair, float]:
        """Bytes a second of each pair in both directions, one after the other, over so many connections each."""
        rates: dict[HostPair, float] = {}
        for pairs in rounds_of_pairs(hosts):
            for way in (pairs, [(other, first) for first, other in pairs]):
                rates |= self._call_between_pairs(way, "send", _TRANSFER_S, connections)
        return rates

    def _call_between_pairs(self, pairs: Iterable[HostPair], method: str, *arguments: object) -> dict[HostPair, Any]:
        """Call a method on the first host of each pair, which speaks to the second; its results by pair."""
        calls = {
            (first, other): partial(self._remotes[first].call, method, other, PROBE_PORT, *arguments)
            for first, other in pairs
        }
        return self._call_together(calls, _CALL_S_MAX)

    def _call_together(self, calls: Mapping[_Key, Callable[..., Any]], timeout_s: float) -> dict[_Key, Any]:
        waiting = {key: self._pool.submit(call, timeout_s=timeout_s) for key, call in calls.items()}
        results = {}
        for key, answer in waiting.items():
            try:
                results[key] = answer.result()
            except TidegaugeError as error:
                self._problems.append(f"{error} {error.hint}".strip())
            except OSError as error:
                self._problems.append(f"{_place_of_call(key)}: {error.strerror or error}.")
        return results


def _place_of_call(key: object) -> str:
    """Where a call goes, in words: to which host, or from which to which."""
    return " to ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _link_of_pair(
    pair: HostPair,
    exchanged: Mapping[HostPair, Sequence[Exchange]],
    rates: Mapping[HostPair, float],
    bounds: Mapping[HostPair, Offset],
) -> NetworkPath:
    exchanges = exchanged.get(pair) or exchanged.get((pair[1], pair[0])) or ()
    trips_us = [*map(_round_trip_us, exchanges)] or [float("nan")]
    bound = bounds.get(pair)
    return NetworkPath(
        *pair,
        round_trip_us_min=min(trips_us),
        round_trip_us_p50=median(trips_us),
        bytes_per_s=rates[pair],
        offset_ns=(bound.low_ns, bound.high_ns) if bound else None,
    )

"""The hosts of a fleet, and what a check of them found, for a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge.model.fleet import FleetCheck, FleetHost, HostState, Joined, Link
from tidegauge.numbers import MISSING, count, ms, plural, rounded, size
from tidegauge.plain import plain
from tidegauge.report.layout import Column, ColumnGroup, FigureTable, Paragraph, apart, bullet
from tidegauge.report.terminal import heading

JOINED_SCHEMA = "tidegauge.fleetnode/1"
HOSTS_SCHEMA = "tidegauge.fleet/1"
CHECK_SCHEMA = "tidegauge.fleetcheck/1"
_LINKS_SHOWN_MAX = 30


def joined_content(joined: Joined) -> dict[str, Any]:
    """`fleet head` and `fleet join` as plain data."""
    return {"schema": JOINED_SCHEMA, **plain(joined)}


def joined_report(joined: Joined, join_line: str = "") -> RenderableType:
    """`fleet head`, with the line by which others join, and `fleet join`: what this host is now, what is to be done."""
    lines: list[RenderableType] = []
    if join_line:
        lines += [
            Paragraph(f"The head of a fleet runs on this host, at {joined.head} ({joined.role})."),
            Text(),
            Paragraph("Copy the fleet's token to every other host, for its user alone to read (chmod 600):"),
            Text(f"  {joined.token}"),
            Paragraph("and let each join as what it is for, server or load:"),
            Text(f"  {join_line}"),
        ]
    else:
        lines.append(Paragraph(f"{joined.address} is in the fleet of {joined.head} now, as {joined.role}."))
    reached = (
        f"Ray listens on all addresses of this host ({joined.open_because})"
        if joined.open_because
        else f"Ray is reached at {joined.address} only"
    )
    warning = (
        f"Firewall: hosts of the fleet must reach ports {', '.join(joined.ports)} here (TCP unless marked /udp), "
        "and nobody else may: "
        f"{reached}, and whoever has the token can run programs on it."
    )
    return Group(*lines, Text(), Paragraph(warning))


def hosts_content(hosts: Sequence[FleetHost]) -> dict[str, Any]:
    """`fleet status` as plain data."""
    return {"schema": HOSTS_SCHEMA, "hosts": [plain(host) for host in hosts]}


def hosts_report(hosts: Sequence[FleetHost]) -> RenderableType:
    """`fleet status`."""
    return _hosts(hosts, {})


def check_content(found: FleetCheck) -> dict[str, Any]:
    """`fleet check` as plain data; times and rates with their units in the names."""
    return {"schema": CHECK_SCHEMA, **plain(found)}


def check_report(found: FleetCheck) -> RenderableType:
    """`fleet check`: hosts, disks, links, then what is wrong."""
    return Group(
        *apart(
            [_hosts(found.hosts, found.states)],
            _disks(found),
            _links(found.links),
            _verdict(found),
        )
    )


def _hosts(hosts: Sequence[FleetHost], states: Any) -> RenderableType:
    known: list[HostState | None] = [states.get(host.address) for host in hosts]
    columns = [
        Column("role", tuple(host.role or MISSING for host in hosts), words=True),
        Column("state", tuple("there" if host.alive else "LOST" for host in hosts), words=True),
    ]
    if states:
        columns += [
            Column("CPUs", tuple(str(state.cpus) if state else MISSING for state in known)),
            Column("memory", tuple(size(state.memory_bytes) if state else MISSING for state in known)),
            Column("disk free", tuple(size(state.free_disk_bytes) if state else MISSING for state in known)),
            Column("Java", tuple((state.java or "none") if state else MISSING for state in known), words=True),
            Column("clock", tuple(_clock(state) for state in known), words=True),
            Column("name", tuple(state.hostname if state else MISSING for state in known), words=True),
        ]
    return FigureTable("host", tuple(host.address for host in hosts), (ColumnGroup("", tuple(columns)),))


def _clock(state: HostState | None) -> str:
    if state is None:
        return MISSING
    return (
        f"{state.clock_source or 'unknown'}{'' if state.clock_kept else ', free' if state.clock_kept is False else ''}"
    )


def _mb(bytes_per_s: float | None) -> str:
    return count(bytes_per_s / 1e6) if bytes_per_s is not None else MISSING


def _disks(found: FleetCheck) -> Iterable[RenderableType]:
    measured = {address: disk for address, disk in found.disks.items() if not disk.problem}
    if not measured:
        return
    disks = measured.values()
    yield heading("Disks of the servers, all at the same time")
    yield FigureTable(
        "host",
        tuple(measured),
        (
            ColumnGroup("", (Column("write, MB/s", tuple(_mb(disk.write_bytes_per_s) for disk in disks)),)),
            ColumnGroup(
                "fdatasync of 4 KiB",
                (
                    Column("per s", tuple(count(disk.syncs_per_s) for disk in disks)),
                    Column("p99, ms", tuple(ms(disk.sync_p99_ms) for disk in disks)),
                ),
            ),
        ),
    )


def _links(links: Sequence[Link]) -> Iterable[RenderableType]:
    if not links:
        return
    # Where there are many, the ones that one would look for: the slowest.
    shown = sorted(links, key=lambda link: link.bytes_per_s)[:_LINKS_SHOWN_MAX]
    shown.sort(key=lambda link: (link.from_address, link.to_address))
    left = len(links) - len(shown)
    yield heading(f"Links{f' (the slowest {len(shown)} of {len(links)}; --json has all)' if left else ''}")
    bounds = [link.offset_ns for link in shown]
    yield FigureTable(
        "from, to",
        tuple(f"{link.from_address}, {link.to_address}" for link in shown),
        (
            ColumnGroup("", (Column("MB/s", tuple(_mb(link.bytes_per_s) for link in shown)),)),
            ColumnGroup(
                "round trip, us",
                (
                    Column("least", tuple(rounded(link.round_trip_us_min) for link in shown)),
                    Column("p50", tuple(rounded(link.round_trip_us_p50) for link in shown)),
                ),
            ),
            ColumnGroup(
                "other clock ahead by",
                (
                    Column("s", tuple(f"{sum(bound) / 2e9:+,.6f}" if bound else MISSING for bound in bounds)),
                    Column(
                        "+- us", tuple(rounded((bound[1] - bound[0]) / 2e3) if bound else MISSING for bound in bounds)
                    ),
                ),
            ),
        ),
        label_chars_max=34,
    )


def _verdict(found: FleetCheck) -> Iterable[RenderableType]:
    if not found.problems:
        yield Text(
            f"The fleet of {plural(len(found.hosts), 'host')} can be used. Looked at in {found.seconds:.0f} s.", "green"
        )
        return
    yield Text(f"{plural(len(found.problems), 'problem')}:", "bold red")
    yield from (bullet(problem) for problem in found.problems)

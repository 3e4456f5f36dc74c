"""The hosts of a fleet, and what a check of them found, for a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge.model.host import FleetCheck, FleetHost, HostState, Joined, NetworkPath
from tidegauge.numbers import MISSING, count, ms, plural, rounded, size
from tidegauge.plain import plain_value
from tidegauge.report.envelopes import FleetHosts
from tidegauge.report.layout import (
    Column,
    ColumnGroup,
    FigureTable,
    Paragraph,
    bullet,
    columns,
    heading,
    with_blank_lines,
)

_LINKS_SHOWN_MAX = 30


def joined_content(joined: Joined) -> dict[str, Any]:
    """`fleet head` and `fleet join` as plain data."""
    return {"schema": "tidegauge.fleetnode/1", **plain_value(joined)}


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


def up_report(problems: Iterable[str], joined_words: str, next_line: str) -> RenderableType:
    """`fleet up`: what went wrong on hosts, how many joined, and the command that looks at them all."""
    lines = [bullet(problem, "red") for problem in problems]
    # Whole, to be copied.
    return Group(*lines, Paragraph(joined_words), Text(f"  {next_line}", no_wrap=True, overflow="ignore"))


def hosts_content(hosts: Sequence[FleetHost]) -> dict[str, Any]:
    """`fleet status` as plain data."""
    content: dict[str, Any] = plain_value(FleetHosts(schema="tidegauge.fleet/1", hosts=hosts))
    return content


def check_content(check: FleetCheck) -> dict[str, Any]:
    """`fleet check` as plain data; times and rates with their units in the names."""
    return {"schema": "tidegauge.fleetcheck/1", **plain_value(check)}


def check_report(check: FleetCheck) -> RenderableType:
    """`fleet check`: hosts, disks, links, then what is wrong."""
    return Group(
        *with_blank_lines(
            [hosts_report(check.hosts, check.states)],
            _disk_parts(check),
            _link_parts(check.links),
            _legend_parts(check),
            _verdict_parts(check),
        )
    )


def hosts_report(hosts: Sequence[FleetHost], states: Mapping[str, HostState] | None = None) -> RenderableType:
    """`fleet status`; in `fleet check` with what each host says of itself."""
    states_in_words = ("LOST" if not host.alive else "OTHER VERSION" if host.refused else "there" for host in hosts)
    host_columns = [
        Column("role", tuple(host.role or MISSING for host in hosts), words=True),
        Column("state", tuple(states_in_words), words=True),
    ]
    if states:
        states_of_hosts = [states.get(host.address) for host in hosts]
        clocks = (
            f"{state.clock_source or 'unknown'}{', free' if state.clock_kept is False else ''}" if state else MISSING
            for state in states_of_hosts
        )
        host_columns += [
            Column("CPUs", tuple(str(state.cpus) if state else MISSING for state in states_of_hosts)),
            Column("memory", tuple(size(state.memory_bytes) if state else MISSING for state in states_of_hosts)),
            Column("disk free", tuple(size(state.free_disk_bytes) if state else MISSING for state in states_of_hosts)),
            Column(
                "Java", tuple((state.java or "none") if state else MISSING for state in states_of_hosts), words=True
            ),
            Column("clock", tuple(clocks), words=True),
            Column("name", tuple(state.hostname if state else MISSING for state in states_of_hosts), words=True),
        ]
    return FigureTable("host", tuple(host.address for host in hosts), (ColumnGroup("", tuple(host_columns)),))


def _mb_per_s_cell(bytes_per_s: float | None) -> str:
    return count(bytes_per_s / 1e6) if bytes_per_s is not None else MISSING


def _legend_parts(check: FleetCheck) -> Iterable[RenderableType]:
    """What words and marks of the tables mean, where they are there."""
    if any(state.clock_kept is False for state in check.states.values()):
        yield Paragraph(
            "free: nothing keeps that host's wall clock in step; Tidegauge measures how far clocks are apart."
        )
    if any(disk.sync_p99_ms is None and not disk.problem for disk in check.disks.values()):
        yield Paragraph("p99 '-': the disk was tried too briefly for that.")


def _disk_parts(check: FleetCheck) -> Iterable[RenderableType]:
    measured = {address: disk for address, disk in check.disks.items() if not disk.problem}
    if not measured:
        return
    disks = list(measured.values())
    writes = columns(disks, {"write, MB/s": lambda disk: _mb_per_s_cell(disk.write_bytes_per_s)})
    syncs = columns(
        disks, {"per s": lambda disk: count(disk.syncs_per_s), "p99, ms": lambda disk: ms(disk.sync_p99_ms)}
    )
    yield heading("Disks of the servers, all at the same time")
    yield FigureTable("host", tuple(measured), (ColumnGroup("", writes), ColumnGroup("fdatasync of 4 KiB", syncs)))


def _link_parts(links: Sequence[NetworkPath]) -> Iterable[RenderableType]:
    if not links:
        return
    # Where there are many, the ones that one would look for: the slowest.
    links_shown = sorted(links, key=lambda link: link.bytes_per_s)[:_LINKS_SHOWN_MAX]
    links_shown.sort(key=lambda link: (link.from_address, link.to_address))
    cut = f" (the slowest {len(links_shown)} of {len(links)}; --json has all)" if len(links) > len(links_shown) else ""
    yield heading(f"Links{cut}")
    rates = columns(links_shown, {"MB/s": lambda link: _mb_per_s_cell(link.bytes_per_s)})
    trips = columns(
        links_shown,
        {"least": lambda link: rounded(link.round_trip_us_min), "p50": lambda link: rounded(link.round_trip_us_p50)},
    )
    clocks = columns(
        [link.offset_ns for link in links_shown],
        {
            "s": lambda bound: f"{sum(bound) / 2e9:+,.6f}" if bound else MISSING,
            "+- us": lambda bound: rounded((bound[1] - bound[0]) / 2e3) if bound else MISSING,
        },
    )
    labels = tuple(f"{link.from_address}, {link.to_address}" for link in links_shown)
    groups = (ColumnGroup("", rates), ColumnGroup("round trip, us", trips), ColumnGroup("other clock ahead by", clocks))
    yield FigureTable("from, to", labels, groups, label_chars_max=34)


def _verdict_parts(check: FleetCheck) -> Iterable[RenderableType]:
    yield from (bullet(remark, "yellow") for remark in check.remarks)
    if not check.problems:
        yield Text(
            f"The fleet of {plural(len(check.hosts), 'host')} can be used. Looked at in {check.seconds:.0f} s.", "green"
        )
        return
    yield Text(f"{plural(len(check.problems), 'problem')}:", "bold red")
    yield from (bullet(problem) for problem in check.problems)

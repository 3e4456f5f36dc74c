"""The hosts of a fleet that did the work of a run, a row each: what ran there, on what, and how the host is linked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidegauge.model.trial import LoadResult
from tidegauge.numbers import MISSING, in_unit, join_with_and, plural, rounded, size
from tidegauge.report.facts import placed_words
from tidegauge.report.plots.model import DataTable
from tidegauge.store.read import StoredRun

FOLDED_FROM = 9
"""With so many hosts the table is shown on demand: it would push all else from the first screen."""
_SAID_ONCE = ("processor", "kernel", "clock source")
"""Columns that are one sentence instead where they have the same in all rows."""


@dataclass(frozen=True)
class HostsTable:
    """`summary`: how many hosts there are, and for what. `note`: what they have alike."""

    summary: str
    table: DataTable
    note: str

    @property
    def is_folded(self) -> bool:
        """Whether it is long."""
        return len(self.table.rows) >= FOLDED_FROM


def hosts_table(run: StoredRun) -> HostsTable | None:
    """The table of a run on a fleet's hosts; None of a run on one host, or where the run does not say."""
    hosts = {address: at_work for address, at_work in run.facts("hosts").items() if isinstance(at_work, Mapping)}
    if not hosts:
        return None
    if not any(at_work.get("load_generators") for at_work in hosts.values()):
        # They are where the command was.
        name = str(run.facts("host").get("hostname") or "host of the command")
        hosts[name] = {"facts": {**run.facts("host"), "disks": {}}, "load_generators": [1]}
    bounds_us = _clock_bounds_us(run)
    cells = {address: _cells_of_host(at_work, bounds_us) for address, at_work in hosts.items()}
    heads = [head for head in next(iter(cells.values())) if any(row[head] != MISSING for row in cells.values())]
    alike = [head for head in heads if head in _SAID_ONCE and len({row[head] for row in cells.values()}) == 1]
    heads = [head for head in heads if head not in alike]
    rows = tuple((address, *(row[head] for head in heads)) for address, row in cells.items())
    common = next(iter(cells.values()))
    same = [*(f"{head} {common[head]}" for head in alike), f"Tidegauge {run.tidegauge_version}"]
    note = f"The same on all of them: {join_with_and(same)}."
    return HostsTable(_summary_words(hosts), DataTable(("host", *heads), rows), note)


def _summary_words(hosts: Mapping[str, Any]) -> str:
    """How many hosts there are, and for what: "5 hosts: 3 with servers, 2 with load generators"."""
    kinds = [{kind for kind, _ in placed_words(at_work)} for at_work in hosts.values()]
    numbers = {words: sum(kind in each for each in kinds) for kind, words in _KINDS.items()}
    each = [f"{number} with {words}" for words, number in numbers.items() if number]
    return f"{plural(len(hosts), 'host')}: {', '.join(each)}"


_KINDS = {"node": "servers", "load generator": "load generators"}


def _clock_bounds_us(run: StoredRun) -> dict[int, float]:
    """How well the clock of each load generator's host was known against any other's, at worst over all trials."""
    bounds_us: dict[int, float] = {}
    for result in run.results:
        for clock in result.clocks if isinstance(result, LoadResult) else ():
            for number in (clock.one, clock.other):
                bounds_us[number] = max(bounds_us.get(number, 0.0), clock.half_width_us)
    return bounds_us


def _cells_of_host(at_work: Mapping[str, Any], bounds_us: Mapping[int, float]) -> dict[str, str]:
    """A cell for each head; `MISSING` where the host does not say, or it does not concern it."""
    facts, link = (part if isinstance(part := at_work.get(key), Mapping) else {} for key in ("facts", "link"))
    memory_bytes = facts.get("memory_bytes")
    widths_us = [bounds_us[number] for number in at_work.get("load_generators") or [] if number in bounds_us]
    cells = {
        "runs": "; ".join(words for _, words in placed_words(at_work)),
        "CPUs": str(facts.get("cpus") or ""),
        "processor": str(facts.get("cpu_model") or ""),
        "memory": size(memory_bytes) if isinstance(memory_bytes, int) and memory_bytes else "",
        "kernel": " ".join(str(facts.get("kernel") or "").split()[:2]),
        "data on": ", ".join(sorted(set(_data_places(facts)))),
        "link out/in, MB/s": _link_words(link),
        "clock, us": f"\u00b1{rounded(max(widths_us), 2)}" if widths_us else "",
        "clock source": str(facts.get("clock_source") or ""),
    }
    return {head: cell or MISSING for head, cell in cells.items()}


def _data_places(facts: Mapping[str, Any]) -> Iterator[str]:
    """The file system of each place of servers' data, with its device: "ext4 on nvme1n1", "tmpfs, in memory"."""
    disks = facts.get("disks")
    for disk in disks.values() if isinstance(disks, Mapping) else ():
        if isinstance(disk, Mapping) and disk.get("file_system"):
            devices = f" on {disk['devices']}" if disk.get("devices") else ""
            yield f"{disk['file_system']}{devices}{', in memory' if disk.get('in_memory') else ''}"


def _link_words(link: Mapping[str, Any]) -> str:
    rates = [link.get("sent_bytes_per_s"), link.get("received_bytes_per_s")]
    return "/".join(in_unit(rate / 1e6, "MB/s") for rate in rates if isinstance(rate, int | float))

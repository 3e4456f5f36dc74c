"""What a load uses of each resource, as shares of what there is, and what it costs. Pure.

What was seen (bytes that a device wrote, say) goes before what can be computed from the result. The latter is the least
that the load needs: message values alone, once for each copy. Systems write more (headers, indexes, journals beside the
data), and may keep some of it in the page cache for a while.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegauge.model.ceilings import DiskCeiling, RunCeilings
from tidegauge.model.server import by_turns, node_disks
from tidegauge.model.trial import LoadResult, MeasuredResult, TrialSpec, Validity
from tidegauge.model.use import NOTHING_SEEN, host_of
from tidegauge.numbers import trimmed
from tidegauge.plain import grouped

PRICE_HELP = "a number, with a currency if you like: 0.34, '0.34 USD' or '0.34 EUR'"
_PRICE_MAX = 1e9
"""Also in the smallest currency no host costs more for an hour."""
_PRICE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:\s+([A-Za-z]{1,8}))?")


@dataclass(frozen=True)
class Price:
    """Money for one host for an hour. `currency` is the user's word for it, "" if they gave none."""

    per_host_hour: float
    currency: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in (trimmed(self.per_host_hour), self.currency) if part)


@dataclass(frozen=True)
class Cost:
    """What a result's rate costs.

    Attributes:
        hosts: that were paid for: this machine; of a cluster that others run, its nodes and this machine.
        per_gb_per_s_hour: to carry 10^9 bytes of message values a second for an hour.
        per_billion_messages: to have 10^9 messages acknowledged.
        currency: as the user gave it.
    """

    hosts: int
    per_gb_per_s_hour: float
    per_billion_messages: float
    currency: str


def parse_price(value: object) -> Price:
    """A `Price` from 0.34, "0.34" or "0.34 USD". Raises `ValueError` that says what is allowed."""
    if isinstance(value, Price):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        amount, currency = float(value), ""
    else:
        match = _PRICE.fullmatch(value.strip()) if isinstance(value, str) else None
        if not match:
            raise ValueError(f"must be {PRICE_HELP}")
        amount, currency = float(match.group(1)), match.group(2) or ""
    if not 0 < amount <= _PRICE_MAX:
        raise ValueError(f"must be above 0 and at most {_PRICE_MAX:.0f}")
    return Price(amount, currency)


def cost(result: MeasuredResult, price: Price) -> Cost | None:
    """What it costs to go on at the result's rate; None for an INVALID one, or one that moved nothing."""
    if result.validity is Validity.INVALID or result.msgs_per_s <= 0 or result.mb_per_s <= 0:
        return None
    hosts = result.spec.nodes + max(1, result.spec.load_hosts) if result.spec.elsewhere else 1
    per_hour = hosts * price.per_host_hour
    return Cost(
        hosts=hosts,
        per_gb_per_s_hour=per_hour / (result.mb_per_s / 1e3),
        per_billion_messages=per_hour / (result.msgs_per_s * 3600) * 1e9,
        currency=price.currency,
    )


_COPIES_USUAL = 3


class Ceiling(StrEnum):
    """What a share is of, in the words of reports."""

    WRITES = "disk writes"
    READS = "disk reads"
    SYNCS = "syncs"
    LOOPBACK = "loopback"


class Basis(StrEnum):
    """Where what was used is known from: seen during the trial, or the least that the load needs."""

    SEEN = "seen"
    COMPUTED = "at least"


@dataclass(frozen=True)
class CeilingShare:
    """A part of one ceiling.

    Attributes:
        where: the disk's name; "" for what there is once.
        used, ceiling: in `unit`.
        unit: "bytes/s" or "syncs/s".
        share: used / ceiling; it may be above 1, since a ceiling is what plain calls reached at another time.
    """

    of: Ceiling
    where: str
    used: float
    ceiling: float
    unit: str
    share: float
    basis: Basis


def ceiling_shares(result: MeasuredResult, run_ceilings: RunCeilings) -> tuple[CeilingShare, ...]:
    """The share of every ceiling that the result's load meets, disks first; () without servers of the run."""
    if not result.spec.has_servers_of_run:
        return ()
    seen = result.seen or NOTHING_SEEN
    shares_met: list[CeilingShare | None] = []
    # Of reads and syncs nothing can be computed: what was just written is read from memory, and batches share a sync.
    # Flushes that were seen are the least number of syncs: several syncs may share one.
    least = _least_written(result, run_ceilings)
    for disk in run_ceilings.ceilings.disks:
        writes = disk.writes_per_s_of(result.measured_s)
        shares_met += [
            _share_of_ceiling(
                Ceiling.WRITES, disk.name, writes, *_used_with_basis(seen.written_bytes_per_s, disk, least)
            ),
            _share_of_ceiling(
                Ceiling.READS, disk.name, disk.read_bytes_per_s, *_used_with_basis(seen.read_bytes_per_s, disk, {})
            ),
            _share_of_ceiling(
                Ceiling.SYNCS, disk.name, disk.syncs_per_s, seen.flushes_per_s.get(disk.device), Basis.COMPUTED
            ),
        ]
    loopback = run_ceilings.ceilings.loopback
    if loopback is not None:
        carried, basis = seen.loopback_bytes_per_s, Basis.SEEN
        if carried is None:
            carried, basis = result.mb_per_s * 1e6, Basis.COMPUTED
            if isinstance(result, LoadResult):
                # To one server, from there to the other copies, and to each subscription.
                carried *= copies_of(result) + len(result.subscriptions)
        shares_met.append(
            _share_of_ceiling(
                Ceiling.LOOPBACK, "", loopback.bytes_per_s_over(connections_of(result.spec)), carried, basis
            )
        )
    return tuple(share for share in shares_met if share is not None)


def copies_of(result: MeasuredResult) -> int:
    """How many replicas of each message there are."""
    spec = result.spec
    return spec.copies or min(spec.nodes, _COPIES_USUAL)


def connections_of(spec: TrialSpec) -> int:
    """How many connections carry messages at least: one for each producer, each consumer, and each pair of nodes."""
    workload = spec.workload
    clients = workload.topics * (workload.producers + workload.subscriptions * workload.consumers)
    return max(1, clients + spec.nodes * (spec.nodes - 1) // 2)


def copies_by_device(devices: Sequence[str], nodes: int, copies: int, *, journals: bool = False) -> dict[str, float]:
    """How many copies of a message there are on each device, on average, where nodes take hosts and devices by turns.

    A node that has several for its data spreads it over them in its system's own way: of these nothing is known.
    """
    hosts = [tuple(host_devices) for host_devices in grouped((host_of(device), device) for device in devices).values()]
    held: Counter[str] = Counter()
    for number, host_devices in enumerate(by_turns(hosts, nodes), 1):
        if journals:
            node_devices = set(by_turns(host_devices, number)[-1:])
        else:
            node_devices = set(host_devices if nodes <= len(hosts) else node_disks(host_devices, number, nodes))
        held.update(node_devices if len(node_devices) == 1 else ())
    return {device: copies * count / nodes for device, count in held.items()}


def _least_written(result: MeasuredResult, run_ceilings: RunCeilings) -> dict[str, float]:
    """Bytes a second by device that message values alone take, once in data and once in a journal kept apart."""
    spec = result.spec
    if not isinstance(result, LoadResult):
        return {}
    data = copies_by_device(run_ceilings.data_devices, spec.nodes, copies_of(result))
    journals = copies_by_device(run_ceilings.journal_devices, spec.nodes, copies_of(result), journals=True)
    return {
        device: (data.get(device, 0.0) + journals.get(device, 0.0)) * result.mb_per_s * 1e6
        for device in {**data, **journals}
    }


def _used_with_basis(
    seen: Mapping[str, float], disk: DiskCeiling, least: Mapping[str, float]
) -> tuple[float | None, Basis]:
    if disk.device in seen:
        return seen[disk.device], Basis.SEEN
    return least.get(disk.device), Basis.COMPUTED


def _share_of_ceiling(
    of: Ceiling, where: str, ceiling: float | None, used: float | None, basis: Basis
) -> CeilingShare | None:
    if used is None or not ceiling:
        return None
    return CeilingShare(
        of, where, used, ceiling, "syncs/s" if of is Ceiling.SYNCS else "bytes/s", used / ceiling, basis
    )

"""From a trial's result and what was used to the resource that limited it."""

from __future__ import annotations

import os
from pathlib import Path

from tidegauge.campaign.session import Session, places
from tidegauge.campaign.telemetry import Sources, UseRecorder
from tidegauge.durability.levels import LEVELS
from tidegauge.limiting.decide import Load, limiting_resource
from tidegauge.limiting.window_use import WindowUse
from tidegauge.model.limiting import Limiting
from tidegauge.model.load import TotalFigures
from tidegauge.model.seen import Seen
from tidegauge.model.trial import TrialResult
from tidegauge.model.workload import Arrival
from tidegauge.statistics.classify import BUSY_CONSUMER
from tidegauge.usage.shares import connections_of

MAJORITY = 2
"""Copies that a message must have where replication is synchronous."""


def sources_of(session: Session) -> Sources:
    """Where a trial's figures come from."""
    system, deployment = session.subject.system, session.deployment
    devices = () if session.spec.attached else [device_of(place) for place in places(session.store)]
    return Sources(
        host=session.bench.host,
        endpoints=deployment.metrics_endpoints,
        metrics=system.metrics,
        devices=frozenset(device for device in devices if device),
    )


def device_of(place: Path) -> str:
    """ "254:0" of the device that holds a directory; "" where there is no such device, as under overlayfs."""
    try:
        number = place.stat().st_dev
    except OSError:
        return ""
    device = f"{os.major(number)}:{os.minor(number)}"
    return device if Path(f"/sys/dev/block/{device}").exists() else ""


def seen_of(use: WindowUse) -> Seen:
    """What was used, as far as it is held against ceilings."""
    return Seen(
        written_bytes_per_s={one.number: one.written_bytes_per_s for one in use.devices},
        read_bytes_per_s={one.number: one.read_bytes_per_s for one in use.devices},
        flushes_per_s={one.number: one.flushes_per_s for one in use.devices},
        loopback_bytes_per_s=use.host.loopback_bytes_per_s,
    )


def limiting_of(session: Session, result: TrialResult, totals: TotalFigures, use: WindowUse | None) -> Limiting:
    """What limited the trial."""
    spec = session.spec
    window = totals.window
    producers = max(1, spec.workload.topics * spec.workload.producers)
    level = next((one for one in LEVELS if one.number == result.level.level), None)
    reads = spec.reads_only or result.catch_up is not None
    closed_loop = spec.workload.arrival is Arrival.CLOSED_LOOP
    busy = result.busy_consumer
    load = Load(
        msgs_per_s=result.msgs_per_s,
        offered_msgs_per_s=None if closed_loop or reads else result.offered_msgs_per_s,
        blocked_share=window.blocked_ns / 1e9 / max(1e-9, result.measured_s) / producers,
        in_flight_max=spec.workload.in_flight_messages() * producers,
        service_ms=result.service.mean_ms if result.service.count else None,
        nodes_needed=MAJORITY if level and level.replication_sync else 1,
        local_sync=bool(level and level.local_sync),
        servers=session.deployment.processes,
        data_devices=tuple(sorted(sources_of(session).devices)),
        sync_ms=_sync_ms(session, use),
        consumer=busy.name if busy else "",
        consumer_busy_share=busy.busy_share if busy else 0.0,
        consumer_behind=any(reason.startswith(BUSY_CONSUMER) for reason in result.reasons),
        reads=reads,
        connections=connections_of(spec),
    )
    known = session.bench.ceilings
    return limiting_resource(load, use, known.ceilings if known else None)


def _sync_ms(session: Session, use: WindowUse | None) -> float | None:
    """Mean time of a sync as the slowest server told it; None if none did."""
    names = {metric.name for metric in session.subject.system.metrics if metric.is_sync_ms}
    told = use.metrics.values() if use else ()
    return max((value for found in told for name, value in found.items() if name in names), default=None)


def begin_recording(session: Session) -> UseRecorder | None:
    """Start to record; None where nobody wants it."""
    if not session.bench.records_use:
        return None
    return UseRecorder(sources_of(session), session.store, session.bench.observer, session.deployment.processes)

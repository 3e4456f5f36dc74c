"""What servers, load generators and machine used during a trial, and what of it limited or disturbed it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tidegauge.agent.api import ServersSeen
from tidegauge.campaign.plan.generators import known_rate_max
from tidegauge.campaign.run.disturbed import rate_counts, with_disturbances, with_load_hosts_judged
from tidegauge.campaign.run.running_trial import RunningTrial, server_directories
from tidegauge.campaign.run.telemetry import UseRecorder
from tidegauge.durability import Level, level_named
from tidegauge.hosts.loop_disk import device_number
from tidegauge.limiting.decide import JudgedLoad, limiting_resource, limits_of_load_hosts
from tidegauge.limiting.disturbance import MeasuredTrial
from tidegauge.limiting.window_use import WindowUse
from tidegauge.model.load import TotalFigures
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import LoadResult, MeasuredResult
from tidegauge.model.use import Seen
from tidegauge.model.workload import Workload
from tidegauge.statistics.figures import processing_cpu_cores
from tidegauge.usage import connections_of

Result = TypeVar("Result", bound=MeasuredResult)


MAJORITY = 2
"""Copies that a message must have where replication is synchronous."""


def begin_recording(trial: RunningTrial) -> UseRecorder:
    """Start to record what servers, worker and host use."""
    host, observer = trial.resources.host, trial.resources.observer
    metrics, devices = trial.subject.system.metrics, _data_devices(trial)
    workers = trial.worker.processes
    # Clients are connected now, so that one sees to whom.
    seen = host.follow_servers(workers if trial.spec.attached else ())
    return UseRecorder(
        host, trial.store, observer, trial.deployment, metrics, devices, workers=workers, servers_seen=seen
    )


def with_use(trial: RunningTrial, result: Result, totals: TotalFigures, use: WindowUse | None) -> Result:
    """The result with what limited it and, as far as that was seen, what was used meanwhile."""
    result = with_servers_seen(trial, result, use)
    measured = measured_of(trial, result, use)
    load = judged_load(trial, result, totals, use, measured)
    limits = limiting_resource(load, use, trial.resources.ceilings.ceilings if trial.resources.ceilings else None)
    result = with_load_hosts_judged(result, limits_of_load_hosts(load, use) if use is not None else ())
    result = with_disturbances(result, measured, use, decides=trial.resources.disturbance_decides)
    if use is None:
        return replace(result, limiting=limits)
    return replace(result, limiting=limits, telemetry_cpus=use.telemetry_cpus, seen=seen_of(use))


def _data_devices(trial: RunningTrial) -> frozenset[str]:
    """Numbers of the devices of this host that the servers' data is on."""
    elsewhere = trial.spec.elsewhere or trial.spec.serverless
    devices = () if elsewhere else [device_of(place) for place in server_directories(trial.store)]
    return frozenset(filter(None, devices))


def device_of(place: Path) -> str:
    """ "254:0" of the device that holds a directory; "" where there is no such device, as under overlayfs."""
    try:
        device = device_number(place.stat().st_dev)
    except OSError:
        return ""
    return device if Path(f"/sys/dev/block/{device}").exists() else ""


def seen_of(use: WindowUse) -> Seen:
    """What was used, as far as it is compared with ceilings."""
    return Seen(
        written_bytes_per_s={device.number: device.written_bytes_per_s for device in use.devices},
        read_bytes_per_s={device.number: device.read_bytes_per_s for device in use.devices},
        flushes_per_s={device.number: device.flushes_per_s for device in use.devices},
        loopback_bytes_per_s=use.host.loopback_bytes_per_s,
    )


def judged_load(
    trial: RunningTrial, result: MeasuredResult, totals: TotalFigures, use: WindowUse | None, measured: MeasuredTrial
) -> JudgedLoad:
    """The load as what limited it is judged."""
    spec = trial.spec
    window = totals.window
    producers = max(1, spec.workload.topics * spec.workload.producers)
    level = _level_in_force(result)
    load = result if isinstance(result, LoadResult) else None
    reads = load is None or load.catch_up is not None
    busy = load.busy_consumer if load else None
    return JudgedLoad(
        msgs_per_s=result.msgs_per_s,
        offered_msgs_per_s=None if reads else result.offered_msgs_per_s,
        blocked_share=window.blocked_ns / 1e9 / max(1e-9, result.measured_s) / producers,
        in_flight_max=spec.workload.window_messages(),
        service_ms=load.service.mean_ms if load and load.service.count else None,
        nodes_needed=MAJORITY if level and level.replication_sync else 1,
        local_sync=measured.local_sync,
        servers=tuple(measured.servers),
        workers=tuple(measured.workers),
        data_devices=tuple(measured.data_devices),
        sync_ms=_sync_ms(trial, use),
        consumer=busy.name if busy else "",
        consumer_busy_share=busy.busy_share if busy else 0.0,
        consumer_behind=result.is_doubted_for(ReasonKind.BUSY_CONSUMER),
        processing_share=max((sub.processing_share or 0.0 for sub in load.subscriptions), default=0.0) if load else 0.0,
        left_behind_share=_left_behind_share(load, window.intended),
        consumer_work=_consumer_work(spec.workload),
        processing_cpus=(processing_cpu_cores(load) or 0.0) if load else 0.0,
        reads=reads,
        connections=connections_of(spec),
        generators_msgs_per_s=generators_msgs_per_s(trial),
        held_back=result.is_doubted_for(ReasonKind.HELD_BACK),
        links=trial.resources.links,
    )


def _left_behind_share(load: LoadResult | None, intended: int) -> float:
    behind = [sub.window_end_backlog or 0 for sub in load.subscriptions] if load else []
    return max(behind, default=0) / max(1, intended)


def _consumer_work(workload: Workload) -> str:
    """What consumers do before they take the next message, in words of the past."""
    processed = "processed messages" if workload.processing is not None else ""
    waited = "waited for their own rate" if workload.consumer_msgs_per_s_max else ""
    return " or ".join(filter(None, (processed, waited)))


def measured_of(trial: RunningTrial, result: MeasuredResult, use: WindowUse | None) -> MeasuredTrial:
    """What can disturb the trial."""
    level = _level_in_force(result)
    return MeasuredTrial(
        rate_counts=rate_counts(result),
        local_sync=bool(level and level.local_sync),
        servers=servers_of(trial, use),
        workers=trial.worker.processes,
        servers_hidden=trial.use is not None and trial.use.servers_seen is ServersSeen.HIDDEN,
        data_devices=tuple(sorted(_data_devices(trial))),
    )


def _level_in_force(result: MeasuredResult) -> Level | None:
    """The level that the settings gave; None if that is not known."""
    return None if result.level.level is None else level_named(result.level.level)


def servers_of(trial: RunningTrial, use: WindowUse | None) -> tuple[str, ...]:
    """Names of the servers' processes: of others' cluster those on this host that can be seen."""
    started = (*trial.deployment.processes, *trial.worker.processes)
    seen = [process.name for process in use.processes if process.name not in started] if use else []
    return (*trial.deployment.processes, *seen)


def with_servers_seen(trial: RunningTrial, result: Result, use: WindowUse | None) -> Result:
    """The result with the CPU of servers that others run, if all are on this host and can be seen, or report it."""
    if use is None or trial.use is None or not trial.spec.attached:
        return result
    names = servers_of(trial, use)
    reporting = {endpoint.process for endpoint in trial.deployment.metrics_endpoints} & {*names}
    all_report = len(reporting) >= max(1, result.spec.nodes)
    if not names or (trial.use.servers_seen is not ServersSeen.ALL and not all_report):
        return result
    cpus = sum(process.cpus for process in use.processes if process.name in names)
    return replace(result, server_cpu_s=cpus * result.measured_s)


def generators_msgs_per_s(trial: RunningTrial) -> float | None:
    """What the trial's load generators make and check of its load without a system; None if that is not known."""
    workers = len(trial.worker.processes)
    return known_rate_max(trial.spec.workload, workers, trial.resources.calibrations)


def _sync_ms(trial: RunningTrial, use: WindowUse | None) -> float | None:
    """Mean time of a sync as the slowest server reported it; None if none did."""
    names = {metric.name for metric in trial.subject.system.metrics if metric.is_sync_ms}
    reported = use.metrics.values() if use else ()
    return max(
        (value for figures_of_process in reported for name, value in figures_of_process.items() if name in names),
        default=None,
    )

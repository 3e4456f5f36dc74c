"""Whether a plan asks more of each load generator than it makes and checks with room to spare. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidegauge.hosts.ceilings import Calibration, size_class
from tidegauge.model.trial import LoadSpec, TrialSpec
from tidegauge.model.workload import GENERATOR_SHARE_MAX, WORKERS_MAX, Arrival, Workload
from tidegauge.numbers import count, plural, size

MSGS_PER_S_LOW, BYTES_PER_S_LOW = 20_000, 64 << 20
"""Every host makes and checks so much by one load generator: no calibration is needed to know it."""


def sizes_to_know(trials: Iterable[TrialSpec], workers: int) -> list[int]:
    """The message sizes (see `size_class`) of trials whose fixed rate may be too much for so many load generators."""
    return sorted({size_class(_message_bytes(trial)) for trial in trials if _may_be_too_much(trial, workers)})


def calibration_for(workload: Workload, known: Iterable[Calibration]) -> Calibration | None:
    """That of the workload's messages; None if it is not known."""
    message_bytes = size_class(workload.payload.message_bytes)
    return next((calibration for calibration in known if calibration.message_bytes == message_bytes), None)


def known_rate_max(workload: Workload, workers: int, known: Iterable[Calibration]) -> float | None:
    """What so many load generators make and check of a workload together, msg/s of the trial; None if not known.

    Nor is it by a doubtful calibration: that may be too low, and a rate that is near it says nothing.
    """
    calibration = calibration_for(workload, known)
    return None if calibration is None or calibration.doubtful else calibration.rate_max(workload, workers)


def sizing_warnings(trials: Sequence[TrialSpec], workers: int, known: Sequence[Calibration]) -> tuple[str, ...]:
    """A sentence for each message size whose trials ask too much of each of so many load generators."""
    found: dict[int, list[tuple[float, TrialSpec, Calibration]]] = {}
    for trial in trials:
        calibration = calibration_for(trial.workload, known) if _may_be_too_much(trial, workers) else None
        if calibration is None:
            continue
        share = trial.most_msgs_per_s / calibration.rate_max(trial.workload, workers)
        if share > GENERATOR_SHARE_MAX:
            found.setdefault(calibration.message_bytes, []).append((share, trial, calibration))
    return tuple(_warning(over, workers) for over in found.values())


def _warning(over: Sequence[tuple[float, TrialSpec, Calibration]], workers: int) -> str:
    """About the trial that asks most; the others are counted."""
    share, trial, calibration = max(over, key=lambda entry: entry[0])
    others = f" The same holds for {plural(len(over) - 1, 'other trial')}." if len(over) > 1 else ""
    who = "one load generator makes and checks" if workers == 1 else f"{workers} load generators make and check"
    most = calibration.rate_max(trial.workload, workers)
    of = size(calibration.message_bytes)
    doubt = ", measured while other work ran" if calibration.doubtful else ""
    return (
        f"{trial.trial_id} asks for {count(trial.most_msgs_per_s)} msg/s: {share:.0%} of the {count(most)} of "
        f"{of} that {who} on this host{doubt}, and above {GENERATOR_SHARE_MAX:.0%} delays may be the generator's own. "
        f"{_remedy(trial, calibration)}{others}"
    )


def _remedy(trial: TrialSpec, calibration: Calibration) -> str:
    rate, workload = trial.most_msgs_per_s, trial.workload
    enough = workers_needed(workload, rate, calibration)
    if enough is None:
        return f"Not even {plural(WORKERS_MAX, 'load generator')} would do: lower the rate."
    grown = with_clients(workload, enough)
    clients = [
        plural(enough, what)
        for what, before, after in (
            ("producer", workload.producers, grown.producers),
            ("consumer", workload.consumers, grown.consumers),
        )
        if after > before
    ]
    having = f", with at least {' and '.join(clients)}" if clients else ""
    here = GENERATOR_SHARE_MAX * calibration.rate_max(grown, enough)
    if rate <= here:
        return f"{plural(enough, 'load generator')} would do (--workers {enough}){having}."
    return (
        f"{plural(enough, 'load generator')} would do{having}, but not on this host, whose "
        f"{plural(calibration.cpus, 'CPU')} they share: lower the rate to {count(here)} msg/s, or less if servers run "
        "here, or take a host with more CPUs."
    )


def workers_needed(workload: Workload, msgs_per_s: float, calibration: Calibration) -> int | None:
    """The fewest load generators, on hosts like this one, that have room to spare at a rate; None if none do."""
    for workers in range(1, WORKERS_MAX + 1):
        most = calibration.rate_max(with_clients(workload, workers), workers, shares_host=False)
        if msgs_per_s <= GENERATOR_SHARE_MAX * most:
            return workers
    return None


def with_clients(workload: Workload, workers: int) -> Workload:
    """The workload with a producer and, in each subscription, a consumer for each of so many load generators."""
    each = -(-workers // workload.topics)
    return replace(
        workload,
        producers=max(workload.producers, each),
        consumers=max(workload.consumers, each) if workload.subscriptions else workload.consumers,
    )


def _may_be_too_much(trial: TrialSpec, workers: int) -> bool:
    if not isinstance(trial, LoadSpec) or trial.workload.arrival is Arrival.CLOSED_LOOP:
        return False
    each = trial.most_msgs_per_s * (1 + trial.workload.subscriptions) / 2 / workers
    return each > MSGS_PER_S_LOW or each * _message_bytes(trial) > BYTES_PER_S_LOW


def _message_bytes(trial: TrialSpec) -> int:
    return trial.workload.payload.message_bytes

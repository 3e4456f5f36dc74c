"""What happens during a run, as it happens, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegauge.model.finding import Finding
from tidegauge.model.tilt import Tilt
from tidegauge.model.trial import AnyResult, TrialSpec


@dataclass(frozen=True)
class RunStarted:
    """`seconds_expected` is the plan's estimate."""

    run_path: str
    trials: tuple[TrialSpec, ...]
    seconds_expected: float


@dataclass(frozen=True)
class PhaseStarted:
    """A trial entered a phase: "fetch", "settle", "start", "ready", "prepare", "warm-up", "measure", "drain", "stop".

    With late readers "build", "catch up" and "after" instead of "measure".

    `seconds_max` bounds it where it is known.
    """

    trial_id: str
    phase: str
    detail: str
    seconds_max: float | None


@dataclass(frozen=True)
class PhaseProgress:
    """A slow phase has come so far: `done` of `total`, of `what`. `seconds_left` None where it is not known yet."""

    trial_id: str
    what: str
    done: int
    total: int
    seconds_left: float | None


@dataclass(frozen=True)
class UseNow:
    """What was used in the last second that was looked at. Devices are those that hold the servers' data.

    `gc_pause_s`: of all servers' collectors together.
    """

    host_cpu_share: float
    server_cpus: float
    worker_cpus: float
    server_resident_bytes: int
    disk_written_bytes_per_s: float
    disk_read_bytes_per_s: float
    disk_busy_share: float
    loopback_bytes_per_s: float
    gc_pause_s: float


@dataclass(frozen=True)
class WorkerSeen:
    """One of several load generators in one second; `worker` is its number from 1.

    `offered_msgs_per_s`: None where there is no schedule. `msgs_per_s`: acknowledged.
    """

    worker: int
    offered_msgs_per_s: float | None
    msgs_per_s: float
    received_msgs_per_s: float
    own_lag_ms_max: float


@dataclass(frozen=True)
class SecondSeen:
    """Live figures of one second. `response_p99_ms` None when nothing was acknowledged, `use` if nobody looked.

    `msgs_per_s`, `mb_per_s`: acknowledged; where nothing is sent, received. `backlog`: None there, for how much is left
    of what others sent nobody knows. `workers`: of several load generators each.
    """

    trial_id: str
    msgs_per_s: float
    mb_per_s: float
    response_p99_ms: float | None
    end_to_end_p99_ms: float | None
    backlog: int | None
    use: UseNow | None = None
    workers: tuple[WorkerSeen, ...] = ()


@dataclass(frozen=True)
class TrialEnded:
    """`result` None when it failed; then `failure` says why."""

    spec: TrialSpec
    result: AnyResult | None
    failure: str


@dataclass(frozen=True)
class TrialKept:
    """A trial was made in an earlier session of the run and is not made again."""

    spec: TrialSpec
    result: AnyResult


@dataclass(frozen=True)
class Decided:
    """An experiment decided how to go on. `trials` is the whole run's list as it is expected now, those done included.

    `trials_left` and `seconds_left` are estimates for what is left of this experiment.
    """

    text: str
    trials: tuple[TrialSpec, ...]
    trials_left: int
    seconds_left: float


@dataclass(frozen=True)
class FindingReached:
    """An experiment came to its finding."""

    finding: Finding


@dataclass(frozen=True)
class Note:
    """Something the user should know: a cleaned-up leftover, a warning.

    `left_out`: if it says so, the system that is not measured, as trials name it, or the role of hosts not used.
    """

    text: str
    left_out: str = ""


def left_out_note(system: str, why: str, where: str = "") -> Note:
    """Notes that a system is not measured, and why, in one line. `where`: if only at a point of a sweep."""
    at = f" at {where}" if where else ""
    return Note(f"{system}{at} is left out: {' '.join(why.split())}", left_out=system)


@dataclass(frozen=True)
class FetchProgress:
    """How far a download has come, in a sentence. Shown while it lasts, never kept. `what`: which, in its words."""

    text: str
    what: str = ""


@dataclass(frozen=True)
class UnequalFound:
    """Something makes the comparison unequal: allowed by the user before the run, or seen in force while it goes."""

    tilt: Tilt


TrialEvent = PhaseStarted | PhaseProgress | SecondSeen | TrialEnded | TrialKept
Event = RunStarted | TrialEvent | Decided | FindingReached | Note | FetchProgress | UnequalFound
Observer = Callable[[Event], None]

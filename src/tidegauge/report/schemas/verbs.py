"""What verbs print with --json, and what the live page asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from tidegauge.hosts.abilities import Ability
from tidegauge.hosts.advice import Advice
from tidegauge.hosts.ceilings import Ceilings, RunCeilings
from tidegauge.hosts.clock import ClockQuality
from tidegauge.model.finding import Finding
from tidegauge.model.host import HostFacts
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.tilt import Tilt
from tidegauge.model.trial import TrialResult
from tidegauge.model.use import Limiting
from tidegauge.published.verdict import PublishedOutcome
from tidegauge.report.schemas.files import Object, PlanFile, SessionReport
from tidegauge.usage import Cost, Price, Share


class RunHead(TypedDict):
    """What a run is and how it stands."""

    name: str
    campaign: str
    path: str
    report: str
    status: str
    reason: str
    notes: list[str]
    unequal: bool
    started_at: str
    ended_at: str
    tidegauge_version: str
    sessions: NotRequired[list[SessionReport]]
    trials_planned: int
    trials_finished: int
    systems: list[str]


class SystemDurability(TypedDict):
    """Which level was asked for, and which was found."""

    asked: LevelChoice
    found: LevelFinding


class Durability(TypedDict):
    """The levels of all systems of a run."""

    equal: bool
    headline: str
    systems: Mapping[str, SystemDurability]
    points: NotRequired[list[Object]]


class ExperimentReport(TypedDict):
    """Results of one experiment at one load, and how its systems compare."""

    experiment: str
    point: NotRequired[Mapping[str, str]]
    closed_loop: bool
    results: list[TrialResult]
    comparisons: list[Object]
    not_compared_because: str


class Unfinished(TypedDict):
    """A trial without a result."""

    trial_id: str
    status: str
    reason: str
    log_directory: str


class Usage(TypedDict):
    """What a result took of the machine's ceilings, and what its rate costs (null without a price)."""

    trial_id: str
    system: str
    experiment: str
    msgs_per_s: float
    mb_per_s: float
    shares: list[Share]
    cost: Cost | None
    limiting: Limiting | None


class Report(TypedDict):
    """`quick`, `run`, `show` with --json."""

    schema: Literal["tidegauge.report/1"]
    run: RunHead
    unequal: list[Tilt]
    unequal_allowed: bool
    advice: list[Tilt]
    thresholds: NotRequired[Object | None]
    durability: Durability
    experiments: list[ExperimentReport]
    merged: NotRequired[list[Object]]
    within_trial: NotRequired[list[Object]]
    findings: list[Finding]
    finding_comparisons: NotRequired[list[Object]]
    published: NotRequired[PublishedOutcome | None]
    ceilings: NotRequired[RunCeilings | None]
    price: NotRequired[Price | None]
    usage: NotRequired[list[Usage]]
    exploratory_trials: list[TrialResult]
    trials_without_result: list[Unfinished]
    environment: Object


class Runs(TypedDict):
    """`runs` with --json."""

    schema: Literal["tidegauge.runs/1"]
    runs: list[RunHead]


class ComparedRun(RunHead):
    """A run, and the letter that a comparison calls it by."""

    letter: str
    settings_digests: NotRequired[Mapping[str, str]]


class Claims(TypedDict):
    """`published` with --json: verdicts on a report's claims over one or several runs, by their letters."""

    schema: Literal["tidegauge.claims/1"]
    runs: list[ComparedRun]
    unequal: bool
    published: PublishedOutcome


class Compare(TypedDict):
    """`compare` with --json."""

    schema: Literal["tidegauge.compare/1"]
    runs: list[ComparedRun]
    unequal: list[str]
    noise_threshold: float
    differences: list[Object]
    comparisons: list[Object]
    unmatched: list[str]
    unreadable: list[str]


class OmbRun(TypedDict):
    """One workload on one driver."""

    workload: str
    driver: str
    workload_file: str
    driver_file: str
    report: NotRequired[Report]
    omb_results: NotRequired[list[str]]
    error: NotRequired[Object]
    notes: NotRequired[list[str]]
    plan: NotRequired[PlanFile]


class Omb(TypedDict):
    """`omb` with --json."""

    schema: Literal["tidegauge.omb/1"]
    runs: list[OmbRun]


class Doctor(TypedDict):
    """`doctor` with --json."""

    schema: Literal["tidegauge.doctor/1"]
    host: HostFacts
    clock: ClockQuality
    ceilings: Ceilings | None
    advice: list[Advice]
    abilities: list[Ability]


class Clean(TypedDict):
    """`clean` with --json."""

    schema: Literal["tidegauge.clean/1"]
    notes: list[str]
    remaining: list[str]


class Files(TypedDict):
    """`report` and `index` with --json: the files written, the page first."""

    schema: Literal["tidegauge.files/1"]
    files: list[str]


class Live(TypedDict):
    """What the live page asks for, once a second."""

    schema: Literal["tidegauge.live/1"]
    run: RunHead
    headline: str
    trials: list[Object]
    seconds_left: NotRequired[float | None]
    trial: LiveTrial | None


class LiveTrial(TypedDict):
    """The newest trial of a run, with its last seconds."""

    trial_id: str
    system: str
    phase: str
    seconds: list[Object]


class Version(TypedDict):
    """`--version` with --json."""

    schema: Literal["tidegauge.version/1"]
    version: str


class ErrorObject(TypedDict):
    """Any verb with --json that failed before there was a run to report."""

    schema: Literal["tidegauge.error/1"]
    message: str
    hint: str
    log_path: str | None
    exit_code: int

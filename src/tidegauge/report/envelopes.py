"""What verbs print with --json, and what the live page asks for: made through these types, of which schemas are made.

Keys may be added within a schema's number. What a run's files hold is in `store.envelopes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, get_type_hints

from typing_extensions import TypedDict

from tidegauge.model.ceilings import RunCeilings
from tidegauge.model.finding import Finding
from tidegauge.model.host import FleetCheck, FleetHost, Joined
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.tilt import Tilt
from tidegauge.model.trial import AnyResult
from tidegauge.model.use import Limiting
from tidegauge.model.variant import Variant
from tidegauge.published.reproduction import CampaignOfReport
from tidegauge.published.verdict import PublishedOutcome
from tidegauge.report.doctor import Diagnosis
from tidegauge.report.lists import ReadyCampaign
from tidegauge.store.details import ChangedSetting
from tidegauge.store.envelopes import Object, PlanFile
from tidegauge.usage import CeilingShare, Cost, Price


class SessionReport(TypedDict):
    """A session of a run, with the trials that it made and what had changed since the one before."""

    number: int
    started_at: str
    ended_at: str
    status: str
    reason: str
    trials: Sequence[str]
    changed: Sequence[str]


class RunHead(TypedDict):
    """What a run is and how it stands."""

    name: str
    campaign: str
    label: NotRequired[str]
    tags: NotRequired[Sequence[str]]
    path: str
    report: str
    status: str
    reason: str
    damage: NotRequired[Sequence[str]]
    notes: Sequence[str]
    unequal: bool
    started_at: str
    ended_at: str
    tidegauge_version: str
    sessions: NotRequired[Sequence[SessionReport]]
    trials_planned: int
    trials_finished: int
    systems: Sequence[str]


class SystemDurability(TypedDict):
    """Which level was asked for, and which was found."""

    asked: LevelChoice
    found: LevelFinding


class Durability(TypedDict):
    """The levels of all systems of a run."""

    equal: bool
    headline: str
    systems: Mapping[str, SystemDurability]
    points: NotRequired[Sequence[Object]]


class ExperimentReport(TypedDict):
    """Results of one experiment at one load, and how its systems compare."""

    experiment: str
    point: NotRequired[Mapping[str, str]]
    closed_loop: bool
    results: Sequence[AnyResult]
    comparisons: Sequence[Object]
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
    shares: Sequence[CeilingShare]
    cost: Cost | None
    limiting: Limiting | None


class Report(TypedDict):
    """`quick`, `run`, `show` with --json."""

    schema: Literal["tidegauge.report/1"]
    run: RunHead
    unequal: Sequence[Tilt]
    unequal_allowed: bool
    advice: Sequence[Tilt]
    thresholds: NotRequired[Object | None]
    durability: Durability
    experiments: Sequence[ExperimentReport]
    merged: NotRequired[Sequence[Object]]
    within_trial: NotRequired[Sequence[Object]]
    findings: Sequence[Finding]
    finding_comparisons: NotRequired[Sequence[Object]]
    published: NotRequired[PublishedOutcome | None]
    changed_client_settings: NotRequired[Mapping[str, Sequence[ChangedSetting]]]
    ceilings: NotRequired[RunCeilings | None]
    price: NotRequired[Price | None]
    variants: NotRequired[Sequence[Variant]]
    contests: NotRequired[Sequence[Object]]
    usage: NotRequired[Sequence[Usage]]
    exploratory_trials: Sequence[AnyResult]
    trials_without_result: Sequence[Unfinished]
    environment: Object


class Runs(TypedDict):
    """`runs` with --json."""

    schema: Literal["tidegauge.runs/1"]
    runs: Sequence[RunHead]


class ComparedRun(RunHead):
    """A run, and the letter that a comparison calls it by."""

    letter: str
    settings_digests: NotRequired[Mapping[str, str]]


class Compare(TypedDict):
    """`compare` with --json."""

    schema: Literal["tidegauge.compare/1"]
    runs: Sequence[ComparedRun]
    unequal: Sequence[str]
    noise_threshold: float
    same_within: NotRequired[str | None]
    differences: Sequence[Object]
    unrecorded: NotRequired[Sequence[Object]]
    comparisons: Sequence[Object]
    unmatched: Sequence[str]
    unreadable: Sequence[str]
    regressions: NotRequired[Object | None]


class HistoryReport(TypedDict):
    """`history` with --json. `page`: the file that shows it, "" if none was written."""

    schema: Literal["tidegauge.history/1"]
    page: str
    false_alarms: float
    figures_tested: int
    parts: Sequence[Object]
    without_figures: Sequence[str]


class Claims(TypedDict):
    """`published` with --json: verdicts on a report's claims over one or several runs, by their letters.

    `sections`: the report's own, with every published figure beside ours.
    """

    schema: Literal["tidegauge.claims/1"]
    runs: Sequence[ComparedRun]
    unequal: bool
    published: PublishedOutcome
    score: str
    sections: Sequence[Object]


class OmbRun(TypedDict):
    """One workload on one driver."""

    workload: str
    driver: str
    workload_file: str
    driver_file: str
    report: NotRequired[Report]
    omb_results: NotRequired[Sequence[str]]
    error: NotRequired[Object]
    notes: NotRequired[Sequence[str]]
    plan: NotRequired[PlanFile]


class Omb(TypedDict):
    """`omb` with --json."""

    schema: Literal["tidegauge.omb/1"]
    runs: Sequence[OmbRun]


class OmbResultContent(TypedDict):
    """A result in OMB's terms: times in ms, rates a second."""

    name: str
    measured_by: Literal["OMB", "Tidegauge"]
    workload: str
    driver: str
    figures: Mapping[str, float]


class OmbResults(TypedDict):
    """`compare` of OMB's results with --json."""

    schema: Literal["tidegauge.ombresults/1"]
    results: Sequence[OmbResultContent]
    remarks: Sequence[str]


def _with_fields(name: str, schema: str, content: type, words: str) -> Any:
    """What is written of a dataclass as it is: the name of its schema and all its fields. `words` describe it."""
    dictionary: Any = TypedDict
    envelope = dictionary(name, {"schema": Literal[schema], **get_type_hints(content)})
    envelope.__doc__ = words
    return envelope


Doctor = _with_fields("Doctor", "tidegauge.doctor/1", Diagnosis, "`doctor` with --json.")


class Clean(TypedDict):
    """`clean` with --json."""

    schema: Literal["tidegauge.clean/1"]
    notes: Sequence[str]
    remaining: Sequence[str]


FleetNode = _with_fields("FleetNode", "tidegauge.fleetnode/1", Joined, "`fleet head` and `fleet join` with --json.")


class FleetHosts(TypedDict):
    """`fleet status` with --json."""

    schema: Literal["tidegauge.fleet/1"]
    hosts: Sequence[FleetHost]


CheckedFleet = _with_fields(
    "CheckedFleet", "tidegauge.fleetcheck/1", FleetCheck, "`fleet check` with --json; see `FleetCheck`."
)


class FleetUp(TypedDict):
    """`fleet up` with --json: how many hosts joined, and what went wrong on which other."""

    schema: Literal["tidegauge.fleetup/1"]
    head: str
    joined: int
    problems: Sequence[str]
    fleet_file: str


class FleetDown(TypedDict):
    """`fleet down` with --json."""

    schema: Literal["tidegauge.fleetdown/1"]
    was_running: bool
    left: Sequence[str]


class Campaigns(TypedDict):
    """`campaigns` with --json: the ready ones. `seconds_expected`: about, once everything is fetched."""

    schema: Literal["tidegauge.campaigns/1"]
    campaigns: Sequence[ReadyCampaign]


class ReportPlan(TypedDict):
    """`reproduce REPORT --dry-run` with --json. `claims_decidable`: if all came out as published."""

    schema: Literal["tidegauge.reproduction/1"]
    report: str
    claims: int
    claims_decidable: int
    seconds_expected: float
    campaigns: Sequence[CampaignOfReport]


class CampaignWithRun(TypedDict):
    """A campaign of a published report, and its newest run; None if there is none."""

    name: str
    newest_run: str | None


class ReportWithCampaigns(TypedDict):
    """A published report with its campaigns."""

    report: str
    title: str
    campaigns: Sequence[CampaignWithRun]


class Reports(TypedDict):
    """`reproduce` with --json and without a report: all that there are."""

    schema: Literal["tidegauge.reports/1"]
    reports: Sequence[ReportWithCampaigns]


class FetchedSystem(TypedDict):
    """The files of a system's version. `fetched`: now, else they were there already."""

    system: str
    version: str
    directory: str
    size_bytes: int
    source: str
    fetched: bool


class Fetched(TypedDict):
    """`fetch` with --json."""

    schema: Literal["tidegauge.fetch/1"]
    systems: Sequence[FetchedSystem]


class Files(TypedDict):
    """`report` and `index` with --json: the files written, the page first."""

    schema: Literal["tidegauge.files/1"]
    files: Sequence[str]


class Schemas(TypedDict):
    """`schema` with --json and without a name."""

    schema: Literal["tidegauge.schemas/1"]
    schemas: Sequence[str]


class Live(TypedDict):
    """What the live page asks for, once a second."""

    schema: Literal["tidegauge.live/1"]
    run: RunHead
    headline: str
    trials: Sequence[Object]
    pending: NotRequired[Sequence[Object]]
    pending_more: NotRequired[int]
    seconds_left: NotRequired[float | None]
    trial: LiveTrial | None
    before: NotRequired[LiveTrial | None]
    chosen: NotRequired[LiveTrial | None]
    """A trial that was asked for by its name."""


class LiveTrial(TypedDict):
    """The newest trial of a run, or the one before it as long as it has no seconds; with its last seconds.

    `figures`: only of one that has ended, or that was asked for by its name.
    """

    trial_id: str
    target_msgs_per_s: NotRequired[float | None]
    system: str
    phase: str
    seconds: Sequence[Object]
    workers: NotRequired[Sequence[Object]]
    hosts: NotRequired[Sequence[Object]]
    figures: NotRequired[Sequence[Object]]


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

"""What each JSON file of a run holds: files are written through these types, and their JSON Schemas are made of them.

Keys may be added within a schema's number. What reads files, in `store.read`, asks for less: older ones have fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from tidegauge.model.attest import Attestation, AttestOutcome
from tidegauge.model.ceilings import RunCeilings
from tidegauge.model.events import Note
from tidegauge.model.finding import Finding
from tidegauge.model.host import HostAtWork, MemoryAvailable
from tidegauge.model.level import SyncFinding
from tidegauge.model.load import TotalFigures, WorkerFacts
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.tilt import Tilt
from tidegauge.model.trial import AnyResult, AnySpec
from tidegauge.model.variant import Variant
from tidegauge.published.examine import Choice
from tidegauge.published.verdict import PublishedOutcome
from tidegauge.store.files import Writer
from tidegauge.usage import Price

RUN_SCHEMA: Final = "tidegauge.run/1"
RESULT_SCHEMA: Final = "tidegauge.result/1"
Status = Literal["running", "finished", "failed", "interrupted"]
Object = Mapping[str, Any]


@dataclass(frozen=True)
class RunSession:
    """One go at a run. Times in UTC, ISO 8601, `ended_at` "" while it goes or if it was killed; `status` as a run's."""

    number: int
    started_at: str
    ended_at: str = ""
    status: str = "running"
    reason: str = ""


class RunFile(TypedDict):
    """run.json: how a run stands."""

    schema: Literal["tidegauge.run/1"]
    name: str
    label: NotRequired[str]
    tags: NotRequired[Sequence[str]]
    status: Status
    reason: str
    reason_trials: NotRequired[Sequence[str]]
    started_at: str
    ended_at: str
    tidegauge_version: str
    campaign_path: str
    data_directory: str
    data_directories: Sequence[str]
    journal_directories: Sequence[str]
    notes: Sequence[str]
    left_out: NotRequired[Sequence[Note]]
    unequal: Sequence[Tilt]
    unequal_allowed: bool
    advice: Sequence[Tilt]
    thresholds: NotRequired[Sequence[str]]
    price: NotRequired[Price | None]
    variants: NotRequired[Sequence[Variant]]
    same_within: NotRequired[str]
    sessions: NotRequired[Sequence[RunSession]]
    writer: Writer


class CampaignFile(TypedDict):
    """campaign.json: what a campaign was understood to mean, and the options that replaced values of it."""

    schema: Literal["tidegauge.campaign/1"]
    overrides: Object
    meaning: Mapping[str, str]


class PlanFile(TypedDict):
    """plan.json of a run; what `--dry-run --json` prints has further keys."""

    schema: Literal["tidegauge.plan/1"]
    trials: Sequence[AnySpec]
    seconds_expected: NotRequired[float]
    warnings: NotRequired[Sequence[str]]
    unequal: NotRequired[Sequence[Tilt]]
    unequal_allowed: NotRequired[bool]
    advice: NotRequired[Sequence[Tilt]]
    memory: NotRequired[PlannedMemory | None]
    points: NotRequired[Sequence[Object]]
    workers: NotRequired[Sequence[Object]]
    examines: NotRequired[Choice | None]
    thresholds: NotRequired[Sequence[str]]
    retry: NotRequired[int]
    clusters: NotRequired[Sequence[str]]
    placement: NotRequired[str]
    blocks: NotRequired[Sequence[PlannedBlock]]


class PlannedBlock(TypedDict):
    """The trials of one block, by name, and the seed that they share."""

    block: int
    seed: int
    trials: Sequence[str]


class PlannedMemory(TypedDict):
    """What the systems of a plan need, and what there is."""

    available: MemoryAvailable | None
    needs: Sequence[Object]


class EnvironmentFile(TypedDict):
    """environment.json: what a run ran on. `host`: of the command; `hosts`: of a fleet, those that did the work."""

    schema: Literal["tidegauge.environment/1"]
    host: Object
    hosts: NotRequired[Mapping[str, HostAtWork]]
    cpus_online: int | None
    load_average: Sequence[float]
    java_runtimes: Sequence[Any]
    python: Object
    packages: Mapping[str, str]
    tidegauge: Object
    campaign: Object


class CeilingsFile(TypedDict):
    """ceilings.json: what the machine could do at most, measured before the first trial or shortly before the run."""

    schema: Literal["tidegauge.ceilings/1"]
    ceilings: RunCeilings


class TrialFile(TypedDict):
    """trial.json: what was to be measured, and how it stands."""

    schema: Literal["tidegauge.trial/1"]
    status: Status
    reason: str
    cause: NotRequired[str]
    log_path: NotRequired[str | None]
    settings_refused: NotRequired[bool]
    started_at: str
    ended_at: str
    page_cache: Object | None
    session: NotRequired[int]
    spec: AnySpec


class SettingsFile(TypedDict):
    """settings.json: what was in force, as read back."""

    schema: Literal["tidegauge.settings/1"]
    server: Sequence[Setting]
    client: Sequence[Setting]
    server_jvm_flags: Sequence[str]
    worker: WorkerFacts | None


class WitnessFile(TypedDict):
    """witness.json: what was seen of the servers' syncs; where somebody could look, the evidence as well."""

    schema: Literal["tidegauge.witness/1"]
    finding: SyncFinding


class DistributionFile(TypedDict):
    """distribution.json: which files were run."""

    schema: Literal["tidegauge.distribution/1"]
    distribution: Distribution


class ResultFile(TypedDict):
    """result.json: what a trial found, and the totals that the worker reported."""

    schema: Literal["tidegauge.result/1"]
    result: AnyResult
    totals: TotalFigures
    remarks: NotRequired[Remarks]


class Remarks(TypedDict):
    """Reasons and warnings of a result, in its order, each with its kind, its text and what to do about it."""

    reasons: Sequence[Object]
    warnings: Sequence[Object]


class CyclesFile(TypedDict):
    """cycles.json: what the cycles of an attestation found so far; gone once there is a result.json."""

    schema: Literal["tidegauge.cycles/1"]
    outcome: AttestOutcome


class MeasuringFile(TypedDict):
    """measuring.json: what a result needs beside the load generators' figures; gone once there is a result.json."""

    schema: Literal["tidegauge.measuring/1"]
    measuring: Object


class FindingFile(TypedDict):
    """findings/*.json: what an experiment found that is more than one trial's figures."""

    schema: Literal["tidegauge.finding/1"]
    finding: Finding


class AttestationFile(TypedDict):
    """DATA/attestations/*.json: what is known of a system at a level with settings of one digest."""

    schema: Literal["tidegauge.attestation/1"]
    attestations: Sequence[Attestation]


class PublishedFile(TypedDict):
    """published.json: what a run says of a published report's claims."""

    schema: Literal["tidegauge.published/1"]
    published: PublishedOutcome

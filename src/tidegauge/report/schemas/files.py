"""The JSON files of a run's directory.

Keys may be added within a schema's number, so no schema forbids further keys, and none demands one that has a default.
Envelopes stand here as typed dictionaries; what is in them are the frozen dataclasses of the packages that own them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from tidegauge.hosts.ceilings import RunCeilings
from tidegauge.model.attest import Attestation, AttestOutcome
from tidegauge.model.finding import Finding
from tidegauge.model.host import MemoryAvailable
from tidegauge.model.level import SyncFinding
from tidegauge.model.load import TotalFigures, WorkerFacts
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.tilt import Tilt
from tidegauge.model.trial import TrialResult, TrialSpec
from tidegauge.published.examine import Choice
from tidegauge.published.verdict import PublishedOutcome
from tidegauge.store.files import Writer
from tidegauge.store.session import Session
from tidegauge.usage import Price

Status = Literal["running", "finished", "failed", "interrupted"]
Object = Mapping[str, Any]


class RunFile(TypedDict):
    """run.json: how a run stands."""

    schema: Literal["tidegauge.run/1"]
    name: str
    status: Status
    reason: str
    started_at: str
    ended_at: str
    tidegauge_version: str
    campaign_path: str
    data_directory: str
    data_directories: list[str]
    journal_directories: list[str]
    notes: list[str]
    unequal: list[Tilt]
    unequal_allowed: bool
    advice: list[Tilt]
    thresholds: NotRequired[list[str]]
    price: NotRequired[Price | None]
    sessions: NotRequired[list[Session]]
    writer: Writer


class CampaignFile(TypedDict):
    """campaign.json: what a campaign was understood to mean, and the options that replaced values of it."""

    schema: Literal["tidegauge.campaign/1"]
    overrides: Object
    meaning: Mapping[str, str]


class PlanFile(TypedDict):
    """plan.json of a run; what `--dry-run --json` prints has further keys."""

    schema: Literal["tidegauge.plan/1"]
    trials: list[TrialSpec]
    seconds_expected: NotRequired[float]
    warnings: NotRequired[list[str]]
    unequal: NotRequired[list[Tilt]]
    unequal_allowed: NotRequired[bool]
    advice: NotRequired[list[Tilt]]
    memory: NotRequired[PlannedMemory | None]
    points: NotRequired[list[Object]]
    examines: NotRequired[Choice | None]
    thresholds: NotRequired[list[str]]
    blocks: NotRequired[list[PlannedBlock]]


class PlannedBlock(TypedDict):
    """The trials of one block, by name, and the seed that they share."""

    block: int
    seed: int
    trials: list[str]


class PlannedMemory(TypedDict):
    """What the systems of a plan need, and what there is."""

    available: MemoryAvailable | None
    needs: list[Object]


class EnvironmentFile(TypedDict):
    """environment.json: what a run ran on."""

    schema: Literal["tidegauge.environment/1"]
    host: Object
    cpus_online: int | None
    load_average: list[float]
    java_runtimes: list[Any]
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
    started_at: str
    ended_at: str
    page_cache: Object | None
    session: NotRequired[int]
    spec: TrialSpec


class SettingsFile(TypedDict):
    """settings.json: what was in force, as read back."""

    schema: Literal["tidegauge.settings/1"]
    server: list[Setting]
    client: list[Setting]
    server_jvm_flags: list[str]
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
    """result.json: what a trial found, and the totals as the worker told them."""

    schema: Literal["tidegauge.result/1"]
    result: TrialResult
    totals: TotalFigures


class CyclesFile(TypedDict):
    """cycles.json: what the cycles of an attestation found so far; gone once there is a result.json."""

    schema: Literal["tidegauge.cycles/1"]
    outcome: AttestOutcome


class FindingFile(TypedDict):
    """findings/*.json: what an experiment found that is more than one trial's figures."""

    schema: Literal["tidegauge.finding/1"]
    finding: Finding


class AttestationFile(TypedDict):
    """DATA/attestations/*.json: what is known of a system at a level with settings of one digest."""

    schema: Literal["tidegauge.attestation/1"]
    attestations: list[Attestation]


class PublishedFile(TypedDict):
    """published.json: what a run says of a published report's claims."""

    schema: Literal["tidegauge.published/1"]
    published: PublishedOutcome


class SessionReport(TypedDict):
    """A session of a run, with the trials that it made and what had changed since the one before."""

    number: int
    started_at: str
    ended_at: str
    status: str
    reason: str
    trials: list[str]
    changed: list[str]

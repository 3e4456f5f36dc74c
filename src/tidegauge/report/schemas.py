"""JSON Schemas of everything that Tidegauge writes as JSON, generated from the types that write and read it.

Keys may be added within a schema's number, so no schema forbids further keys, and none demands one that has a default.
Envelopes stand here as typed dictionaries; what is in them are the frozen dataclasses of the packages that own them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticOmit, core_schema
from typing_extensions import TypedDict, is_typeddict

from tidegauge.errors import UserError, did_you_mean
from tidegauge.hosts.ceilings import RunCeilings
from tidegauge.model.attest import Attestation, AttestOutcome
from tidegauge.model.finding import Finding
from tidegauge.model.host import FleetCheck, FleetHost, Joined, MemoryAvailable
from tidegauge.model.level import LevelChoice, LevelFinding, SyncFinding
from tidegauge.model.load import TotalFigures, WorkerFacts
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.tilt import Tilt
from tidegauge.model.trial import AnyResult, AnySpec
from tidegauge.model.use import Limiting
from tidegauge.published.examine import Choice
from tidegauge.published.verdict import PublishedOutcome
from tidegauge.report.doctor import Diagnosis
from tidegauge.store.files import Writer
from tidegauge.store.read import RunSession
from tidegauge.usage import CeilingShare, Cost, Price

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
    sessions: NotRequired[list[RunSession]]
    writer: Writer


class CampaignFile(TypedDict):
    """campaign.json: what a campaign was understood to mean, and the options that replaced values of it."""

    schema: Literal["tidegauge.campaign/1"]
    overrides: Object
    meaning: Mapping[str, str]


class PlanFile(TypedDict):
    """plan.json of a run; what `--dry-run --json` prints has further keys."""

    schema: Literal["tidegauge.plan/1"]
    trials: list[AnySpec]
    seconds_expected: NotRequired[float]
    warnings: NotRequired[list[str]]
    unequal: NotRequired[list[Tilt]]
    unequal_allowed: NotRequired[bool]
    advice: NotRequired[list[Tilt]]
    memory: NotRequired[PlannedMemory | None]
    points: NotRequired[list[Object]]
    workers: NotRequired[list[Object]]
    examines: NotRequired[Choice | None]
    thresholds: NotRequired[list[str]]
    retry: NotRequired[int]
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
    spec: AnySpec


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
    """result.json: what a trial found, and the totals that the worker reported."""

    schema: Literal["tidegauge.result/1"]
    result: AnyResult
    totals: TotalFigures


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


class RunHead(TypedDict):
    """What a run is and how it stands."""

    name: str
    campaign: str
    path: str
    report: str
    status: str
    reason: str
    damage: NotRequired[list[str]]
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
    results: list[AnyResult]
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
    shares: list[CeilingShare]
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
    exploratory_trials: list[AnyResult]
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


class Compare(TypedDict):
    """`compare` with --json."""

    schema: Literal["tidegauge.compare/1"]
    runs: list[ComparedRun]
    unequal: list[str]
    noise_threshold: float
    differences: list[Object]
    unrecorded: NotRequired[list[Object]]
    comparisons: list[Object]
    unmatched: list[str]
    unreadable: list[str]


class Claims(TypedDict):
    """`published` with --json: verdicts on a report's claims over one or several runs, by their letters."""

    schema: Literal["tidegauge.claims/1"]
    runs: list[ComparedRun]
    unequal: bool
    published: PublishedOutcome


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
    notes: list[str]
    remaining: list[str]


FleetNode = _with_fields("FleetNode", "tidegauge.fleetnode/1", Joined, "`fleet head` and `fleet join` with --json.")


class FleetHosts(TypedDict):
    """`fleet status` with --json."""

    schema: Literal["tidegauge.fleet/1"]
    hosts: list[FleetHost]


CheckedFleet = _with_fields(
    "CheckedFleet", "tidegauge.fleetcheck/1", FleetCheck, "`fleet check` with --json; see `FleetCheck`."
)


class FleetDown(TypedDict):
    """`fleet down` with --json."""

    schema: Literal["tidegauge.fleetdown/1"]
    was_running: bool
    left: list[str]


class Files(TypedDict):
    """`report` and `index` with --json: the files written, the page first."""

    schema: Literal["tidegauge.files/1"]
    files: list[str]


class Schemas(TypedDict):
    """`schema` with --json and without a name."""

    schema: Literal["tidegauge.schemas/1"]
    schemas: list[str]


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
    workers: NotRequired[list[Object]]
    hosts: NotRequired[list[Object]]


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


DIALECT = "https://json-schema.org/draft/2020-12/schema"

ENVELOPES: tuple[Any, ...] = tuple(
    kind for kind in list(globals().values()) if is_typeddict(kind) and "schema" in kind.__annotations__
)
"""All of the above that stand by themselves, and so say which schema they are of."""


class _Generator(GenerateJsonSchema):
    """Values as Tidegauge writes them: numbers that JSON has no word for are strings, histograms are in .hlog files."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """A number, or its name."""
        return {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}

    def dataclass_field_schema(self, schema: core_schema.DataclassField) -> JsonSchemaValue:
        """The schema of a field; a histogram (bytes), or several of them, has none."""
        field_schema = super().dataclass_field_schema(schema)
        if "binary" in (field_schema.get("format"), field_schema.get("items", {}).get("format")):
            raise PydanticOmit
        return field_schema


def json_schemas() -> dict[str, dict[str, Any]]:
    """All schemas by name: "tidegauge.run/1"."""
    return dict(map(_name_and_schema, ENVELOPES))


def schema_named(requested: str) -> dict[str, Any]:
    """The schema of that name, which may be short: "tidegauge.run/1", "run/1", "run-1" or "run".

    Raises:
        UserError: there is none.
    """
    schemas = {short_name(name): schema for name, schema in json_schemas().items()}
    short = requested.removeprefix("tidegauge.").removesuffix(".json").replace("-", "/")
    short = short if "/" in short else f"{short}/1"
    if short not in schemas:
        names = [name.removesuffix("/1") for name in schemas]
        raise UserError(
            f"There is no schema '{requested}'{did_you_mean(requested, names)}.", f"There are: {', '.join(names)}."
        )
    return schemas[short]


def short_name(schema: str) -> str:
    """ "run/1" of "tidegauge.run/1"."""
    return schema.removeprefix("tidegauge.")


def _name_and_schema(envelope: Any) -> tuple[str, dict[str, Any]]:
    content = TypeAdapter(envelope).json_schema(schema_generator=_Generator)
    name = str(content["properties"]["schema"]["const"])
    return name, {"$schema": DIALECT, "$id": f"urn:{name.replace('.', ':').replace('/', ':')}", **content}


def file_name(schema: str) -> str:
    """The file that a schema is written to: "run-1.json"."""
    return short_name(schema).replace("/", "-") + ".json"

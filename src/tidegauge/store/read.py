"""Reading runs back, finished or not, at any moment of their being written, with the sessions that made them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidegauge.attestation.words import until_then
from tidegauge.errors import UserError, did_you_mean
from tidegauge.hosts.ceilings import RunCeilings
from tidegauge.model.attest import AttestOutcome
from tidegauge.model.finding import Finding
from tidegauge.model.tilt import EQUAL_TERMS, Severity, Stage, Terms, Tilt
from tidegauge.model.trial import (
    AnyResult,
    AnySpec,
    AttestResult,
    AttestSpec,
    LoadResult,
    LoadSpec,
    ReadResult,
    ReadSpec,
)
from tidegauge.plain import differing, flatten, typed
from tidegauge.published.verdict import PublishedOutcome
from tidegauge.regular import read_regular
from tidegauge.store.documents import Documents, read_document, typed_or_none, words_of
from tidegauge.store.files import (
    CAMPAIGN_FILE,
    CEILINGS_FILE,
    CYCLES_FILE,
    MEASURING_FILE,
    PUBLISHED_FILE,
    REPORT_NAME,
    RUN_SCHEMA,
    Writer,
    environment_name,
    may_be_alive,
)
from tidegauge.store.trial import RESULT_SCHEMA
from tidegauge.usage import Price

CAMPAIGN_BYTES_MAX = 8 << 20
_READ_FILES = (".json", ".jsonl", ".parquet", ".hlog", CAMPAIGN_FILE, REPORT_NAME)
"""How the names of files end that are read of a run, in its directories as `store` lists them."""


@dataclass(frozen=True)
class RunSession:
    """One go at a run. Times in UTC, ISO 8601, `ended_at` "" while it goes or if it was killed; `status` as a run's."""

    number: int
    started_at: str
    ended_at: str = ""
    status: str = "running"
    reason: str = ""


@dataclass(frozen=True)
class _RunHead:
    """What run.json must be like to be read; what older ones lack has a default."""

    schema: str
    name: str = ""
    status: str = ""
    reason: str = ""
    started_at: str = ""
    ended_at: str = ""
    tidegauge_version: str = ""
    campaign_path: str = ""
    notes: tuple[str, ...] | None = ()
    thresholds: tuple[str, ...] | None = ()
    unequal: Any = None
    unequal_allowed: bool = False
    advice: Any = None
    price: Price | None = None
    sessions: tuple[RunSession, ...] | None = ()
    writer: Writer | None = None

    @property
    def all_sessions(self) -> tuple[RunSession, ...]:
        """The sessions, oldest first; of a run that was written before there were any, its only one."""
        return self.sessions or (RunSession(1, self.started_at, self.ended_at, self.status, self.reason),)


@dataclass(frozen=True)
class _PlanFile:
    trials: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class _CampaignFile:
    overrides: Mapping[str, Any] | None = None
    meaning: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        """What the command is made of again must be such as its options make."""
        experiments = (self.overrides or {}).get("experiments")
        if isinstance(experiments, list) and not (experiments and isinstance(experiments[0], Mapping)):
            raise ValueError("overrides.experiments: no list of experiments")


@dataclass(frozen=True)
class _EnvironmentFile:
    """Its parts, of which each may be absent; what they hold is shown as it stands."""

    host: Mapping[str, Any] | None = None
    python: Mapping[str, Any] | None = None
    tidegauge: Mapping[str, Any] | None = None
    campaign: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class _CeilingsFile:
    ceilings: RunCeilings | None = None


@dataclass(frozen=True)
class _PublishedFile:
    published: PublishedOutcome | None = None


@dataclass(frozen=True)
class _FindingFile:
    finding: Finding | None = None

    def __post_init__(self) -> None:
        """Goals and points are stored as plain details: what is wrong with them is wrong with the file."""
        if self.finding is not None:
            _ = self.finding.goals, self.finding.points


@dataclass(frozen=True)
class _TrialHead:
    status: str = "running"
    reason: str = ""
    started_at: str = ""
    session: int | None = 1
    spec: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class _DistributionHead:
    digest: str = ""


@dataclass(frozen=True)
class _DistributionFile:
    distribution: _DistributionHead | None = None


@dataclass(frozen=True)
class _CyclesFile:
    outcome: AttestOutcome | None = None


@dataclass(frozen=True)
class _MeasuringFile:
    measuring: Mapping[str, Any] | None = None


_VOLATILE = ("load_average", "campaign.")
"""What differs from session to session without meaning anything."""


def environment_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What is different about two sessions' surroundings: "tidegauge.git_commit: a1b2 -> c3d4", one each."""
    sides = [{name: str(value) for name, value in flatten(side)} for side in (before, after)]
    return [
        f"{name}: {old} -> {new}"
        for name, (old, new) in differing(sides, "unknown")
        if not name.startswith(_VOLATILE) and name != "schema"
    ]


UNFINISHED = "unfinished (killed)"
"""Status of a run or trial that says it is running although its writer is gone."""
UNREADABLE = "unreadable"
"""Status of a run whose run.json can't be read; its reason says why."""
_DAMAGED = "damaged"


@dataclass(frozen=True)
class StoredTrial:
    """A trial as its directory has it.

    Attributes:
        status: "running", "finished", "failed", "interrupted" or `UNFINISHED`.
        result: None unless it is finished.
        problem: why a file of this trial could not be read; "" if all could.
        session: in which session of the run it was made, from 1.
        digest: of the system's files that it ran; "" if it does not say.
        started_at: UTC, ISO 8601; "" if it does not say.
        cycles: what the cycles of an attestation found that has no result; None without.
        measuring: what was known of a trial as it began to be measured that has no result; None without.
    """

    directory: Path
    trial_id: str
    status: str
    reason: str
    spec: AnySpec | None
    result: AnyResult | None
    problem: str
    session: int = 1
    digest: str = ""
    started_at: str = ""
    cycles: AttestOutcome | None = None
    measuring: Mapping[str, Any] | None = None

    @property
    def why(self) -> str:
        """What is known of the cause for having no result, and what an attestation had found by then."""
        parts = [self.problem or self.reason]
        if self.cycles is not None and isinstance(self.spec, AttestSpec):
            parts.append(until_then(self.spec.choice.level, self.spec.nodes, self.spec.attest, self.cycles))
        return "; ".join(filter(None, parts))

    @property
    def status_words(self) -> str:
        """Its status with what is known of the cause: "failed: kafka-1 ended", "interrupted"."""
        why = self.why.removeprefix(self.status).removeprefix("; ")
        return f"{self.status}: {why}" if why else self.status


@dataclass(frozen=True)
class StoredRun:
    """A run as its directory has it. `status` as in `StoredTrial`, or `UNREADABLE`; times in UTC, "" if unknown.

    Attributes:
        environment: of the first session; `environments` has one for each.
        overrides: command-line options that replaced values of the campaign, by its keys.
        meaning: what the campaign was understood to mean (`campaign.read.fingerprint`); None if the run does not say.
        ceilings: what the machine could do at most; None if that was not measured.
        price: of a host for an hour; None if nobody gave one.
        damage: what of it is there and can't be read, with the reason; the rest was read.
    """

    path: Path
    name: str
    status: str
    reason: str
    started_at: str
    ended_at: str
    tidegauge_version: str
    campaign_path: str
    campaign_text: str
    planned: tuple[AnySpec, ...]
    trials: tuple[StoredTrial, ...]
    environment: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    terms: Terms = EQUAL_TERMS
    thresholds: tuple[str, ...] = ()
    published: PublishedOutcome | None = None
    sessions: tuple[RunSession, ...] = ()
    environments: tuple[Mapping[str, Any], ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    meaning: Mapping[str, str] | None = None
    ceilings: RunCeilings | None = None
    price: Price | None = None
    damage: tuple[str, ...] = ()

    @property
    def status_words(self) -> str:
        """Its status, and whether it is damaged, with the first reason."""
        if not self.damage:
            return self.status
        more = f" and {len(self.damage) - 1} more" if len(self.damage) > 1 else ""
        status = self.status if self.status == UNREADABLE else f"{self.status}, {_DAMAGED}"
        return f"{status}: {self.damage[0]}{more}"

    @property
    def results(self) -> tuple[AnyResult, ...]:
        """Results of all finished trials, in the order they were measured."""
        return tuple(trial.result for trial in self.trials if trial.result is not None)

    @property
    def measured(self) -> tuple[LoadResult | ReadResult, ...]:
        """Results that measured how fast messages went."""
        return tuple(result for result in self.results if not isinstance(result, AttestResult))

    def facts(self, kind: str) -> Mapping[str, Any]:
        """A part of `environment`, such as "host"; empty where it is not recorded."""
        part = self.environment.get(kind)
        return part if isinstance(part, Mapping) else {}

    @property
    def trials_expected(self) -> int:
        """How many trials it is to have: as planned, or as many as were made where those are more."""
        return max(len(self.planned), len(self.trials))


def load_run(path: Path) -> StoredRun:
    """Read a run's directory, whatever state it is in.

    Raises:
        UserError: it is no run directory, its run.json can't be read, or it is a newer Tidegauge's.
    """
    documents = Documents(path)
    head = _read_run_head(path)
    alive = head.status == "running" and head.writer is not None and may_be_alive(head.writer)
    campaign = documents.read(path / "campaign.json", _CampaignFile) or _CampaignFile()
    plan = documents.read(path / "plan.json", _PlanFile) or _PlanFile()
    sessions = tuple(
        replace(session, status=_status_shown(session.status, alive and session.status == "running"))
        for session in head.all_sessions
    )
    environments = tuple(_read_environment(documents, path / environment_name(session.number)) for session in sessions)
    findings = [documents.read(file, _FindingFile) for file in _entries_of_directory(path / "findings", ".json")]
    run = StoredRun(
        path=path,
        name=head.name or path.name,
        status=_status_shown(head.status, alive),
        reason=head.reason,
        started_at=head.started_at,
        ended_at=head.ended_at,
        tidegauge_version=head.tidegauge_version,
        campaign_path=head.campaign_path,
        campaign_text=_campaign_text(documents, path / CAMPAIGN_FILE),
        planned=tuple(spec for spec in map(_parse_spec, plan.trials) if spec is not None),
        trials=tuple(_read_trial(documents, directory, alive) for directory in _subdirectories(path / "trials")),
        environment=environments[0],
        notes=head.notes or (),
        findings=tuple(file.finding for file in findings if file is not None and file.finding is not None),
        terms=Terms(_parse_tilts(head.unequal), _parse_tilts(head.advice), head.unequal_allowed),
        thresholds=head.thresholds or (),
        published=(documents.read(path / PUBLISHED_FILE, _PublishedFile) or _PublishedFile()).published,
        sessions=sessions,
        environments=environments,
        overrides=campaign.overrides or {},
        meaning=campaign.meaning,
        ceilings=(documents.read(path / CEILINGS_FILE, _CeilingsFile) or _CeilingsFile()).ceilings,
        price=head.price,
    )
    for directory in (path, path / "findings", *(trial.directory for trial in run.trials)):
        documents.look_for_others(directory, _READ_FILES)
    for trial in run.trials:
        documents.look_for_others(trial.directory / "telemetry", _READ_FILES)
    return replace(run, damage=tuple(documents.damage))


def _read_run_head(path: Path) -> _RunHead:
    """What a run says of itself. Raises `UserError`."""
    try:
        content = read_document(path / "run.json")
        if content is None:
            raise UserError(f"{path} is no run directory: it has no run.json.", "See `tidegauge runs`.")
        schema = str(content.get("schema", ""))
        if schema != RUN_SCHEMA:
            raise UserError(
                f"{path} has the schema '{schema}'; this Tidegauge reads '{RUN_SCHEMA}'.",
                f"Use the Tidegauge that wrote it ({content.get('tidegauge_version', 'unknown')}) or a newer one.",
            )
        return typed(_RunHead, content)
    except ValueError as error:
        raise UserError(f"{path / 'run.json'} can't be read: {error}.", "See `tidegauge runs`.") from error


def list_runs(runs_directory: Path) -> list[StoredRun]:
    """All runs in a directory, oldest first; one that can't be read is `UNREADABLE`, with the reason, before them."""
    runs = []
    for path in run_directories(runs_directory):
        try:
            runs.append(load_run(path))
        except UserError as error:
            runs.append(_unreadable_run(path, error.message))
    return sorted(runs, key=lambda run: (run.started_at, run.path.name))


def _unreadable_run(path: Path, reason: str) -> StoredRun:
    return StoredRun(path, path.name, UNREADABLE, reason, "", "", "", "", "", (), (), {}, damage=(reason,))


def _read_environment(documents: Documents, path: Path) -> Mapping[str, Any]:
    """Everything that a session ran on, as it stands in its file."""
    content = documents.read(path, dict[str, Any]) or {}
    try:
        typed(_EnvironmentFile, content)
    except ValueError as error:
        documents.note(path, str(error))
        return {}
    return content


def _campaign_text(documents: Documents, path: Path) -> str:
    try:
        return read_regular(path, CAMPAIGN_BYTES_MAX).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        documents.note(path, words_of(error))
        return ""


def _entries_of_directory(directory: Path, ending: str = "") -> list[Path]:
    """What a directory holds, by name; nothing of what is none."""
    try:
        return sorted(path for path in directory.iterdir() if path.name.endswith(ending))
    except OSError:
        return []


def _subdirectories(directory: Path) -> list[Path]:
    return [path for path in _entries_of_directory(directory) if path.is_dir() and not path.is_symlink()]


def newest_run_of(runs_directory: Path, campaign_text: bytes) -> StoredRun | None:
    """The newest run of exactly this campaign text; None if there is none."""
    for path in reversed(run_directories(runs_directory)):
        try:
            if read_regular(path / CAMPAIGN_FILE, CAMPAIGN_BYTES_MAX) == campaign_text:
                return load_run(path)
        except (OSError, UserError):
            continue
    return None


def find_run(runs_directory: Path, wanted: str) -> Path:
    """The directory of a run, by "last", its name, the beginning of its name, or a path.

    Raises:
        UserError: none or several fit; the message names the nearest.
    """
    names = [path.name for path in run_directories(runs_directory)]
    if wanted == "last":
        runs = list_runs(runs_directory)
        if not runs:
            raise UserError(f"There are no runs in {runs_directory} yet.", "Start one with `tidegauge quick`.")
        return runs[-1].path
    if wanted in names:
        return runs_directory / wanted
    if _is_run(Path(wanted)):
        return Path(wanted)
    fitting = [name for name in names if name.startswith(wanted)] if wanted else []
    if len(fitting) == 1:
        return runs_directory / fitting[0]
    if fitting:
        newest_names = ", ".join(sorted(fitting)[-5:])
        newest = "the newest are " if len(fitting) > 5 else ""
        raise UserError(
            f"'{wanted}' fits {len(fitting)} runs: {newest}{newest_names}.", "Give more of the name, or `last`."
        )
    raise UserError(
        f"No run '{wanted}' in {runs_directory}{did_you_mean(wanted, names)}.",
        "`tidegauge runs` lists what there is; --runs-dir chooses another directory.",
    )


def run_directories(runs_directory: Path) -> list[Path]:
    """The directories of all runs, by name, without reading them."""
    return [path for path in _entries_of_directory(runs_directory) if not path.name.startswith(".") and _is_run(path)]


def _is_run(path: Path) -> bool:
    """Whether it has a run.json, be it one that can't be read."""
    try:
        return os.path.lexists(path / "run.json")
    except ValueError:
        return False


def _read_trial(documents: Documents, directory: Path, alive: bool) -> StoredTrial:
    head = documents.read(directory / "trial.json", _TrialHead) or _TrialHead()
    result, problem = None, ""
    try:
        content = read_document(directory / "result.json")
        result = None if content is None else _parse_result(content)
    except ValueError as error:
        problem = f"{directory / 'result.json'} can't be read: {error}"
        documents.note(directory / "result.json", str(error))
    distribution = (
        documents.read(directory / "distribution.json", _DistributionFile) or _DistributionFile()
    ).distribution
    cycles, measuring = None, None
    if result is None:
        cycles = (documents.read(directory / CYCLES_FILE, _CyclesFile) or _CyclesFile()).outcome
        measuring = (documents.read(directory / MEASURING_FILE, _MeasuringFile) or _MeasuringFile()).measuring
    return StoredTrial(
        directory=directory,
        trial_id=directory.name,
        status=_status_shown("finished" if result is not None else head.status, alive),
        reason=head.reason,
        spec=_parse_spec(head.spec),
        result=result,
        problem=problem,
        session=head.session or 1,
        digest="" if distribution is None else distribution.digest,
        started_at=head.started_at,
        cycles=cycles,
        measuring=measuring,
    )


def _parse_result(content: Mapping[str, Any]) -> AnyResult:
    """The result in a file. Raises `ValueError` for one of another schema, or that lacks what this Tidegauge needs."""
    schema = content.get("schema")
    if schema != RESULT_SCHEMA:
        raise ValueError(f"its schema is '{schema}'; this Tidegauge reads '{RESULT_SCHEMA}'")
    result = content.get("result")
    return typed(_KINDS[_kind_of_spec(result.get("spec") if isinstance(result, Mapping) else None)], result)


_KINDS: Mapping[type[AnySpec], type[AnyResult]] = {LoadSpec: LoadResult, ReadSpec: ReadResult, AttestSpec: AttestResult}


def _parse_spec(content: object) -> AnySpec | None:
    return typed_or_none(_kind_of_spec(content), content) if isinstance(content, Mapping) else None


def _kind_of_spec(spec: object) -> type[AnySpec]:
    """Which kind of trial was stored. Older files have the keys of all kinds: null, or 0, where they say nothing."""
    if not isinstance(spec, Mapping):
        raise ValueError("its trial is not described")
    if spec.get("attest") is not None:
        return AttestSpec
    workload = spec.get("workload")
    return ReadSpec if isinstance(workload, Mapping) and workload.get("producers") == 0 else LoadSpec


def _parse_tilts(content: object) -> tuple[Tilt, ...]:
    """What made a run unequal; one that can't be read is still one: that a run is unequal must not get lost."""
    unknown = Tilt("unknown", Severity.UNEQUAL, Stage.WANTED, (), "", "what it was can't be read", "", "", "")
    items = content if isinstance(content, list) else []
    return tuple(typed_or_none(Tilt, item) or replace(unknown, what=str(item)) for item in items)


def _status_shown(status: str, alive: bool) -> str:
    return UNFINISHED if status == "running" and not alive else status

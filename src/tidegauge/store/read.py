"""Reading runs back, finished or not, at any moment of their being written, with the sessions that made them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidegauge.attestation.words import until_then
from tidegauge.errors import UserError
from tidegauge.model.attest import Attestation, AttestOutcome
from tidegauge.model.ceilings import RunCeilings
from tidegauge.model.events import Note
from tidegauge.model.finding import Finding
from tidegauge.model.labels import NO_LABELS, RunLabels
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
from tidegauge.model.variant import SAME_WITHIN, SameWithin, Variant
from tidegauge.numbers import join_first
from tidegauge.places import is_directory
from tidegauge.plain import differing, flatten, typed_value
from tidegauge.published.verdict import PublishedOutcome
from tidegauge.regular import read_regular
from tidegauge.store.documents import Documents, mapping_of, read_document, typed_or_none, words_of
from tidegauge.store.envelopes import RESULT_SCHEMA, RUN_SCHEMA, RunSession
from tidegauge.store.files import (
    CAMPAIGN_FILE,
    CEILINGS_FILE,
    CYCLES_FILE,
    MEASURING_FILE,
    PUBLISHED_FILE,
    REPORT_NAME,
    Writer,
    environment_name,
    may_be_alive,
)
from tidegauge.store.reasons import (
    left_out_of_old_notes,
    parts_of_old_reason,
    trials_of_old_reason,
    with_stored_reasons,
)
from tidegauge.usage import Price

CAMPAIGN_BYTES_MAX = 8 << 20
_READ_FILES = (".json", ".jsonl", ".parquet", ".hlog", CAMPAIGN_FILE, REPORT_NAME)
"""How the names of files end that are read of a run, in its directories as `store` lists them."""


@dataclass(frozen=True)
class RunDocument:
    """What run.json must be like to be read; what older ones lack has a default."""

    schema: str
    name: str = ""
    label: str | None = ""
    tags: tuple[str, ...] | None = ()
    status: str = ""
    reason: str = ""
    reason_trials: tuple[str, ...] | None = None
    started_at: str = ""
    ended_at: str = ""
    tidegauge_version: str = ""
    campaign_path: str = ""
    notes: tuple[str, ...] | None = ()
    left_out: tuple[Note, ...] | None = None
    thresholds: tuple[str, ...] | None = ()
    unequal: Any = None
    unequal_allowed: bool = False
    advice: Any = None
    price: Price | None = None
    variants: tuple[Variant, ...] | None = ()
    same_within: SameWithin | None = None
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
    cause: str | None = None
    log_path: str | None = None
    settings_refused: bool = False
    started_at: str = ""
    session: int | None = 1
    spec: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class _DistributionHead:
    digest: str = ""


_POINT = re.compile(r"sweep\[[0-9]+\]")
"""How a campaign's meaning calls a point of its sweep."""
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
_OF_ANOTHER_TRIAL = "it describes another trial than its directory is named after"


@dataclass(frozen=True)
class StoredTrial:
    """A trial as its directory has it.

    Attributes:
        status: "running", "finished", "failed", "interrupted" or `UNFINISHED`.
        result: None unless it is finished.
        problem: why a file of this trial could not be read; "" if all could.
        cause: the reason without the log that it names, `log_path`, which is "" if it names none.
        session: in which session of the run it was made, from 1.
        digest: of the system's files that it ran; "" if it does not say.
        started_at: UTC, ISO 8601; "" if it does not say.
        cycles: what the cycles of an attestation found that has no result; None without.
        measuring: what was known of a trial as it began to be measured that has no result; None without.
        settings_refused: whether it has no result since a client refused its settings: only others give it one.
    """

    directory: Path
    trial_id: str
    status: str
    reason: str
    spec: AnySpec | None
    result: AnyResult | None
    problem: str
    session: int = 1
    cause: str = ""
    log_path: str = ""
    digest: str = ""
    started_at: str = ""
    cycles: AttestOutcome | None = None
    measuring: Mapping[str, Any] | None = None
    settings_refused: bool = False

    @property
    def why(self) -> str:
        """What is known of the cause for having no result, and what an attestation had found by then."""
        return "; ".join(filter(None, (self.problem or self.reason, self._found_by_then)))

    @property
    def _found_by_then(self) -> str:
        if self.cycles is None or not isinstance(self.spec, AttestSpec):
            return ""
        return until_then(self.spec.choice.level, self.spec.nodes, self.spec.attest, self.cycles)

    @property
    def status_words(self) -> str:
        """Its status with what is known of the cause: "failed: kafka-1 ended", "interrupted"."""
        known_only = not self.problem and self.reason == self.status
        why = self._found_by_then if known_only else self.why
        return f"{self.status}: {why}" if why else self.status


@dataclass(frozen=True)
class StoredRun:
    """A run as its directory has it. `status` as in `StoredTrial`, or `UNREADABLE`; times in UTC, "" if unknown.

    Attributes:
        reason_trials: names of the trials whose own reasons its `reason` gives.
        environment: of the first session; `environments` has one for each.
        left_out: of the notes those that say that a system is not measured, or hosts are not used.
        overrides: command-line options that replaced values of the campaign, by its keys.
        meaning: what the campaign was understood to mean (`campaign.read.fingerprint`); None if the run does not say.
        ceilings: what the machine could do at most; None if that was not measured.
        price: of a host for an hour; None if nobody gave one.
        variants: that its campaign compares, () without.
        same_within: the margin within which two figures count as the same.
        damage: what of it is there and can't be read, with the reason; the rest was read.
        labels: the name and tags that the user gave it.
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
    left_out: tuple[Note, ...] = ()
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
    variants: tuple[Variant, ...] = ()
    same_within: SameWithin = SAME_WITHIN
    damage: tuple[str, ...] = ()
    labels: RunLabels = NO_LABELS
    reason_trials: tuple[str, ...] = ()

    @property
    def status_words(self) -> str:
        """Its status, and whether it is damaged, with the first reason."""
        if not self.damage:
            return self.status
        status = self.status if self.status == UNREADABLE else f"{self.status}, {_DAMAGED}"
        return f"{status}: {join_first(self.damage, 1)}"

    @property
    def results(self) -> tuple[AnyResult, ...]:
        """Results of all finished trials, in the order they were measured."""
        return tuple(trial.result for trial in self.trials if trial.result is not None)

    @property
    def keeps_work(self) -> bool:
        """Whether resuming it saves anything: a finished trial, cycles of an attestation, or a window begun."""
        return any(trial.result or trial.cycles or trial.measuring for trial in self.trials)

    @property
    def can_go_on(self) -> bool:
        """Whether to resume it makes sense: it saves something, and a trial that lacks a result may get one."""
        lacking = [trial for trial in self.trials if trial.result is None]
        is_over = bool(lacking) and all(trial.settings_refused for trial in lacking)
        return self.meaning is not None and self.keeps_work and not (is_over and len(self.trials) >= len(self.planned))

    @property
    def measured(self) -> tuple[LoadResult | ReadResult, ...]:
        """Results that measured how fast messages went."""
        return tuple(result for result in self.results if not isinstance(result, AttestResult))

    @property
    def blocks_measured(self) -> int:
        """How often trials were repeated, as far as there are results or findings of it."""
        return len({result.spec.block for result in self.results} | {finding.block for finding in self.findings})

    @property
    def systems(self) -> list[str]:
        """The systems that it has results of."""
        return sorted({result.spec.system for result in self.results})

    @property
    def specs(self) -> tuple[AnySpec, ...]:
        """All trials that it planned or measured."""
        return (*self.planned, *(result.spec for result in self.results))

    @property
    def listed_points(self) -> tuple[str, ...]:
        """The points of its sweep in words, as its campaign lists them; () where the run does not say."""
        return tuple(words for path, words in (self.meaning or {}).items() if _POINT.fullmatch(path))

    @property
    def confirmed(self) -> frozenset[str | None]:
        """Trials that confirmed what a search found."""
        return frozenset(goal.confirmation_trial_id for finding in self.findings for goal in finding.goals)

    @property
    def attestations(self) -> list[Attestation]:
        """What cuts of the power said of its systems."""
        return [attestation for finding in self.findings for attestation in finding.attestations]

    @property
    def sessions_changed(self) -> list[list[str]]:
        """For each session what its surroundings had changed since the one before."""
        pairs = zip(({}, *self.environments), self.environments, strict=False)
        return [environment_changes(before, after) if before and after else [] for before, after in pairs]

    def results_of_session(self, session: RunSession) -> list[str]:
        """The trials that have a result and were made in a session."""
        return [trial.trial_id for trial in self.trials if trial.session == session.number and trial.result]

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
    head = read_run_head(path)
    alive = head.status == "running" and head.writer is not None and may_be_alive(head.writer)
    campaign = documents.read(path / "campaign.json", _CampaignFile) or _CampaignFile()
    plan = documents.read(path / "plan.json", _PlanFile) or _PlanFile()
    sessions = tuple(
        replace(session, status=_status_shown(session.status, alive and session.status == "running"))
        for session in head.all_sessions
    )
    environments = tuple(_read_environment(documents, path / environment_name(session.number)) for session in sessions)
    trials = tuple(
        _read_trial(documents, directory, alive)
        for directory in documents.entries_of(path / "trials")
        if is_directory(directory)
    )
    reason_trials = head.reason_trials
    if reason_trials is None:
        reason_trials = trials_of_old_reason(head.reason, {trial.trial_id: trial.reason for trial in trials})
    findings = [documents.read(file, _FindingFile) for file in documents.entries_of(path / "findings", ".json")]
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
        trials=trials,
        reason_trials=reason_trials,
        environment=environments[0],
        notes=head.notes or (),
        left_out=left_out_of_old_notes(head.notes or ()) if head.left_out is None else head.left_out,
        findings=tuple(file.finding for file in findings if file is not None and file.finding is not None),
        terms=Terms(_parse_tilts(head.unequal), _parse_tilts(head.advice), head.unequal_allowed),
        thresholds=head.thresholds or (),
        published=documents.read_part(path / PUBLISHED_FILE, "published", PublishedOutcome),
        sessions=sessions,
        environments=environments,
        overrides=campaign.overrides or {},
        meaning=campaign.meaning,
        ceilings=documents.read_part(path / CEILINGS_FILE, "ceilings", RunCeilings),
        price=head.price,
        variants=head.variants or (),
        same_within=head.same_within or SAME_WITHIN,
        labels=RunLabels(head.label or "", head.tags or ()),
    )
    for directory in (path, path / "findings", *(trial.directory for trial in run.trials)):
        documents.look_for_others(directory, _READ_FILES)
    for trial in run.trials:
        documents.look_for_others(trial.directory / "telemetry", _READ_FILES)
    return replace(run, damage=tuple(documents.damage))


def read_run_head(path: Path) -> RunDocument:
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
        return typed_value(RunDocument, content)
    except ValueError as error:
        raise UserError(f"{path / 'run.json'} can't be read: {error}.", "See `tidegauge runs`.") from error


def list_runs(runs_directory: Path) -> list[StoredRun]:
    """All runs in a directory, oldest first; one that can't be read is `UNREADABLE`, with the reason, before them."""
    runs = []
    for path in run_directories(runs_directory):
        try:
            runs.append(load_run(path))
        except UserError as error:
            runs.append(
                StoredRun(
                    path, path.name, UNREADABLE, error.message, "", "", "", "", "", (), (), {}, damage=(error.message,)
                )
            )
    return sorted(runs, key=lambda run: (run.started_at, run.path.name))


def _read_environment(documents: Documents, path: Path) -> Mapping[str, Any]:
    """Everything that a session ran on, as it stands in its file."""
    content = documents.read(path, dict[str, Any]) or {}
    try:
        typed_value(_EnvironmentFile, content)
    except ValueError as error:
        documents.note_damage(path, str(error))
        return {}
    return content


def _campaign_text(documents: Documents, path: Path) -> str:
    try:
        return read_regular(path, CAMPAIGN_BYTES_MAX).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        documents.note_damage(path, words_of(error))
        return ""


def newest_run_of(runs_directory: Path, campaign_text: bytes) -> StoredRun | None:
    """The newest run of exactly this campaign text; None if there is none."""
    for path in reversed(run_directories(runs_directory)):
        try:
            if read_regular(path / CAMPAIGN_FILE, CAMPAIGN_BYTES_MAX) == campaign_text:
                return load_run(path)
        except (OSError, UserError):
            continue
    return None


def run_directories(runs_directory: Path) -> list[Path]:
    """The directories of all runs, by name, without reading them; none where there is no such directory yet.

    Raises `UserError` for what is no directory, or can't be read.
    """
    try:
        entries = sorted(runs_directory.iterdir())
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{runs_directory}: runs can't be looked for here: {problem}.", "Check the path.") from error
    return [path for path in entries if not path.name.startswith(".") and is_run(path)]


def is_run(path: Path) -> bool:
    """Whether it has a run.json, be it one that can't be read, or may have one: nobody is let in to look."""
    try:
        os.lstat(path / "run.json")
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


def _read_trial(documents: Documents, directory: Path, alive: bool) -> StoredTrial:
    head = documents.read(directory / "trial.json", _TrialHead) or _TrialHead()
    spec = _parse_spec(head.spec)
    if spec is not None and spec.trial_id != directory.name:
        documents.note_damage(directory / "trial.json", _OF_ANOTHER_TRIAL)
        spec = None
    result, problem = None, ""
    try:
        content = read_document(directory / "result.json")
        result = None if content is None else _parse_result(content)
        if result is not None and result.spec.trial_id != directory.name:
            result = None
            raise ValueError(_OF_ANOTHER_TRIAL)
    except ValueError as error:
        problem = f"{directory / 'result.json'} can't be read: {error}"
        documents.note_damage(directory / "result.json", str(error))
    cause, log_path = (head.cause, head.log_path or "") if head.cause is not None else parts_of_old_reason(head.reason)
    distribution = documents.read_part(directory / "distribution.json", "distribution", _DistributionHead)
    cycles, measuring = None, None
    if result is None:
        cycles = documents.read_part(directory / CYCLES_FILE, "outcome", AttestOutcome)
        measuring = documents.read_part(directory / MEASURING_FILE, "measuring", dict[str, Any])
    return StoredTrial(
        directory=directory,
        trial_id=directory.name,
        status=_status_shown("finished" if result is not None else head.status, alive),
        reason=head.reason,
        spec=spec,
        result=result,
        problem=problem,
        session=head.session or 1,
        cause=cause,
        log_path=log_path,
        digest="" if distribution is None else distribution.digest,
        started_at=head.started_at,
        cycles=cycles,
        measuring=measuring,
        settings_refused=head.settings_refused,
    )


def _parse_result(content: Mapping[str, Any]) -> AnyResult:
    """The result in a file. Raises `ValueError` for one of another schema, or that lacks what this Tidegauge needs."""
    schema = content.get("schema")
    if schema != RESULT_SCHEMA:
        raise ValueError(f"its schema is '{schema}'; this Tidegauge reads '{RESULT_SCHEMA}'")
    result = mapping_of(content.get("result"))
    kind = _KINDS[_kind_of_spec(result.get("spec"))]
    return typed_value(kind, with_stored_reasons(result, content.get("remarks")))


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

"""Reading runs back, finished or not, at any moment of their being written, with the sessions that made them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from tidegauge.attestation.words import until_then
from tidegauge.errors import UserError, nearest
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
from tidegauge.store.files import (
    CEILINGS_FILE,
    CYCLES_FILE,
    MEASURING_FILE,
    PUBLISHED_FILE,
    RUN_SCHEMA,
    Writer,
    environment_name,
    may_be_alive,
)
from tidegauge.store.trial import RESULT_SCHEMA
from tidegauge.usage import Price

T = TypeVar("T")


@dataclass(frozen=True)
class Session:
    """One go at a run. Times in UTC, ISO 8601, `ended_at` "" while it goes or if it was killed; `status` as a run's."""

    number: int
    started_at: str
    ended_at: str = ""
    status: str = "running"
    reason: str = ""


def read_sessions(head: Mapping[str, Any]) -> tuple[Session, ...]:
    """The sessions in a run.json, oldest first; of one that was written before there were any, its only one."""
    text = {name: str(head.get(name, "")) for name in ("started_at", "ended_at", "status", "reason")}
    return all_readable(Session, head.get("sessions")) or (Session(1, **text),)


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
    """A run as its directory has it. `status` as in `StoredTrial`; times in UTC, ISO 8601, "" if not (yet) known.

    Attributes:
        environment: of the first session; `environments` has one for each.
        overrides: command-line options that replaced values of the campaign, by its keys.
        meaning: what the campaign was understood to mean (`campaign.read.fingerprint`); None if the run does not say.
        ceilings: what the machine could do at most; None if that was not measured.
        price: of a host for an hour; None if nobody gave one.
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
    sessions: tuple[Session, ...] = ()
    environments: tuple[Mapping[str, Any], ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    meaning: Mapping[str, str] | None = None
    ceilings: RunCeilings | None = None
    price: Price | None = None

    @property
    def results(self) -> tuple[AnyResult, ...]:
        """Results of all finished trials, in the order they were measured."""
        return tuple(trial.result for trial in self.trials if trial.result is not None)

    @property
    def measured(self) -> tuple[LoadResult | ReadResult, ...]:
        """Those that measured how fast messages went."""
        return tuple(result for result in self.results if not isinstance(result, AttestResult))

    def facts(self, kind: str) -> Mapping[str, Any]:
        """A part of `environment`, such as "host"; empty where it is not recorded."""
        found = self.environment.get(kind)
        return found if isinstance(found, Mapping) else {}

    @property
    def trials_expected(self) -> int:
        """How many trials it is to have: as planned, or as many as were made where those are more."""
        return max(len(self.planned), len(self.trials))


def load_run(path: Path) -> StoredRun:
    """Read a run's directory, whatever state it is in.

    Raises:
        UserError: it is no run directory, or a newer Tidegauge's.
    """
    head = read_object(path / "run.json")
    if head is None:
        raise UserError(f"{path} is no run directory: it has no readable run.json.", "See `tidegauge runs`.")
    schema = str(head.get("schema", ""))
    if schema != RUN_SCHEMA:
        raise UserError(
            f"{path} has the schema '{schema}'; this Tidegauge reads '{RUN_SCHEMA}'.",
            f"Use the Tidegauge that wrote it ({head.get('tidegauge_version', 'unknown')}) or a newer one.",
        )
    status = str(head.get("status", ""))
    alive = status == "running" and _writer_alive(head)
    plan = read_object(path / "plan.json") or {}
    campaign = read_object(path / "campaign.json") or {}
    sessions = tuple(
        replace(session, status=_status_shown(session.status, alive and session.status == "running"))
        for session in read_sessions(head)
    )
    findings = [part_of(file, "finding") for file in sorted((path / "findings").glob("*.json"))]
    environments = tuple(read_object(path / environment_name(session.number)) or {} for session in sessions)
    return StoredRun(
        path=path,
        name=str(head.get("name", path.name)),
        status=_status_shown(status, alive),
        reason=str(head.get("reason", "")),
        started_at=str(head.get("started_at", "")),
        ended_at=str(head.get("ended_at", "")),
        tidegauge_version=str(head.get("tidegauge_version", "")),
        campaign_path=str(head.get("campaign_path", "")),
        campaign_text=_text(path / "campaign.yaml"),
        planned=tuple(spec for spec in map(_spec, plan.get("trials", [])) if spec is not None),
        trials=tuple(_trial(directory, alive) for directory in sorted((path / "trials").glob("*/"))),
        environment=environments[0],
        notes=tuple(map(str, head.get("notes") or ())),
        findings=all_readable(Finding, findings),
        terms=Terms(_tilts(head.get("unequal")), _tilts(head.get("advice")), bool(head.get("unequal_allowed"))),
        thresholds=tuple(map(str, head.get("thresholds") or ())),
        published=readable(PublishedOutcome, part_of(path / PUBLISHED_FILE, "published")),
        sessions=sessions,
        environments=environments,
        overrides=campaign.get("overrides") or {},
        meaning=campaign.get("meaning"),
        ceilings=readable(RunCeilings, part_of(path / CEILINGS_FILE, "ceilings")),
        price=readable(Price, head.get("price")),
    )


def list_runs(runs_directory: Path) -> list[StoredRun]:
    """All runs in a directory, oldest first; runs of other schemas are left out."""
    found = []
    for path in run_directories(runs_directory):
        try:
            found.append(load_run(path))
        except UserError:
            continue
    return sorted(found, key=lambda run: (run.started_at, run.path.name))


def newest_run_of(runs_directory: Path, campaign_text: bytes) -> StoredRun | None:
    """The newest run of exactly this campaign text; None if there is none."""
    for path in reversed(run_directories(runs_directory)):
        try:
            if (path / "campaign.yaml").read_bytes() == campaign_text:
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
    if (Path(wanted) / "run.json").is_file():
        return Path(wanted)
    fitting = [name for name in names if name.startswith(wanted)] if wanted else []
    if len(fitting) == 1:
        return runs_directory / fitting[0]
    if fitting:
        listed = ", ".join(sorted(fitting)[-5:])
        newest = "the newest are " if len(fitting) > 5 else ""
        raise UserError(f"'{wanted}' fits {len(fitting)} runs: {newest}{listed}.", "Give more of the name, or `last`.")
    raise UserError(
        f"No run '{wanted}' in {runs_directory}{nearest(wanted, names)}.",
        "`tidegauge runs` lists what there is; --runs-dir chooses another directory.",
    )


def run_directories(runs_directory: Path) -> list[Path]:
    """The directories of all runs, by name, without reading them."""
    if not runs_directory.is_dir():
        return []
    return sorted(
        path for path in runs_directory.iterdir() if not path.name.startswith(".") and (path / "run.json").is_file()
    )


def _trial(directory: Path, alive: bool) -> StoredTrial:
    head = read_object(directory / "trial.json") or {}
    content = read_object(directory / "result.json")
    result, problem = None, ""
    if content is not None:
        try:
            result = _result(content)
        except ValueError as error:
            problem = f"{directory / 'result.json'} can't be read: {error}"
    status = "finished" if result is not None else str(head.get("status", "running"))
    return StoredTrial(
        directory=directory,
        trial_id=directory.name,
        status=_status_shown(status, alive),
        reason=str(head.get("reason", "")),
        spec=_spec(head.get("spec")),
        result=result,
        problem=problem,
        session=int(head.get("session") or 1),
        digest=str((part_of(directory / "distribution.json", "distribution") or {}).get("digest", "")),
        started_at=str(head.get("started_at", "")),
        cycles=None if result is not None else readable(AttestOutcome, part_of(directory / CYCLES_FILE, "outcome")),
        measuring=None if result is not None else part_of(directory / MEASURING_FILE, "measuring"),
    )


def _result(content: Mapping[str, Any]) -> AnyResult:
    """Raises `ValueError` for one of another schema, or that lacks what this Tidegauge needs."""
    schema = content.get("schema")
    if schema != RESULT_SCHEMA:
        raise ValueError(f"its schema is '{schema}'; this Tidegauge reads '{RESULT_SCHEMA}'")
    result = content.get("result")
    return typed(_KINDS[_kind(result.get("spec") if isinstance(result, Mapping) else None)], result)


_KINDS: Mapping[type[AnySpec], type[AnyResult]] = {LoadSpec: LoadResult, ReadSpec: ReadResult, AttestSpec: AttestResult}


def _spec(content: object) -> AnySpec | None:
    return readable(_kind(content), content) if isinstance(content, Mapping) else None


def _kind(spec: object) -> type[AnySpec]:
    """Which kind of trial was stored. Older files have the keys of all kinds: null, or 0, where they say nothing."""
    if not isinstance(spec, Mapping):
        raise ValueError("its trial is not described")
    if spec.get("attest") is not None:
        return AttestSpec
    workload = spec.get("workload")
    return ReadSpec if isinstance(workload, Mapping) and workload.get("producers") == 0 else LoadSpec


def _tilts(content: object) -> tuple[Tilt, ...]:
    """What made a run unequal; one that can't be read is still one: that a run is unequal must not get lost."""
    unknown = Tilt("unknown", Severity.UNEQUAL, Stage.WANTED, (), "", "what it was can't be read", "", "", "")
    items = content if isinstance(content, list) else []
    return tuple(readable(Tilt, item) or replace(unknown, what=str(item)) for item in items)


def _status_shown(status: str, alive: bool) -> str:
    return UNFINISHED if status == "running" and not alive else status


def _writer_alive(head: Mapping[str, Any]) -> bool:
    writer = readable(Writer, head.get("writer"))
    return writer is not None and may_be_alive(writer)


def read_object(path: Path) -> dict[str, Any] | None:
    """The object in a file; None if there is none, or (a file copied half) it can't be read."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def part_of(path: Path, name: str) -> Any:
    """What the object in a file has by this name; None if there is none, or it can't be read."""
    return (read_object(path) or {}).get(name)


def readable(kind: type[T], content: object) -> T | None:
    """What was stored as one of a kind; None if there is none, or it can't be read."""
    try:
        return typed(kind, content)
    except ValueError:
        return None


def all_readable(kind: type[T], content: object) -> tuple[T, ...]:
    """Of a stored list those that can be read."""
    found = (readable(kind, item) for item in (content if isinstance(content, list) else ()))
    return tuple(item for item in found if item is not None)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

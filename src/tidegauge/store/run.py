"""One run's directory, created and written (see `tidegauge.store` for its layout)."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tidegauge import __version__
from tidegauge.errors import RunFailedError
from tidegauge.model.ceilings import RunCeilings
from tidegauge.model.events import Note
from tidegauge.model.finding import Finding
from tidegauge.model.labels import NO_LABELS, RunLabels
from tidegauge.model.tilt import Terms, Tilt
from tidegauge.model.trial import AnySpec
from tidegauge.model.variant import SAME_WITHIN, SameWithin, Variant
from tidegauge.plain import grouped
from tidegauge.published.verdict import PublishedOutcome
from tidegauge.store import seconds
from tidegauge.store.attestations import keep_attestations
from tidegauge.store.documents import read_object
from tidegauge.store.envelopes import (
    RUN_SCHEMA,
    CampaignFile,
    CeilingsFile,
    FindingFile,
    PlanFile,
    PlannedBlock,
    PublishedFile,
    RunFile,
    RunSession,
    Status,
)
from tidegauge.store.files import (
    CAMPAIGN_FILE,
    CEILINGS_FILE,
    PUBLISHED_FILE,
    RESERVE,
    RESERVE_BYTES,
    environment_name,
    make_directory,
    move_aside,
    this_writer,
    with_reserve,
    write_bytes,
    write_failed,
    write_json,
    writing,
)
from tidegauge.store.read import load_run
from tidegauge.store.trial import TrialStore, now_text
from tidegauge.usage import Price


@dataclass(eq=False)
class RunStore:
    """One run's directory. Every method leaves complete, readable files behind."""

    path: Path
    name: str
    campaign_path: str
    started_at: str
    data_directory: Path
    disks: tuple[Path, ...] = ()
    journal_disks: tuple[Path, ...] = ()
    unequal_allowed: bool = False
    thresholds: tuple[str, ...] = ()
    price: Price | None = None
    variants: tuple[Variant, ...] = ()
    same_within: SameWithin = SAME_WITHIN
    labels: RunLabels = NO_LABELS
    earlier: tuple[RunSession, ...] = ()
    ended: bool = False
    alone: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    """Holds what keeps others from writing it, until it ends."""

    def __post_init__(self) -> None:
        """Nothing is known yet, and nothing written."""
        self._reserve = self.path / RESERVE
        self._trials: list[TrialStore] = []
        self._notes: list[Note] = []
        self._tilts: tuple[Tilt, ...] = ()
        self._reason_trials: tuple[str, ...] = ()
        self._session = RunSession(1, self.started_at)

    def write_plan(self, trials: Sequence[AnySpec]) -> None:
        """Every trial intended, in order, and each block with its seed."""
        blocks = grouped(((spec.block, spec.seed), spec.trial_id) for spec in trials)
        block_rows = [
            PlannedBlock(block=block, seed=seed, trials=names) for (block, seed), names in sorted(blocks.items())
        ]
        write_json(self.path / "plan.json", PlanFile(schema="tidegauge.plan/1", trials=trials, blocks=block_rows))

    def write_environment(self, facts: Mapping[str, object]) -> None:
        """What the run runs on in this session."""
        content = {"schema": "tidegauge.environment/1", **facts}
        write_json(self.path / environment_name(self._session.number), content)

    def write_ceilings(self, ceilings: RunCeilings) -> None:
        """What the machine can do at most, by the first session. Raises `RunFailedError`."""
        if not (self.path / CEILINGS_FILE).exists():
            write_json(self.path / CEILINGS_FILE, CeilingsFile(schema="tidegauge.ceilings/1", ceilings=ceilings))

    def write_meaning(self, overrides: Mapping[str, object], meaning: Mapping[str, str]) -> None:
        """What the campaign was understood to mean, so that the run is only ever resumed as it began."""
        content = CampaignFile(schema="tidegauge.campaign/1", overrides=overrides, meaning=meaning)
        write_json(self.path / "campaign.json", content)

    def add_note(self, text: str, left_out: str = "") -> None:
        """Something that was reported to the user during the run. Never raises: a note is no reason to fail.

        Args:
            left_out: the system that is not measured, if that is what it says.
        """
        if self.ended or any(note.text == text for note in self._notes):
            return
        self._notes.append(Note(text, left_out))
        self._write_running()

    def write_tilts(self, tilts: Sequence[Tilt]) -> None:
        """Everything that puts the systems on unequal terms, as far as it is known now. Never raises."""
        self._tilts = tuple(tilts)
        if not self.ended:
            self._write_running()

    def _write_running(self) -> None:
        with contextlib.suppress(RunFailedError):
            self._write_head("running", "", "", durable=False)

    def open_trial(self, spec: AnySpec) -> TrialStore:
        """Open the directory of a trial that begins now. Raises `RunFailedError`."""
        if (self.path / "trials" / spec.trial_id).exists():
            self.set_trial_aside(spec.trial_id)
        return self._open_trial(spec)

    def reopen_trial(self, spec: AnySpec) -> TrialStore:
        """Open the directory of a trial that an earlier session measured. Raises `RunFailedError`."""
        directory = self.path / "trials" / spec.trial_id
        head = read_object(directory / "trial.json")
        try:
            tables = (directory / f"{name}.jsonl" for name in (seconds.NAME, seconds.WORKERS))
            for series in (*tables, *directory.glob("*.hlog")):
                series.unlink(missing_ok=True)
        except OSError as error:
            raise write_failed(directory, error) from error
        return self._open_trial(spec, head)

    def _open_trial(self, spec: AnySpec, earlier: Mapping[str, Any] | None = None) -> TrialStore:
        directory = self.path / "trials" / spec.trial_id
        number = self._session.number
        # No session meets what an earlier one, whose end may have been sudden, left on a disk.
        name = spec.trial_id if number == 1 else f"{spec.trial_id}-session{number}"
        # On another disk nothing but the trial's own directory is made, so that removing it leaves nothing behind.
        in_run_directory = self.data_directory == self.path / "data"
        data = self.data_directory / (name if in_run_directory else f"{self.path.name}-{name}")
        on_disk = f"{self.path.name}-{name}"
        disks = tuple(disk / on_disk for disk in self.disks)
        journals = tuple(disk / f"{on_disk}-journal" for disk in self.journal_disks)
        trial = TrialStore(directory, data, self._reserve, spec, disks, journals, session=number, earlier=earlier or {})
        self._trials.append(trial)
        return trial

    def set_trial_aside(self, trial_id: str) -> str:
        """Keep what was measured of a trial that is made again beside. Returns where. Raises `RunFailedError`."""
        return str(move_aside(self.path / "trials" / trial_id, self.path / "earlier").relative_to(self.path))

    def write_finding(self, finding: Finding) -> None:
        """Keep what an experiment found; attestations beyond the run, too. Raises `RunFailedError`."""
        directory = self.path / "findings"
        make_directory(directory)
        content = FindingFile(schema="tidegauge.finding/1", finding=finding)
        write_json(directory / f"{finding.finding_id}.json", content, durable=True)
        keep_attestations(finding.attestations, self.started_at, self.path.name)

    def finish(self, status: Status, reason: str = "", reason_trials: Sequence[str] = ()) -> None:
        """The run has ended: "finished", "failed" or "interrupted". Server data goes; trials left open end likewise.

        Does nothing the second time. Raises `RunFailedError` if even this can't be written.

        Args:
            reason_trials: names of the trials whose own reasons it gives.
        """
        if self.ended:
            return
        for trial in self._trials:
            trial.remove_data()
        shutil.rmtree(self.path / "data", ignore_errors=True)
        open_trials = [trial for trial in self._trials if not trial.ended]
        for trial in open_trials:
            trial.fail(reason or "the run ended before this trial did", status == "interrupted")
        of_open = [trial.spec.trial_id for trial in open_trials if reason]
        self._reason_trials = tuple(dict.fromkeys((*reason_trials, *of_open)))
        with_reserve(self._reserve, partial(self._write_head, status, reason, now_text()))
        self._reserve.unlink(missing_ok=True)
        self.ended = True
        self.alone.close()

    def remove_if_empty(self) -> bool:
        """Remove a run that ended before any trial began: there is nothing to show of it. Says whether it was one."""
        if self._trials or self.earlier:
            return False
        shutil.rmtree(self.path, ignore_errors=True)
        return True

    def _write_head(
        self, status: Status, reason: str, ended_at: str, directory: Path | None = None, durable: bool = True
    ) -> None:
        session = replace(self._session, status=status, reason=reason, ended_at=ended_at)
        terms = Terms.of_tilts(self._tilts, self.unequal_allowed)
        content = RunFile(
            schema=RUN_SCHEMA,
            name=self.name,
            label=self.labels.label,
            tags=self.labels.tags,
            status=status,
            reason=reason,
            reason_trials=self._reason_trials,
            started_at=self.started_at,
            ended_at=ended_at,
            sessions=(*self.earlier, session),
            tidegauge_version=__version__,
            campaign_path=self.campaign_path,
            data_directory=str(self.data_directory),
            data_directories=[*map(str, self.disks)],
            journal_directories=[*map(str, self.journal_disks)],
            notes=[note.text for note in self._notes],
            left_out=[note for note in self._notes if note.left_out],
            unequal=terms.unequal,
            unequal_allowed=terms.allowed,
            advice=terms.advice,
            thresholds=self.thresholds,
            price=self.price,
            variants=self.variants,
            same_within=str(self.same_within),
            writer=this_writer(),
        )
        write_json((directory or self.path) / "run.json", content, durable=durable)

    def go_on(self, earlier: Sequence[RunSession], notes: Sequence[Note]) -> None:
        """A further session of a run that ended or was killed. For `resume_run`. Raises `RunFailedError`."""
        self.earlier = tuple(earlier)
        self._session = RunSession(earlier[-1].number + 1, now_text())
        self._notes = list(notes)
        self._write_head("running", "", "")
        write_bytes(self._reserve, b"\0" * RESERVE_BYTES)

    def begin(self, directory: Path, campaign_text: str | bytes) -> None:
        """Write what a run has from its first moment into `directory`, which then becomes it. For `create_run`."""
        content = campaign_text if isinstance(campaign_text, bytes) else campaign_text.encode()
        write_bytes(directory / CAMPAIGN_FILE, content)
        self.alone.enter_context(writing(directory))
        write_bytes(directory / RESERVE, b"\0" * RESERVE_BYTES)
        self._write_head("running", "", "", directory)


OWN_COPY = "own copy"
"""In the place of a campaign's path: its only file is the run's."""


def create_run(
    runs_directory: Path,
    name: str,
    campaign_text: str | bytes,
    campaign_path: str = "",
    data_root: Path | None = None,
    *,
    disks: Sequence[Path] = (),
    journal_disks: Sequence[Path] = (),
    labels: RunLabels = NO_LABELS,
) -> RunStore:
    """Create the directory of a run that begins now; it appears under its name only when it is readable.

    Args:
        name: of the campaign; becomes part of the directory's name.
        campaign_path: where its file is; `OWN_COPY` = in the run's directory only.
        campaign_text: the campaign as given, byte for byte.
        data_root: where server data goes instead of the run's own directory (a chosen disk).
        disks, journal_disks: disks that the nodes take by turns for their data and their journals.
        labels: the name and tags that the user gave it.

    Raises:
        RunFailedError: the directory can't be written.
    """
    make_directory(runs_directory)
    started = datetime.now(UTC)
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "run"
    places = _absolute_places(disks, journal_disks)
    directory_name = f"{started:%Y-%m-%dT%H-%M-%S}-{slug}"
    for attempt in range(1, 1000):
        path = runs_directory.absolute() / (directory_name if attempt == 1 else f"{directory_name}-{attempt}")
        data = path / "data" if data_root is None else data_root.absolute()
        source = str(path / CAMPAIGN_FILE) if campaign_path == OWN_COPY else campaign_path
        run = RunStore(path, name, source, started.isoformat(timespec="seconds"), data, *places, labels=labels)
        if not path.exists() and _make_visible(run, campaign_text):
            return run
    raise RunFailedError(f"No free name for a run in {runs_directory}.", "Choose another with --runs-dir.")


def resume_run(
    path: Path, data_root: Path | None = None, *, disks: Sequence[Path] = (), journal_disks: Sequence[Path] = ()
) -> RunStore:
    """A further session of the run in a directory, of which the caller is the only writer (`writing`).

    Args:
        path: the run's directory.
        data_root, disks, journal_disks: as for `create_run`.

    Raises:
        UserError: it is no run directory.
        RunFailedError: the directory can't be written.
    """
    path = path.absolute()
    stored = load_run(path)
    data = path / "data" if data_root is None else data_root.absolute()
    places = _absolute_places(disks, journal_disks)
    run = RunStore(path, stored.name, stored.campaign_path, stored.started_at, data, *places, labels=stored.labels)
    run.unequal_allowed, run.thresholds, run.price = stored.terms.allowed, stored.thresholds, stored.price
    run.variants, run.same_within = stored.variants, stored.same_within
    run._tilts = (*stored.terms.unequal, *stored.terms.advice)
    left_out = {note.text: note for note in stored.left_out}
    run.go_on(stored.sessions, [left_out.get(text, Note(text)) for text in stored.notes])
    return run


def _absolute_places(disks: Sequence[Path], journal_disks: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    return tuple(map(Path.absolute, disks)), tuple(map(Path.absolute, journal_disks))


def _make_visible(run: RunStore, campaign_text: str | bytes) -> bool:
    """Fill a hidden directory and rename it to the run's; False if somebody took that name in between."""
    hidden = run.path.with_name(f".new-{run.path.name}-{os.getpid()}")
    make_directory(hidden)
    try:
        run.begin(hidden, campaign_text)
        hidden.rename(run.path)
    except OSError as error:
        run.alone.close()
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise write_failed(run.path, error) from error
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
    return True


def keep_published(run: Path, outcome: PublishedOutcome) -> None:
    """Write the verdicts into a run's directory; once more replaces them. Raises `RunFailedError`."""
    content = PublishedFile(schema="tidegauge.published/1", published=outcome)
    write_json(run / PUBLISHED_FILE, content, durable=True)
